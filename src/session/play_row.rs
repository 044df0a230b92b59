//! How a scenario stands while it is played. Plain data: playing it is the work of others.

use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// Where a play is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum PlayState {
    /// Its stage is being set: the sources of its deployment start.
    Starting,
    /// It waits for an order.
    Paused,
    /// A round is played whenever the interval has passed.
    Playing,
    /// All rounds have been played.
    Over,
    /// It cannot go on.
    Failed {
        /// Why.
        cause: String,
    },
}

impl PlayState {
    /// The fixed name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Paused => "paused",
            Self::Playing => "playing",
            Self::Over => "over",
            Self::Failed { .. } => "failed",
        }
    }
}

/// One expectation and what came instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckRow {
    /// What was looked at: a key of `expect`.
    pub what: &'static str,
    /// What should have been, sorted; `name: reason` where there is a reason.
    pub expected: Vec<String>,
    /// What was.
    pub actual: Vec<String>,
    /// Whether they are the same.
    pub met: bool,
}

/// A round that has been played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlayedRound {
    /// Its number.
    pub round: u32,
    /// The note of the file.
    pub note: Option<Arc<str>>,
    /// Its expectations, in the order of the file.
    pub checks: Vec<CheckRow>,
}

/// How a scenario stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlayRow {
    /// The file as the operator named it.
    pub scenario: Arc<str>,
    /// Where it is.
    #[serde(flatten)]
    pub state: PlayState,
    /// The pause between two rounds while it plays.
    #[serde(rename = "interval_ms", serialize_with = "millis")]
    pub interval: Duration,
    /// How many rounds the scenario has. Not more than the file says, so that the rows of the
    /// played ones are bounded by it.
    pub total: usize,
    /// The rounds that have been played.
    pub played: Arc<[Arc<PlayedRound>]>,
    /// The note of the round that comes next.
    pub next_note: Option<Arc<str>>,
}

impl PlayRow {
    /// How many expectations were met, and how many were not.
    pub fn results(&self) -> (usize, usize) {
        let checks = self.played.iter().flat_map(|round| &round.checks);
        let (met, missed): (Vec<_>, Vec<_>) = checks.partition(|check| check.met);
        (met.len(), missed.len())
    }

    /// A played round by its number.
    pub fn round_at(&self, number: u32) -> Option<&Arc<PlayedRound>> {
        let place = self.played.binary_search_by_key(&number, |r| r.round);
        place.ok().and_then(|at| self.played.get(at))
    }
}

fn millis<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
}
