//! Runs calls: chain, lookup, tool; batches, cancellation and the table of what is in flight
//! (rules 3.1 and 3.2).

mod endpoint;
mod inflight;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::clock::Stamp;
use crate::middleware::{Chain, Request, Trace, panic_result};
use crate::registry::Registry;
use crate::tool::{Call, CallId, Progress, ToolResult};

pub use inflight::{InFlight, InFlightTable};

/// A call that has begun.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// Identity.
    pub id: CallId,
    /// The tool's name as called.
    pub tool: Arc<str>,
    /// The arguments as they came.
    pub arguments: Value,
    /// The session, if any.
    pub session: Option<Arc<str>>,
    /// When it began.
    pub at: Stamp,
}

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it began.
    pub started: Arc<Started>,
    /// What it came to.
    pub result: ToolResult,
    /// How long it took, queues included.
    pub duration: Duration,
    /// Whether it got as far as its tool (rule 6.4).
    pub reached_tool: bool,
    /// What each layer did with it.
    pub trace: Arc<Trace>,
}

/// Hears of every call. Called on the call's own task: must not block.
pub trait CallObserver: Send + Sync + 'static {
    /// A call begins.
    fn started(&self, call: &Arc<Started>);
    /// A call has ended.
    fn finished(&self, outcome: &Outcome);
}

/// The executor of one assembly. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    registry: Arc<Registry>,
    /// A reload may exchange it; a call keeps the one that it began with.
    chain: Arc<RwLock<Chain>>,
    in_flight: InFlightTable,
    observer: Arc<dyn CallObserver>,
}

impl Executor {
    /// An executor over a registry and a chain.
    pub fn new(registry: Arc<Registry>, chain: Chain, observer: Arc<dyn CallObserver>) -> Self {
        Self {
            registry,
            chain: Arc::new(RwLock::new(chain)),
            in_flight: InFlightTable::default(),
            observer,
        }
    }

    /// The registry that calls are looked up in.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The chain that calls pass.
    pub fn chain(&self) -> Chain {
        self.chain.read().clone()
    }

    /// Lets calls that begin from now on pass another chain, and gives the old one, which is still
    /// to be closed.
    pub fn exchange_chain(&self, chain: Chain) -> Chain {
        std::mem::replace(&mut self.chain.write(), chain)
    }

    /// What is running now.
    pub fn in_flight(&self) -> &InFlightTable {
        &self.in_flight
    }

    /// Runs one call to its end. Never fails in another way than by its result (rule 1.3).
    /// Dropping the future cancels the call.
    pub async fn call(&self, call: Call) -> Outcome {
        self.launch(call, false).await.release()
    }

    /// Starts all calls together and returns their outcomes in the order of the calls (rule 3.2).
    pub async fn batch(&self, calls: Vec<Call>) -> Vec<Outcome> {
        let ended = self.batch_holding(calls, |_| false).await;
        ended.into_iter().map(Held::release).collect()
    }

    /// As [`Executor::batch`], but the calls that `holds` names are not told of as ended until
    /// their results are complete, which is up to the caller.
    pub async fn batch_holding(
        &self,
        calls: Vec<Call>,
        holds: impl Fn(&Call) -> bool,
    ) -> Vec<Held> {
        let launch = |call: Call| {
            let held = holds(&call);
            self.launch(call, held)
        };
        let running: Vec<_> = calls.into_iter().map(launch).collect();
        futures::future::join_all(running).await
    }

    /// Cancels a running call; `false` when no call of that id runs.
    pub fn cancel(&self, id: &CallId) -> bool {
        self.in_flight.cancel(id)
    }

    /// Starts a call on a task of its own, so that a panic that no layer caught still becomes a
    /// result (rule 9.2). The call has begun when this returns.
    fn launch(&self, mut call: Call, held_back: bool) -> impl Future<Output = Held> + Send + use<> {
        let started = Arc::new(Started {
            id: call.id.clone(),
            tool: Arc::clone(&call.tool),
            arguments: call.arguments.clone(),
            session: call.session.clone(),
            at: Stamp::now(),
        });
        // A token of our own: cancelling by id must not cancel the caller's other work.
        call.cancel = call.cancel.child_token();
        let cancel_on_drop = call.cancel.clone().drop_guard();
        let request = Request::new(call, self.registry.catalog());
        let progress: watch::Receiver<Option<Progress>> = request.progress.subscribe();
        let trace = request.trace();
        let chain = self.chain();
        let ticket = self.in_flight.enter(
            Arc::clone(&started),
            request.call.cancel.clone(),
            progress,
            Arc::clone(&trace),
        );
        self.observer.started(&started);
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            let endpoint = endpoint::Lookup;
            chain.run(request, &endpoint).await
        }));
        let observer = Arc::clone(&self.observer);
        async move {
            let ended = Ending {
                ticket,
                observer,
                started,
                trace,
                done: false,
            };
            let result = match task.await {
                Ok(result) => result,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => panic_result(&ended.started.tool, &*panic),
                    Err(_) => ToolResult::cancelled(&ended.started.tool),
                },
            };
            cancel_on_drop.disarm();
            let outcome = ended.outcome(result);
            let held = Held {
                outcome,
                ending: ended,
            };
            if held_back { held } else { held.told() }
        }
    }
}

/// A call that has run. Unless that has been told already, it counts as running until it is
/// completed or released; dropped before that, it is told of as cancelled.
pub struct Held {
    outcome: Outcome,
    ending: Ending,
}

impl Held {
    /// What it came to so far.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Gives it its final result and tells of its end.
    pub fn complete(mut self, result: ToolResult) -> Outcome {
        self.outcome.result = result;
        self.release()
    }

    /// Tells of its end as it is.
    pub fn release(self) -> Outcome {
        self.told().outcome
    }

    fn told(mut self) -> Self {
        self.ending.tell(&self.outcome);
        self
    }
}

/// Makes sure that a call that began is also reported as ended, even when whoever waited for it
/// went away.
struct Ending {
    ticket: inflight::Ticket,
    observer: Arc<dyn CallObserver>,
    started: Arc<Started>,
    trace: Arc<Trace>,
    done: bool,
}

impl Ending {
    fn outcome(&self, result: ToolResult) -> Outcome {
        Outcome {
            duration: self.started.at.at.elapsed(),
            started: Arc::clone(&self.started),
            result,
            reached_tool: self.trace.reached(),
            trace: Arc::clone(&self.trace),
        }
    }

    /// Tells of the end, once.
    fn tell(&mut self, outcome: &Outcome) {
        if !std::mem::replace(&mut self.done, true) {
            self.ticket.leave();
            self.observer.finished(outcome);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.done {
            let outcome = self.outcome(ToolResult::cancelled(&self.started.tool));
            self.tell(&outcome);
        }
    }
}

#[cfg(test)]
mod tests;
