//! The settings of a simulated source, as the deployment file gives them.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::tool::Hints;

/// The settings of `impl: sim`. The default is the small built-in set of tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimSettings {
    /// Makes latencies and errors reproducible; absent means that every start differs.
    pub seed: Option<u64>,
    /// A file of one definition per line, already made absolute.
    pub catalog: Option<PathBuf>,
    /// The tools of the file; `None` together with no `catalog` means the built-in set.
    pub tools: Option<Vec<SimTool>>,
}

/// One simulated tool.
#[derive(Clone, Debug, PartialEq)]
pub struct SimTool {
    /// Its name.
    pub name: String,
    /// Its description; empty when absent.
    pub description: String,
    /// Its schema; `{"type":"object"}` when absent.
    pub input_schema: Value,
    /// The exact size that the description is lengthened to (rule 4.7).
    pub pad_to_bytes: Option<usize>,
    /// Makes it a lazy tool.
    pub lazy: Option<LazySettings>,
    /// Declared effects.
    pub hints: Hints,
    /// Declared rate, in calls per second.
    pub rate: Option<f64>,
    /// What a call does.
    pub behavior: Behavior,
}

/// How a lazy tool loads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LazySettings {
    /// The description that is shown until it is loaded.
    pub placeholder: String,
    /// How long a load takes.
    pub latency: Duration,
    /// Whether loads fail.
    pub fail: bool,
}

/// What a call does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Behavior {
    /// How long it takes.
    pub latency: Duration,
    /// How much longer it may take, at random.
    pub jitter: Duration,
    /// The share of calls that fail, from 0 to 1.
    pub error_rate: f64,
    /// How it ends.
    pub outcome: Outcome,
}

/// How a call ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Outcome {
    /// The arguments as text.
    #[default]
    Echo,
    /// A text, repeated.
    Text {
        /// The text.
        text: String,
        /// How often.
        repeat: usize,
    },
    /// A data part.
    Data(Value),
    /// An image part of that many bytes.
    Image(usize),
    /// An error result.
    Error(String),
    /// A panic.
    Panic(String),
    /// Never ends by itself.
    Hang,
    /// The parts of several outcomes, in order; latency and error rate of the inner ones count too.
    Parts(Vec<Behavior>),
}
