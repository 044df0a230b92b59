//! The log of commands: to stderr or to a file, never to stdout, secrets masked.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use toolcrib::secrets::Secrets;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::Global;
use crate::commands::{Failure, export};
use crate::console::LogLayer;
use crate::text::{Lines, Marks, clean};

/// Starts the log of a command.
///
/// # Errors
/// When the log file cannot be opened, or the variables of the export make no sense.
pub(crate) fn start(global: &Global, secrets: &Secrets) -> Result<(), Failure> {
    let target = match &global.log_file {
        Some(path) => Target::File(Arc::new(open(path)?)),
        None => Target::Stderr,
    };
    let to_file = matches!(target, Target::File(_));
    let writer = Masked {
        target,
        secrets: secrets.clone(),
    };
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(writer);
    let registry = tracing_subscriber::registry()
        .with(filter(global))
        .with(export::log_export(secrets)?);
    // Beside the results on a terminal a time and a module are noise; in a file they are the point.
    let started = if to_file {
        registry.with(layer).try_init()
    } else {
        registry
            .with(layer.without_time().with_target(global.verbose > 1))
            .try_init()
    };
    started.map_err(|error| Failure::Failed(format!("cannot start the log: {error}")))
}

/// Starts the log of the console: to its own layer, and to a file where one is named. stderr is
/// the screen's and gets nothing.
///
/// # Errors
/// When the log file cannot be opened, or the variables of the export make no sense.
pub(crate) fn start_console(
    global: &Global,
    secrets: &Secrets,
    screen: LogLayer,
) -> Result<(), Failure> {
    let file = match &global.log_file {
        Some(path) => Some(open(path)?),
        None => None,
    };
    let file = file.map(|file| {
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(Masked {
                target: Target::File(Arc::new(file)),
                secrets: secrets.clone(),
            })
    });
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (_, 0 | 1) => "info,rmcp=error",
        (_, 2) => "info,toolcrib=debug,rmcp=warn",
        _ => "debug,toolcrib=trace",
    };
    tracing_subscriber::registry()
        .with(EnvFilter::new(level))
        .with(export::log_export(secrets)?)
        .with(screen)
        .with(file)
        .try_init()
        .map_err(|error| Failure::Failed(format!("cannot start the log: {error}")))
}

fn open(path: &Path) -> Result<File, Failure> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| {
        Failure::Usage(format!(
            "cannot write the log file `{}`: {error}",
            path.display()
        ))
    })
}

/// What is logged. The protocol library tells of failures that are ours to tell, and of whole
/// messages at `info`, so it is held back until details are asked for.
pub(crate) fn filter(global: &Global) -> EnvFilter {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error,rmcp=off",
        // Who names a file for the log wants one.
        (_, 0) if global.log_file.is_none() => "warn,rmcp=off",
        (_, 0 | 1) => "info,rmcp=off",
        (_, 2) => "info,toolcrib=debug,rmcp=warn",
        _ => "debug,toolcrib=trace",
    };
    EnvFilter::new(level)
}

#[derive(Clone)]
enum Target {
    Stderr,
    File(Arc<File>),
}

/// Makes writers that take one event each.
struct Masked {
    target: Target,
    secrets: Secrets,
}

impl MakeWriter<'_> for Masked {
    type Writer = Event;

    fn make_writer(&self) -> Event {
        Event {
            bytes: Vec::new(),
            target: self.target.clone(),
            secrets: self.secrets.clone(),
        }
    }
}

/// One event; written as a whole when it is complete, so that no secret is split over two writes.
struct Event {
    bytes: Vec<u8>,
    target: Target,
    secrets: Secrets,
}

impl Write for Event {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let line = shown(&String::from_utf8_lossy(&self.bytes), &self.secrets);
        // There is nowhere left to report that the log cannot be written.
        let _ = match &self.target {
            Target::Stderr => io::stderr().lock().write_all(line.as_bytes()),
            Target::File(file) => (&**file).write_all(line.as_bytes()),
        };
    }
}

/// An event as it is written: on one line, without secrets and without anything that a terminal
/// would obey.
fn shown(event: &str, secrets: &Secrets) -> String {
    let masked = secrets.mask(event.trim_end());
    format!("{}\n", clean(&masked, Lines::One, Marks::Unicode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logged_line_shows_no_secret_and_nothing_that_a_terminal_obeys() {
        let secrets = Secrets::default();
        secrets.add("s3cr3t-value");
        assert_eq!(
            shown("WARN \x1b[31mtoken s3cr3t-value\x1b[0m\n", &secrets),
            "WARN ␛[31mtoken ••••␛[0m\n"
        );
    }
}
