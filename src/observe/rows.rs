//! The snapshot and its rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::{CallRecord, Meters, SecondRow, Table, Tally, TrafficRows};
use crate::clock::Stamp;
use crate::discovery::Mode;
use crate::discovery::lint::Finding;
use crate::middleware::{LayerStatus, PendingApproval};
use crate::registry::{CatalogDiff, Owner, Refusal};
use crate::session::View;
use crate::session::{BudgetUse, SessionRow};
use crate::source::ServerRows;
use crate::source::mcp::PendingQuestion;
use crate::source::skills::Shelf;
use crate::tool::{CallId, Definition, Hints, Progress};

/// Whether the deployment does its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum DeploymentState {
    /// Not every server has had its first attempt.
    Starting,
    /// Everything settled, nothing is rejected.
    Serving,
    /// A server rejects us (rule 8.4): an operator has to repair something.
    Failed {
        /// Server and cause, in one sentence.
        cause: String,
    },
    /// Being shut down.
    Stopping,
}

impl DeploymentState {
    /// The fixed name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Failed { .. } => "failed",
            Self::Stopping => "stopping",
        }
    }
}

/// The deployment that runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeploymentRow {
    /// The file as the operator named it, or what stands for it.
    pub name: Arc<str>,
    /// Its state.
    #[serde(flatten)]
    pub state: DeploymentState,
    /// What was noticed about it without connecting, secrets masked.
    pub warnings: Arc<[String]>,
    /// What became of the last attempt to read it again, if there was one (rule 10.5).
    pub reload: Option<Arc<ReloadRow>>,
}

/// What became of an attempt to read the deployment again. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReloadRow {
    /// When.
    pub at: Stamp,
    /// What stood in its way, each with its place; empty when it was taken over.
    pub problems: Arc<[String]>,
    /// What was exchanged; empty when nothing had changed.
    pub done: Arc<[String]>,
}

/// The assembly that is served.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssemblyRow {
    /// Its name.
    pub name: Arc<str>,
    /// `memory` or `middleware`.
    pub implementation: &'static str,
    /// Whether dynamic injection is on (rule 4.1).
    pub dynamic: bool,
}

/// A source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceRow {
    /// Its name.
    pub name: Arc<str>,
    /// `sim`, `mcp` or `skills`.
    pub kind: &'static str,
    /// How many tools it has registered.
    pub tools: usize,
}

/// A tool of the registry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolRow {
    /// Name, description and schema.
    #[serde(flatten)]
    pub definition: Definition,
    /// Who brought it.
    #[serde(flatten)]
    pub owner: Owner,
    /// How it comes into view.
    pub exposure: Mode,
    /// What the deployment says instead, where an operator overruled it for this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure_overruled: Option<Mode>,
    /// Size of the definition (rule 4.7).
    pub bytes: usize,
    /// Declared effects.
    pub hints: Hints,
    /// Hash of the definition.
    pub definition_hash: Arc<str>,
    /// The display title.
    pub title: Option<Arc<str>>,
    /// The name at its origin, where that had to be mapped (rule 8.9).
    pub original_name: Option<Arc<str>>,
    /// Where it was defined, as `file:line`.
    pub defined_at: Option<Arc<str>>,
    /// Whether a lazy tool still shows its placeholder.
    pub placeholder: bool,
    /// Whether the definition differs from the one first seen (rule 2.4).
    pub changed: bool,
}

/// A change of the registry, with its time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CatalogChange {
    /// When.
    pub at: Stamp,
    /// What.
    #[serde(flatten)]
    pub diff: Arc<CatalogDiff>,
}

/// A call that runs now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunningRow {
    /// Identity.
    pub id: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// The session, if any.
    pub session: Option<Arc<str>>,
    /// The arguments, secrets masked.
    pub arguments: Value,
    /// When it began.
    pub started: Stamp,
    /// The newest progress, secrets masked.
    pub progress: Option<Progress>,
    /// Whether it has been asked to stop.
    pub cancelling: bool,
    /// The layer that it is inside of, or `tool`; absent before the first.
    pub inside: Option<&'static str>,
    /// Whether it waits there for a slot, a turn or an answer.
    pub waiting: bool,
}

/// Calls that are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Load {
    /// All of them, those that wait among them.
    pub in_flight: u64,
    /// Those that wait for a slot, a turn or an answer.
    pub waiting: u64,
}

/// What is under way now, by name; a name without calls is absent. As large as the number of calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Busy {
    /// By tool; the names that no tool has stand under `_unknown`.
    pub tools: BTreeMap<Arc<str>, Load>,
    /// By `source`, and by `source/server`.
    pub owners: BTreeMap<Arc<str>, Load>,
    /// By session.
    pub sessions: BTreeMap<Arc<str>, Load>,
    /// By the layer that a call is inside of now, or `tool`.
    pub layers: BTreeMap<Arc<str>, Load>,
}

/// Counts and latencies since start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatsRow {
    /// Everything together.
    pub total: Tally,
    /// The last five minutes second by second, the newest last.
    pub recent: Arc<[SecondRow]>,
    /// By tool; `_unknown` holds the names that no tool has.
    pub tools: Table<Tally>,
    /// By owner, as `source` or `source/server`.
    pub owners: Table<Tally>,
    /// The same and more by windows of time; ages are counted from the start of the runtime.
    #[serde(skip)]
    pub meters: Meters,
    /// What is under way now.
    #[serde(skip)]
    pub busy: Arc<Busy>,
}

impl Snapshot {
    /// How long the runtime had run at `now`; what [`Meters`] are asked with.
    pub fn age_at(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started.at)
    }
}

/// Everything a screen shows. Slices that did not change are shared between versions.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// Grows by one with each publication.
    pub version: u64,
    /// When this was put together.
    pub taken: Stamp,
    /// When the runtime was started.
    pub started: Stamp,
    /// The deployment.
    pub deployment: DeploymentRow,
    /// The assembly.
    pub assembly: AssemblyRow,
    /// The sources, in the order of the file.
    pub sources: Arc<[SourceRow]>,
    /// The servers, in the order of the file.
    pub servers: ServerRows,
    /// The skills and toolsets of the sources that have any, in the order of the file.
    pub shelves: Arc<[Arc<Shelf>]>,
    /// The tools, by name.
    pub tools: Arc<[ToolRow]>,
    /// Tools that were refused because their names are taken.
    pub refusals: Arc<[Refusal]>,
    /// The newest changes of the registry, the newest first (ring of 200).
    pub changes: Arc<[Arc<CatalogChange>]>,
    /// Calls that run now, the oldest first.
    pub running: Arc<[RunningRow]>,
    /// Calls that ended, the newest first (ring of 1,000).
    pub history: Arc<[Arc<CallRecord>]>,
    /// Counts and latencies.
    pub stats: StatsRow,
    /// The layers of the chain, outermost first.
    pub layers: Arc<[LayerStatus]>,
    /// Calls that wait for an operator's answer, the oldest first.
    pub approvals: Arc<[Arc<PendingApproval>]>,
    /// The sessions in the order in which they were opened, with those that ended last. Rows and
    /// rounds that did not change are shared between versions.
    pub sessions: Arc<[Arc<SessionRow>]>,
    /// The fullest visible set of the sessions that go on.
    pub worst_budget: Option<BudgetUse>,
    /// What servers ask of an operator, the oldest first, secrets masked.
    pub questions: Arc<[Arc<PendingQuestion>]>,
    /// The newest messages on the wire; none unless they are recorded.
    pub traffic: TrafficRows,
    /// What lint says of the catalog and of the sessions that go on.
    pub findings: Arc<[Finding]>,
    /// Exposures and index, to explain what a search finds and why a tool is shown. Names and
    /// texts in it are as they came.
    #[serde(skip)]
    pub view: View,
}
