//! Turns settings into definitions that are known to be sound. Starts nothing, so that a check of
//! a deployment sees the same problems as its start.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::builtin;
use super::catalog::{self, CatalogTool};
use super::problem::{Place, Problem, SimError, bounded};
use super::settings::{Behavior, Outcome, SimSettings, SimTool};
use crate::tool::{Definition, doubtful_name};

/// The largest text or picture that a behaviour may make: a slip of the finger in a file must not
/// take the memory of the whole process.
const LARGEST_PART: usize = 256 * 1024 * 1024;

/// A tool whose settings hold together.
#[derive(Clone, Debug)]
pub struct PreparedTool {
    /// The definition, lengthened to `pad_to_bytes` where that is set.
    pub definition: Definition,
    /// What a lazy tool shows until it is loaded.
    pub placeholder: Option<Definition>,
    /// The server that a catalog names.
    pub server: Option<Arc<str>>,
    /// `file:line` of a catalog.
    pub defined_at: Option<String>,
    /// The settings.
    pub settings: SimTool,
}

/// All tools of a source.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// Those of `tools`, then those of the catalog.
    pub tools: Vec<PreparedTool>,
    /// What is odd but no error, such as names that a provider would refuse.
    pub warnings: Vec<Problem>,
}

/// Reads the catalog and checks every tool.
///
/// # Errors
/// All problems of the catalog and of the tools together.
pub fn prepare(settings: &SimSettings) -> Result<Prepared, SimError> {
    let mut prepared = Prepared::default();
    let mut problems = Vec::new();
    let listed = match (&settings.tools, &settings.catalog) {
        (Some(tools), _) => tools.clone(),
        (None, Some(_)) => Vec::new(),
        (None, None) => builtin::tools(),
    };
    let mut first: HashMap<String, Place> = HashMap::new();
    for (index, tool) in listed.into_iter().enumerate() {
        let at = |key: &str| Place::Tool {
            index,
            key: key.to_owned(),
        };
        match first.get(&tool.name) {
            Some(Place::Tool { index: earlier, .. }) => problems.push(Problem::new(
                at("name"),
                format!("`{}` is the name of `tools[{earlier}]` already", tool.name),
            )),
            _ => {
                first.insert(tool.name.clone(), at("name"));
            }
        }
        prepared.warnings.extend(refusable(&tool.name, at("name")));
        match prepare_tool(tool, index) {
            Ok(tool) => prepared.tools.push(tool),
            Err(found) => problems.extend(found),
        }
    }
    if let Some(path) = &settings.catalog {
        let mut warnings = Vec::new();
        let mut clashes = Vec::new();
        let tools = catalog::read(path).unwrap_or_else(|error| {
            problems.extend(error.problems);
            Vec::new()
        });
        for CatalogTool { line, server, tool } in tools {
            let at = Place::Catalog {
                path: path.clone(),
                line,
                column: 1,
            };
            if let Some(earlier) = first.get(&tool.name) {
                let message = format!("`{}` is defined at {earlier} already", tool.name);
                clashes.push(Problem::new(at.clone(), message));
            }
            warnings.extend(refusable(&tool.name, at.clone()));
            match prepare_tool(tool, 0) {
                Ok(tool) => prepared.tools.push(PreparedTool {
                    server,
                    defined_at: Some(format!("{}:{line}", path.display())),
                    ..tool
                }),
                Err(found) => clashes.extend(found.into_iter().map(|problem| Problem {
                    place: at.clone(),
                    ..problem
                })),
            }
        }
        prepared.warnings.extend(bounded(warnings));
        problems.extend(bounded(clashes));
    }
    if problems.is_empty() {
        Ok(prepared)
    } else {
        Err(SimError { problems })
    }
}

/// Checks one tool; `index` is its place for messages.
pub(super) fn prepare_tool(tool: SimTool, index: usize) -> Result<PreparedTool, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut report = |key: &str, message: String| {
        let key = key.to_owned();
        problems.push(Problem::new(Place::Tool { index, key }, message));
    };
    check_behavior(&tool.behavior, "behavior", &mut report);
    if let Some(rate) = tool.rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        report("rate", format!("must be a number above 0, not {rate}"));
    }
    let schema = tool.input_schema.clone();
    let definition = match Definition::new(&*tool.name, &*tool.description, schema) {
        Ok(definition) => definition,
        Err(error) => {
            let key = if tool.name.is_empty() {
                "name"
            } else {
                "input_schema"
            };
            report(key, error.to_string());
            return Err(problems);
        }
    };
    let definition = match tool.pad_to_bytes {
        None => definition,
        Some(target) => padded(&definition, target).unwrap_or_else(|| {
            let least = definition.bytes();
            let message = format!(
                "the definition of `{}` has {least} bytes already and cannot be made {target} bytes long; use {least} or more",
                tool.name
            );
            report("pad_to_bytes", message);
            definition
        }),
    };
    let placeholder = tool.lazy.as_ref().and_then(|lazy| {
        Definition::new(&*tool.name, &*lazy.placeholder, json!({"type": "object"})).ok()
    });
    if problems.is_empty() {
        Ok(PreparedTool {
            definition,
            placeholder,
            server: None,
            defined_at: None,
            settings: tool,
        })
    } else {
        Err(problems)
    }
}

fn check_behavior(behavior: &Behavior, key: &str, report: &mut dyn FnMut(&str, String)) {
    if !(0.0..=1.0).contains(&behavior.error_rate) {
        let rate = behavior.error_rate;
        report(
            &format!("{key}.error_rate"),
            format!("must be between 0 and 1, not {rate}"),
        );
    }
    let too_large = |bytes: usize| {
        format!("makes {bytes} bytes in one part; at most {LARGEST_PART} are possible")
    };
    match &behavior.outcome {
        Outcome::Text { text, repeat } => {
            let bytes = text.len().saturating_mul(*repeat);
            if bytes > LARGEST_PART {
                report(&format!("{key}.text.repeat"), too_large(bytes));
            }
        }
        Outcome::Image(bytes) if *bytes > LARGEST_PART => {
            report(&format!("{key}.image.bytes"), too_large(*bytes));
        }
        Outcome::Parts(parts) => {
            for (index, part) in parts.iter().enumerate() {
                check_behavior(part, &format!("{key}.parts[{index}]"), report);
            }
        }
        _ => {}
    }
}

/// The definition with its description lengthened until its size is exactly `target`; `None` if
/// it is larger already. The padding is ` . . .`: one byte per character in JSON, and nothing that
/// a search would take for a word (rule 10.4).
fn padded(definition: &Definition, target: usize) -> Option<Definition> {
    let missing = target.checked_sub(definition.bytes())?;
    let mut description = String::with_capacity(definition.description().len() + missing);
    description.push_str(definition.description());
    description.extend([' ', '.'].into_iter().cycle().take(missing));
    let schema = definition.input_schema().clone();
    Definition::new(definition.shared_name(), description, schema).ok()
}

/// A warning about a name that stays as written although a provider would refuse it (rule 8.9).
fn refusable(name: &str, place: Place) -> Option<Problem> {
    doubtful_name(name).map(|message| Problem::new(place, message))
}

#[cfg(test)]
mod tests;
