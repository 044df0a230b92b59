//! Puts snapshots together and publishes them: at most one per 50 ms, none while nobody watches,
//! and one per second while somebody does, so that series and rates move on.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tokio::sync::watch;
use tokio::time::Instant;

use super::hub::HubView;
use super::lints::Lints;
use super::{
    AssemblyRow, Busy, DeploymentRow, DeploymentState, Hub, Load, ReloadRow, RunningRow, Snapshot,
    SourceRow, StatsRow, ToolRow, Traffic, UNKNOWN,
};
use crate::clock::Stamp;
use crate::discovery::{Exposures, Mode};
use crate::executor::{Executor, InFlight};
use crate::middleware::{Approvals, LayerStatus};
use crate::registry::{Catalog, Entry};
use crate::secrets::Secrets;
use crate::session::{BudgetUse, Directory, Discovery, SessionRow, SessionStatus};
use crate::source::mcp::{PendingQuestion, Questions};
use crate::source::{ServerRows, ServerState, Source, SourceSet};
use crate::tool::Progress;

/// The shortest time between two publications.
const SHORTEST: Duration = Duration::from_millis(50);

/// The longest time between two publications while somebody watches.
const LONGEST: Duration = Duration::from_secs(1);

/// What snapshots are made from.
#[derive(Clone)]
pub struct Feed {
    /// The name of the deployment.
    pub deployment: Arc<str>,
    /// What was noticed about it without connecting, secrets masked.
    pub warnings: watch::Receiver<Arc<[String]>>,
    /// The assembly.
    pub assembly: Arc<RwLock<AssemblyRow>>,
    /// What became of the last reload.
    pub reload: watch::Receiver<Option<Arc<ReloadRow>>>,
    /// How tools come into view.
    pub discovery: Arc<Discovery>,
    /// The sources, in the order of the file.
    pub sources: SourceSet,
    /// The executor with its registry and chain.
    pub executor: Executor,
    /// Where everything that happens is collected.
    pub hub: Arc<Hub>,
    /// What waits for an operator's answer.
    pub approvals: Approvals,
    /// The sessions.
    pub sessions: Directory,
    /// What servers ask of an operator.
    pub questions: Questions,
    /// The messages on the wire, where they are recorded.
    pub traffic: Option<Arc<Traffic>>,
    /// Set once the runtime stops.
    pub stopping: Arc<AtomicBool>,
}

/// Owns the snapshot.
pub struct Publisher {
    feed: Feed,
    snapshot: watch::Sender<Arc<Snapshot>>,
    /// What the tool rows of the last snapshot were made from.
    shown: Shown,
    unmatched: Arc<[String]>,
    hub_version: u64,
    lints: Lints,
}

impl Publisher {
    /// A publisher with a first snapshot.
    pub fn new(feed: Feed) -> Self {
        let view = feed.hub.view();
        let shown = Shown::now(&feed);
        let rows = Rows::new(&shown, &feed);
        let unmatched = Arc::clone(&rows.unmatched);
        let hub_version = view.version;
        let mut lints = Lints::default();
        let first = assemble(&feed, &shown.catalog, view, rows, 0, &mut lints);
        Self {
            feed,
            snapshot: watch::Sender::new(Arc::new(first)),
            shown,
            unmatched,
            hub_version,
            lints,
        }
    }

    /// Follows the snapshots; only the newest counts.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshot.subscribe()
    }

    /// The sender, from which others can subscribe while [`Publisher::run`] owns the publisher.
    pub fn handle(&self) -> watch::Sender<Arc<Snapshot>> {
        self.snapshot.clone()
    }

    /// Publishes until the task is dropped.
    pub async fn run(mut self) {
        let hub = Arc::clone(&self.feed.hub);
        loop {
            let begin = Instant::now();
            // Either branch may be dropped half way: both only wait.
            let _ = tokio::time::timeout(LONGEST, hub.changed()).await;
            if self.snapshot.receiver_count() > 0 {
                self.publish();
            }
            tokio::time::sleep_until(begin + SHORTEST).await;
        }
    }

    /// Publishes once, now.
    pub fn publish(&mut self) {
        let last = Arc::clone(&self.snapshot.borrow());
        let shown = Shown::now(&self.feed);
        let rows = if shown.is(&self.shown) {
            Rows {
                tools: Arc::clone(&last.tools),
                sources: Arc::clone(&last.sources),
                unmatched: Arc::clone(&self.unmatched),
            }
        } else {
            Rows::new(&shown, &self.feed)
        };
        self.unmatched = Arc::clone(&rows.unmatched);
        let open = self.feed.discovery.open_sessions();
        self.feed.hub.keep_sessions(|name| open.contains(name));
        let mut view = self.feed.hub.view();
        if view.version == self.hub_version {
            view.history = Arc::clone(&last.history);
            view.changes = Arc::clone(&last.changes);
        }
        self.hub_version = view.version;
        let version = last.version + 1;
        let lints = &mut self.lints;
        let next = assemble(&self.feed, &shown.catalog, view, rows, version, lints);
        self.shown = shown;
        self.snapshot.send_replace(Arc::new(next));
    }
}

fn assemble(
    feed: &Feed,
    catalog: &Catalog,
    view: HubView,
    rows: Rows,
    version: u64,
    lints: &mut Lints,
) -> Snapshot {
    let servers: ServerRows = feed
        .sources
        .all()
        .iter()
        .flat_map(|source| source.servers().borrow().to_vec())
        .collect();
    let sessions = feed.sessions.rows();
    let running: Arc<[RunningRow]> = feed
        .executor
        .in_flight()
        .list()
        .iter()
        .map(|call| running_row(feed, call))
        .collect();
    let stats = StatsRow {
        busy: Arc::new(busy(&running, catalog)),
        ..view.stats
    };
    let discovery = feed.discovery.view();
    let mut warnings = Arc::clone(&feed.warnings.borrow());
    // Before that a server that is late might still bring what is named (rule 4.2).
    if !rows.unmatched.is_empty() && servers.iter().all(|server| server.settled) {
        warnings = warnings
            .iter()
            .chain(rows.unmatched.iter())
            .cloned()
            .collect();
    }
    Snapshot {
        version,
        taken: Stamp::now(),
        started: feed.hub.started(),
        deployment: DeploymentRow {
            name: Arc::clone(&feed.deployment),
            state: deployment_state(&servers, feed.stopping.load(Ordering::Relaxed)),
            warnings,
            reload: feed.reload.borrow().clone(),
        },
        assembly: feed.assembly.read().clone(),
        sources: rows.sources,
        servers,
        shelves: feed
            .sources
            .all()
            .iter()
            .filter_map(|source| source.shelf())
            .collect(),
        tools: rows.tools,
        refusals: Arc::clone(catalog.refusals()),
        changes: view.changes,
        running,
        history: view.history,
        stats,
        layers: layers(feed),
        approvals: Arc::clone(&feed.approvals.pending().borrow()),
        worst_budget: worst_budget(&sessions),
        findings: lints.update(&discovery.exposures, &sessions),
        sessions,
        questions: questions(feed),
        traffic: feed
            .traffic
            .as_ref()
            .map_or_else(Default::default, |traffic| traffic.rows()),
        view: discovery,
    }
}

/// The fullest visible set of the sessions that go on; of equals, the one that was opened first.
fn worst_budget(sessions: &[Arc<SessionRow>]) -> Option<BudgetUse> {
    let open = sessions
        .iter()
        .filter(|row| row.status != SessionStatus::Ended);
    let uses = open.filter_map(|row| row.budget_use());
    uses.reduce(|worst, other| match other.percent() > worst.percent() {
        true => other,
        false => worst,
    })
}

/// A server may repeat what it was given.
fn questions(feed: &Feed) -> Arc<[Arc<PendingQuestion>]> {
    let secrets = feed.hub.secrets();
    let pending = Arc::clone(&feed.questions.pending().borrow());
    if secrets.is_empty() {
        return pending;
    }
    let masked = pending.iter().map(|question| {
        Arc::new(PendingQuestion {
            params: secrets.mask_json(&question.params),
            ..PendingQuestion::clone(question)
        })
    });
    masked.collect()
}

/// Settings may hold what environment expansion put there.
fn layers(feed: &Feed) -> Arc<[LayerStatus]> {
    let secrets = feed.hub.secrets();
    let layers = feed.executor.chain().status().into_iter();
    layers
        .map(|layer| LayerStatus {
            settings: secrets.mask_json(&layer.settings),
            ..layer
        })
        .collect()
}

/// The state of a deployment follows from that of its servers alone (rule 8.4).
pub(crate) fn deployment_state(servers: &ServerRows, stopping: bool) -> DeploymentState {
    if stopping {
        return DeploymentState::Stopping;
    }
    let rejected = servers
        .iter()
        .find(|server| server.state == ServerState::Rejected);
    if let Some(server) = rejected {
        let cause = server
            .last_error
            .as_ref()
            .map_or("no cause is known", |failure| &failure.message);
        return DeploymentState::Failed {
            cause: format!("server `{}`: {cause}", server.name),
        };
    }
    if servers.iter().all(|server| server.settled) {
        DeploymentState::Serving
    } else {
        DeploymentState::Starting
    }
}

/// What the rows of tools and sources follow from.
struct Shown {
    catalog: Arc<Catalog>,
    exposures: Arc<Exposures>,
    sources: Arc<[Arc<dyn Source>]>,
}

impl Shown {
    fn now(feed: &Feed) -> Self {
        Self {
            catalog: feed.executor.registry().catalog(),
            exposures: feed.discovery.view().exposures,
            sources: feed.sources.all(),
        }
    }

    /// Whether nothing has changed.
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.catalog, &other.catalog)
            && Arc::ptr_eq(&self.exposures, &other.exposures)
            && Arc::ptr_eq(&self.sources, &other.sources)
    }
}

/// What follows from one version of the catalog, and is shared until the next.
struct Rows {
    tools: Arc<[ToolRow]>,
    sources: Arc<[SourceRow]>,
    /// Warnings once every server is settled.
    unmatched: Arc<[String]>,
}

impl Rows {
    fn new(shown: &Shown, feed: &Feed) -> Self {
        let overruled = feed.discovery.overruled();
        let secrets = feed.hub.secrets();
        let catalog = &shown.catalog;
        let exposures = &shown.exposures;
        let mode = |name: &str| exposures.get(name).map_or(Mode::Always, |tool| tool.mode);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for entry in catalog.entries() {
            *counts.entry(&entry.owner.source).or_default() += 1;
        }
        let sources = shown.sources.iter().map(|source| SourceRow {
            name: source.name().into(),
            kind: source.kind(),
            tools: counts.get(source.name()).copied().unwrap_or_default(),
        });
        Self {
            tools: catalog
                .entries()
                .map(|entry| {
                    let name = entry.definition.name();
                    tool_row(entry, mode(name), overruled.get(name).copied(), secrets)
                })
                .collect(),
            sources: sources.collect(),
            unmatched: feed.discovery.unmatched().into(),
        }
    }
}

fn tool_row(entry: &Entry, exposure: Mode, overruled: Option<Mode>, secrets: &Secrets) -> ToolRow {
    let definition = entry.definition.masked(secrets);
    ToolRow {
        owner: entry.owner.clone(),
        exposure,
        exposure_overruled: overruled,
        bytes: definition.bytes(),
        hints: entry.tool.hints(),
        definition_hash: definition.hash().into(),
        title: definition.title().map(Into::into),
        definition,
        original_name: entry.tool.original_name().map(Into::into),
        defined_at: entry.tool.defined_at().map(Into::into),
        placeholder: entry
            .tool
            .loader()
            .is_some_and(|loader| loader.loaded().is_none()),
        changed: entry.changed_since_first_seen(),
    }
}

/// The layers in which a call waits as long as it is directly inside of them.
pub(crate) const QUEUES: [&str; 3] = ["approval", "rate_limit", "concurrency"];

/// Calls under way by tool, owner, session and layer.
fn busy(running: &[RunningRow], catalog: &Catalog) -> Busy {
    let mut busy = Busy::default();
    for call in running {
        let count = |map: &mut BTreeMap<Arc<str>, Load>, name: Arc<str>| {
            let load = map.entry(name).or_default();
            load.in_flight += 1;
            load.waiting += u64::from(call.waiting);
        };
        match catalog.get(&call.tool) {
            None => count(&mut busy.tools, UNKNOWN.into()),
            Some(entry) => {
                count(&mut busy.tools, Arc::clone(&call.tool));
                let owner = entry.owner.to_string();
                if let Some((source, _)) = owner.split_once('/') {
                    count(&mut busy.owners, source.into());
                }
                count(&mut busy.owners, owner.into());
            }
        }
        if let Some(session) = &call.session {
            count(&mut busy.sessions, Arc::clone(session));
        }
        if let Some(layer) = call.inside {
            count(&mut busy.layers, layer.into());
        }
    }
    busy
}

fn running_row(feed: &Feed, call: &InFlight) -> RunningRow {
    let secrets = feed.hub.secrets();
    RunningRow {
        id: call.started.id.clone(),
        tool: Arc::clone(&call.started.tool),
        session: call.started.session.clone(),
        arguments: secrets.mask_json(&call.started.arguments),
        started: call.started.at,
        progress: call.progress.as_ref().map(|progress| Progress {
            message: progress
                .message
                .as_ref()
                .map(|message| secrets.mask(message).into_owned()),
            ..progress.clone()
        }),
        cancelling: call.cancelling,
        inside: call.inside,
        waiting: call.inside.is_some_and(|layer| QUEUES.contains(&layer)),
    }
}
