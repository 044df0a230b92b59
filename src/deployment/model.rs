//! What a deployment file says, once it has been found valid.

use std::path::PathBuf;
use std::sync::Arc;

use super::Place;
use crate::discovery::DynamicSettings;
use crate::inference::{ModelSettings, RoundsSettings};
use crate::middleware::settings::MiddlewareSettings;
use crate::source::mcp::McpSettings;
use crate::source::sim::SimSettings;
use crate::source::skills::SkillsSettings;

/// Everything that a host has to build. Each list is in build order: what a resource depends on
/// stands before it, and apart from that the order is that of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Where it came from.
    pub origin: Origin,
    /// Where tools come from.
    pub sources: Vec<SourceSpec>,
    /// What serves tools. An assembly has at least one source.
    pub assemblies: Vec<AssemblySpec>,
    /// Models.
    pub models: Vec<ModelSpec>,
    /// Loops in which a model uses the tools of an assembly.
    pub loops: Vec<LoopSpec>,
}

impl Deployment {
    /// The source of that name.
    pub fn source(&self, name: &str) -> Option<&SourceSpec> {
        self.sources.iter().find(|source| source.name == name)
    }

    /// The assembly of that name.
    pub fn assembly(&self, name: &str) -> Option<&AssemblySpec> {
        self.assemblies
            .iter()
            .find(|assembly| assembly.name == name)
    }

    /// The model of that name.
    pub fn model(&self, name: &str) -> Option<&ModelSpec> {
        self.models.iter().find(|model| model.name == name)
    }

    /// The loop of that name.
    pub fn agent(&self, name: &str) -> Option<&LoopSpec> {
        self.loops.iter().find(|agent| agent.name == name)
    }
}

/// Where a deployment came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file as the operator named it, or what stands for it, such as `demo`.
    pub name: Arc<str>,
    /// The text as it was read, without any expansion.
    pub text: Arc<str>,
    /// What relative files are relative to.
    pub base_dir: PathBuf,
}

/// A `tool.Source`.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// The name of the resource.
    pub name: String,
    /// Position among the resources of the file, from 0: the earlier holds a contested name
    /// (rule 2.1).
    pub place: u32,
    /// Where the resource stands in the file.
    pub at: Place,
    /// Its settings by `impl`.
    pub settings: SourceSettings,
    /// The MCP sources that a skills source may name servers of.
    pub deps: Vec<String>,
}

impl SourceSpec {
    /// Its place among those who bring tools (rule 2.1). The first place belongs to the assembly,
    /// whose `tool_search` nobody displaces.
    pub fn precedence(&self) -> u32 {
        self.place.saturating_add(1)
    }
}

/// The settings of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceSettings {
    /// `impl: sim`.
    Sim(SimSettings),
    /// `impl: mcp`.
    Mcp(McpSettings),
    /// `impl: skills`.
    Skills(SkillsSettings),
}

impl SourceSettings {
    /// The `impl`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sim(_) => "sim",
            Self::Mcp(_) => "mcp",
            Self::Skills(_) => "skills",
        }
    }
}

/// The `impl` of an assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssemblyImpl {
    /// Without a chain.
    Memory,
    /// With the chain of section 9.
    Middleware,
}

impl AssemblyImpl {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Middleware => "middleware",
        }
    }
}

/// A `tool.Assembly`.
#[derive(Clone, Debug, PartialEq)]
pub struct AssemblySpec {
    /// The name of the resource.
    pub name: String,
    /// Position among the resources of the file, from 0.
    pub place: u32,
    /// Where the resource stands in the file.
    pub at: Place,
    /// Its `impl`.
    pub implementation: AssemblyImpl,
    /// Its sources in the order of `deps`, each once; at least one.
    pub sources: Vec<String>,
    /// Dynamic injection; absent means that every tool is visible (rule 4.1).
    pub dynamic: Option<DynamicSettings>,
    /// The layers; absent means the `memory` impl, which has no chain at all.
    pub middlewares: Option<MiddlewareSettings>,
}

/// An `inference.Model`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// The name of the resource.
    pub name: String,
    /// Where the resource stands in the file.
    pub at: Place,
    /// Its settings by `impl`.
    pub settings: ModelSettings,
}

/// An `agent.Loop`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopSpec {
    /// The name of the resource.
    pub name: String,
    /// Where the resource stands in the file.
    pub at: Place,
    /// The model that it asks.
    pub model: String,
    /// The assembly whose tools it uses.
    pub assembly: String,
    /// Its settings.
    pub settings: RoundsSettings,
}
