//! The names of tools as far as they can be seen without connecting (rules 2.1 and 8.9).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::document::{Reading, Value};
use super::{AssemblySpec, Place, Problem, Severity};

/// The tool that an assembly with dynamic injection adds itself (rule 4.3).
pub(super) const TOOL_SEARCH: &str = "tool_search";

/// A tool that a file names.
#[derive(Clone, Debug)]
pub(super) struct ToolName {
    name: String,
    file: Arc<str>,
    place: Place,
    path: String,
}

impl ToolName {
    /// A name that stands at a value.
    pub(super) fn at(file: &Arc<str>, value: &Value<'_>, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            file: Arc::clone(file),
            place: value.place(),
            path: value.path.clone(),
        }
    }

    /// A name in another file.
    pub(super) fn in_file(name: &str, file: &Arc<str>, place: Place) -> Self {
        Self {
            name: name.to_owned(),
            file: Arc::clone(file),
            place,
            path: String::new(),
        }
    }
}

/// Reports every name that two sources of one assembly bring. What one source has twice, it
/// reports itself.
pub(super) fn report_conflicts(
    reading: &Reading<'_>,
    names: &[(String, Vec<ToolName>)],
    assemblies: &[AssemblySpec],
) {
    for assembly in assemblies {
        let mut first: HashMap<&str, (&str, &ToolName)> = HashMap::new();
        let used: HashSet<&String> = assembly.sources.iter().collect();
        // Not the order of `deps` but that of the file says who comes first.
        for (source, tools) in names {
            if !used.contains(source) {
                continue;
            }
            for tool in tools {
                if tool.name == TOOL_SEARCH && assembly.dynamic.is_some() {
                    report(
                        reading,
                        tool,
                        format!(
                            "conflict: `{TOOL_SEARCH}` of `{source}` is the name of the tool that `{}` adds itself",
                            assembly.name
                        ),
                    );
                }
                match first.get(tool.name.as_str()) {
                    None => {
                        first.insert(&tool.name, (source, tool));
                    }
                    Some((holder, _)) if *holder == source => {}
                    Some((holder, other)) => report(
                        reading,
                        tool,
                        format!(
                            "conflict: `{}` of `{source}` is the name of a tool of `{holder}` already, at {}",
                            tool.name,
                            seen_from(tool, other)
                        ),
                    ),
                }
            }
        }
    }
}

/// The place of the other tool, with its file if that is another one.
fn seen_from(tool: &ToolName, other: &ToolName) -> String {
    if tool.file == other.file {
        other.place.to_string()
    } else {
        format!("{}:{}", other.file, other.place)
    }
}

fn report(reading: &Reading<'_>, tool: &ToolName, message: String) {
    reading.add(Problem {
        severity: Severity::Error,
        file: Arc::clone(&tool.file),
        line: tool.place.line,
        column: tool.place.column,
        path: tool.path.clone(),
        message,
        suggestion: None,
    });
}
