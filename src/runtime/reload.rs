//! Reload (rule 10.5): the new deployment is read and what can fail of it tried beside the old
//! one; then what is different is exchanged, and what is the same goes on untouched.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::build::{self, follow_servers, task};
use super::sessions::Sessions;
use super::sources::{self, Running, World};
use super::{Reload, StartError};
use crate::clock::Stamp;
use crate::deployment::{AssemblySpec, Loaded, Severity};
use crate::executor::Executor;
use crate::observe::{AssemblyRow, Hub, ReloadRow};
use crate::registry::Owner;
use crate::session::Discovery;
use crate::source::{OrderError, SourceSet};

/// How long calls on their way through an exchanged chain may take before its layers write what
/// they hold.
const OLD_CALLS: Duration = Duration::from_secs(60);

/// Everything that a reload may exchange.
pub(super) struct Reloader {
    pub(super) world: World,
    pub(super) executor: Executor,
    pub(super) discovery: Arc<Discovery>,
    pub(super) hub: Arc<Hub>,
    pub(super) sources: SourceSet,
    pub(super) sessions: Arc<Sessions>,
    pub(super) state: tokio::sync::Mutex<State>,
    pub(super) assembly: Arc<RwLock<AssemblyRow>>,
    pub(super) warnings: watch::Sender<Arc<[String]>>,
    pub(super) last: watch::Sender<Option<Arc<ReloadRow>>>,
    pub(super) tasks: Mutex<Vec<AbortOnDropHandle<()>>>,
}

/// What runs now.
pub(super) struct State {
    pub(super) running: Vec<Running>,
    pub(super) assembly: AssemblySpec,
}

impl Reloader {
    /// Reads the deployment again and takes it over; says what was done, or why nothing was.
    pub(super) async fn reload(&self) -> Result<String, OrderError> {
        let Some(reload) = &self.world.options.reload else {
            let told = "this deployment comes from no file that could be read again";
            return Err(OrderError::NotNow(told.to_owned()));
        };
        self.reload_from(reload).await.0
    }

    /// As [`Reloader::reload`]; also gives the files that the deployment stands on now, if it
    /// could be read.
    pub(super) async fn reload_from(
        &self,
        reload: &Reload,
    ) -> (Result<String, OrderError>, Option<Vec<PathBuf>>) {
        let load = Arc::clone(&reload.load);
        let read = tokio::task::spawn_blocking(move || load()).await;
        let (outcome, files) = match read {
            Ok(Ok(loaded)) => {
                // Before anything of it is shown.
                self.world.options.secrets.absorb(&loaded.secrets);
                let files = loaded.files.clone();
                (self.take_over(loaded).await, Some(files))
            }
            Ok(Err(problems)) => {
                // What is only doubtful stands in no one's way.
                let errors = problems.iter();
                let errors = errors.filter(|problem| problem.severity == Severity::Error);
                (Err(errors.map(ToString::to_string).collect()), None)
            }
            Err(error) => (Err(vec![format!("it cannot be read: {error}")]), None),
        };
        let mask = |texts: Vec<String>| -> Vec<String> {
            let secrets = &self.world.options.secrets;
            let masked = texts.iter().map(|text| secrets.mask(text).into_owned());
            masked.collect()
        };
        let (row, told) = match outcome {
            Ok(done) => {
                let done = mask(done);
                let told = match done.is_empty() {
                    true => "reloaded: nothing has changed".to_owned(),
                    false => format!("reloaded: {}", done.join("; ")),
                };
                tracing::info!("{told}");
                let row = ReloadRow {
                    at: Stamp::now(),
                    problems: Arc::new([]),
                    done: done.into(),
                };
                (row, Ok(told))
            }
            Err(problems) => {
                let problems = mask(problems);
                for problem in &problems {
                    tracing::error!("not reloaded: {problem}");
                }
                let count = problems.len();
                let first = problems.first().cloned().unwrap_or_default();
                let told = match count {
                    1 => format!("not reloaded, the old deployment keeps serving: {first}"),
                    _ => format!(
                        "not reloaded, the old deployment keeps serving: {count} problems, \
                         the first: {first}"
                    ),
                };
                let row = ReloadRow {
                    at: Stamp::now(),
                    problems: problems.into(),
                    done: Arc::new([]),
                };
                (row, Err(OrderError::NotNow(told)))
            }
        };
        self.last.send_replace(Some(Arc::new(row)));
        self.hub.touch();
        (told, files)
    }

    /// Takes a valid deployment over. Says what was done; on an error nothing was.
    async fn take_over(&self, loaded: Loaded) -> Result<Vec<String>, Vec<String>> {
        let deployment = &loaded.deployment;
        let options = &self.world.options;
        let one = |error: StartError| vec![error.to_string()];
        let assembly = build::choose(deployment, options.assembly.as_deref()).map_err(one)?;
        let mut state = self.state.lock().await;
        let chain = match assembly.middlewares == state.assembly.middlewares {
            true => None,
            false => Some(build::chain(assembly, &self.world.registry, options).map_err(one)?),
        };
        let wanted = sources::in_use(deployment, assembly);
        for spec in &wanted {
            let listed = sources::is_listed(assembly, spec);
            let before = state.running.iter();
            let before = before.clone().find(|known| known.can_become(spec, listed));
            let rehearsed = self.world.rehearse(spec, before).await;
            rehearsed.map_err(|reason| one(sources::failed(spec, reason)))?;
        }
        // From here on nothing fails that was not seen to work a moment ago.
        let mut done = Vec::new();
        self.exchange_sources(&mut state, &wanted, assembly, &mut done)
            .await;
        if let Some(chain) = chain {
            let old = self.executor.exchange_chain(chain);
            let in_flight = self.executor.in_flight().clone();
            self.keep(task(async move {
                let _ = tokio::time::timeout(OLD_CALLS, in_flight.wait_empty()).await;
                old.close().await;
            }));
            done.push(format!("assembly `{}` has another chain", assembly.name));
        }
        self.exchange_discovery(&state.assembly, assembly, &mut done)
            .await;
        *self.assembly.write() = build::assembly_row(assembly);
        state.assembly = assembly.clone();
        let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        self.warnings.send_replace(warnings.into());
        Ok(done)
    }

    async fn exchange_sources(
        &self,
        state: &mut State,
        wanted: &[&crate::deployment::SourceSpec],
        assembly: &AssemblySpec,
        done: &mut Vec<String>,
    ) {
        let mut old = std::mem::take(&mut state.running);
        let mut now: Vec<Running> = Vec::new();
        let mut new = Vec::new();
        for spec in wanted {
            let listed = sources::is_listed(assembly, spec);
            let before = old.iter().position(|known| known.can_become(spec, listed));
            if let Some(at) = before {
                match self.world.renew(old.remove(at), spec, &now).await {
                    Ok((running, told)) => {
                        done.extend(told);
                        now.push(running);
                    }
                    Err((before, reason)) => {
                        done.push(format!("source `{}` stays as it was: {reason}", spec.name));
                        now.push(before);
                    }
                }
                continue;
            }
            // One of another kind under the same name makes room first.
            if let Some(at) = old.iter().position(|known| known.name() == spec.name) {
                old.remove(at).end().await;
            }
            match self.world.begin(spec, listed, &now).await {
                Ok(running) => {
                    done.push(format!("source `{}` is new", spec.name));
                    new.push(running.source());
                    now.push(running);
                }
                Err(reason) => done.push(format!(
                    "source `{}` could not be started: {reason}",
                    spec.name
                )),
            }
        }
        sources::put(&self.sources, &now);
        for source in new {
            self.keep(task(follow_servers(
                source.servers(),
                Arc::clone(&self.hub),
            )));
        }
        for gone in &old {
            done.push(format!("source `{}` is gone", gone.name()));
        }
        futures::future::join_all(old.iter().map(Running::end)).await;
        state.running = now;
    }

    async fn exchange_discovery(
        &self,
        before: &AssemblySpec,
        now: &AssemblySpec,
        done: &mut Vec<String>,
    ) {
        if before.dynamic != now.dynamic {
            self.discovery.configure(now.dynamic.clone());
            // Pools are fitted to lower bounds at once (rule 6.6).
            self.sessions.see();
            done.push(format!(
                "assembly `{}` exposes its tools by other rules",
                now.name
            ));
        }
        let same = before.name == now.name && before.dynamic.is_some() == now.dynamic.is_some();
        if same {
            return;
        }
        let registry = &self.world.registry;
        let owner = Owner::source(before.name.as_str(), 0);
        registry.publish(&owner, Vec::new()).await;
        if let Ok(Some(tool)) = self.discovery.tool_search() {
            let owner = Owner::source(now.name.as_str(), 0);
            registry.add(&owner, tool).await;
        }
    }

    /// Holds a task until the runtime ends; those that have ended are let go.
    fn keep(&self, handle: AbortOnDropHandle<()>) {
        let mut tasks = self.tasks.lock();
        tasks.retain(|task| !task.is_finished());
        tasks.push(handle);
    }
}
