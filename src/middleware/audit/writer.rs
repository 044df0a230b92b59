//! The thread that owns the audit file. Calls only put lines into its queue.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::line::Line;
use crate::middleware::counter::Count;
use crate::middleware::redact::SharedRedactor;
use crate::secrets::Secrets;

/// Lines that may wait to be written. When the disk is slower than the calls for that long, further
/// lines are lost and counted: the audit never slows the tools.
const QUEUE: usize = 8_192;

/// Lines are written together up to this many bytes.
const BATCH: usize = 256 * 1024;

/// What the writer keeps about itself.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Lines that are in the file.
    pub(super) written: Count,
    /// Lines that are not, because the queue was full or writing failed.
    pub(super) lost: Count,
}

/// What lines pass before they are written.
pub(super) struct Cleaning {
    pub(super) redactor: Option<SharedRedactor>,
    pub(super) secrets: Secrets,
}

enum Message {
    Line(Box<Line>),
    /// Answered once everything before it has been written.
    Flush(oneshot::Sender<()>),
}

/// The way to the thread, which ends when this is dropped and everything queued is written.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    counts: Arc<Counts>,
}

impl Writer {
    /// Opens the file for appending and starts the thread.
    pub(super) fn open(path: &Path, cleaning: Cleaning) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (queue, messages) = mpsc::channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let mut desk = Desk {
            file,
            cleaning,
            counts: Arc::clone(&counts),
            failing: false,
        };
        std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || desk.work(messages))?;
        Ok(Self { queue, counts })
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Queues a line, or loses it when the queue is full.
    pub(super) fn write(&self, line: Line) {
        if self.queue.try_send(Message::Line(Box::new(line))).is_err() {
            self.counts.lost.one();
        }
    }

    /// Waits until everything queued so far is in the file.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.queue.send(Message::Flush(done)).await.is_ok() {
            // The thread answers, or has ended with nothing left to write.
            let _ = flushed.await;
        }
    }
}

/// The thread's side.
struct Desk<W> {
    file: W,
    cleaning: Cleaning,
    counts: Arc<Counts>,
    /// Whether the last write failed: it is told once, and the next line starts on a line of its
    /// own, because half of one may be in the file.
    failing: bool,
}

impl Desk<File> {
    fn work(&mut self, mut messages: mpsc::Receiver<Message>) {
        while let Some(first) = messages.blocking_recv() {
            let mut next = Some(first);
            let mut batch = Batch::default();
            while let Some(message) = next {
                self.take(message, &mut batch);
                next = (batch.text.len() < BATCH)
                    .then(|| messages.try_recv().ok())
                    .flatten();
            }
            self.put(&batch);
            for done in batch.flushed {
                // Whoever asked may have stopped waiting.
                let _ = done.send(());
            }
        }
    }
}

#[derive(Default)]
struct Batch {
    text: String,
    lines: usize,
    flushed: Vec<oneshot::Sender<()>>,
}

impl<W: Write> Desk<W> {
    fn take(&self, message: Message, batch: &mut Batch) {
        match message {
            Message::Line(line) => {
                let redactor = self.cleaning.redactor.as_ref().map(|live| live.get());
                let text = line.write(redactor.as_deref(), &self.cleaning.secrets);
                batch.text.push_str(&text);
                batch.text.push('\n');
                batch.lines += 1;
            }
            Message::Flush(done) => batch.flushed.push(done),
        }
    }

    fn put(&mut self, batch: &Batch) {
        if batch.lines == 0 {
            return;
        }
        let start: &[u8] = if self.failing { b"\n" } else { b"" };
        let outcome = self
            .file
            .write_all(start)
            .and_then(|()| self.file.write_all(batch.text.as_bytes()));
        match outcome {
            Ok(()) => {
                self.failing = false;
                self.counts.written.many(batch.lines);
            }
            Err(error) => {
                self.counts.lost.many(batch.lines);
                if !self.failing {
                    tracing::error!(%error, "the audit file cannot be written; lines are lost");
                }
                self.failing = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::Call;

    /// A disk that is full every other time.
    #[derive(Default)]
    struct Disk {
        writes: usize,
        text: Vec<u8>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            if self.writes == 1 {
                self.text.extend(&bytes[..5]);
                return Ok(5);
            }
            if self.writes == 2 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.text.extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failed_write_is_counted_and_the_next_line_is_whole() {
        let mut desk = Desk {
            file: Disk::default(),
            cleaning: Cleaning {
                redactor: None,
                secrets: Secrets::default(),
            },
            counts: Arc::default(),
            failing: false,
        };
        for _ in 0..2 {
            let mut batch = Batch::default();
            let line = Line::begin(&Call::new("t", json!({}))).ended(None);
            desk.take(Message::Line(Box::new(line)), &mut batch);
            desk.put(&batch);
        }
        let text = String::from_utf8(desk.file.text).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, r#"{"tim"#));
        assert!(serde_json::from_str::<serde_json::Value>(lines[1]).is_ok());
        let counts = &desk.counts;
        let shown = [counts.written.shown_as("w"), counts.lost.shown_as("l")];
        assert_eq!(shown.map(|counter| counter.value), [1, 1]);
    }
}
