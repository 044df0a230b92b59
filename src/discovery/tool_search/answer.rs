//! What one search answers (rules 7.2 and 7.3).

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::tool::{Part, ToolResult};

/// Why a hit is not exposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedReason {
    /// In the pool, but it loses the budget of the next round.
    VisibleBudget,
    /// The pool refused it (rule 6.2).
    OverBudget,
    /// Its definition could not be loaded.
    LoadFailed,
}

impl FailedReason {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VisibleBudget => "visible_budget",
            Self::OverBudget => "over_budget",
            Self::LoadFailed => "load_failed",
        }
    }
}

/// A hit that the next round sends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExposedHit {
    /// The tool.
    pub name: Arc<str>,
    /// What it does.
    pub description: String,
    /// Its score, rounded to four places.
    #[serde(serialize_with = "rounded")]
    pub score: f64,
}

/// A hit that the next round does not send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedHit {
    /// The tool.
    pub name: Arc<str>,
    /// Why.
    pub reason: FailedReason,
    /// The size of its definition.
    pub bytes: usize,
}

/// The answer of one search. A hit is never in both lists; both keep the order of rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchAnswer {
    /// The query as written.
    pub query: Arc<str>,
    /// How many hits were asked for, before that was lowered to the pool; not part of the answer.
    #[serde(skip)]
    pub asked: usize,
    /// The hits that the next round sends.
    pub exposed: Vec<ExposedHit>,
    /// The other hits.
    pub failed: Vec<FailedHit>,
    /// What left the pool to make room for hits of this search.
    pub evicted: Vec<Arc<str>>,
    /// All hits in the order of rank; not part of the answer's JSON.
    #[serde(skip)]
    pub ranked: Vec<Arc<str>>,
}

impl SearchAnswer {
    /// The answer as the model gets it: one data part.
    pub fn to_result(&self) -> ToolResult {
        // Strings and numbers alone cannot fail to serialize.
        ToolResult::ok(vec![Part::json(
            serde_json::to_value(self).unwrap_or_default(),
        )])
    }
}

/// Four decimals: enough to compare, and the same on every machine.
fn rounded<S: Serializer>(score: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((score * 1e4).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_lists_are_present_and_ranked_is_not_part_of_the_answer() {
        let answer = SearchAnswer {
            query: "q".into(),
            asked: 8,
            exposed: Vec::new(),
            failed: Vec::new(),
            evicted: Vec::new(),
            ranked: vec!["a".into()],
        };
        let expected = json!({"query": "q", "exposed": [], "failed": [], "evicted": []});
        assert_eq!(answer.to_result().parts, [Part::json(expected)]);
    }

    #[test]
    fn hits_have_the_fixed_fields() {
        let answer = SearchAnswer {
            query: "q".into(),
            asked: 8,
            exposed: vec![ExposedHit {
                name: "a".into(),
                description: "d".into(),
                score: 1.234_567,
            }],
            failed: vec![FailedHit {
                name: "b".into(),
                reason: FailedReason::VisibleBudget,
                bytes: 7,
            }],
            evicted: vec!["c".into()],
            ranked: Vec::new(),
        };
        assert_eq!(
            serde_json::to_value(answer).unwrap(),
            json!({
                "query": "q",
                "exposed": [{"name": "a", "description": "d", "score": 1.2346}],
                "failed": [{"name": "b", "reason": "visible_budget", "bytes": 7}],
                "evicted": ["c"],
            })
        );
    }
}
