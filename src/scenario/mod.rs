//! Scenarios: a demo and a test in one file.
//!
//! [`load_file`] reads one strictly, together with its deployment; a [`Player`] plays it over a
//! started assembly, round by round, and gives a [`Trace`] with everything that was expected and
//! did not happen. The same player serves the command, the console and tests.

mod expect;
mod load;
mod model;
mod player;
mod table;
mod trace;

pub use expect::{Expectation, Miss};
pub use load::{LoadedScenario, load_file, load_text};
pub use model::{Scenario, ScenarioCall, SimPlace, Step};
pub use player::{Player, Stage};
pub use trace::{
    Trace, TraceBudget, TraceCall, TraceEntry, TraceEvicted, TraceFailed, TracePool, TraceRound,
    TraceSearch, TraceVisible, TraceWithheld,
};

#[cfg(test)]
mod tests;
