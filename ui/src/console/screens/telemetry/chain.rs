//! The chain as a pipeline: what each layer is set to, what passed it, and what it changed or
//! stopped. Pure.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use toolcrib::middleware::LayerStatus;
use toolcrib::observe::{Load, Snapshot, Tally, Window};

use super::{named, plot};
use crate::console::figures;
use crate::console::grid::Column;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text::{Lines, clean};

/// What stands behind the last layer, as traces call it.
pub(super) const TOOL: &str = "tool";

/// The columns of the pipeline.
pub(super) const COLUMNS: [Column; 6] = [
    Column::words("", 2, 1),
    Column::words("LAYER", 12, 1),
    Column::words("STATE", 9, 2),
    Column::number("PASSED", 8, 3),
    // As little as leaves the state, which is a word, on the narrowest screen.
    Column::words("DID", 9, 0),
    Column::words("SET TO", 26, 5),
];

/// The rows of the pipeline, outermost first; without a chain there are none.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<&'static str> {
    let layers = snapshot.layers.iter().map(|layer| layer.name);
    match snapshot.layers.is_empty() {
        true => Vec::new(),
        false => layers.chain([TOOL]).collect(),
    }
}

/// The layer of that name.
pub(super) fn layer<'s>(snapshot: &'s Snapshot, name: &str) -> Option<&'s LayerStatus> {
    snapshot.layers.iter().find(|layer| layer.name == name)
}

/// How a layer fares, as health and word.
pub(super) fn state(layer: &LayerStatus) -> (Health, &'static str) {
    let count = |name| layer.counter(name);
    let limit = layer.settings.get("limit").and_then(Value::as_u64);
    match layer.name {
        _ if layer.paused => (Health::Off, "paused"),
        "fault" if layer.drill.is_some() => (Health::Bad, "drill"),
        "fault" => (Health::Bad, "faulting"),
        "audit" if count("lost") > 0 => (Health::Bad, "losing"),
        "concurrency" if count("waiting") > 0 => (Health::Warning, "saturated"),
        "concurrency" if limit.is_some_and(|limit| count("running") >= limit) => {
            (Health::Warning, "full")
        }
        "rate_limit" if count("waiting") > 0 => (Health::Warning, "saturated"),
        "approval" if count("pending") > 0 => (Health::Warning, "asking"),
        _ => (Health::Good, "on"),
    }
}

/// What it changed or stopped since the start, in a few words.
fn did(layer: &LayerStatus) -> String {
    let count = |name| figures::count(layer.counter(name));
    match layer.name {
        "recover" => format!("{} panics recovered", count("recovered")),
        "telemetry" => match layer.settings.get("exported").and_then(Value::as_bool) {
            Some(true) => format!("{} failed, exported", count("errors.total")),
            _ => format!("{} failed, not exported", count("errors.total")),
        },
        "audit" => format!("{} lines, {} lost", count("written"), count("lost")),
        "result_limit" => format!(
            "{} cut, {} away",
            count("results_cut"),
            figures::bytes(layer.counter("cut_bytes"))
        ),
        "redact" => format!(
            "{} matches in {} results",
            count("matches"),
            count("results_redacted")
        ),
        "validate" => format!("{} validated away", count("rejected")),
        "approval" => format!(
            "{} pending, {} denied, {} expired",
            count("pending"),
            count("denied"),
            count("expired")
        ),
        "timeout" => format!("{} expired", count("expired")),
        "rate_limit" => format!(
            "{} waiting, {} waited, {} too late",
            count("waiting"),
            count("waited"),
            count("late")
        ),
        "concurrency" => format!(
            "{} running, {} waiting, {} overloaded",
            count("running"),
            count("waiting"),
            count("overloaded")
        ),
        "fault" => format!(
            "{} delayed, {} failed, {} dropped",
            count("delayed"),
            count("failed"),
            count("dropped")
        ),
        _ => String::new(),
    }
}

/// Its settings on one line, as they are typed.
pub(super) fn written(layer: &LayerStatus) -> String {
    flow(&layer.settings)
}

/// A value in YAML's flow style, without what is not set.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let set = map.iter().filter(|(_, value)| !is_unset(value));
            let pairs: Vec<_> = set
                .map(|(key, value)| format!("{}: {}", scalar(key), flow(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Text without quotes where YAML reads it as the same text.
fn scalar(text: &str) -> String {
    let plain = text
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | '/'))
        && text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '/')
        && !matches!(text, "true" | "false" | "null" | "True" | "False" | "Null");
    let duration = toolcrib::deployment::document::parse_duration(text).is_ok() && text != "0";
    match plain || duration {
        true => text.to_owned(),
        // JSON's quotes are YAML's.
        false => Value::from(text).to_string(),
    }
}

/// The cells of a row.
pub(super) fn cells(
    name: &str,
    snapshot: &Snapshot,
    window: Window,
    age: Duration,
    theme: Theme,
) -> Vec<(String, Style)> {
    let names = rows(snapshot);
    let place = match names.iter().position(|known| *known == name) {
        Some(0) => theme.pick("┌", "+"),
        Some(at) if at + 1 == names.len() => theme.pick("└", "+"),
        _ => theme.pick("├", "|"),
    };
    let tally = tally(snapshot, name, window, age);
    let passed = figures::count(tally.calls);
    let load = named::load(&snapshot.stats.busy.layers, name);
    let Some(layer) = layer(snapshot, name) else {
        let did = format!(
            "{} failed, {} at work",
            figures::count(tally.errors),
            load.in_flight
        );
        return vec![
            (
                format!("{place}{}", theme.mark(Health::Good)),
                theme.health(Health::Good),
            ),
            ("the tool".to_owned(), theme.strong()),
            (String::new(), theme.text()),
            (passed, theme.text()),
            (did, theme.text()),
            (String::new(), theme.dim()),
        ];
    };
    let (health, word) = state(layer);
    let changed = if layer.changed { "*" } else { "" };
    let settings = clean(&written(layer), Lines::One, theme.marks).into_owned();
    vec![
        (
            format!("{place}{}", theme.mark(health)),
            theme.health(health),
        ),
        (name.to_owned(), theme.strong()),
        (format!("{word}{changed}"), theme.health(health)),
        (passed, theme.text()),
        (did(layer), theme.text()),
        (settings, theme.dim()),
    ]
}

fn tally(snapshot: &Snapshot, name: &str, window: Window, age: Duration) -> Tally {
    let meter = snapshot.stats.meters.layers.get(name);
    meter.map_or_else(Tally::default, |meter| meter.tally(window, age))
}

/// What a layer is for, in a sentence.
fn about(name: &str) -> &'static str {
    match name {
        "recover" => "A panic in a tool or an inner layer becomes an error result.",
        "telemetry" => {
            "Tells a collector of every call, where one is named in OTEL_EXPORTER_OTLP_ENDPOINT."
        }
        "audit" => "Appends one JSON line per call to a file.",
        "result_limit" => "Cuts results that are longer than a model should get.",
        "redact" => "Replaces what patterns match in results.",
        "validate" => "Checks arguments against the schema before anybody acts on them.",
        "approval" => "Asks an operator before a call goes on; ! goes to what waits.",
        "timeout" => "Ends calls that take too long.",
        "rate_limit" => "Lets calls start at a steady rate; the others wait for their turn.",
        "concurrency" => "Bounds how many calls run at once; the others wait for a slot.",
        "fault" => "Injects latency, errors and silence, to see how everything else takes it.",
        TOOL => "The tool itself, behind the last layer.",
        _ => "A layer of the host program.",
    }
}

/// The evidence of one layer.
pub(super) fn evidence(
    name: &str,
    window: Window,
    shared: &Shared,
    width: usize,
) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let snapshot = shared.snapshot();
    let now = shared.now().at;
    let mut lines = vec![Line::raw(about(name)), Line::default()];
    let fact = |label: &str, value: String| {
        Line::from(vec![
            Span::styled(format!("{label:<10}"), theme.dim()),
            Span::raw(value),
        ])
    };
    if let Some(layer) = layer(snapshot, name) {
        let (health, word) = state(layer);
        lines.push(Line::from(vec![
            Span::styled(format!("{:<10}", "state"), theme.dim()),
            Span::styled(
                format!("{} {word}", theme.mark(health)),
                theme.health(health),
            ),
            Span::raw(match layer.changed {
                true => "  * changed since the start; the file still says otherwise",
                false => "",
            }),
        ]));
        if layer.paused {
            lines.push(fact(
                "",
                "calls go past it; P lets them through again".into(),
            ));
        }
        if let Some(drill) = &layer.drill {
            let left = figures::age(drill.left_at(now));
            lines.push(fact(
                "drill",
                format!(
                    "{}; ends in {left}",
                    faults(drill.latency, drill.error_rate, drill.drop)
                ),
            ));
            lines.push(fact("on", drill.tools.join(", ")));
        }
        let settings = clean(&written(layer), Lines::One, theme.marks).into_owned();
        lines.push(fact("set to", settings));
        if name == "audit"
            && let Some(file) = layer.settings.get("file").and_then(Value::as_str)
        {
            let file = clean(file, Lines::One, theme.marks).into_owned();
            lines.push(fact("file", file));
        }
        lines.push(plot::heading("counted since the start", width, theme));
        for counter in &layer.counters {
            let label = counter.name.replace(['_', '.'], " ");
            let value = match counter.name.ends_with("bytes") {
                true => figures::bytes(counter.value),
                false => figures::count(counter.value),
            };
            lines.push(Line::from(vec![
                Span::styled(format!("{label:<18}"), theme.dim()),
                Span::raw(value),
            ]));
        }
    }
    let age = snapshot.age_at(now);
    let tally = tally(snapshot, name, window, age);
    let load = named::load(&snapshot.stats.busy.layers, name);
    lines.push(plot::heading(
        &format!("calls in {}", window.as_str()),
        width,
        theme,
    ));
    lines.extend(through(name, &tally, load, theme));
    if tally.errors > 0 {
        lines.push(plot::heading("answered here with an error", width, theme));
        lines.extend(named::kinds(&tally, width, theme));
    }
    lines
}

fn through(name: &str, tally: &Tally, load: Load, theme: Theme) -> Vec<Line<'static>> {
    let fact = |label: &str, value: String| {
        Line::from(vec![
            Span::styled(format!("{label:<10}"), theme.dim()),
            Span::raw(value),
        ])
    };
    let mut lines = vec![
        fact(
            "passed",
            format!(
                "{}, {} of them answered here with an error",
                figures::count(tally.calls),
                figures::count(tally.errors)
            ),
        ),
        fact(
            "now",
            match name {
                TOOL => format!("{} at work", load.in_flight),
                _ => format!(
                    "{} directly inside of it, {} of them waiting",
                    load.in_flight, load.waiting
                ),
            },
        ),
    ];
    if tally.calls == 0 {
        return lines;
    }
    lines.push(fact("own time", figures::quantiles(&tally.latency)));
    if tally.waits > 0 {
        lines.push(fact("queue", figures::waits(tally)));
    }
    if name != TOOL {
        lines.push(fact(
            "results",
            format!(
                "{} came, {} given away",
                figures::bytes(tally.bytes_in),
                figures::bytes(tally.bytes_out)
            ),
        ));
    }
    if tally.truncated > 0 {
        lines.push(fact("cut", figures::cuts(tally)));
    }
    lines
}

/// Faults in words: `2 s latency, 20 % errors, 5 % dropped`.
pub(crate) fn faults(latency: Duration, error_rate: f64, drop: f64) -> String {
    let mut words = Vec::new();
    if !latency.is_zero() {
        words.push(format!("{} latency", figures::latency(latency)));
    }
    for (share, what) in [(error_rate, "errors"), (drop, "dropped")] {
        if share > 0.0 {
            words.push(format!("{} % {what}", (share * 1_000.0).round() / 10.0));
        }
    }
    match words.is_empty() {
        true => "no faults".to_owned(),
        false => words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_written_as_they_can_be_typed_in_again() {
        let layer = LayerStatus {
            name: "rate_limit",
            settings: json!({
                "per_second": 5.5, "burst": 10, "tools": ["payment_*", "a"], "x": null, "m": {},
                "t": {"*": "1m", "b c": "0s"}, "word": "true", "marker": "…[cut]",
            }),
            counters: Vec::new(),
            paused: false,
            changed: false,
            drill: None,
        };
        assert_eq!(
            written(&layer),
            "{per_second: 5.5, burst: 10, tools: [\"payment_*\", a], \
             t: {\"*\": 1m, \"b c\": 0s}, word: \"true\", marker: \"…[cut]\"}"
        );
    }

    #[test]
    fn faults_are_told_in_words() {
        assert_eq!(
            faults(Duration::from_secs(2), 0.2, 0.05),
            "2.00 s latency, 20 % errors, 5 % dropped"
        );
        assert_eq!(faults(Duration::ZERO, 0.0, 0.0), "no faults");
    }
}
