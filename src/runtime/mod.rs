//! Builds a deployment, owns its tasks, and takes it down in order.

mod build;
mod files;
mod orders;
mod readiness;
mod reload;
mod sessions;
mod sources;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::control::Control;
use crate::deployment::{Deployment, Loaded, Problems};
use crate::executor::Executor;
use crate::middleware::{Approvals, BuildError, Instruments};
use crate::observe::{Event, Exposition, Hub, Snapshot};
use crate::registry::{CloseFailure, Registry};
use crate::secrets::Secrets;
use crate::session::{Directory, Discovery, SessionDriver, SessionKind};
use crate::source::SourceSet;
use crate::source::mcp::Questions;

pub use readiness::{NotReady, Readiness};

/// How long cancelled calls may take to end before the layers write what they hold.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// What the host gives to a runtime.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The assembly to serve; may be left out when there is only one.
    pub assembly: Option<String>,
    /// The file that a `command: toolcrib` means when no such command is on the path: the running
    /// program itself.
    pub own_command: Option<PathBuf>,
    /// The values to mask, as reading the deployment found them.
    pub secrets: Secrets,
    /// What reading the deployment noticed, in sentences.
    pub warnings: Vec<String>,
    /// Whether the messages on the wire are recorded for the snapshots (at most 16 MiB of them).
    pub traffic: bool,
    /// The desk at which an operator answers what the layer `approval` asks; a console that can
    /// answer attaches to it.
    pub approvals: Approvals,
    /// Where tokens of servers that ask for authorization are kept; without it they are forgotten
    /// at the end.
    pub tokens: Option<PathBuf>,
    /// The desk at which an operator answers what servers ask; a host that can answer attaches to
    /// it before it starts the runtime.
    pub questions: Questions,
    /// How the deployment is read again, where it comes from files that may change (rule 10.5).
    pub reload: Option<Reload>,
    /// What the layer `telemetry` tells of every call, if the host exports anything.
    pub instruments: Option<Arc<dyn Instruments>>,
}

/// How a deployment is read again.
#[derive(Clone)]
pub struct Reload {
    /// Reads it; called on a thread that may block.
    pub load: Arc<dyn Fn() -> Result<Loaded, Problems> + Send + Sync>,
    /// The files and directories that it stands on: when one of them changes it is read again.
    pub files: Vec<PathBuf>,
}

impl std::fmt::Debug for Reload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reload")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// Why a deployment could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No assembly of that name.
    #[error("no assembly is named `{wanted}`; this deployment has {known}")]
    UnknownAssembly {
        /// The name that was asked for.
        wanted: String,
        /// Those that exist, as a list in words.
        known: String,
    },
    /// Several assemblies and none was named.
    #[error("the deployment has several assemblies, {known}; name one with `--assembly`")]
    WhichAssembly {
        /// Those that exist, as a list in words.
        known: String,
    },
    /// A layer of the chain could not be built.
    #[error("cannot build the chain of assembly `{assembly}`: {reason}")]
    Chain {
        /// The assembly.
        assembly: String,
        /// The cause.
        reason: BuildError,
    },
    /// A source could not be built.
    #[error("cannot build source `{source_name}`: {reason}")]
    Source {
        /// The source.
        source_name: String,
        /// The cause, with its place in the file.
        reason: String,
    },
    /// A source that is valid could not be started.
    #[error("cannot start source `{source_name}`: {reason}")]
    Unstarted {
        /// The source.
        source_name: String,
        /// The cause.
        reason: String,
    },
}

/// A running deployment.
pub struct Runtime {
    registry: Arc<Registry>,
    executor: Executor,
    discovery: Arc<Discovery>,
    hub: Arc<Hub>,
    directory: Directory,
    ordered: Arc<sessions::Sessions>,
    sources: SourceSet,
    reloader: Arc<reload::Reloader>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    control: Control,
    approvals: Approvals,
    stopping: Arc<AtomicBool>,
    tasks: Vec<AbortOnDropHandle<()>>,
}

impl Runtime {
    /// Builds and starts the chosen assembly with its sources. Never waits for a server
    /// (rule 8.2).
    ///
    /// # Errors
    /// When the assembly is not clear or a source cannot be built; what was built is closed again.
    pub async fn start(deployment: &Deployment, options: Options) -> Result<Self, StartError> {
        build::start(deployment, options).await
    }

    /// Follows everything that can be seen; only the newest counts.
    pub fn snapshot(&self) -> watch::Receiver<Arc<Snapshot>> {
        let receiver = self.snapshot.subscribe();
        // Nothing is published while nobody watches: the first watcher wants a fresh one.
        self.hub.touch();
        receiver
    }

    /// Follows what happens.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.hub.events()
    }

    /// The way to give orders.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The executor that calls go through.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Exposures and ranking of the assembly.
    pub fn discovery(&self) -> &Arc<Discovery> {
        &self.discovery
    }

    /// A session before its first round. Sessions share nothing but the registry (rule 5.1). It is
    /// in no snapshot; [`Runtime::open_session`] makes one that is.
    pub fn session(
        &self,
        name: impl Into<String>,
        required: impl IntoIterator<Item = Arc<str>>,
    ) -> SessionDriver {
        let (executor, discovery) = (self.executor.clone(), Arc::clone(&self.discovery));
        SessionDriver::new(name, executor, discovery, required)
    }

    /// As [`Runtime::session`], and listed in the snapshot until the driver is dropped.
    pub fn open_session(
        &self,
        name: impl Into<String>,
        kind: SessionKind,
        required: impl IntoIterator<Item = Arc<str>>,
    ) -> SessionDriver {
        let mut driver = self.session(name, required);
        let secrets = self.secrets().clone();
        driver.enlist(self.directory.list(driver.name(), kind, secrets));
        driver
    }

    /// The sessions that are listed in the snapshot.
    pub fn sessions(&self) -> &Directory {
        &self.directory
    }

    /// What a scrape of metrics reads; it may outlive the runtime.
    pub fn exposition(&self) -> Exposition {
        Exposition::new(
            Arc::clone(&self.hub),
            self.executor.clone(),
            self.sources.clone(),
            self.approvals.clone(),
        )
    }

    /// The desk at which an operator answers what the layer `approval` asks.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// The values that must be masked in everything that is shown.
    pub fn secrets(&self) -> &Secrets {
        self.hub.secrets()
    }

    /// Takes everything down in order: calls, sessions with their stages, sources with their connections and child processes,
    /// tools, and last the layers, which write what they still hold. Reports every tool that could not be closed.
    pub async fn shutdown(self) -> Vec<CloseFailure> {
        self.stopping.store(true, Ordering::Relaxed);
        self.hub.touch();
        let in_flight = self.executor.in_flight();
        in_flight.cancel_all();
        self.ordered.close().await;
        let sources = self.sources.all();
        futures::future::join_all(sources.iter().map(|source| source.close())).await;
        let failures = self.registry.close().await;
        // Cancelled calls end at once; a tool that does not is not waited for any longer.
        let _ = tokio::time::timeout(LAST_CALLS, in_flight.wait_empty()).await;
        self.executor.chain().close().await;
        drop(self.tasks);
        self.reloader.tasks.lock().clear();
        failures
    }
}

#[cfg(test)]
mod tests;
