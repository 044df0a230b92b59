//! What waits for an approval, and the list of calls whose way can be looked at. Pure.

use std::sync::Arc;
use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::middleware::PendingApproval;
use toolcrib::observe::CallRecord;

use super::{age_cell, plot};
use crate::console::figures;
use crate::console::grid::Column;
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text::{Lines, clean, clean_name, truncate};

/// The columns of what waits.
pub(super) const COLUMNS: [Column; 4] = [
    Column::words("TOOL", 16, 0),
    Column::number("LEFT", 9, 1),
    Column::number("ASKED", 10, 2),
    Column::words("SESSION", 14, 3),
];

/// The columns of the calls.
pub(super) const CALL_COLUMNS: [Column; 6] = [
    Column::words("", 1, 1),
    Column::words("TOOL", 16, 0),
    Column::words("OUTCOME", 13, 3),
    Column::number("TOOK", 10, 2),
    Column::number("QUEUE", 9, 4),
    Column::number("AGE", 10, 5),
];

/// The identity of a question as a key of the list.
pub(super) fn key(asked: &PendingApproval) -> Arc<str> {
    asked.id.to_string().into()
}

/// The cells of a question.
pub(super) fn cells(asked: &PendingApproval, shared: &Shared) -> Vec<(String, Style)> {
    let theme = shared.theme;
    let now = shared.real_now().at;
    let left = asked.left_at(now);
    let style = match left {
        Some(left) if left < Duration::from_secs(10) => theme.health(Health::Bad),
        _ => theme.health(Health::Warning),
    };
    let none = || theme.none().to_owned();
    let name = |text: &Arc<str>| clean_name(text, theme.marks).into_owned();
    vec![
        (name(&asked.tool), theme.text()),
        (left.map_or_else(none, figures::age), style),
        (
            format!("{} ago", figures::age(asked.asked.age(now))),
            theme.text(),
        ),
        (asked.session.as_ref().map_or_else(none, name), theme.text()),
    ]
}

/// The evidence of a question: what would run, and how long there is to say so.
pub(super) fn evidence(
    asked: &PendingApproval,
    shared: &Shared,
    width: usize,
) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let name = |text: &str| clean_name(text, theme.marks).into_owned();
    let fact = |label: &str, value: String| {
        Line::from(vec![
            Span::styled(format!("{label:<9}"), theme.dim()),
            Span::raw(value),
        ])
    };
    let now = shared.real_now().at;
    let mark = theme.mark(Health::Warning);
    let left = match asked.left_at(now) {
        Some(left) => format!("{mark} waits; denied in {}", figures::age(left)),
        None => format!("{mark} waits; nothing bounds how long"),
    };
    let mut lines = vec![
        Line::styled(left, theme.health(Health::Warning)),
        fact("tool", name(&asked.tool)),
        fact("call", name(asked.call_id.as_str())),
    ];
    lines.extend(
        asked
            .session
            .as_ref()
            .map(|session| fact("session", name(session))),
    );
    let rows = shared.snapshot();
    let row = rows
        .tools
        .iter()
        .find(|tool| tool.definition.name() == &*asked.tool);
    if let Some(row) = row {
        let about = clean(row.definition.description(), Lines::One, theme.marks).into_owned();
        lines.push(fact(
            "does",
            truncate(&about, 300, theme.marks).into_owned(),
        ));
        if row.hints.destructive == Some(true) {
            lines.push(fact("declared", "destructive".into()));
        }
    }
    lines.push(plot::heading("arguments", width, theme));
    let pretty = serde_json::to_string_pretty(&asked.arguments).unwrap_or_default();
    lines.extend(
        pretty
            .lines()
            .take(500)
            .map(|line| Line::raw(clean(line, Lines::One, theme.marks).into_owned())),
    );
    lines.push(Line::default());
    let keys =
        "a lets it run, x does not, A lets every later call of this tool in this session run too";
    lines.push(Line::styled(keys, theme.dim()));
    lines
}

/// What is asked before a call is let run: whoever says yes has seen what runs.
pub(in crate::console::screens) fn sure(asked: &PendingApproval, shared: &Shared) -> String {
    let marks = shared.theme.marks;
    let arguments = asked.arguments.to_string();
    let arguments = clean(&arguments, Lines::One, marks);
    format!(
        "let `{}` run with {}?",
        clean_name(&asked.tool, marks),
        truncate(&arguments, 240, marks)
    )
}

/// The cells of a call that ended.
pub(super) fn call_cells(record: &CallRecord, shared: &Shared) -> Vec<(String, Style)> {
    let theme = shared.theme;
    let (health, word) = match record.error_kind {
        None => (Health::Good, "ok"),
        Some(kind) => (Health::Bad, kind.as_str()),
    };
    let waited: Duration = record.layers.iter().map(|span| span.waited).sum();
    let (queue, style) = match waited {
        Duration::ZERO => (theme.none().to_owned(), theme.text()),
        waited => (figures::latency(waited), theme.health(Health::Warning)),
    };
    vec![
        (theme.mark(health).to_owned(), theme.health(health)),
        (
            clean_name(&record.tool, theme.marks).into_owned(),
            theme.text(),
        ),
        (word.to_owned(), theme.health(health)),
        (figures::latency(record.duration), theme.text()),
        (queue, style),
        (age_cell(record.started, shared), theme.text()),
    ]
}
