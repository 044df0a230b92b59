//! The simulated source: tools whose behaviour stands in the deployment file (rule 10.4).

mod builtin;
pub mod catalog;
mod draws;
mod plan;
pub mod png;
mod prepare;
mod problem;
mod settings;
mod tool;

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::watch;

pub use draws::Seed;
pub use prepare::{Prepared, PreparedTool, prepare};
pub use problem::{Place, Problem, SimError};
pub use settings::{Behavior, LazySettings, Outcome, SimSettings, SimTool};
pub use tool::tool;

use super::{OrderError, ServerOrder, ServerRows, Source};
use crate::registry::{Owner, Registry};
use crate::tool::SharedTool;

/// A running simulated source. It has no servers; what a catalog calls a server is only shown as
/// the origin of its tools.
pub struct SimSource {
    name: Arc<str>,
    owner: Owner,
    /// One more owner for each server that the catalog names.
    servers: Vec<Owner>,
    seed: Seed,
    registry: Arc<Registry>,
    rows: watch::Sender<ServerRows>,
}

impl SimSource {
    /// Checks the settings and publishes the tools; they are registered when this returns.
    /// `place` is the place of the source in the deployment file.
    ///
    /// # Errors
    /// All problems of the settings; nothing has been registered then.
    pub async fn start(
        name: Arc<str>,
        place: u32,
        settings: &SimSettings,
        registry: Arc<Registry>,
    ) -> Result<Self, SimError> {
        Self::start_after(name, place, settings, registry, Vec::new()).await
    }

    /// Checks settings without registering anything.
    ///
    /// # Errors
    /// All their problems.
    pub async fn rehearse(settings: &SimSettings) -> Result<(), SimError> {
        prepared(settings).await.map(|_| ())
    }

    /// Takes other settings over: the source that is given has this one's place, and this one is
    /// to be dropped without being closed. Tools that are the same stay registered throughout.
    ///
    /// # Errors
    /// All problems of the settings; nothing has changed then.
    pub async fn renew(&self, settings: &SimSettings) -> Result<Self, SimError> {
        let (name, registry) = (Arc::clone(&self.name), Arc::clone(&self.registry));
        let place = self.owner.precedence.0;
        Self::start_after(name, place, settings, registry, self.servers.clone()).await
    }

    /// `before` are owners whose tools are taken back, unless the settings bring them again.
    async fn start_after(
        name: Arc<str>,
        place: u32,
        settings: &SimSettings,
        registry: Arc<Registry>,
        before: Vec<Owner>,
    ) -> Result<Self, SimError> {
        let prepared = prepared(settings).await?;
        for warning in &prepared.warnings {
            tracing::warn!(source = &*name, "{warning}");
        }
        let seed = Seed::new(settings.seed);
        let mut groups: Vec<(Owner, Vec<SharedTool>)> =
            vec![(Owner::source(Arc::clone(&name), place), Vec::new())];
        let mut group_of_server = std::collections::HashMap::new();
        for tool in prepared.tools {
            let group = match &tool.server {
                None => 0,
                Some(server) => *group_of_server
                    .entry(Arc::clone(server))
                    .or_insert_with(|| {
                        let rank = u32::try_from(groups.len()).unwrap_or(u32::MAX);
                        let (source, server) = (Arc::clone(&name), Arc::clone(server));
                        groups.push((Owner::server(source, server, (place, rank)), Vec::new()));
                        groups.len() - 1
                    }),
            };
            groups[group].1.push(tool::shared(tool, seed, &registry));
        }
        let gone: Vec<_> = before
            .into_iter()
            .filter(|owner| groups.iter().all(|(known, _)| known != owner))
            .collect();
        let source = Self {
            owner: groups[0].0.clone(),
            servers: groups[1..].iter().map(|group| group.0.clone()).collect(),
            name,
            seed,
            registry,
            rows: watch::Sender::new(Arc::new([])),
        };
        groups.extend(gone.into_iter().map(|owner| (owner, Vec::new())));
        source.publish(groups).await;
        Ok(source)
    }

    /// Adds a tool while everything runs, or replaces the one of that name.
    ///
    /// # Errors
    /// All problems of its settings.
    pub async fn add(&self, settings: SimTool) -> Result<(), SimError> {
        let tool = tool::tool(settings, self.seed, &self.registry)?;
        let name = tool.definition().shared_name();
        let catalog = self.registry.catalog();
        let holder = catalog.get(&name).map(|entry| &entry.owner);
        let owner = holder
            .filter(|owner| self.owns(owner))
            .unwrap_or(&self.owner);
        self.registry.add(owner, tool).await;
        Ok(())
    }

    /// Takes tools away; names that this source does not own are left alone.
    pub async fn remove(&self, names: &[&str]) {
        for owner in std::iter::once(&self.owner).chain(&self.servers) {
            self.registry.remove(owner, names).await;
        }
    }

    fn owns(&self, owner: &Owner) -> bool {
        *owner == self.owner || self.servers.contains(owner)
    }

    async fn publish(&self, groups: Vec<(Owner, Vec<SharedTool>)>) {
        let (_, failures) = self.registry.publish_groups(&self.owner, groups).await;
        for failure in failures {
            tracing::warn!(source = &*self.name, "{failure}");
        }
    }
}

/// Checks the settings on a thread that may block.
async fn prepared(settings: &SimSettings) -> Result<Prepared, SimError> {
    let settings = settings.clone();
    match tokio::task::spawn_blocking(move || prepare(&settings)).await {
        Ok(prepared) => prepared,
        // Only a runtime that shuts down refuses the work; a panic is ours and goes on.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => {
                let place = Place::Setting("catalog");
                let problems = vec![Problem::new(place, error.to_string())];
                Err(SimError { problems })
            }
        },
    }
}

impl Source for SimSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "sim"
    }

    fn servers(&self) -> watch::Receiver<ServerRows> {
        self.rows.subscribe()
    }

    fn order(&self, server: &str, _: ServerOrder) -> BoxFuture<'_, Result<String, OrderError>> {
        let error = OrderError::UnknownServer {
            source_name: self.name.to_string(),
            server: server.to_owned(),
        };
        futures::future::ready(Err(error)).boxed()
    }

    /// Takes all tools back. Nothing else runs here.
    fn close(&self) -> BoxFuture<'_, ()> {
        let owners = std::iter::once(&self.owner).chain(&self.servers);
        let groups = owners.map(|owner| (owner.clone(), Vec::new())).collect();
        self.publish(groups).boxed()
    }
}

#[cfg(test)]
mod tests;
