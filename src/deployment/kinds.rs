//! The kinds of resources, their impls, and what each may depend on (rule 10.1).

use super::document::{Field, Shape, Table};
use super::{assembly, inference, mcp, sim, skills};

/// One resource.
pub(super) static RESOURCE: Table = Table {
    name: "resource",
    fields: &[
        Field::required("kind", Shape::Elsewhere, "What it is."),
        Field::required("impl", Shape::Elsewhere, "How it is done."),
        Field::optional(
            "deps",
            Shape::Elsewhere,
            "What it depends on: a name or a list of names by key.",
        ),
        Field::optional("settings", Shape::Elsewhere, "Its settings."),
    ],
};

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Source,
    Assembly,
    Model,
    Loop,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Source, Self::Assembly, Self::Model, Self::Loop];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Source => "tool.Source",
            Self::Assembly => "tool.Assembly",
            Self::Model => "inference.Model",
            Self::Loop => "agent.Loop",
        }
    }
}

/// How a resource is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Impl {
    Sim,
    Mcp,
    Skills,
    Memory,
    Middleware,
    OpenAi,
    Scripted,
    Rounds,
}

/// One row per kind and impl.
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    pub(super) implementation: Impl,
    pub(super) settings: &'static Table,
    /// Whether there is something that has to be set.
    pub(super) needs_settings: bool,
    pub(super) deps: &'static [Dep],
}

/// What a resource may depend on.
pub(super) struct Dep {
    /// The key. The last of several means the same as the first.
    pub(super) keys: &'static [&'static str],
    pub(super) kind: Kind,
    /// Only this impl of the kind.
    pub(super) only: Option<&'static str>,
    /// Whether several names, and further keys such as `tool.x`, are allowed.
    pub(super) many: bool,
}

const SOURCES: &[Dep] = &[Dep {
    keys: &["tool"],
    kind: Kind::Source,
    only: None,
    many: true,
}];

/// All of them.
pub(super) static ROWS: [Row; 8] = [
    Row {
        kind: Kind::Source,
        name: "sim",
        implementation: Impl::Sim,
        settings: &sim::SIM,
        needs_settings: false,
        deps: &[],
    },
    Row {
        kind: Kind::Source,
        name: "mcp",
        implementation: Impl::Mcp,
        settings: &mcp::MCP,
        needs_settings: true,
        deps: &[],
    },
    Row {
        kind: Kind::Source,
        name: "skills",
        implementation: Impl::Skills,
        settings: &skills::SKILLS,
        needs_settings: true,
        deps: &[Dep {
            keys: &["mcp"],
            kind: Kind::Source,
            only: Some("mcp"),
            many: true,
        }],
    },
    Row {
        kind: Kind::Assembly,
        name: "memory",
        implementation: Impl::Memory,
        settings: &assembly::MEMORY,
        needs_settings: false,
        deps: SOURCES,
    },
    Row {
        kind: Kind::Assembly,
        name: "middleware",
        implementation: Impl::Middleware,
        settings: &assembly::MIDDLEWARE,
        needs_settings: false,
        deps: SOURCES,
    },
    Row {
        kind: Kind::Model,
        name: "openai",
        implementation: Impl::OpenAi,
        settings: &inference::OPENAI,
        needs_settings: true,
        deps: &[],
    },
    Row {
        kind: Kind::Model,
        name: "scripted",
        implementation: Impl::Scripted,
        settings: &inference::SCRIPTED,
        needs_settings: true,
        deps: &[],
    },
    Row {
        kind: Kind::Loop,
        name: "rounds",
        implementation: Impl::Rounds,
        settings: &inference::ROUNDS,
        needs_settings: false,
        deps: &[
            Dep {
                keys: &["model"],
                kind: Kind::Model,
                only: None,
                many: false,
            },
            Dep {
                keys: &["tools", "tool", "assembly"],
                kind: Kind::Assembly,
                only: None,
                many: false,
            },
        ],
    },
];

impl Dep {
    /// Whether a key under `deps` is of this dependency.
    pub(super) fn takes(&self, key: &str) -> bool {
        self.keys.iter().any(|own| {
            key == *own
                || (self.many
                    && key
                        .strip_prefix(own)
                        .and_then(|rest| rest.strip_prefix('.'))
                        .is_some_and(|further| !further.is_empty()))
        })
    }
}

/// The impls of a kind.
pub(super) fn impls(kind: Kind) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.kind == kind)
}
