//! Catalog files: one definition per line, as JSON (rule 10.4).

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};

use super::problem::{Place, Problem, SimError, bounded};
use super::settings::{Behavior, SimTool};
use crate::registry::nearest_one;
use crate::tool::{Hints, json_type};

/// The keys that a line may have.
const KEYS: [&str; 4] = ["name", "server", "description", "input_schema"];

/// A tool of a catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogTool {
    /// The line it stands on, from 1.
    pub line: usize,
    /// The server that it is said to come from; its name carries the prefix already.
    pub server: Option<Arc<str>>,
    /// The tool, with the default behaviour.
    pub tool: SimTool,
}

/// Reads a catalog file. Blank lines are skipped.
///
/// # Errors
/// When the file cannot be read, and for every line that is no definition, has an unknown or
/// repeated key, or a name that stands there already.
pub fn read(path: &Path) -> Result<Vec<CatalogTool>, SimError> {
    match std::fs::read(path) {
        Ok(bytes) => parse(path, &bytes),
        Err(error) => Err(SimError {
            problems: vec![Problem::new(
                Place::Setting("catalog"),
                format!("cannot read the catalog `{}`: {error}", path.display()),
            )],
        }),
    }
}

/// As [`read`], of text that is there already; `path` names it in messages.
///
/// # Errors
/// As [`read`], but for reading.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<CatalogTool>, SimError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut tools: Vec<CatalogTool> = Vec::new();
    let mut lines_by_name: HashMap<String, usize> = HashMap::new();
    let mut problems = Vec::new();
    for (index, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        let place = |column| Place::Catalog {
            path: path.to_owned(),
            line,
            column,
        };
        match parse_line(bytes) {
            Ok(None) => {}
            Ok(Some((tool, server, name_column))) => match lines_by_name.get(&tool.name) {
                Some(first) => problems.push(Problem::new(
                    place(name_column),
                    format!("`{}` is defined on line {first} already", tool.name),
                )),
                None => {
                    lines_by_name.insert(tool.name.clone(), line);
                    tools.push(CatalogTool { line, server, tool });
                }
            },
            Err(faults) => problems.extend(faults.into_iter().map(|fault| Problem {
                place: place(fault.column),
                message: fault.message,
                suggestion: fault.suggestion,
            })),
        }
    }
    if problems.is_empty() {
        Ok(tools)
    } else {
        let problems = bounded(problems);
        Err(SimError { problems })
    }
}

struct Fault {
    column: usize,
    message: String,
    suggestion: Option<String>,
}

fn fault(column: usize, message: impl Into<String>) -> Fault {
    Fault {
        column,
        message: message.into(),
        suggestion: None,
    }
}

type Parsed = (SimTool, Option<Arc<str>>, usize);

/// The tool of a line with the column of its name; `None` for a blank line.
fn parse_line(bytes: &[u8]) -> Result<Option<Parsed>, Vec<Fault>> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        vec![fault(valid.chars().count() + 1, "not valid UTF-8")]
    })?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let Entries(entries) = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let end = format!(" at line {} column {}", error.line(), error.column());
        let column = column_of(text, error.column().saturating_sub(1));
        vec![fault(column, message.trim_end_matches(&end))]
    })?;
    let offsets = key_offsets(text);
    let column = |index: usize| column_of(text, offsets.get(index).copied().unwrap_or(0));
    let mut faults = Vec::new();
    let mut found: [Option<(usize, Value)>; 4] = Default::default();
    for (index, (key, value)) in entries.into_iter().enumerate() {
        match KEYS.iter().position(|known| *known == key) {
            None => faults.push(Fault {
                column: column(index),
                message: format!("unknown key `{key}`"),
                suggestion: nearest_one(&key, KEYS),
            }),
            Some(slot) if found[slot].is_some() => {
                faults.push(fault(column(index), format!("`{key}` is there twice")));
            }
            Some(slot) => found[slot] = Some((index, value)),
        }
    }
    let [name, server, description, schema] = found;
    let mut string = |key: &str, slot: Option<(usize, Value)>| match slot {
        None | Some((_, Value::Null)) => None,
        Some((_, Value::String(text))) => Some(text),
        Some((index, other)) => {
            let message = format!("`{key}` must be a string, not {}", json_type(&other));
            faults.push(fault(column(index), message));
            None
        }
    };
    let name_at = name.as_ref().map_or(1, |(index, _)| column(*index));
    let wrong_name = matches!(&name, Some((_, value)) if !value.is_string() && !value.is_null());
    let name = string("name", name);
    let server = string("server", server);
    let description = string("description", description);
    if !wrong_name && name.as_ref().is_none_or(String::is_empty) {
        faults.push(fault(name_at, "a definition needs a `name`"));
    }
    let input_schema = match schema {
        None | Some((_, Value::Null)) => json!({"type": "object"}),
        Some((_, schema @ Value::Object(_))) => schema,
        Some((index, other)) => {
            let found = json_type(&other);
            let message = format!("`input_schema` must be a JSON object, not {found}");
            faults.push(fault(column(index), message));
            Value::Null
        }
    };
    if !faults.is_empty() {
        faults.sort_by_key(|fault| fault.column);
        return Err(faults);
    }
    let tool = SimTool {
        name: name.unwrap_or_default(),
        description: description.unwrap_or_default(),
        input_schema,
        pad_to_bytes: None,
        lazy: None,
        hints: Hints::default(),
        rate: None,
        behavior: Behavior::default(),
    };
    let server = server.filter(|server| !server.is_empty()).map(Into::into);
    Ok(Some((tool, server, name_at)))
}

/// The column, in characters from 1, of a byte offset.
fn column_of(text: &str, offset: usize) -> usize {
    text.char_indices()
        .take_while(|(at, _)| *at < offset)
        .count()
        + 1
}

/// Where the keys of the outermost object start, in order. The text is valid JSON.
fn key_offsets(text: &str) -> Vec<usize> {
    let (mut depth, mut in_string, mut escaped, mut key_next) = (0, false, false, false);
    let mut offsets = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' if in_string => in_string = false,
            _ if in_string => {}
            b'"' => {
                in_string = true;
                if std::mem::take(&mut key_next) {
                    offsets.push(at);
                }
            }
            b'{' | b'[' => {
                depth += 1;
                key_next = depth == 1;
            }
            b'}' | b']' => depth -= 1,
            b',' => key_next = depth == 1,
            _ => {}
        }
    }
    offsets
}

/// The entries of an object in their order, repeated keys included.
struct Entries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one JSON object with a tool's definition")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::with_capacity(map.size_hint().unwrap_or(KEYS.len()));
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let error = parse(Path::new("c.jsonl"), text.as_bytes()).unwrap_err();
        error.problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_line_is_a_tool_and_blank_lines_are_none() {
        let text = "\u{feff}\n{\"name\":\"a__x\",\"server\":\"a\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\",\"x\":1}}\r\n  \n{\"name\":\"b\",\"description\":null}";
        let tools = parse(Path::new("c.jsonl"), text.as_bytes()).unwrap();
        let seen: Vec<_> = tools
            .iter()
            .map(|found| {
                let tool = &found.tool;
                (
                    found.line,
                    found.server.as_deref(),
                    tool.name.as_str(),
                    tool.description.as_str(),
                    tool.input_schema.clone(),
                )
            })
            .collect();
        let schema = json!({"type": "object", "x": 1});
        assert_eq!(
            seen,
            [
                (2, Some("a"), "a__x", "d", schema),
                (4, None, "b", "", json!({"type": "object"})),
            ]
        );
    }

    #[test]
    fn every_fault_has_its_line_and_column() {
        for (name, text, expected) in [
            (
                "unknown key with the nearest",
                r#"{"name":"ü","deskription":"{\"name\":1}"}"#,
                &["c.jsonl:1:13: unknown key `deskription`; did you mean `description`?"][..],
            ),
            (
                "duplicate tool",
                "{\"name\":\"a\"}\n\n{\"description\":\"\", \"name\":\"a\"}",
                &["c.jsonl:3:20: `a` is defined on line 1 already"],
            ),
            (
                "repeated key",
                r#"{"name":"a","name":"b"}"#,
                &["c.jsonl:1:13: `name` is there twice"],
            ),
            (
                "several at once",
                r#"{"description":1,"input_schema":[]}"#,
                &[
                    "c.jsonl:1:1: a definition needs a `name`",
                    "c.jsonl:1:2: `description` must be a string, not a number",
                    "c.jsonl:1:18: `input_schema` must be a JSON object, not an array",
                ],
            ),
            (
                "no object",
                "[1]",
                &[
                    "c.jsonl:1:1: invalid type: sequence, expected one JSON object with a tool's definition",
                ],
            ),
            (
                "broken off",
                "{\"name\":\"a\"}\n{\"name\":",
                &["c.jsonl:2:8: EOF while parsing a value"],
            ),
            (
                "a wrong name is not also a missing one",
                r#"{"name":7}"#,
                &["c.jsonl:1:2: `name` must be a string, not a number"],
            ),
        ] {
            assert_eq!(problems(text), expected, "{name}");
        }
        let error = parse(Path::new("c.jsonl"), b"{\"name\":\"a\xFF\"}").unwrap_err();
        assert_eq!(error.to_string(), "c.jsonl:1:11: not valid UTF-8");
    }

    #[test]
    fn a_missing_file_is_a_problem_of_the_setting() {
        let error = read(Path::new("/nowhere/c.jsonl")).unwrap_err();
        assert_eq!(error.problems[0].place, Place::Setting("catalog"));
    }

    #[test]
    fn a_file_of_another_kind_does_not_flood_the_screen() {
        let text = "{\"id\":1}\n".repeat(1000);
        let problems = problems(&text);
        assert_eq!(problems.len(), SimError::SHOWN + 1);
        assert!(problems[SimError::SHOWN].ends_with("and 1900 more like these"));
    }
}
