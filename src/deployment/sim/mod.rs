//! Reads the settings of `impl: sim` (rule 10.4).

mod found;
mod table;

use serde_json::json;

use self::found::Found;
pub use self::table::{HINTS, TOOL};
pub(super) use self::table::{OUTCOMES, SIM};
use super::Severity;
use super::document::{Reading, Shape, Value};
use super::names::ToolName;
use crate::source::sim::{self, Behavior, LazySettings, Outcome, SimSettings, SimTool};
use crate::tool::Hints;

/// The settings, with the names that they bring. The simulated source prepares its tools without
/// starting anything, so what it finds wrong is reported here, at its place in the file. A source
/// without settings has the built-in tools; `resource` is where their names are seen.
pub(super) fn read(
    reading: &Reading<'_>,
    settings: Option<&Value<'_>>,
    resource: &Value<'_>,
    names: &mut Vec<ToolName>,
) -> Option<SimSettings> {
    if let Some(settings) = settings {
        reading.check(settings, &Shape::Fields(&SIM));
    }
    let get = |key: &str| settings.and_then(|settings| settings.get(key));
    let values = get("tools").map(|list| list.items());
    // A tool that cannot be read has been reported; the others are still looked at.
    let listed = values.as_ref().map(|values| {
        values
            .iter()
            .filter_map(|value| Some((value.clone(), read_tool(reading, value)?)))
            .collect::<Vec<_>>()
    });
    let complete = match (&values, &listed) {
        (Some(values), Some(listed)) => values.len() == listed.len(),
        _ => true,
    };
    let catalog = get("catalog");
    let path = catalog
        .as_ref()
        .and_then(|catalog| reading.existing(catalog, "catalog"));
    // Without a catalog that should be there, the listed tools are still looked at, and the
    // built-in ones do not take its place.
    let lost = path.is_none() && catalog.is_some();
    let complete = complete && !lost;
    let (places, tools) = match listed {
        Some(listed) => {
            let (places, tools): (Vec<_>, Vec<_>) = listed.into_iter().unzip();
            (places, Some(tools))
        }
        None => (Vec::new(), None),
    };
    let read = SimSettings {
        seed: get("seed").and_then(|seed| u64::try_from(seed.whole()?).ok()),
        catalog: path,
        tools: tools.or_else(|| lost.then(Vec::new)),
    };
    let found = Found {
        reading,
        settings: settings.unwrap_or(resource),
        tools: &places,
        catalog: catalog.as_ref().map(|catalog| reading.shown_file(catalog)),
    };
    match sim::prepare(&read) {
        Ok(prepared) => {
            for warning in &prepared.warnings {
                found.report(Severity::Warning, warning);
            }
            found.names(&prepared, names);
            complete.then_some(read)
        }
        Err(error) => {
            for problem in &error.problems {
                found.report(Severity::Error, problem);
            }
            for name in places.iter().map(|tool| tool.at("name")) {
                let text = name.text().unwrap_or_default();
                names.push(ToolName::at(reading.file(), &name, text));
            }
            None
        }
    }
}

/// A tool that has been checked against [`TOOL`]. What depends on several of its keys is checked
/// when the simulated source prepares it.
pub fn read_tool(reading: &Reading<'_>, value: &Value<'_>) -> Option<SimTool> {
    let behavior = value
        .get("behavior")
        .map(|behavior| read_behavior(reading, &behavior))
        .unwrap_or_default();
    let schema = value.get("input_schema");
    if schema.as_ref().is_some_and(|schema| !schema.is_map()) {
        return None;
    }
    Some(SimTool {
        name: value
            .get("name")?
            .string()
            .filter(|name| !name.is_empty())?,
        description: value
            .get("description")
            .and_then(|text| text.string())
            .unwrap_or_default(),
        input_schema: schema.map_or_else(|| json!({"type": "object"}), |schema| schema.json()),
        pad_to_bytes: value
            .get("pad_to_bytes")
            .and_then(|bytes| bytes.size())
            .filter(|bytes| *bytes > 0),
        lazy: value.get("lazy").map(|lazy| LazySettings {
            placeholder: lazy
                .get("placeholder")
                .and_then(|text| text.string())
                .unwrap_or_default(),
            latency: lazy
                .get("latency")
                .and_then(|latency| latency.duration())
                .unwrap_or_default(),
            fail: lazy.get("fail").and_then(|fail| fail.bool()) == Some(true),
        }),
        hints: value
            .get("hints")
            .map(|hints| read_hints(&hints))
            .unwrap_or_default(),
        rate: value
            .get("rate")
            .and_then(|rate| rate.number())
            .filter(|rate| *rate > 0.0),
        behavior,
    })
}

/// Hints that have been checked against [`HINTS`].
pub fn read_hints(value: &Value<'_>) -> Hints {
    let hint = |key: &str| value.get(key).and_then(|hint| hint.bool());
    Hints {
        read_only: hint("read_only"),
        destructive: hint("destructive"),
        idempotent: hint("idempotent"),
        open_world: hint("open_world"),
    }
}

fn read_behavior(reading: &Reading<'_>, value: &Value<'_>) -> Behavior {
    let mut ends: Option<&str> = None;
    for (key, place, value) in value.entries() {
        if !OUTCOMES.contains(&key) {
            continue;
        }
        match ends {
            None => ends = Some(key),
            Some(first) => reading.error_at(
                place,
                &value.path,
                format!("a call ends in one way, and that is `{first}` already"),
            ),
        }
    }
    let outcome = ends
        .and_then(|key| read_outcome(reading, key, &value.get(key)?))
        .unwrap_or_default();
    let duration = |key: &str| value.get(key).and_then(|value| value.duration());
    Behavior {
        latency: duration("latency").unwrap_or_default(),
        jitter: duration("jitter").unwrap_or_default(),
        error_rate: value
            .get("error_rate")
            .and_then(|rate| rate.number())
            .filter(|rate| (0.0..=1.0).contains(rate))
            .unwrap_or_default(),
        outcome,
    }
}

fn read_outcome(reading: &Reading<'_>, key: &str, value: &Value<'_>) -> Option<Outcome> {
    let message = || {
        value
            .get("message")
            .and_then(|message| message.string())
            .unwrap_or_else(|| format!("simulated {key}"))
    };
    Some(match key {
        "text" => Outcome::Text {
            text: value.get("text")?.string()?,
            repeat: value
                .get("repeat")
                .and_then(|repeat| repeat.size())
                .unwrap_or(1),
        },
        "data" => Outcome::Data(value.get("value")?.json()),
        "image" => Outcome::Image(value.get("bytes")?.size()?),
        "error" => Outcome::Error(message()),
        "panic" => Outcome::Panic(message()),
        "hang" => Outcome::Hang,
        "parts" => Outcome::Parts(
            value
                .items()
                .iter()
                .map(|part| read_behavior(reading, part))
                .collect(),
        ),
        _ => Outcome::Echo,
    })
}
