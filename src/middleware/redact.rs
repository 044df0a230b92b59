//! `redact`: replaces what patterns match in text parts and in strings inside data parts
//! (rule 9.8). It stands inside `result_limit`, so that a cut never splits what has to be hidden.

use std::borrow::Cow;
use std::sync::Arc;

use futures::future::BoxFuture;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::counter::Count;
use super::live::Live;
use super::settings::{MiddlewareSettings, RedactSettings};
use super::{Counter, Middleware, Next, Request, Span, absent};
use crate::tool::{Part, ToolResult};

/// The patterns, applied one after the other. The replacement is taken as it is written; a match
/// of nothing is left alone.
#[derive(Debug)]
pub struct Redactor {
    patterns: Vec<Regex>,
    replacement: String,
}

impl Redactor {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// A sentence about the first that does not compile; the deployment file rules that out.
    pub fn new(settings: &RedactSettings) -> Result<Self, String> {
        let patterns = settings.patterns.iter().map(|pattern| {
            Regex::new(pattern).map_err(|error| format!("pattern `{pattern}`: {error}"))
        });
        Ok(Self {
            patterns: patterns.collect::<Result<_, _>>()?,
            replacement: settings.replacement.clone(),
        })
    }

    /// The text without what the patterns match, and how many matches there were.
    pub fn text<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        let mut matches = 0;
        let mut redacted = Cow::Borrowed(text);
        for pattern in &self.patterns {
            let mut out = String::new();
            let mut end = 0;
            for found in pattern.find_iter(&redacted).filter(|m| !m.is_empty()) {
                out.push_str(&redacted[end..found.start()]);
                out.push_str(&self.replacement);
                end = found.end();
                matches += 1;
            }
            if end > 0 {
                out.push_str(&redacted[end..]);
                redacted = Cow::Owned(out);
            }
        }
        (redacted, matches)
    }

    /// Redacts every string of the value in place, keys included; gives the number of matches.
    /// Keys that become equal are told apart by a number.
    pub fn json(&self, value: &mut Value) -> usize {
        match value {
            Value::String(text) => {
                let (redacted, matches) = self.text(text);
                if matches > 0 {
                    *text = redacted.into_owned();
                }
                matches
            }
            Value::Array(items) => items.iter_mut().map(|item| self.json(item)).sum(),
            Value::Object(map) => {
                let inside: usize = map.values_mut().map(|item| self.json(item)).sum();
                inside + self.keys(map)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    fn keys(&self, map: &mut Map<String, Value>) -> usize {
        let matches: usize = map.keys().map(|key| self.text(key).1).sum();
        if matches > 0 {
            for (key, item) in std::mem::take(map) {
                let redacted = self.text(&key).0.into_owned();
                let mut free = redacted.clone();
                let mut number = 2;
                while map.contains_key(&free) {
                    free = format!("{redacted} ({number})");
                    number += 1;
                }
                map.insert(free, item);
            }
        }
        matches
    }

    fn part(&self, part: &mut Part) -> usize {
        match part {
            Part::Text(text) => {
                let (redacted, matches) = self.text(text);
                if matches > 0 {
                    *text = redacted.into_owned();
                }
                matches
            }
            Part::Data { value, .. } => self.json(value),
            Part::Image { .. } | Part::Audio { .. } | Part::File { .. } => 0,
        }
    }
}

/// The redactor in force, shared with the audit so that new patterns act there as well.
pub(super) type SharedRedactor = Arc<Live<Redactor>>;

/// The layer.
#[derive(Debug)]
pub struct Redact {
    redactor: SharedRedactor,
    matches: Count,
    results: Count,
}

impl Redact {
    /// A layer with this redactor.
    pub fn new(redactor: Redactor) -> Self {
        Self::shared(Arc::new(Live::new(redactor)))
    }

    pub(super) fn shared(redactor: SharedRedactor) -> Self {
        Self {
            redactor,
            matches: Count::default(),
            results: Count::default(),
        }
    }

    fn apply(&self, mut result: ToolResult, span: &Span) -> ToolResult {
        let redactor = self.redactor.get();
        let size = |parts: &[Part]| parts.iter().map(Part::encoded_len).sum();
        let before = size(&result.parts);
        let matches: usize = result
            .parts
            .iter_mut()
            .map(|part| redactor.part(part))
            .sum();
        if matches > 0 {
            self.matches.many(matches);
            self.results.one();
            span.resized(before, size(&result.parts));
            span.note("redacted");
        }
        result
    }
}

impl Middleware for Redact {
    fn name(&self) -> &'static str {
        "redact"
    }

    fn settings(&self) -> Value {
        let redactor = self.redactor.get();
        let patterns: Vec<_> = redactor.patterns.iter().map(Regex::as_str).collect();
        json!({"patterns": patterns, "replacement": redactor.replacement})
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            self.results.shown_as("results_redacted"),
            self.matches.shown_as("matches"),
        ]
    }

    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let redact = settings.redact.as_ref().ok_or_else(|| absent("redact"))?;
        self.redactor.set(Redactor::new(redact)?);
        Ok(())
    }

    fn complete(&self, _: &str, result: ToolResult, span: &Span) -> ToolResult {
        self.apply(result, span)
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let span = request.span();
        Box::pin(async move { self.apply(next.run(request).await, &span) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::{Chain, Endpoint};
    use crate::registry::Catalog;
    use crate::tool::{Call, ErrorKind};

    fn redactor(patterns: &[&str]) -> Redactor {
        Redactor::new(&RedactSettings {
            patterns: patterns.iter().map(|p| (*p).to_owned()).collect(),
            replacement: "[$1]".into(),
        })
        .unwrap()
    }

    #[test]
    fn patterns_act_one_after_the_other_and_the_replacement_is_literal() {
        for (claim, patterns, text, expected, matches) in [
            ("nothing matches", &["x+"][..], "abc", "abc", 0),
            ("all matches", &[r"\d+"], "a1b22", "a[$1]b[$1]", 2),
            ("a group is no reference", &[r"k=(\w+)"], "k=v", "[$1]", 1),
            ("in turn", &["ab", r"\[\$1\]c"], "abcab", "[$1][$1]", 3),
            ("empty matches", &["z*", r"\b"], "a b", "a b", 0),
            ("wide characters", &["秘密"], "a秘密b", "a[$1]b", 1),
            ("at both ends", &["^a|z$"], "abz", "[$1]b[$1]", 2),
        ] {
            let redactor = redactor(patterns);
            assert_eq!(redactor.text(text), (expected.into(), matches), "{claim}");
        }
    }

    #[test]
    fn every_string_inside_a_value_is_redacted_keys_too_and_none_is_lost() {
        let mut value = json!({"a@b": 1, "n": ["x@y", 2, {"k": "c@d e"}], "c@d": true, "z": null});
        assert_eq!(redactor(&[r"\w@\w"]).json(&mut value), 4);
        let expected =
            json!({"[$1]": 1, "n": ["[$1]", 2, {"k": "[$1] e"}], "[$1] (2)": true, "z": null});
        assert_eq!(value.to_string(), expected.to_string(), "order is kept");
    }

    #[test]
    fn a_pattern_that_does_not_compile_is_named() {
        let settings = RedactSettings {
            patterns: vec!["ok".into(), "(".into()],
            replacement: String::new(),
        };
        let error = Redactor::new(&settings).unwrap_err();
        assert!(error.starts_with("pattern `(`: "), "{error}");
    }

    struct Gives;

    impl Endpoint for Gives {
        fn finish(&self, _: Request) -> BoxFuture<'_, ToolResult> {
            let file = Part::File {
                uri: "file:///s3cret".into(),
                media_type: None,
                name: None,
            };
            let mut result = ToolResult::error(ErrorKind::Tool, "no s3cret here");
            result.parts.extend([Part::json(json!(["s3cret"])), file]);
            Box::pin(async move { result })
        }
    }

    #[tokio::test]
    async fn errors_and_data_are_redacted_and_references_stay() {
        let chain = Chain::new(vec![Arc::new(Redact::new(redactor(&["s.cret"])))]);
        let request = Request::new(Call::new("t", json!({})), Arc::new(Catalog::default()));
        let trace = request.trace();
        let result = chain.run(request, &Gives).await;
        assert_eq!(result.parts[0], Part::Text("no [$1] here".into()));
        assert_eq!(result.parts[1], Part::json(json!(["[$1]"])));
        assert_eq!(result.parts[2].encoded_len(), 38);
        assert_eq!(result.error_kind, Some(ErrorKind::Tool));
        let values: Vec<_> = chain.status()[0].counters.iter().map(|c| c.value).collect();
        assert_eq!(values, [1, 2]);
        let bytes = result.parts.iter().map(Part::encoded_len).sum();
        let span = trace.spans(bytes)[0];
        assert_eq!(span.bytes_before, Some(bytes + 4));
    }
}
