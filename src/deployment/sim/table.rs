//! The keys of a simulated source and of its tools.

use crate::deployment::document::{Field, Shape, Table};

/// The settings.
pub(in crate::deployment) static SIM: Table = Table {
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
pub(in crate::deployment) const OUTCOMES: [&str; 8] = [
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
