//! The settings of a skills source, with everything that its files say.

use std::path::PathBuf;
use std::sync::Arc;

use super::library::Library;
use super::model::SkillTool;
use crate::source::mcp::ServerSettings;

/// The settings of `impl: skills`.
#[derive(Clone, Debug)]
pub struct SkillsSettings {
    /// Where the files lie.
    pub dir: PathBuf,
    /// What they say.
    pub library: Arc<Library>,
    /// The tools that the source brings, in order.
    pub tools: Vec<Arc<SkillTool>>,
    /// The servers of `mcp_servers_file`.
    pub servers: Vec<FileServer>,
}

/// Two settings are the same when their files and what they choose from them are.
impl PartialEq for SkillsSettings {
    fn eq(&self, other: &Self) -> bool {
        let names = |settings: &Self| -> Vec<Arc<str>> {
            let tools = settings.tools.iter();
            tools.map(|tool| tool.definition.shared_name()).collect()
        };
        self.dir == other.dir
            && self.library == other.library
            && self.servers == other.servers
            && names(self) == names(other)
    }
}

/// A server of `mcp_servers_file` (skills 6).
#[derive(Clone, Debug, PartialEq)]
pub struct FileServer {
    /// Its settings, without the variables of [`FileServer::stored`].
    pub settings: ServerSettings,
    /// Variables whose values come from a password store.
    pub stored: Vec<StoredVariable>,
}

/// A variable whose value comes from `pass show`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVariable {
    /// The variable that the server gets.
    pub name: String,
    /// The entry of the password store.
    pub pass: String,
    /// The variable of our environment that is read if the store does not answer, with its value.
    pub fallback: Option<(String, Option<String>)>,
}
