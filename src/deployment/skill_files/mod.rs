//! Reads a directory of skills and toolsets (skills 1 to 5): every file strictly, all problems of
//! all files together, each with its file, line and column.

mod http;
mod skill;
mod texts;
mod tool;
mod toolset;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{Budget, Data, Reading, Syntax, Value, parse_noting};
use super::{Place, load::read_text};
use crate::source::skills::{Library, Skill, Toolset};

/// What all files of one directory have in common while they are read.
pub(super) struct Directory<'r, 'e> {
    /// Where the problems go.
    reading: &'r Reading<'e>,
    /// The MCP servers that tools may name; `None` when they are not known, because a dependency
    /// could not be read.
    servers: Option<&'r [String]>,
    /// The values of the variables that are used.
    variables: BTreeMap<String, String>,
    /// Name of a tool to the place of its first definition.
    tools: HashMap<String, String>,
    skills: HashMap<String, String>,
    toolsets: HashMap<String, String>,
    /// Tools that toolsets name, to be looked up when all skills are known.
    wanted: Vec<(Arc<str>, Place, String, String)>,
    library: Library,
}

/// One file that is being read.
pub(super) struct File<'f, 'r, 'e> {
    pub(super) directory: &'f mut Directory<'r, 'e>,
    /// Collects the problems of this file.
    pub(super) reading: Reading<'e>,
    pub(super) text: &'f str,
}

/// Reads all files of `dir`, which messages show as `shown`. Problems and files are added to
/// `reading`; secrets to its secrets.
pub(super) fn read_directory(
    reading: &Reading<'_>,
    dir: &Path,
    shown: &str,
    at: &Value<'_>,
    servers: Option<&[String]>,
) -> Library {
    let mut directory = Directory {
        reading,
        servers,
        variables: BTreeMap::new(),
        tools: HashMap::new(),
        skills: HashMap::new(),
        toolsets: HashMap::new(),
        wanted: Vec::new(),
        library: Library {
            base_dir: reading.base_dir().to_owned(),
            ..Library::default()
        },
    };
    let (skills, toolsets) = match list(dir) {
        Ok(files) => files,
        Err(error) => {
            reading.error(
                at,
                format!("the directory `{shown}` cannot be read: {error}"),
            );
            return Library::default();
        }
    };
    if skills.is_empty() && toolsets.is_empty() {
        reading.warn(
            at,
            format!(
                "the directory `{shown}` has no file that ends in `.skill.yaml` or \
                 `.toolset.yaml`"
            ),
        );
    }
    // Skills first, so that the order of files never matters.
    for (paths, toolset) in [(skills, false), (toolsets, true)] {
        for path in paths {
            reading.add_file(path.clone());
            directory.read_file(&path, shown, toolset);
        }
    }
    directory.look_up();
    let mut library = directory.library;
    library.variables = Arc::new(directory.variables);
    library
}

/// The skill and the toolset files of a directory, by name.
fn list(dir: &Path) -> std::io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut skills, mut toolsets) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ends = |kind: &str| {
            [".yaml", ".yml"]
                .iter()
                .any(|ending| name.ends_with(&format!(".{kind}{ending}")))
        };
        if ends("skill") {
            skills.push(path);
        } else if ends("toolset") {
            toolsets.push(path);
        }
    }
    skills.sort();
    toolsets.sort();
    Ok((skills, toolsets))
}

impl Directory<'_, '_> {
    fn read_file(&mut self, path: &Path, shown: &str, toolset: bool) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name: Arc<str> = match shown {
            "" | "." => name.as_ref().into(),
            _ => format!("{shown}/{name}").into(),
        };
        let text: Arc<str> = match read_text(path, &name) {
            Ok(text) => text.into(),
            Err(problems) => {
                self.reading.absorb(problems.0);
                return;
            }
        };
        self.library
            .files
            .push((Arc::clone(&name), Arc::clone(&text)));
        let sub = self.reading.of_file(Arc::clone(&name));
        let mut escapes = Vec::new();
        let syntax = Syntax::YamlWithTemplates;
        let root = match parse_noting(&text, syntax, Budget::default(), &mut escapes) {
            Ok(root) => root,
            Err(error) => {
                self.reading.absorb(sub.unreadable(error).0);
                return;
            }
        };
        for at in escapes {
            sub.warn_at(
                at,
                "",
                "this backslash starts no escape in double quotes and is taken as it is; single \
                 quotes would say so",
            );
        }
        let kind = if toolset { "toolset" } else { "skill" };
        let Some(root) = root.filter(|root| root.data != Data::Null) else {
            sub.error_at(
                Place::START,
                "",
                format!("the file is empty; a {kind} starts with `name:`"),
            );
            self.reading.absorb(sub.into_problems());
            return;
        };
        let root = Value::root(&root);
        sub.repeated_keys(&root);
        let mut file = File {
            directory: self,
            reading: sub,
            text: &text,
        };
        if toolset {
            file.read_toolset(&root);
        } else {
            file.read_skill(&root);
        }
        let File { reading: sub, .. } = file;
        self.reading.absorb(sub.into_problems());
    }

    /// Looks the tools of the toolsets up.
    fn look_up(&mut self) {
        for (file, place, path, name) in std::mem::take(&mut self.wanted) {
            if self.tools.contains_key(&name) {
                continue;
            }
            let sub = self.reading.of_file(file);
            let known = self.tools.keys().map(String::as_str);
            sub.unknown(
                place,
                &path,
                format!("no skill has a tool `{name}`"),
                &name,
                known,
            );
            self.reading.absorb(sub.into_problems());
        }
    }

    fn add_skill(&mut self, skill: Skill) {
        self.library.skills.push(Arc::new(skill));
    }

    fn add_toolset(&mut self, toolset: Toolset) {
        self.library.toolsets.push(Arc::new(toolset));
    }
}

impl File<'_, '_, '_> {
    /// `file:line` of a place.
    fn defined_at(&self, place: Place) -> Arc<str> {
        format!("{}:{}", self.reading.file(), place.line).into()
    }

    /// `file:line:column` of a place.
    fn full_place(&self, place: Place) -> String {
        format!("{}:{place}", self.reading.file())
    }
}
