//! A session as a pure state machine: no clock, no I/O, no locks (rules 5.1 and 5.2).
//!
//! A driver calls [`Session::begin_round`], sends what is visible, runs the batch, and hands its
//! outcomes to [`Session::apply_batch`]. Without dynamic injection the session is static: every
//! tool is visible and nothing is pooled (rule 4.1).

mod record;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

pub use record::{
    CallEffect, CallEnd, CallNote, Cause, Effect, EndedCall, LedgerLine, PoolRecord, RoundRecord,
    Seen,
};

use super::pool::{OverBudget, Standing};
use super::tool_search::{
    ExposedHit, FailedHit, FailedReason, Load, PlannedHit, SearchAnswer, SearchPlan,
};
use super::{
    Exposures, Mode, Pool, PoolChange, PoolEntry, PoolSettings, Touch, VisibleSet, visible_set,
};
use crate::tool::Definition;

/// How many finished rounds are kept for going back. The oldest are forgotten; the numbers of the
/// rounds show that.
pub const HISTORY: usize = 500;

/// How many lines the finished rounds hold together: tools sent, withheld and pooled, and changes
/// of the pool. Rounds of thousands of tools are forgotten earlier than after [`HISTORY`], so that
/// a session stays within some tens of megabytes; the newest round is always kept.
pub const HISTORY_LINES: usize = 500_000;

/// How many versions of registry and settings are kept along with the rounds that saw them. A
/// version can hold thousands of tools; rounds older than these still tell what was sent, but can
/// not be played again.
pub const VIEWS: usize = 64;

/// Why a tool could not be exposed at once (rule 11.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExposeError {
    /// No tool has that name.
    #[error("no such tool")]
    Unknown,
    /// Dynamic injection is off (rule 4.1).
    #[error("dynamic injection is off, so that nothing can be discovered")]
    NotAvailable,
    /// Its mode is always or hidden.
    #[error("the tool cannot be discovered, its mode is always or hidden")]
    NotSearchable,
    /// It does not fit in the pool.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// One conversation: required names, pool, round number.
#[derive(Clone, Debug)]
pub struct Session {
    exposures: Arc<Exposures>,
    required: BTreeSet<Arc<str>>,
    pool: Pool,
    sequence: u64,
    current: Arc<RoundRecord>,
    history: VecDeque<Arc<RoundRecord>>,
}

impl Session {
    /// A session before its first round.
    pub fn new(exposures: Arc<Exposures>, required: impl IntoIterator<Item = Arc<str>>) -> Self {
        let bounds = bounds_of(&exposures);
        let mut session = Self {
            exposures,
            required: required.into_iter().collect(),
            pool: Pool::new(bounds),
            sequence: 0,
            current: Arc::default(),
            history: VecDeque::new(),
        };
        session.keep_pool();
        session
    }

    /// A session as it was after a round, as far as the record of the round tells.
    pub(super) fn after(record: &RoundRecord, exposures: Arc<Exposures>) -> Self {
        let entries = record.pool.entries.clone();
        let sequence = entries.iter().map(|entry| entry.sequence + 1).max();
        Self {
            required: record.required.iter().cloned().collect(),
            pool: Pool::recorded(bounds_of(&exposures), entries),
            sequence: sequence.unwrap_or_default(),
            exposures,
            current: Arc::new(RoundRecord {
                round: record.round,
                ..RoundRecord::default()
            }),
            history: VecDeque::new(),
        }
    }

    /// Starts a round with the registry as it is now, and computes what is visible in it.
    pub fn begin_round(&mut self, exposures: Arc<Exposures>) -> &VisibleSet {
        self.start_round();
        self.see(exposures);
        self.open()
    }

    /// First step of a round: its number, and idle entries leave (rule 6.5).
    pub fn start_round(&mut self) {
        let begun = RoundRecord {
            round: self.round() + 1,
            ..RoundRecord::default()
        };
        let finished = std::mem::replace(&mut self.current, Arc::new(begun));
        if finished.round > 0 {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back(finished);
            let mut lines: usize = self.history.iter().map(|round| round.lines()).sum();
            while lines > HISTORY_LINES && self.history.len() > 1 {
                let oldest = self.history.pop_front();
                lines -= oldest.map_or(0, |round| round.lines());
            }
            self.forget_old_views();
        }
        let (round, exposures) = (self.round(), Arc::clone(&self.exposures));
        let changes = self.pool.evict_idle(round, &standings(&exposures));
        self.note(changes, &Cause::Idle);
        self.keep_pool();
    }

    /// Second step: registry and settings as they are now. May also be called between rounds, as a
    /// reload does; what leaves then is counted to the round before (rule 6.6).
    pub fn see(&mut self, exposures: Arc<Exposures>) {
        self.exposures = exposures;
        let exposures = Arc::clone(&self.exposures);
        let bounds = bounds_of(&exposures);
        let changes = self.pool.reconcile(bounds, &standings(&exposures));
        self.note(changes, &Cause::Registry);
        self.keep_pool();
        if let Some(seen) = &mut Arc::make_mut(&mut self.current).seen {
            let newest = seen.learned.as_ref().unwrap_or(&seen.opened);
            if !Arc::ptr_eq(newest, &exposures) {
                seen.later = Some(exposures);
            }
        }
    }

    /// Third step: the visible set of the round.
    pub fn open(&mut self) -> &VisibleSet {
        let visible = visible_set(&self.exposures, &self.required, self.pool.entries());
        let required = self.required.iter().cloned().collect();
        let record = Arc::make_mut(&mut self.current);
        record.visible = visible;
        record.required = required;
        record.seen = Some(Seen {
            opened: Arc::clone(&self.exposures),
            ..Seen::default()
        });
        &self.current.visible
    }

    /// From now on the name is always sent, if it exists and fits.
    pub fn require(&mut self, name: Arc<str>) {
        self.required.insert(name);
    }

    /// Takes [`Session::require`] back.
    pub fn release(&mut self, name: &str) {
        self.required.remove(name);
    }

    /// Admits a tool within the round that has begun, before its batch; the caller computes the
    /// visible set anew with [`Session::open`] (rule 11.4).
    ///
    /// # Errors
    /// When the tool does not exist, cannot be discovered, or does not fit.
    pub fn expose(&mut self, name: &str) -> Result<(), ExposeError> {
        if self.exposures.settings().is_none() {
            return Err(ExposeError::NotAvailable);
        }
        let tool = self.exposures.get(name).ok_or(ExposeError::Unknown)?;
        if !tool.is_searchable() {
            return Err(ExposeError::NotSearchable);
        }
        let name = tool.definition.shared_name();
        let cause = Cause::Recovery {
            tool: Arc::clone(&name),
        };
        self.admit(&name, 0, &cause)?;
        self.keep_pool();
        Ok(())
    }

    /// Takes over the definitions of lazy tools that were loaded in the course of the batch, so
    /// that they count with what they turned out to be (rule 4.7).
    pub fn learn(&mut self, definitions: impl IntoIterator<Item = Definition>) {
        let exposures = &self.exposures;
        let news: Vec<Definition> = definitions
            .into_iter()
            .filter(|definition| {
                let known = exposures.get(definition.name());
                known.is_some_and(|tool| tool.definition != *definition)
            })
            .collect();
        if news.is_empty() {
            return;
        }
        self.see(Arc::new(exposures.with_definitions(news)));
        if let Some(seen) = &mut Arc::make_mut(&mut self.current).seen {
            seen.learned = seen.later.take();
        }
    }

    /// Applies what a batch does to the pool, in the order of its calls, once all of them have
    /// ended, and completes the answers of all its searches from one visible set (rules 5.2, 6.4
    /// and 7.3). The answers come in the order of the search calls.
    pub fn apply_batch(&mut self, calls: Vec<EndedCall>) -> Vec<SearchAnswer> {
        let loaded = loaded_by(&calls);
        self.learn(loaded.values().cloned());
        let mut notes = Vec::with_capacity(calls.len());
        let mut searches = Vec::new();
        for call in calls {
            let effect = CallEffect::from(&call.effect);
            match call.effect {
                Effect::None => {}
                Effect::Reached => {
                    let cause = Cause::Call {
                        tool: Arc::clone(&call.tool),
                    };
                    // A tool that does not fit stays outside; that is no error of the call.
                    let _ = self.admit(&call.tool, 0, &cause);
                }
                Effect::Search(plan) => {
                    let evicted = self.admit_hits(&plan, &loaded);
                    searches.push((plan, evicted));
                }
            }
            notes.push(CallNote {
                id: call.id,
                tool: call.tool,
                end: call.end,
                effect,
            });
        }
        self.keep_pool();
        let next = self.preview();
        let answers: Vec<_> = searches
            .into_iter()
            .map(|(plan, evicted)| self.answer(&plan, evicted, &loaded, &next))
            .collect();
        let record = Arc::make_mut(&mut self.current);
        record.calls.extend(notes);
        record.searches.extend(answers.iter().cloned());
        record.complete = true;
        answers
    }

    /// The visible set of the next round if nothing else changes.
    pub fn preview(&self) -> VisibleSet {
        let (round, idle_rounds) = (self.round() + 1, self.pool.bounds().idle_rounds);
        let staying: Vec<PoolEntry> = self
            .pool
            .entries()
            .iter()
            .filter(|entry| !entry.is_idle(round, idle_rounds))
            .cloned()
            .collect();
        visible_set(&self.exposures, &self.required, &staying)
    }

    /// The number of the round, from 1; 0 before the first.
    pub fn round(&self) -> u32 {
        self.current.round
    }

    /// The set that the round sends.
    pub fn visible(&self) -> &VisibleSet {
        &self.current.visible
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The required names.
    pub fn required(&self) -> &BTreeSet<Arc<str>> {
        &self.required
    }

    /// The registry as this session sees it.
    pub fn exposures(&self) -> &Arc<Exposures> {
        &self.exposures
    }

    /// The round under way, or the last one.
    pub fn current(&self) -> &Arc<RoundRecord> {
        &self.current
    }

    /// The rounds before the current one, the oldest first; at most [`HISTORY`].
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Arc<RoundRecord>> {
        self.history.iter()
    }

    fn admit(
        &mut self,
        name: &Arc<str>,
        rank: u32,
        cause: &Cause,
    ) -> Result<Vec<Arc<str>>, OverBudget> {
        let exposures = Arc::clone(&self.exposures);
        let standings = standings(&exposures);
        let Some(standing) = standings(name) else {
            return Ok(Vec::new()); // always, hidden or gone: never in the pool (rule 6.1)
        };
        let touch = Touch {
            round: self.round(),
            rank,
            sequence: self.sequence,
        };
        let changes = self.pool.admit(name, standing.bytes, touch, &standings)?;
        self.sequence += 1;
        let evicted = changes
            .iter()
            .filter(|change| change.eviction().is_some())
            .map(|change| Arc::clone(change.name()))
            .collect();
        self.note(changes, cause);
        Ok(evicted)
    }

    /// Walks the hits of one search in the order of rank; returns what left for them.
    fn admit_hits(
        &mut self,
        plan: &SearchPlan,
        loaded: &HashMap<Arc<str>, Definition>,
    ) -> Vec<Arc<str>> {
        let mut evicted = Vec::new();
        for (rank, hit) in (0..).zip(&plan.hits) {
            if has_failed(hit, loaded) {
                continue;
            }
            let cause = Cause::Search {
                query: Arc::clone(&plan.query),
                hit: Arc::clone(&hit.name),
            };
            if let Ok(names) = self.admit(&hit.name, rank, &cause) {
                evicted.extend(names);
            }
        }
        evicted
    }

    fn answer(
        &self,
        plan: &SearchPlan,
        evicted: Vec<Arc<str>>,
        loaded: &HashMap<Arc<str>, Definition>,
        next: &VisibleSet,
    ) -> SearchAnswer {
        let (mut exposed, mut failed) = (Vec::new(), Vec::new());
        for hit in &plan.hits {
            let tool = self.exposures.get(&hit.name);
            let reason = if has_failed(hit, loaded) || tool.is_none() {
                Some(FailedReason::LoadFailed)
            } else if self.pool.get(&hit.name).is_none() {
                Some(FailedReason::OverBudget)
            } else if !next.contains(&hit.name) {
                Some(FailedReason::VisibleBudget)
            } else {
                None
            };
            match reason {
                Some(reason) => failed.push(FailedHit {
                    name: Arc::clone(&hit.name),
                    reason,
                    bytes: tool.map_or(0, |tool| tool.definition.bytes()),
                }),
                None => exposed.push(ExposedHit {
                    name: Arc::clone(&hit.name),
                    description: tool
                        .map_or_else(String::new, |t| t.definition.description().to_owned()),
                    score: hit.score,
                }),
            }
        }
        SearchAnswer {
            query: Arc::clone(&plan.query),
            asked: plan.asked,
            exposed,
            failed,
            evicted,
            ranked: plan.hits.iter().map(|hit| Arc::clone(&hit.name)).collect(),
        }
    }

    fn note(&mut self, changes: Vec<PoolChange>, cause: &Cause) {
        let lines = changes.into_iter().map(|change| LedgerLine {
            change,
            cause: cause.clone(),
        });
        Arc::make_mut(&mut self.current).ledger.extend(lines);
    }

    /// Lets go of what the oldest rounds saw, beyond [`VIEWS`] versions.
    fn forget_old_views(&mut self) {
        let mut kept: Vec<*const Exposures> = Vec::with_capacity(VIEWS + 1);
        for record in self.history.iter_mut().rev() {
            let Some(seen) = &record.seen else {
                break; // so have all before it
            };
            for view in seen.parts().into_iter().flatten() {
                let view = Arc::as_ptr(view);
                if kept.last() != Some(&view) && !kept.contains(&view) {
                    kept.push(view);
                }
            }
            if kept.len() > VIEWS {
                Arc::make_mut(record).seen = None;
            }
        }
    }

    /// Writes the pool as it is now into the record of the round.
    fn keep_pool(&mut self) {
        let dynamic = self.exposures.settings().is_some();
        Arc::make_mut(&mut self.current).pool = PoolRecord {
            entries: self.pool.entries().to_vec(),
            bytes: self.pool.bytes(),
            bounds: dynamic.then(|| self.pool.bounds()),
        };
    }
}

/// The bounds of the pool; a static session has none, and nothing that could enter it either.
fn bounds_of(exposures: &Exposures) -> PoolSettings {
    exposures
        .settings()
        .map_or_else(PoolSettings::default, |settings| settings.discovery)
}

fn standings(exposures: &Exposures) -> impl Fn(&str) -> Option<Standing> {
    |name| {
        let tool = exposures.get(name).filter(|tool| tool.is_searchable())?;
        Some(Standing {
            bytes: tool.definition.bytes(),
            direct: tool.mode == Mode::Direct,
        })
    }
}

/// What any search of the batch has loaded.
fn loaded_by(calls: &[EndedCall]) -> HashMap<Arc<str>, Definition> {
    let mut loaded = HashMap::new();
    for call in calls {
        let Effect::Search(plan) = &call.effect else {
            continue;
        };
        for hit in &plan.hits {
            if let Load::Loaded(definition) = &hit.load {
                loaded.insert(Arc::clone(&hit.name), definition.clone());
            }
        }
    }
    loaded
}

/// A hit has failed only if no search of the batch could load it.
fn has_failed(hit: &PlannedHit, loaded: &HashMap<Arc<str>, Definition>) -> bool {
    matches!(hit.load, Load::Failed(_)) && !loaded.contains_key(&hit.name)
}

#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod tests;
