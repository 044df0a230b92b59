//! The log of one server: what it wrote to stderr, stray lines of its stdout, its log messages
//! (rule 8.12). Bounded in lines and in the length of a line, so that a noisy server costs a fixed
//! amount of memory.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::clock::Stamp;
use crate::secrets::Secrets;
use crate::source::{LogLine, LogOrigin};

/// How many lines are kept; the oldest go first and are counted.
const LINES: usize = 1000;

/// How many bytes of a line are kept; the rest is replaced by a note of its length.
const LINE_BYTES: usize = 4096;

/// How many lines of stderr a failure carries.
const TAIL: usize = 20;

/// A shared ring. Writing never waits.
#[derive(Clone)]
pub(super) struct Log(Arc<Shared>);

struct Shared {
    ring: Mutex<Ring>,
    changed: Notify,
    secrets: Secrets,
}

#[derive(Default)]
struct Ring {
    lines: VecDeque<LogLine>,
    dropped: u64,
}

impl Log {
    pub(super) fn new(secrets: Secrets) -> Self {
        Self(Arc::new(Shared {
            ring: Mutex::default(),
            changed: Notify::new(),
            secrets,
        }))
    }

    /// Adds a line, masked and cut.
    pub(super) fn push(&self, origin: LogOrigin, level: Option<&str>, text: &str) {
        let line = LogLine {
            at: Stamp::now(),
            origin,
            level: level.map(str::to_owned),
            text: cut(&self.0.secrets.mask(text)).into(),
        };
        {
            let mut ring = self.0.ring.lock();
            if ring.lines.len() == LINES {
                ring.lines.pop_front();
                ring.dropped += 1;
            }
            ring.lines.push_back(line);
        }
        self.0.changed.notify_one();
    }

    /// Waits until a line was added since the last wait.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// All lines, oldest first, and how many were dropped before them.
    pub(super) fn lines(&self) -> (Arc<[LogLine]>, u64) {
        let ring = self.0.ring.lock();
        (ring.lines.iter().cloned().collect(), ring.dropped)
    }

    /// The last lines of stderr that are not older than `since`.
    pub(super) fn stderr_tail(&self, since: tokio::time::Instant) -> Arc<[LogLine]> {
        let ring = self.0.ring.lock();
        let mut tail: Vec<LogLine> = ring
            .lines
            .iter()
            .rev()
            .take_while(|line| line.at.at >= since)
            .filter(|line| line.origin == LogOrigin::Stderr)
            .take(TAIL)
            .cloned()
            .collect();
        tail.reverse();
        tail.into()
    }
}

/// The text, or its beginning with a note of how long it was.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, LINE_BYTES)
}

/// As [`cut`], to another length.
pub(super) fn cut_to(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or_default();
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_newest_thousand_lines_and_counts_the_rest() {
        let log = Log::new(Secrets::default());
        for number in 0..1003 {
            log.push(LogOrigin::Stderr, None, &number.to_string());
        }
        let (lines, dropped) = log.lines();
        assert_eq!((lines.len(), dropped), (1000, 3));
        assert_eq!(&*lines[0].text, "3");
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_secrets_are_masked_before_the_cut() {
        let secrets = Secrets::default();
        secrets.add("s3cr3t-token");
        let log = Log::new(secrets);
        let text = format!(
            "{}s3cr3t-token{}",
            "x".repeat(LINE_BYTES - 6),
            "ä".repeat(9)
        );
        log.push(LogOrigin::Stdout, None, &text);
        let (lines, _) = log.lines();
        assert!(!lines[0].text.contains("s3cr3t"), "{}", lines[0].text);
        assert!(lines[0].text.ends_with("bytes in all)"));
    }

    #[test]
    fn the_tail_is_stderr_of_this_attempt_alone() {
        let log = Log::new(Secrets::default());
        log.push(LogOrigin::Stderr, None, "old");
        std::thread::yield_now();
        let since = tokio::time::Instant::now();
        log.push(LogOrigin::Stdout, None, "banner");
        log.push(LogOrigin::Stderr, None, "new");
        let tail = log.stderr_tail(since);
        assert_eq!(tail.len(), 1);
        assert_eq!(&*tail[0].text, "new");
    }
}
