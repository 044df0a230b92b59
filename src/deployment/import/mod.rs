//! Files of other MCP clients as deployments: `mcpServers` maps (Claude Desktop, Claude Code, Cursor,
//! Windsurf), `servers` maps (VS Code) and Codex's `config.toml`.
//!
//! A file is turned into the tree of an equivalent `resources:` map whose values stand where they
//! stood in that file. The tree is printed by the `import` command and read by `--mcp`, through the
//! same reader as every deployment, so that the two cannot differ and problems have true places.

mod clients;
mod codex;
mod print;
mod tree;
mod variables;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{self, Budget, Data, Node, Reading, Syntax, Value};
use super::load::{Loaded, read_text};
use super::resources::read_resources;
use super::{Environment, Origin, Place, Problems};
use crate::secrets::Secrets;

/// The name of the source and of the assembly that an import makes.
pub(super) const SOURCE: &str = "mcp";
/// The name of the assembly that an import makes.
pub(super) const ASSEMBLY: &str = "tools";

/// Something about a file of another client that is worth knowing and no problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file as the operator named it.
    pub file: Arc<str>,
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: note: {}", self.file, self.place, self.message)
    }
}

/// What a file of another client says.
#[derive(Clone, Debug)]
pub struct Imported {
    /// What is not carried over, or could be written better; in the order of the file.
    pub notes: Vec<Note>,
    origin: Origin,
    file: Option<PathBuf>,
    /// The map under `resources`, before expansion.
    resources: Node,
}

/// Reads a file of another client.
///
/// # Errors
/// When it cannot be read, is of no known kind, or names no server.
pub fn import_file(path: &Path, environment: &dyn Environment) -> Result<Imported, Problems> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let base_dir = absolute.parent().unwrap_or(Path::new("/"));
    let imported = import_text(&name, &text, base_dir, environment)?;
    Ok(Imported {
        file: Some(absolute.clone()),
        ..imported
    })
}

/// As [`import_file`], of a text. `name` stands for the file in messages, and tells TOML from JSON
/// by its ending.
///
/// # Errors
/// As [`import_file`].
pub fn import_text(
    name: &str,
    text: &str,
    base_dir: &Path,
    environment: &dyn Environment,
) -> Result<Imported, Problems> {
    let reading = Reading::new(name, base_dir, environment, Secrets::default());
    let toml = Path::new(name)
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let syntax = if toml {
        Syntax::Toml
    } else {
        Syntax::JsonWithComments
    };
    let root = match document::parse(text, syntax, Budget::default()) {
        Ok(root) => root,
        Err(error) => return Err(reading.unreadable(error)),
    };
    let mut notes = Notes {
        file: Arc::clone(reading.file()),
        notes: Vec::new(),
    };
    let servers = root.and_then(|root| {
        let root = Value::root(&root);
        reading.repeated_keys(&root);
        if toml {
            codex::servers(&reading, &root, &mut notes)
        } else {
            clients::servers(&reading, &root, &mut notes)
        }
    });
    match &servers {
        None if !reading.failed() => reading.error_at(
            Place::START,
            "",
            "no MCP servers found here; known are `mcpServers` and `servers` in JSON and \
             `[mcp_servers.*]` in TOML",
        ),
        Some(servers) if servers.is_empty() => reading.error_at(
            Place::START,
            "",
            "there is no server here that could be used",
        ),
        _ => {}
    }
    let origin = Origin {
        name: Arc::clone(reading.file()),
        text: text.into(),
        base_dir: base_dir.to_owned(),
    };
    let finished = reading.finish(servers)?;
    notes.notes.sort_by_key(|note| note.place);
    Ok(Imported {
        notes: notes.notes,
        origin,
        file: None,
        resources: tree::resources(finished.value),
    })
}

impl Imported {
    /// The equivalent deployment as YAML. Variables stay variables, and values that stood in the
    /// file stand here as they were.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("# from {}\n", self.origin.name);
        text.push_str(&print::yaml(&tree::map(
            Place::START,
            vec![("resources", Place::START, self.resources.clone())],
        )));
        text
    }

    /// The deployment.
    ///
    /// # Errors
    /// Everything that is wrong with it, at the places of the file of the other client.
    pub fn load(self, environment: &dyn Environment) -> Result<Loaded, Problems> {
        self.load_with(environment, &Secrets::default())
    }

    pub(super) fn load_with(
        mut self,
        environment: &dyn Environment,
        secrets: &Secrets,
    ) -> Result<Loaded, Problems> {
        let name = Arc::clone(&self.origin.name);
        let base_dir = self.origin.base_dir.clone();
        let reading = Reading::new(name, base_dir, environment, secrets.clone());
        reading.expand(&mut self.resources, "resources");
        let value = Value {
            node: &self.resources,
            path: "resources".into(),
        };
        let deployment = read_resources(&reading, &value, self.origin.clone());
        let files = self.file.into_iter().chain(reading.files()).collect();
        let finished = reading.finish(deployment)?;
        Ok(Loaded {
            deployment: finished.value,
            warnings: finished.warnings,
            notes: self.notes,
            secrets: secrets.clone(),
            files,
        })
    }
}

/// The notes of one file.
pub(super) struct Notes {
    file: Arc<str>,
    notes: Vec<Note>,
}

impl Notes {
    fn add(&mut self, place: Place, message: impl Into<String>) {
        self.notes.push(Note {
            file: Arc::clone(&self.file),
            place,
            message: message.into(),
        });
    }

    /// About a key whose meaning there is none for here.
    fn ignored(&mut self, place: Place, server: &str, key: &str) {
        self.add(place, format!("`{key}` of `{server}` is not carried over"));
    }
}

/// Marks a string that looks like a secret, so that it is masked like one, and says how to keep it
/// out of the file.
fn guard(node: &mut Node, key: &str, notes: &mut Notes) {
    let place = node.place;
    let Data::Text(text) = &mut node.data else {
        return;
    };
    if !looks_secret(key, &text.value) {
        return;
    }
    text.secrets = vec![text.value.clone()];
    notes.add(
        place,
        format!("`{key}` looks like a secret; `${{env:NAME}}` would keep it out of the file"),
    );
}

/// Whether the value of a variable or header looks like a secret that stands there in plain.
fn looks_secret(key: &str, value: &str) -> bool {
    const WORDS: [&str; 8] = [
        "token",
        "secret",
        "password",
        "passwd",
        "api_key",
        "apikey",
        "api-key",
        "authorization",
    ];
    let key = key.to_ascii_lowercase();
    let named =
        WORDS.iter().any(|word| key.contains(word)) || key.ends_with("_key") || key == "key";
    named && value.chars().count() >= 8 && !value.contains("${")
}
