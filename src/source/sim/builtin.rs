//! The tools of `impl: sim` without settings (rule 10.4): a few believable ones, one for each
//! thing worth trying.

use std::time::Duration;

use serde_json::{Value, json};

use super::settings::{Behavior, Outcome, SimTool};
use crate::tool::Hints;

/// The built-in set.
pub(super) fn tools() -> Vec<SimTool> {
    vec![
        tool(
            "echo",
            "Return the arguments unchanged as JSON text. Useful to try out a connection.",
            json!({"message": {"type": "string", "description": "Any text"}}),
            &[],
            READS,
            millis(0, 0),
        ),
        tool(
            "get_weather",
            "Current weather of a city: temperature, wind and a one-word summary.",
            json!({
                "city": {"type": "string", "description": "Name of the city"},
                "units": {"type": "string", "enum": ["metric", "imperial"]}
            }),
            &["city"],
            Hints {
                open_world: Some(true),
                ..READS
            },
            Behavior {
                outcome: Outcome::Data(json!({
                    "temperature": 17.5, "wind_kmh": 12, "summary": "cloudy", "simulated": true
                })),
                ..millis(120, 180)
            },
        ),
        tool(
            "search_notes",
            "Search the notes for words and return the matching passages, best first.",
            json!({
                "query": {"type": "string", "description": "Words to look for"},
                "limit": {"type": "integer", "minimum": 1, "description": "Most passages to return"}
            }),
            &["query"],
            READS,
            Behavior {
                outcome: text(
                    "meeting.md: the release moves to Thursday\nideas.md: a shorter release checklist\n",
                ),
                ..millis(40, 60)
            },
        ),
        tool(
            "send_message",
            "Send a chat message to a person or channel. It cannot be taken back.",
            json!({
                "to": {"type": "string", "description": "Person or channel, such as #general"},
                "body": {"type": "string", "description": "Text of the message"}
            }),
            &["to", "body"],
            Hints {
                read_only: Some(false),
                destructive: Some(false),
                idempotent: Some(false),
                open_world: Some(true),
            },
            Behavior {
                outcome: text("sent"),
                ..millis(200, 400)
            },
        ),
        tool(
            "delete_record",
            "Delete a record for good by its id.",
            json!({"id": {"type": "string", "description": "Id of the record"}}),
            &["id"],
            Hints {
                read_only: Some(false),
                destructive: Some(true),
                idempotent: Some(true),
                open_world: Some(false),
            },
            Behavior {
                outcome: text("deleted"),
                ..millis(30, 0)
            },
        ),
        tool(
            "draw_chart",
            "Draw a bar chart of a list of numbers as a PNG picture.",
            json!({
                "values": {"type": "array", "items": {"type": "number"}},
                "title": {"type": "string"}
            }),
            &["values"],
            READS,
            Behavior {
                outcome: Outcome::Image(4096),
                ..millis(150, 100)
            },
        ),
        tool(
            "look_up_order",
            "Look up an order of the shop. The shop is unreliable: about every fourth call fails.",
            json!({"order_id": {"type": "string", "description": "Number of the order"}}),
            &["order_id"],
            READS,
            Behavior {
                error_rate: 0.25,
                outcome: Outcome::Data(json!({"status": "shipped", "items": 3, "simulated": true})),
                ..millis(80, 120)
            },
        ),
        tool(
            "build_report",
            "Build the monthly report. Takes several seconds; returns text and a table.",
            json!({"month": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"}}),
            &["month"],
            READS,
            Behavior {
                outcome: Outcome::Parts(vec![
                    Behavior {
                        outcome: text("The report of the month is ready."),
                        ..millis(0, 0)
                    },
                    Behavior {
                        outcome: Outcome::Data(json!({"rows": [["orders", 128], ["returns", 4]]})),
                        ..millis(500, 0)
                    },
                ]),
                ..millis(4000, 2000)
            },
        ),
    ]
}

/// Of a tool that changes nothing and stays in its own system.
const READS: Hints = Hints {
    read_only: Some(true),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

fn tool(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    hints: Hints,
    behavior: Behavior,
) -> SimTool {
    SimTool {
        name: name.into(),
        description: description.into(),
        input_schema: json!({"type": "object", "properties": properties, "required": required}),
        pad_to_bytes: None,
        lazy: None,
        hints,
        rate: None,
        behavior,
    }
}

fn millis(latency: u64, jitter: u64) -> Behavior {
    Behavior {
        latency: Duration::from_millis(latency),
        jitter: Duration::from_millis(jitter),
        ..Behavior::default()
    }
}

fn text(text: &str) -> Outcome {
    Outcome::Text {
        text: text.into(),
        repeat: 1,
    }
}
