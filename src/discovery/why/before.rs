//! What the rounds up to the one in question tell of a tool: found, admitted, gone.

use std::sync::Arc;

use super::{Entry, Fact, FoundBy, LeftBy, Link, MissedBy, RefusedBy, Stage, Verdict};
use crate::discovery::search::Ranker;
use crate::discovery::session::{CallEffect, Cause, LedgerLine, RoundRecord};
use crate::discovery::tool_search::{FailedReason, SearchAnswer};
use crate::discovery::{PoolChange, PoolEntry};

/// How many searches and calls a link lists.
const LISTED: usize = 3;

/// How deep the ranking is looked at to tell how near a search came.
const DEPTH: usize = 100;

/// The rounds of a session, seen from one of them.
pub(super) struct Before<'a> {
    pub(super) tool: &'a str,
    /// The rounds before, the oldest first.
    pub(super) earlier: &'a [Arc<RoundRecord>],
    /// The round itself.
    pub(super) record: Option<&'a RoundRecord>,
    pub(super) ranker: Option<&'a dyn Ranker>,
}

fn link(stage: Stage, verdict: Verdict, fact: Fact) -> Link {
    Link {
        stage,
        verdict,
        fact,
    }
}

impl Before<'_> {
    /// The two links, or one when it already breaks. `pooled` says that it was in the pool when the
    /// round was opened.
    pub(super) fn found_and_admitted(&self, pooled: bool) -> Vec<Link> {
        let by = self.found();
        if by.is_empty() && !pooled {
            return vec![
                match self.record.and_then(|record| self.found_in(record).pop()) {
                    Some(now) => link(Stage::Found, Verdict::Broken, Fact::FoundNow(now)),
                    None => {
                        let (missed, searches) = self.missed();
                        let fact = Fact::Found {
                            by,
                            missed,
                            searches,
                            since: self.since(),
                        };
                        link(Stage::Found, Verdict::Broken, fact)
                    }
                },
            ];
        }
        let mut links = Vec::new();
        if !by.is_empty() {
            let fact = Fact::Found {
                by,
                missed: Vec::new(),
                searches: self.searches().count(),
                since: self.since(),
            };
            links.push(link(Stage::Found, Verdict::Ok, fact));
        }
        links.push(match self.entry() {
            Some(entry) => link(Stage::Admitted, Verdict::Ok, Fact::Admitted(entry)),
            None => link(Stage::Admitted, Verdict::Broken, self.refused()),
        });
        links
    }

    /// Whether it is still in the pool, given that it was admitted once.
    pub(super) fn kept(&self, pooled: bool) -> Link {
        if !pooled && let Some(left) = self.left() {
            return link(Stage::Kept, Verdict::Broken, Fact::Left(left));
        }
        let rounds_left = self.record.and_then(|record| {
            let idle_rounds = record.pool.bounds?.idle_rounds;
            let used = self.entry()?.last_used;
            Some((used + idle_rounds).saturating_sub(record.round))
        });
        link(Stage::Kept, Verdict::Ok, Fact::Kept { rounds_left })
    }

    /// The oldest round that is kept.
    fn since(&self) -> u32 {
        let oldest = self.earlier.first().map(|record| record.round);
        oldest
            .or(self.record.map(|record| record.round))
            .unwrap_or_default()
    }

    /// The searches of the rounds before, the newest first.
    fn searches(&self) -> impl Iterator<Item = (u32, &SearchAnswer)> {
        let rounds = self.earlier.iter().rev();
        rounds.flat_map(|record| record.searches.iter().rev().map(|s| (record.round, s)))
    }

    /// What brought it up in the rounds before, the newest first.
    fn found(&self) -> Vec<FoundBy> {
        let rounds = self.earlier.iter().rev();
        let found = rounds.flat_map(|record| self.found_in(record).into_iter().rev());
        found.take(LISTED).collect()
    }

    /// What brought it up in one round, in order.
    fn found_in(&self, record: &RoundRecord) -> Vec<FoundBy> {
        let round = record.round;
        let mut found = Vec::new();
        let recovered = record.ledger.iter().any(|line| {
            matches!(&line.cause, Cause::Recovery { tool } if **tool == *self.tool)
                && line.change.eviction().is_none()
        });
        if recovered {
            found.push(FoundBy::Recovery { round });
        }
        let mut searches = record.searches.iter();
        for call in &record.calls {
            match call.effect {
                CallEffect::None => {}
                CallEffect::Reached => {
                    if *call.tool == *self.tool {
                        found.push(FoundBy::Call { round });
                    }
                }
                CallEffect::Search => {
                    let Some(answer) = searches.next() else {
                        continue;
                    };
                    let place = answer.ranked.iter().position(|name| **name == *self.tool);
                    if let Some(place) = place {
                        found.push(FoundBy::Search {
                            round,
                            query: Arc::clone(&answer.query),
                            place: place + 1,
                        });
                    }
                }
            }
        }
        found
    }

    /// The newest searches that did not find it, and how many there were in all.
    fn missed(&self) -> (Vec<MissedBy>, usize) {
        let place = |query: &str| {
            let hits = self.ranker?.rank(query, DEPTH, &|_| true);
            let place = hits.iter().position(|hit| *hit.name == *self.tool)?;
            Some(place + 1)
        };
        let missed = self
            .searches()
            .take(LISTED)
            .map(|(round, answer)| MissedBy {
                round,
                query: Arc::clone(&answer.query),
                hits: answer.ranked.len(),
                place: place(&answer.query),
            });
        (missed.collect(), self.searches().count())
    }

    /// The lines about the tool that came before the round was opened, the newest first.
    fn lines(&self) -> impl Iterator<Item = (u32, &LedgerLine)> {
        // What a batch does comes after; the start of a round has these causes alone.
        let opening = self.record.into_iter().flat_map(|record| {
            let start = record.ledger.iter().take_while(|line| {
                matches!(
                    line.cause,
                    Cause::Idle | Cause::Registry | Cause::Recovery { .. }
                )
            });
            let start: Vec<_> = start.map(|line| (record.round, line)).collect();
            start.into_iter().rev()
        });
        let rounds = self.earlier.iter().rev();
        let earlier =
            rounds.flat_map(|record| record.ledger.iter().rev().map(|l| (record.round, l)));
        opening
            .chain(earlier)
            .filter(|(_, line)| **line.change.name() == *self.tool)
    }

    /// Its entry as it was last in the pool: from the lines, or as the oldest record has it.
    fn entry(&self) -> Option<Entry> {
        let touched = self.lines().find_map(|(_, line)| match &line.change {
            PoolChange::Admitted(entry) | PoolChange::Refreshed(entry) => Some(entry),
            PoolChange::Evicted { entry, .. } => Some(entry),
            PoolChange::Resized { .. } => None,
        });
        let recorded = |record: &RoundRecord| -> Option<PoolEntry> {
            let mut entries = record.pool.entries.iter();
            entries.find(|entry| *entry.name == *self.tool).cloned()
        };
        let entry = match touched {
            Some(entry) => entry.clone(),
            None => self
                .earlier
                .iter()
                .rev()
                .find_map(|record| recorded(record))?,
        };
        let admitted = self
            .lines()
            .find(|(_, line)| matches!(line.change, PoolChange::Admitted(_)));
        Some(Entry {
            admitted: admitted.map(|(round, _)| round),
            last_used: entry.last_used,
            rank: entry.rank,
        })
    }

    /// Why the pool did not take what was found: the newest attempt.
    fn refused(&self) -> Fact {
        for record in self.earlier.iter().rev() {
            let bounds = record.pool.bounds.map(|b| (b.max_tools, b.max_bytes));
            for answer in record.searches.iter().rev() {
                let failed = answer.failed.iter().find(|hit| *hit.name == *self.tool);
                if let Some(failed) = failed.filter(|f| f.reason != FailedReason::VisibleBudget) {
                    return Fact::Refused {
                        round: record.round,
                        by: RefusedBy::Search(failed.reason),
                        bytes: Some(failed.bytes),
                        bounds,
                    };
                }
            }
            let called = record
                .calls
                .iter()
                .any(|call| call.effect == CallEffect::Reached && *call.tool == *self.tool);
            if called {
                return Fact::Refused {
                    round: record.round,
                    by: RefusedBy::Call,
                    bytes: None,
                    bounds,
                };
            }
        }
        // Found by a search that listed it as exposed, yet nothing tells of an admission: required.
        Fact::NextRound
    }

    /// The eviction that took it out, if that is the newest thing that happened to it.
    fn left(&self) -> Option<LeftBy> {
        let (round, line) = self
            .lines()
            .find(|(_, line)| !matches!(line.change, PoolChange::Resized { .. }))?;
        match &line.change {
            PoolChange::Evicted { entry, reason } => Some(LeftBy {
                round,
                reason: *reason,
                cause: line.cause.clone(),
                last_used: entry.last_used,
            }),
            _ => None,
        }
    }
}
