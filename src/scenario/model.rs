//! What a scenario says, once it has been found valid.

use std::sync::Arc;

use serde_json::Value;

use super::Expectation;
use crate::registry::Owner;
use crate::source::sim::SimTool;

/// A scenario. Idle rounds are written out: every step is one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file as the operator named it.
    pub name: Arc<str>,
    /// The assembly that it plays on.
    pub assembly: String,
    /// The simulated source of the assembly, to which tools can be added.
    pub sim: Option<SimPlace>,
    /// The rounds.
    pub steps: Vec<Step>,
}

/// Where added tools go.
#[derive(Clone, Debug, PartialEq)]
pub struct SimPlace {
    /// The source as the owner of its tools.
    pub owner: Owner,
    /// Its seed.
    pub seed: Option<u64>,
}

/// One round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Shown while it plays.
    pub note: Option<Arc<str>>,
    /// Tools that leave the registry before the visible set is computed.
    pub remove: Vec<String>,
    /// Tools that come, or are replaced, after that.
    pub add: Vec<SimTool>,
    /// Names that are required from this round on.
    pub require: Vec<Arc<str>>,
    /// The batch.
    pub calls: Vec<ScenarioCall>,
    /// What has to be true at the end of the round.
    pub expect: Expectation,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioCall {
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments as they stand in the file; absent ones are `null`, which means none.
    pub arguments: Value,
}
