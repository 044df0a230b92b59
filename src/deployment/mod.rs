//! The deployment file: what stands in it, what is wrong with it, and what is built from it
//! (section 10). The rooms own their settings types; this one reads them from text.

mod environment;
mod model;
mod problem;

pub use environment::{EnvValue, Environment, ProcessEnvironment, Supplied};
pub use model::{
    AssemblyImpl, AssemblySpec, Deployment, LoopSpec, ModelSpec, Origin, SourceSettings, SourceSpec,
};
pub use problem::{Place, Problem, Problems, Severity};
