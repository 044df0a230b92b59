//! console
#[allow(dead_code, unused_imports, reason = "wired up by the commands")]
mod console;
#[allow(dead_code, reason = "used by the console and the commands")]
mod text;

fn main() {}
