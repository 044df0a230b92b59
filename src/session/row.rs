//! What everybody may know of a session: the rows that a snapshot carries.

use std::sync::Arc;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::PlayRow;
use crate::clock::Stamp;
use crate::discovery::Why;
use crate::discovery::session::RoundRecord;

/// Identity of a session within the process: two sessions may bear the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SessionId(pub(super) u64);

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Who is the model in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// The operator at the keyboard.
    Operator,
    /// A scenario, on a stage of its own.
    Scenario,
    /// A client of the gateway.
    Client,
    /// A model loop.
    Agent,
}

impl SessionKind {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Scenario => "scenario",
            Self::Client => "client",
            Self::Agent => "agent",
        }
    }
}

/// Whether something happens in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// Its batch runs.
    Running,
    /// It waits for its model.
    Open,
    /// Its driver is gone; the record stays for a while.
    Ended,
}

impl SessionStatus {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Open => "open",
            Self::Ended => "ended",
        }
    }
}

/// How full the visible set of a round is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetUse {
    /// The session.
    pub session: Arc<str>,
    /// Definitions sent.
    pub definitions: usize,
    /// Most definitions.
    pub max_definitions: usize,
    /// Bytes sent.
    pub bytes: usize,
    /// Most bytes.
    pub max_bytes: usize,
}

impl BudgetUse {
    /// The fuller of both bounds in percent, rounded down: 100 means that one is reached. Only
    /// `tool_search` alone can exceed a bound (rule 5.3).
    pub fn percent(&self) -> usize {
        let of = |part: usize, whole: usize| part.saturating_mul(100) / whole.max(1);
        of(self.definitions, self.max_definitions).max(of(self.bytes, self.max_bytes))
    }
}

/// A session with the whole of its recorded history. Rounds that did not change are shared with
/// the row before. Secrets are masked in what models wrote: queries and names of called tools. The
/// definitions are those of the registry, as in the rows of the tools.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// Identity.
    pub id: SessionId,
    /// The name.
    pub name: Arc<str>,
    /// Who is the model.
    pub kind: SessionKind,
    /// Whether something happens.
    pub status: SessionStatus,
    /// When it was opened.
    pub opened: Stamp,
    /// When something last happened in it.
    pub active: Stamp,
    /// The round under way, or the last one.
    pub current: Arc<RoundRecord>,
    /// The rounds before it, the oldest first. Past
    /// [`HISTORY`](crate::discovery::session::HISTORY) rounds the oldest are forgotten, which the
    /// number of the first one shows.
    pub history: Arc<[Arc<RoundRecord>]>,
    /// What an operator should know of the current round (rule 5.4), in sentences.
    pub warnings: Arc<[String]>,
    /// How the scenario stands that is played in it.
    pub play: Option<Arc<PlayRow>>,
}

impl SessionRow {
    /// The number of the current round; 0 before the first.
    pub fn round(&self) -> u32 {
        self.current.round
    }

    /// All rounds that are kept, the oldest first, the current one last.
    pub fn rounds(&self) -> impl DoubleEndedIterator<Item = &Arc<RoundRecord>> {
        self.history.iter().chain([&self.current])
    }

    /// A round by its number, if it is still kept.
    pub fn round_at(&self, number: u32) -> Option<&Arc<RoundRecord>> {
        if number == self.current.round {
            return Some(&self.current);
        }
        let place = self.history.binary_search_by_key(&number, |r| r.round);
        place.ok().and_then(|at| self.history.get(at))
    }

    /// The oldest round that is kept.
    pub fn oldest(&self) -> u32 {
        let first = self.history.first();
        first.map_or(self.current.round, |record| record.round)
    }

    /// How full the current round is; `None` when dynamic injection is off.
    pub fn budget_use(&self) -> Option<BudgetUse> {
        let visible = &self.current.visible;
        let budget = visible.budget?;
        Some(BudgetUse {
            session: Arc::clone(&self.name),
            definitions: visible.sent.len(),
            max_definitions: budget.max_definitions,
            bytes: visible.bytes,
            max_bytes: budget.max_bytes,
        })
    }
}

/// What an operator should know of a round (rule 5.4): always and required tools that are not
/// sent, and required names that no tool has.
pub(super) fn warnings_of(record: &RoundRecord) -> Vec<String> {
    let visible = &record.visible;
    let withheld = visible.withheld.iter().filter(|tool| tool.is_warning());
    let mut warnings: Vec<String> = withheld
        .map(|tool| {
            let missing = match tool.missing_bytes {
                0 => String::new(),
                bytes => format!(", {bytes} bytes are missing"),
            };
            format!(
                "`{}` is {} and withheld: {}{missing}",
                tool.name,
                tool.why.as_str(),
                tool.reason.as_str()
            )
        })
        .collect();
    // Few names are required, so that looking through the set for each is cheap.
    let unknown = record.required.iter().filter(|name| {
        !visible.contains(name) && !visible.withheld.iter().any(|tool| tool.name == **name)
    });
    warnings.extend(unknown.map(|name| format!("`{name}` is required, but no tool has that name")));
    warnings
}

/// A sent tool as it is written out.
#[derive(Serialize)]
struct SentRow<'a> {
    name: &'a str,
    bytes: usize,
    why: Why,
}

/// The current round in full, the others by their count: a row with hundreds of rounds would be of
/// no use to a script.
impl Serialize for SessionRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = &*self.current;
        let visible = &record.visible;
        let sent: Vec<SentRow<'_>> = visible
            .sent
            .iter()
            .map(|sent| SentRow {
                name: sent.name(),
                bytes: sent.bytes(),
                why: sent.why,
            })
            .collect();
        let mut row = serializer.serialize_struct("SessionRow", 20)?;
        row.serialize_field("id", &self.id)?;
        row.serialize_field("name", &self.name)?;
        row.serialize_field("kind", &self.kind)?;
        row.serialize_field("status", &self.status)?;
        row.serialize_field("opened", &self.opened)?;
        row.serialize_field("active", &self.active)?;
        row.serialize_field("warnings", &self.warnings)?;
        row.serialize_field("play", &self.play)?;
        row.serialize_field("oldest_round", &self.oldest())?;
        row.serialize_field("round", &record.round)?;
        row.serialize_field("complete", &record.complete)?;
        row.serialize_field("required", &record.required)?;
        row.serialize_field("visible", &sent)?;
        row.serialize_field("visible_bytes", &visible.bytes)?;
        row.serialize_field("budget", &visible.budget)?;
        row.serialize_field("withheld", &visible.withheld)?;
        row.serialize_field("calls", &record.calls)?;
        row.serialize_field("searches", &record.searches)?;
        row.serialize_field("ledger", &record.ledger)?;
        row.serialize_field("pool", &record.pool)?;
        row.end()
    }
}
