//! Starts the sources of an assembly, dependencies first.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Options, StartError};
use crate::deployment::{AssemblySpec, Deployment, SourceSettings, SourceSpec};
use crate::observe::Traffic;
use crate::registry::Registry;
use crate::source::Source;
use crate::source::mcp::{FrameSink, McpContext, McpSource};
use crate::source::sim::SimSource;
use crate::source::skills::SkillsSource;

/// What has been started so far.
struct Start<'s> {
    registry: &'s Arc<Registry>,
    options: &'s Options,
    frames: Option<Arc<dyn FrameSink>>,
    /// In the order of starting, with the place in the file.
    sources: Vec<(u32, Arc<dyn Source>)>,
    /// The MCP sources among them, by name.
    mcp: HashMap<&'s str, Arc<McpSource>>,
}

/// The sources that the assembly uses, in the order of the file; on failure what was started is
/// closed again (rule 10.1).
pub(super) async fn start(
    deployment: &Deployment,
    assembly: &AssemblySpec,
    registry: &Arc<Registry>,
    options: &Options,
    traffic: &Option<Arc<Traffic>>,
) -> Result<Arc<[Arc<dyn Source>]>, StartError> {
    let mut start = Start {
        registry,
        options,
        frames: traffic.clone().map(|traffic| traffic as Arc<dyn FrameSink>),
        sources: Vec::new(),
        mcp: HashMap::new(),
    };
    for spec in in_use(deployment, assembly) {
        let listed = assembly.sources.contains(&spec.name);
        if let Err(reason) = start.one(spec, listed).await {
            let closing = start.sources.iter().map(|(_, source)| source.close());
            futures::future::join_all(closing).await;
            registry.close().await;
            return Err(StartError::Source {
                source_name: spec.name.clone(),
                reason,
            });
        }
    }
    start.sources.sort_by_key(|(place, _)| *place);
    Ok(start
        .sources
        .into_iter()
        .map(|(_, source)| source)
        .collect())
}

/// The sources of an assembly and what they depend on, in build order.
fn in_use<'d>(deployment: &'d Deployment, assembly: &AssemblySpec) -> Vec<&'d SourceSpec> {
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

impl<'s> Start<'s> {
    /// Starts one source. One that is `listed` brings its tools into the assembly; one that is a
    /// mere dependency serves others, and its own tools go into a registry that nobody reads.
    async fn one(&mut self, spec: &'s SourceSpec, listed: bool) -> Result<(), String> {
        let name: Arc<str> = spec.name.as_str().into();
        let place = spec.precedence();
        let registry = match listed {
            true => Arc::clone(self.registry),
            false => Arc::new(Registry::new()),
        };
        let source: Arc<dyn Source> = match &spec.settings {
            SourceSettings::Sim(settings) => {
                let started = SimSource::start(name, place, settings, registry).await;
                Arc::new(started.map_err(|error| error.to_string())?)
            }
            SourceSettings::Mcp(settings) => {
                let context = self.context(registry);
                let started = McpSource::start(name, place, settings.clone(), context);
                let started = Arc::new(started);
                self.mcp.insert(&spec.name, Arc::clone(&started));
                started
            }
            SourceSettings::Skills(settings) => {
                let servers = spec.deps.iter();
                let servers = servers
                    .filter_map(|dep| self.mcp.get(dep.as_str()).cloned())
                    .collect();
                let context = self.context(Arc::clone(&registry));
                let started =
                    SkillsSource::start(name, place, settings, &registry, servers, context);
                Arc::new(started.await.map_err(|error| error.to_string())?)
            }
        };
        self.sources.push((spec.place, source));
        Ok(())
    }

    fn context(&self, registry: Arc<Registry>) -> McpContext {
        McpContext {
            frames: self.frames.clone(),
            own_command: self.options.own_command.clone(),
            ..McpContext::new(registry, self.options.secrets.clone())
        }
    }
}
