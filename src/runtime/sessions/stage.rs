//! A scenario that is played: its deployment is started as a stage of its own, and its rounds are
//! played as the tempo says. Orders are taken at any time, also while a call of a round runs.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Ask;
use super::tempo::Tempo;
use crate::control::{Pace, SessionAnswer, SessionError, SessionOrder};
use crate::runtime::{Options, Runtime, StartError};
use crate::scenario::{LoadedScenario, Player, Stage, Step};
use crate::secrets::Secrets;
use crate::session::{CheckRow, Directory, Listing, PlayRow, PlayState, PlayedRound, SessionId};

/// How long the servers of a stage are waited for, as `toolcrib play` waits.
const SETTLE: Duration = Duration::from_secs(10);
const REQUIRED: Duration = Duration::from_secs(60);

/// What a play is about.
pub(super) struct Plan {
    pub(super) scenario: LoadedScenario,
    pub(super) pace: Pace,
    pub(super) interval: Duration,
    pub(super) own_command: Option<std::path::PathBuf>,
    pub(super) directory: Directory,
}

/// Plays until the last sender of orders is gone; then the stage is taken down.
pub(super) async fn run(plan: Plan, listing: Listing, mut asks: mpsc::Receiver<Ask>) {
    let mut show = Show::new(&plan, listing.id());
    show.tempo.take(plan.pace, Instant::now());
    show.publish(PlayState::Starting);
    let scenario = plan.scenario;
    let options = Options {
        assembly: Some(scenario.scenario.assembly.clone()),
        own_command: plan.own_command,
        secrets: scenario.secrets.clone(),
        ..Options::default()
    };
    // A runtime that starts runtimes: the type has to end somewhere.
    let starting: BoxFuture<'_, Result<Runtime, StartError>> =
        Box::pin(Runtime::start(&scenario.deployment, options));
    let runtime = match meanwhile(starting, &mut asks, &mut show).await {
        None => return,
        Some(Ok(runtime)) => runtime,
        Some(Err(error)) => {
            show.publish(PlayState::Failed {
                cause: error.to_string(),
            });
            return refuse(asks, &error.to_string()).await;
        }
    };
    let settled = runtime.wait_settled(SETTLE, REQUIRED);
    match meanwhile(Box::pin(settled), &mut asks, &mut show).await {
        None => {}
        Some(ready) if ready.may_serve() => {
            let mut player = Player::new(
                scenario.scenario,
                Stage {
                    executor: runtime.executor().clone(),
                    discovery: Arc::clone(runtime.discovery()),
                },
            );
            player.enlist(listing);
            play(&mut player, &mut asks, &mut show).await;
        }
        Some(ready) => {
            let first = ready.rejected.iter().chain(&ready.required).next();
            let cause = first.map_or_else(String::new, |server| {
                format!("server `{}`: {}", server.server, server.cause)
            });
            let cause = format!("its stage cannot be set: {cause}");
            show.publish(PlayState::Failed {
                cause: cause.clone(),
            });
            refuse(asks, &cause).await;
        }
    }
    for failure in runtime.shutdown().await {
        tracing::warn!("{failure}");
    }
}

/// Waits for the work and takes orders meanwhile; `None` when the play is to end.
async fn meanwhile<T>(
    mut work: BoxFuture<'_, T>,
    asks: &mut mpsc::Receiver<Ask>,
    show: &mut Show,
) -> Option<T> {
    loop {
        tokio::select! {
            biased;
            ask = asks.recv() => match ask? {
                Ask::See => {}
                Ask::Order(order, reply) => {
                    let _ = reply.send(show.obey(&order));
                }
            },
            done = &mut work => return Some(done),
        }
    }
}

async fn play(player: &mut Player, asks: &mut mpsc::Receiver<Ask>, show: &mut Show) {
    show.next(player);
    show.publish_tempo();
    loop {
        let due = show.tempo.due();
        tokio::select! {
            biased;
            ask = asks.recv() => match ask {
                None => return,
                Some(Ask::See) => {}
                Some(Ask::Order(order, reply)) => {
                    let _ = reply.send(show.obey(&order));
                }
            },
            () = sleep_until(due) => {
                let step = player.upcoming().cloned().unwrap_or_default();
                let stepping = Box::pin(async {
                    player.step().await.map(|round| round.map(|round| played(&step, round)))
                });
                let round = match meanwhile(stepping, asks, show).await {
                    None => return,
                    Some(Ok(round)) => round,
                    Some(Err(error)) => {
                        let cause = error.to_string();
                        show.publish(PlayState::Failed { cause: cause.clone() });
                        return refuse_from(asks, &cause).await;
                    }
                };
                show.tempo.played(Instant::now());
                show.played.extend(round.map(|round| show.masked(round)).map(Arc::new));
                show.next(player);
                show.publish_tempo();
            }
        }
    }
}

/// What a round came to.
fn played(step: &Step, round: &crate::scenario::TraceRound) -> PlayedRound {
    PlayedRound {
        round: round.round,
        note: step.note.clone(),
        checks: step.expect.compare(round),
    }
}

async fn refuse(mut asks: mpsc::Receiver<Ask>, cause: &str) {
    refuse_from(&mut asks, cause).await;
}

/// Answers every order with the cause until the play is closed.
async fn refuse_from(asks: &mut mpsc::Receiver<Ask>, cause: &str) {
    while let Some(ask) = asks.recv().await {
        if let Ask::Order(_, reply) = ask {
            let _ = reply.send(Err(SessionError::PlayFailed(cause.to_owned())));
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What is shown of a play, and its tempo.
struct Show {
    directory: Directory,
    id: SessionId,
    secrets: Secrets,
    scenario: Arc<str>,
    total: usize,
    tempo: Tempo,
    state: PlayState,
    /// Bounded by the rounds of the scenario.
    played: Vec<Arc<PlayedRound>>,
    next_note: Option<Arc<str>>,
}

impl Show {
    fn new(plan: &Plan, id: SessionId) -> Self {
        let scenario = &plan.scenario.scenario;
        let total = scenario.steps.len();
        let secrets = plan.scenario.secrets.clone();
        let note = scenario.steps.first().and_then(|step| step.note.as_ref());
        Self {
            directory: plan.directory.clone(),
            id,
            scenario: secrets.mask(&scenario.name).into(),
            total,
            tempo: Tempo::new(total, plan.interval),
            state: PlayState::Starting,
            played: Vec::new(),
            next_note: note.map(|note| secrets.mask(note).into()),
            secrets,
        }
    }

    fn next(&mut self, player: &Player) {
        let note = player.upcoming().and_then(|step| step.note.as_ref());
        self.next_note = note.map(|note| self.secrets.mask(note).into());
    }

    fn masked(&self, round: PlayedRound) -> PlayedRound {
        let all = |texts: Vec<String>| -> Vec<String> {
            let masked = texts.iter().map(|text| self.secrets.mask(text));
            masked.map(std::borrow::Cow::into_owned).collect()
        };
        PlayedRound {
            note: round.note.map(|note| self.secrets.mask(&note).into()),
            checks: round
                .checks
                .into_iter()
                .map(|check| CheckRow {
                    expected: all(check.expected),
                    actual: all(check.actual),
                    ..check
                })
                .collect(),
            round: round.round,
        }
    }

    fn obey(&mut self, order: &SessionOrder) -> Result<SessionAnswer, SessionError> {
        let SessionOrder::Pace(pace) = order else {
            return Err(SessionError::NotYours(
                crate::session::SessionKind::Scenario,
            ));
        };
        if !self.tempo.take(*pace, Instant::now()) {
            return Err(SessionError::PlayIsOver);
        }
        match self.state {
            PlayState::Starting => self.publish(PlayState::Starting),
            _ => self.publish_tempo(),
        }
        Ok(SessionAnswer::Done(match pace {
            Pace::Play => "it plays".to_owned(),
            Pace::Pause => "paused".to_owned(),
            Pace::Step => "one round".to_owned(),
            Pace::Every(_) => format!("a round every {} s", self.tempo.interval().as_secs_f64()),
        }))
    }

    fn publish_tempo(&mut self) {
        let state = match (self.tempo.is_over(), self.tempo.is_playing()) {
            (true, _) => PlayState::Over,
            (false, true) => PlayState::Playing,
            (false, false) => PlayState::Paused,
        };
        self.publish(state);
    }

    fn publish(&mut self, state: PlayState) {
        self.state = state;
        let row = PlayRow {
            scenario: Arc::clone(&self.scenario),
            state: match &self.state {
                PlayState::Failed { cause } => PlayState::Failed {
                    cause: self.secrets.mask(cause).into_owned(),
                },
                state => state.clone(),
            },
            interval: self.tempo.interval(),
            total: self.total,
            played: self.played.iter().cloned().collect(),
            next_note: self.next_note.clone(),
        };
        self.directory.set_play(self.id, row);
    }
}
