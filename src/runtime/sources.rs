//! Starts the sources of an assembly, dependencies first, and takes other settings of them over.

use std::sync::Arc;

use super::{Options, StartError};
use crate::deployment::{AssemblySpec, Deployment, SourceSettings, SourceSpec};
use crate::registry::{Owner, Registry};
use crate::source::mcp::{FrameSink, McpContext, McpSource, ServerChanges};
use crate::source::sim::SimSource;
use crate::source::skills::SkillsSource;
use crate::source::{Source, SourceSet};

/// What every source is started with.
pub(super) struct World {
    pub(super) registry: Arc<Registry>,
    pub(super) options: Options,
    pub(super) frames: Option<Arc<dyn FrameSink>>,
}

/// A source that runs, with what it was started from.
pub(super) struct Running {
    spec: SourceSpec,
    /// Whether its tools are those of the assembly. One that is a mere dependency serves others,
    /// and its own tools go into a registry that nobody reads.
    listed: bool,
    registry: Arc<Registry>,
    /// The MCP sources that a skills source uses.
    servers: Vec<Arc<McpSource>>,
    handle: Handle,
}

enum Handle {
    Sim(Arc<SimSource>),
    Mcp(Arc<McpSource>),
    Skills(Arc<SkillsSource>),
}

impl Running {
    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(super) fn source(&self) -> Arc<dyn Source> {
        match &self.handle {
            Handle::Sim(source) => Arc::clone(source) as Arc<dyn Source>,
            Handle::Mcp(source) => Arc::clone(source) as Arc<dyn Source>,
            Handle::Skills(source) => Arc::clone(source) as Arc<dyn Source>,
        }
    }

    /// Whether it can take the settings of `spec` over, instead of being started anew.
    pub(super) fn can_become(&self, spec: &SourceSpec, listed: bool) -> bool {
        self.spec.name == spec.name
            && self.spec.settings.kind() == spec.settings.kind()
            && self.listed == listed
    }

    /// Stops it, and takes its tools back.
    pub(super) async fn end(&self) {
        self.source().close().await;
        let owner = Owner::source(self.spec.name.as_str(), self.spec.precedence());
        self.registry.publish(&owner, Vec::new()).await;
    }
}

/// The sources in the order of the file.
pub(super) fn put(set: &SourceSet, running: &[Running]) {
    let mut all: Vec<_> = running
        .iter()
        .map(|running| (running.spec.place, running.source()))
        .collect();
    all.sort_by_key(|(place, _)| *place);
    let all: Vec<_> = all.into_iter().map(|(_, source)| source).collect();
    set.replace(all);
}

/// The sources that the assembly uses, in build order; on failure what was started is closed again
/// (rule 10.1).
pub(super) async fn start(
    deployment: &Deployment,
    assembly: &AssemblySpec,
    world: &World,
) -> Result<Vec<Running>, StartError> {
    let mut running = Vec::new();
    for spec in in_use(deployment, assembly) {
        match world.begin(spec, is_listed(assembly, spec), &running).await {
            Ok(started) => running.push(started),
            Err(reason) => {
                let closing = running.iter().map(Running::end);
                futures::future::join_all(closing).await;
                world.registry.close().await;
                return Err(failed(spec, reason));
            }
        }
    }
    Ok(running)
}

pub(super) fn is_listed(assembly: &AssemblySpec, spec: &SourceSpec) -> bool {
    assembly.sources.contains(&spec.name)
}

pub(super) fn failed(spec: &SourceSpec, reason: String) -> StartError {
    let source_name = spec.name.clone();
    match spec.settings {
        // Its files were found valid when they were read; what fails now is the world around them.
        SourceSettings::Skills(_) => StartError::Unstarted {
            source_name,
            reason,
        },
        SourceSettings::Sim(_) | SourceSettings::Mcp(_) => StartError::Source {
            source_name,
            reason,
        },
    }
}

/// The sources of an assembly and what they depend on, in build order.
pub(super) fn in_use<'d>(
    deployment: &'d Deployment,
    assembly: &AssemblySpec,
) -> Vec<&'d SourceSpec> {
    let mut wanted: Vec<&str> = assembly.sources.iter().map(String::as_str).collect();
    let mut next = 0;
    while let Some(name) = wanted.get(next).copied() {
        if let Some(spec) = deployment.source(name) {
            for dep in &spec.deps {
                if !wanted.contains(&dep.as_str()) {
                    wanted.push(dep);
                }
            }
        }
        next += 1;
    }
    deployment
        .sources
        .iter()
        .filter(|spec| wanted.contains(&spec.name.as_str()))
        .collect()
}

impl World {
    /// Starts one source. What it depends on runs already.
    pub(super) async fn begin(
        &self,
        spec: &SourceSpec,
        listed: bool,
        running: &[Running],
    ) -> Result<Running, String> {
        let name: Arc<str> = spec.name.as_str().into();
        let place = spec.precedence();
        let registry = match listed {
            true => Arc::clone(&self.registry),
            false => Arc::new(Registry::new()),
        };
        let servers = servers(spec, running);
        let handle = match &spec.settings {
            SourceSettings::Sim(settings) => {
                let started = SimSource::start(name, place, settings, Arc::clone(&registry)).await;
                Handle::Sim(Arc::new(started.map_err(|error| error.to_string())?))
            }
            SourceSettings::Mcp(settings) => {
                let context = self.context(Arc::clone(&registry));
                let started = McpSource::start(name, place, settings.clone(), context);
                Handle::Mcp(Arc::new(started))
            }
            SourceSettings::Skills(settings) => {
                let context = self.context(Arc::clone(&registry));
                let used = servers.clone();
                let started = SkillsSource::start(name, place, settings, &registry, used, context);
                let started = started.await.map_err(|error| error.to_string())?;
                Handle::Skills(Arc::new(started))
            }
        };
        Ok(Running {
            spec: spec.clone(),
            listed,
            registry,
            servers,
            handle,
        })
    }

    /// Tries what could fail when the source takes these settings over, without any effect.
    pub(super) async fn rehearse(
        &self,
        spec: &SourceSpec,
        before: Option<&Running>,
    ) -> Result<(), String> {
        match &spec.settings {
            SourceSettings::Mcp(_) => Ok(()),
            _ if before.is_some_and(|before| before.is_same(spec)) => Ok(()),
            SourceSettings::Sim(settings) => SimSource::rehearse(settings)
                .await
                .map_err(|error| error.to_string()),
            SourceSettings::Skills(settings) => SkillsSource::rehearse(settings)
                .await
                .map_err(|error| error.to_string()),
        }
    }

    /// Lets a running source take the settings over. Says what changed, or gives the source back
    /// as it was.
    pub(super) async fn renew(
        &self,
        before: Running,
        spec: &SourceSpec,
        running: &[Running],
    ) -> Result<(Running, Option<String>), (Running, String)> {
        let servers = servers(spec, running);
        let same_servers = servers.len() == before.servers.len()
            && std::iter::zip(&servers, &before.servers).all(|(a, b)| Arc::ptr_eq(a, b));
        let same = before.is_same(spec) && same_servers;
        let told = format!("source `{}` took its new settings over", spec.name);
        let (handle, told) = match (&before.handle, &spec.settings) {
            (Handle::Mcp(source), SourceSettings::Mcp(settings)) => {
                let changes = source.change(settings.clone()).await;
                (
                    Handle::Mcp(Arc::clone(source)),
                    sentence(&spec.name, &changes),
                )
            }
            _ if same => {
                return Ok((
                    Running {
                        spec: spec.clone(),
                        ..before
                    },
                    None,
                ));
            }
            (Handle::Sim(source), SourceSettings::Sim(settings)) => {
                match source.renew(settings).await {
                    Ok(source) => (Handle::Sim(Arc::new(source)), Some(told)),
                    Err(error) => return Err((before, error.to_string())),
                }
            }
            (Handle::Skills(source), SourceSettings::Skills(settings)) => {
                let context = self.context(Arc::clone(&before.registry));
                let used = servers.clone();
                let renewed = source.renew(settings, &before.registry, used, context);
                match renewed.await {
                    Ok(source) => (Handle::Skills(Arc::new(source)), Some(told)),
                    Err(error) => return Err((before, error.to_string())),
                }
            }
            // `can_become` has seen that both are of one kind.
            _ => return Err((before, "its kind has changed".to_owned())),
        };
        let now = Running {
            // The place stays that under which its tools are registered.
            spec: SourceSpec {
                place: before.spec.place,
                ..spec.clone()
            },
            servers,
            handle,
            ..before
        };
        Ok((now, told))
    }

    fn context(&self, registry: Arc<Registry>) -> McpContext {
        McpContext {
            frames: self.frames.clone(),
            tokens: self.options.tokens.clone(),
            desk: Arc::new(self.options.questions.clone()),
            own_command: self.options.own_command.clone(),
            ..McpContext::new(registry, self.options.secrets.clone())
        }
    }
}

impl Running {
    /// Whether there is nothing to take over. What a simulated source reads from a file may have
    /// changed although its settings have not.
    fn is_same(&self, spec: &SourceSpec) -> bool {
        let from_file = match &spec.settings {
            SourceSettings::Sim(settings) => settings.catalog.is_some(),
            _ => false,
        };
        self.spec.settings == spec.settings && self.spec.deps == spec.deps && !from_file
    }
}

fn servers(spec: &SourceSpec, running: &[Running]) -> Vec<Arc<McpSource>> {
    let of = |dep: &String| {
        let found = running.iter().find(|running| running.spec.name == *dep)?;
        match &found.handle {
            Handle::Mcp(source) => Some(Arc::clone(source)),
            _ => None,
        }
    };
    spec.deps.iter().filter_map(of).collect()
}

fn sentence(source: &str, changes: &ServerChanges) -> Option<String> {
    if changes.is_empty() {
        return None;
    }
    let parts = [
        ("added", &changes.added),
        ("restarted", &changes.restarted),
        ("removed", &changes.removed),
        ("kept", &changes.kept),
    ];
    let parts: Vec<_> = parts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| format!("{word} {}", names.join(", ")))
        .collect();
    Some(format!("source `{source}`: {}", parts.join("; ")))
}
