//! `result_limit`: bounds what a result may hold, errors included (rules 9.4 and 9.5).

mod cut;
#[cfg(test)]
mod tests;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use self::cut::{Bounds, limit};
use super::counter::Count;
use super::live::Live;
use super::settings::{DEFAULT_MARKER, MiddlewareSettings};
use super::{Counter, Cut, Middleware, Next, Request, Span, absent};
use crate::discovery::TOOL_SEARCH;
use crate::secrets::Secrets;
use crate::tool::ToolResult;

/// The bounds as settings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    max: Option<usize>,
    marker: String,
    part_budget: Option<usize>,
}

impl Rule {
    /// `None` when nothing is bounded.
    fn of(settings: &MiddlewareSettings) -> Option<Self> {
        let part_budget = settings.part_budget();
        let rule = match &settings.result_limit {
            Some(limit) => Self {
                max: Some(limit.max),
                marker: limit.marker.clone(),
                part_budget,
            },
            None => Self {
                max: None,
                marker: DEFAULT_MARKER.to_owned(),
                part_budget,
            },
        };
        (rule.max.is_some() || rule.part_budget.is_some()).then_some(rule)
    }
}

/// The layer.
#[derive(Debug)]
pub struct ResultLimit {
    rule: Live<Rule>,
    secrets: Secrets,
    results: Count,
    kept_bytes: Count,
    cut_bytes: Count,
}

impl ResultLimit {
    /// The layer for these settings. It stands in the chain without `result_limit` as well, for
    /// the bound of non-text parts (rule 9.5); `None` when nothing at all is bounded.
    pub fn new(settings: &MiddlewareSettings) -> Option<Self> {
        Rule::of(settings).map(|rule| Self {
            rule: Live::new(rule),
            secrets: Secrets::default(),
            results: Count::default(),
            kept_bytes: Count::default(),
            cut_bytes: Count::default(),
        })
    }

    /// The layer for a deployment with these secrets: what a cut leaves of one is added to them,
    /// since whoever masks the result afterwards would not know half a secret as one.
    #[must_use]
    pub fn keeping(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    fn apply(&self, tool: &str, result: ToolResult, span: &Span) -> ToolResult {
        let rule = self.rule.get();
        let bounds = Bounds {
            max: rule.max,
            marker: &rule.marker,
            // The answer of a search is bounded by its `limit` instead (rule 7.4).
            part_budget: rule.part_budget.filter(|_| tool != TOOL_SEARCH),
        };
        let limited = limit(result.parts, bounds, &|text, at| {
            self.secrets.add_rest(text, at);
        });
        self.kept_bytes.many(limited.kept_bytes);
        self.cut_bytes.many(limited.cut_bytes);
        if let Some((before, after)) = limited.resized {
            self.results.one();
            span.resized(before, after);
            span.cut(Cut {
                kept: limited.kept_bytes,
                cut: limited.cut_bytes,
            });
            span.note("cut");
        }
        ToolResult {
            parts: limited.parts,
            truncated: result.truncated || limited.resized.is_some(),
            ..result
        }
    }
}

impl Middleware for ResultLimit {
    fn name(&self) -> &'static str {
        "result_limit"
    }

    fn settings(&self) -> Value {
        let rule = self.rule.get();
        json!({
            "max": rule.max,
            "marker": rule.marker,
            "part_budget_bytes": rule.part_budget.unwrap_or(0),
        })
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            self.results.shown_as("results_cut"),
            self.kept_bytes.shown_as("kept_bytes"),
            self.cut_bytes.shown_as("cut_bytes"),
        ]
    }

    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let rule = Rule::of(settings);
        self.rule.set(rule.ok_or_else(|| absent("result_limit"))?);
        Ok(())
    }

    fn complete(&self, tool: &str, result: ToolResult, span: &Span) -> ToolResult {
        self.apply(tool, result, span)
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let tool = request.call.tool.clone();
        let span = request.span();
        Box::pin(async move {
            let result = next.run(request).await;
            self.apply(&tool, result, &span)
        })
    }
}
