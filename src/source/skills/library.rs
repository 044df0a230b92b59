//! Everything that a directory of skill files brings, and the look-ups in it (skills 4).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::model::{Skill, SkillTool, Toolset};

/// The skills, toolsets and tools of a directory.
#[derive(Clone, Default)]
pub struct Library {
    /// The skills, by file name and place in it.
    pub skills: Vec<Arc<Skill>>,
    /// The toolsets, likewise.
    pub toolsets: Vec<Arc<Toolset>>,
    /// The values of the variables that templates read, as they were when the files were read.
    /// Unset ones are absent.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Those of them that are no secrets, since the program itself supplies them.
    pub open_variables: Arc<BTreeSet<String>>,
    /// Whether the files are part of the program instead of lying on the disk.
    pub supplied: bool,
    /// The directory of the deployment, in which output files lie.
    pub base_dir: PathBuf,
    /// Name and text of every file: two libraries of the same texts are the same.
    pub files: Vec<(Arc<str>, Arc<str>)>,
}

impl PartialEq for Library {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files && self.variables == other.variables
    }
}

/// Without the variables, which are secret.
impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("skills", &self.skills.len())
            .field("toolsets", &self.toolsets.len())
            .finish_non_exhaustive()
    }
}

/// A name that nothing has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownName {
    /// No skill.
    Skill(String),
    /// No toolset.
    Toolset(String),
    /// No tool.
    Tool(String),
}

/// What a look-up gives: what was found in order, and the names that nothing has.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// What was found, each once, at the place of its first occurrence.
    pub found: Vec<T>,
    /// The names that nothing has, in the order of asking.
    pub unknown: Vec<UnknownName>,
}

impl Library {
    /// The skill of that name.
    pub fn skill(&self, name: &str) -> Option<&Arc<Skill>> {
        self.skills.iter().find(|skill| &*skill.name == name)
    }

    /// The toolset of that name.
    pub fn toolset(&self, name: &str) -> Option<&Arc<Toolset>> {
        self.toolsets.iter().find(|set| &*set.name == name)
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Arc<SkillTool>> {
        self.tools().find(|tool| tool.definition.name() == name)
    }

    /// All tools: by skill, in order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<SkillTool>> {
        self.skills.iter().flat_map(|skill| &skill.tools)
    }

    /// The skills of those names, in order.
    pub fn skills(&self, names: &[String]) -> Found<Arc<Skill>> {
        let mut seen = BTreeSet::new();
        let mut result = Found {
            found: Vec::new(),
            unknown: Vec::new(),
        };
        for name in names {
            match self.skill(name) {
                Some(skill) if seen.insert(Arc::clone(&skill.name)) => {
                    result.found.push(Arc::clone(skill));
                }
                Some(_) => {}
                None => result.unknown.push(UnknownName::Skill(name.clone())),
            }
        }
        result
    }

    /// The tools of those skills, in order.
    pub fn tools_of(&self, skills: &[String]) -> Found<Arc<SkillTool>> {
        self.resolve(skills, &[], &[])
    }

    /// The tools of those toolsets, in order.
    pub fn tools_of_toolsets(&self, toolsets: &[String]) -> Found<Arc<SkillTool>> {
        self.resolve(&[], toolsets, &[])
    }

    /// The tools of the skills, then of the toolsets, then those named; the first occurrence wins.
    pub fn resolve(
        &self,
        skills: &[String],
        toolsets: &[String],
        tools: &[String],
    ) -> Found<Arc<SkillTool>> {
        let mut wanted: Vec<Arc<SkillTool>> = Vec::new();
        let mut unknown = Vec::new();
        let by_name: BTreeMap<&str, &Arc<SkillTool>> = self
            .tools()
            .map(|tool| (tool.definition.name(), tool))
            .collect();
        let mut want = |name: &str, unknown: &mut Vec<UnknownName>| match by_name.get(name) {
            Some(tool) => wanted.push(Arc::clone(tool)),
            None => unknown.push(UnknownName::Tool(name.to_owned())),
        };
        for name in skills {
            match self.skill(name) {
                Some(skill) => skill
                    .tools
                    .iter()
                    .for_each(|tool| want(tool.definition.name(), &mut unknown)),
                None => unknown.push(UnknownName::Skill(name.clone())),
            }
        }
        for name in toolsets {
            match self.toolset(name) {
                Some(set) => set.tools.iter().for_each(|tool| want(tool, &mut unknown)),
                None => unknown.push(UnknownName::Toolset(name.clone())),
            }
        }
        for name in tools {
            want(name, &mut unknown);
        }
        let mut seen = BTreeSet::new();
        wanted.retain(|tool| seen.insert(tool.definition.shared_name()));
        Found {
            found: wanted,
            unknown,
        }
    }
}
