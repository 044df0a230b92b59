//! Reads `middlewares` of an assembly (section 9).

use super::document::{Field, Reading, Shape, Table, Value};
use crate::middleware::TimeoutRule;
use crate::middleware::settings::{
    ApprovalSettings, AuditSettings, ConcurrencySettings, DEFAULT_MARKER, DEFAULT_PART_BUDGET,
    FaultSettings, MiddlewareSettings, RateLimitSettings, RedactSettings, ResultLimitSettings,
};
use crate::registry::GlobMap;
use crate::secrets::MASK;

/// The layers, in the order in which a call passes them.
pub(super) static LAYERS: Table = Table {
    name: "middlewares",
    fields: &[
        Field::optional(
            "recover",
            Shape::Fields(&RECOVER),
            "Turns a panic into an error result.",
        ),
        Field::optional(
            "telemetry",
            Shape::Fields(&TELEMETRY),
            "Spans, counters and a histogram for OpenTelemetry.",
        ),
        Field::optional(
            "audit",
            Shape::Fields(&AUDIT),
            "Appends one JSON line per call to a file.",
        ),
        Field::optional(
            "result_limit",
            Shape::Fields(&RESULT_LIMIT),
            "Bounds what a result may hold.",
        ),
        Field::optional(
            "result_part_budget_bytes",
            Shape::Whole(0, i64::MAX),
            "Bounds non-text parts even without result_limit (default 1048576; 0: no cap).",
        ),
        Field::optional(
            "redact",
            Shape::Fields(&REDACT),
            "Replaces what patterns match in results.",
        ),
        Field::optional(
            "validate",
            Shape::Fields(&VALIDATE),
            "Checks arguments against the input schema.",
        ),
        Field::optional(
            "approval",
            Shape::Fields(&APPROVAL),
            "Asks the operator before a call.",
        ),
        Field::optional(
            "timeout",
            Shape::Fields(&TIMEOUT),
            "Bounds calls that have no deadline yet.",
        ),
        Field::optional(
            "rate_limit",
            Shape::Fields(&RATE_LIMIT),
            "Bounds how many calls start per second.",
        ),
        Field::optional(
            "concurrency",
            Shape::Fields(&CONCURRENCY),
            "Bounds how many calls run at once.",
        ),
        Field::optional("fault", Shape::Fields(&FAULT), "Injects faults for drills."),
    ],
};

const ENABLED: Field = Field::optional(
    "enabled",
    Shape::Bool,
    "Whether the layer is there (default true).",
);

static RECOVER: Table = Table {
    name: "recover",
    fields: &[ENABLED],
};

static TELEMETRY: Table = Table {
    name: "telemetry",
    fields: &[ENABLED],
};

static VALIDATE: Table = Table {
    name: "validate",
    fields: &[ENABLED],
};

static AUDIT: Table = Table {
    name: "audit",
    fields: &[Field::required(
        "file",
        Shape::File,
        "The file that is appended to.",
    )],
};

static RESULT_LIMIT: Table = Table {
    name: "result_limit",
    fields: &[
        Field::required(
            "max",
            Shape::Whole(1, i64::MAX),
            "Most characters of all text parts together.",
        ),
        Field::optional(
            "marker",
            Shape::Text,
            "What ends a text that was cut (default …[result truncated]).",
        ),
        Field::optional(
            "part_budget_bytes",
            Shape::Whole(0, i64::MAX),
            "Most bytes of non-text parts (default: result_part_budget_bytes; 0: no cap).",
        ),
    ],
};

static REDACT: Table = Table {
    name: "redact",
    fields: &[
        Field::required(
            "patterns",
            Shape::List(&Shape::Pattern),
            "Regular expressions.",
        ),
        Field::optional(
            "replacement",
            Shape::Text,
            "What stands in place of a match (default ••••).",
        ),
    ],
};

static APPROVAL: Table = Table {
    name: "approval",
    fields: &[
        Field::optional(
            "tools",
            Shape::List(&Shape::Glob),
            "The tools that need an approval (default: all).",
        ),
        Field::optional(
            "timeout",
            Shape::Duration { zero: false },
            "How long the operator is waited for (default: until the call's deadline).",
        ),
    ],
};

static TIMEOUT: Table = Table {
    name: "timeout",
    fields: &[
        Field::optional(
            "default",
            Shape::Duration { zero: true },
            "For tools that no glob names; 0 lifts it.",
        ),
        Field::optional(
            "tools",
            Shape::Map(&Shape::Duration { zero: true }),
            "By tool name or glob; 0 lifts it.",
        ),
    ],
};

static RATE_LIMIT: Table = Table {
    name: "rate_limit",
    fields: &[
        Field::optional(
            "per_second",
            Shape::Positive,
            "Calls per second (default: only the rates that tools declare count).",
        ),
        Field::optional(
            "burst",
            Shape::Whole(1, u32::MAX as i64),
            "How many calls may start at once after a pause (default 1).",
        ),
        Field::optional(
            "tools",
            Shape::List(&Shape::Glob),
            "The tools that per_second is for (default: all).",
        ),
    ],
};

static CONCURRENCY: Table = Table {
    name: "concurrency",
    fields: &[
        Field::optional("limit", Shape::Whole(1, i64::MAX), "Most calls at once."),
        Field::optional(
            "per_source",
            Shape::Map(&Shape::Whole(1, i64::MAX)),
            "Most calls at once by source.",
        ),
    ],
};

static FAULT: Table = Table {
    name: "fault",
    fields: &[
        Field::optional(
            "tools",
            Shape::List(&Shape::Glob),
            "The tools that suffer (default: all).",
        ),
        Field::optional(
            "latency",
            Shape::Duration { zero: true },
            "Added before each call.",
        ),
        Field::optional("error_rate", Shape::Share, "The share of calls that fail."),
        Field::optional(
            "drop",
            Shape::Chance,
            "The share of calls that are never answered; true means all.",
        ),
    ],
};

/// The layers, after a check against [`LAYERS`]. `sources` are those of the assembly, for
/// `concurrency.per_source`.
pub(super) fn read(
    reading: &Reading<'_>,
    layers: &Value<'_>,
    sources: &[String],
) -> MiddlewareSettings {
    let enabled = |key: &str| {
        layers.get(key).is_some_and(|layer| {
            layer.get("enabled").and_then(|enabled| enabled.bool()) != Some(false)
        })
    };
    MiddlewareSettings {
        recover: enabled("recover"),
        telemetry: enabled("telemetry"),
        audit: layers.get("audit").and_then(|audit| {
            let file = reading.resolve(&audit.get("file")?)?;
            Some(AuditSettings { file })
        }),
        result_limit: layers.get("result_limit").and_then(|limit| {
            Some(ResultLimitSettings {
                max: limit.get("max")?.size()?,
                marker: limit
                    .get("marker")
                    .and_then(|marker| marker.string())
                    .unwrap_or_else(|| DEFAULT_MARKER.to_owned()),
                part_budget_bytes: limit
                    .get("part_budget_bytes")
                    .and_then(|bytes| bytes.size()),
            })
        }),
        result_part_budget_bytes: layers
            .get("result_part_budget_bytes")
            .and_then(|bytes| bytes.size())
            .unwrap_or(DEFAULT_PART_BUDGET),
        redact: layers.get("redact").and_then(|redact| {
            Some(RedactSettings {
                patterns: redact.get("patterns")?.strings(),
                replacement: redact
                    .get("replacement")
                    .and_then(|replacement| replacement.string())
                    .unwrap_or_else(|| MASK.to_owned()),
            })
        }),
        validate: enabled("validate"),
        approval: layers.get("approval").map(|approval| ApprovalSettings {
            tools: globs(&approval),
            timeout: approval
                .get("timeout")
                .and_then(|timeout| timeout.duration()),
        }),
        timeout: layers
            .get("timeout")
            .map(|timeout| read_timeout(reading, &timeout)),
        rate_limit: layers.get("rate_limit").map(|limit| RateLimitSettings {
            per_second: limit.get("per_second").and_then(|rate| rate.number()),
            burst: limit
                .get("burst")
                .and_then(|burst| u32::try_from(burst.whole()?).ok())
                .unwrap_or(1),
            tools: globs(&limit),
        }),
        concurrency: layers
            .get("concurrency")
            .map(|concurrency| read_concurrency(reading, &concurrency, sources)),
        fault: layers.get("fault").map(|fault| FaultSettings {
            tools: globs(&fault),
            latency: fault
                .get("latency")
                .and_then(|latency| latency.duration())
                .unwrap_or_default(),
            error_rate: fault.get("error_rate").map_or(0.0, |rate| chance(&rate)),
            drop: fault.get("drop").map_or(0.0, |drop| chance(&drop)),
        }),
    }
}

fn globs(layer: &Value<'_>) -> Vec<String> {
    layer
        .get("tools")
        .map_or_else(|| vec!["*".to_owned()], |tools| tools.strings())
}

fn chance(value: &Value<'_>) -> f64 {
    match value.bool() {
        Some(certain) => f64::from(u8::from(certain)),
        None => value.number().unwrap_or_default(),
    }
}

fn read_timeout(reading: &Reading<'_>, timeout: &Value<'_>) -> TimeoutRule {
    let tools = timeout.get("tools");
    let entries = tools.as_ref().map_or_else(Vec::new, |tools| {
        globs_are_named(reading, tools);
        tools
            .entries()
            .filter_map(|(glob, _, value)| Some((glob.to_owned(), value.duration()?)))
            .collect()
    });
    TimeoutRule {
        default: timeout.get("default").and_then(|bound| bound.duration()),
        tools: GlobMap::new(entries),
    }
}

/// Reports empty globs: they match nothing.
pub(super) fn globs_are_named(reading: &Reading<'_>, map: &Value<'_>) {
    for (glob, place, value) in map.entries() {
        if glob.is_empty() {
            reading.error_at(place, &value.path, "a tool name or glob must not be empty");
        }
    }
}

fn read_concurrency(
    reading: &Reading<'_>,
    concurrency: &Value<'_>,
    sources: &[String],
) -> ConcurrencySettings {
    let per_source = concurrency.get("per_source");
    if let Some(map) = &per_source {
        for (name, place, value) in map.entries() {
            if !sources.iter().any(|source| source == name) {
                reading.unknown(
                    place,
                    &value.path,
                    format!("`{name}` is not a source of this assembly"),
                    name,
                    sources.iter().map(String::as_str),
                );
            }
        }
    }
    ConcurrencySettings {
        limit: concurrency.get("limit").and_then(|limit| limit.size()),
        per_source: per_source.map_or_else(Vec::new, |map| {
            map.entries()
                .filter_map(|(name, _, value)| Some((name.to_owned(), value.size()?)))
                .collect()
        }),
    }
}
