//! One simulated tool: performs the steps that `plan` decides.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::draws::Seed;
use super::plan::{self, Step};
use super::prepare::{PreparedTool, prepare_tool};
use super::problem::SimError;
use super::settings::SimTool;
use crate::registry::Registry;
use crate::tool::{
    Definition, ErrorKind, Hints, Invocation, LoadError, Loader, Part, SharedTool, Tool,
    ToolResult, bounded,
};

/// Makes a single simulated tool, for example to add it while everything runs. It is not
/// registered; `registry` is where a lazy one shows its definition once a call has loaded it.
///
/// # Errors
/// All problems of the settings, with places `tools[0].…`.
pub fn tool(
    settings: SimTool,
    seed: Seed,
    registry: &Arc<Registry>,
) -> Result<SharedTool, SimError> {
    match prepare_tool(settings, 0) {
        Ok(prepared) => Ok(shared(prepared, seed, registry)),
        Err(problems) => Err(SimError { problems }),
    }
}

pub(super) fn shared(prepared: PreparedTool, seed: Seed, registry: &Arc<Registry>) -> SharedTool {
    let loader = prepared.settings.lazy.clone().map(|lazy| {
        let definition = prepared.definition.clone();
        Loader::new(move || {
            let (definition, lazy) = (definition.clone(), lazy.clone());
            async move {
                tokio::time::sleep(lazy.latency).await;
                if lazy.fail {
                    return Err(LoadError {
                        tool: definition.name().to_owned(),
                        reason: "simulated failure (`lazy.fail` is set)".into(),
                    });
                }
                Ok(definition)
            }
            .boxed()
        })
    });
    Arc::new(SimulatedTool {
        prepared,
        seed,
        calls: AtomicU64::new(0),
        loader,
        registry: Arc::downgrade(registry),
    })
}

struct SimulatedTool {
    prepared: PreparedTool,
    seed: Seed,
    /// How many calls have begun; the number of a call decides its draws.
    calls: AtomicU64,
    loader: Option<Loader>,
    registry: Weak<Registry>,
}

impl SimulatedTool {
    fn name(&self) -> &str {
        self.prepared.definition.name()
    }

    /// A call asks for the definition as well: a lazy tool loads before it runs.
    async fn loaded(&self) -> Result<(), LoadError> {
        let Some(loader) = self
            .loader
            .as_ref()
            .filter(|loader| loader.loaded().is_none())
        else {
            return Ok(());
        };
        loader.load().await?;
        if let Some(registry) = self.registry.upgrade() {
            registry.refresh(self.name()).await;
        }
        Ok(())
    }

    async fn run(&self, steps: Vec<Step>) -> ToolResult {
        if let Err(error) = self.loaded().await {
            return ToolResult::error(ErrorKind::NotAvailable, error.to_string());
        }
        let mut result = ToolResult::default();
        for step in steps {
            match step {
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Give(part) => result.parts.push(part),
                Step::Fail(message) => {
                    result.parts.push(Part::Text(message));
                    result.error_kind = Some(ErrorKind::Tool);
                }
                Step::Panic(message) => panic!("{message}"),
                Step::Hang => std::future::pending().await,
            }
        }
        result
    }
}

impl Tool for SimulatedTool {
    fn definition(&self) -> Definition {
        let loaded = match &self.loader {
            None => None,
            Some(loader) => loader
                .loaded()
                .or_else(|| self.prepared.placeholder.clone()),
        };
        loaded.unwrap_or_else(|| self.prepared.definition.clone())
    }

    fn hints(&self) -> Hints {
        self.prepared.settings.hints
    }

    fn rate(&self) -> Option<f64> {
        self.prepared.settings.rate
    }

    fn defined_at(&self) -> Option<&str> {
        self.prepared.defined_at.as_deref()
    }

    fn loader(&self) -> Option<&Loader> {
        self.loader.as_ref()
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        async move {
            let steps = plan::steps(
                self.name(),
                &self.prepared.settings.behavior,
                &invocation.arguments,
                &mut self.seed.draws(self.name(), call),
            );
            let work = self.run(steps);
            match bounded(self.name(), &invocation.cancel, invocation.deadline, work).await {
                Ok(result) | Err(result) => result,
            }
        }
        .boxed()
    }
}
