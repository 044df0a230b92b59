//! The deployment file: what stands in it, what is wrong with it, and what is built from it
//! (section 10). The rooms own their settings types; this one reads them from text.

mod assembly;
mod combine;
mod dependencies;
pub mod document;
mod environment;
mod identity;
pub mod import;
mod inference;
mod kinds;
mod layer_text;
mod layers;
mod load;
mod mcp;
mod model;
mod names;
mod order;
mod problem;
mod resources;
mod schema;
mod servers_file;
mod sim;
mod skill_files;
mod skills;

pub use combine::{Input, combine, from_command, from_url, load_inputs};
pub use environment::{EnvValue, Environment, ProcessEnvironment, Supplied};
pub use layer_text::read_layer;
pub(crate) use load::load_text_with;
pub use load::{Loaded, load_file, load_text, read_text};
pub use model::{
    AssemblyImpl, AssemblySpec, Deployment, LoopSpec, ModelSpec, Origin, SourceSettings, SourceSpec,
};
pub use problem::{Place, Problem, Problems, Severity};
pub use resources::read_resources;
pub use schema::schema;
pub use sim::{HINTS, TOOL as SIM_TOOL, read_hints, read_tool as read_sim_tool};
