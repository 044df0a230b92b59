//! Any text as a skill file, beside a toolset. `Cargo.toml` beside this directory says how to run it.

#![no_main]

#[path = "../properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|text: &str| {
    properties::loader(text);
});
