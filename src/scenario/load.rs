//! Reads a scenario and the deployment that it plays on; all problems of both at once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::expect::{Check, Fact};
use super::model::SimPlace;
use super::table::SCENARIO;
use super::{Expectation, Scenario, ScenarioCall, Step};
use crate::deployment::document::{self, Budget, Node, Reading, Shape, Syntax, Value};
use crate::deployment::{
    AssemblySpec, Deployment, Environment, Loaded, Origin, Problem, Problems, SourceSettings,
    load_text_with, read_resources, read_sim_tool, read_text,
};
use crate::discovery::TOOL_SEARCH;
use crate::registry::Owner;
use crate::secrets::Secrets;
use crate::source::sim::{self, SimSettings, SimTool};

/// A valid scenario with its deployment.
#[derive(Clone, Debug)]
pub struct LoadedScenario {
    /// What it says.
    pub scenario: Scenario,
    /// What it plays on.
    pub deployment: Deployment,
    /// What is probably not meant, sorted by place.
    pub warnings: Vec<Problem>,
    /// The values that may not be shown.
    pub secrets: Secrets,
    /// Every file that was read or that its resources will read, absolute.
    pub files: Vec<PathBuf>,
}

/// Reads a scenario file.
///
/// # Errors
/// Everything that is wrong with it and its deployment, warnings too.
pub fn load_file(path: &Path, environment: &dyn Environment) -> Result<LoadedScenario, Problems> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let base_dir = absolute.parent().unwrap_or(Path::new("/")).to_owned();
    let mut loaded = load_text(&name, &text, &base_dir, environment)?;
    loaded.files.insert(0, absolute);
    Ok(loaded)
}

/// Reads a scenario from a text. `name` stands for the file in messages; `base_dir` is what
/// relative files start at.
///
/// # Errors
/// Everything that is wrong with it and its deployment, warnings too.
pub fn load_text(
    name: &str,
    text: &str,
    base_dir: &Path,
    environment: &dyn Environment,
) -> Result<LoadedScenario, Problems> {
    let secrets = Secrets::default();
    let reading = Reading::new(name, base_dir, environment, secrets.clone());
    let root = match document::parse(text, Syntax::of(name), Budget::default()) {
        Ok(root) => root,
        Err(error) => return Err(reading.unreadable(error)),
    };
    let origin = Origin {
        name: Arc::clone(reading.file()),
        text: text.into(),
        base_dir: base_dir.to_owned(),
    };
    let mut files = Vec::new();
    let read = read_root(&reading, root, origin, &mut files);
    files.extend(reading.files());
    let finished = reading.finish(read)?;
    let (scenario, deployment) = finished.value;
    Ok(LoadedScenario {
        scenario,
        deployment,
        warnings: finished.warnings,
        secrets,
        files,
    })
}

fn read_root(
    reading: &Reading<'_>,
    root: Option<Node>,
    origin: Origin,
    files: &mut Vec<PathBuf>,
) -> Option<(Scenario, Deployment)> {
    let root = reading.open(
        root,
        "the file is empty; a scenario has `rounds` and a deployment",
        "a scenario is a map with the key `rounds`",
    )?;
    let root = Value::root(&root);
    reading.check(&root, &Shape::Fields(&SCENARIO));
    let deployment = read_deployment(reading, &root, origin, files);
    let assembly = deployment
        .as_ref()
        .and_then(|deployment| choose(reading, &root, deployment));
    let sim = match (&deployment, assembly) {
        (Some(deployment), Some(assembly)) => sim_of(deployment, assembly),
        _ => None,
    };
    let may_add = assembly.is_none() || sim.is_some();
    let steps = read_rounds(reading, &root, may_add);
    let scenario = Scenario {
        name: Arc::clone(reading.file()),
        assembly: assembly?.name.clone(),
        sim,
        steps,
    };
    Some((scenario, deployment?))
}

/// The deployment, from its file or from the resources that stand here.
fn read_deployment(
    reading: &Reading<'_>,
    root: &Value<'_>,
    origin: Origin,
    files: &mut Vec<PathBuf>,
) -> Option<Deployment> {
    match (root.get("deployment"), root.get("resources")) {
        (None, Some(resources)) => read_resources(reading, &resources, origin),
        (Some(file), None) => {
            let path = reading.existing(&file, "deployment")?;
            let shown = reading.shown_file(&file);
            match load_beside(reading, &path, &shown) {
                Ok(loaded) => {
                    loaded.warnings.into_iter().for_each(|w| reading.add(w));
                    files.extend(loaded.files);
                    Some(loaded.deployment)
                }
                Err(problems) => {
                    problems.0.into_iter().for_each(|p| reading.add(p));
                    None
                }
            }
        }
        (Some(file), Some(_)) => {
            reading.error(&file, "give either `deployment` or `resources`, not both");
            None
        }
        (None, None) => {
            reading.error(
                root,
                "a scenario needs a deployment: `deployment: FILE`, or `resources:` here",
            );
            None
        }
    }
}

fn load_beside(reading: &Reading<'_>, path: &Path, shown: &str) -> Result<Loaded, Problems> {
    let text = read_text(path, shown)?;
    let base_dir = path.parent().unwrap_or(Path::new("/"));
    load_text_with(
        shown,
        &text,
        base_dir,
        reading.environment(),
        reading.secrets(),
    )
}

/// The assembly that is named, or the only one.
fn choose<'d>(
    reading: &Reading<'_>,
    root: &Value<'_>,
    deployment: &'d Deployment,
) -> Option<&'d AssemblySpec> {
    let names = || deployment.assemblies.iter().map(|spec| spec.name.as_str());
    let list = || names().collect::<Vec<_>>().join("`, `");
    match (root.get("assembly"), deployment.assemblies.as_slice()) {
        (Some(wanted), _) => {
            let name = wanted.text()?;
            let found = deployment.assembly(name);
            if found.is_none() {
                let message = format!("no assembly is named `{name}`");
                reading.unknown(wanted.place(), &wanted.path, message, name, names());
            }
            found
        }
        (None, [only]) => Some(only),
        (None, []) => {
            reading.error(root, "the deployment has no `tool.Assembly` to play on");
            None
        }
        (None, _) => {
            reading.error(
                root,
                format!("`assembly` has to say which of `{}` to play on", list()),
            );
            None
        }
    }
}

/// The first simulated source of the assembly.
fn sim_of(deployment: &Deployment, assembly: &AssemblySpec) -> Option<SimPlace> {
    assembly.sources.iter().find_map(|name| {
        let spec = deployment.source(name)?;
        match &spec.settings {
            SourceSettings::Sim(settings) => Some(SimPlace {
                owner: Owner::source(spec.name.as_str(), spec.precedence()),
                seed: settings.seed,
            }),
            _ => None,
        }
    })
}

fn read_rounds(reading: &Reading<'_>, root: &Value<'_>, may_add: bool) -> Vec<Step> {
    let Some(rounds) = root.get("rounds") else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    for round in rounds.items() {
        let idle = round.get("idle");
        let count = idle.as_ref().and_then(Value::size).unwrap_or(1).max(1);
        if let (Some(idle), Some(_)) = (&idle, round.get("calls")) {
            reading.error(
                idle,
                "`idle` means rounds without calls; `calls` is set too",
            );
        }
        let first = Step {
            note: round
                .get("note")
                .and_then(|note| note.string())
                .map(Into::into),
            remove: read_removed(reading, &round),
            add: read_added(reading, &round, may_add),
            require: names(&round, "require")
                .into_iter()
                .map(Into::into)
                .collect(),
            calls: read_calls(&round),
            expect: Expectation::default(),
        };
        steps.push(first);
        steps.extend((1..count).map(|_| Step::default()));
        if let (Some(last), Some(expect)) = (steps.last_mut(), round.get("expect")) {
            last.expect = read_expectation(&expect);
        }
    }
    steps
}

fn names(round: &Value<'_>, key: &str) -> Vec<String> {
    round.get(key).map_or_else(Vec::new, |list| list.strings())
}

fn read_removed(reading: &Reading<'_>, round: &Value<'_>) -> Vec<String> {
    for name in round.get("remove").iter().flat_map(|list| list.items()) {
        if name.text() == Some(TOOL_SEARCH) {
            reading.error(&name, "`tool_search` belongs to the assembly and stays");
        }
    }
    names(round, "remove")
}

fn read_added(reading: &Reading<'_>, round: &Value<'_>, may_add: bool) -> Vec<SimTool> {
    let Some(add) = round.get("add") else {
        return Vec::new();
    };
    if !may_add {
        reading.error(
            &add,
            "`add` needs a source of `impl: sim` in the assembly, where the tools go",
        );
    }
    let mut tools = Vec::new();
    for value in add.items() {
        let Some(tool) = read_sim_tool(reading, &value) else {
            continue;
        };
        if tool.name == TOOL_SEARCH {
            reading.error(&value, "`tool_search` belongs to the assembly and stays");
        }
        let alone = SimSettings {
            tools: Some(vec![tool.clone()]),
            ..SimSettings::default()
        };
        if let Err(error) = sim::prepare(&alone) {
            for problem in error.problems {
                let key = match &problem.place {
                    sim::Place::Tool { key, .. } => key.as_str(),
                    _ => "",
                };
                reading.error(&value.at(key), problem.message);
            }
        }
        tools.push(tool);
    }
    tools
}

fn read_calls(round: &Value<'_>) -> Vec<ScenarioCall> {
    let Some(calls) = round.get("calls") else {
        return Vec::new();
    };
    calls
        .items()
        .iter()
        .filter_map(|call| {
            Some(ScenarioCall {
                tool: call.get("tool")?.text()?.into(),
                arguments: call
                    .get("arguments")
                    .map_or(serde_json::Value::Null, |arguments| arguments.json()),
            })
        })
        .collect()
}

fn read_expectation(expect: &Value<'_>) -> Expectation {
    let checks = expect.entries().filter_map(|(key, _, value)| {
        let check = Check::ALL.into_iter().find(|check| check.as_str() == key)?;
        let facts: BTreeSet<Fact> = if value.is_map() {
            value
                .pairs()
                .into_iter()
                .map(|(name, reason)| Fact {
                    name,
                    reason: Some(reason),
                })
                .collect()
        } else {
            value
                .strings()
                .into_iter()
                .map(|name| Fact { name, reason: None })
                .collect()
        };
        Some((check, facts))
    });
    Expectation {
        checks: checks.collect(),
    }
}
