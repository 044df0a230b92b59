//! What a round sends, in the order sent, with why and for how long.

use ratatui::style::Style;
use ratatui::text::Line;
use toolcrib::discovery::Why;

use super::looked::Looked;
use crate::console::figures;
use crate::console::grid::{self, Column};
use crate::console::theme::{Health, Theme};
use crate::text;

const COLUMNS: [Column; 7] = [
    Column::words("TOOL", 18, 0),
    Column::words("WHY", 8, 1),
    Column::words("SINCE", 8, 5),
    Column::words("LAST USED", 9, 3),
    Column::number("LEFT", 6, 2),
    Column::number("BYTES", 7, 1),
    Column::number("SHARE", 7, 4),
];

/// The cells of each column.
pub(super) fn widths(room: usize) -> Vec<usize> {
    grid::widths(&COLUMNS, room)
}

/// The line of heads.
pub(super) fn heads(widths: &[usize], theme: Theme) -> Line<'static> {
    grid::heads(&COLUMNS, widths, None, theme)
}

/// One tool, by its place in the order sent.
pub(super) fn line(looked: &Looked, at: usize, widths: &[usize], theme: Theme) -> Line<'static> {
    let visible = &looked.record().visible;
    let Some(sent) = visible.sent.get(at) else {
        return Line::default();
    };
    let none = || theme.none().to_owned();
    let round = |number: u32| format!("round {number}");
    let entry = looked.entry(sent.name());
    let since = match sent.why {
        Why::Pooled => looked
            .since(sent.name())
            .map_or_else(|| "earlier".to_owned(), round),
        Why::Always | Why::Required => none(),
    };
    let (left, style) = match entry.and_then(|entry| looked.left(entry)) {
        Some((left, of)) => (format!("{left}/{of}"), leaving(left, theme)),
        None => (none(), Style::new()),
    };
    let whole = visible
        .budget
        .map_or(visible.bytes, |budget| budget.max_bytes);
    let cells = [
        (
            text::clean_name(sent.name(), theme.marks).into_owned(),
            theme.strong(),
        ),
        (sent.why.as_str().to_owned(), Style::new()),
        (since, Style::new()),
        (
            entry.map_or_else(none, |entry| round(entry.last_used)),
            Style::new(),
        ),
        (left, style),
        (figures::count(sent.bytes() as u64), Style::new()),
        (
            figures::percent(sent.bytes() as u64, whole as u64, theme),
            theme.dim(),
        ),
    ];
    grid::line(&COLUMNS, widths, cells, theme)
}

/// The style of the rounds that are left to an entry.
pub(super) fn leaving(left: u32, theme: Theme) -> Style {
    match left {
        0 => theme.health(Health::Warning),
        _ => Style::new(),
    }
}
