//! Builds the tree of a deployment from values of another file.

use super::{ASSEMBLY, SOURCE};
use crate::deployment::Place;
use crate::deployment::document::{Data, Entry, Node, Style, Text};

/// A string.
pub(super) fn text(place: Place, value: impl Into<String>) -> Node {
    Node {
        place,
        data: Data::Text(Text::new(value.into(), Style::Double)),
    }
}

/// A map.
pub(super) fn map<K: Into<String>>(place: Place, entries: Vec<(K, Place, Node)>) -> Node {
    Node {
        place,
        data: Data::Map {
            entries: entries
                .into_iter()
                .map(|(key, place, value)| Entry {
                    key: key.into(),
                    place,
                    value,
                })
                .collect(),
            repeated: Vec::new(),
        },
    }
}

/// A list.
pub(super) fn list(place: Place, items: Vec<Node>) -> Node {
    Node {
        place,
        data: Data::List(items),
    }
}

/// The map under `resources`: one source with these servers, and one assembly.
pub(super) fn resources(servers: Vec<Node>) -> Node {
    let at = servers.first().map_or(Place::START, |server| server.place);
    let word = |word: &str| text(at, word);
    let settings = map(at, vec![("servers", at, list(at, servers))]);
    let source = vec![
        ("kind", at, word("tool.Source")),
        ("impl", at, word("mcp")),
        ("settings", at, settings),
    ];
    let assembly = vec![
        ("kind", at, word("tool.Assembly")),
        ("impl", at, word("memory")),
        ("deps", at, map(at, vec![("tool", at, word(SOURCE))])),
    ];
    map(
        at,
        vec![
            (SOURCE, at, map(at, source)),
            (ASSEMBLY, at, map(at, assembly)),
        ],
    )
}
