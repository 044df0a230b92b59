//! Drives one server: feeds the link what happened, performs what it answers, publishes what a
//! person sees. The only owner of the server's state.

mod attempt;
mod attendant;
mod call;
mod connection;
mod connector;
mod ending;
mod handler;
mod listen;
mod parts;
mod server;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::Liveness;
use super::failure::{self, Stage};
use super::link::{Action, Epoch, Input, Link, Pulse, Why};
use super::translate::Listing;
use super::transport::Trouble;
use crate::clock::Stamp;
use crate::source::{Failure, FailureKind, OrderError, ServerOrder, ServerState};
use attempt::{Attempt, Failed, Session};
use parts::{Event, Events};

pub(super) use connection::{Bounds, Connection, Unanswered};
pub(super) use connector::{Configured, Connector};
#[cfg(test)]
pub(super) use connector::{Lines, Wire};
pub(super) use handler::Person;
pub(super) use parts::{Order, Parts};
pub(super) use server::Server;

/// Events on their way to a driver; when it is full, those who bring them wait.
const EVENTS: usize = 256;

/// Log lines and proofs are published at most this often; changes of state at once.
const QUIET: Duration = Duration::from_millis(50);

pub(super) struct Driver {
    parts: Parts,
    link: Link,
    events: Events,
    attempt: Option<AbortOnDropHandle<()>>,
    session: Option<Session>,
    /// When the attempt or the connection began.
    began: Instant,
    trouble: Option<(Trouble, Stage)>,
    /// What the server listed last, before pins.
    listing: Listing,
    waiting: Vec<(u64, oneshot::Sender<Result<String, OrderError>>)>,
    probe: u64,
    dirty: Option<Instant>,
}

impl Driver {
    /// Drives the server until the source is closed.
    pub(super) async fn run(parts: Parts) {
        let (events, mut arriving) = mpsc::channel(EVENTS);
        let mut driver = Self {
            link: Link::new(parts.backoff),
            events,
            attempt: None,
            session: None,
            began: Instant::now(),
            trouble: None,
            listing: Listing::default(),
            waiting: Vec::new(),
            probe: 0,
            dirty: None,
            parts,
        };
        let close = driver.parts.close.clone();
        let log = driver.parts.log.clone();
        driver.step(Input::Start).await;
        while !close.is_cancelled() {
            let deadline = driver.link.deadline();
            let dirty = driver.dirty;
            tokio::select! {
                biased;
                () = close.cancelled() => {}
                Some(event) = arriving.recv() => driver.on_event(event).await,
                Some(order) = driver.parts.orders.recv() => driver.on_order(order).await,
                () = until(deadline) => driver.tick().await,
                () = log.changed() => driver.soil(),
                () = until(dirty) => driver.publish(),
            }
        }
        driver.step(Input::Close).await;
        let Parts {
            registry, owner, ..
        } = &driver.parts;
        registry.publish(owner, Vec::new()).await;
        driver.publish();
    }

    /// A fresh random number between -1 and 1, from the seed of a hash map.
    fn roll() -> f64 {
        use std::hash::{BuildHasher as _, RandomState};
        let draw = RandomState::new().hash_one(());
        f64::from(u32::try_from(draw >> 32).unwrap_or_default()) / f64::from(u32::MAX) * 2.0 - 1.0
    }

    async fn tick(&mut self) {
        self.step(Input::Tick { roll: Self::roll() }).await;
    }

    async fn on_event(&mut self, event: Event) {
        let roll = Self::roll();
        match event {
            Event::Started { epoch, pid } => {
                if self.link.epoch() == Some(epoch) {
                    self.parts.board.set_pid(Some(pid));
                    self.soil();
                }
            }
            Event::Attempted { epoch, outcome } => self.attempted(epoch, *outcome).await,
            Event::Lost { epoch, trouble } => self.lost(epoch, trouble).await,
            Event::Trouble { epoch, trouble } => self.troubled(epoch, trouble).await,
            Event::Alive { epoch } => {
                if self.link.epoch() == Some(epoch) {
                    self.parts.board.proved_alive();
                    self.soil();
                }
                self.step(Input::Alive { epoch }).await;
            }
            Event::ListChanged { epoch } => self.step(Input::ListChanged { epoch }).await,
            Event::Listed { epoch, listing } => {
                if self.link.epoch() == Some(epoch) {
                    self.listed(listing).await;
                }
                self.step(Input::Listed { epoch }).await;
            }
            Event::Probed { epoch, probe, took } => match took {
                Ok(took) => {
                    if self.link.epoch() == Some(epoch) {
                        self.parts.board.set_ping(took);
                        self.parts.board.proved_alive();
                        self.soil();
                        self.answer_probe(probe, |server| {
                            format!("`{server}` answered in {took:.1?}")
                        });
                    }
                    self.step(Input::Answered { epoch, probe }).await;
                }
                Err(_) => {
                    self.step(Input::Unanswered { epoch, probe, roll }).await;
                }
            },
        }
    }

    async fn attempted(&mut self, epoch: Epoch, outcome: Result<Session, Failed>) {
        if self.link.epoch() != Some(epoch) {
            return; // a late session closes by being dropped
        }
        self.attempt = None;
        match outcome {
            Ok(session) => {
                let pulse = self.pulse(&session.connection);
                self.parts.board.connected(session.introduction.clone());
                self.listing = session.listing.clone();
                self.parts.server.connect(Arc::clone(&session.connection));
                self.session = Some(session);
                self.began = Instant::now();
                self.publish_tools().await;
                self.step(Input::Connected { epoch, pulse }).await;
            }
            Err(Failed { trouble, stage }) => {
                let verdict = failure::verdict(&trouble.kind);
                let roll = Self::roll();
                if matches!(
                    trouble.kind,
                    FailureKind::HttpStatus { .. }
                        | FailureKind::NotMcp { .. }
                        | FailureKind::RpcError { .. }
                        | FailureKind::UnsupportedProtocol { .. }
                ) {
                    self.parts.board.proved_reachable();
                }
                let told = self.failure(trouble, stage);
                self.parts.board.failed(told);
                self.parts.board.set_pid(None);
                self.step(Input::Failed {
                    epoch,
                    verdict,
                    roll,
                })
                .await;
            }
        }
    }

    fn pulse(&self, connection: &Connection) -> Pulse {
        match self.parts.settings.liveness.unwrap_or(self.parts.liveness) {
            // The newer revision has no ping.
            Liveness::Every(interval) if !connection.modern => Pulse::Every(interval),
            _ => Pulse::OnDemand,
        }
    }

    async fn lost(&mut self, epoch: Epoch, trouble: Trouble) {
        if self.link.epoch() != Some(epoch) || self.session.is_none() {
            return;
        }
        self.trouble = Some((trouble, Stage::Connected));
        self.step(Input::Lost {
            epoch,
            roll: Self::roll(),
        })
        .await;
    }

    /// What a request met. Lines end by themselves; over HTTP the requests are all there is.
    async fn troubled(&mut self, epoch: Epoch, trouble: Option<Trouble>) {
        let Some(connection) = self
            .session
            .as_ref()
            .map(|session| Arc::clone(&session.connection))
            .filter(|connection| connection.epoch == epoch && connection.http)
        else {
            return;
        };
        let trouble = trouble.unwrap_or_else(|| FailureKind::ConnectionReset.into());
        match trouble.kind {
            FailureKind::ConnectionRefused
            | FailureKind::NameNotResolved
            | FailureKind::Proxy { .. }
            | FailureKind::Tls { .. }
            | FailureKind::HttpStatus { status: 404, .. } => self.lost(epoch, trouble).await,
            FailureKind::ConnectionReset | FailureKind::Other => {
                if connection.modern {
                    self.lost(epoch, trouble).await;
                } else {
                    self.step(Input::Suspect { epoch }).await;
                }
            }
            _ => {}
        }
    }

    async fn listed(&mut self, listing: Result<Listing, String>) {
        match listing {
            Ok(listing) => {
                self.listing = listing;
                self.publish_tools().await;
            }
            Err(told) => self.parts.board.warn(told),
        }
        self.soil();
    }

    /// Registers what the newest listing brings, minus what the pin file holds back.
    async fn publish_tools(&mut self) {
        let mut listing = self.listing.clone();
        let held = match &mut self.parts.pins {
            Some(pins) => pins.sift(&mut listing),
            None => Vec::new(),
        };
        // A server that rewrites a trusted tool is a security event; once for each rewriting.
        for tool in held.iter().filter(|tool| !self.parts.board.holds(tool)) {
            tracing::warn!(
                "server `{}`: the tool `{}` is held back until its definition is accepted: it is \
                 not as its pin file says",
                self.parts.server.name,
                tool.definition.name()
            );
        }
        let tools = self
            .parts
            .server
            .tools(&listing.tools, &self.parts.settings);
        let count = tools.len();
        self.parts.registry.publish(&self.parts.owner, tools).await;
        self.parts.board.listed(count, held, listing.warnings);
    }

    async fn on_order(&mut self, order: Order) {
        match order {
            Order::Server(order, reply) => self.on_server_order(order, reply).await,
            Order::Accept(tool, reply) => {
                let answer = self.accept(tool.as_deref()).await;
                let _ = reply.send(answer);
            }
        }
    }

    async fn on_server_order(
        &mut self,
        order: ServerOrder,
        reply: oneshot::Sender<Result<String, OrderError>>,
    ) {
        let name = Arc::clone(&self.parts.server.name);
        let before = self.link.state();
        let (input, done) = match order {
            ServerOrder::Reconnect => (Input::Reconnect, format!("`{name}` connects anew")),
            ServerOrder::Enable => (Input::Enable, format!("`{name}` is enabled and connects")),
            ServerOrder::Disable => (Input::Disable, format!("`{name}` is disabled")),
            ServerOrder::Probe => (Input::Probe, String::new()),
        };
        let actions = self.link.step(input, Instant::now());
        let carried_out = actions.contains(&Action::Done);
        self.perform(actions).await;
        if !carried_out {
            let told = format!("`{name}` is {before}: {}", not_now(order));
            let _ = reply.send(Err(OrderError::NotNow(told)));
        } else if order == ServerOrder::Probe {
            self.waiting.push((self.probe, reply));
        } else {
            let _ = reply.send(Ok(done));
        }
    }

    async fn accept(&mut self, tool: Option<&str>) -> Result<String, OrderError> {
        let Some(pins) = &mut self.parts.pins else {
            return Err(OrderError::NotNow(format!(
                "`{}` has no `pin` file",
                self.parts.server.name
            )));
        };
        let told = pins
            .accept(tool, &self.listing)
            .map_err(OrderError::NotNow)?;
        if self.session.is_some() {
            self.publish_tools().await;
        }
        self.soil();
        Ok(told)
    }

    fn answer_probe(&mut self, probe: u64, told: impl Fn(&str) -> String) {
        for (_, reply) in self.waiting.extract_if(.., |(waits, _)| *waits <= probe) {
            let _ = reply.send(Ok(told(&self.parts.server.name)));
        }
    }

    async fn step(&mut self, input: Input) {
        let actions = self.link.step(input, Instant::now());
        self.perform(actions).await;
    }

    async fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Connect { epoch } => self.connect(epoch),
                Action::Disconnect { epoch: _ } => self.disconnect(),
                Action::Probe { epoch, probe } => self.send_probe(epoch, probe),
                Action::Missed { probe } => {
                    self.answer_probe(probe, |server| format!("`{server}` gave no answer"))
                }
                Action::List { epoch } => self.list(epoch),
                Action::Enter {
                    state,
                    why,
                    attempt,
                } => self.enter(state, why, attempt),
                Action::Done | Action::NotNow => {}
            }
        }
    }

    fn connect(&mut self, epoch: Epoch) {
        self.began = Instant::now();
        self.parts
            .board
            .set_resolved(self.parts.connector.resolved());
        let attempt = Attempt {
            epoch,
            settings: Arc::clone(&self.parts.settings),
            connector: Arc::clone(&self.parts.connector),
            connect_timeout: self.parts.connect_timeout,
            client_version: self.parts.client_version.clone(),
            tap: super::frames::Tap {
                epoch,
                ..self.parts.tap.clone()
            },
            log: self.parts.log.clone(),
            person: self.parts.person.clone(),
            events: self.events.clone(),
            tracker: self.parts.tracker.clone(),
        };
        let events = self.events.clone();
        self.attempt = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            let outcome = Box::new(attempt.run().await);
            connection::send(&events, Event::Attempted { epoch, outcome }).await;
        })));
    }

    fn disconnect(&mut self) {
        self.attempt = None;
        self.parts.server.disconnect();
        if let Some(session) = self.session.take() {
            // Calls under way end now, and nothing new is sent.
            session.connection.gone.cancel();
        }
        self.parts.board.set_pid(None);
        let name = Arc::clone(&self.parts.server.name);
        for (_, reply) in self.waiting.drain(..) {
            let _ = reply.send(Ok(format!("`{name}` was disconnected before it answered")));
        }
    }

    fn send_probe(&mut self, epoch: Epoch, probe: u64) {
        self.probe = probe;
        let Some(session) = &self.session else {
            return;
        };
        let connection = Arc::clone(&session.connection);
        let events = self.events.clone();
        self.parts.tracker.spawn(async move {
            let began = Instant::now();
            let took = attempt::probe(&connection).await.map(|()| began.elapsed());
            connection::send(&events, Event::Probed { epoch, probe, took }).await;
        });
    }

    fn list(&mut self, epoch: Epoch) {
        let Some(session) = &self.session else {
            return;
        };
        let connection = Arc::clone(&session.connection);
        let settings = Arc::clone(&self.parts.settings);
        let events = self.events.clone();
        let within = self.parts.connect_timeout;
        self.parts.tracker.spawn(async move {
            let listed = tokio::time::timeout(within, attempt::list(&connection, &settings)).await;
            let listing = match listed {
                Ok(Ok(listing)) => Ok(listing),
                Ok(Err(unanswered)) => Err(format!(
                    "the changed tools could not be listed ({}); the earlier ones stay",
                    unanswered.told()
                )),
                Err(_) => Err(format!(
                    "the changed tools were not listed within {within:?}; the earlier ones stay"
                )),
            };
            connection::send(&events, Event::Listed { epoch, listing }).await;
        });
    }

    fn failure(&self, trouble: Trouble, stage: Stage) -> Failure {
        let secrets = &self.parts.server.secrets;
        let settings = &self.parts.settings;
        let message = failure::message(&trouble.kind, stage, settings, trouble.detail.as_deref());
        Failure {
            at: Stamp::now(),
            message: secrets.mask(&message).into_owned(),
            advice: failure::advice(&trouble.kind, settings)
                .map(|advice| secrets.mask(&advice).into_owned()),
            after: self.began.elapsed(),
            stderr: self.parts.log.stderr_tail(self.began),
            kind: failure::masked(trouble.kind, secrets),
        }
    }

    fn enter(&mut self, state: ServerState, why: Why, attempt: u32) {
        if why == Why::ProbesMissed {
            self.trouble = Some((FailureKind::ProbesMissed.into(), Stage::Connected));
        }
        if matches!(why, Why::Lost | Why::ProbesMissed)
            && let Some((trouble, stage)) = self.trouble.take()
        {
            let failure = self.failure(trouble, stage);
            self.parts.board.lost(failure);
        }
        let last_error = || {
            self.parts
                .board
                .status()
                .last_error
                .as_ref()
                .map_or_else(String::new, |failure| failure.message.clone())
        };
        let reason = match why {
            Why::Started => "the source was started".to_owned(),
            Why::Retry => format!("attempt {attempt} begins"),
            Why::Connected => format!(
                "connected, {} tools, revision {}",
                self.parts.board.status().tools,
                self.parts.board.status().protocol.as_deref().unwrap_or("?")
            ),
            Why::Failed | Why::Rejected => last_error(),
            Why::Lost | Why::ProbesMissed => format!("lost: {}", last_error()),
            Why::ProbeMissed => "a probe was not answered in time".to_owned(),
            Why::Answered => "it answers again".to_owned(),
            Why::Ordered => "by order of the operator".to_owned(),
            Why::Closed => "the source was closed".to_owned(),
        };
        self.parts.board.set_next_retry(self.link.retry_at());
        self.parts.board.enter(state, reason, attempt);
        self.publish();
    }

    fn soil(&mut self) {
        self.dirty.get_or_insert_with(|| Instant::now() + QUIET);
    }

    fn publish(&mut self) {
        self.dirty = None;
        self.parts.board.publish();
    }
}

fn not_now(order: ServerOrder) -> &'static str {
    match order {
        ServerOrder::Reconnect => "enable it first",
        ServerOrder::Probe => "there is no connection to probe",
        ServerOrder::Disable => "it is off already",
        ServerOrder::Enable => "only a disabled server can be enabled",
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
