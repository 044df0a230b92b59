//! What a session keeps of a round, so that an operator can go back to it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::discovery::tool_search::{SearchAnswer, SearchPlan};
use crate::discovery::{EvictReason, Exposures, PoolChange, PoolEntry, PoolSettings, VisibleSet};
use crate::tool::{CallId, ErrorKind};

/// How a call of a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// A result that is no error.
    Ok,
    /// An error result.
    Error(ErrorKind),
    /// Its tool was not in the set of the round; it did not run.
    UndefinedTool,
}

/// What a call does to the pool (rules 5.2 and 6.4).
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing: it was stopped before its tool.
    None,
    /// It reached its tool.
    Reached,
    /// It was a search that succeeded.
    Search(SearchPlan),
}

/// A call of a batch, when it has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedCall {
    /// Identity.
    pub id: CallId,
    /// The tool as called.
    pub tool: Arc<str>,
    /// How it ended.
    pub end: CallEnd,
    /// What it does to the pool.
    pub effect: Effect,
}

/// What a call did to the pool, as the record keeps it: enough to play the round again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEffect {
    /// Nothing.
    None,
    /// It reached its tool.
    Reached,
    /// It was a search; its answer is the next of [`RoundRecord::searches`].
    Search,
}

impl From<&Effect> for CallEffect {
    fn from(effect: &Effect) -> Self {
        match effect {
            Effect::None => Self::None,
            Effect::Reached => Self::Reached,
            Effect::Search(_) => Self::Search,
        }
    }
}

/// A call as the record keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallNote {
    /// Identity.
    pub id: CallId,
    /// The tool as called.
    pub tool: Arc<str>,
    /// How it ended.
    pub end: CallEnd,
    /// What it did to the pool.
    pub effect: CallEffect,
}

/// Who or what caused a change of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The round began, and nobody had used it.
    Idle,
    /// A search that found this hit.
    Search {
        /// The query.
        query: Arc<str>,
        /// The hit that came, or that room was made for.
        hit: Arc<str>,
    },
    /// A call of this tool.
    Call {
        /// The tool that was called.
        tool: Arc<str>,
    },
    /// The registry or the settings changed.
    Registry,
    /// A call of a tool that was not exposed, answered by exposing it (rule 11.4).
    Recovery {
        /// The tool.
        tool: Arc<str>,
    },
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerLine {
    /// What changed.
    pub change: PoolChange,
    /// Because of whom.
    pub cause: Cause,
}

/// The pool at the end of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolRecord {
    /// The entries in the order of admission.
    pub entries: Vec<PoolEntry>,
    /// Their bytes.
    pub bytes: usize,
    /// The bounds, or `None` when dynamic injection is off.
    pub bounds: Option<PoolSettings>,
}

/// The registry and the settings as a round saw them, so that it can be explained and played again.
/// Shared between rounds until something changes.
#[derive(Clone, Default)]
pub struct Seen {
    /// When its visible set was computed.
    pub opened: Arc<Exposures>,
    /// After its batch, where that loaded lazy tools.
    pub learned: Option<Arc<Exposures>>,
    /// After the round and before the next, as a reload does; of several the last.
    pub later: Option<Arc<Exposures>>,
}

impl Seen {
    pub(super) fn parts(&self) -> [Option<&Arc<Exposures>>; 3] {
        [
            Some(&self.opened),
            self.learned.as_ref(),
            self.later.as_ref(),
        ]
    }
}

impl PartialEq for Seen {
    /// The same versions: comparing thousands of tools would serve nobody.
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (Option<&Arc<Exposures>>, Option<&Arc<Exposures>>)| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.parts().into_iter().zip(other.parts()).all(same)
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seen(version {})", self.opened.version())
    }
}

/// One round: what was sent and why, what was withheld, what happened to the pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundRecord {
    /// The number, from 1; 0 before the first round.
    pub round: u32,
    /// The required names.
    pub required: Vec<Arc<str>>,
    /// What was sent and withheld.
    pub visible: VisibleSet,
    /// The calls of the batch, in order.
    pub calls: Vec<CallNote>,
    /// The answers of its searches, in the order of their calls.
    pub searches: Vec<SearchAnswer>,
    /// Every change of the pool, in the order in which they happened, the round's start included.
    pub ledger: Vec<LedgerLine>,
    /// The pool now, at last at the end of the round.
    pub pool: PoolRecord,
    /// Whether the batch has been applied.
    pub complete: bool,
    /// Registry and settings as the round saw them; forgotten for old rounds once more than
    /// [`VIEWS`](super::VIEWS) later versions are kept.
    pub seen: Option<Seen>,
}

impl RoundRecord {
    /// How much the record holds, for the bound of the history.
    pub(super) fn lines(&self) -> usize {
        let visible = &self.visible;
        visible.sent.len() + visible.withheld.len() + self.pool.entries.len() + self.ledger.len()
    }

    /// Everything that left during the round, its start included.
    pub fn evicted(&self) -> impl Iterator<Item = (&Arc<str>, EvictReason)> {
        self.ledger
            .iter()
            .filter_map(|line| Some((line.change.name(), line.change.eviction()?)))
    }
}
