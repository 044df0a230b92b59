//! The machine that plays recorded rounds again: the session itself, fed from the records.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Changes, RoundPair, Shown, WhatIfError};
use crate::discovery::search::{Index, IndexChange, Ranker as _};
use crate::discovery::session::{
    CallEffect, CallEnd, CallNote, Cause, Effect, EndedCall, RoundRecord, Seen,
};
use crate::discovery::tool_search::{FailedReason, Load, PlannedHit, SearchAnswer, SearchPlan};
use crate::discovery::{DynamicSettings, Exposures, FixedExposure, Session, TOOL_SEARCH};

type Settings = Arc<DynamicSettings>;

pub(super) struct Replay<'a> {
    changes: &'a Changes,
    session: Session,
    /// What each recorded version is with the changes, by its address; the records keep it alive.
    views: HashMap<*const Exposures, Arc<Exposures>>,
    /// For searches that have to be ranked anew: an index and what it holds.
    index: Option<(Index, Arc<Exposures>)>,
    /// Of the newest round, before and after.
    newest: Option<(Settings, Settings)>,
}

/// What the rounds saw when the searches were ranked.
fn seen(record: &RoundRecord) -> Result<&Seen, WhatIfError> {
    record.seen.as_ref().ok_or(WhatIfError::Forgotten)
}

impl<'a> Replay<'a> {
    /// The first round that can be played, and the session before it.
    pub(super) fn new(
        rounds: &[Arc<RoundRecord>],
        changes: &'a Changes,
    ) -> Result<(usize, Self), WhatIfError> {
        let is_opened = |record: &&Arc<RoundRecord>| record.seen.is_some();
        let newest = rounds.iter().rposition(|record| is_opened(&record));
        let Some(newest) = newest else {
            let begun = rounds
                .iter()
                .any(|record| record.round > 0 && record.complete);
            return Err(if begun {
                WhatIfError::Forgotten
            } else {
                WhatIfError::NoRounds
            });
        };
        let known = rounds[..=newest].iter().rev().take_while(is_opened).count();
        let mut first = newest + 1 - known;
        // The state before a round is that after the round before it, or nothing before the first.
        let before = match rounds[first].round {
            1 => None,
            _ if first > 0 => Some(&rounds[first - 1]),
            _ => {
                first += 1;
                Some(&rounds[first - 1])
            }
        };
        let start = rounds.get(first).ok_or(WhatIfError::Forgotten)?;
        let mut views = HashMap::new();
        let view = changed(changes, &mut views, &seen(start)?.opened)?;
        let session = match before {
            Some(record) => Session::after(record, view),
            None => Session::new(view, []),
        };
        let replay = Self {
            changes,
            session,
            views,
            index: None,
            newest: None,
        };
        Ok((first, replay))
    }

    /// Settings of the newest round that was played, before and after the changes.
    pub(super) fn settings(self) -> Option<(Settings, Settings)> {
        self.newest
    }

    pub(super) fn play(&mut self, record: &RoundRecord) -> Result<RoundPair, WhatIfError> {
        let seen = seen(record)?;
        self.begin(record, seen)?;
        let mut pair = RoundPair {
            round: record.round,
            was: Shown::of(record),
            would: Shown::default(),
            missed: Vec::new(),
            regained: Vec::new(),
        };
        if record.complete {
            let batch = self.batch(record, &mut pair);
            if let Some(learned) = &seen.learned {
                let view = changed(self.changes, &mut self.views, learned)?;
                self.session.see(view);
            }
            self.session.apply_batch(batch);
        }
        if let Some(later) = &seen.later {
            let view = changed(self.changes, &mut self.views, later)?;
            self.session.see(view);
        }
        pair.would = Shown::of(self.session.current());
        Ok(pair)
    }

    /// Up to the visible set.
    fn begin(&mut self, record: &RoundRecord, seen: &Seen) -> Result<(), WhatIfError> {
        let view = changed(self.changes, &mut self.views, &seen.opened)?;
        if let (Some(before), Some(after)) = (seen.opened.settings(), view.settings()) {
            self.newest = Some((Arc::clone(before), Arc::clone(after)));
        }
        self.session.start_round();
        let released: Vec<Arc<str>> = self.session.required().iter().cloned().collect();
        for name in released {
            self.session.release(&name);
        }
        for name in &record.required {
            self.session.require(Arc::clone(name));
        }
        self.session.see(view);
        for line in &record.ledger {
            let Cause::Recovery { tool } = &line.cause else {
                continue;
            };
            if line.change.eviction().is_none() {
                // What does not fit now stays outside, as it would have done.
                let _ = self.session.expose(tool);
            }
        }
        self.session.open();
        Ok(())
    }

    /// The batch as it would have ended.
    fn batch(&mut self, record: &RoundRecord, pair: &mut RoundPair) -> Vec<EndedCall> {
        let mut searches = record.searches.iter();
        let mut batch = Vec::with_capacity(record.calls.len());
        for call in &record.calls {
            let answer = match call.effect {
                CallEffect::Search => searches.next(),
                _ => None,
            };
            let effect = match self.is_there(call, record, pair) {
                false => Effect::None,
                true => match (call.effect, answer) {
                    (CallEffect::Search, Some(answer)) => Effect::Search(self.plan(record, answer)),
                    (CallEffect::Reached, _) => Effect::Reached,
                    _ if call.end == CallEnd::UndefinedTool => Effect::Reached,
                    _ => Effect::None,
                },
            };
            batch.push(EndedCall {
                id: call.id.clone(),
                tool: Arc::clone(&call.tool),
                end: call.end,
                effect,
            });
        }
        batch
    }

    /// Whether the tool of a call would have been there. An operator calls what is not visible too.
    fn is_there(&self, call: &CallNote, record: &RoundRecord, pair: &mut RoundPair) -> bool {
        let would = self.session.visible().contains(&call.tool);
        if call.end == CallEnd::UndefinedTool {
            if would {
                pair.regained.push(Arc::clone(&call.tool));
            }
            return would;
        }
        let missed = !would && record.visible.contains(&call.tool);
        if missed {
            pair.missed.push(Arc::clone(&call.tool));
        }
        !missed
    }

    /// What a search would have found.
    fn plan(&mut self, record: &RoundRecord, answer: &SearchAnswer) -> SearchPlan {
        let bounds = |view: &Exposures| view.settings().map_or(0, |s| s.discovery.max_tools);
        let now = Arc::clone(self.session.exposures());
        let opened = record.seen.as_ref().map_or(0, |seen| bounds(&seen.opened));
        let (had, limit) = (answer.asked.min(opened), answer.asked.min(bounds(&now)));
        let all_kept = limit <= had || answer.ranked.len() < had;
        let ranked = match all_kept && self.changes.modes.is_empty() {
            true => answer.ranked.iter().take(limit).cloned().collect(),
            false => self.rank(&answer.query, limit, &now),
        };
        let hits = ranked.into_iter().map(|name| {
            let known = answer.failed.iter().find(|hit| hit.name == name);
            let broken = known.is_some_and(|hit| hit.reason == FailedReason::LoadFailed);
            PlannedHit {
                load: match broken {
                    true => Load::Failed("it failed when it was recorded".into()),
                    false => Load::Ready,
                },
                score: 0.0, // nobody sees the answer
                name,
            }
        });
        SearchPlan {
            query: Arc::clone(&answer.query),
            asked: answer.asked,
            hits: hits.collect(),
        }
    }

    fn rank(&mut self, query: &str, limit: usize, now: &Arc<Exposures>) -> Vec<Arc<str>> {
        let (index, holds) = self.index.get_or_insert_with(Default::default);
        if !Arc::ptr_eq(holds, now) {
            let before = std::mem::replace(holds, Arc::clone(now));
            IndexChange::between(&before, now).apply(index);
        }
        let hits = index.rank(query, limit, &|name| name != TOOL_SEARCH);
        hits.into_iter().map(|hit| hit.name).collect()
    }
}

/// A recorded version with the changes; the same one again for the same.
fn changed(
    changes: &Changes,
    views: &mut HashMap<*const Exposures, Arc<Exposures>>,
    view: &Arc<Exposures>,
) -> Result<Arc<Exposures>, WhatIfError> {
    if let Some(known) = views.get(&Arc::as_ptr(view)) {
        return Ok(Arc::clone(known));
    }
    let settings = view.settings().ok_or(WhatIfError::Static)?;
    let next = match changes.is_empty() {
        true => Arc::clone(view),
        false => {
            let settings = changes.apply(settings).map_err(|e: FixedExposure| e)?;
            Arc::new(view.under(Arc::new(settings)))
        }
    };
    views.insert(Arc::as_ptr(view), Arc::clone(&next));
    Ok(next)
}
