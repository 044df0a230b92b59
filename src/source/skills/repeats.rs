//! Counts equal calls within one session and keeps their last results (skills 5.9).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::tool::{ErrorKind, Part, ToolResult};

/// How many different calls are remembered, over all sessions; past that the one used longest ago
/// is forgotten and may run again.
const REMEMBERED: usize = 1_000;

/// Session, tool, what the tool does, arguments.
type Key = (Arc<str>, Arc<str>, u64, String);

/// The calls of all sessions. Outlives a reload of the files: what is written as it was counts on,
/// and a tool that does another thing now is another one.
#[derive(Default)]
pub(super) struct Repeats(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    calls: HashMap<Key, (u64, Arc<Repeated>)>,
    clock: u64,
}

/// One call and how often it has run. Held for as long as it runs, so that an equal call beside it
/// waits and then sees it counted.
pub(super) type Repeated = tokio::sync::Mutex<Count>;

/// How often a call has run.
#[derive(Default)]
pub(super) struct Count {
    runs: i64,
    last: Option<ToolResult>,
}

impl Repeats {
    /// The count of a call. `action` tells what the tool does from what it did before a reload.
    pub(super) fn of(
        &self,
        session: &Arc<str>,
        tool: &Arc<str>,
        action: u64,
        arguments: &Map<String, Value>,
    ) -> Arc<Repeated> {
        let mut sorted = Value::Object(arguments.clone());
        sorted.sort_all_objects();
        let key = (
            Arc::clone(session),
            Arc::clone(tool),
            action,
            sorted.to_string(),
        );
        let mut memory = self.0.lock();
        memory.clock += 1;
        let now = memory.clock;
        if let Some((used, count)) = memory.calls.get_mut(&key) {
            *used = now;
            return Arc::clone(count);
        }
        if memory.calls.len() >= REMEMBERED {
            let oldest = memory.calls.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                memory.calls.remove(&key);
            }
        }
        let count = Arc::default();
        memory.calls.insert(key, (now, Arc::clone(&count)));
        count
    }
}

impl Count {
    /// The last result, marked as a replay, if the call may not run again.
    pub(super) fn replay(&self, tool: &str, allowed: i64) -> Option<ToolResult> {
        if allowed < 0 || self.runs < allowed.max(1) {
            return None;
        }
        let mut result = self.last.clone()?;
        result.replayed = true;
        // What went wrong beside the run that did happen has been told with it.
        result.warnings.clear();
        result.parts.push(Part::Text(format!(
            "[replay: `{tool}` has run {} with these arguments in this session; this is its last \
             result]",
            match self.runs {
                1 => "once".to_owned(),
                runs => format!("{runs} times"),
            }
        )));
        Some(result)
    }

    /// Counts a run. One that came to nothing does not count: cancelled, nothing sent, or a server
    /// that was not there, which may be back the next time.
    pub(super) fn ran(&mut self, result: &ToolResult) {
        let came_to_nothing = matches!(
            result.error_kind,
            Some(ErrorKind::Cancelled | ErrorKind::NotAvailable | ErrorKind::Validation)
        );
        if !came_to_nothing {
            self.runs += 1;
            self.last = Some(result.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runs_until_replay(allowed: i64) -> usize {
        let mut count = Count::default();
        (0..10)
            .take_while(|_| {
                let replayed = count.replay("t", allowed).is_some();
                count.ran(&ToolResult::text("x"));
                !replayed
            })
            .count()
    }

    #[test]
    fn zero_and_one_allow_one_run_n_allows_n_and_minus_one_any() {
        for (allowed, runs) in [(0, 1), (1, 1), (3, 3), (-1, 10)] {
            assert_eq!(runs_until_replay(allowed), runs, "{allowed}");
        }
    }

    #[test]
    fn a_replay_is_marked_and_a_run_that_came_to_nothing_does_not_count() {
        let mut count = Count::default();
        for kind in [
            ErrorKind::Cancelled,
            ErrorKind::NotAvailable,
            ErrorKind::Validation,
        ] {
            count.ran(&ToolResult::error(kind, "gone"));
            assert_eq!(count.replay("t", 1), None, "{kind}");
        }
        let mut result = ToolResult::error(ErrorKind::Tool, "boom");
        result.warnings.push("not written".into());
        count.ran(&result);
        let replay = count.replay("t", 1).unwrap();
        assert!(replay.all_text().contains("[replay: `t` has run once"));
        assert!(replay.replayed && replay.warnings.is_empty());
        assert_eq!(replay.error_kind, Some(ErrorKind::Tool));
    }

    #[test]
    fn order_of_keys_does_not_matter_and_sessions_do_not_share() {
        let repeats = Repeats::default();
        let of = |session: &str, arguments: Value| {
            let arguments = arguments.as_object().cloned().unwrap();
            repeats.of(&session.into(), &"t".into(), 7, &arguments)
        };
        let first = of("a", json!({"x": 1, "y": 2}));
        assert!(Arc::ptr_eq(&first, &of("a", json!({"y": 2, "x": 1}))));
        assert!(!Arc::ptr_eq(&first, &of("b", json!({"x": 1, "y": 2}))));
        (0..REMEMBERED).for_each(|n| drop(of("a", json!({"n": n}))));
        assert!(!Arc::ptr_eq(&first, &of("a", json!({"x": 1, "y": 2}))));
    }
}
