//! The searchable text of a tool, field by field.

use serde::Serialize;
use serde_json::Value;

/// Nested parameters deeper than this say nothing about what the tool is for.
const DEEPEST: usize = 5;

/// A field of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The name without the prefix of its server.
    Name,
    /// The server.
    Server,
    /// The display title.
    Title,
    /// The description.
    Description,
    /// Names of parameters, nested ones too.
    Parameter,
    /// Descriptions of parameters and the strings that they may be.
    ParameterText,
}

impl Field {
    /// All fields, in the order in which their contributions are added up.
    pub const ALL: [Self; 6] = [
        Self::Name,
        Self::Server,
        Self::Title,
        Self::Description,
        Self::Parameter,
        Self::ParameterText,
    ];

    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Server => "server",
            Self::Title => "title",
            Self::Description => "description",
            Self::Parameter => "parameter",
            Self::ParameterText => "parameter_text",
        }
    }
}

/// What is indexed of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The full name.
    pub name: &'a str,
    /// The server, where there is one.
    pub server: Option<&'a str>,
    /// The display title.
    pub title: Option<&'a str>,
    /// The description.
    pub description: &'a str,
    /// The input schema.
    pub schema: &'a Value,
}

impl<'a> Document<'a> {
    /// Calls `emit` with every text of the document and its field.
    pub fn texts(&self, emit: &mut dyn FnMut(Field, &str)) {
        let (server, name) = self.split_name();
        emit(Field::Name, name);
        if let Some(server) = server {
            emit(Field::Server, server);
        }
        if let Some(title) = self.title {
            emit(Field::Title, title);
        }
        emit(Field::Description, self.description);
        parameters(self.schema, 0, emit);
    }

    /// The server and the name without its prefix. A server that is not known is read off a name
    /// like `server__tool`, the default prefix.
    fn split_name(&self) -> (Option<&'a str>, &'a str) {
        match self.server.filter(|server| !server.is_empty()) {
            Some(server) => {
                let rest = after_prefix(self.name, server).unwrap_or(self.name);
                (Some(server), rest)
            }
            None => match self.name.split_once("__") {
                Some((server, rest)) if !server.is_empty() && !rest.is_empty() => {
                    (Some(server), rest)
                }
                _ => (None, self.name),
            },
        }
    }
}

/// The rest of `name` behind `server`, letters and digits compared alone, since prefixes are
/// written in many ways; `None` when it does not begin with it or nothing would be left.
fn after_prefix<'a>(name: &'a str, server: &str) -> Option<&'a str> {
    let mut wanted = server.chars().filter(|c| c.is_alphanumeric()).peekable();
    wanted.peek()?;
    for (at, c) in name.char_indices() {
        if wanted.peek().is_none() {
            let rest = name[at..].trim_start_matches(|c: char| !c.is_alphanumeric());
            return (rest.len() < name.len() - at && !rest.is_empty()).then_some(rest);
        }
        if c.is_alphanumeric() && !wanted.next()?.eq_ignore_ascii_case(&c) {
            return None;
        }
    }
    None
}

/// Walks a schema for names, descriptions and string enums of parameters.
fn parameters(schema: &Value, depth: usize, emit: &mut dyn FnMut(Field, &str)) {
    let Some(schema) = schema.as_object().filter(|_| depth < DEEPEST) else {
        return;
    };
    // One pass over the keys: there are few of them, and many schemas.
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    emit(Field::Parameter, name);
                    parameter(property, depth, emit);
                }
            }
            ("items", item) => parameter(item, depth, emit),
            ("anyOf" | "oneOf" | "allOf", Value::Array(variants)) => {
                for variant in variants {
                    parameter(variant, depth, emit);
                }
            }
            ("$defs" | "definitions", Value::Object(definitions)) => {
                for definition in definitions.values() {
                    parameter(definition, depth, emit);
                }
            }
            _ => {}
        }
    }
}

/// What a parameter says of itself, then what is nested in it.
fn parameter(schema: &Value, depth: usize, emit: &mut dyn FnMut(Field, &str)) {
    for (key, value) in schema.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("description", Value::String(text)) => emit(Field::ParameterText, text),
            ("enum", Value::Array(values)) => {
                for text in values.iter().filter_map(Value::as_str) {
                    emit(Field::ParameterText, text);
                }
            }
            _ => {}
        }
    }
    parameters(schema, depth + 1, emit);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(name: &str, server: Option<&str>, schema: &Value) -> Vec<(Field, String)> {
        let document = Document {
            name,
            server,
            title: None,
            description: "d",
            schema,
        };
        let mut texts = Vec::new();
        document.texts(&mut |field, text| texts.push((field, text.to_owned())));
        texts
    }

    #[test]
    fn the_prefix_of_the_server_is_taken_off_the_name() {
        for (name, server, expected) in [
            ("fs__read", Some("fs"), (Some("fs"), "read")),
            (
                "Ant_Design__list",
                Some("Ant Design"),
                (Some("Ant Design"), "list"),
            ),
            ("fsread", Some("fs"), (Some("fs"), "fsread")),
            ("other__read", Some("fs"), (Some("fs"), "other__read")),
            ("fs__", Some("fs"), (Some("fs"), "fs__")),
            ("fs__read", None, (Some("fs"), "read")),
            ("fs__read", Some(""), (Some("fs"), "read")),
            ("read_file", None, (None, "read_file")),
            ("__read", None, (None, "__read")),
        ] {
            let schema = json!({});
            let document = Document {
                name,
                server,
                title: None,
                description: "",
                schema: &schema,
            };
            assert_eq!(document.split_name(), expected, "{name} {server:?}");
        }
    }

    #[test]
    fn parameters_are_found_five_levels_deep_with_descriptions_and_string_enums() {
        let schema = json!({"properties": {
            "unit": {"description": "scale", "enum": ["celsius", 3]},
            "list": {"items": {"properties": {"deep": {"anyOf": [{"description": "either"}]}}}},
        }});
        let found = texts("t", None, &schema);
        let of = |field| -> Vec<&str> {
            found
                .iter()
                .filter(|(f, _)| *f == field)
                .map(|(_, text)| text.as_str())
                .collect()
        };
        assert_eq!(of(Field::Parameter), ["unit", "list", "deep"]);
        assert_eq!(of(Field::ParameterText), ["scale", "celsius", "either"]);
        let mut nested = json!({"properties": {"bottom": {}}});
        for _ in 0..5 {
            nested = json!({"properties": {"level": nested}});
        }
        let found = texts("t", None, &nested);
        assert_eq!(
            found.iter().filter(|(f, _)| *f == Field::Parameter).count(),
            5
        );
    }
}
