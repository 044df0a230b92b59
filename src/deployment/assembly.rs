//! Reads the settings of a `tool.Assembly` (rules 4.1 to 4.6 and 9.1).

use super::AssemblyImpl;
use super::document::{Field, Reading, Shape, Table, Value};
use super::layers::{self, LAYERS};
use super::names::TOOL_SEARCH;
use crate::discovery::{BudgetSettings, DynamicSettings, Mode, PoolSettings};
use crate::middleware::settings::MiddlewareSettings;
use crate::registry::GlobMap;

/// The settings of the `memory` impl.
pub(super) static MEMORY: Table = Table {
    name: "memory",
    fields: &[DYNAMIC_FIELD],
};

/// The settings of the `middleware` impl.
pub(super) static MIDDLEWARE: Table = Table {
    name: "middleware",
    fields: &[
        DYNAMIC_FIELD,
        Field::optional(
            "middlewares",
            Shape::Fields(&LAYERS),
            "The layers that every call passes; their order is fixed.",
        ),
        // "Beside `result_limit`" (rule 9.5) is inside `middlewares`; people also put it here.
        Field::optional(
            PART_BUDGET,
            Shape::Whole(0, i64::MAX),
            "The same as in middlewares, which goes before.",
        ),
    ],
};

const PART_BUDGET: &str = "result_part_budget_bytes";

const DYNAMIC_FIELD: Field = Field::optional(
    "dynamic",
    Shape::Fields(&DYNAMIC),
    "Switches dynamic injection on; {} is enough.",
);

const MODES: Shape = Shape::Choice(&["always", "direct", "deferred", "hidden"]);

static DYNAMIC: Table = Table {
    name: "dynamic",
    fields: &[
        Field::optional(
            "default",
            MODES,
            "The mode of tools that no entry names (default deferred).",
        ),
        Field::optional(
            "exposures",
            Shape::Map(&MODES),
            "Modes by tool name or glob; an exact name beats a glob, a longer glob a shorter one.",
        ),
        Field::optional(
            "budget",
            Shape::Fields(&BUDGET),
            "The bounds of what one round sends.",
        ),
        Field::optional(
            "discovery",
            Shape::Fields(&DISCOVERY),
            "The bounds of what a session keeps.",
        ),
        Field::optional(
            OLD_KEYS[0],
            Shape::Whole(0, u32::MAX as i64),
            "Deprecated: use discovery.idle_rounds.",
        ),
        Field::optional(
            OLD_KEYS[1],
            Shape::Whole(0, u32::MAX as i64),
            "Deprecated: use discovery.idle_rounds.",
        ),
    ],
};

/// They seed `idle_rounds` when it is unset (rule 4.5).
const OLD_KEYS: [&str; 2] = ["selected_retention", "recent_window"];

static BUDGET: Table = Table {
    name: "budget",
    fields: &[
        Field::optional(
            "max_definitions",
            Shape::Whole(0, i64::MAX),
            "Most definitions in one round (default 32; 0 means the default).",
        ),
        Field::optional(
            "max_bytes",
            Shape::Whole(0, i64::MAX),
            "Most bytes in one round (default 16384; 0 means the default).",
        ),
    ],
};

static DISCOVERY: Table = Table {
    name: "discovery",
    fields: &[
        Field::optional(
            "max_tools",
            Shape::Whole(0, i64::MAX),
            "Most tools in the pool (default: budget.max_definitions; 0 means the default).",
        ),
        Field::optional(
            "max_bytes",
            Shape::Whole(0, i64::MAX),
            "Most bytes in the pool (default: budget.max_bytes; 0 means the default).",
        ),
        Field::optional(
            "idle_rounds",
            Shape::Whole(0, u32::MAX as i64),
            "Rounds without use after which a tool leaves (default 10; 0 means the default).",
        ),
    ],
};

/// The settings of an assembly.
pub(super) struct AssemblySettings {
    pub(super) dynamic: Option<DynamicSettings>,
    pub(super) middlewares: Option<MiddlewareSettings>,
}

/// The settings; an assembly without the key has none.
pub(super) fn read(
    reading: &Reading<'_>,
    settings: Option<&Value<'_>>,
    implementation: AssemblyImpl,
    sources: &[String],
) -> AssemblySettings {
    let layers = settings.and_then(|settings| settings.get("middlewares"));
    match implementation {
        AssemblyImpl::Memory => {
            if let Some(settings) = settings {
                check_memory(reading, settings);
            }
        }
        AssemblyImpl::Middleware => {
            if let Some(settings) = settings {
                reading.check(settings, &Shape::Fields(&MIDDLEWARE));
            }
        }
    }
    AssemblySettings {
        dynamic: settings
            .and_then(|settings| settings.get("dynamic"))
            .map(|dynamic| read_dynamic(reading, &dynamic)),
        middlewares: (implementation == AssemblyImpl::Middleware).then(|| {
            let outer = settings.and_then(|settings| settings.get(PART_BUDGET));
            let inner = layers
                .as_ref()
                .is_some_and(|layers| layers.has(PART_BUDGET));
            let mut layers = layers.map_or_else(MiddlewareSettings::default, |layers| {
                layers::read(reading, &layers, sources)
            });
            if let Some(bytes) = outer.and_then(|bytes| bytes.size()).filter(|_| !inner) {
                layers.result_part_budget_bytes = bytes;
            }
            layers
        }),
    }
}

/// As the table says, but with a better sentence about the key that the other impl has.
fn check_memory(reading: &Reading<'_>, settings: &Value<'_>) {
    if !settings.has("middlewares") {
        return reading.check(settings, &Shape::Fields(&MEMORY));
    }
    for (key, place, value) in settings.entries() {
        match MEMORY.field(key) {
            Some(field) => reading.check(&value, &field.shape),
            None if key == "middlewares" => reading.error_at(
                place,
                &value.path,
                "`middlewares` needs `impl: middleware`; `memory` has no chain",
            ),
            None => reading.unknown_key(key, place, &value.path, MEMORY.keys()),
        }
    }
}

fn read_dynamic(reading: &Reading<'_>, dynamic: &Value<'_>) -> DynamicSettings {
    let exposures = dynamic.get("exposures");
    if let Some(exposures) = &exposures {
        layers::globs_are_named(reading, exposures);
        if let Some(own) = exposures.get(TOOL_SEARCH)
            && let Some(mode) = mode(&own)
            && mode != Mode::Always
        {
            reading.error(
                &own,
                format!(
                    "`{TOOL_SEARCH}` is always visible and cannot be `{}`",
                    mode.as_str()
                ),
            );
        }
    }
    let budget = read_budget(dynamic.get("budget").as_ref());
    DynamicSettings {
        default: dynamic
            .get("default")
            .and_then(|value| mode(&value))
            .unwrap_or_default(),
        exposures: exposures.map_or_else(GlobMap::default, |exposures| {
            GlobMap::new(
                exposures
                    .entries()
                    .filter_map(|(glob, _, value)| Some((glob.to_owned(), mode(&value)?))),
            )
        }),
        budget,
        discovery: read_pool(reading, dynamic, budget),
    }
}

fn mode(value: &Value<'_>) -> Option<Mode> {
    [Mode::Always, Mode::Direct, Mode::Deferred, Mode::Hidden]
        .into_iter()
        .find(|mode| value.text() == Some(mode.as_str()))
}

/// A size of which zero means "default" (rule 4.6).
fn size(map: Option<&Value<'_>>, key: &str) -> Option<usize> {
    map?.get(key)?.size().filter(|size| *size > 0)
}

/// As [`size`], for a number of rounds.
fn rounds(map: Option<&Value<'_>>, key: &str) -> Option<u32> {
    size(map, key).and_then(|rounds| u32::try_from(rounds).ok())
}

fn read_budget(budget: Option<&Value<'_>>) -> BudgetSettings {
    let defaults = BudgetSettings::default();
    BudgetSettings {
        max_definitions: size(budget, "max_definitions").unwrap_or(defaults.max_definitions),
        max_bytes: size(budget, "max_bytes").unwrap_or(defaults.max_bytes),
    }
}

fn read_pool(reading: &Reading<'_>, dynamic: &Value<'_>, budget: BudgetSettings) -> PoolSettings {
    let pool = dynamic.get("discovery");
    let declared = rounds(pool.as_ref(), "idle_rounds");
    for (key, place, value) in dynamic.entries() {
        if OLD_KEYS.contains(&key) {
            let ignored = if declared.is_some() {
                ", which is set here, so that it has no effect"
            } else {
                ""
            };
            reading.warn_at(
                place,
                &value.path,
                format!("`{key}` is deprecated; use `discovery.idle_rounds`{ignored}"),
            );
        }
    }
    let seed = OLD_KEYS
        .iter()
        .filter_map(|key| rounds(Some(dynamic), key))
        .max();
    PoolSettings {
        max_tools: size(pool.as_ref(), "max_tools").unwrap_or(budget.max_definitions),
        max_bytes: size(pool.as_ref(), "max_bytes").unwrap_or(budget.max_bytes),
        idle_rounds: declared
            .or(seed)
            .unwrap_or(PoolSettings::default().idle_rounds),
    }
}
