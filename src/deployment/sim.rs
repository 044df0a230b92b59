//! Reads the settings of `impl: sim` (rule 10.4).

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::document::{Field, Reading, Shape, Table, Value};
use super::names::ToolName;
use super::{Place, Problem, Severity};
use crate::source::sim::{self, Behavior, LazySettings, Outcome, Prepared, SimSettings, SimTool};
use crate::tool::Hints;

/// The settings.
pub(super) static SIM: Table = Table {
    name: "sim",
    fields: &[
        Field::optional(
            "seed",
            Shape::Whole(0, i64::MAX),
            "Makes latencies and errors reproducible.",
        ),
        Field::optional(
            "catalog",
            Shape::File,
            "A file of one definition per line: name, server, description, input_schema.",
        ),
        Field::optional(
            "tools",
            Shape::List(&Shape::Fields(&TOOL)),
            "The tools. Without tools and catalog there is a small built-in set.",
        ),
    ],
};

/// One simulated tool; also what a scenario adds.
pub static TOOL: Table = Table {
    name: "sim_tool",
    fields: &[
        Field::required("name", Shape::Name, "The name of the tool."),
        Field::optional("description", Shape::Text, "What it does, for the model."),
        Field::optional(
            "input_schema",
            Shape::Object,
            "The JSON Schema of its arguments (default: any object).",
        ),
        Field::optional(
            "pad_to_bytes",
            Shape::Whole(1, i64::MAX),
            "Lengthens the description until the definition has exactly this size.",
        ),
        Field::optional(
            "lazy",
            Shape::Fields(&LAZY),
            "Shows a placeholder until the definition is loaded.",
        ),
        Field::optional("hints", Shape::Fields(&HINTS), "Declared effects."),
        Field::optional(
            "rate",
            Shape::Positive,
            "Declared rate, in calls per second.",
        ),
        Field::optional(
            "behavior",
            Shape::Fields(&BEHAVIOR),
            "What a call does (default: echo).",
        ),
    ],
};

/// What a tool declares about its effects; the names are the same in skill files.
pub static HINTS: Table = Table {
    name: "hints",
    fields: &[
        Field::optional("read_only", Shape::Bool, "It changes nothing."),
        Field::optional("destructive", Shape::Bool, "It may destroy something."),
        Field::optional(
            "idempotent",
            Shape::Bool,
            "Calling twice does no more than calling once.",
        ),
        Field::optional("open_world", Shape::Bool, "It reaches other systems."),
    ],
};

static LAZY: Table = Table {
    name: "lazy",
    fields: &[
        Field::optional(
            "placeholder",
            Shape::Text,
            "The description until it is loaded.",
        ),
        Field::optional(
            "latency",
            Shape::Duration { zero: true },
            "How long a load takes.",
        ),
        Field::optional("fail", Shape::Bool, "Whether loads fail."),
    ],
};

static BEHAVIOR: Table = Table {
    name: "behavior",
    fields: &[
        Field::optional(
            "latency",
            Shape::Duration { zero: true },
            "How long a call takes.",
        ),
        Field::optional(
            "jitter",
            Shape::Duration { zero: true },
            "How much longer it may take, at random.",
        ),
        Field::optional("error_rate", Shape::Share, "The share of calls that fail."),
        Field::optional("echo", Shape::Flag, "Answers with the arguments as text."),
        Field::optional("text", Shape::Fields(&TEXT), "Answers with a text."),
        Field::optional("data", Shape::Fields(&DATA), "Answers with a JSON value."),
        Field::optional("image", Shape::Fields(&IMAGE), "Answers with an image."),
        Field::optional("error", Shape::Fields(&MESSAGE), "Answers with an error."),
        Field::optional("panic", Shape::Fields(&MESSAGE), "Panics."),
        Field::optional("hang", Shape::Flag, "Never answers."),
        Field::optional(
            "parts",
            Shape::List(&Shape::Fields(&BEHAVIOR)),
            "Answers with the parts of several behaviors.",
        ),
    ],
};

/// The keys of [`BEHAVIOR`] that say how a call ends; at most one of them.
pub(super) const OUTCOMES: [&str; 8] = [
    "echo", "text", "data", "image", "error", "panic", "hang", "parts",
];

static TEXT: Table = Table {
    name: "text_behavior",
    fields: &[
        Field::required("text", Shape::Text, "The text."),
        Field::optional(
            "repeat",
            Shape::Whole(0, i64::MAX),
            "How often it is repeated (default 1).",
        ),
    ],
};

static DATA: Table = Table {
    name: "data_behavior",
    fields: &[Field::required("value", Shape::Any, "The value.")],
};

static IMAGE: Table = Table {
    name: "image_behavior",
    fields: &[Field::required(
        "bytes",
        Shape::Whole(1, i64::MAX),
        "The size of the image.",
    )],
};

static MESSAGE: Table = Table {
    name: "message_behavior",
    fields: &[Field::optional("message", Shape::Text, "The message.")],
};

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

/// Where the things are that the simulated source speaks of.
struct Found<'a, 'd> {
    reading: &'a Reading<'a>,
    settings: &'a Value<'d>,
    tools: &'a [Value<'d>],
    catalog: Option<Arc<str>>,
}

impl Found<'_, '_> {
    fn report(&self, severity: Severity, problem: &sim::Problem) {
        let (file, place, path) = match &problem.place {
            sim::Place::Catalog {
                path, line, column, ..
            } => (
                self.catalog_file(path),
                place(*line, *column),
                String::new(),
            ),
            sim::Place::Tool { index, key } => {
                let tool = self.tools.get(*index).unwrap_or(self.settings);
                let value = tool.at(key);
                (Arc::clone(self.reading.file()), value.place(), value.path)
            }
            sim::Place::Setting(key) => {
                let value = self.settings.at(key);
                (Arc::clone(self.reading.file()), value.place(), value.path)
            }
        };
        self.reading.add(Problem {
            severity,
            file,
            line: place.line,
            column: place.column,
            path,
            message: problem.message.clone(),
            suggestion: problem.suggestion.clone(),
        });
    }

    fn names(&self, prepared: &Prepared, names: &mut Vec<ToolName>) {
        for (index, tool) in prepared.tools.iter().enumerate() {
            let name = tool.definition.name();
            names.push(match (&tool.defined_at, self.tools.get(index)) {
                (Some(at), _) => {
                    let (path, line) = at.rsplit_once(':').unwrap_or((at, "1"));
                    let line = line.parse().unwrap_or(1);
                    ToolName::in_file(name, &self.catalog_file(Path::new(path)), place(line, 1))
                }
                (None, Some(value)) => ToolName::at(self.reading.file(), &value.at("name"), name),
                (None, None) => ToolName::at(self.reading.file(), self.settings, name),
            });
        }
    }

    fn catalog_file(&self, path: &Path) -> Arc<str> {
        self.catalog
            .clone()
            .unwrap_or_else(|| path.display().to_string().into())
    }
}

fn place(line: usize, column: usize) -> Place {
    Place {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
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
