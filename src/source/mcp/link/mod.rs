//! What the connection to one server does next, as a pure state machine (rules 8.2 to 8.7).
//!
//! The driver feeds it what happened and performs what it answers. Every answer of the outside
//! names the epoch of its question, so that nothing of an old connection touches a new one.

mod pulse;

use std::time::Duration;

use tokio::time::Instant;

use super::Backoff;
use crate::source::ServerState;

pub(super) use pulse::Pulse;

/// A connection that lived at least this long was stable: its loss starts the series of delays
/// anew. Anything shorter would let a server that connects and dies be started in a tight loop.
pub(super) const STABLE: Duration = Duration::from_secs(10);

/// One attempt and the connection that comes of it. Never used twice.
pub(super) type Epoch = u64;

/// What a failed attempt means (rules 8.3 and 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may heal by itself: tried again for ever.
    Unreachable,
    /// The deployment is wrong: not tried again.
    Rejected,
}

/// What happened outside. `roll` is a fresh random number between -1 and 1 for the jitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Input {
    /// The source was started.
    Start,
    /// The attempt led to a connection; `pulse` says how it is proved alive.
    Connected { epoch: Epoch, pulse: Pulse },
    /// The attempt failed.
    Failed {
        epoch: Epoch,
        verdict: Verdict,
        roll: f64,
    },
    /// The connection is closed.
    Lost { epoch: Epoch, roll: f64 },
    /// A probe was answered, by an error too.
    Answered { epoch: Epoch, probe: u64 },
    /// A probe was not answered and will not be.
    Unanswered { epoch: Epoch, probe: u64, roll: f64 },
    /// A call was answered.
    Alive { epoch: Epoch },
    /// A call saw something that makes the connection doubtful.
    Suspect { epoch: Epoch },
    /// The server says that its tools changed.
    ListChanged { epoch: Epoch },
    /// A listing that was asked for has ended, well or not.
    Listed { epoch: Epoch },
    /// Time passed.
    Tick { roll: f64 },
    /// The operator wants a new connection.
    Reconnect,
    /// The operator wants a proof.
    Probe,
    /// The operator switches the server off.
    Disable,
    /// The operator switches it on again.
    Enable,
    /// The source is closed.
    Close,
}

/// Why the state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Started,
    Retry,
    Connected,
    Failed,
    Rejected,
    Lost,
    ProbesMissed,
    ProbeMissed,
    Answered,
    Ordered,
    Closed,
}

/// What the driver has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Begin an attempt.
    Connect { epoch: Epoch },
    /// End the attempt or the connection of this epoch; happens once per epoch at most.
    Disconnect { epoch: Epoch },
    /// Ask the server for a sign of life.
    Probe { epoch: Epoch, probe: u64 },
    /// A probe is given up as missed; a late answer still counts as a proof.
    Missed { probe: u64 },
    /// List the tools again.
    List { epoch: Epoch },
    /// The state is a new one.
    Enter {
        state: ServerState,
        why: Why,
        attempt: u32,
    },
    /// The order is carried out.
    Done,
    /// The order makes no sense in this state.
    NotNow,
}

/// The machine.
#[derive(Clone, Debug)]
pub(super) struct Link {
    backoff: Backoff,
    phase: Phase,
    /// Number of the attempt within the series.
    attempt: u32,
    last_epoch: Epoch,
}

#[derive(Clone, Debug)]
enum Phase {
    New,
    Connecting { epoch: Epoch, changed: bool },
    Up(Up),
    Waiting { until: Instant },
    Rejected,
    Disabled,
    Stopped,
}

#[derive(Clone, Debug)]
struct Up {
    epoch: Epoch,
    since: Instant,
    pulse: pulse::Beat,
    listing: Listing,
}

/// One listing at a time; what is announced meanwhile leads to exactly one more (rule 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    Idle,
    Running { again: bool },
}

impl Link {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            phase: Phase::New,
            attempt: 0,
            last_epoch: 0,
        }
    }

    /// The state that a person sees.
    pub(super) fn state(&self) -> ServerState {
        match &self.phase {
            Phase::New | Phase::Connecting { .. } => ServerState::Connecting,
            Phase::Up(up) if up.pulse.is_doubtful() => ServerState::Degraded,
            Phase::Up(_) => ServerState::Ready,
            Phase::Waiting { .. } => ServerState::Backoff,
            Phase::Rejected => ServerState::Rejected,
            Phase::Disabled => ServerState::Disabled,
            Phase::Stopped => ServerState::Stopped,
        }
    }

    /// The epoch of the attempt or connection that counts now.
    pub(super) fn epoch(&self) -> Option<Epoch> {
        match &self.phase {
            Phase::Connecting { epoch, .. } => Some(*epoch),
            Phase::Up(up) => Some(up.epoch),
            _ => None,
        }
    }

    /// When the next attempt comes, while it is waited for.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Waiting { until } => Some(*until),
            _ => None,
        }
    }

    /// When [`Input::Tick`] is due, if anything depends on time.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Waiting { until } => Some(*until),
            Phase::Up(up) => up.pulse.deadline(),
            _ => None,
        }
    }

    /// What follows from `input`. An input of another epoch than the present one is ignored.
    pub(super) fn step(&mut self, input: Input, now: Instant) -> Vec<Action> {
        let before = self.state();
        let mut actions = Vec::new();
        let why = self.apply(input, now, &mut actions);
        let after = self.state();
        // Every state is entered visibly, even when two attempts follow each other directly.
        if let Some(why) = why
            && (before != after || matches!(why, Why::Lost | Why::ProbesMissed | Why::Ordered))
        {
            let enter = Action::Enter {
                state: after,
                why,
                attempt: self.attempt,
            };
            // Before the attempt begins, so that it is told in the order in which it happens.
            let place = actions
                .iter()
                .position(|action| matches!(action, Action::Connect { .. }))
                .unwrap_or(actions.len());
            actions.insert(place, enter);
        }
        actions
    }

    fn apply(&mut self, input: Input, now: Instant, actions: &mut Vec<Action>) -> Option<Why> {
        match input {
            Input::Start => matches!(self.phase, Phase::New).then(|| {
                self.connect(1, actions);
                Why::Started
            }),
            Input::Connected { epoch, pulse } => self.connected(epoch, pulse, now, actions),
            Input::Failed {
                epoch,
                verdict,
                roll,
            } => self.failed(epoch, verdict, roll, now),
            Input::Lost { epoch, roll } => {
                self.up(epoch)?;
                self.lose(roll, now, actions);
                Some(Why::Lost)
            }
            Input::Answered { epoch, probe } => {
                self.up(epoch)?.pulse.answered(probe);
                Some(Why::Answered)
            }
            Input::Unanswered { epoch, probe, roll } => {
                let missed = self.up(epoch)?.pulse.missed(probe);
                self.count_miss(missed, roll, now, actions)
            }
            Input::Alive { epoch } => {
                self.up(epoch)?.pulse.alive();
                Some(Why::Answered)
            }
            Input::Suspect { epoch } => {
                let up = self.up(epoch)?;
                if up.pulse.is_regular()
                    && let Some(probe) = up.pulse.probe(now)
                {
                    actions.push(Action::Probe { epoch, probe });
                }
                None
            }
            Input::ListChanged { epoch } => {
                self.list_changed(epoch, actions);
                None
            }
            Input::Listed { epoch } => {
                let up = self.up(epoch)?;
                let again = up.listing == Listing::Running { again: true };
                up.listing = Listing::Idle;
                if again {
                    self.list_changed(epoch, actions);
                }
                None
            }
            Input::Tick { roll } => self.tick(roll, now, actions),
            Input::Reconnect => self.order(actions, |phase| {
                !matches!(phase, Phase::Disabled | Phase::Stopped)
            }),
            Input::Enable => self.order(actions, |phase| matches!(phase, Phase::Disabled)),
            Input::Probe => {
                self.order_probe(now, actions);
                None
            }
            Input::Disable => self.disable(actions),
            Input::Close => {
                if matches!(self.phase, Phase::Stopped) {
                    return None;
                }
                self.disconnect(actions);
                self.phase = Phase::Stopped;
                Some(Why::Closed)
            }
        }
    }

    fn up(&mut self, epoch: Epoch) -> Option<&mut Up> {
        match &mut self.phase {
            Phase::Up(up) if up.epoch == epoch => Some(up),
            _ => None,
        }
    }

    fn connect(&mut self, attempt: u32, actions: &mut Vec<Action>) {
        self.attempt = attempt;
        self.last_epoch += 1;
        let epoch = self.last_epoch;
        self.phase = Phase::Connecting {
            epoch,
            changed: false,
        };
        actions.push(Action::Connect { epoch });
    }

    fn disconnect(&self, actions: &mut Vec<Action>) {
        if let Some(epoch) = self.epoch() {
            actions.push(Action::Disconnect { epoch });
        }
    }

    fn connected(
        &mut self,
        epoch: Epoch,
        pulse: Pulse,
        now: Instant,
        actions: &mut Vec<Action>,
    ) -> Option<Why> {
        let Phase::Connecting {
            epoch: expected,
            changed,
        } = self.phase
        else {
            return None;
        };
        if expected != epoch {
            return None;
        }
        self.phase = Phase::Up(Up {
            epoch,
            since: now,
            pulse: pulse::Beat::start(pulse, now),
            listing: Listing::Idle,
        });
        if changed {
            self.list_changed(epoch, actions);
        }
        Some(Why::Connected)
    }

    fn failed(&mut self, epoch: Epoch, verdict: Verdict, roll: f64, now: Instant) -> Option<Why> {
        if !matches!(self.phase, Phase::Connecting { epoch: expected, .. } if expected == epoch) {
            return None;
        }
        match verdict {
            Verdict::Rejected => {
                self.phase = Phase::Rejected;
                Some(Why::Rejected)
            }
            Verdict::Unreachable => {
                self.wait(roll, now);
                Some(Why::Failed)
            }
        }
    }

    /// Waits for the next attempt of the series.
    fn wait(&mut self, roll: f64, now: Instant) {
        self.attempt = self.attempt.saturating_add(1);
        self.phase = Phase::Waiting {
            until: now + self.backoff.delay(self.attempt, roll),
        };
    }

    fn lose(&mut self, roll: f64, now: Instant, actions: &mut Vec<Action>) {
        let Phase::Up(up) = &self.phase else {
            return;
        };
        let stable = now.saturating_duration_since(up.since) >= STABLE;
        self.disconnect(actions);
        if stable {
            self.connect(1, actions);
        } else {
            self.wait(roll, now);
        }
    }

    fn count_miss(
        &mut self,
        missed: pulse::Missed,
        roll: f64,
        now: Instant,
        actions: &mut Vec<Action>,
    ) -> Option<Why> {
        match missed {
            pulse::Missed::Stale => None,
            pulse::Missed::Once { probe } => {
                actions.push(Action::Missed { probe });
                Some(Why::ProbeMissed)
            }
            pulse::Missed::Twice { probe } => {
                actions.push(Action::Missed { probe });
                self.lose(roll, now, actions);
                Some(Why::ProbesMissed)
            }
        }
    }

    fn list_changed(&mut self, epoch: Epoch, actions: &mut Vec<Action>) {
        match &mut self.phase {
            Phase::Connecting {
                epoch: expected,
                changed,
            } if *expected == epoch => *changed = true,
            Phase::Up(up) if up.epoch == epoch => match &mut up.listing {
                Listing::Running { again } => *again = true,
                Listing::Idle => {
                    up.listing = Listing::Running { again: false };
                    actions.push(Action::List { epoch });
                }
            },
            _ => {}
        }
    }

    fn tick(&mut self, roll: f64, now: Instant, actions: &mut Vec<Action>) -> Option<Why> {
        match &mut self.phase {
            Phase::Waiting { until } if *until <= now => {
                let attempt = self.attempt;
                self.connect(attempt, actions);
                Some(Why::Retry)
            }
            Phase::Up(up) => {
                let epoch = up.epoch;
                let overdue = up.pulse.overdue(now);
                let why = self.count_miss(overdue, roll, now, actions);
                if let Some(up) = self.up(epoch)
                    && up.pulse.is_due(now)
                    && let Some(probe) = up.pulse.probe(now)
                {
                    actions.push(Action::Probe { epoch, probe });
                }
                why
            }
            _ => None,
        }
    }

    /// Connects anew, if the phase allows it.
    fn order(
        &mut self,
        actions: &mut Vec<Action>,
        allowed: impl FnOnce(&Phase) -> bool,
    ) -> Option<Why> {
        if !allowed(&self.phase) {
            actions.push(Action::NotNow);
            return None;
        }
        self.disconnect(actions);
        self.connect(1, actions);
        actions.push(Action::Done);
        Some(Why::Ordered)
    }

    fn order_probe(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let Phase::Up(up) = &mut self.phase else {
            actions.push(Action::NotNow);
            return;
        };
        let epoch = up.epoch;
        if let Some(probe) = up.pulse.probe(now) {
            actions.push(Action::Probe { epoch, probe });
        }
        // Otherwise one is under way already, and its answer is the answer to this order too.
        actions.push(Action::Done);
    }

    fn disable(&mut self, actions: &mut Vec<Action>) -> Option<Why> {
        if matches!(self.phase, Phase::Disabled | Phase::Stopped) {
            actions.push(Action::NotNow);
            return None;
        }
        self.disconnect(actions);
        self.phase = Phase::Disabled;
        self.attempt = 0;
        actions.push(Action::Done);
        Some(Why::Ordered)
    }
}

#[cfg(test)]
mod tests;
