//! What is looked at: a session, one of its rounds, and what follows from the rounds up to it.
//! Worked out when something changed, never while drawing.

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib::discovery::PoolChange;
use toolcrib::discovery::PoolEntry;
use toolcrib::discovery::session::{Cause, LedgerLine, RoundRecord};
use toolcrib::session::SessionRow;

/// Where a fact stands: the number of its round and its place in that.
pub(super) type At = (u32, usize);

/// A session and the round of it that is shown.
#[derive(Debug)]
pub(super) struct Looked {
    row: Arc<SessionRow>,
    record: Arc<RoundRecord>,
    /// The pool's entries of the round by name.
    entries: HashMap<Arc<str>, usize>,
    /// When what is in the pool came into it.
    since: HashMap<Arc<str>, u32>,
    /// All lines of the ledger up to the round, the newest first.
    ledger: Vec<At>,
    searches: Vec<At>,
    calls: Vec<At>,
}

impl Looked {
    /// Looks at a round; without a number at the newest. A round that has been forgotten is
    /// replaced by the oldest that is kept.
    pub(super) fn new(row: &Arc<SessionRow>, round: Option<u32>) -> Self {
        let wanted = round
            .unwrap_or(row.round())
            .clamp(row.oldest(), row.round());
        let record = Arc::clone(row.round_at(wanted).unwrap_or(&row.current));
        let mut looked = Self {
            row: Arc::clone(row),
            entries: HashMap::with_capacity(record.pool.entries.len()),
            since: HashMap::with_capacity(record.pool.entries.len()),
            ledger: Vec::new(),
            searches: Vec::new(),
            calls: Vec::new(),
            record,
        };
        looked.work_out();
        looked
    }

    fn work_out(&mut self) {
        for (at, entry) in self.record.pool.entries.iter().enumerate() {
            self.entries.insert(Arc::clone(&entry.name), at);
        }
        let last = self.record.round;
        for record in self.row.rounds().filter(|record| record.round <= last) {
            for line in &record.ledger {
                if let PoolChange::Admitted(entry) = &line.change {
                    self.since.insert(Arc::clone(&entry.name), record.round);
                }
            }
        }
        let back = self.row.rounds().rev();
        for record in back.filter(|record| record.round <= last) {
            let number = record.round;
            let places = |count: usize| (0..count).rev().map(move |at| (number, at));
            self.ledger.extend(places(record.ledger.len()));
            self.searches.extend(places(record.searches.len()));
            self.calls.extend(places(record.calls.len()));
        }
    }

    /// Whether this is still what there is to see.
    pub(super) fn is_of(&self, row: &Arc<SessionRow>, round: Option<u32>) -> bool {
        Arc::ptr_eq(&self.row, row)
            && match round {
                None => self.record.round == row.round(),
                Some(number) => self.record.round == number.clamp(row.oldest(), row.round()),
            }
    }

    pub(super) fn row(&self) -> &Arc<SessionRow> {
        &self.row
    }

    pub(super) fn record(&self) -> &Arc<RoundRecord> {
        &self.record
    }

    /// The round before the one that is shown, if it is kept.
    pub(super) fn before(&self) -> Option<&Arc<RoundRecord>> {
        self.row.round_at(self.record.round.checked_sub(1)?)
    }

    /// The pool's entry of a tool at the end of the round.
    pub(super) fn entry(&self, name: &str) -> Option<&PoolEntry> {
        self.record.pool.entries.get(*self.entries.get(name)?)
    }

    /// The round in which a tool came into the pool; `None` if that has been forgotten.
    pub(super) fn since(&self, name: &str) -> Option<u32> {
        self.since.get(name).copied()
    }

    /// In how many rounds more an entry is still there although nobody uses it: 0 if it leaves
    /// when the next one begins (rule 6.5).
    pub(super) fn left(&self, entry: &PoolEntry) -> Option<(u32, u32)> {
        let idle_rounds = self.record.pool.bounds?.idle_rounds;
        let left = (entry.last_used + idle_rounds).saturating_sub(self.record.round);
        Some((left, idle_rounds))
    }

    pub(super) fn ledger(&self) -> &[At] {
        &self.ledger
    }

    pub(super) fn line(&self, at: At) -> Option<&LedgerLine> {
        self.row.round_at(at.0)?.ledger.get(at.1)
    }

    pub(super) fn searches(&self) -> &[At] {
        &self.searches
    }

    pub(super) fn calls(&self) -> &[At] {
        &self.calls
    }

    /// The last search of the shown round.
    pub(super) fn last_search(&self) -> Option<At> {
        let at = *self.searches.first()?;
        (at.0 == self.record.round).then_some(at)
    }
}

/// What caused a change, in words. The texts are as they came.
pub(super) fn cause_words(cause: &Cause, name: &str) -> String {
    match cause {
        Cause::Idle => "nobody used it".to_owned(),
        Cause::Search { query, hit } if **hit == *name => format!("found by \"{query}\""),
        Cause::Search { query, hit } => format!("for {hit}, found by \"{query}\""),
        Cause::Call { tool } if **tool == *name => "called".to_owned(),
        Cause::Call { tool } => format!("for {tool}, which was called"),
        Cause::Registry => "registry or settings changed".to_owned(),
        Cause::Recovery { tool } if **tool == *name => "called without being sent".to_owned(),
        Cause::Recovery { tool } => format!("for {tool}, called without being sent"),
    }
}
