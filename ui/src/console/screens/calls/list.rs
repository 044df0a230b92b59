//! Which calls are shown, in which order. Worked out when something changed, never while drawing.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use toolcrib::observe::{CallRecord, RunningRow, Snapshot};
use toolcrib::tool::CallId;

/// What the list can be sorted by, in the order of the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Time,
    Tool,
    Outcome,
    Took,
    Bytes,
    Session,
}

impl Sort {
    pub(super) const ALL: [Self; 6] = [
        Self::Time,
        Self::Tool,
        Self::Outcome,
        Self::Took,
        Self::Bytes,
        Self::Session,
    ];

    /// The next one, round the end.
    pub(super) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self);
        at.and_then(|at| Self::ALL.get(at + 1))
            .copied()
            .unwrap_or_default()
    }

    /// Whether large values come first until the operator inverts it.
    pub(super) fn descends(self) -> bool {
        matches!(self, Self::Time | Self::Took | Self::Bytes)
    }
}

/// Where a row's facts are found in the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// In `running`.
    Running(usize),
    /// In `history`.
    Ended(usize),
}

/// A row of the snapshot, seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen<'s> {
    Running(&'s RunningRow),
    Ended(&'s Arc<CallRecord>),
}

impl At {
    /// The row that stands there.
    pub(super) fn of(self, snapshot: &Snapshot) -> Option<Seen<'_>> {
        match self {
            Self::Running(number) => snapshot.running.get(number).map(Seen::Running),
            Self::Ended(number) => snapshot.history.get(number).map(Seen::Ended),
        }
    }
}

impl<'s> Seen<'s> {
    pub(super) fn id(self) -> &'s CallId {
        match self {
            Self::Running(row) => &row.id,
            Self::Ended(record) => &record.id,
        }
    }

    pub(super) fn tool(self) -> &'s Arc<str> {
        match self {
            Self::Running(row) => &row.tool,
            Self::Ended(record) => &record.tool,
        }
    }

    pub(super) fn session(self) -> Option<&'s str> {
        match self {
            Self::Running(row) => row.session.as_deref(),
            Self::Ended(record) => record.session.as_deref(),
        }
    }

    /// `running`, `ok` or the kind of failure.
    pub(super) fn outcome(self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::Ended(record) => record.error_kind.map_or("ok", |kind| kind.as_str()),
        }
    }

    fn started(self) -> tokio::time::Instant {
        match self {
            Self::Running(row) => row.started.at,
            Self::Ended(record) => record.started.at,
        }
    }

    fn took(self) -> Duration {
        match self {
            // Still growing, so the longest of all.
            Self::Running(_) => Duration::MAX,
            Self::Ended(record) => record.duration,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Running(_) => 0,
            Self::Ended(record) => record.bytes_out,
        }
    }
}

/// The shown rows in their order.
pub(super) fn order(
    snapshot: &Snapshot,
    filter: &str,
    sort: Sort,
    inverted: bool,
) -> Vec<(CallId, At)> {
    let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
    let running = (0..snapshot.running.len()).map(At::Running);
    let ended = (0..snapshot.history.len()).map(At::Ended);
    let mut rows: Vec<(Seen<'_>, At)> = running
        .chain(ended)
        .filter_map(|at| Some((at.of(snapshot)?, at)))
        .filter(|(row, _)| words.iter().all(|word| holds(*row, word)))
        .collect();
    let descending = sort.descends() != inverted;
    rows.sort_by(|(a, _), (b, _)| {
        let order = compare(*a, *b, sort);
        let order = if descending { order.reverse() } else { order };
        // Among equals the newest comes first.
        order.then_with(|| b.started().cmp(&a.started()))
    });
    rows.into_iter()
        .map(|(row, at)| (row.id().clone(), at))
        .collect()
}

fn compare(a: Seen<'_>, b: Seen<'_>, sort: Sort) -> Ordering {
    match sort {
        Sort::Time => a.started().cmp(&b.started()),
        Sort::Tool => a.tool().cmp(b.tool()),
        Sort::Outcome => rank(a).cmp(&rank(b)),
        Sort::Took => a.took().cmp(&b.took()),
        Sort::Bytes => a.bytes().cmp(&b.bytes()),
        Sort::Session => a.session().cmp(&b.session()),
    }
}

/// What runs first, then what failed by kind, then what went well.
fn rank(row: Seen<'_>) -> (u8, &'static str) {
    let outcome = row.outcome();
    match outcome {
        "running" => (0, outcome),
        "ok" => (2, outcome),
        _ => (1, outcome),
    }
}

/// One word of the filter: `outcome:timeout`, `outcome:error`, `tool:…`, `session:…`, `owner:…`,
/// or part of the tool's name, the outcome, the id or the session.
fn holds(row: Seen<'_>, word: &str) -> bool {
    let part = |text: &str, part: &str| text.to_lowercase().contains(part);
    let outcome = row.outcome();
    match word.split_once(':') {
        Some(("outcome" | "is", "error" | "failed")) => !matches!(outcome, "ok" | "running"),
        Some(("outcome" | "is", rest)) => outcome.starts_with(rest),
        Some(("tool", rest)) => part(row.tool(), rest),
        Some(("session", rest)) => row.session().is_some_and(|name| part(name, rest)),
        Some(("owner", rest)) => match row {
            Seen::Ended(record) => record.owner.as_ref().is_some_and(|name| part(name, rest)),
            Seen::Running(_) => false,
        },
        _ => {
            part(row.tool(), word)
                || outcome.starts_with(word)
                || row.id().as_str() == word
                || row.session().is_some_and(|name| part(name, word))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::fixture;

    fn ids(filter: &str, sort: Sort, inverted: bool) -> Vec<String> {
        order(&fixture::normal(), filter, sort, inverted)
            .into_iter()
            .map(|(id, _)| id.to_string())
            .collect()
    }

    #[test]
    fn the_newest_call_stands_first_and_running_ones_among_them_by_their_start() {
        let ids = ids("", Sort::Time, false);
        assert_eq!(
            &ids[..7],
            &[
                "call-0", "call-1", "call-2", "call-3", "call-4", "call-5", "call-901"
            ]
        );
    }

    #[test]
    fn each_filter_leaves_what_it_says() {
        let table = [
            ("everything", "", 41),
            ("failures", "outcome:error", 2),
            ("a kind", "timeout", 1),
            ("running", "is:running", 1),
            ("a tool", "tool:SLOW", 7),
            ("an owner", "owner:web", 10),
            ("an id", "call-7", 1),
            ("two words", "slow running", 1),
            ("nothing", "session:x", 0),
        ];
        for (name, filter, count) in table {
            let found = ids(filter, Sort::Time, false);
            assert_eq!(found.len(), count, "{name}: {found:?}");
        }
    }

    #[test]
    fn what_runs_and_what_failed_comes_before_what_went_well() {
        let ids = ids("", Sort::Outcome, false);
        assert_eq!(&ids[..3], &["call-901", "call-0", "call-1"]);
    }
}
