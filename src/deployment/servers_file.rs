//! Reads `mcp_servers_file`: MCP servers as skills programs write them (skills 6).

use std::collections::HashMap;

use super::document::{Budget, Data, Field, Reading, Shape, Syntax, Table, Value, parse};
use super::load::read_text;
use super::{Place, mcp};
use crate::source::mcp::{ServerSettings, TransportSettings};
use crate::source::skills::{FileServer, StoredVariable};

static FILE: Table = Table {
    name: "servers_file",
    fields: &[Field::required(
        "servers",
        Shape::List(&Shape::Fields(&SERVER)),
        "The servers.",
    )],
};

static SERVER: Table = Table {
    name: "servers_file_server",
    fields: &[
        Field::required("name", Shape::Name, "The name of the server."),
        Field::optional(
            "transport",
            Shape::Choice(&["stdio", "http"]),
            "How it is reached (default: by command or url).",
        ),
        Field::optional(
            "command",
            Shape::OneOrMany(&Shape::Text),
            "The command line, as a shell would split it, or as a list.",
        ),
        Field::optional("args", Shape::List(&Shape::Text), "Further arguments."),
        Field::optional(
            "env",
            Shape::Elsewhere,
            "A map, or a list of {name, env, pass}.",
        ),
        Field::optional("cwd", Shape::File, "The working directory."),
        Field::optional("url", Shape::Url, "The address."),
        Field::optional("headers", Shape::Map(&Shape::Text), "Headers."),
        Field::optional(
            "http_timeout",
            Shape::Duration { zero: false },
            "The bound of one request.",
        ),
        Field::optional("prefix", Shape::Text, "Put before each tool name."),
        Field::optional("required", Shape::Bool, "Whether the host waits for it."),
        Field::optional("resources", Shape::Bool, "Adds the two resource tools."),
        Field::optional("liveness", Shape::DurationOrOff, "The interval of probes."),
        Field::optional(
            "protocol",
            Shape::Choice(&["auto", "2026-07-28", "2025-11-25"]),
            "Which revision is spoken.",
        ),
    ],
};

static VARIABLE: Table = Table {
    name: "servers_file_variable",
    fields: &[
        Field::required("name", Shape::Name, "The variable that the server gets."),
        Field::optional(
            "env",
            Shape::Name,
            "The variable of ours that it comes from.",
        ),
        Field::optional("pass", Shape::Name, "The entry of the password store."),
    ],
};

static VARIABLES: Shape = Shape::List(&Shape::Fields(&VARIABLE));

/// The servers of the file that a value names. Problems are added to `reading`.
pub(super) fn read(reading: &Reading<'_>, file: &Value<'_>) -> Vec<FileServer> {
    let Some(path) = reading.existing(file, "servers file") else {
        return Vec::new();
    };
    let name = reading.shown_file(file);
    let text = match read_text(&path, &name) {
        Ok(text) => text,
        Err(problems) => {
            reading.absorb(problems.0);
            return Vec::new();
        }
    };
    let sub = reading.of_file(name.clone());
    let root = match parse(&text, Syntax::of(&name), Budget::default()) {
        Ok(root) => root,
        Err(error) => {
            reading.absorb(sub.unreadable(error).0);
            return Vec::new();
        }
    };
    let mut servers = Vec::new();
    match root.filter(|root| root.data != Data::Null) {
        Some(mut root) => {
            sub.repeated_keys(&Value::root(&root));
            sub.expand(&mut root, "");
            let root = Value::root(&root);
            sub.check(&root, &Shape::Fields(&FILE));
            servers = read_all(&sub, &root);
        }
        None => sub.error_at(
            Place::START,
            "",
            "the file is empty; it starts with `servers:`",
        ),
    }
    reading.absorb(sub.into_problems());
    servers
}

fn read_all(reading: &Reading<'_>, root: &Value<'_>) -> Vec<FileServer> {
    let values = root
        .get("servers")
        .map_or_else(Vec::new, |list| list.items());
    let mut places: HashMap<String, Place> = HashMap::new();
    let mut servers = Vec::new();
    for value in &values {
        if let Some(name) = value.get("name")
            && let Some(text) = name.string()
        {
            match places.get(&text) {
                Some(first) => {
                    let message = format!("a server `{text}` is there already, at {first}");
                    reading.error(&name, message);
                }
                None => {
                    places.insert(text, name.place());
                }
            }
        }
        servers.extend(read_server(reading, value));
    }
    servers
}

fn read_server(reading: &Reading<'_>, value: &Value<'_>) -> Option<FileServer> {
    let named = value
        .get("transport")
        .and_then(|transport| transport.text());
    let transport = match named {
        Some("stdio") => "stdio",
        Some("http") => "http",
        Some(_) => return None,
        None if value.has("url") => "http",
        None => "stdio",
    };
    let keys: &[&str] = match transport {
        "stdio" => &mcp::HTTP_KEYS,
        _ => &mcp::STDIO_KEYS,
    };
    let other = if transport == "stdio" {
        "http"
    } else {
        "stdio"
    };
    mcp::refuse(reading, value, keys, other, transport);
    let (transport, stored) = if transport == "stdio" {
        read_stdio(reading, value)?
    } else {
        let Some(url) = value.get("url") else {
            reading.error(value, "a server with the transport `http` needs `url`");
            return None;
        };
        let headers = value.get("headers");
        if let Some(headers) = &headers {
            mcp::check_headers(reading, headers, &mcp::RESERVED_HEADERS);
        }
        let http = TransportSettings::Http {
            url: url.string()?,
            headers: headers.map(|headers| headers.pairs()).unwrap_or_default(),
            http_timeout: value.get("http_timeout").and_then(|bound| bound.duration()),
        };
        (http, Vec::new())
    };
    let flag = |key: &str| value.get(key).and_then(|flag| flag.bool()) == Some(true);
    Some(FileServer {
        settings: ServerSettings {
            name: value.get("name")?.string()?,
            transport,
            protocol: mcp::protocol(value),
            pin: None,
            prefix: value.get("prefix").and_then(|prefix| prefix.string()),
            resources: flag("resources"),
            required: flag("required"),
            liveness: mcp::liveness(value),
        },
        stored,
    })
}

fn read_stdio(
    reading: &Reading<'_>,
    value: &Value<'_>,
) -> Option<(TransportSettings, Vec<StoredVariable>)> {
    let Some(command) = value.get("command") else {
        reading.error(value, "a server with the transport `stdio` needs `command`");
        return None;
    };
    let words = match command.text() {
        Some(line) => match shlex::split(line) {
            Some(words) => words,
            None => {
                reading.error(
                    &command,
                    "the command line has a quote that is never closed",
                );
                return None;
            }
        },
        None => command.strings(),
    };
    let mut words = words.into_iter();
    let Some(program) = words.next().filter(|program| !program.is_empty()) else {
        reading.error(&command, "`command` must not be empty");
        return None;
    };
    let further = value.get("args").map(|args| args.strings());
    let (env, stored) = value
        .get("env")
        .map(|env| read_env(reading, &env))
        .unwrap_or_default();
    let stdio = TransportSettings::Stdio {
        command: program,
        args: words.chain(further.unwrap_or_default()).collect(),
        env,
        cwd: value.get("cwd").and_then(|cwd| reading.resolve(&cwd)),
    };
    Some((stdio, stored))
}

/// Variables with fixed values, and those of the password store.
fn read_env(
    reading: &Reading<'_>,
    env: &Value<'_>,
) -> (Vec<(String, String)>, Vec<StoredVariable>) {
    if env.is_map() {
        reading.check(env, &Shape::Map(&Shape::Text));
        return (env.pairs(), Vec::new());
    }
    reading.check(env, &VARIABLES);
    let (mut fixed, mut stored) = (Vec::new(), Vec::new());
    for item in env.items() {
        let text = |key: &str| item.get(key).and_then(|value| value.string());
        let Some(name) = text("name") else { continue };
        let own = text("env");
        let found = own.as_deref().and_then(|own| reading.variable(own));
        if let Some(found) = found.as_ref().filter(|found| found.secret) {
            reading.secrets().add(&found.value);
        }
        let value = found.map(|found| found.value);
        let pass = item.get("pass").filter(|pass| {
            let is_option = pass.text().is_some_and(|entry| entry.starts_with('-'));
            if is_option {
                let message = "an entry of the password store that starts with `-` would be read \
                               as an option of `pass`";
                reading.error(pass, message);
            }
            !is_option
        });
        match (pass.and_then(|pass| pass.string()), own, value) {
            (Some(pass), own, value) => stored.push(StoredVariable {
                name,
                pass,
                fallback: own.map(|own| (own, value)),
            }),
            (None, Some(_), Some(value)) => fixed.push((name, value)),
            (None, Some(own), None) => reading.error(
                &item,
                format!("the environment variable `{own}` is not set; `{name}` needs it"),
            ),
            (None, None, _) if item.has("pass") => {} // reported above
            (None, None, _) => {
                reading.error(&item, format!("`{name}` needs `env` or `pass`"));
            }
        }
    }
    (fixed, stored)
}
