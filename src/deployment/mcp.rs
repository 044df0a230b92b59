//! Reads the settings of `impl: mcp` (rule 8.1).

use std::collections::HashMap;

use super::Place;
use super::document::{Field, Reading, Shape, Table, Value};
use crate::source::mcp::{
    Backoff, Liveness, McpSettings, Protocol, ServerSettings, TransportSettings,
};

/// The settings.
pub(super) static MCP: Table = Table {
    name: "mcp",
    fields: &[
        Field::required(
            "servers",
            Shape::List(&Shape::Fields(&SERVER)),
            "The servers; at least one.",
        ),
        Field::optional(
            "roots",
            Shape::List(&Shape::File),
            "Directories that a server may ask for (default: none).",
        ),
        Field::optional(
            "liveness",
            Shape::DurationOrOff,
            "How often a server has to prove that it lives, or off (default 15s).",
        ),
        Field::optional(
            "connect_timeout",
            Shape::Duration { zero: false },
            "How long one attempt to connect may take (default 30s).",
        ),
        Field::optional(
            "backoff",
            Shape::Fields(&BACKOFF),
            "The delays between attempts.",
        ),
    ],
};

/// One server.
pub(super) static SERVER: Table = Table {
    name: "server",
    fields: &[
        Field::required("name", Shape::Name, "Its name, unique in the source."),
        Field::required(
            "transport",
            Shape::Choice(&["stdio", "http"]),
            "How it is reached.",
        ),
        Field::optional(
            "command",
            Shape::Name,
            "The command (stdio, required there).",
        ),
        Field::optional(
            "args",
            Shape::List(&Shape::Text),
            "The arguments of the command (stdio).",
        ),
        Field::optional(
            "env",
            Shape::Map(&Shape::Text),
            "Variables added to the inherited environment (stdio).",
        ),
        Field::optional(
            "cwd",
            Shape::File,
            "The working directory of the command (stdio).",
        ),
        Field::optional("url", Shape::Url, "The address (http, required there)."),
        Field::optional(
            "headers",
            Shape::Map(&Shape::Text),
            "Headers of every request (http).",
        ),
        Field::optional(
            "http_timeout",
            Shape::Duration { zero: false },
            "The bound of one request (http).",
        ),
        Field::optional(
            "protocol",
            Shape::Choice(&["auto", "2026-07-28", "2025-11-25"]),
            "Which revision is spoken (default auto: the newest that both have).",
        ),
        Field::optional(
            "pin",
            Shape::File,
            "A file of accepted definition hashes; changed tools are held back.",
        ),
        Field::optional(
            "prefix",
            Shape::Text,
            "Put before each tool name (default: the name of the server and `__`).",
        ),
        Field::optional(
            "resources",
            Shape::Bool,
            "Adds tools that list and read the server's resources (default false).",
        ),
        Field::optional(
            "required",
            Shape::Bool,
            "Whether commands and the gateway wait for it (default false).",
        ),
        Field::optional(
            "liveness",
            Shape::DurationOrOff,
            "How often it has to prove that it lives, or off (default: that of the source).",
        ),
    ],
};

static BACKOFF: Table = Table {
    name: "backoff",
    fields: &[
        Field::optional(
            "initial",
            Shape::Duration { zero: false },
            "Before the second attempt; doubles from there (default 1s).",
        ),
        Field::optional(
            "max",
            Shape::Duration { zero: false },
            "The longest delay (default 30s).",
        ),
        Field::optional(
            "jitter",
            Shape::Share,
            "The share by which a delay may be longer or shorter (default 0.2).",
        ),
    ],
};

/// The keys that only one transport has.
pub(super) const STDIO_KEYS: [&str; 4] = ["command", "args", "env", "cwd"];
/// The keys that only one transport has.
pub(super) const HTTP_KEYS: [&str; 3] = ["url", "headers", "http_timeout"];

/// Headers that the transport sets itself and refuses from outside.
pub(super) const RESERVED_HEADERS: [&str; 4] = [
    "accept",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
];

/// The settings.
pub(super) fn read(reading: &Reading<'_>, settings: &Value<'_>) -> Option<McpSettings> {
    reading.check(settings, &Shape::Fields(&MCP));
    let defaults = McpSettings::default();
    let list = settings.get("servers")?;
    let values = list.items();
    if values.is_empty() {
        reading.error(&list, "`servers` needs at least one server");
    }
    let mut places: HashMap<&str, Place> = HashMap::new();
    for name in values.iter().filter_map(|value| value.get("name")) {
        let Some(text) = name.as_text() else { continue };
        if let Some(first) = places.get(text.value.as_str()) {
            reading.error(
                &name,
                format!("a server `{}` is there already, at {first}", text.shown()),
            );
        } else {
            places.insert(&text.value, name.place());
        }
    }
    let servers = values
        .iter()
        .map(|value| read_server(reading, value))
        .collect::<Vec<_>>()
        .into_iter()
        .collect::<Option<Vec<_>>>();
    let roots = settings.get("roots").map_or_else(Vec::new, |roots| {
        roots
            .items()
            .iter()
            .filter_map(|root| reading.resolve(root))
            .collect()
    });
    let backoff = settings
        .get("backoff")
        .map_or(defaults.backoff, |value| read_backoff(reading, &value));
    Some(McpSettings {
        servers: servers?,
        roots,
        liveness: liveness(settings).unwrap_or(defaults.liveness),
        connect_timeout: settings
            .get("connect_timeout")
            .and_then(|timeout| timeout.duration())
            .unwrap_or(defaults.connect_timeout),
        backoff,
    })
}

pub(super) fn liveness(value: &Value<'_>) -> Option<Liveness> {
    let value = value.get("liveness")?;
    match value.duration() {
        Some(interval) => Some(Liveness::Every(interval)),
        None => Some(Liveness::Off),
    }
}

pub(super) fn protocol(value: &Value<'_>) -> Protocol {
    match value.get("protocol").and_then(|protocol| protocol.text()) {
        Some("2026-07-28") => Protocol::V2026_07_28,
        Some("2025-11-25") => Protocol::V2025_11_25,
        _ => Protocol::Auto,
    }
}

fn read_backoff(reading: &Reading<'_>, value: &Value<'_>) -> Backoff {
    let defaults = Backoff::default();
    let duration = |key: &str| value.get(key).and_then(|value| value.duration());
    let backoff = Backoff {
        initial: duration("initial").unwrap_or(defaults.initial),
        max: duration("max").unwrap_or(defaults.max),
        jitter: value
            .get("jitter")
            .and_then(|jitter| jitter.number())
            .unwrap_or(defaults.jitter),
    };
    if backoff.initial > backoff.max {
        reading.error(
            value.get("initial").as_ref().unwrap_or(value),
            format!(
                "`initial` ({}) must not be longer than `max` ({})",
                super::document::show_duration(backoff.initial),
                super::document::show_duration(backoff.max)
            ),
        );
    }
    backoff
}

fn read_server(reading: &Reading<'_>, value: &Value<'_>) -> Option<ServerSettings> {
    let transport = value
        .get("transport")
        .and_then(|transport| transport.text());
    let transport = match transport {
        Some("stdio") => {
            refuse(reading, value, &HTTP_KEYS, "http", "stdio");
            need(reading, value, "command", "stdio");
            read_stdio(reading, value)
        }
        Some("http") => {
            refuse(reading, value, &STDIO_KEYS, "stdio", "http");
            need(reading, value, "url", "http");
            read_http(reading, value)
        }
        _ => None,
    };
    let prefix = value.get("prefix");
    if let Some(text) = prefix.as_ref().and_then(|prefix| prefix.as_text())
        && text.value.ends_with(|c: char| c.is_alphanumeric())
    {
        let shown = text.shown();
        reading.warn(
            prefix.as_ref().unwrap_or(value),
            format!(
                "the prefix `{shown}` ends in a letter or digit, which makes \
                 `{shown}read_file` of `read_file`; `{shown}__` keeps them apart"
            ),
        );
    }
    let flag = |key: &str| value.get(key).and_then(|flag| flag.bool()) == Some(true);
    Some(ServerSettings {
        name: value.get("name")?.string()?,
        transport: transport?,
        protocol: protocol(value),
        pin: value.get("pin").and_then(|pin| reading.resolve(&pin)),
        prefix: prefix.and_then(|prefix| prefix.string()),
        resources: flag("resources"),
        required: flag("required"),
        liveness: liveness(value),
    })
}

/// Reports the keys of the other transport.
pub(super) fn refuse(
    reading: &Reading<'_>,
    value: &Value<'_>,
    keys: &[&str],
    other: &str,
    own: &str,
) {
    for (key, place, value) in value.entries() {
        if keys.contains(&key) {
            reading.error_at(
                place,
                &value.path,
                format!("`{key}` is a key of {other} servers; the transport here is `{own}`"),
            );
        }
    }
}

fn need(reading: &Reading<'_>, value: &Value<'_>, key: &str, transport: &str) {
    if !value.has(key) {
        let at = value.get("transport");
        reading.error(
            at.as_ref().unwrap_or(value),
            format!("a server with the transport `{transport}` needs `{key}`"),
        );
    }
}

fn read_stdio(reading: &Reading<'_>, value: &Value<'_>) -> Option<TransportSettings> {
    let env = value.get("env");
    if let Some(env) = &env {
        for (name, place, value) in env.entries() {
            if name.is_empty() || name.contains(['=', '\0']) {
                reading.error_at(
                    place,
                    &value.path,
                    format!("`{}` cannot be the name of a variable", name.escape_debug()),
                );
            }
        }
    }
    Some(TransportSettings::Stdio {
        command: value.get("command")?.string()?,
        args: value
            .get("args")
            .map(|args| args.strings())
            .unwrap_or_default(),
        env: env.map(|env| env.pairs()).unwrap_or_default(),
        cwd: value.get("cwd").and_then(|cwd| reading.resolve(&cwd)),
    })
}

fn read_http(reading: &Reading<'_>, value: &Value<'_>) -> Option<TransportSettings> {
    let headers = value.get("headers");
    if let Some(headers) = &headers {
        check_headers(reading, headers, &RESERVED_HEADERS);
    }
    Some(TransportSettings::Http {
        url: value.get("url")?.string()?,
        headers: headers.map(|headers| headers.pairs()).unwrap_or_default(),
        http_timeout: value
            .get("http_timeout")
            .and_then(|timeout| timeout.duration()),
    })
}

/// Reports headers that cannot be sent. Values are not shown: they are often secret.
pub(super) fn check_headers(reading: &Reading<'_>, headers: &Value<'_>, reserved: &[&str]) {
    let mut seen: HashMap<String, Place> = HashMap::new();
    for (name, place, value) in headers.entries() {
        let lower = name.to_ascii_lowercase();
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            reading.error_at(
                place,
                &value.path,
                format!("`{}` cannot be the name of a header", name.escape_debug()),
            );
        } else if reserved.contains(&lower.as_str()) {
            reading.error_at(
                place,
                &value.path,
                format!("the header `{name}` is set by the protocol itself"),
            );
        } else if let Some(first) = seen.get(&lower) {
            reading.error_at(
                place,
                &value.path,
                format!("duplicate header `{name}`, first at {first}"),
            );
        }
        seen.entry(lower).or_insert(place);
        if let Some(text) = value.text()
            && http::HeaderValue::from_str(text).is_err()
        {
            reading.error(
                &value,
                format!("the value of the header `{name}` has characters that no header may have"),
            );
        }
    }
}
