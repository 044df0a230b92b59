//! The simulated source: tools whose behaviour stands in the deployment file (rule 10.4).

mod settings;

pub use settings::{Behavior, LazySettings, Outcome, SimSettings, SimTool};
