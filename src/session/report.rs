//! What a driver tells of its rounds.

use std::sync::Arc;

use crate::discovery::session::{CallEnd, RoundRecord};
use crate::executor::Outcome;
use crate::tool::{CallId, ErrorKind, ToolResult};

/// A call of a batch.
#[derive(Clone, Debug)]
pub struct CallReport {
    /// Identity, as the caller chose it.
    pub id: CallId,
    /// The tool as called.
    pub tool: Arc<str>,
    /// How it ended.
    pub end: CallEnd,
    /// What the caller gets; the answer of a search is complete.
    pub result: ToolResult,
    /// How it ran; `None` when its tool was not in the set of the round.
    pub outcome: Option<Outcome>,
}

impl CallReport {
    pub(super) fn undefined(id: CallId, tool: Arc<str>, nearest: &[String]) -> Self {
        let advice = match nearest {
            [] => String::new(),
            names => format!("; the nearest of this round are `{}`", names.join("`, `")),
        };
        let message = format!("`{tool}` is not among the tools of this round{advice}");
        Self {
            id,
            tool,
            end: CallEnd::UndefinedTool,
            result: ToolResult::error(ErrorKind::NotFound, message),
            outcome: None,
        }
    }
}

/// A round that has ended.
#[derive(Clone, Debug)]
pub struct RoundReport {
    /// What was sent, found, admitted and evicted.
    pub record: Arc<RoundRecord>,
    /// The calls in the order of the batch.
    pub calls: Vec<CallReport>,
}

/// A session as others see it.
#[derive(Clone, Debug)]
pub struct SessionState {
    /// Its name.
    pub name: Arc<str>,
    /// The round under way, or the last one.
    pub current: Arc<RoundRecord>,
    /// The rounds before it, the oldest first (ring of
    /// [`HISTORY`](crate::discovery::session::HISTORY)).
    pub history: Arc<[Arc<RoundRecord>]>,
}
