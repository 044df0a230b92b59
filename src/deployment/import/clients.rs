//! `mcpServers` and `servers` maps in JSON.

use std::path::Path;

use super::variables::Variables;
use super::{Notes, guard, tree};
use crate::deployment::Place;
use crate::deployment::document::{Data, Node, Reading, Value};
use crate::deployment::mcp::RESERVED_HEADERS;

/// The servers of a file; `None` if it has no map of servers.
pub(super) fn servers(
    reading: &Reading<'_>,
    root: &Value<'_>,
    notes: &mut Notes,
) -> Option<Vec<Node>> {
    let variables = Variables {
        environment: reading.environment(),
        workspace: workspace(reading.base_dir()).to_owned(),
    };
    let mut found = None;
    // VS Code's settings have the same map below `mcp`.
    let holders = [Some(root.clone()), root.get("mcp")];
    for holder in holders.into_iter().flatten() {
        for key in ["mcpServers", "servers"] {
            let Some(map) = holder.get(key) else { continue };
            let servers: &mut Vec<Node> = found.get_or_insert_with(Vec::new);
            if !map.is_map() {
                reading.error(&map, format!("`{key}` must be a map of servers"));
                continue;
            }
            for (name, place, value) in map.entries() {
                let mut server = Server {
                    reading,
                    variables: &variables,
                    notes: &mut *notes,
                    name,
                };
                servers.extend(server.read(place, &value));
            }
        }
    }
    found
}

/// The folder that an editor has open: above `.vscode` or `.cursor`, else where the file is.
fn workspace(base_dir: &Path) -> &Path {
    let hidden = base_dir
        .file_name()
        .is_some_and(|name| name == ".vscode" || name == ".cursor");
    match base_dir.parent() {
        Some(parent) if hidden => parent,
        _ => base_dir,
    }
}

struct Server<'a, 'n> {
    reading: &'a Reading<'a>,
    variables: &'a Variables<'a>,
    notes: &'n mut Notes,
    name: &'a str,
}

/// A key of ours with its place and value.
type Setting = (&'static str, Place, Node);

impl Server<'_, '_> {
    /// The server, unless it is switched off or of a kind that is not spoken here.
    fn read(&mut self, place: Place, value: &Value<'_>) -> Option<Node> {
        if !value.is_map() {
            let message = format!("the server `{}` must be a map", self.name);
            self.reading.error(value, message);
            return None;
        }
        let off = value.get("disabled").and_then(|off| off.bool()) == Some(true)
            || value.get("enabled").and_then(|on| on.bool()) == Some(false);
        if off {
            let message = format!("`{}` is switched off in this file and left out", self.name);
            self.notes.add(place, message);
            return None;
        }
        let transport = self.transport(value)?;
        let mut settings: Vec<Setting> = vec![
            ("name", place, tree::text(place, self.name)),
            ("transport", place, tree::text(place, transport)),
        ];
        for (key, at, value) in value.entries() {
            let setting = match (key, transport) {
                ("command", "stdio") => Some(("command", self.text(&value))),
                ("args", "stdio") => Some(("args", self.list(&value))),
                ("env", "stdio") => Some(("env", self.map(&value, &[]))),
                ("cwd", "stdio") => Some(("cwd", self.text(&value))),
                ("url" | "serverUrl" | "httpUrl", "http") => Some(("url", self.text(&value))),
                ("headers", "http") => Some(("headers", self.map(&value, &RESERVED_HEADERS))),
                ("type" | "transport" | "disabled" | "enabled", _) => None,
                _ => {
                    self.notes.ignored(at, self.name, key);
                    None
                }
            };
            if let Some((key, node)) = setting {
                if settings.iter().any(|(there, _, _)| *there == key) {
                    self.notes.ignored(at, self.name, key);
                } else {
                    settings.push((key, at, node));
                }
            }
        }
        Some(tree::map(place, settings))
    }

    /// How the server is reached, by its `type` or by what it has.
    fn transport(&mut self, value: &Value<'_>) -> Option<&'static str> {
        let has_url = ["url", "serverUrl", "httpUrl"]
            .iter()
            .any(|key| value.has(key));
        let declared = value.get("type").or_else(|| value.get("transport"));
        let word = declared.as_ref().and_then(|word| word.text());
        match word {
            Some("stdio" | "local") => Some("stdio"),
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote") => {
                Some("http")
            }
            Some("sse") => {
                let place = declared.map_or(value.place(), |word| word.place());
                let message = format!(
                    "`{}` is said to speak the old `sse` transport; it is tried by `http`",
                    self.name
                );
                self.notes.add(place, message);
                Some("http")
            }
            None if value.has("command") => Some("stdio"),
            None if has_url => Some("http"),
            None => {
                let message = format!("the server `{}` has neither `command` nor `url`", self.name);
                self.reading.error(value, message);
                None
            }
            Some(word) => {
                let place = declared.as_ref().map_or(value.place(), |word| word.place());
                let message = format!(
                    "`{}` is left out: its transport `{word}` is not spoken here",
                    self.name
                );
                self.notes.add(place, message);
                None
            }
        }
    }

    /// A string with its variables in our syntax. Another type stays, to be reported by the reader
    /// of deployments.
    fn text(&mut self, value: &Value<'_>) -> Node {
        let Some(text) = value.text() else {
            return value.node.clone();
        };
        let (text, notes) = self.variables.rewrite(text);
        for note in notes {
            self.notes.add(value.place(), note);
        }
        tree::text(value.place(), text)
    }

    fn list(&mut self, value: &Value<'_>) -> Node {
        match &value.node.data {
            Data::List(_) => {
                let items = value.items();
                let items = items.iter().map(|item| self.scalar(item)).collect();
                tree::list(value.place(), items)
            }
            _ => value.node.clone(),
        }
    }

    fn map(&mut self, value: &Value<'_>, without: &[&str]) -> Node {
        if !value.is_map() {
            return value.node.clone();
        }
        let mut entries = Vec::new();
        for (key, at, value) in value.entries() {
            if without.contains(&key.to_ascii_lowercase().as_str()) {
                self.notes.ignored(at, self.name, key);
                continue;
            }
            let mut node = self.scalar(&value);
            guard(&mut node, key, self.notes);
            entries.push((key, at, node));
        }
        tree::map(value.place(), entries)
    }

    /// A string, or the text of a number or boolean, which other clients take for one.
    fn scalar(&mut self, value: &Value<'_>) -> Node {
        match &value.node.data {
            Data::Bool(_, written) | Data::Number(_, written) => {
                tree::text(value.place(), &**written)
            }
            _ => self.text(value),
        }
    }
}
