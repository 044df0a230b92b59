//! Any text as a template: of a text and of a URL. `Cargo.toml` beside this directory says how to
//! run it.

#![no_main]

#[path = "../properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: (&str, &str)| properties::template(input.0, input.1));
