//! The sub-tabs beside what is sent: withheld, pool, ledger, searches, calls, scenario. Only the
//! lines in the window are made.

use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::discovery::PoolChange;
use toolcrib::discovery::session::CallEnd;
use toolcrib::session::SessionKind;

use super::head::gauge;
use super::looked::{Looked, cause_words};
use super::sent::leaving;
use crate::console::figures;
use crate::console::grid::{self, Column};
use crate::console::theme::{Health, Theme};
use crate::text::{self, Lines};

/// A sub-tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    Withheld,
    Pool,
    #[default]
    Ledger,
    Searches,
    Calls,
    Scenario,
}

impl Tab {
    pub(super) const ALL: [Self; 6] = [
        Self::Withheld,
        Self::Pool,
        Self::Ledger,
        Self::Searches,
        Self::Calls,
        Self::Scenario,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Withheld => "Withheld",
            Self::Pool => "Pool",
            Self::Ledger => "Ledger",
            Self::Searches => "Searches",
            Self::Calls => "Calls",
            Self::Scenario => "Scenario",
        }
    }

    /// Those that a session has.
    pub(super) fn of(looked: &Looked) -> &'static [Self] {
        match looked.row().kind {
            SessionKind::Scenario => &Self::ALL,
            _ => &Self::ALL[..5],
        }
    }

    /// Its neighbour, round the end.
    pub(super) fn step(self, looked: &Looked, forward: bool) -> Self {
        let all = Self::of(looked);
        let at = all.iter().position(|tab| *tab == self).unwrap_or(0);
        let next = match forward {
            true => at + 1,
            false => at + all.len() - 1,
        };
        all[next % all.len()]
    }

    /// What is said where it has no lines.
    pub(super) fn empty(self) -> &'static str {
        match self {
            Self::Withheld => "Nothing is withheld: all candidates fit in the budget.",
            Self::Pool => "The pool is empty: what tool_search finds or a call uses comes here.",
            Self::Ledger => "Nothing has come into the pool or left it.",
            Self::Searches => "Nobody has searched yet.",
            Self::Calls => "Nothing has been called yet.",
            Self::Scenario => "No round has been played yet: . plays one, p all of them.",
        }
    }
}

/// The identity of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A tool of the shown round, by name.
    Tool(Arc<str>),
    /// A line of the ledger or a call, by round and place.
    Line(u32, usize),
    /// Part of a search or of a played round, by round, place, and number of the part; 0 is the
    /// heading.
    Part(u32, usize, usize),
    /// The round that is played next.
    Next,
    /// What changed of a tool, by where it changed.
    Difference(usize, Arc<str>),
}

/// The lines of a sub-tab: their identities, and for tools their place in the record. Tools that
/// the filter does not hold are left out.
pub(super) fn keys(tab: Tab, looked: &Looked, holds: &dyn Fn(&str) -> bool) -> Vec<(Key, usize)> {
    let record = looked.record();
    match tab {
        Tab::Withheld => {
            let tools = record.visible.withheld.iter().enumerate();
            tools
                .filter(|(_, tool)| holds(&tool.name))
                .map(|(at, tool)| (Key::Tool(Arc::clone(&tool.name)), at))
                .collect()
        }
        Tab::Pool => {
            let entries = record.pool.entries.iter().enumerate();
            entries
                .filter(|(_, entry)| holds(&entry.name))
                .map(|(at, entry)| (Key::Tool(Arc::clone(&entry.name)), at))
                .collect()
        }
        Tab::Ledger => {
            let lines = looked.ledger().iter();
            lines
                .filter(|at| {
                    let line = looked.line(**at);
                    line.is_some_and(|line| holds(line.change.name()))
                })
                .map(|at| (Key::Line(at.0, at.1), 0))
                .collect()
        }
        Tab::Searches => {
            let searches = looked.searches().iter();
            searches
                .flat_map(|at| {
                    let parts = search(looked, at.0, at.1).map_or(0, |search| {
                        search.exposed.len() + search.failed.len() + search.evicted.len()
                    });
                    (0..=parts).map(|part| (Key::Part(at.0, at.1, part), 0))
                })
                .collect()
        }
        Tab::Calls => {
            let calls = looked.calls().iter();
            calls
                .filter(|at| {
                    let note = call(looked, at.0, at.1);
                    note.is_some_and(|note| holds(&note.tool))
                })
                .map(|at| (Key::Line(at.0, at.1), 0))
                .collect()
        }
        Tab::Scenario => scenario_keys(looked),
    }
}

fn scenario_keys(looked: &Looked) -> Vec<(Key, usize)> {
    let Some(play) = &looked.row().play else {
        return Vec::new();
    };
    let last = looked.record().round;
    let next = (last as usize == play.played.len() && play.played.len() < play.total)
        .then_some((Key::Next, 0));
    let rounds = play.played.iter().enumerate().rev();
    let rounds = rounds
        .filter(|(_, played)| played.round <= last)
        .flat_map(|(at, played)| {
            (0..=played.checks.len()).map(move |part| (Key::Part(played.round, at, part), 0))
        });
    next.into_iter().chain(rounds).collect()
}

fn search(
    looked: &Looked,
    round: u32,
    at: usize,
) -> Option<&toolcrib::discovery::tool_search::SearchAnswer> {
    looked.row().round_at(round)?.searches.get(at)
}

fn call(looked: &Looked, round: u32, at: usize) -> Option<&toolcrib::discovery::session::CallNote> {
    looked.row().round_at(round)?.calls.get(at)
}

/// The tool that a line is about, by its real name.
pub(super) fn tool_of<'l>(tab: Tab, looked: &'l Looked, key: &'l Key) -> Option<&'l Arc<str>> {
    match (tab, key) {
        (_, Key::Tool(name)) => Some(name),
        (Tab::Ledger, Key::Line(round, at)) => {
            looked.line((*round, *at)).map(|line| line.change.name())
        }
        (Tab::Calls, Key::Line(round, at)) => call(looked, *round, *at).map(|note| &note.tool),
        (Tab::Searches, Key::Part(round, at, part)) => {
            let search = search(looked, *round, *at)?;
            let part = part.checked_sub(1)?;
            let exposed = search.exposed.iter().map(|hit| &hit.name);
            let failed = search.failed.iter().map(|hit| &hit.name);
            exposed.chain(failed).chain(&search.evicted).nth(part)
        }
        _ => None,
    }
}

const WITHHELD: [Column; 5] = [
    Column::words("TOOL", 16, 0),
    Column::words("WHY", 8, 3),
    Column::words("REASON", 11, 1),
    Column::number("MISSING", 9, 2),
    Column::number("BYTES", 7, 4),
];

const POOL: [Column; 6] = [
    Column::words("TOOL", 16, 0),
    Column::words("SENT", 4, 2),
    Column::words("LAST USED", 9, 3),
    Column::words("BEFORE IT LEAVES", 16, 1),
    Column::number("RANK", 4, 5),
    Column::number("BYTES", 7, 4),
];

const LEDGER: [Column; 5] = [
    Column::number("ROUND", 5, 0),
    Column {
        fills: false,
        ..Column::words("", 1, 0)
    },
    Column {
        fills: false,
        ..Column::words("TOOL", 18, 0)
    },
    Column::words("WHAT", 9, 3),
    Column {
        fills: true,
        ..Column::words("BECAUSE", 10, 1)
    },
];

const CALLS: [Column; 4] = [
    Column::number("ROUND", 5, 0),
    Column::words("TOOL", 16, 0),
    Column::words("ENDED", 14, 1),
    Column::words("CALL", 16, 2),
];

/// The line of heads, where a sub-tab has columns.
pub(super) fn heads(tab: Tab, room: usize, theme: Theme) -> Option<Line<'static>> {
    let columns = columns(tab)?;
    let widths = grid::widths(columns, room);
    Some(grid::heads(columns, &widths, None, theme))
}

fn columns(tab: Tab) -> Option<&'static [Column]> {
    match tab {
        Tab::Withheld => Some(&WITHHELD),
        Tab::Pool => Some(&POOL),
        Tab::Ledger => Some(&LEDGER),
        Tab::Calls => Some(&CALLS),
        Tab::Searches | Tab::Scenario => None,
    }
}

/// One line.
pub(super) fn line(
    tab: Tab,
    looked: &Looked,
    key: &Key,
    at: usize,
    room: usize,
    theme: Theme,
) -> Line<'static> {
    let cells = match (tab, key) {
        (Tab::Withheld, _) => withheld(looked, at, theme),
        (Tab::Pool, _) => pool(looked, at, theme),
        (Tab::Ledger, Key::Line(round, at)) => ledger(looked, *round, *at, theme),
        (Tab::Calls, Key::Line(round, at)) => called(looked, *round, *at, theme),
        (Tab::Searches, Key::Part(round, at, part)) => {
            return searched(looked, *round, *at, *part, theme).unwrap_or_default();
        }
        (Tab::Scenario, key) => return played(looked, key, theme).unwrap_or_default(),
        _ => None,
    };
    match (columns(tab), cells) {
        (Some(columns), Some(cells)) => {
            grid::line(columns, &grid::widths(columns, room), cells, theme)
        }
        _ => Line::default(),
    }
}

type Cells = Vec<(String, Style)>;

fn name(name: &str, theme: Theme) -> (String, Style) {
    let shown = text::clean_name(name, theme.marks).into_owned();
    (shown, theme.strong())
}

fn withheld(looked: &Looked, at: usize, theme: Theme) -> Option<Cells> {
    let tool = looked.record().visible.withheld.get(at)?;
    let style = match tool.is_warning() {
        true => theme.health(Health::Warning),
        false => Style::new(),
    };
    let missing = match tool.missing_bytes {
        0 => "a place".to_owned(),
        bytes => figures::bytes(bytes as u64),
    };
    Some(vec![
        name(&tool.name, theme),
        (tool.why.as_str().to_owned(), style),
        (tool.reason.as_str().to_owned(), style),
        (missing, Style::new()),
        (figures::count(tool.bytes as u64), Style::new()),
    ])
}

fn pool(looked: &Looked, at: usize, theme: Theme) -> Option<Cells> {
    let record = looked.record();
    let entry = record.pool.entries.get(at)?;
    let sent = record.visible.contains(&entry.name);
    let (meter, style) = match looked.left(entry) {
        Some((left, of)) => {
            let bar = gauge(left as usize, of as usize, 8, theme);
            (format!("{bar} {left}/{of}"), leaving(left, theme))
        }
        None => (theme.none().to_owned(), Style::new()),
    };
    Some(vec![
        name(&entry.name, theme),
        (if sent { "yes" } else { "no" }.to_owned(), Style::new()),
        (format!("round {}", entry.last_used), Style::new()),
        (meter, style),
        (entry.rank.to_string(), Style::new()),
        (figures::count(entry.bytes as u64), Style::new()),
    ])
}

fn ledger(looked: &Looked, round: u32, at: usize, theme: Theme) -> Option<Cells> {
    let line = looked.line((round, at))?;
    let good = theme.health(Health::Good);
    let (sign, style, what) = match &line.change {
        PoolChange::Admitted(_) => ("+", good, "admitted".to_owned()),
        PoolChange::Refreshed(_) => (theme.pick("·", "."), theme.dim(), "refreshed".to_owned()),
        PoolChange::Resized { .. } => ("~", theme.health(Health::Warning), "resized".to_owned()),
        PoolChange::Evicted { reason, .. } => (
            theme.pick("−", "-"),
            theme.health(Health::Bad),
            reason.as_str().to_owned(),
        ),
    };
    let cause = cause_words(&line.cause, line.change.name());
    let because = match &line.change {
        PoolChange::Evicted { entry, .. } => {
            format!("{cause}, last used in round {}", entry.last_used)
        }
        PoolChange::Resized { from, bytes, .. } => format!("{from} to {bytes} bytes"),
        PoolChange::Admitted(_) | PoolChange::Refreshed(_) => cause,
    };
    let because = text::clean(&because, Lines::One, theme.marks).into_owned();
    Some(vec![
        (round.to_string(), theme.dim()),
        (sign.to_owned(), style),
        name(line.change.name(), theme),
        (what, style),
        (because, Style::new()),
    ])
}

fn called(looked: &Looked, round: u32, at: usize, theme: Theme) -> Option<Cells> {
    let note = call(looked, round, at)?;
    let bad = theme.health(Health::Bad);
    let (ended, style) = match note.end {
        CallEnd::Ok => ("ok", theme.health(Health::Good)),
        CallEnd::Error(kind) => (kind.as_str(), bad),
        CallEnd::UndefinedTool => ("undefined_tool", bad),
    };
    Some(vec![
        (round.to_string(), theme.dim()),
        name(&note.tool, theme),
        (ended.to_owned(), style),
        (
            text::clean_name(&note.id.to_string(), theme.marks).into_owned(),
            theme.dim(),
        ),
    ])
}

fn searched(
    looked: &Looked,
    round: u32,
    at: usize,
    part: usize,
    theme: Theme,
) -> Option<Line<'static>> {
    let search = search(looked, round, at)?;
    let Some(part) = part.checked_sub(1) else {
        let query = text::clean(&search.query, Lines::One, theme.marks);
        let (exposed, failed) = (search.exposed.len(), search.failed.len());
        return Some(Line::from(vec![
            Span::styled(format!("{round:>5} "), theme.dim()),
            Span::styled(format!("\"{query}\""), theme.strong()),
            Span::raw(match (exposed, failed) {
                (0, 0) => "  found nothing".to_owned(),
                (exposed, 0) => format!("  {exposed} exposed"),
                (exposed, failed) => format!("  {exposed} exposed, {failed} not"),
            }),
        ]));
    };
    let indent = Span::raw("      ");
    let cells = 28;
    let shown = |name: &str| {
        let name = text::clean_name(name, theme.marks);
        Span::raw(text::fit(&name, cells, theme.marks))
    };
    if let Some(hit) = search.exposed.get(part) {
        let style = theme.health(Health::Good);
        return Some(Line::from(vec![
            indent,
            Span::styled("+ ", style),
            shown(&hit.name),
            Span::styled(format!(" score {:.4}", hit.score), theme.dim()),
        ]));
    }
    let part = part - search.exposed.len();
    if let Some(hit) = search.failed.get(part) {
        let style = theme.health(Health::Bad);
        let bytes = figures::bytes(hit.bytes as u64);
        return Some(Line::from(vec![
            indent,
            Span::styled(format!("{} ", theme.mark(Health::Bad)), style),
            shown(&hit.name),
            Span::styled(format!(" {}", hit.reason.as_str()), style),
            Span::styled(format!(", {bytes}"), theme.dim()),
        ]));
    }
    let name = search.evicted.get(part - search.failed.len())?;
    Some(Line::from(vec![
        indent,
        Span::styled(
            format!("{} ", theme.pick("−", "-")),
            theme.health(Health::Warning),
        ),
        shown(name),
        Span::styled(" left to make room", theme.health(Health::Warning)),
    ]))
}

fn played(looked: &Looked, key: &Key, theme: Theme) -> Option<Line<'static>> {
    let play = looked.row().play.as_ref()?;
    let Key::Part(_, at, part) = key else {
        let round = play.played.len() + 1;
        let note = play
            .next_note
            .as_deref()
            .unwrap_or("a round without a note");
        return Some(Line::from(vec![
            Span::styled(format!("next, round {round}: "), theme.dim()),
            Span::styled(note.to_owned(), theme.dim()),
        ]));
    };
    let round = play.played.get(*at)?;
    let Some(part) = part.checked_sub(1) else {
        let note = match &round.note {
            Some(note) => Span::styled(note.to_string(), theme.strong()),
            None => Span::styled("no note", theme.dim()),
        };
        return Some(Line::from(vec![
            Span::styled(format!("round {:<3} ", round.round), theme.title()),
            note,
        ]));
    };
    let check = round.checks.get(part)?;
    let health = match check.met {
        true => Health::Good,
        false => Health::Bad,
    };
    let list = |names: &[String]| match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    };
    let words = match check.met {
        true => format!("{}: {}", check.what, list(&check.expected)),
        false => format!(
            "{}: expected {}, but it was {}",
            check.what,
            list(&check.expected),
            list(&check.actual)
        ),
    };
    Some(Line::from(vec![
        Span::styled(format!("  {} ", theme.mark(health)), theme.health(health)),
        Span::raw(words),
    ]))
}
