//! What is wrong with arguments, one sentence per fault with its JSON pointer.

use std::fmt::Write as _;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

/// Most faults that are told; the rest is counted.
const TOLD: usize = 20;

/// Longest sentence about one fault: a fault quotes the value, which may be anything.
const SENTENCE: usize = 240;

/// All faults in one text, or `None` when there are none.
pub(super) fn describe(
    tool: &str,
    validator: &Validator,
    arguments: &Map<String, Value>,
) -> Option<String> {
    let arguments = Value::Object(arguments.clone());
    if validator.is_valid(&arguments) {
        return None;
    }
    let faults: Vec<String> = validator
        .iter_errors(&arguments)
        .flat_map(|error| sentences(&error))
        .collect();
    let mut text = format!("the arguments of `{tool}` do not fit its input schema: ");
    let told = faults.len().min(TOLD);
    text.push_str(&faults[..told].join("; "));
    if faults.len() > told {
        // Writing to a string cannot fail.
        let _ = write!(text, "; and {} more", faults.len() - told);
    }
    Some(text)
}

/// A fault names the place that has to change: for a missing or unknown property that property.
fn sentences(error: &ValidationError<'_>) -> Vec<String> {
    let at = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![format!("`{}` is required but missing", below(at, name))]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| format!("`{}` is not a known property", below(at, name)))
            .collect(),
        _ => {
            let what = error.to_string();
            let place = match at {
                // The pointer to the whole document is the empty string.
                "" => "the arguments as a whole".to_owned(),
                _ => format!("`{at}`"),
            };
            vec![format!("{place}: {}", shortened(&what))]
        }
    }
}

/// The pointer to a property of the object at `parent` (RFC 6901).
fn below(parent: &str, name: &str) -> String {
    format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SENTENCE) {
        // The end says what was expected, the beginning what was found.
        Some(_) => {
            let half = SENTENCE / 2;
            let head: String = text.chars().take(half).collect();
            let length = text.chars().count();
            let tail: String = text.chars().skip(length - half).collect();
            format!("{head} … {tail}")
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(schema: Value, arguments: Value) -> Option<String> {
        let validator = jsonschema::options().build(&schema).unwrap();
        let text = describe("t", &validator, arguments.as_object().unwrap())?;
        let head = "the arguments of `t` do not fit its input schema: ";
        Some(text.strip_prefix(head).unwrap().to_owned())
    }

    #[test]
    fn each_fault_is_named_by_its_pointer() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "a/b~c": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "object", "required": ["k"]}},
            },
            "required": ["path"],
            "additionalProperties": false,
            "minProperties": 1,
        });
        for (claim, arguments, expected) in [
            ("fits", json!({"path": "x"}), None),
            (
                "type",
                json!({"path": 3}),
                Some(r#"`/path`: 3 is not of type "string""#),
            ),
            (
                "missing",
                json!({"a/b~c": 1}),
                Some("`/path` is required but missing"),
            ),
            (
                "unknown",
                json!({"path": "x", "y": 1, "z/": 2}),
                Some("`/y` is not a known property; `/z~1` is not a known property"),
            ),
            (
                "escaped",
                json!({"path": "x", "a/b~c": "1"}),
                Some(r#"`/a~1b~0c`: "1" is not of type "integer""#),
            ),
            (
                "deep",
                json!({"path": "x", "list": [{"k": 1}, {}]}),
                Some("`/list/1/k` is required but missing"),
            ),
        ] {
            assert_eq!(
                faults(schema.clone(), arguments).as_deref(),
                expected,
                "{claim}"
            );
        }
        assert_eq!(
            faults(json!({"minProperties": 1}), json!({})).unwrap(),
            "the arguments as a whole: {} has less than 1 property"
        );
    }

    #[test]
    fn faults_and_their_sentences_are_bounded() {
        let schema = json!({"additionalProperties": {"type": "integer"}});
        let arguments: Map<_, _> = (0..30).map(|n| (format!("k{n}"), json!("v"))).collect();
        let text = faults(schema.clone(), Value::Object(arguments)).unwrap();
        assert!(text.ends_with("; and 10 more"), "{text}");
        let text = faults(schema, json!({"k": "v".repeat(10_000)})).unwrap();
        assert!(
            text.len() < 300 && text.ends_with(r#"is not of type "integer""#),
            "{text}"
        );
    }
}
