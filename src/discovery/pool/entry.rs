//! What the pool holds, and what it reports when it changes (rules 6.1 and 6.8).

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde::Serialize;

/// A discovered tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolEntry {
    /// The name.
    pub name: Arc<str>,
    /// The size of its definition.
    pub bytes: usize,
    /// The round in which it was last found or called.
    pub last_used: u32,
    /// Its position among the ranked hits of its search, from 0; a call sets 0.
    pub rank: u32,
    /// Order of the latest admission or refresh within the session.
    pub sequence: u64,
}

impl PoolEntry {
    /// Best first: latest use, then best rank, then direct before deferred, then latest sequence,
    /// then name (rule 5.3). Its reverse is "worst first" (rule 6.3): sequences are unique, so that
    /// the name never decides there.
    pub(crate) fn cmp_best_first(
        &self,
        direct: bool,
        other: &Self,
        other_direct: bool,
    ) -> Ordering {
        let key = |entry: &Self, direct: bool| {
            (
                Reverse(entry.last_used),
                entry.rank,
                !direct,
                Reverse(entry.sequence),
            )
        };
        key(self, direct)
            .cmp(&key(other, other_direct))
            .then_with(|| self.name.cmp(&other.name))
    }

    /// Whether it leaves at the start of `round` (rule 6.5).
    pub fn is_idle(&self, round: u32, idle_rounds: u32) -> bool {
        round.saturating_sub(self.last_used) > idle_rounds
    }
}

/// What an admission or a refresh sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The round now.
    pub round: u32,
    /// The position among the hits, or 0 for a call.
    pub rank: u32,
    /// The next number of the session.
    pub sequence: u64,
}

/// Why an entry left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvictReason {
    /// Not used for longer than `idle_rounds`.
    Idle,
    /// Others needed its room, or the bounds got tighter.
    Crowded,
    /// Its tool is gone, or has become always or hidden.
    Removed,
}

impl EvictReason {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Crowded => "crowded",
            Self::Removed => "removed",
        }
    }
}

/// One change of the pool. Replaying all of them reproduces the pool (rule 6.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolChange {
    /// A new entry, behind all others in the order of admission.
    Admitted(PoolEntry),
    /// Found or called again; its place in the order of admission stays.
    Refreshed(PoolEntry),
    /// Its definition changed size in place.
    Resized {
        /// The tool.
        name: Arc<str>,
        /// Its size before.
        from: usize,
        /// Its size now.
        bytes: usize,
    },
    /// It left.
    Evicted {
        /// The entry as it was.
        entry: PoolEntry,
        /// Why.
        reason: EvictReason,
    },
}

impl PoolChange {
    /// The tool that changed.
    pub fn name(&self) -> &Arc<str> {
        match self {
            Self::Admitted(entry) | Self::Refreshed(entry) | Self::Evicted { entry, .. } => {
                &entry.name
            }
            Self::Resized { name, .. } => name,
        }
    }

    /// The reason, if it is an eviction.
    pub fn eviction(&self) -> Option<EvictReason> {
        match self {
            Self::Evicted { reason, .. } => Some(*reason),
            _ => None,
        }
    }
}
