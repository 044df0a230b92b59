//! Reads `resources:` into a [`Deployment`] (rules 10.1 and 10.2).

use std::collections::{HashMap, HashSet};

use super::dependencies::{Dependencies, Named};
use super::document::{Data, Reading, Shape, Value};
use super::identity::{Resource, identify};
use super::kinds::{Impl, Kind, Row};
use super::names::{ToolName, report_conflicts};
use super::order::Graph;
use super::{
    AssemblyImpl, AssemblySpec, Deployment, LoopSpec, ModelSpec, Origin, SourceSettings,
    SourceSpec, assembly, inference, mcp, sim, skills,
};
use crate::inference::ModelSettings;

/// Reads the map under `resources`. Everything that is wrong with it is reported; what is answered
/// counts only if nothing was.
pub fn read_resources(
    reading: &Reading<'_>,
    resources: &Value<'_>,
    origin: Origin,
) -> Option<Deployment> {
    if let Data::Broken = resources.node.data {
        return None;
    }
    if !resources.is_map() {
        reading.check(resources, &Shape::Object);
        return None;
    }
    let all: Vec<Resource<'_>> = resources
        .entries()
        .map(|(name, at, value)| identify(reading, name, at, value))
        .collect();
    if all.is_empty() {
        reading.error(
            resources,
            "`resources` is empty; a deployment needs at least one",
        );
        return None;
    }
    let index: HashMap<&str, usize> = all
        .iter()
        .enumerate()
        .map(|(index, resource)| (resource.name, index))
        .collect();
    let mut graph = Graph::new(all.len());
    let dependencies = Dependencies {
        reading,
        all: &all,
        index: &index,
    };
    let named: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(position, resource)| dependencies.read(resource, position, &mut graph))
        .collect();
    let mut builder = Builder {
        reading,
        all: &all,
        tools: Vec::new(),
        deployment: Deployment {
            origin,
            sources: Vec::new(),
            assemblies: Vec::new(),
            models: Vec::new(),
            loops: Vec::new(),
        },
    };
    let order = match graph.order() {
        Ok(order) => order,
        Err(cycles) => {
            for cycle in &cycles {
                report_cycle(reading, &all, cycle);
            }
            (0..all.len()).collect()
        }
    };
    for position in order {
        builder.build(position, &named[position]);
    }
    let Builder {
        mut tools,
        deployment,
        ..
    } = builder;
    tools.sort_by_key(|(source, _)| index.get(source.as_str()).copied());
    report_conflicts(reading, &tools, &deployment.assemblies);
    Some(deployment)
}

fn report_cycle(reading: &Reading<'_>, all: &[Resource<'_>], cycle: &[usize]) {
    let names: Vec<&str> = cycle
        .iter()
        .chain(cycle.first())
        .map(|index| all[*index].name)
        .collect();
    if let Some(first) = cycle.first().map(|index| &all[*index]) {
        let deps = first
            .value
            .get("deps")
            .unwrap_or_else(|| first.value.clone());
        reading.error(
            &deps,
            format!("these depend on each other: {}", names.join(" -> ")),
        );
    }
}

struct Builder<'a, 'd> {
    reading: &'a Reading<'a>,
    all: &'a [Resource<'d>],
    /// The names that each source brings, as far as they can be seen.
    tools: Vec<(String, Vec<ToolName>)>,
    deployment: Deployment,
}

impl Builder<'_, '_> {
    fn build(&mut self, position: usize, named: &[Named<'_>]) {
        let resource = &self.all[position];
        let Some(row) = resource.row else { return };
        let settings = resource.value.get("settings");
        if settings.is_none() && row.needs_settings {
            self.reading.error_at(
                resource.at,
                &resource.value.path,
                format!("`{}` needs `settings`", row.name),
            );
            return;
        }
        let mut seen = HashSet::new();
        let names: Vec<String> = named
            .iter()
            .filter_map(|named| named.value.text())
            .filter(|name| seen.insert(*name))
            .map(str::to_owned)
            .collect();
        match row.kind {
            Kind::Source => self.source(position, row, settings, names),
            Kind::Assembly => self.assembly(position, row, settings.as_ref(), names),
            Kind::Model => self.model(resource, row, settings),
            Kind::Loop => self.agent(resource, settings.as_ref(), named),
        }
    }

    fn source(
        &mut self,
        position: usize,
        row: &Row,
        settings: Option<Value<'_>>,
        deps: Vec<String>,
    ) {
        let resource = &self.all[position];
        let mut tools = Vec::new();
        let settings = match (row.implementation, settings) {
            (Impl::Sim, settings) => {
                sim::read(self.reading, settings.as_ref(), &resource.value, &mut tools)
                    .map(SourceSettings::Sim)
            }
            (Impl::Mcp, Some(settings)) => {
                mcp::read(self.reading, &settings).map(SourceSettings::Mcp)
            }
            (Impl::Skills, Some(settings)) => {
                let settings = skills::read(self.reading, &settings, self.servers_of(&deps));
                tools.extend(settings.iter().flat_map(skills::tool_names));
                settings.map(SourceSettings::Skills)
            }
            _ => None,
        };
        self.tools.push((resource.name.to_owned(), tools));
        if let Some(settings) = settings {
            self.deployment.sources.push(SourceSpec {
                name: resource.name.to_owned(),
                place: place_of(position),
                at: resource.at,
                settings,
                deps,
            });
        }
    }

    /// The servers of MCP sources; `None` when one of them could not be read.
    fn servers_of(&self, sources: &[String]) -> Option<Vec<String>> {
        let mut servers = Vec::new();
        for name in sources {
            match &self.deployment.source(name)?.settings {
                SourceSettings::Mcp(mcp) => {
                    servers.extend(mcp.servers.iter().map(|server| server.name.clone()));
                }
                _ => return None,
            }
        }
        Some(servers)
    }

    fn assembly(
        &mut self,
        position: usize,
        row: &Row,
        settings: Option<&Value<'_>>,
        sources: Vec<String>,
    ) {
        let resource = &self.all[position];
        let names_none = resource.value.get("deps").is_none_or(|deps| {
            deps.is_map() && deps.entries().all(|(_, _, value)| value.items().is_empty())
        });
        if names_none {
            let at = resource.value.get("deps");
            self.reading.error_at(
                at.map_or(resource.at, |deps| deps.place()),
                &resource.value.path,
                format!(
                    "the assembly `{0}` has no source; name one with `deps: {{tool: NAME}}`",
                    resource.name
                ),
            );
        }
        let implementation = match row.implementation {
            Impl::Memory => AssemblyImpl::Memory,
            _ => AssemblyImpl::Middleware,
        };
        let settings = assembly::read(self.reading, settings, implementation, &sources);
        self.deployment.assemblies.push(AssemblySpec {
            name: resource.name.to_owned(),
            place: place_of(position),
            at: resource.at,
            implementation,
            sources,
            dynamic: settings.dynamic,
            middlewares: settings.middlewares,
        });
    }

    fn model(&mut self, resource: &Resource<'_>, row: &Row, settings: Option<Value<'_>>) {
        let Some(settings) = settings else { return };
        let settings = if row.implementation == Impl::OpenAi {
            inference::read_openai(self.reading, &settings).map(ModelSettings::OpenAi)
        } else {
            inference::read_scripted(self.reading, &settings).map(ModelSettings::Scripted)
        };
        if let Some(settings) = settings {
            self.deployment.models.push(ModelSpec {
                name: resource.name.to_owned(),
                at: resource.at,
                settings,
            });
        }
    }

    fn agent(
        &mut self,
        resource: &Resource<'_>,
        settings: Option<&Value<'_>>,
        named: &[Named<'_>],
    ) {
        let settings = inference::read_rounds(self.reading, settings);
        let model = self.one(resource, Kind::Model, "model", named);
        let assembly = self.one(resource, Kind::Assembly, "tools", named);
        if let (Some(model), Some(assembly)) = (model, assembly) {
            self.deployment.loops.push(LoopSpec {
                name: resource.name.to_owned(),
                at: resource.at,
                model,
                assembly,
                settings,
            });
        }
    }

    /// The one resource of a kind that a loop names, or the only one that there is.
    fn one(
        &self,
        resource: &Resource<'_>,
        kind: Kind,
        key: &str,
        named: &[Named<'_>],
    ) -> Option<String> {
        let dep = resource.row?.deps.iter().find(|dep| dep.kind == kind)?;
        let mut own = named.iter().filter(|named| dep.takes(named.key));
        if let Some(first) = own.next() {
            if let Some(second) = own.next() {
                self.reading.error(
                    &second.value,
                    format!("a loop takes one `{}`", kind.as_str()),
                );
            }
            return first.value.string();
        }
        let deps = resource.value.get("deps");
        if deps
            .as_ref()
            .is_some_and(|deps| deps.entries().any(|(key, _, _)| dep.takes(key)))
        {
            // It names one that is not right, which has been reported.
            return None;
        }
        let mut there = self.all.iter().filter(|other| other.kind == Some(kind));
        match (there.next(), there.next()) {
            (Some(only), None) => Some(only.name.to_owned()),
            _ => {
                self.reading.error_at(
                    deps.map_or(resource.at, |deps| deps.place()),
                    &resource.value.path,
                    format!(
                        "the loop `{}` needs a `{}`; name one with `deps: {{{key}: NAME}}`",
                        resource.name,
                        kind.as_str()
                    ),
                );
                None
            }
        }
    }
}

fn place_of(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
