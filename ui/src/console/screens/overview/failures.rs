//! Which calls failed and why, the most frequent first. Pure.

use std::sync::Arc;

use toolcrib::observe::CallRecord;
use toolcrib::tool::ErrorKind;

use crate::text;

/// Failures of one kind at one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) kind: ErrorKind,
    pub(super) tool: Arc<str>,
    pub(super) count: usize,
    /// The first line of the newest one's text.
    pub(super) newest: String,
}

/// Groups the failures of the history, which is newest first.
pub(super) fn causes(history: &[Arc<CallRecord>]) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    for record in history {
        let Some(kind) = record.error_kind else {
            continue;
        };
        let known = causes
            .iter_mut()
            .find(|cause| cause.kind == kind && cause.tool == record.tool);
        match known {
            Some(cause) => cause.count += 1,
            None => causes.push(Cause {
                kind,
                tool: Arc::clone(&record.tool),
                count: 1,
                newest: text::one_line(record.error.as_deref().unwrap_or("")).into_owned(),
            }),
        }
    }
    // Stable: of equals the newer stays first.
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::fixture::call;

    #[test]
    fn failures_are_grouped_by_kind_and_tool_with_the_newest_words() {
        let record = |number, tool, kind| Arc::new(call(number, tool, number as u64, kind));
        let (timeout, tool) = (Some(ErrorKind::Timeout), Some(ErrorKind::Tool));
        let history = [
            record(1, "a", tool),
            record(2, "a", None),
            record(3, "b", timeout),
            record(4, "b", timeout),
            record(5, "b", tool),
        ];
        let found: Vec<_> = causes(&history)
            .into_iter()
            .map(|cause| {
                (
                    cause.kind,
                    cause.tool.to_string(),
                    cause.count,
                    cause.newest,
                )
            })
            .collect();
        let text = |kind: &str, number: u32| format!("{kind}: number {number} did not work");
        assert_eq!(
            found,
            [
                (ErrorKind::Timeout, "b".into(), 2, text("timeout", 3)),
                (ErrorKind::Tool, "a".into(), 1, text("tool", 1)),
                (ErrorKind::Tool, "b".into(), 1, text("tool", 5)),
            ]
        );
    }
}
