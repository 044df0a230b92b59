//! The list of frames: its columns, and what a row says.

use std::borrow::Cow;

use ratatui::style::Style;
use serde_json::Value;
use toolcrib::observe::TrafficFrame;
use toolcrib::source::mcp::{Direction, FrameKind};

use crate::console::figures;
use crate::console::grid::Column;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text::{self, Lines, clean_name};

/// The columns.
pub(super) const COLUMNS: [Column; 10] = [
    Column::words("", 1, 1),
    Column::words("TIME", 12, 4),
    Column::words("SERVER", 10, 3),
    Column::words("WAY", 5, 1),
    Column::words("KIND", 7, 5),
    Column::words("WHAT", 16, 0),
    Column::words("ID", 5, 8),
    Column::number("HTTP", 4, 9),
    Column::number("SIZE", 9, 7),
    Column::number("TOOK", 8, 6),
];

/// How many characters of a text a row looks at.
const LOOK: usize = 200;

/// How a frame is doing.
pub(super) fn health(row: &TrafficFrame) -> Health {
    match (row.frame.kind, row.frame.status) {
        (FrameKind::Error, _) => Health::Bad,
        (_, Some(status)) if status >= 400 => Health::Bad,
        (FrameKind::Stray, _) => Health::Warning,
        (FrameKind::Answer, _) => Health::Good,
        _ => Health::Off,
    }
}

/// The way in a sign and a word.
pub(super) fn way(direction: Direction, theme: Theme) -> &'static str {
    match direction {
        Direction::ToServer => theme.pick("→ out", "> out"),
        Direction::FromServer => theme.pick("← in", "< in"),
    }
}

/// The cells of a row.
pub(super) fn cells(shared: &Shared, row: &TrafficFrame) -> Vec<(String, Style)> {
    let theme = shared.theme;
    let frame = &row.frame;
    let health = health(row);
    let style = match health {
        Health::Off => theme.text(),
        health => theme.health(health),
    };
    let mark = match health {
        Health::Off => " ",
        health => theme.mark(health),
    };
    let none = || theme.none().to_owned();
    let kind = match frame.kind {
        FrameKind::Notification => "notice",
        kind => kind.as_str(),
    };
    let id = match &frame.id {
        Some(id) => clean_name(id, theme.marks).into_owned(),
        None => none(),
    };
    vec![
        (mark.to_owned(), style),
        (time(shared, row), theme.dim()),
        (
            clean_name(&frame.server, theme.marks).into_owned(),
            theme.strong(),
        ),
        (way(frame.direction, theme).to_owned(), theme.text()),
        (kind.to_owned(), style),
        (what(row, theme), theme.text()),
        (id, theme.dim()),
        (
            frame.status.map_or_else(none, |status| status.to_string()),
            style,
        ),
        (figures::bytes(frame.bytes as u64), theme.text()),
        (
            row.latency.map_or_else(none, figures::latency),
            theme.text(),
        ),
    ]
}

/// The time of day to the millisecond.
pub(super) fn time(shared: &Shared, row: &TrafficFrame) -> String {
    let zoned = row.frame.at.wall.to_zoned(shared.options.zone.clone());
    zoned.strftime("%H:%M:%S%.3f").to_string()
}

/// What the frame is about: its method and tool, the words of an error, or how its text begins.
pub(super) fn what(row: &TrafficFrame, theme: Theme) -> String {
    let frame = &row.frame;
    let mut parts = Vec::new();
    let name = |name: &str| clean_name(name, theme.marks).into_owned();
    parts.extend(frame.method.as_deref().map(name));
    parts.extend(frame.tool.as_deref().map(name));
    match frame.kind {
        FrameKind::Error => parts.extend(error_words(&frame.text)),
        FrameKind::Stray => parts.push(beginning(&escaped(head(&frame.text)))),
        FrameKind::Status if frame.text.is_empty() => parts.push("taken, no body".into()),
        FrameKind::Status => parts.push(beginning(&frame.text)),
        _ => {}
    }
    let words = parts.join(" ");
    text::clean(&words, Lines::One, theme.marks).into_owned()
}

/// Its code and message.
fn error_words(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let error = value.get("error")?;
    let code = error.get("code").map(Value::to_string).unwrap_or_default();
    let message = error.get("message").and_then(Value::as_str);
    Some(beginning(&format!(
        "{code} {}",
        message.unwrap_or_default()
    )))
}

fn head(text: &str) -> &str {
    match text.char_indices().nth(LOOK) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn beginning(text: &str) -> String {
    let words: Vec<_> = head(text).split_whitespace().collect();
    words.join(" ")
}

/// The text with everything that is not printed written as an escape, for lines that are no
/// messages: what stands there is the question.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    let hidden = |char: char| char.is_control() || char == '\\' || !text::shows(char);
    if !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match hidden(char) {
            true => out.extend(char.escape_default()),
            false => out.push(char),
        }
    }
    Cow::Owned(out)
}
