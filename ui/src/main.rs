//! The operations console and the commands of toolcrib.

mod cli;
mod commands;
mod console;
mod demo;
mod logging;
mod opening;
mod scenarios;
mod text;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // Chosen once for the process; an error only says that a choice has been made already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    commands::main(cli::Cli::parse())
}
