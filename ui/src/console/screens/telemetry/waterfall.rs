//! The way of one call through the layers: each with its time, its queue and what it did to the size
//! of the result. Pure.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::middleware::LayerSpan;
use toolcrib::observe::CallRecord;
use toolcrib::tool::Attempt;

use super::plot;
use crate::console::figures;
use crate::console::screens::calls::facts;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text::{self, Lines, clean};

/// The cells before the bar.
const LABELS: usize = 13 + 1 + 9 + 1 + 9 + 1 + 9 + 2;

/// The lines for a call that ended.
pub(super) fn lines(record: &CallRecord, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let mut lines = vec![facts::ending(record, theme)];
    if let Some(error) = &record.error {
        let error = clean(error, Lines::One, theme.marks).into_owned();
        lines.push(Line::styled(error, theme.strong()));
    }
    lines.push(Line::styled(facts::known(record, shared), theme.dim()));
    if record.layers.is_empty() {
        lines.push(Line::raw("no layer and no tool was entered"));
        return lines;
    }
    lines.push(plot::heading("through the layers", width, theme));
    let room = width.saturating_sub(LABELS).clamp(1, 72);
    let end = figures::latency(record.duration);
    lines.push(Line::styled(
        format!(
            "{:<13} {:>9} {:>9} {:>9}  {}",
            "LAYER",
            "OWN TIME",
            "QUEUE",
            "GIVES",
            text::fit(
                &format!("0{end:>pad$}", pad = room.saturating_sub(1)),
                room,
                theme.marks
            )
        ),
        theme.title(),
    ));
    for (at, span) in record.layers.iter().enumerate() {
        lines.push(row(record, at, span, room, theme));
        lines.extend(remark(record, at, span, theme));
    }
    // The tool is the last that is entered, so that its tries stand below it.
    for (at, attempt) in record.attempts.iter().enumerate() {
        lines.push(tried(record, at, attempt, room, theme));
        lines.push(outcome(attempt, theme));
    }
    lines.push(Line::default());
    let pauses_too = match record.attempts.is_empty() {
        true => "",
        false => ", or a pause",
    };
    lines.push(Line::styled(
        format!(
            "{} inside of the layer   {} in its queue{pauses_too}   {} at work in the tool   GIVES: size of the result it gave away",
            theme.pick("─", "-"),
            theme.pick("░", "."),
            theme.pick("█", "#")
        ),
        theme.dim(),
    ));
    let waited: Duration = record.layers.iter().map(|span| span.waited).sum();
    let tool: Duration = spent_in_tool(record);
    let pauses: Duration = record.attempts.iter().map(|attempt| attempt.waited).sum();
    let paused = match record.attempts.len() {
        0 => String::new(),
        tries => format!(
            " ({tries} tries, {} in pauses between them)",
            figures::latency(pauses)
        ),
    };
    lines.push(Line::styled(
        format!(
            "{} in queues, {} in the tool{paused}, {} in layers and dispatch",
            figures::latency(waited),
            figures::latency(tool),
            figures::latency(record.duration.saturating_sub(waited + tool))
        ),
        theme.dim(),
    ));
    lines
}

fn spent_in_tool(record: &CallRecord) -> Duration {
    let spans = record.layers.iter().filter(|span| span.layer == "tool");
    spans.map(|span| span.took).sum()
}

/// The spans directly inside of one: those entered later that are not inside of another such. A
/// layer that goes on more than once has several.
fn inside(layers: &[LayerSpan], at: usize) -> Duration {
    let Some(span) = layers.get(at) else {
        return Duration::ZERO;
    };
    let mut total = Duration::ZERO;
    let mut end = Duration::ZERO;
    for inner in layers.iter().skip(at + 1) {
        if inner.entered >= span.entered + span.took && !span.took.is_zero() {
            break;
        }
        if inner.entered >= end {
            total += inner.took;
            end = inner.entered + inner.took;
        }
    }
    total
}

fn row(
    record: &CallRecord,
    at: usize,
    span: &LayerSpan,
    room: usize,
    theme: Theme,
) -> Line<'static> {
    let own = span
        .took
        .saturating_sub(inside(&record.layers, at) + span.waited);
    let waited = match span.waited {
        Duration::ZERO => theme.none().to_owned(),
        waited => figures::latency(waited),
    };
    let bar = bar(record, span, room, theme);
    let label = text::fit(span.layer, 13, theme.marks);
    let style: Style = match span.completed {
        true => theme.text(),
        false => theme.health(Health::Warning),
    };
    let queue = match span.waited {
        Duration::ZERO => theme.dim(),
        _ => theme.health(Health::Warning),
    };
    let changed = span.bytes_before.is_some() && span.bytes_before != span.bytes_after;
    let size = match changed {
        true => theme.strong(),
        false => theme.dim(),
    };
    let gives = span.bytes_after.map_or_else(
        || theme.none().to_owned(),
        |bytes| figures::bytes(bytes as u64),
    );
    let mut spans = vec![
        Span::styled(label, style),
        Span::raw(format!(" {:>9} ", figures::latency(own))),
        Span::styled(format!("{waited:>9} "), queue),
        Span::styled(format!("{gives:>9}  "), size),
    ];
    spans.extend(bar);
    Line::from(spans)
}

/// The stretch of the call that the span takes.
fn bar(record: &CallRecord, span: &LayerSpan, room: usize, theme: Theme) -> Vec<Span<'static>> {
    let stretch = Stretch {
        entered: span.entered,
        waited: span.waited,
        took: span.took,
    };
    match span.layer {
        "tool" => stretch.drawn(record, room, theme.pick("█", "#"), theme.bar(), theme),
        _ => stretch.drawn(record, room, theme.pick("─", "-"), theme.dim(), theme),
    }
}

/// A part of the time of a call: first waiting, then the rest.
struct Stretch {
    entered: Duration,
    waited: Duration,
    took: Duration,
}

impl Stretch {
    fn drawn(
        &self,
        record: &CallRecord,
        room: usize,
        sign: &str,
        style: Style,
        theme: Theme,
    ) -> Vec<Span<'static>> {
        let whole = record.duration.as_secs_f64().max(1e-6);
        let cell = |at: Duration| {
            let share = (at.as_secs_f64() / whole).clamp(0.0, 1.0);
            ((share * room as f64).round() as usize).min(room)
        };
        let begin = cell(self.entered).min(room.saturating_sub(1));
        let end = cell(self.entered + self.took).max(begin + 1);
        let queued = cell(self.entered + self.waited).clamp(begin, end) - begin;
        // A queue that was there is seen, however short it was.
        let queued = match self.waited {
            Duration::ZERO => 0,
            _ => queued.max(1),
        };
        vec![
            Span::raw(" ".repeat(begin)),
            Span::styled(
                theme.pick("░", ".").repeat(queued),
                theme.health(Health::Warning),
            ),
            Span::styled(sign.repeat(end - begin - queued), style),
        ]
    }
}

/// One try of the tool: the pause before it stands in the column of the queues.
fn tried(
    record: &CallRecord,
    at: usize,
    attempt: &Attempt,
    room: usize,
    theme: Theme,
) -> Line<'static> {
    let (waited, style) = match attempt.waited {
        Duration::ZERO => (theme.none().to_owned(), theme.dim()),
        waited => (figures::latency(waited), theme.health(Health::Warning)),
    };
    let stretch = Stretch {
        entered: attempt.entered,
        waited: attempt.waited,
        took: attempt.took,
    };
    let own = attempt.took.saturating_sub(attempt.waited);
    let mut spans = vec![
        Span::raw(format!("{:<13}", format!("  try {}", at + 1))),
        Span::raw(format!(" {:>9} ", figures::latency(own))),
        Span::styled(format!("{waited:>9} "), style),
        Span::styled(format!("{:>9}  ", theme.none()), theme.dim()),
    ];
    spans.extend(stretch.drawn(record, room, theme.pick("█", "#"), theme.bar(), theme));
    Line::from(spans)
}

fn outcome(attempt: &Attempt, theme: Theme) -> Line<'static> {
    let words = attempt.outcome.as_ref().map_or_else(
        || "given up while it ran".into(),
        |words| clean(words, Lines::One, theme.marks),
    );
    Line::styled(
        format!("    {} {words}", theme.pick("└", "`")),
        theme.strong(),
    )
}

/// What the layer did beside passing the call on.
fn remark(record: &CallRecord, at: usize, span: &LayerSpan, theme: Theme) -> Option<Line<'static>> {
    let mut words = Vec::new();
    words.extend(span.note.map(ToOwned::to_owned));
    if let (Some(before), Some(after)) = (span.bytes_before, span.bytes_after)
        && before != after
    {
        words.push(format!(
            "result {} before, {} after",
            figures::bytes(before as u64),
            figures::bytes(after as u64)
        ));
    }
    if !span.completed {
        words.push("given up while it ran".to_owned());
    }
    let again = record
        .layers
        .iter()
        .take(at)
        .filter(|earlier| earlier.layer == span.layer)
        .count();
    if again > 0 {
        words.push(format!("entered for the {} time", ordinal(again + 1)));
    }
    (!words.is_empty()).then(|| {
        Line::from(vec![
            Span::raw("  "),
            Span::styled(
                format!("{} {}", theme.pick("└", "`"), words.join(", ")),
                theme.strong(),
            ),
        ])
    })
}

fn ordinal(number: usize) -> String {
    match number {
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        more => format!("{more}th"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_goes_on_twice_has_both_ways_inside_of_it() {
        let ms = Duration::from_millis;
        let span = |layer, entered, took| LayerSpan {
            layer,
            entered: ms(entered),
            took: ms(took),
            waited: Duration::ZERO,
            completed: true,
            note: None,
            bytes_before: None,
            bytes_after: None,
            cut: None,
        };
        let layers = [
            span("retry", 0, 100),
            span("timeout", 10, 30),
            span("tool", 12, 25),
            span("timeout", 60, 35),
            span("tool", 61, 30),
        ];
        let all: Vec<_> = (0..5).map(|at| inside(&layers, at)).collect();
        assert_eq!(all, [ms(65), ms(25), ms(0), ms(30), ms(0)]);
    }
}
