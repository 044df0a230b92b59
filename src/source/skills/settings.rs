//! The settings of a skills source, as the deployment file gives them.

use std::path::PathBuf;

/// The settings of `impl: skills`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillsSettings {
    /// The directory of `*.skill.yaml` and `*.toolset.yaml`, already made absolute.
    pub dir: PathBuf,
    /// Where the deployment file lies: the bound of every `output_file`.
    pub base_dir: PathBuf,
    /// The skills to load.
    pub skills: Option<Vec<String>>,
    /// The toolsets to load.
    pub toolsets: Option<Vec<String>>,
    /// The tools to load. All three lists absent means everything in the directory.
    pub tools: Option<Vec<String>>,
    /// A file of further MCP servers, already made absolute.
    pub mcp_servers_file: Option<PathBuf>,
}
