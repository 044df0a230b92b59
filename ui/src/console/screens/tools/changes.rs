//! How a tool changed, as far as it is known.

use std::sync::Arc;

use ratatui::text::{Line, Span};
use toolcrib::observe::{CatalogChange, Snapshot, ToolRow};

use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text::{Lines, clean};

/// The changes of a tool, the newest first.
pub(super) fn changes(snapshot: &Snapshot, tool: &ToolRow, shared: &Shared) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let name = tool.definition.shared_name();
    let mut lines: Vec<Line<'static>> = Vec::new();
    for change in snapshot.changes.iter() {
        lines.extend(change_lines(change, &name, shared));
    }
    if lines.is_empty() {
        let words = "nothing is known of changes: the last 200 changes of the registry do not name this tool";
        lines.push(Line::styled(words, theme.dim()));
    }
    lines
}

fn change_lines(change: &CatalogChange, name: &Arc<str>, shared: &Shared) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let at = change
        .at
        .wall
        .to_zoned(shared.options.zone.clone())
        .strftime("%H:%M:%S")
        .to_string();
    let head = |what: &str| {
        Line::from(vec![
            Span::styled(format!("{at}  "), theme.dim()),
            Span::styled(what.to_owned(), theme.strong()),
        ])
    };
    let diff = &change.diff;
    let mut lines = Vec::new();
    if diff.added.contains(name) {
        lines.push(head("appeared"));
    }
    if diff.removed.contains(name) {
        lines.push(head("went away"));
    }
    for changed in diff.changed.iter().filter(|changed| changed.name == *name) {
        lines.push(head(&format!(
            "changed its {}",
            changed.what().join(" and ")
        )));
        let (before, after) = (&changed.before, &changed.after);
        if before.description() != after.description() {
            lines.extend(compared(before.description(), after.description(), shared));
        }
        if before.input_schema() != after.input_schema() {
            let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default();
            lines.extend(compared(
                &pretty(before.input_schema()),
                &pretty(after.input_schema()),
                shared,
            ));
        }
    }
    lines
}

/// The lines that differ, those before with `-`, those after with `+`. What both texts begin and
/// end with is left out.
pub(in crate::console::screens) fn compared(
    before: &str,
    after: &str,
    shared: &Shared,
) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let same = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (before, after) = (&before[same..], &after[same..]);
    let tail = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    let drawn = |sign: &'static str, health: Health| {
        move |text: &&str| {
            let text: String = text.chars().take(2_000).collect();
            let text = clean(&text, Lines::One, theme.marks).into_owned();
            Line::from(vec![
                Span::styled(format!("  {sign} "), theme.health(health)),
                Span::raw(text),
            ])
        }
    };
    let most = 200;
    before
        .iter()
        .take(most)
        .map(drawn("-", Health::Bad))
        .chain(after.iter().take(most).map(drawn("+", Health::Good)))
        .collect()
}
