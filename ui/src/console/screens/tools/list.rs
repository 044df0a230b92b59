//! Which tools are shown, in which order. Worked out when something changed, never while drawing.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use toolcrib::observe::{Snapshot, Tally, ToolRow};
use toolcrib::registry::Refusal;

/// What a row is about: a tool, or one that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A tool by its name.
    Tool(Arc<str>),
    /// A refused tool by its name and by who brought it.
    Refused(Arc<str>, Arc<str>),
}

/// What the list can be sorted by, in the order of the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Name,
    Owner,
    Exposure,
    Bytes,
    Calls,
    Errors,
    Latency,
    Marks,
}

impl Sort {
    pub(super) const ALL: [Self; 8] = [
        Self::Name,
        Self::Owner,
        Self::Exposure,
        Self::Bytes,
        Self::Calls,
        Self::Errors,
        Self::Latency,
        Self::Marks,
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
        !matches!(self, Self::Name | Self::Owner | Self::Exposure)
    }

    /// Whether the order changes with every call.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Calls | Self::Errors | Self::Latency)
    }
}

/// Where a row's facts are found in the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// In `tools`.
    Tool(usize),
    /// In `refusals`.
    Refusal(usize),
}

/// The marks of a tool, the most serious first: a letter for narrow lists, a word for the rest.
pub(super) fn marks(tool: &ToolRow) -> Vec<(char, &'static str)> {
    let mut marks = Vec::new();
    if tool.changed {
        marks.push(('C', "changed"));
    }
    if tool.exposure_overruled.is_some() {
        marks.push(('E', "exposure changed"));
    }
    if tool.hints.destructive == Some(true) {
        marks.push(('D', "destructive"));
    }
    if tool.placeholder {
        marks.push(('L', "lazy"));
    }
    if tool.hints.read_only == Some(true) {
        marks.push(('R', "read-only"));
    }
    marks
}

/// The shown rows in their order.
pub(super) fn order(
    snapshot: &Snapshot,
    filter: &str,
    sort: Sort,
    inverted: bool,
) -> Vec<(Key, At)> {
    let filter = Filter::new(filter);
    let mut rows: Vec<At> = (0..snapshot.tools.len())
        .map(At::Tool)
        .chain((0..snapshot.refusals.len()).map(At::Refusal))
        .filter(|at| filter.holds(snapshot, *at))
        .collect();
    let descending = sort.descends() != inverted;
    rows.sort_by(|a, b| {
        let order = compare(snapshot, *a, *b, sort);
        let order = if descending { order.reverse() } else { order };
        order
            .then_with(|| name(snapshot, *a).cmp(name(snapshot, *b)))
            .then_with(|| matches!(a, At::Refusal(_)).cmp(&matches!(b, At::Refusal(_))))
    });
    rows.into_iter()
        .filter_map(|at| Some((key(snapshot, at)?, at)))
        .collect()
}

fn key(snapshot: &Snapshot, at: At) -> Option<Key> {
    Some(match at {
        At::Tool(number) => Key::Tool(snapshot.tools.get(number)?.definition.shared_name()),
        At::Refusal(number) => {
            let refusal = snapshot.refusals.get(number)?;
            Key::Refused(
                Arc::clone(&refusal.name),
                refusal.refused.to_string().into(),
            )
        }
    })
}

fn name(snapshot: &Snapshot, at: At) -> &str {
    match at {
        At::Tool(number) => snapshot.tools[number].definition.name(),
        At::Refusal(number) => &snapshot.refusals[number].name,
    }
}

fn compare(snapshot: &Snapshot, a: At, b: At, sort: Sort) -> Ordering {
    let tally = |at: At, of: fn(&Tally) -> u64| -> u64 {
        match at {
            At::Tool(number) => snapshot
                .stats
                .tools
                .get(snapshot.tools[number].definition.name())
                .map_or(0, of),
            At::Refusal(_) => 0,
        }
    };
    let tool = |at: At| match at {
        At::Tool(number) => Some(&snapshot.tools[number]),
        At::Refusal(_) => None,
    };
    let owner = |at: At| match at {
        At::Tool(number) => &snapshot.tools[number].owner,
        At::Refusal(number) => &snapshot.refusals[number].refused,
    };
    match sort {
        Sort::Name => name(snapshot, a).cmp(name(snapshot, b)),
        Sort::Owner => {
            let of = |at| {
                let owner = owner(at);
                (&*owner.source, owner.server.as_deref())
            };
            of(a).cmp(&of(b))
        }
        Sort::Exposure => {
            let of = |at| tool(at).map(|tool| tool.exposure.as_str());
            of(a).cmp(&of(b))
        }
        Sort::Bytes => {
            let of = |at| tool(at).map_or(0, |tool| tool.bytes);
            of(a).cmp(&of(b))
        }
        Sort::Calls => tally(a, |tally| tally.calls).cmp(&tally(b, |tally| tally.calls)),
        Sort::Errors => tally(a, |tally| tally.errors).cmp(&tally(b, |tally| tally.errors)),
        Sort::Latency => {
            let of = |at| tally(at, |tally| micros(tally.latency.p95));
            of(a).cmp(&of(b))
        }
        Sort::Marks => {
            // Refused first, then what has the more serious marks.
            let of = |at: At| match tool(at) {
                None => 16,
                Some(tool) => marks(tool)
                    .iter()
                    .map(|(letter, _)| match letter {
                        'C' => 8,
                        'D' => 4,
                        'L' => 2,
                        _ => 1,
                    })
                    .sum(),
            };
            of(a).cmp(&of(b))
        }
    }
}

fn micros(value: Duration) -> u64 {
    u64::try_from(value.as_micros()).unwrap_or(u64::MAX)
}

/// Words that all have to hold: `source:web`, `server:git`, `exposure:hidden`, `is:changed`, or
/// part of the name, the title or the owner.
struct Filter {
    words: Vec<String>,
}

impl Filter {
    fn new(text: &str) -> Self {
        Self {
            words: text.split_whitespace().map(str::to_lowercase).collect(),
        }
    }

    fn holds(&self, snapshot: &Snapshot, at: At) -> bool {
        self.words.iter().all(|word| match at {
            At::Tool(number) => tool_holds(&snapshot.tools[number], word),
            At::Refusal(number) => refusal_holds(&snapshot.refusals[number], word),
        })
    }
}

fn tool_holds(tool: &ToolRow, word: &str) -> bool {
    match word.split_once(':') {
        Some(("source", rest)) => holds(&tool.owner.source, rest),
        Some(("server", rest)) => tool
            .owner
            .server
            .as_ref()
            .is_some_and(|name| holds(name, rest)),
        Some(("exposure", rest)) => tool.exposure.as_str().starts_with(rest),
        Some(("is", rest)) => marks(tool).iter().any(|(_, mark)| mark.starts_with(rest)),
        _ => {
            holds(tool.definition.name(), word)
                || tool.title.as_ref().is_some_and(|title| holds(title, word))
                || holds(&tool.owner.source, word)
                || tool
                    .owner
                    .server
                    .as_ref()
                    .is_some_and(|name| holds(name, word))
        }
    }
}

fn refusal_holds(refusal: &Refusal, word: &str) -> bool {
    let refused = &refusal.refused;
    match word.split_once(':') {
        Some(("source", rest)) => holds(&refused.source, rest),
        Some(("server", rest)) => refused
            .server
            .as_ref()
            .is_some_and(|name| holds(name, rest)),
        Some(("exposure", _)) => false,
        Some(("is", rest)) => "refused".starts_with(rest),
        _ => holds(&refusal.name, word) || holds(&refused.to_string(), word),
    }
}

/// Whether the text holds the word, which is in lower case, in any case. The usual name is ASCII
/// and is compared without copying it: ten thousand of them are looked at per key.
fn holds(text: &str, word: &str) -> bool {
    if word.is_empty() {
        return true;
    }
    if text.is_ascii() {
        return text
            .as_bytes()
            .windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    }
    text.to_lowercase().contains(word)
}

#[cfg(test)]
mod tests {
    use toolcrib::registry::Owner;

    use super::*;
    use crate::console::fixture;

    fn snapshot() -> Snapshot {
        let mut all = Snapshot::clone(&fixture::normal());
        let mut tools = all.tools.to_vec();
        tools[0].changed = true;
        tools[1].hints.destructive = Some(true);
        all.tools = tools.into();
        all.refusals = vec![Refusal {
            name: "files__list".into(),
            refused: Owner::source("late", 9),
            holder: all.tools[0].owner.clone(),
        }]
        .into();
        all
    }

    fn names(snapshot: &Snapshot, filter: &str, sort: Sort, inverted: bool) -> Vec<String> {
        order(snapshot, filter, sort, inverted)
            .into_iter()
            .map(|(key, _)| match key {
                Key::Tool(name) => name.to_string(),
                Key::Refused(name, by) => format!("{name} of {by}"),
            })
            .collect()
    }

    #[test]
    fn each_filter_leaves_what_it_says() {
        let all = snapshot();
        let table = [
            ("everything", "", 8),
            ("part of a name", "FETCH", 1),
            ("an owner", "web", 2),
            ("a source", "source:sim", 2),
            ("a server", "server:files", 3),
            ("an exposure", "exposure:always", 7),
            ("a mark", "is:changed", 1),
            ("the refused", "is:refused", 1),
            ("two words", "files read", 1),
            ("two words that one refusal holds", "late list", 1),
            ("nothing", "nothing-like-it", 0),
        ];
        for (name, filter, count) in table {
            let found = names(&all, filter, Sort::Name, false);
            assert_eq!(found.len(), count, "{name}: {found:?}");
        }
    }

    #[test]
    fn a_refused_tool_stands_below_the_one_that_holds_its_name() {
        let all = snapshot();
        assert_eq!(
            names(&all, "list", Sort::Name, false),
            ["files__list", "files__list of late"]
        );
        assert_eq!(
            names(&all, "", Sort::Marks, false)[0],
            "files__list of late"
        );
    }

    #[test]
    fn every_sort_keeps_all_rows_and_inverting_turns_it_round() {
        let all = snapshot();
        for sort in Sort::ALL {
            let mut one = names(&all, "", sort, false);
            let mut other = names(&all, "", sort, true);
            one.sort();
            other.sort();
            assert_eq!(one, other, "{sort:?}");
        }
        assert_eq!(names(&all, "", Sort::Calls, false)[0], "web__search");
    }
}
