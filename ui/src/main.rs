//! The operations console and the commands of toolcrib.

#[allow(dead_code, unused_imports, reason = "wired up by the commands")]
mod console;
mod demo;
#[allow(dead_code, reason = "used by the console and the commands")]
mod text;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "toolcrib", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Be one of the demo's MCP servers.
    #[command(hide = true)]
    DemoServer(demo::DemoServer),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::DemoServer(options) => demo::run(options),
    }
}
