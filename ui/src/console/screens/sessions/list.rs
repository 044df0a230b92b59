//! The list of sessions: order, filter and table.

use std::cmp::Ordering;
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::Line;
use toolcrib::observe::Snapshot;
use toolcrib::session::{PlayState, SessionRow, SessionStatus};

use super::head::gauge;
use crate::console::figures;
use crate::console::grid::{self, Column};
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};

/// What the list can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// When it was opened.
    #[default]
    Opened,
    Name,
    Round,
    Budget,
    Active,
    Warnings,
}

impl Sort {
    const ALL: [Self; 6] = [
        Self::Opened,
        Self::Name,
        Self::Round,
        Self::Budget,
        Self::Active,
        Self::Warnings,
    ];

    /// The next one, round the end.
    pub(super) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self);
        at.and_then(|at| Self::ALL.get(at + 1))
            .copied()
            .unwrap_or_default()
    }

    fn descends(self) -> bool {
        matches!(self, Self::Round | Self::Budget | Self::Warnings)
    }

    /// The column that shows it; the order of opening is in none.
    fn column(self) -> Option<usize> {
        match self {
            Self::Opened => None,
            Self::Name => Some(1),
            Self::Round => Some(4),
            Self::Budget => Some(7),
            Self::Active => Some(9),
            Self::Warnings => Some(10),
        }
    }

    /// What it is called in the title of the list.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Name => "name",
            Self::Round => "round",
            Self::Budget => "budget",
            Self::Active => "activity",
            Self::Warnings => "warnings",
        }
    }
}

/// The rows that the filter leaves, in their order, by their place in the snapshot. Words are part
/// of a name, a kind or a state.
pub(super) fn order(snapshot: &Snapshot, filter: &str, sort: Sort, inverted: bool) -> Vec<usize> {
    let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
    let holds = |row: &SessionRow| {
        let name = row.name.to_lowercase();
        words.iter().all(|word| {
            name.contains(word.as_str())
                || row.kind.as_str().starts_with(word.as_str())
                || row.status.as_str().starts_with(word.as_str())
        })
    };
    let sessions = &snapshot.sessions;
    let mut rows: Vec<usize> = (0..sessions.len())
        .filter(|at| holds(&sessions[*at]))
        .collect();
    let descending = sort.descends() != inverted;
    rows.sort_by(|a, b| {
        let (a, b) = (&sessions[*a], &sessions[*b]);
        let order = compare(a, b, sort);
        let order = if descending { order.reverse() } else { order };
        order.then_with(|| a.id.cmp(&b.id))
    });
    rows
}

fn compare(a: &SessionRow, b: &SessionRow, sort: Sort) -> Ordering {
    match sort {
        Sort::Opened => a.id.cmp(&b.id),
        Sort::Name => a.name.cmp(&b.name),
        Sort::Round => a.round().cmp(&b.round()),
        Sort::Budget => percent(a).cmp(&percent(b)),
        // The one in which something happened last comes first.
        Sort::Active => b.active.at.cmp(&a.active.at),
        Sort::Warnings => a.warnings.len().cmp(&b.warnings.len()),
    }
}

/// How full the visible set is; `None` when dynamic injection is off.
fn percent(row: &SessionRow) -> Option<usize> {
    row.budget_use().map(|used| used.percent())
}

const COLUMNS: [Column; 11] = [
    Column {
        fills: false,
        ..Column::words("", 1, 0)
    },
    Column::words("NAME", 12, 0),
    Column::words("KIND", 8, 6),
    Column::words("STATE", 8, 2),
    Column::number("ROUND", 5, 1),
    Column::number("DEFS", 6, 4),
    Column::number("SENT", 9, 5),
    Column::words("BUDGET", 11, 1),
    Column::number("POOL", 6, 3),
    Column::number("ACTIVE", 9, 2),
    Column::number("WARN", 4, 1),
];

/// The cells of each column.
pub(super) fn widths(room: usize) -> Vec<usize> {
    grid::widths(&COLUMNS, room)
}

/// The line of heads.
pub(super) fn heads(widths: &[usize], sort: Sort, inverted: bool, theme: Theme) -> Line<'static> {
    let descending = sort.descends() != inverted;
    let sorted = sort.column().map(|at| (at, descending));
    grid::heads(&COLUMNS, widths, sorted, theme)
}

/// How well a session is.
pub(super) fn health(row: &SessionRow) -> Health {
    let missed = row.play.as_ref().is_some_and(|play| play.results().1 > 0);
    match &row.play {
        Some(play) if matches!(play.state, PlayState::Failed { .. }) || missed => Health::Bad,
        _ if row.status == SessionStatus::Ended => Health::Off,
        _ if !row.warnings.is_empty() => Health::Warning,
        _ if row.status == SessionStatus::Running => Health::Busy,
        _ => Health::Good,
    }
}

/// The state of a session in a word: that of its scenario, where it plays one.
pub(super) fn state_word(row: &SessionRow) -> &'static str {
    match (&row.play, row.status) {
        (_, SessionStatus::Ended) => "ended",
        (Some(play), SessionStatus::Open) => play.state.as_str(),
        (_, status) => status.as_str(),
    }
}

/// One row.
pub(super) fn line(row: &Arc<SessionRow>, shared: &Shared, widths: &[usize]) -> Line<'static> {
    let theme = shared.theme;
    let health = health(row);
    let visible = &row.current.visible;
    let none = || theme.none().to_owned();
    let (defs, sent, budget, style) = match (row.round(), row.budget_use()) {
        (0, _) => (none(), none(), none(), Style::new()),
        (_, None) => (
            visible.sent.len().to_string(),
            figures::bytes(visible.bytes as u64),
            "no bounds".to_owned(),
            theme.dim(),
        ),
        (_, Some(used)) => {
            let percent = used.percent();
            (
                format!("{}/{}", used.definitions, used.max_definitions),
                figures::bytes(used.bytes as u64),
                format!("{} {percent:>3} %", gauge(percent, 100, 5, theme)),
                fullness(percent, theme),
            )
        }
    };
    let pool = &row.current.pool;
    let pool = match pool.bounds {
        Some(bounds) => format!("{}/{}", pool.entries.len(), bounds.max_tools),
        None => none(),
    };
    let warnings = row.warnings.len();
    let warned = match warnings {
        0 => theme.dim(),
        _ => theme.health(Health::Warning),
    };
    let cells = [
        (theme.mark(health).to_owned(), theme.health(health)),
        (row.name.to_string(), theme.strong()),
        (row.kind.as_str().to_owned(), Style::new()),
        (state_word(row).to_owned(), theme.health(health)),
        (
            match row.round() {
                0 => none(),
                round => round.to_string(),
            },
            Style::new(),
        ),
        (defs, Style::new()),
        (sent, Style::new()),
        (budget, style),
        (pool, Style::new()),
        (figures::age(row.active.age(shared.now().at)), Style::new()),
        (
            match warnings {
                0 => none(),
                count => count.to_string(),
            },
            warned,
        ),
    ];
    grid::line(&COLUMNS, widths, cells, theme)
}

/// The style of a share of a budget.
pub(super) fn fullness(percent: usize, theme: Theme) -> Style {
    match percent {
        0..90 => theme.bar(),
        _ => theme.health(Health::Warning),
    }
}
