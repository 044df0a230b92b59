//! A field: what the schema says about one property.

use serde_json::Value;

use crate::console::schema::{Look, cut, short};
use crate::text::{Lines, Marks, clean, clean_name, one_line};

/// What a field takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// One of these values, each with its label.
    Choice(Vec<(Value, String)>),
    /// Anything, written as JSON.
    Json,
}

/// A field. What is shown of it is clean; the name in the call is as the schema has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// The name of the argument.
    pub(crate) name: String,
    /// The name as it is shown.
    pub(crate) label: String,
    /// What it takes.
    pub(crate) kind: Kind,
    /// Whether a call without it is wrong.
    pub(crate) required: bool,
    /// Whether it may be `null`.
    pub(crate) nullable: bool,
    /// What the tool does when it is left out.
    pub(crate) default: Option<Value>,
    /// The type and the bounds in words.
    pub(crate) takes: String,
    /// What the schema says that it means.
    pub(crate) help: String,
}

impl Field {
    /// The field of a property.
    pub(crate) fn new(name: &str, place: &Look<'_>, required: bool, marks: Marks) -> Self {
        let (inner, nullable) = place.without_null();
        let kind = Kind::of(&inner, marks);
        let mut takes = vec![kind.words(&inner, marks)];
        if nullable {
            takes[0].push_str(" or null");
        }
        takes.extend(inner.bounds().iter().map(|bound| cut(bound, marks)));
        let help = place
            .text("description")
            .or_else(|| inner.text("description"))
            .or_else(|| place.text("title"))
            .unwrap_or_default();
        Self {
            name: name.to_owned(),
            label: clean_name(name, marks).into_owned(),
            kind,
            required,
            nullable,
            default: place
                .get("default")
                .or_else(|| inner.get("default"))
                .cloned(),
            takes: takes.join(", "),
            help: one_line(&clean(help, Lines::Many, marks)).into_owned(),
        }
    }
}

impl Kind {
    fn of(look: &Look<'_>, marks: Marks) -> Self {
        let labelled = |value: &Value| (value.clone(), short(value, marks));
        let choices = look.list("enum");
        if !choices.is_empty() {
            return Self::Choice(choices.iter().map(labelled).collect());
        }
        if let Some(only) = look.get("const") {
            return Self::Choice(vec![labelled(only)]);
        }
        if look.unresolved.is_some() {
            return Self::Json;
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(choices) = constants(look, keyword, marks) {
                return Self::Choice(choices);
            }
        }
        let types: Vec<&str> = look
            .types()
            .into_iter()
            .filter(|name| *name != "null")
            .collect();
        match types[..] {
            ["string"] => Self::Text,
            ["integer"] => Self::Integer,
            ["number"] | ["integer", "number"] | ["number", "integer"] => Self::Number,
            ["boolean"] => Self::Bool,
            _ => Self::Json,
        }
    }

    fn words(&self, look: &Look<'_>, marks: Marks) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Integer => "whole number".into(),
            Self::Number => "number".into(),
            Self::Bool => "true or false".into(),
            Self::Choice(choices) => format!("one of {}", choices.len()),
            Self::Json => match look.types()[..] {
                [] => "JSON".into(),
                ref types => format!("JSON ({})", cut(&types.join(" or "), marks)),
            },
        }
    }
}

/// Alternatives that are constants, as generators write choices with a description each.
fn constants(look: &Look<'_>, keyword: &str, marks: Marks) -> Option<Vec<(Value, String)>> {
    let branches = look.list(keyword);
    if branches.is_empty() {
        return None;
    }
    branches
        .iter()
        .map(|branch| {
            let value = branch.get("const")?;
            let title = branch.get("title").and_then(Value::as_str);
            let label = match title {
                Some(title) => format!("{} ({})", short(value, marks), cut(title, marks)),
                None => short(value, marks),
            };
            Some((value.clone(), label))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_schema_gives_its_field() {
        let choice = |values: &[(&str, Value)]| {
            let labelled = values
                .iter()
                .map(|(label, value)| (value.clone(), (*label).to_owned()));
            Kind::Choice(labelled.collect())
        };
        let table = [
            (
                "text",
                json!({"type": "string", "minLength": 1}),
                Kind::Text,
                "text, at least 1 character",
            ),
            (
                "integer",
                json!({"type": "integer", "minimum": 0}),
                Kind::Integer,
                "whole number, at least 0",
            ),
            ("number", json!({"type": "number"}), Kind::Number, "number"),
            (
                "both numbers",
                json!({"type": ["integer", "number"]}),
                Kind::Number,
                "number",
            ),
            (
                "boolean",
                json!({"type": "boolean"}),
                Kind::Bool,
                "true or false",
            ),
            (
                "nullable",
                json!({"type": ["string", "null"]}),
                Kind::Text,
                "text or null",
            ),
            (
                "optional of pydantic",
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
                Kind::Integer,
                "whole number or null",
            ),
            (
                "enum",
                json!({"type": "string", "enum": ["a", "b"]}),
                choice(&[("a", json!("a")), ("b", json!("b"))]),
                "one of 2",
            ),
            (
                "const",
                json!({"const": 1}),
                choice(&[("1", json!(1))]),
                "one of 1",
            ),
            (
                "titled constants",
                json!({"oneOf": [{"const": "x", "title": "An x"}]}),
                choice(&[("x (An x)", json!("x"))]),
                "one of 1",
            ),
            (
                "array",
                json!({"type": "array"}),
                Kind::Json,
                "JSON (array)",
            ),
            (
                "object",
                json!({"type": "object"}),
                Kind::Json,
                "JSON (object)",
            ),
            (
                "union",
                json!({"type": ["string", "integer"]}),
                Kind::Json,
                "JSON (string or integer)",
            ),
            ("anything", json!({}), Kind::Json, "JSON"),
            ("true", json!(true), Kind::Json, "JSON"),
            (
                "foreign reference",
                json!({"$ref": "https://example.org", "type": "string"}),
                Kind::Json,
                "JSON (string)",
            ),
            (
                "local reference",
                json!({"$ref": "#/$defs/n"}),
                Kind::Integer,
                "whole number, at most 9",
            ),
        ];
        for (name, property, kind, takes) in table {
            let schema = json!({"properties": {"p": property}, "$defs": {"n": {"type": "integer", "maximum": 9}}});
            let look = Look::root(&schema);
            let field = Field::new("p", &look.properties()[0].1, true, Marks::Unicode);
            assert_eq!((field.kind, field.takes.as_str()), (kind, takes), "{name}");
        }
    }

    #[test]
    fn what_a_schema_says_is_shown_clean_and_sent_as_it_is() {
        let schema = json!({"properties": {"a\u{1b}[31m": {"description": "x\ny\u{1b}]0;t\u{7}", "default": 1}}});
        let look = Look::root(&schema);
        let (name, place) = &look.properties()[0];
        let field = Field::new(name, place, false, Marks::Unicode);
        assert_eq!(field.name, "a\u{1b}[31m");
        assert_eq!(field.label, "a␛[31m");
        assert_eq!(field.help, "x y␛]0;t␇");
        assert_eq!(field.default, Some(json!(1)));
    }
}
