//! What a source's files hold, as rows that a screen can show (skills 7). Made once, when the
//! source starts.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::model::{Action, Retry, Skill, SkillTool, Toolset};
use super::preview::as_written;
use super::settings::SkillsSettings;
use crate::secrets::Secrets;
use crate::tool::Hints;

/// The skills and toolsets of one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shelf {
    /// The source.
    pub source: Arc<str>,
    /// Where its files lie, in words if that is nowhere on the disk.
    pub dir: Arc<str>,
    /// The skills, by file name and place in it.
    pub skills: Arc<[SkillRow]>,
    /// The toolsets, likewise.
    pub toolsets: Arc<[ToolsetRow]>,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkillRow {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: String,
    /// Its version, as written.
    pub version: Option<String>,
    /// What is added to the system prompt.
    pub append: Option<String>,
    /// Parameters of the prompt with their defaults; an empty default means "ask".
    pub parameters: Vec<(String, String)>,
    /// The only variables that its templates may read; `None` means those they mention.
    pub required_env: Option<Vec<String>>,
    /// What is taken out of results for later prompts: tool, pattern, parameter.
    pub extract: Vec<(String, String, String)>,
    /// Its tools, in order.
    pub tools: Vec<Arc<FileToolRow>>,
    /// Where it stands, as `file:line`.
    pub defined_at: Arc<str>,
}

/// A toolset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolsetRow {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: String,
    /// Its tools, in order.
    pub tools: Vec<Arc<str>>,
    /// Where it stands, as `file:line`.
    pub defined_at: Arc<str>,
}

/// A tool of a skill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileToolRow {
    /// Its name.
    pub name: Arc<str>,
    /// `http` or `mcp`.
    pub kind: &'static str,
    /// The request as the file has it, with its placeholders.
    pub request: String,
    /// Where the body of a success is written, below the directory of the deployment.
    pub output_file: Option<String>,
    /// How often the same call runs in one session; `None` where the file does not say.
    pub max_repeats: Option<i64>,
    /// When a failed call is tried again; `None` where the file does not say.
    pub retry: Option<Retry>,
    /// The bound of one attempt of an HTTP request.
    pub timeout: Duration,
    /// Declared effects.
    pub hints: Hints,
    /// Whether the deployment has chosen the tool; the others stand in the files alone.
    pub brought: bool,
    /// Where it stands, as `file:line`.
    pub defined_at: Arc<str>,
}

impl Shelf {
    /// The rows of a source.
    pub fn new(source: &Arc<str>, settings: &SkillsSettings, secrets: &Secrets) -> Self {
        let library = &settings.library;
        let mask = |text: &str| secrets.mask(text).into_owned();
        let skills = library.skills.iter();
        let toolsets = library.toolsets.iter();
        Self {
            source: Arc::clone(source),
            dir: match library.supplied {
                true => "part of the program".into(),
                false => settings.dir.display().to_string().into(),
            },
            skills: skills
                .map(|skill| skill_row(skill, settings, &mask))
                .collect(),
            toolsets: toolsets.map(|set| toolset_row(set, &mask)).collect(),
        }
    }

    /// The tool of that name with its skill.
    pub fn tool(&self, name: &str) -> Option<(&SkillRow, &Arc<FileToolRow>)> {
        self.skills.iter().find_map(|skill| {
            let tool = skill.tools.iter().find(|tool| *tool.name == *name)?;
            Some((skill, tool))
        })
    }
}

fn skill_row(skill: &Skill, settings: &SkillsSettings, mask: &dyn Fn(&str) -> String) -> SkillRow {
    let extract = skill.extract.iter();
    let parameters = skill.parameters.iter();
    SkillRow {
        name: Arc::clone(&skill.name),
        description: mask(&skill.description),
        version: skill.version.as_deref().map(mask),
        append: skill.append.as_deref().map(mask),
        parameters: parameters
            .map(|(name, default)| (name.clone(), mask(default)))
            .collect(),
        required_env: skill
            .required_env
            .as_ref()
            .map(|names| names.iter().cloned().collect()),
        extract: extract
            .map(|rule| {
                let pattern = rule.pattern.as_str().to_owned();
                (rule.tool.clone(), pattern, rule.store.clone())
            })
            .collect(),
        tools: skill
            .tools
            .iter()
            .map(|tool| Arc::new(tool_row(tool, settings, mask)))
            .collect(),
        defined_at: Arc::clone(&skill.defined_at),
    }
}

fn toolset_row(set: &Toolset, mask: &dyn Fn(&str) -> String) -> ToolsetRow {
    ToolsetRow {
        name: Arc::clone(&set.name),
        description: mask(&set.description),
        tools: set.tools.clone(),
        defined_at: Arc::clone(&set.defined_at),
    }
}

fn tool_row(
    tool: &Arc<SkillTool>,
    settings: &SkillsSettings,
    mask: &dyn Fn(&str) -> String,
) -> FileToolRow {
    let base = &settings.library.base_dir;
    FileToolRow {
        name: tool.definition.shared_name(),
        kind: match &tool.action {
            Action::Http(_) => "http",
            Action::Mcp { .. } => "mcp",
        },
        request: mask(&as_written(&tool.action)),
        output_file: tool.output_file.as_ref().map(|file| {
            let below = file.strip_prefix(base).unwrap_or(file);
            below.display().to_string()
        }),
        max_repeats: tool.max_repeats,
        retry: tool.retry,
        timeout: tool.timeout,
        hints: tool.hints,
        brought: settings
            .tools
            .iter()
            .any(|chosen| Arc::ptr_eq(chosen, tool)),
        defined_at: Arc::clone(&tool.defined_at),
    }
}
