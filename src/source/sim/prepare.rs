//! Turns settings into definitions that are known to be sound. Starts nothing, so that a check of
//! a deployment sees the same problems as its start.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::builtin;
use super::catalog::{self, CatalogTool};
use super::problem::{Place, Problem, SimError, bounded};
use super::settings::{Behavior, Outcome, SimSettings, SimTool};
use crate::tool::Definition;

/// The longest name that every provider takes (rule 8.9).
const LONGEST_NAME: usize = 64;

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
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let reason = if let Some(odd) = name.chars().find(|c| !plain(*c)) {
        format!("`{odd}` is not one of `A-Z a-z 0-9 _ -`")
    } else if name.len() > LONGEST_NAME {
        format!("it has {} characters, more than {LONGEST_NAME}", name.len())
    } else {
        return None;
    };
    let message = format!("a model's provider may refuse the name `{name}`: {reason}");
    Some(Problem::new(place, message))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::settings::LazySettings;
    use super::*;

    fn tool(name: &str) -> SimTool {
        super::super::tests::tool(name, Behavior::default())
    }

    fn of(tools: Vec<SimTool>) -> Result<Prepared, SimError> {
        prepare(&SimSettings {
            tools: Some(tools),
            ..SimSettings::default()
        })
    }

    fn catalog_file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("catalog.jsonl");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn a_padded_definition_has_exactly_the_size_asked_for_and_no_word_more() {
        for (name, description) in [
            ("plain", "works on apple"),
            ("empty", ""),
            ("escapes", "a \"quoted\"\n\u{1} line\\"),
            ("wide", "读取文件 – ünïcode 🚀"),
        ] {
            let bare = SimTool {
                description: description.into(),
                ..tool("t")
            };
            let least = of(vec![bare.clone()]).unwrap().tools[0].definition.bytes();
            for target in [least, least + 1, least + 2, 600, 601, 5000] {
                let padded = SimTool {
                    pad_to_bytes: Some(target),
                    ..bare.clone()
                };
                let definition = of(vec![padded]).unwrap().tools[0].definition.clone();
                assert_eq!(definition.bytes(), target, "{name}");
                assert_eq!(definition.wire_json().len(), target, "{name}");
                let padding = definition.description().strip_prefix(description).unwrap();
                assert!(padding.chars().all(|c| c == ' ' || c == '.'), "{name}");
            }
        }
    }

    #[test]
    fn too_small_a_size_is_an_error_that_names_the_smallest() {
        let small = SimTool {
            pad_to_bytes: Some(10),
            ..tool("t")
        };
        assert_eq!(
            of(vec![tool("a"), small]).unwrap_err().to_string(),
            "tools[1].pad_to_bytes: the definition of `t` has 61 bytes already and cannot be made 10 bytes long; use 61 or more"
        );
    }

    #[test]
    fn all_problems_are_reported_at_once_with_their_keys() {
        let deep = Behavior {
            error_rate: 1.5,
            ..Behavior::default()
        };
        let parts = Behavior {
            outcome: Outcome::Parts(vec![Behavior::default(), deep]),
            ..Behavior::default()
        };
        let huge = Behavior {
            outcome: Outcome::Image(usize::MAX),
            ..Behavior::default()
        };
        let tools = vec![
            tool("a"),
            SimTool {
                rate: Some(0.0),
                behavior: parts,
                ..tool("b")
            },
            SimTool {
                behavior: huge,
                ..tool("a")
            },
            tool(""),
            SimTool {
                input_schema: json!([]),
                ..tool("c")
            },
        ];
        let error = of(tools).unwrap_err();
        let seen: Vec<_> = error
            .problems
            .iter()
            .map(|problem| problem.place.to_string())
            .collect();
        assert_eq!(
            seen,
            [
                "tools[1].behavior.parts[1].error_rate",
                "tools[1].rate",
                "tools[2].name",
                "tools[2].behavior.image.bytes",
                "tools[3].name",
                "tools[4].input_schema",
            ]
        );
    }

    #[test]
    fn names_that_a_provider_would_refuse_stay_and_are_warned_of() {
        let prepared = of(vec![tool("a.b"), tool("ok_-1"), tool(&"x".repeat(65))]).unwrap();
        assert_eq!(prepared.tools[0].definition.name(), "a.b");
        let seen: Vec<_> = prepared.warnings.iter().map(ToString::to_string).collect();
        let long = "x".repeat(65);
        assert_eq!(
            seen,
            [
                "tools[0].name: a model's provider may refuse the name `a.b`: `.` is not one of `A-Z a-z 0-9 _ -`".to_owned(),
                format!("tools[2].name: a model's provider may refuse the name `{long}`: it has 65 characters, more than 64"),
            ]
        );
    }

    #[test]
    fn a_catalog_joins_the_listed_tools_and_may_not_repeat_them() {
        let (_dir, path) = catalog_file("{\"name\":\"x\",\"server\":\"s\"}\n{\"name\":\"a\"}\n");
        let settings = |tools| SimSettings {
            catalog: Some(path.clone()),
            tools,
            ..SimSettings::default()
        };
        let prepared = prepare(&settings(None)).unwrap();
        let seen: Vec<_> = prepared
            .tools
            .iter()
            .map(|tool| (tool.definition.name(), tool.server.as_deref()))
            .collect();
        assert_eq!(seen, [("x", Some("s")), ("a", None)]);
        let at = format!("{}:2", path.display());
        assert_eq!(prepared.tools[1].defined_at.as_deref(), Some(&*at));
        assert_eq!(
            prepare(&settings(Some(vec![tool("a")])))
                .unwrap_err()
                .to_string(),
            format!("{at}:1: `a` is defined at tools[0].name already")
        );
    }

    #[test]
    fn a_lazy_tool_has_a_placeholder_with_an_open_schema() {
        let lazy = SimTool {
            input_schema: json!({"type": "object", "required": ["a"]}),
            lazy: Some(LazySettings {
                placeholder: "soon".into(),
                ..LazySettings::default()
            }),
            ..tool("t")
        };
        let prepared = of(vec![lazy]).unwrap();
        assert_eq!(
            prepared.tools[0].placeholder.as_ref().unwrap().wire_json(),
            r#"{"name":"t","description":"soon","inputSchema":{"type":"object"}}"#
        );
    }

    #[test]
    fn without_settings_there_is_a_small_set_that_is_sound_and_described() {
        let prepared = prepare(&SimSettings::default()).unwrap();
        assert!((6..=10).contains(&prepared.tools.len()));
        assert_eq!(prepared.warnings, []);
        for tool in &prepared.tools {
            let schema = tool.definition.input_schema();
            assert!(tool.definition.description().len() > 30);
            assert!(jsonschema::validator_for(schema).is_ok());
            assert!(schema["properties"].is_object());
        }
    }

    #[test]
    fn no_tools_and_no_catalog_are_no_tools() {
        assert!(of(vec![]).unwrap().tools.is_empty());
    }
}
