//! The arguments of a call as they are typed: JSON, a file, stdin, or pairs that take their type
//! from the tool's schema.

use std::io::Read as _;

use serde_json::{Map, Number, Value};

use super::Failure;

/// What was typed, before the tool's schema is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    base: Value,
    pairs: Vec<(String, String)>,
}

impl Typed {
    /// Reads the text, file or stdin that was named.
    ///
    /// # Errors
    /// When it cannot be read, or is neither blank nor JSON.
    pub(crate) fn read(text: Option<&str>, pairs: &[(String, String)]) -> Result<Self, Failure> {
        let base = match text {
            None => Value::Object(Map::new()),
            Some("-") => {
                let mut text = String::new();
                let read = std::io::stdin().lock().read_to_string(&mut text);
                read.map_err(|error| unreadable("stdin", &error))?;
                parse("stdin", &text)?
            }
            Some(text) => match text.strip_prefix('@') {
                Some(file) => {
                    let what = format!("`{file}`");
                    let text = std::fs::read_to_string(file);
                    parse(&what, &text.map_err(|error| unreadable(&what, &error))?)?
                }
                None => parse("the arguments", text)?,
            },
        };
        let mut seen: Vec<&str> = Vec::new();
        for (key, _) in pairs {
            if seen.contains(&key.as_str()) {
                return Err(Failure::Usage(format!(
                    "`--arg {key}=…` is given twice; a list is written as JSON: \
                     `--arg '{key}=[\"a\", \"b\"]'`"
                )));
            }
            seen.push(key);
        }
        Ok(Self {
            base,
            pairs: pairs.to_vec(),
        })
    }

    /// Whether the schema decides anything.
    pub(crate) fn needs_schema(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The arguments, each pair in the type that the schema names if its text parses as that. A
    /// pair wins over the same key in the JSON. What is no object stays as it is: the call answers
    /// that (rule 1.2).
    pub(crate) fn under(&self, schema: Option<&Value>) -> Value {
        if self.pairs.is_empty() {
            return self.base.clone();
        }
        let mut map = match &self.base {
            Value::Object(map) => map.clone(),
            Value::Null => Map::new(),
            Value::String(text) if text.trim().is_empty() => Map::new(),
            other => return other.clone(),
        };
        for (key, text) in &self.pairs {
            let types = schema.map_or_else(Vec::new, |schema| {
                let property = schema.get("properties").and_then(|all| all.get(key));
                property.map_or_else(Vec::new, |property| types(property, schema, DEEPEST))
            });
            map.insert(key.clone(), value(text, &types));
        }
        Value::Object(map)
    }
}

fn parse(what: &str, text: &str) -> Result<Value, Failure> {
    // Blank text means no arguments (rule 1.2).
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text).map_err(|error| {
        Failure::Usage(format!(
            "{what} must be JSON: {error}; write an object like `{{\"key\": \"value\"}}`, or use \
             `--arg key=value`"
        ))
    })
}

fn unreadable(what: &str, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("cannot read the arguments from {what}: {error}"))
}

/// How many references and alternatives are followed; a schema that refers to itself ends there.
const DEEPEST: usize = 8;

/// The types that a schema names, through alternatives and references within it.
fn types<'s>(schema: &'s Value, root: &'s Value, left: usize) -> Vec<&'s str> {
    let Some(left) = left.checked_sub(1) else {
        return Vec::new();
    };
    match schema.get("type") {
        Some(Value::String(name)) => return vec![name],
        Some(Value::Array(names)) => return names.iter().filter_map(Value::as_str).collect(),
        _ => {}
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(pointer) = reference.and_then(|reference| reference.strip_prefix('#')) {
        return root
            .pointer(pointer)
            .map_or_else(Vec::new, |target| types(target, root, left));
    }
    ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten()
        .flat_map(|alternative| types(alternative, root, left))
        .collect()
}

/// A string, unless the types have no string among them and one of them takes the text.
fn value(text: &str, types: &[&str]) -> Value {
    let string = || Value::String(text.to_owned());
    if types.contains(&"string") {
        return string();
    }
    let Ok(parsed) = serde_json::from_str::<Value>(text) else {
        return string();
    };
    let fits = types.iter().find_map(|name| match (*name, &parsed) {
        ("integer", Value::Number(number)) => whole(number).map(Value::Number),
        ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null)
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => Some(parsed.clone()),
        _ => None,
    });
    fits.unwrap_or_else(string)
}

/// The number as a whole one; `2.0` is one too, and `1e3` is 1000.
fn whole(number: &Number) -> Option<Number> {
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    // Up to here every whole number has an exact place among the floats.
    let exact = float.abs() <= 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
    Some(if exact {
        Number::from(float as i64)
    } else {
        number.clone()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "share": {"type": "number"},
                "flag": {"type": "boolean"},
                "list": {"type": "array"},
                "map": {"type": "object"},
                "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "either": {"type": ["integer", "string"]},
                "referred": {"$ref": "#/$defs/count"},
                "loop": {"$ref": "#/properties/loop"},
                "free": {},
            },
            "$defs": {"count": {"type": "integer"}},
        })
    }

    #[test]
    fn a_pair_takes_the_type_of_the_schema_if_its_text_parses_as_that_and_is_a_string_otherwise() {
        let rows = [
            ("text", "5", json!("5")),
            ("count", "5", json!(5)),
            ("count", "-5", json!(-5)),
            ("count", "5.0", json!(5)),
            (
                "count",
                "18446744073709551615",
                json!(18_446_744_073_709_551_615_u64),
            ),
            ("count", "5.5", json!("5.5")),
            ("count", "five", json!("five")),
            ("count", "true", json!("true")),
            ("share", "0.5", json!(0.5)),
            ("share", "1", json!(1)),
            ("flag", "true", json!(true)),
            ("flag", "yes", json!("yes")),
            ("list", "[1, 2]", json!([1, 2])),
            ("list", "1,2", json!("1,2")),
            ("map", r#"{"a": 1}"#, json!({"a": 1})),
            ("map", "[1]", json!("[1]")),
            ("maybe", "7", json!(7)),
            ("maybe", "null", json!(null)),
            ("either", "7", json!("7")),
            ("referred", "7", json!(7)),
            ("loop", "7", json!("7")),
            ("free", "7", json!("7")),
            ("unknown", "7", json!("7")),
        ];
        for (key, text, expected) in rows {
            let typed = Typed::read(None, &[(key.into(), text.into())]).unwrap();
            let arguments = typed.under(Some(&schema()));
            assert_eq!(arguments, json!({key: expected}), "{key}={text}");
        }
    }

    #[test]
    fn a_pair_wins_over_the_same_key_and_without_a_schema_it_is_a_string() {
        let pairs = [("count".to_owned(), "2".to_owned())];
        let typed = Typed::read(Some(r#"{"count": 1, "other": 1}"#), &pairs).unwrap();
        assert_eq!(
            typed.under(Some(&schema())),
            json!({"count": 2, "other": 1})
        );
        assert_eq!(typed.under(None), json!({"count": "2", "other": 1}));
    }

    #[test]
    fn blank_text_means_no_arguments_and_what_is_no_object_is_left_for_the_call_to_refuse() {
        let read =
            |text, pairs: &[(String, String)]| Typed::read(Some(text), pairs).unwrap().under(None);
        assert_eq!(read("  \n", &[]), json!({}));
        assert_eq!(read("null", &[]), json!(null));
        assert_eq!(read("[1]", &[]), json!([1]));
        let pairs = [("a".to_owned(), "b".to_owned())];
        assert_eq!(read("[1]", &pairs), json!([1]));
        assert_eq!(read("null", &pairs), json!({"a": "b"}));
    }

    #[test]
    fn what_cannot_be_read_or_is_no_json_is_a_matter_of_usage() {
        let pair = ("a".to_owned(), "1".to_owned());
        let rows: [(&str, Option<&str>, &[(String, String)], &str); 3] = [
            ("no JSON", Some("{a: 1}"), &[], "the arguments must be JSON"),
            (
                "no file",
                Some("@/nowhere/x.json"),
                &[],
                "from `/nowhere/x.json`",
            ),
            (
                "a key twice",
                None,
                &[pair.clone(), pair],
                "`--arg a=…` is given twice",
            ),
        ];
        for (name, text, pairs, words) in rows {
            let failure = Typed::read(text, pairs).unwrap_err();
            assert_eq!(failure.code(), 2, "{name}");
            assert!(failure.to_string().contains(words), "{name}: {failure}");
        }
    }
}
