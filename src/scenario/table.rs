//! The keys of a scenario file.

use crate::deployment::SIM_TOOL;
use crate::deployment::document::{Field, Shape, Table};

/// Most rounds of one `idle`.
pub(super) const MOST_IDLE: i64 = 10_000;

pub(super) static SCENARIO: Table = Table {
    name: "scenario",
    fields: &[
        Field::optional(
            "deployment",
            Shape::File,
            "The deployment file to play on; or give resources here.",
        ),
        Field::optional(
            "resources",
            Shape::Elsewhere,
            "What is built, by name, as in a deployment file.",
        ),
        Field::optional(
            "assembly",
            Shape::Name,
            "The assembly to play on; may be left out if there is one.",
        ),
        Field::required(
            "rounds",
            Shape::List(&Shape::Fields(&ROUND)),
            "The rounds in order.",
        ),
    ],
};

static ROUND: Table = Table {
    name: "round",
    fields: &[
        Field::optional("note", Shape::Text, "Shown while it plays."),
        Field::optional(
            "calls",
            Shape::List(&Shape::Fields(&CALL)),
            "The calls of the round, one batch.",
        ),
        Field::optional(
            "idle",
            Shape::Whole(1, MOST_IDLE),
            "So many rounds without calls.",
        ),
        Field::optional(
            "remove",
            Shape::OneOrMany(&Shape::Name),
            "Tools that leave before the visible set is computed.",
        ),
        Field::optional(
            "add",
            Shape::List(&Shape::Fields(&SIM_TOOL)),
            "Simulated tools that come after those have left.",
        ),
        Field::optional(
            "require",
            Shape::OneOrMany(&Shape::Name),
            "Names that are required from this round on.",
        ),
        Field::optional(
            "expect",
            Shape::Fields(&EXPECT),
            "What has to be true at the end of the round.",
        ),
    ],
};

static CALL: Table = Table {
    name: "scenario_call",
    fields: &[
        Field::required("tool", Shape::Name, "The tool."),
        Field::optional("arguments", Shape::Any, "Its arguments (default none)."),
    ],
};

const NAMES: Shape = Shape::OneOrMany(&Shape::Name);

static EXPECT: Table = Table {
    name: "expect",
    fields: &[
        Field::optional("visible", NAMES, "The names sent."),
        Field::optional(
            "withheld",
            Shape::Map(&Shape::Choice(&["definitions", "bytes"])),
            "The names withheld, with the reason.",
        ),
        Field::optional("exposed", NAMES, "What the searches exposed."),
        Field::optional(
            "failed",
            Shape::Map(&Shape::Choice(&[
                "visible_budget",
                "over_budget",
                "load_failed",
            ])),
            "What the searches found and could not expose, with the reason.",
        ),
        Field::optional(
            "evicted",
            Shape::Map(&Shape::Choice(&["idle", "crowded", "removed"])),
            "What left the pool, with the reason.",
        ),
        Field::optional("ok", NAMES, "The tools of calls that succeeded."),
        Field::optional(
            "errors",
            Shape::Map(&Shape::Choice(&[
                "not_found",
                "not_available",
                "validation",
                "timeout",
                "denied",
                "cancelled",
                "overloaded",
                "panic",
                "tool",
            ])),
            "The tools of calls that failed, with the kind of error.",
        ),
        Field::optional(
            "undefined",
            NAMES,
            "The tools of calls that were not in the set of the round.",
        ),
        Field::optional("pool", NAMES, "The names in the pool at the end."),
    ],
};
