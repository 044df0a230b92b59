//! Frames as JSON, for files and scripts: one object each.

use serde_json::{Value, json};
use toolcrib::observe::TrafficFrame;

/// A frame as one object. The message stands in it as `message` where it is JSON, else as `text`.
pub(crate) fn object(row: &TrafficFrame) -> Value {
    let frame = &row.frame;
    let mut object = json!({
        "number": row.number,
        "time": frame.at,
        "source": frame.source,
        "server": frame.server,
        "connection": frame.epoch,
        "direction": frame.direction,
        "kind": frame.kind,
        "method": frame.method,
        "id": frame.id.as_deref().and_then(|id| serde_json::from_str::<Value>(id).ok()),
        "tool": frame.tool,
        "status": frame.status,
        "bytes": frame.bytes,
        "answers": row.answers,
        "latency_ms": row.latency.map(|took| took.as_secs_f64() * 1_000.0),
    });
    let (key, message) = match serde_json::from_str(&frame.text) {
        Ok(message) => ("message", message),
        Err(_) => ("text", Value::from(&*frame.text)),
    };
    object[key] = message;
    object
}

/// The frames, one line each.
pub(crate) fn lines<'f>(rows: impl IntoIterator<Item = &'f TrafficFrame>) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&object(row).to_string());
        text.push('\n');
    }
    text
}
