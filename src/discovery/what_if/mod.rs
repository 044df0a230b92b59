//! What if: plays a recorded session again with other settings, and sets both side by side, round
//! by round. Pure over the records; the settings that were tried are given back to be copied.

mod changes;
mod replay;
mod yaml;

use std::sync::Arc;

use serde::Serialize;

pub use changes::Changes;
use replay::Replay;
pub use yaml::yaml;

use super::session::RoundRecord;
use super::{DynamicSettings, FixedExposure, WithheldReason};

/// Why a session cannot be played again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhatIfError {
    /// No round has begun.
    #[error("the session has no round yet; there is nothing to play again")]
    NoRounds,
    /// Dynamic injection is off.
    #[error("dynamic injection is off: every tool is visible, whatever the budget")]
    Static,
    /// The rounds that are left are too old.
    #[error("what the rounds of this session saw is not kept any more")]
    Forgotten,
    /// The work did not come to its end.
    #[error("playing the rounds again was broken off")]
    BrokenOff,
    /// A mode that cannot be set.
    #[error(transparent)]
    Fixed(#[from] FixedExposure),
}

/// What one round showed, or would have shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The names in the order sent.
    pub sent: Vec<Arc<str>>,
    /// Their bytes.
    pub bytes: usize,
    /// What was withheld, and for which bound.
    pub withheld: Vec<(Arc<str>, WithheldReason)>,
    /// How many tools were in the pool at the end of the round.
    pub pool: usize,
    /// The bytes of the pool at the end of the round.
    pub pool_bytes: usize,
}

impl Shown {
    fn of(record: &RoundRecord) -> Self {
        let set = &record.visible;
        Self {
            sent: set
                .sent
                .iter()
                .map(|sent| sent.definition.shared_name())
                .collect(),
            bytes: set.bytes,
            withheld: set
                .withheld
                .iter()
                .map(|withheld| (Arc::clone(&withheld.name), withheld.reason))
                .collect(),
            pool: record.pool.entries.len(),
            pool_bytes: record.pool.bytes,
        }
    }
}

/// A round as it was and as it would have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoundPair {
    /// The number.
    pub round: u32,
    /// As recorded.
    pub was: Shown,
    /// With the other settings.
    pub would: Shown,
    /// Tools that were called and would not have been there, in the order of the calls.
    pub missed: Vec<Arc<str>>,
    /// Tools that were called in vain and would have been there.
    pub regained: Vec<Arc<str>>,
}

impl RoundPair {
    /// What would have been sent in addition.
    pub fn added(&self) -> impl Iterator<Item = &Arc<str>> {
        let was = &self.was.sent;
        self.would.sent.iter().filter(|name| !was.contains(name))
    }

    /// What would not have been sent.
    pub fn gone(&self) -> impl Iterator<Item = &Arc<str>> {
        let would = &self.would.sent;
        self.was.sent.iter().filter(|name| !would.contains(name))
    }

    /// Whether the model would have been shown the same.
    pub fn is_same(&self) -> bool {
        self.was.sent == self.would.sent
    }
}

/// A session as it was and as it would have been.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// The rounds that could be played again, the oldest first.
    pub rounds: Vec<RoundPair>,
    /// How many rounds of the session came before them and could not, because they, or what they
    /// saw, are not kept any more.
    pub skipped: usize,
    /// The settings of the newest round.
    pub before: Arc<DynamicSettings>,
    /// The same with the changes.
    pub after: Arc<DynamicSettings>,
}

impl WhatIf {
    /// The changed settings as they stand in a deployment file, below `settings:` of an assembly.
    pub fn yaml(&self) -> String {
        yaml(&self.after)
    }

    /// The bytes that all rounds sent, and would have sent.
    pub fn bytes(&self) -> (usize, usize) {
        self.rounds.iter().fold((0, 0), |(was, would), pair| {
            (was + pair.was.bytes, would + pair.would.bytes)
        })
    }

    /// How many calls would have found their tool missing, and how many would have found it.
    pub fn calls(&self) -> (usize, usize) {
        self.rounds.iter().fold((0, 0), |(missed, regained), pair| {
            (missed + pair.missed.len(), regained + pair.regained.len())
        })
    }
}

/// Plays the rounds of one session again, the oldest first, with changed settings.
///
/// Each round is given the settings that it had, with the changes on top, and the registry that it
/// saw. Searches find what they found, unless other tools may be found now or more hits than were
/// kept; then the tools of that round are ranked anew. A call of a tool that would not have been
/// visible does nothing. Without changes the record comes out as it is.
///
/// # Errors
/// When there is nothing that can be played again.
pub fn what_if(rounds: &[Arc<RoundRecord>], changes: &Changes) -> Result<WhatIf, WhatIfError> {
    let (first, mut replay) = Replay::new(rounds, changes)?;
    let mut pairs = Vec::with_capacity(rounds.len() - first);
    for record in rounds.iter().skip(first).filter(|r| r.seen.is_some()) {
        pairs.push(replay.play(record)?);
    }
    let (before, after) = replay.settings().ok_or(WhatIfError::NoRounds)?;
    // Rounds count from 1, and the session drops the oldest records.
    let earlier = pairs.first().map_or(0, |pair| pair.round.saturating_sub(1));
    Ok(WhatIf {
        rounds: pairs,
        skipped: earlier as usize,
        before,
        after,
    })
}

#[cfg(test)]
mod tests;
