//! Owns one session and runs its rounds.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::watch;

use super::View;
use super::desk::Seat;
use super::directory::Listing;
use super::{CallReport, Discovery, RoundReport, SessionState};
use crate::discovery::session::{CallEnd, Effect, EndedCall, ExposeError, RoundRecord};
use crate::discovery::{Session, TOOL_SEARCH, VisibleSet};
use crate::executor::{Executor, Held, Outcome};
use crate::registry::nearest;
use crate::tool::{Call, CallId, Definition};

/// Which calls run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Those whose tool was sent in this round; others are undefined (a model).
    Visible,
    /// All of them (an operator).
    Open,
}

/// One session that runs. Rounds are either driven whole ([`SessionDriver::round`]) or step by
/// step: `begin_round`, look at what is visible, `run`. If the future of a batch is dropped, its
/// calls are cancelled and it has no effect on the pool; the next round goes on from there.
pub struct SessionDriver {
    name: Arc<str>,
    executor: Executor,
    discovery: Arc<Discovery>,
    session: Session,
    seat: Seat,
    state: watch::Sender<Arc<SessionState>>,
    listing: Option<Listing>,
}

impl SessionDriver {
    /// A session before its first round.
    pub fn new(
        name: impl Into<String>,
        executor: Executor,
        discovery: Arc<Discovery>,
        required: impl IntoIterator<Item = Arc<str>>,
    ) -> Self {
        // An allocation of its own, whatever the caller does with the name: the desk knows the
        // session by it.
        let name: Arc<str> = name.into().into();
        let session = Session::new(discovery.view().exposures, required);
        let seat = discovery.desk().sit(&name);
        let state = watch::Sender::new(Arc::new(SessionState {
            name: Arc::clone(&name),
            current: Arc::clone(session.current()),
            history: Arc::new([]),
        }));
        Self {
            name,
            executor,
            discovery,
            session,
            seat,
            state,
            listing: None,
        }
    }

    /// The name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The session as it is now.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Follows the session; only the newest counts.
    pub fn watch(&self) -> watch::Receiver<Arc<SessionState>> {
        self.state.subscribe()
    }

    /// Shows the session under a listing, until the driver is dropped.
    pub fn enlist(&mut self, mut listing: Listing) {
        listing.show(&self.state.borrow());
        self.listing = Some(listing);
    }

    /// One whole round: begins it and runs the calls that are visible in it.
    pub async fn round(&mut self, calls: Vec<Call>) -> RoundReport {
        self.begin_round();
        self.run(calls, Gate::Visible).await
    }

    /// Begins a round with the registry as it is now; returns what is visible in it (rule 5.2).
    pub fn begin_round(&mut self) -> &VisibleSet {
        self.start_round();
        self.see();
        self.open()
    }

    /// First step of [`SessionDriver::begin_round`], for callers that change the registry or the
    /// required names before the second: idle entries leave.
    pub fn start_round(&mut self) {
        self.session.start_round();
    }

    /// Second step: takes over registry and settings as they are now. Also between rounds, when
    /// settings have changed (rule 6.6).
    pub fn see(&mut self) {
        self.session.see(self.discovery.view().exposures);
        self.publish();
    }

    /// Third step: computes what is visible. Also again, after [`SessionDriver::expose`].
    pub fn open(&mut self) -> &VisibleSet {
        self.session.open();
        self.publish();
        self.session.visible()
    }

    /// From now on the name is always sent, if it exists and fits.
    pub fn require(&mut self, name: impl Into<Arc<str>>) {
        self.session.require(name.into());
    }

    /// Takes [`SessionDriver::require`] back.
    pub fn release(&mut self, name: &str) {
        self.session.release(name);
    }

    /// Admits a tool within the round and computes the visible set anew (rule 11.4).
    ///
    /// # Errors
    /// When the tool does not exist, cannot be discovered, or does not fit.
    pub fn expose(&mut self, name: &str) -> Result<&VisibleSet, ExposeError> {
        self.session.expose(name)?;
        Ok(self.open())
    }

    /// Runs the batch of the round that has begun. What it does to the pool is applied in the
    /// order of its calls, once all of them have ended (rule 5.2).
    pub async fn run(&mut self, calls: Vec<Call>, gate: Gate) -> RoundReport {
        let _busy = self.listing.as_ref().map(Listing::busy);
        self.seat.begin(View {
            exposures: Arc::clone(self.session.exposures()),
            index: self.discovery.view().index,
        });
        let mut running = Vec::new();
        let mut asked = Vec::with_capacity(calls.len());
        let mut ids = HashSet::new();
        for mut call in calls {
            let id = call.id.clone();
            let runs = gate == Gate::Open || self.session.visible().contains(&call.tool);
            asked.push((id, Arc::clone(&call.tool), runs));
            if runs {
                if !ids.insert(call.id.clone()) {
                    call.id = CallId::fresh(); // the desk tells searches apart by it
                }
                call.session = Some(Arc::clone(&self.name));
                running.push(call);
            }
        }
        let is_search = |call: &Call| *call.tool == *TOOL_SEARCH;
        let mut helds = self
            .executor
            .batch_holding(running, is_search)
            .await
            .into_iter();
        self.seat.end();
        let mut ended = Vec::with_capacity(asked.len());
        let mut batch = Vec::with_capacity(asked.len());
        for (id, tool, runs) in asked {
            let held = runs.then(|| helds.next()).flatten();
            let report = match &held {
                Some(held) => ran(id, tool, held.outcome().clone()),
                None => {
                    let nearest = nearest(&tool, self.session.visible().names());
                    CallReport::undefined(id, tool, &nearest)
                }
            };
            ended.push(EndedCall {
                id: report.id.clone(),
                tool: Arc::clone(&report.tool),
                end: report.end,
                effect: self.effect(&report),
            });
            batch.push((report, held));
        }
        let loaded = self.loaded_by_calls(batch.iter().map(|(report, _)| report));
        self.session.learn(loaded);
        RoundReport {
            calls: self.apply(ended, batch),
            record: Arc::clone(self.session.current()),
        }
    }

    /// What a call does to the pool (rule 6.4).
    fn effect(&self, report: &CallReport) -> Effect {
        let Some(outcome) = &report.outcome else {
            return Effect::None;
        };
        if *report.tool == *TOOL_SEARCH && self.session.exposures().settings().is_some() {
            let plan = self.seat.take(&outcome.started.id);
            return match plan.filter(|_| report.end == CallEnd::Ok) {
                Some(plan) => Effect::Search(plan),
                None => Effect::None,
            };
        }
        if outcome.reached_tool {
            Effect::Reached
        } else {
            Effect::None
        }
    }

    /// The definitions of lazy tools that were called, as far as they are loaded by now.
    fn loaded_by_calls<'r>(
        &self,
        reports: impl Iterator<Item = &'r CallReport>,
    ) -> Vec<Definition> {
        let catalog = self.executor.registry().catalog();
        reports
            .filter(|report| report.outcome.is_some())
            .filter_map(|report| catalog.get(&report.tool)?.tool.loader()?.loaded())
            .collect()
    }

    /// Applies the batch and completes the answers of its searches, which pass the layers of the
    /// chain only now, and are told of only now: the record of a search shows what its caller got.
    fn apply(
        &mut self,
        ended: Vec<EndedCall>,
        batch: Vec<(CallReport, Option<Held>)>,
    ) -> Vec<CallReport> {
        let searches: Vec<bool> = ended
            .iter()
            .map(|call| matches!(call.effect, Effect::Search(_)))
            .collect();
        let mut answers = self.session.apply_batch(ended).into_iter();
        let mut reports = Vec::with_capacity(batch.len());
        for ((mut report, held), is_search) in batch.into_iter().zip(searches) {
            let answer = is_search.then(|| answers.next()).flatten();
            report.outcome = match (held, answer) {
                (Some(held), Some(answer)) => {
                    let (chain, trace) = (self.executor.chain(), &held.outcome().trace);
                    report.result = chain.complete(&report.tool, answer.to_result(), trace);
                    Some(held.complete(report.result.clone()))
                }
                (held, _) => held.map(Held::release),
            };
            reports.push(report);
        }
        self.publish();
        reports
    }

    fn publish(&mut self) {
        let history = self.history();
        let state = Arc::new(SessionState {
            name: Arc::clone(&self.name),
            current: Arc::clone(self.session.current()),
            history,
        });
        if let Some(listing) = &mut self.listing {
            listing.show(&state);
        }
        self.state.send_replace(state);
    }

    /// The finished rounds; shared with what was published last unless one has been added.
    fn history(&self) -> Arc<[Arc<RoundRecord>]> {
        let published = self.state.borrow();
        let known = published.history.last().map(Arc::as_ptr);
        if known == self.session.history().last().map(Arc::as_ptr) {
            return Arc::clone(&published.history);
        }
        self.session.history().cloned().collect()
    }
}

fn ran(id: CallId, tool: Arc<str>, outcome: Outcome) -> CallReport {
    CallReport {
        id,
        tool,
        end: outcome
            .result
            .error_kind
            .map_or(CallEnd::Ok, CallEnd::Error),
        result: outcome.result.clone(),
        outcome: Some(outcome),
    }
}
