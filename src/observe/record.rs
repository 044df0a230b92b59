//! The record of a call that ended, and the bounded history of records.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::clock::Stamp;
use crate::middleware::LayerSpan;
use crate::tool::{Attempt, CallId, ErrorKind, Part};

/// How many records are kept.
const RECORDS: usize = 1_000;

/// How many bytes of result parts are kept over all records; past that the oldest results are let
/// go of, while their records stay.
const PART_BYTES: usize = 32 * 1024 * 1024;

/// A call that ended, secrets masked.
#[derive(Clone, Debug, Serialize)]
pub struct CallRecord {
    /// Identity.
    pub id: CallId,
    /// The tool's name as called.
    pub tool: Arc<str>,
    /// Who owned the tool then, as `source` or `source/server`; absent for an unknown name.
    pub owner: Option<Arc<str>>,
    /// The session, if any.
    pub session: Option<Arc<str>>,
    /// The arguments.
    pub arguments: Value,
    /// When it began.
    pub started: Stamp,
    /// How long it took, queues included.
    pub duration: Duration,
    /// What kind of failure it was, if it failed.
    pub error_kind: Option<ErrorKind>,
    /// The first words of an error's text.
    pub error: Option<String>,
    /// Bytes of the arguments as JSON.
    pub bytes_in: usize,
    /// Bytes of the parts as JSON.
    pub bytes_out: usize,
    /// Whether a limit cut the result.
    pub truncated: bool,
    /// What went wrong beside the call, such as an output file that could not be written; secrets
    /// masked.
    pub warnings: Arc<[String]>,
    /// Whether the result is that of an equal call before it, and nothing ran.
    pub replayed: bool,
    /// Whether it got as far as its tool.
    pub reached_tool: bool,
    /// What each layer did with it, in the order in which they were entered.
    pub layers: Arc<[LayerSpan]>,
    /// The tries of a tool that tried again; empty when it did not.
    pub attempts: Arc<[Attempt]>,
    /// The parts; absent once the history had to let go of them.
    #[serde(skip)]
    pub parts: Option<Arc<[Part]>>,
}

/// The newest records, bounded in number and in bytes.
#[derive(Debug, Default)]
pub struct History {
    records: VecDeque<Arc<CallRecord>>,
    part_bytes: usize,
    /// Records before this index have let go of their parts already.
    stripped: usize,
    /// How many records were dropped at the end of the ring.
    pub dropped: u64,
}

impl History {
    /// Adds a record as the newest.
    pub fn push(&mut self, record: Arc<CallRecord>) {
        self.part_bytes += record.bytes_out;
        self.records.push_back(record);
        while self.part_bytes > PART_BYTES && self.stripped + 1 < self.records.len() {
            let record = &mut self.records[self.stripped];
            self.part_bytes -= record.bytes_out;
            Arc::make_mut(record).parts = None;
            self.stripped += 1;
        }
        if self.records.len() > RECORDS
            && let Some(oldest) = self.records.pop_front()
        {
            self.dropped += 1;
            if self.stripped > 0 {
                self.stripped -= 1;
            } else {
                self.part_bytes -= oldest.bytes_out;
            }
        }
    }

    /// The records, the newest first.
    pub fn newest_first(&self) -> Arc<[Arc<CallRecord>]> {
        self.records.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bytes_out: usize) -> Arc<CallRecord> {
        Arc::new(CallRecord {
            id: CallId::fresh(),
            tool: "t".into(),
            owner: None,
            session: None,
            arguments: Value::Null,
            started: Stamp::now(),
            duration: Duration::ZERO,
            error_kind: None,
            error: None,
            bytes_in: 0,
            bytes_out,
            truncated: false,
            warnings: Arc::new([]),
            replayed: false,
            reached_tool: true,
            layers: Arc::new([]),
            attempts: Arc::new([]),
            parts: Some(Arc::new([])),
        })
    }

    #[test]
    fn the_history_keeps_a_thousand_records_and_counts_what_it_dropped() {
        let mut history = History::default();
        (0..RECORDS + 5).for_each(|_| history.push(record(1)));
        assert_eq!(history.newest_first().len(), RECORDS);
        assert_eq!(history.dropped, 5);
        assert_eq!(history.part_bytes, RECORDS);
    }

    #[test]
    fn large_results_are_let_go_of_oldest_first_and_the_newest_stays() {
        let mut history = History::default();
        (0..3).for_each(|_| history.push(record(PART_BYTES / 2)));
        let kept: Vec<_> = history
            .newest_first()
            .iter()
            .map(|r| r.parts.is_some())
            .collect();
        assert_eq!(kept, [true, true, false]);
        history.push(record(PART_BYTES * 2));
        let kept: Vec<_> = history
            .newest_first()
            .iter()
            .map(|r| r.parts.is_some())
            .collect();
        assert_eq!(kept, [true, false, false, false]);
    }
}
