//! What the screen shows as data: JSON of everything, CSV of the list. Pure.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolcrib::observe::{Load, MeterMap, Snapshot, Tally, Window};

/// Everything that is counted, by all windows.
pub(crate) fn data(snapshot: &Snapshot, now: Instant) -> Value {
    let age = snapshot.age_at(now);
    let meters = &snapshot.stats.meters;
    let busy = &snapshot.stats.busy;
    let of = |map: &MeterMap, load: &std::collections::BTreeMap<_, Load>| -> Value {
        let rows = map.iter().map(|(name, meter)| {
            let mut row = windows(|window| meter.tally(window, age));
            let load = load.get(name).copied().unwrap_or_default();
            row.insert("in_flight".into(), json!(load.in_flight));
            row.insert("waiting".into(), json!(load.waiting));
            (name.to_string(), Value::Object(row))
        });
        Value::Object(rows.collect())
    };
    json!({
        "total": windows(|window| meters.total.tally(window, age)),
        "tools": of(&meters.tools, &busy.tools),
        "sources": of(&meters.owners, &busy.owners),
        "sessions": of(&meters.sessions, &busy.sessions),
        "chain": of(&meters.layers, &busy.layers),
        "audit_file": audit_file(snapshot),
        "drill": snapshot.layers.iter().find_map(|layer| layer.drill.as_ref()).map(|drill| json!({
            "tools": drill.tools,
            "latency_ms": ms(drill.latency),
            "error_rate": drill.error_rate,
            "drop": drill.drop,
            "left_ms": ms(drill.left_at(now)),
        })),
        "approvals": snapshot.approvals.iter().map(|asked| json!({
            "call_id": asked.call_id,
            "tool": asked.tool,
            "session": asked.session,
            "arguments": asked.arguments,
            "asked": asked.asked,
            "left_ms": asked.left_at(now).map(ms),
        })).collect::<Vec<_>>(),
    })
}

/// The file of the layer `audit`.
pub(super) fn audit_file(snapshot: &Snapshot) -> Option<&str> {
    let audit = snapshot.layers.iter().find(|layer| layer.name == "audit")?;
    audit.settings.get("file")?.as_str()
}

fn ms(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1_000.0
}

fn windows(tally: impl Fn(Window) -> Tally) -> Map<String, Value> {
    let keys = ["last_1m", "last_5m", "last_1h", "since_start"];
    let pairs = keys.into_iter().zip(Window::ALL);
    pairs
        .map(|(key, window)| (key.to_owned(), of_tally(&tally(window))))
        .collect()
}

fn of_tally(tally: &Tally) -> Value {
    let kinds: Map<String, Value> = tally
        .by_kind
        .iter()
        .map(|row| (row.kind.as_str().to_owned(), json!(row.count)))
        .collect();
    let latency = &tally.latency;
    json!({
        "calls": tally.calls,
        "errors": tally.errors,
        "errors_by_kind": kinds,
        "latency_ms": {
            "p50": ms(latency.p50),
            "p90": ms(latency.p90),
            "p95": ms(latency.p95),
            "p99": ms(latency.p99),
            "max": ms(latency.max),
        },
        "bytes_in": tally.bytes_in,
        "bytes_out": tally.bytes_out,
        "truncated": tally.truncated,
        "kept_bytes": tally.kept,
        "cut_bytes": tally.cut,
        "waits": tally.waits,
        "waited_ms": ms(tally.waited),
    })
}

/// The heads of [`tally_row`].
pub(super) const TALLY_HEADS: [&str; 17] = [
    "name",
    "window",
    "calls",
    "errors",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "bytes_in",
    "bytes_out",
    "truncated",
    "kept_bytes",
    "cut_bytes",
    "waits",
    "waited_ms",
    "in_flight",
];

/// One row of a list of names.
pub(super) fn tally_row(name: &str, window: Window, tally: &Tally, load: Load) -> Vec<String> {
    let latency = &tally.latency;
    let mut row = vec![name.to_owned(), window.as_str().to_owned()];
    row.extend([tally.calls, tally.errors].map(|value| value.to_string()));
    row.extend(
        [
            latency.p50,
            latency.p90,
            latency.p95,
            latency.p99,
            latency.max,
        ]
        .map(|value| ms(value).to_string()),
    );
    row.extend(
        [
            tally.bytes_in,
            tally.bytes_out,
            tally.truncated,
            tally.kept,
            tally.cut,
            tally.waits,
        ]
        .map(|value| value.to_string()),
    );
    row.push(ms(tally.waited).to_string());
    row.push(load.in_flight.to_string());
    row
}

/// Rows as CSV (RFC 4180).
pub(super) fn csv(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = heads.join(",");
    text.push_str("\r\n");
    for row in rows {
        let fields: Vec<_> = row.iter().map(|field| quoted(field)).collect();
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

/// A field. Text that a spreadsheet would run as a formula is made text by an apostrophe: names come
/// from servers.
fn quoted(field: &str) -> String {
    let number = field.parse::<f64>().is_ok();
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && !number;
    let field = match formula {
        true => format!("'{field}"),
        false => field.to_owned(),
    };
    match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be_and_no_name_is_a_formula() {
        let rows = [["plain", "a,b", "say \"hi\""], ["=1+1", "-4", "@x"]];
        let rows = rows.iter().map(|row| row.map(ToOwned::to_owned).to_vec());
        assert_eq!(
            csv(&["a", "b", "c"], rows),
            "a,b,c\r\nplain,\"a,b\",\"say \"\"hi\"\"\"\r\n'=1+1,-4,'@x\r\n"
        );
    }

    #[test]
    fn a_row_has_a_field_for_every_head() {
        let row = tally_row("t", Window::Minute, &Tally::default(), Load::default());
        assert_eq!(row.len(), TALLY_HEADS.len());
    }
}
