//! The console's own log: a layer of `tracing` that masks and cleans every line before anything
//! keeps it, and the tap from which the console takes the lines. The same lines go to
//! `tui-logger`; its own layer is not used because it can neither mask nor clean.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use toolcrib::clock::Stamp;
use toolcrib::secrets::Secrets;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::text::{Lines, Marks, clean};

/// How many lines wait for the console at most; the oldest are dropped then, and counted.
const WAITING: usize = 2_000;

/// The target under which the library tells changes of state. The console reads them from the
/// snapshot, where they stand with their source, and would show them twice.
const TRANSITION: &str = "toolcrib::transition";

/// A line of the log, masked and cleaned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogRecord {
    /// When.
    pub(crate) at: Stamp,
    /// How grave.
    pub(crate) level: Level,
    /// `source`, `source/server`, or the module that said it.
    pub(crate) target: Arc<str>,
    /// The text, on one line.
    pub(crate) text: Arc<str>,
}

/// Where the console takes new lines from. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogTap(Arc<Tap>);

#[derive(Debug, Default)]
struct Tap {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<Arc<LogRecord>>,
    lost: u64,
}

impl LogTap {
    /// Waits until there are lines.
    pub(super) async fn more(&self) {
        self.0.more.notified().await;
    }

    /// Takes what waits, with a line that says so if some were lost.
    pub(super) fn take(&self) -> Vec<Arc<LogRecord>> {
        let taken = std::mem::take(&mut *self.0.waiting.lock());
        let lost = (taken.lost > 0).then(|| {
            Arc::new(LogRecord {
                at: Stamp::now(),
                level: Level::WARN,
                target: "console".into(),
                text: format!(
                    "{} lines of the log were lost: too many at once",
                    taken.lost
                )
                .into(),
            })
        });
        lost.into_iter().chain(taken.lines).collect()
    }

    fn push(&self, record: LogRecord) {
        let mut waiting = self.0.waiting.lock();
        if waiting.lines.len() == WAITING {
            waiting.lines.pop_front();
            waiting.lost += 1;
        }
        waiting.lines.push_back(Arc::new(record));
        drop(waiting);
        self.0.more.notify_one();
    }
}

/// The layer, to be put into the program's subscriber, and the tap for
/// [`Options::logs`](super::Options).
pub(crate) fn log_layer(secrets: Secrets, ascii: bool) -> (LogLayer, LogTap) {
    // What a person may see is decided on the screen; what is worth keeping, by the program's
    // filter before this layer.
    tui_logger::set_default_level(log::LevelFilter::Trace);
    let tap = LogTap::default();
    let layer = LogLayer {
        tap: tap.clone(),
        secrets,
        marks: if ascii { Marks::Ascii } else { Marks::Unicode },
    };
    (layer, tap)
}

/// Masks, cleans and keeps events.
pub(crate) struct LogLayer {
    tap: LogTap,
    secrets: Secrets,
    marks: Marks,
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == TRANSITION {
            return;
        }
        let mut words = Words::default();
        event.record(&mut words);
        let target = match (&words.source, &words.server) {
            (Some(source), Some(server)) => format!("{source}/{server}"),
            (Some(name), None) | (None, Some(name)) => name.clone(),
            (None, None) => event.metadata().target().to_owned(),
        };
        let text = format!("{}{}", words.message, words.fields);
        let safe = |text: &str| -> Arc<str> {
            let masked = self.secrets.mask(text);
            clean(&masked, Lines::One, self.marks).into()
        };
        let record = LogRecord {
            at: Stamp::now(),
            level: *event.metadata().level(),
            target: safe(&target),
            text: safe(&text),
        };
        tui_logger::Drain::new().log(
            &log::Record::builder()
                .level(level(record.level))
                .target(&record.target)
                .args(format_args!("{}", record.text))
                .build(),
        );
        self.tap.push(record);
    }
}

/// The level in the words of the `log` crate.
fn level(level: Level) -> log::Level {
    match level {
        Level::ERROR => log::Level::Error,
        Level::WARN => log::Level::Warn,
        Level::INFO => log::Level::Info,
        Level::DEBUG => log::Level::Debug,
        Level::TRACE => log::Level::Trace,
    }
}

/// The fields of an event: message, source and server apart, the others as ` key=value`.
#[derive(Default)]
struct Words {
    message: String,
    source: Option<String>,
    server: Option<String>,
    fields: String,
}

impl Words {
    fn add(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            "source" => self.source = Some(value),
            "server" => self.server = Some(value),
            name => {
                let _ = write!(self.fields, " {name}={value}");
            }
        }
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn logged(secrets: Secrets, log: impl FnOnce()) -> Vec<(Level, String, String)> {
        let (layer, tap) = log_layer(secrets, false);
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, log);
        tap.take()
            .iter()
            .map(|line| (line.level, line.target.to_string(), line.text.to_string()))
            .collect()
    }

    #[test]
    fn a_line_is_masked_and_cleaned_before_it_is_kept() {
        let secrets = Secrets::default();
        secrets.add("hunter2-hunter2");
        let lines = logged(secrets, || {
            tracing::warn!(
                source = "web",
                server = "a",
                code = 7,
                "\x1b[31mhunter2-hunter2\nnext"
            );
            tracing::info!(target: "plain", "hello");
        });
        assert_eq!(
            lines,
            [
                (Level::WARN, "web/a".into(), "␛[31m••••⏎next code=7".into()),
                (Level::INFO, "plain".into(), "hello".into()),
            ]
        );
    }

    #[test]
    fn a_flood_drops_the_oldest_and_says_how_many() {
        let lines = logged(Secrets::default(), || {
            for number in 0..WAITING + 3 {
                tracing::info!("{number}");
            }
        });
        assert_eq!(lines.len(), WAITING + 1);
        assert_eq!(lines[0].2, "3 lines of the log were lost: too many at once");
        assert_eq!(lines[1].2, "3");
    }
}
