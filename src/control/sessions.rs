//! Orders about sessions, their answers, and why there is none.

use std::sync::Arc;
use std::time::Duration;

use crate::session::{RoundReport, SessionId, SessionKind};
use crate::tool::Call;

/// How a scenario is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Round after round, the next one at once.
    Play,
    /// Not until the next order.
    Pause,
    /// One round, then pause.
    Step,
    /// With this pause between two rounds; held within 50 ms and 60 s.
    Every(Duration),
}

/// What can be ordered of a session.
#[derive(Clone, Debug)]
pub enum SessionOrder {
    /// Run these calls as the batch of the round under way, then begin the next round. A call
    /// whose tool is not in the visible set is `undefined_tool` and does not run. If whoever gave
    /// the order goes away, the calls are cancelled and the round stays open.
    Batch(Vec<Call>),
    /// Let so many rounds pass without calls, 1 to 1,000.
    Advance(u32),
    /// From now on the name is always sent, if it exists and fits.
    Require(Arc<str>),
    /// Takes that back.
    Release(Arc<str>),
    /// How its scenario is to go on.
    Pace(Pace),
    /// End it; its record stays for a while. One that has ended is forgotten.
    Close,
}

/// The answer to a [`SessionOrder`].
#[derive(Clone, Debug)]
pub enum SessionAnswer {
    /// Of a batch.
    Ran(Box<RoundReport>),
    /// Of all others: a sentence that says what was done.
    Done(String),
}

/// Why an order about a session was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// No such session.
    #[error("no session has the number {0}; it may have been closed")]
    Unknown(SessionId),
    /// Its queue is full.
    #[error("the session has {0} orders waiting already; wait until what runs has ended")]
    Busy(usize),
    /// There are as many as there may be.
    #[error("{0} sessions of yours are open, which is the most; close one")]
    TooMany(usize),
    /// Somebody else is the model.
    #[error("this is the session of {}; you can look at it, but its model alone acts in it", of(*.0))]
    NotYours(SessionKind),
    /// No scenario is played in it.
    #[error("no scenario is played in this session")]
    NoPlay,
    /// All rounds have been played.
    #[error("all rounds of the scenario have been played; play it again for another run")]
    PlayIsOver,
    /// The scenario cannot be played.
    #[error("the scenario cannot be played: {0}")]
    PlayFailed(String),
    /// Too many calls or rounds at once, or none.
    #[error("1 to {most} {what} at a time, not {asked}")]
    OutOfRange {
        /// What is counted.
        what: &'static str,
        /// Most at a time.
        most: usize,
        /// What was asked for.
        asked: usize,
    },
    /// It was closed while the order waited.
    #[error("the session was closed meanwhile")]
    Closed,
}

fn of(kind: SessionKind) -> &'static str {
    match kind {
        SessionKind::Operator => "an operator",
        SessionKind::Scenario => "a scenario",
        SessionKind::Client => "a client of the gateway",
        SessionKind::Agent => "a model loop",
    }
}

/// Why the exposure of a tool cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExposureError {
    /// There is nothing to expose.
    #[error(
        "dynamic injection is off, so that every tool is sent; `settings.dynamic: {{}}` of the assembly switches it on"
    )]
    NotAvailable,
    /// No tool has that name.
    #[error("no tool is named `{name}`{advice}")]
    Unknown {
        /// The name.
        name: String,
        /// The nearest names, as the rest of the sentence.
        advice: String,
    },
    /// `tool_search` has one mode only.
    #[error(transparent)]
    Fixed(#[from] crate::discovery::FixedExposure),
}
