//! Reads a directory of skills and toolsets (skills 1 to 5): every file strictly, all problems of
//! all files together, each with its file, line and column.

mod http;
mod skill;
mod texts;
mod tool;
mod toolset;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
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
    /// Those of them that are no secrets.
    open_variables: BTreeSet<String>,
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
        open_variables: BTreeSet::new(),
        tools: HashMap::new(),
        skills: HashMap::new(),
        toolsets: HashMap::new(),
        wanted: Vec::new(),
        library: Library {
            base_dir: reading.base_dir().to_owned(),
            supplied: reading.environment().directory(dir).is_some(),
            ..Library::default()
        },
    };
    let Listing {
        skills,
        toolsets,
        nearly,
    } = match list(reading, dir) {
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
    for name in nearly {
        reading.warn(
            at,
            format!("`{shown}/{name}` is not read; names end in `.skill.yaml` or `.toolset.yaml`"),
        );
    }
    // Skills first, so that the order of files never matters.
    for (paths, toolset) in [(skills, false), (toolsets, true)] {
        for listed in paths {
            directory.read_file(dir, listed, shown, toolset);
        }
    }
    directory.look_up();
    let mut library = directory.library;
    library.variables = Arc::new(directory.variables);
    library.open_variables = Arc::new(directory.open_variables);
    library
}

/// The files of a directory, by name.
#[derive(Default)]
struct Listing {
    skills: Vec<Listed>,
    toolsets: Vec<Listed>,
    /// Names that look as if their author took them for one of the two.
    nearly: Vec<String>,
}

/// A file by its name, with its text if that is not on the disk.
struct Listed {
    name: String,
    text: Option<String>,
}

/// Lists a directory. What starts with a dot is an editor's own and left alone.
fn list(reading: &Reading<'_>, dir: &Path) -> std::io::Result<Listing> {
    const NEARLY: [&str; 8] = [
        ".skills.yaml",
        ".skills.yml",
        ".toolsets.yaml",
        ".toolsets.yml",
        ".skill.json",
        ".toolset.json",
        ".skill.yaml.txt",
        ".toolset.yaml.txt",
    ];
    let mut files: Vec<Listed> = match reading.environment().directory(dir) {
        Some(files) => files
            .into_iter()
            .map(|(name, text)| Listed {
                name,
                text: Some(text),
            })
            .collect(),
        None => std::fs::read_dir(dir)?
            .map(|entry| {
                let name = entry?.file_name().to_string_lossy().into_owned();
                Ok(Listed { name, text: None })
            })
            .collect::<std::io::Result<_>>()?,
    };
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let mut found = Listing::default();
    for file in files {
        let ends = |kind: &str| {
            [".yaml", ".yml"]
                .iter()
                .any(|ending| file.name.ends_with(&format!(".{kind}{ending}")))
        };
        if file.name.starts_with('.') {
            continue;
        } else if ends("skill") {
            found.skills.push(file);
        } else if ends("toolset") {
            found.toolsets.push(file);
        } else {
            let small = file.name.to_lowercase();
            let capitals = [".skill.yaml", ".skill.yml", ".toolset.yaml", ".toolset.yml"];
            let mut endings = NEARLY.iter().chain(&capitals);
            if endings.any(|ending| small.ends_with(ending)) {
                found.nearly.push(file.name);
            }
        }
    }
    Ok(found)
}

impl Directory<'_, '_> {
    fn read_file(&mut self, dir: &Path, listed: Listed, shown: &str, toolset: bool) {
        let path = dir.join(&listed.name);
        let name: Arc<str> = match shown {
            "" | "." => listed.name.as_str().into(),
            _ => format!("{shown}/{}", listed.name).into(),
        };
        let text = match listed.text {
            Some(text) => Ok(text),
            None => {
                self.reading.add_file(path.clone());
                read_text(&path, &name)
            }
        };
        let text: Arc<str> = match text {
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
        if !root.is_map() {
            let found = root.node.describe();
            sub.error(
                &root,
                format!("a {kind} is a map with `name:`, not {found}"),
            );
            self.reading.absorb(sub.into_problems());
            return;
        }
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
