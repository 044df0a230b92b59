//! The template language of skill files: `{{.name}}` and `{{env:NAME}}`, nothing else (skills 5.1
//! and 5.2). Pure; expanded exactly once, a value is never expanded again.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it stands.
    Text(String),
    /// `{{.a.b}}`: the way to an argument, at least one name.
    Argument(Vec<String>),
    /// `{{env:NAME}}`: a variable.
    Env(String),
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// How many characters stand before the offending `{{`.
    pub offset: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// A variable that a template needs is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable `{0}` is not set")]
pub struct UnsetVariable(pub String);

/// Looks variables up.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Template {
    /// Parses a text.
    ///
    /// # Errors
    /// At anything in `{{ }}` that is neither form, and at a `{{` that is never closed.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            let offset = || text[..text.len() - rest.len() + open].chars().count();
            let inside = &rest[open + 2..];
            let Some(close) = inside.find("}}") else {
                return Err(TemplateError {
                    offset: offset(),
                    message: "`{{` is never closed; write `{{.name}}` or `{{env:NAME}}`".into(),
                });
            };
            let piece = placeholder(inside[..close].trim()).ok_or_else(|| TemplateError {
                offset: offset(),
                message: format!(
                    "`{{{{{}}}}}` is no placeholder; write `{{{{.name}}}}` for an argument or \
                     `{{{{env:NAME}}}}` for a variable",
                    &inside[..close]
                ),
            })?;
            if open > 0 {
                pieces.push(Piece::Text(rest[..open].to_owned()));
            }
            pieces.push(piece);
            rest = &inside[close + 2..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self { pieces })
    }

    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The arguments it uses, in order, repeated ones too.
    pub fn arguments(&self) -> impl Iterator<Item = &[String]> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Argument(path) => Some(path.as_slice()),
            _ => None,
        })
    }

    /// The variables it uses, in order, repeated ones too.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Env(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The only piece, if there is just one.
    pub fn single(&self) -> Option<&Piece> {
        match self.pieces.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The text with every placeholder replaced; null and missing arguments are empty.
    ///
    /// # Errors
    /// When a variable is not set.
    pub fn expand(
        &self,
        arguments: &Map<String, Value>,
        variables: Variables<'_>,
    ) -> Result<String, UnsetVariable> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Argument(path) => {
                    let value = argument(arguments, path).and_then(as_text);
                    text.push_str(value.as_deref().unwrap_or_default());
                }
                Piece::Env(name) => text.push_str(&variable(variables, name)?),
            }
        }
        Ok(text)
    }
}

/// The text that it was read from, with its placeholders in one form.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Argument(path) => write!(f, "{{{{.{}}}}}", path.join("."))?,
                Piece::Env(name) => write!(f, "{{{{env:{name}}}}}")?,
            }
        }
        Ok(())
    }
}

/// The value of a variable.
///
/// # Errors
/// When it is not set.
pub(super) fn variable(variables: Variables<'_>, name: &str) -> Result<String, UnsetVariable> {
    variables(name).ok_or_else(|| UnsetVariable(name.to_owned()))
}

/// The argument at the end of a path.
pub(super) fn argument<'v>(
    arguments: &'v Map<String, Value>,
    path: &[String],
) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(arguments.get(first)?, |value, name| value.get(name))
}

/// A value as text; `None` for null (skills 5.2).
pub(super) fn as_text(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => return None,
        Value::String(text) => Cow::Borrowed(text),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Number(number) => Cow::Owned(match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.to_string(),
            (_, Some(whole)) => whole.to_string(),
            // `Display` of a float is its shortest decimal form and never has an exponent.
            _ => number
                .as_f64()
                .map_or_else(|| number.to_string(), |float| float.to_string()),
        }),
        Value::Array(_) | Value::Object(_) => Cow::Owned(sorted(value).to_string()),
    })
}

/// The value with the keys of every object sorted.
fn sorted(value: &Value) -> Value {
    let mut value = value.clone();
    value.sort_all_objects();
    value
}

fn placeholder(inside: &str) -> Option<Piece> {
    if let Some(name) = inside.strip_prefix("env:") {
        let name = name.trim();
        let mut chars = name.chars();
        let starts = chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        return (starts && goes_on).then(|| Piece::Env(name.to_owned()));
    }
    let path: Vec<String> = inside
        .strip_prefix('.')?
        .split('.')
        .map(ToOwned::to_owned)
        .collect();
    let is_name = |name: &String| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    };
    path.iter().all(is_name).then_some(Piece::Argument(path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn expand(text: &str, arguments: Value) -> String {
        let arguments = arguments.as_object().cloned().unwrap();
        let variables = |name: &str| (name == "TOK").then(|| "sekret".to_owned());
        match Template::parse(text)
            .unwrap()
            .expand(&arguments, &variables)
        {
            Ok(text) => text,
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn values_are_written_as_the_rule_says() {
        for (claim, template, arguments, expected) in [
            ("a string", "a{{.s}}b", json!({"s": "x y"}), "ax yb"),
            ("spaces inside", "{{ .i }}", json!({"i": 5}), "5"),
            (
                "every digit",
                "{{.i}}",
                json!({"i": i64::MIN}),
                "-9223372036854775808",
            ),
            (
                "unsigned",
                "{{.i}}",
                json!({"i": u64::MAX}),
                "18446744073709551615",
            ),
            ("a float", "{{.f}}", json!({"f": 1.5}), "1.5"),
            ("a whole float", "{{.f}}", json!({"f": 2.0}), "2"),
            (
                "no exponent",
                "{{.f}}",
                json!({"f": 1e21}),
                "1000000000000000000000",
            ),
            ("a small float", "{{.f}}", json!({"f": 1e-7}), "0.0000001"),
            ("a boolean", "{{.b}}", json!({"b": false}), "false"),
            ("null", "[{{.n}}]", json!({"n": null}), "[]"),
            ("missing", "[{{.n}}]", json!({}), "[]"),
            ("a list", "{{.l}}", json!({"l": ["a", 1]}), r#"["a",1]"#),
            (
                "sorted keys",
                "{{.o}}",
                json!({"o": {"b": {"d": 1, "c": 2}, "a": "x"}}),
                r#"{"a":"x","b":{"c":2,"d":1}}"#,
            ),
            ("nested", "{{.a.b}}", json!({"a": {"b": 7}}), "7"),
            ("nested in nothing", "[{{.a.b}}]", json!({"a": 3}), "[]"),
            ("a variable", "k={{env:TOK}}", json!({}), "k=sekret"),
            (
                "once only",
                "{{.e}}",
                json!({"e": "{{env:TOK}}"}),
                "{{env:TOK}}",
            ),
            ("single braces", "{a} }} {", json!({}), "{a} }} {"),
            (
                "unset",
                "{{env:NOPE}}",
                json!({}),
                "error: the environment variable `NOPE` is not set",
            ),
        ] {
            assert_eq!(expand(template, arguments), expected, "{claim}");
        }
    }

    #[test]
    fn anything_else_in_braces_is_an_error_with_its_place() {
        for (text, offset) in [
            ("ä{{name}}", 1),
            ("{{}}", 0),
            ("{{.}}", 0),
            ("{{.a..b}}", 0),
            ("{{.a b}}", 0),
            ("{{env:}}", 0),
            ("{{env:A-B}}", 0),
            ("{{env:1A}}", 0),
            ("{{.ok}} {{.a|upper}}", 8),
            ("x {{.open", 2),
            ("{{if .x}}", 0),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert_eq!(error.offset, offset, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[{}.a:env ä]{0,24}") {
            let _ = Template::parse(&text);
        }

        #[test]
        fn what_is_printed_parses_to_the_same(text in "([{}.a: ä]|\\{\\{ ?\\.a\\.b \\}\\}|\\{\\{env: ?A\\}\\}){0,12}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(Template::parse(&template.to_string()), Ok(template));
            }
        }

        #[test]
        fn a_value_comes_out_as_it_went_in(value in "\\PC*") {
            prop_assert_eq!(expand("<{{.v}}>", json!({"v": value.clone()})), format!("<{value}>"));
        }
    }
}
