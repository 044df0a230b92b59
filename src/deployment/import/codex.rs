//! `[mcp_servers.*]` in Codex's `config.toml`. Nothing is expanded there, so that every string is
//! taken as it is.

use super::variables::literal;
use super::{Notes, guard, tree};
use crate::deployment::Place;
use crate::deployment::document::{Data, Node, Reading, Value, show_duration};
use crate::deployment::mcp::RESERVED_HEADERS;

/// The servers of a file; `None` if it has no table of servers.
pub(super) fn servers(
    reading: &Reading<'_>,
    root: &Value<'_>,
    notes: &mut Notes,
) -> Option<Vec<Node>> {
    let map = root.get("mcp_servers")?;
    if !map.is_map() {
        reading.error(&map, "`mcp_servers` must be a table of servers");
        return None;
    }
    Some(
        map.entries()
            .filter_map(|(name, place, value)| server(reading, notes, name, place, &value))
            .collect(),
    )
}

fn server(
    reading: &Reading<'_>,
    notes: &mut Notes,
    name: &str,
    place: Place,
    value: &Value<'_>,
) -> Option<Node> {
    if !value.is_map() {
        reading.error(value, format!("the server `{name}` must be a table"));
        return None;
    }
    if value.get("enabled").and_then(|on| on.bool()) == Some(false) {
        notes.add(
            place,
            format!("`{name}` is switched off in this file and left out"),
        );
        return None;
    }
    let transport = match (value.has("command"), value.has("url")) {
        (true, _) => "stdio",
        (false, true) => "http",
        (false, false) => {
            let message = format!("the server `{name}` has neither `command` nor `url`");
            reading.error_at(place, &value.path, message);
            return None;
        }
    };
    let mut settings = vec![
        ("name", place, tree::text(place, name)),
        ("transport", place, tree::text(place, transport)),
    ];
    let mut headers = Vec::new();
    for (key, at, value) in value.entries() {
        match (key, transport) {
            ("command", "stdio") => settings.push(("command", at, as_it_is(value.node))),
            ("args", "stdio") => settings.push(("args", at, as_it_is(value.node))),
            ("cwd", "stdio") => settings.push(("cwd", at, as_it_is(value.node))),
            ("env", "stdio") => {
                let mut env = as_it_is(value.node);
                guard_all(&mut env, notes);
                settings.push(("env", at, env));
            }
            ("url", "http") => settings.push(("url", at, as_it_is(value.node))),
            ("required", _) => settings.push(("required", at, value.node.clone())),
            ("tool_timeout_sec", "http") => match value.number().filter(|secs| *secs > 0.0) {
                Some(seconds) => {
                    let bound = std::time::Duration::try_from_secs_f64(seconds);
                    let bound = bound.map(show_duration).unwrap_or_default();
                    settings.push(("http_timeout", at, tree::text(value.place(), bound)));
                }
                None => notes.ignored(at, name, key),
            },
            ("bearer_token_env_var", "http") => {
                if let Some(variable) = value.text() {
                    let bearer = format!("Bearer ${{env:{variable}}}");
                    let node = tree::text(value.place(), bearer);
                    headers.push(("Authorization".to_owned(), at, node));
                }
            }
            ("http_headers", "http") => {
                let mut plain = as_it_is(value.node);
                guard_all(&mut plain, notes);
                headers.extend(entries(plain));
            }
            ("env_http_headers", "http") => {
                for (header, at, variable) in value.entries() {
                    let text = variable.text().unwrap_or_default();
                    let node = tree::text(variable.place(), format!("${{env:{text}}}"));
                    headers.push((header.to_owned(), at, node));
                }
            }
            // The environment is inherited as a whole.
            ("enabled" | "env_vars", _) => {}
            _ => notes.ignored(at, name, key),
        }
    }
    headers.retain(|(header, at, _)| {
        let reserved = RESERVED_HEADERS.contains(&header.to_ascii_lowercase().as_str());
        if reserved {
            notes.ignored(*at, name, header);
        }
        !reserved
    });
    if let Some((_, at, _)) = headers.first() {
        let at = *at;
        settings.push(("headers", at, tree::map(at, headers)));
    }
    Some(tree::map(place, settings))
}

/// The value with every string in it protected from expansion.
fn as_it_is(node: &Node) -> Node {
    let mut node = node.clone();
    protect(&mut node);
    node
}

fn protect(node: &mut Node) {
    match &mut node.data {
        Data::Text(text) => text.value = literal(&text.value),
        Data::List(items) => items.iter_mut().for_each(protect),
        Data::Map { entries, .. } => {
            for entry in entries {
                protect(&mut entry.value);
            }
        }
        _ => {}
    }
}

fn guard_all(node: &mut Node, notes: &mut Notes) {
    if let Data::Map { entries, .. } = &mut node.data {
        for entry in entries {
            guard(&mut entry.value, &entry.key, notes);
        }
    }
}

fn entries(node: Node) -> Vec<(String, Place, Node)> {
    match node.data {
        Data::Map { entries, .. } => entries
            .into_iter()
            .map(|entry| (entry.key, entry.place, entry.value))
            .collect(),
        _ => Vec::new(),
    }
}
