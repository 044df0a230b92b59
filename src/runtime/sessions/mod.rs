//! The sessions that were opened by order: each has a task of its own, which owns it, and a queue
//! of orders. Taking an order never waits.

mod operator;
mod stage;
mod tempo;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::control::{Order, SessionAnswer, SessionError, SessionOrder};
use crate::executor::Executor;
use crate::secrets::Secrets;
use crate::session::{Directory, Discovery, SessionDriver, SessionId, SessionKind, SessionStatus};

/// How many sessions may be open by order; one more is refused.
const MOST: usize = 32;

/// How many orders may wait in a session; one more is refused.
const QUEUE: usize = 64;

/// How long the stages may take to end when the runtime does; children are killed by then.
const LAST_STAGES: Duration = Duration::from_secs(10);

/// What the task of a session is asked.
enum Ask {
    /// To follow an order.
    Order(
        SessionOrder,
        oneshot::Sender<Result<SessionAnswer, SessionError>>,
    ),
    /// To take over settings that changed.
    See,
}

/// The task of a session. It ends when `asks` is dropped.
struct Actor {
    asks: mpsc::Sender<Ask>,
    task: AbortOnDropHandle<()>,
    /// Whether it has a stage to take down. Any other is dropped, which cancels its calls.
    has_stage: bool,
}

impl Actor {
    /// Ends the session and waits until it has ended; one that is stuck is dropped.
    async fn end(self) {
        let Self {
            asks,
            task,
            has_stage,
        } = self;
        drop(asks);
        if !has_stage {
            task.abort();
        }
        let _ = tokio::time::timeout(LAST_STAGES, task).await;
    }
}

/// The sessions that were opened by order.
pub(super) struct Sessions {
    pub(super) executor: Executor,
    pub(super) discovery: Arc<Discovery>,
    pub(super) directory: Directory,
    pub(super) secrets: Secrets,
    pub(super) own_command: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    actors: BTreeMap<SessionId, Actor>,
    /// How many were opened without a name.
    unnamed: u64,
    /// Set when the runtime ends: nothing is opened any more.
    closed: bool,
}

impl Sessions {
    pub(super) fn new(
        executor: Executor,
        discovery: Arc<Discovery>,
        directory: Directory,
        secrets: Secrets,
        own_command: Option<PathBuf>,
    ) -> Self {
        Self {
            executor,
            discovery,
            directory,
            secrets,
            own_command,
            state: Mutex::new(State::default()),
        }
    }

    /// Takes the order if it is one of sessions, else gives it back.
    pub(super) fn take(&self, order: Order) -> Option<Order> {
        match order {
            Order::OpenSession {
                name,
                required,
                reply,
            } => {
                let _ = reply.send(self.open(name, required));
            }
            Order::Play {
                scenario,
                pace,
                interval,
                reply,
            } => {
                self.secrets.absorb(&scenario.secrets);
                let plan = stage::Plan {
                    scenario: *scenario,
                    pace,
                    interval,
                    own_command: self.own_command.clone(),
                    directory: self.directory.clone(),
                };
                let _ = reply.send(self.play(plan));
            }
            Order::Session { id, order, reply } => self.order(id, order, reply),
            other => return Some(other),
        }
        None
    }

    /// Lets the sessions take over settings that changed. One whose queue is full does with its
    /// next round.
    pub(super) fn see(&self) {
        for actor in self.state.lock().actors.values() {
            let _ = actor.asks.try_send(Ask::See);
        }
    }

    /// Ends them all, and waits for their stages to be taken down.
    pub(super) async fn close(&self) {
        let actors = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.actors)
        };
        futures::future::join_all(actors.into_values().map(Actor::end)).await;
    }

    fn open(
        &self,
        name: Option<String>,
        required: Vec<Arc<str>>,
    ) -> Result<SessionId, SessionError> {
        let mut state = self.state.lock();
        state.has_room()?;
        let name = name.unwrap_or_else(|| {
            state.unnamed += 1;
            format!("operator-{}", state.unnamed)
        });
        let secrets = self.secrets.clone();
        let listing = self.directory.list(&name, SessionKind::Operator, secrets);
        let id = listing.id();
        let (executor, discovery) = (self.executor.clone(), Arc::clone(&self.discovery));
        let mut driver = SessionDriver::new(name, executor, discovery, required);
        driver.enlist(listing);
        driver.begin_round();
        state.start(id, false, |asks| operator::run(driver, asks));
        Ok(id)
    }

    fn play(&self, plan: stage::Plan) -> Result<SessionId, SessionError> {
        let mut state = self.state.lock();
        state.has_room()?;
        let name = short_name(&plan.scenario.scenario.name);
        let secrets = plan.scenario.secrets.clone();
        let listing = self.directory.list(name, SessionKind::Scenario, secrets);
        let id = listing.id();
        state.start(id, true, |asks| stage::run(plan, listing, asks));
        Ok(id)
    }

    fn order(
        &self,
        id: SessionId,
        order: SessionOrder,
        reply: oneshot::Sender<Result<SessionAnswer, SessionError>>,
    ) {
        let mut state = self.state.lock();
        if matches!(order, SessionOrder::Close) {
            match state.actors.remove(&id) {
                Some(actor) => close(actor, reply),
                None => {
                    let _ = reply.send(self.forget(id));
                }
            }
            return;
        }
        let Some(actor) = state.actors.get(&id) else {
            let _ = reply.send(Err(self.why_not(id)));
            return;
        };
        if let Err(error) = actor.asks.try_send(Ask::Order(order, reply)) {
            let full = matches!(error, mpsc::error::TrySendError::Full(_));
            if let Ask::Order(_, reply) = error.into_inner() {
                let _ = reply.send(Err(match full {
                    true => SessionError::Busy(QUEUE),
                    false => SessionError::Closed,
                }));
            }
        }
    }

    fn forget(&self, id: SessionId) -> Result<SessionAnswer, SessionError> {
        let rows = self.directory.rows();
        match rows.iter().find(|row| row.id == id) {
            Some(row) if row.status == SessionStatus::Ended => {
                self.directory.forget(id);
                let name = &row.name;
                Ok(SessionAnswer::Done(format!("`{name}` is forgotten")))
            }
            _ => Err(self.why_not(id)),
        }
    }

    /// Why a session without an actor takes no orders.
    fn why_not(&self, id: SessionId) -> SessionError {
        let rows = self.directory.rows();
        match rows.iter().find(|row| row.id == id) {
            None => SessionError::Unknown(id),
            Some(row) if row.status == SessionStatus::Ended => SessionError::Closed,
            Some(row) => SessionError::NotYours(row.kind),
        }
    }
}

impl State {
    fn has_room(&mut self) -> Result<(), SessionError> {
        if self.closed {
            return Err(SessionError::Closed);
        }
        match self.actors.len() {
            MOST.. => Err(SessionError::TooMany(MOST)),
            _ => Ok(()),
        }
    }

    fn start<F>(
        &mut self,
        id: SessionId,
        has_stage: bool,
        run: impl FnOnce(mpsc::Receiver<Ask>) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (asks, taken) = mpsc::channel(QUEUE);
        let task = AbortOnDropHandle::new(tokio::spawn(run(taken)));
        self.actors.insert(
            id,
            Actor {
                asks,
                task,
                has_stage,
            },
        );
    }
}

/// Ends a session and answers when it has ended.
fn close(actor: Actor, reply: oneshot::Sender<Result<SessionAnswer, SessionError>>) {
    tokio::spawn(async move {
        actor.end().await;
        let _ = reply.send(Ok(SessionAnswer::Done("the session is closed".to_owned())));
    });
}

/// The name of a scenario without directories and ending.
fn short_name(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.strip_suffix(".yaml")
        .or_else(|| name.strip_suffix(".yml"))
        .or_else(|| name.strip_suffix(".json"))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests;
