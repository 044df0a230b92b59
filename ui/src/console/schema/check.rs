//! Checks arguments against a tool's input schema. A schema that cannot be used is not the
//! operator's mistake: then there is nothing to check with, and that is said.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// How many faults are told; more would not help.
const FAULTS: usize = 50;

/// How much of a fault's text is kept: it quotes the offending value.
const CHARS: usize = 200;

/// Something wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// JSON pointer of the place; empty for the arguments as a whole.
    pub(crate) pointer: String,
    /// What is wrong.
    pub(crate) message: String,
}

impl Fault {
    /// A fault at a place.
    pub(crate) fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            message: message.into(),
        }
    }

    /// The name of the argument that it is about, if it is about one.
    pub(crate) fn argument(&self) -> Option<String> {
        let first = self.pointer.strip_prefix('/')?.split('/').next()?;
        Some(first.replace("~1", "/").replace("~0", "~"))
    }
}

/// A compiled schema, or the reason why there is none.
#[derive(Debug)]
pub(crate) struct Checker(Result<Validator, String>);

impl Checker {
    /// Compiles. Patterns run on an engine without backtracking, so that a hostile schema cannot
    /// stall a key press; references out of the document are refused.
    pub(crate) fn new(schema: &Value) -> Self {
        let built = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(schema);
        Self(built.map_err(|error| shortened(&error.to_string())))
    }

    /// Why arguments cannot be checked, if that is so.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    /// Everything wrong with the arguments; empty as well when they cannot be checked.
    pub(crate) fn faults(&self, arguments: &Value) -> Vec<Fault> {
        let Ok(validator) = &self.0 else {
            return Vec::new();
        };
        validator
            .iter_errors(arguments)
            .take(FAULTS)
            .map(|error| fault(&error))
            .collect()
    }
}

fn fault(error: &ValidationError<'_>) -> Fault {
    let place = error.instance_path().as_str().to_owned();
    match error.kind() {
        // The place of a missing property is its own, not that of the object it is missing from.
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let name = name.replace('~', "~0").replace('/', "~1");
            Fault::new(format!("{place}/{name}"), "is required")
        }
        _ => Fault::new(place, shortened(&error.to_string())),
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_name_their_places_and_a_missing_property_its_own() {
        let schema = json!({"type": "object", "required": ["a/b", "n"],
            "properties": {"n": {"type": "integer"}, "list": {"items": {"type": "string"}}}});
        let faults = Checker::new(&schema).faults(&json!({"n": "x", "list": ["a", 1]}));
        let mut places: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        places.sort_unstable();
        assert_eq!(places, ["/a~1b", "/list/1", "/n"]);
        let missing = faults.iter().find(|fault| fault.message == "is required");
        assert_eq!(missing.and_then(Fault::argument).as_deref(), Some("a/b"));
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_said_and_faults_nothing() {
        for (name, schema) in [
            ("broken", json!({"type": "object", "required": true})),
            ("foreign", json!({"$ref": "https://example.org/s.json"})),
            ("file", json!({"$ref": "file:///etc/passwd"})),
            (
                "look-around",
                json!({"properties": {"a": {"pattern": "(?=a)b"}}}),
            ),
            ("dialect", json!({"$schema": "https://example.org/none"})),
        ] {
            let checker = Checker::new(&schema);
            assert!(checker.trouble().is_some(), "{name}");
            assert_eq!(checker.faults(&json!({"a": 1})), [], "{name}");
        }
    }

    #[test]
    fn a_fault_that_quotes_a_huge_value_stays_short() {
        let schema = json!({"properties": {"a": {"type": "integer"}}});
        let faults = Checker::new(&schema).faults(&json!({"a": "x".repeat(100_000)}));
        assert!(faults[0].message.chars().count() <= CHARS + 1);
    }
}
