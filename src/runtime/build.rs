//! Starts the parts of a deployment in dependency order.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::files::watch as watch_files;
use super::orders::{self, Desk};
use super::reload::{self, Reloader};
use super::sessions::Sessions;
use super::sources::{self, World};
use super::{Options, Runtime, StartError};
use crate::control::Control;
use crate::deployment::{AssemblySpec, Deployment};
use crate::executor::{CallObserver, Executor};
use crate::middleware::{self, Approvals, BuildContext, Chain};
use crate::observe::{AssemblyRow, Event, Feed, Hub, Publisher, Traffic};
use crate::registry::{Owner, Registry};
use crate::session::{Directory, Discovery};
use crate::source::mcp::{FrameSink, Questions};
use crate::source::{ServerRows, Source, SourceSet};

pub(super) async fn start(
    deployment: &Deployment,
    options: Options,
) -> Result<Runtime, StartError> {
    let assembly = choose(deployment, options.assembly.as_deref())?;
    let registry = Arc::new(Registry::new());
    let hub = Arc::new(Hub::new(Arc::clone(&registry), options.secrets.clone()));
    let chain = chain(assembly, &registry, &options)?;
    let observer = Arc::clone(&hub) as Arc<dyn CallObserver>;
    let executor = Executor::new(Arc::clone(&registry), chain, observer);
    // Before the first source, so that no change of the registry is missed.
    let mut tasks = vec![follow_registry(&registry, &hub)];
    let discovery = discovery(assembly, &registry).await?;
    tasks.push(task(Arc::clone(&discovery).follow()));
    let traffic = options
        .traffic
        .then(|| Arc::new(Traffic::new(Arc::clone(&hub))));
    let world = World {
        registry: Arc::clone(&registry),
        frames: traffic.clone().map(|traffic| traffic as Arc<dyn FrameSink>),
        options,
    };
    let running = sources::start(deployment, assembly, &world).await?;
    let sources = SourceSet::default();
    sources::put(&sources, &running);
    let options = world.options.clone();
    let (warnings, _) = watch::channel(Arc::from(options.warnings.clone()));
    let directory = Directory::default();
    let ordered = Arc::new(Sessions::new(
        executor.clone(),
        Arc::clone(&discovery),
        directory.clone(),
        options.secrets.clone(),
        options.own_command.clone(),
    ));
    let reloader = Arc::new(Reloader {
        world,
        sessions: Arc::clone(&ordered),
        executor: executor.clone(),
        discovery: Arc::clone(&discovery),
        hub: Arc::clone(&hub),
        sources: sources.clone(),
        state: tokio::sync::Mutex::new(reload::State {
            running,
            assembly: assembly.clone(),
        }),
        assembly: Arc::new(RwLock::new(assembly_row(assembly))),
        warnings,
        last: watch::Sender::default(),
        tasks: Mutex::default(),
    });
    let stopping = Arc::new(AtomicBool::new(false));
    let publisher = Publisher::new(Feed {
        deployment: Arc::clone(&deployment.origin.name),
        warnings: reloader.warnings.subscribe(),
        assembly: Arc::clone(&reloader.assembly),
        reload: reloader.last.subscribe(),
        discovery: Arc::clone(&discovery),
        sources: sources.clone(),
        executor: executor.clone(),
        hub: Arc::clone(&hub),
        approvals: options.approvals.clone(),
        questions: options.questions.clone(),
        sessions: directory.clone(),
        traffic,
        stopping: Arc::clone(&stopping),
    });
    let snapshot = publisher.handle();
    let (control, taken) = Control::channel();
    let desk = Desk {
        executor: executor.clone(),
        sources: sources.clone(),
        reloader: Arc::clone(&reloader),
        hub: Arc::clone(&hub),
        approvals: options.approvals.clone(),
        questions: options.questions.clone(),
        discovery: Arc::clone(&discovery),
        sessions: Arc::clone(&ordered),
    };
    tasks.push(task(publisher.run()));
    tasks.push(task(orders::take(desk, taken)));
    tasks.push(follow_approvals(&options.approvals, &hub));
    tasks.push(follow_questions(&options.questions, &hub));
    tasks.push(follow_sessions(&directory, &hub));
    tasks.push(task(settle(sources.all(), Arc::clone(&registry))));
    for source in sources.all().iter() {
        tasks.push(task(follow_servers(source.servers(), Arc::clone(&hub))));
    }
    if let Some(reload) = options.reload {
        tasks.push(task(watch_files(Arc::clone(&reloader), reload)));
    }
    Ok(Runtime {
        registry,
        executor,
        discovery,
        hub,
        directory,
        ordered,
        sources,
        reloader,
        snapshot,
        control,
        approvals: options.approvals,
        stopping,
        tasks,
    })
}

/// What is shown of an assembly.
pub(super) fn assembly_row(assembly: &AssemblySpec) -> AssemblyRow {
    AssemblyRow {
        name: assembly.name.as_str().into(),
        implementation: assembly.implementation.as_str(),
        dynamic: assembly.dynamic.is_some(),
    }
}

/// The discovery service of the assembly, with its `tool_search` registered before any source can
/// take the name (rule 4.3).
async fn discovery(
    assembly: &AssemblySpec,
    registry: &Arc<Registry>,
) -> Result<Arc<Discovery>, StartError> {
    let discovery = Discovery::new(registry, assembly.dynamic.clone());
    let tool = discovery.tool_search();
    let tool = tool.map_err(|error| StartError::Source {
        source_name: assembly.name.clone(),
        reason: error.to_string(),
    })?;
    if let Some(tool) = tool {
        let owner = Owner::source(assembly.name.as_str(), 0);
        registry.add(&owner, tool).await;
    }
    Ok(discovery)
}

pub(super) fn task(work: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(work))
}

/// The assembly of that name, or the only one.
pub(super) fn choose<'d>(
    deployment: &'d Deployment,
    wanted: Option<&str>,
) -> Result<&'d AssemblySpec, StartError> {
    let known = || {
        let names: Vec<_> = deployment
            .assemblies
            .iter()
            .map(|assembly| format!("`{}`", assembly.name))
            .collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    };
    match (wanted, deployment.assemblies.as_slice()) {
        (Some(wanted), _) => {
            deployment
                .assembly(wanted)
                .ok_or_else(|| StartError::UnknownAssembly {
                    wanted: wanted.to_owned(),
                    known: known(),
                })
        }
        (None, [only]) => Ok(only),
        (None, _) => Err(StartError::WhichAssembly { known: known() }),
    }
}

/// The chain of the assembly; the `memory` impl has none (rule 9.1).
pub(super) fn chain(
    assembly: &AssemblySpec,
    registry: &Arc<Registry>,
    options: &Options,
) -> Result<Chain, StartError> {
    let Some(settings) = &assembly.middlewares else {
        return Ok(Chain::default());
    };
    let context = BuildContext {
        registry: Arc::clone(registry),
        secrets: options.secrets.clone(),
        approvals: options.approvals.clone(),
        instruments: options.instruments.clone(),
    };
    middleware::build(settings, &context).map_err(|reason| StartError::Chain {
        assembly: assembly.name.clone(),
        reason,
    })
}

/// Makes holders of contested names final once every server has settled (rule 2.1).
async fn settle(sources: Arc<[Arc<dyn Source>]>, registry: Arc<Registry>) {
    for source in sources.iter() {
        let settled = |rows: &ServerRows| rows.iter().all(|server| server.settled);
        // A closed source will not change any more.
        let _ = source.servers().wait_for(settled).await;
    }
    registry.settle();
}

/// Hands the changes of the registry on to the hub.
fn follow_registry(registry: &Registry, hub: &Arc<Hub>) -> AbortOnDropHandle<()> {
    let mut diffs = registry.diffs();
    let hub = Arc::clone(hub);
    task(async move {
        use tokio::sync::broadcast::error::RecvError;
        loop {
            match diffs.recv().await {
                Ok(diff) => hub.catalog_changed(diff),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(
                        missed,
                        "changes of the registry came faster than they are kept"
                    );
                }
                Err(RecvError::Closed) => break,
            }
        }
    })
}

/// The same for what servers ask.
fn follow_questions(questions: &Questions, hub: &Arc<Hub>) -> AbortOnDropHandle<()> {
    let mut pending = questions.pending();
    let hub = Arc::clone(hub);
    task(async move {
        while pending.changed().await.is_ok() {
            hub.touch();
        }
    })
}

/// Publishes whenever a question is asked or answered: somebody waits for an operator.
fn follow_approvals(approvals: &Approvals, hub: &Arc<Hub>) -> AbortOnDropHandle<()> {
    let mut pending = approvals.pending();
    let hub = Arc::clone(hub);
    task(async move {
        while pending.changed().await.is_ok() {
            hub.touch();
        }
    })
}

/// Publishes whenever something happens in a session.
fn follow_sessions(directory: &Directory, hub: &Arc<Hub>) -> AbortOnDropHandle<()> {
    let mut sessions = directory.watch();
    let hub = Arc::clone(hub);
    task(async move {
        while sessions.changed().await.is_ok() {
            hub.touch();
        }
    })
}

/// Publishes whenever a server changes, and tells of its transitions.
pub(super) async fn follow_servers(mut servers: watch::Receiver<ServerRows>, hub: Arc<Hub>) {
    let mut told: HashMap<Arc<str>, jiff::Timestamp> = HashMap::new();
    loop {
        let rows = Arc::clone(&servers.borrow_and_update());
        for server in rows.iter() {
            let before = told.get(&server.name).copied();
            let fresh = server
                .history
                .iter()
                .filter(|transition| before.is_none_or(|newest| transition.at.wall > newest));
            for transition in fresh {
                tracing::info!(
                    target: "toolcrib::transition",
                    server = &*server.name,
                    "{} -> {}: {}",
                    transition.from,
                    transition.to,
                    transition.reason
                );
                hub.emit(Event::Server {
                    source: Arc::clone(&server.source),
                    server: Arc::clone(&server.name),
                    transition: transition.clone(),
                });
            }
            if let Some(newest) = server.history.last() {
                told.insert(Arc::clone(&server.name), newest.at.wall);
            }
        }
        hub.touch();
        if servers.changed().await.is_err() {
            break;
        }
    }
}
