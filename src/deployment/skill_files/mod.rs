//! Reads a directory of skills and toolsets (skills 1 to 5): every file strictly, all problems of
//! all files together, each with its file, line and column.

mod http;
mod skill;
mod texts;
mod tool;
mod toolset;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{Budget, Data, Reading, Syntax, Value, parse_noting};
use super::{Place, load::read_text};
use crate::registry::nearest_one;
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
    /// Tools whose results skills search, likewise.
    searched: Vec<(Arc<str>, Place, String, String)>,
    /// Files that calls will write.
    outputs: Vec<Output>,
    library: Library,
}

/// A file that calls of a tool will write, and where a skill file says so.
struct Output {
    file: Arc<str>,
    place: Place,
    at: String,
    path: PathBuf,
    written: String,
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
        searched: Vec::new(),
        outputs: Vec::new(),
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
    directory.spare_what_is_read(dir);
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
        if file.name.starts_with('.') {
            continue;
        }
        match kind(&file.name) {
            Some("skill") => found.skills.push(file),
            Some(_) => found.toolsets.push(file),
            None => {
                let small = file.name.to_lowercase();
                let is_near = NEARLY.iter().any(|ending| small.ends_with(ending));
                if is_near || kind(&small).is_some() {
                    found.nearly.push(file.name);
                }
            }
        }
    }
    Ok(found)
}

/// What a file holds, by its name.
fn kind(name: &str) -> Option<&'static str> {
    let stem = name.strip_suffix(".yaml").or(name.strip_suffix(".yml"))?;
    let kinds = ["skill", "toolset"].into_iter();
    let mut kinds = kinds.filter(|kind| stem.strip_suffix(kind).is_some_and(|s| s.ends_with('.')));
    kinds.next()
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
        for (file, place, path, name) in std::mem::take(&mut self.searched) {
            if self.tools.contains_key(&name) {
                continue;
            }
            let sub = self.reading.of_file(file);
            let near = nearest_one(&name, self.tools.keys().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            // Another source may bring it.
            let message = format!("no skill has a tool `{name}`{near}; is it one of a server?");
            sub.warn_at(place, &path, message);
            self.reading.absorb(sub.into_problems());
        }
    }

    /// No call may write over what a deployment is read from: neither its own files nor, in the
    /// directory of the skills, one that would be read the next time.
    fn spare_what_is_read(&self, dir: &Path) {
        let own = Path::new(&**self.reading.file()).file_name();
        let own = own.map(|name| self.reading.base_dir().join(name));
        let read = self.reading.files();
        for output in &self.outputs {
            let name = output.path.file_name().unwrap_or_default();
            let kind = kind(&name.to_string_lossy());
            let is_next = output.path.parent() == Some(dir) && kind.is_some();
            if is_next || own.as_ref() == Some(&output.path) || read.contains(&output.path) {
                let sub = self.reading.of_file(Arc::clone(&output.file));
                let message = format!(
                    "`{}` is a file that the deployment is read from, and a call must not write \
                     over it",
                    output.written
                );
                sub.error_at(output.place, &output.at, message);
                self.reading.absorb(sub.into_problems());
            }
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
