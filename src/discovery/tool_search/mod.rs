//! The tool `tool_search`: its definition and its arguments (rule 7.1), and in the modules below
//! what a search plans and answers. Loading lazy hits lies between plan and answer and is done by
//! the driver of the session.

mod answer;
mod plan;

use serde_json::{Map, Value, json};

pub use answer::{ExposedHit, FailedHit, FailedReason, SearchAnswer};
pub use plan::{Load, PlannedHit, SearchPlan};

use super::TOOL_SEARCH;
use crate::tool::{Definition, InvalidDefinition};

/// How many hits a search gives when it does not say.
pub const DEFAULT_LIMIT: usize = 8;

/// What the model reads. It asks for one capability per call, verb and object: that is worth more
/// than any ranking.
const DESCRIPTION: &str = "Find tools that are not in your list yet. Describe ONE capability per \
call as verb and object, for example \"read file\" or \"create calendar event\"; leave out paths, \
names and values. For several capabilities make several calls in one reply. The tools under \
`exposed` can be called from your next reply on.";

/// The definition of `tool_search`. The schema states neither bounds nor `additionalProperties`.
///
/// # Errors
/// Never in practice: name and schema are fixed.
pub fn definition() -> Result<Definition, InvalidDefinition> {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "The capability: verb and object.",
            },
            "limit": {
                "type": "integer",
                "description": "Most tools to expose, 8 by default.",
            },
        },
        "required": ["query"],
    });
    Definition::new(TOOL_SEARCH, DESCRIPTION, schema)
}

/// The checked arguments of one search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchArguments {
    /// What is looked for, as written.
    pub query: String,
    /// How many hits at most.
    pub limit: usize,
    /// The same before it was lowered to the pool.
    pub asked: usize,
}

impl SearchArguments {
    /// Checks the arguments. A limit above `max_tools` is lowered to it, zero or a negative one
    /// means the default; unknown arguments are ignored (rule 7.1).
    ///
    /// # Errors
    /// A sentence for a `validation` result.
    pub fn parse(arguments: &Map<String, Value>, max_tools: usize) -> Result<Self, String> {
        let query = match arguments.get("query") {
            None => return Err("`query` is missing: say what you look for".into()),
            Some(Value::String(query)) if query.trim().is_empty() => {
                return Err("`query` is blank: say what you look for".into());
            }
            Some(Value::String(query)) => query.clone(),
            Some(other) => return Err(format!("`query` must be a string, not {other}")),
        };
        let asked = match arguments.get("limit") {
            None => DEFAULT_LIMIT,
            Some(value) => limit_of(value)
                .ok_or_else(|| format!("`limit` must be an integer, not {value}"))?
                .unwrap_or(DEFAULT_LIMIT),
        };
        Ok(Self {
            query,
            limit: asked.min(max_tools),
            asked,
        })
    }
}

/// The limit that a value states: `None` when it is no integer, `Some(None)` when it means the
/// default. `3.0` is an integer, as JSON Schema has it.
fn limit_of(value: &Value) -> Option<Option<usize>> {
    if let Some(limit) = value.as_u64() {
        return Some(usize::try_from(limit).ok().filter(|limit| *limit > 0));
    }
    if value.is_i64() {
        return Some(None);
    }
    let limit = value.as_f64().filter(|limit| limit.fract() == 0.0)?;
    // Saturates, which is as good as any other limit that is far too large.
    Some((limit >= 1.0).then_some(limit as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: Value) -> Result<(String, usize), String> {
        let arguments = arguments.as_object().cloned().unwrap();
        SearchArguments::parse(&arguments, 20).map(|a| (a.query, a.limit))
    }

    #[test]
    fn the_limit_has_a_default_and_is_lowered_to_the_pool() {
        for (claim, limit, expected) in [
            ("zero", json!(0), 8),
            ("negative", json!(-3), 8),
            ("far below zero", json!(i64::MIN), 8),
            ("as said", json!(3), 3),
            ("a whole float", json!(3.0), 3),
            ("a negative float", json!(-3.0), 8),
            ("too large", json!(21), 20),
            ("far too large", json!(u64::MAX), 20),
            ("beyond integers", json!(1e300), 20),
        ] {
            let parsed = parse(json!({"query": "q", "limit": limit}));
            assert_eq!(parsed, Ok(("q".into(), expected)), "{claim}");
        }
        assert_eq!(parse(json!({"query": "q"})), Ok(("q".into(), 8)));
        let small = json!({"query": "q"}).as_object().cloned().unwrap();
        assert_eq!(SearchArguments::parse(&small, 2).unwrap().limit, 2);
    }

    #[test]
    fn anything_else_wrong_is_refused_and_unknown_arguments_are_ignored() {
        for arguments in [
            json!({}),
            json!({"query": ""}),
            json!({"query": " \n"}),
            json!({"query": 3}),
            json!({"query": null}),
            json!({"query": "q", "limit": "3"}),
            json!({"query": "q", "limit": 2.5}),
            json!({"query": "q", "limit": null}),
            json!({"query": "q", "limit": [1]}),
        ] {
            assert!(parse(arguments.clone()).is_err(), "{arguments}");
        }
        assert!(parse(json!({"query": "q", "verbose": true})).is_ok());
    }

    #[test]
    fn the_schema_states_neither_bound_nor_additional_properties() {
        let schema = definition().unwrap().input_schema().to_string();
        for word in ["minimum", "maximum", "additionalProperties", "minLength"] {
            assert!(!schema.contains(word), "{word}");
        }
    }
}
