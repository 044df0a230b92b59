//! The rows of the list: every server, and every source that has none. Pure.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use toolcrib::observe::{Snapshot, Tally};
use toolcrib::source::{ServerState, ServerStatus};

use crate::console::theme::Health;

/// Which row it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A server, by source and name.
    Server(Arc<str>, Arc<str>),
    /// A source without servers.
    Source(Arc<str>),
}

impl Key {
    /// The name under which its calls are counted and its lines are logged.
    pub(crate) fn owner(&self) -> Arc<str> {
        match self {
            Self::Server(source, name) => format!("{source}/{name}").into(),
            Self::Source(source) => Arc::clone(source),
        }
    }
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Which.
    pub(crate) key: Key,
    /// The name as shown.
    pub(crate) name: String,
    /// `mcp`, `sim` or `skills`.
    pub(crate) kind: &'static str,
    /// The server, where it is one.
    pub(crate) server: Option<Arc<ServerStatus>>,
    /// How many tools.
    pub(crate) tools: usize,
    /// Its calls.
    pub(crate) tally: Tally,
}

impl Row {
    /// How it is.
    pub(crate) fn health(&self) -> Health {
        match &self.server {
            Some(server) => health(server.state),
            None if self.tools > 0 => Health::Good,
            None => Health::Warning,
        }
    }

    /// Its state in a word.
    pub(crate) fn state(&self) -> String {
        match &self.server {
            Some(server) => match server.state {
                ServerState::Backoff => format!("backoff {}", server.attempts),
                state => state.to_string(),
            },
            None if self.tools > 0 => "in process".into(),
            None => "no tools".into(),
        }
    }

    fn matches(&self, filter: &str) -> bool {
        let text = format!("{} {} {}", self.name, self.kind, self.state()).to_lowercase();
        filter
            .to_lowercase()
            .split_whitespace()
            .all(|word| text.contains(word))
    }
}

/// How a state is.
pub(crate) fn health(state: ServerState) -> Health {
    match state {
        ServerState::Ready => Health::Good,
        ServerState::Connecting => Health::Busy,
        ServerState::Degraded => Health::Warning,
        ServerState::Backoff | ServerState::Rejected => Health::Bad,
        ServerState::Disabled | ServerState::Stopped => Health::Off,
    }
}

/// The columns that the list can be sorted by, in the order in which `s` goes through them. The
/// numbers are places in the table.
pub(crate) const SORTS: [usize; 7] = [1, 2, 3, 4, 5, 6, 7];

/// The rows in the order of the file.
pub(crate) fn rows(snapshot: &Snapshot) -> Vec<Row> {
    let mut rows = Vec::new();
    for source in snapshot.sources.iter() {
        let servers: Vec<_> = snapshot
            .servers
            .iter()
            .filter(|server| server.source == source.name)
            .collect();
        let tally = |owner: &str| {
            snapshot
                .stats
                .owners
                .get(owner)
                .cloned()
                .unwrap_or_default()
        };
        if servers.is_empty() {
            let key = Key::Source(Arc::clone(&source.name));
            rows.push(Row {
                name: source.name.to_string(),
                kind: source.kind,
                server: None,
                tools: source.tools,
                tally: tally(&key.owner()),
                key,
            });
        }
        for server in servers {
            let key = Key::Server(Arc::clone(&source.name), Arc::clone(&server.name));
            let shared = snapshot
                .servers
                .iter()
                .filter(|other| other.name == server.name);
            // Its source only where the name alone would not tell which.
            let name = match shared.count() {
                1 => server.name.to_string(),
                _ => format!("{}/{}", source.name, server.name),
            };
            rows.push(Row {
                name,
                kind: source.kind,
                server: Some(Arc::clone(server)),
                tools: server.tools,
                tally: tally(&key.owner()),
                key,
            });
        }
    }
    rows
}

/// Sorts by a column of the table, then inverts; rows that are equal keep the order of the file.
pub(crate) fn arrange(rows: &mut Vec<Row>, filter: &str, sort: Option<usize>, inverted: bool) {
    rows.retain(|row| row.matches(filter));
    match sort {
        Some(1) => rows.sort_by_key(|row| row.name.to_lowercase()),
        Some(2) => rows.sort_by_key(|row| Reverse(row.health())),
        Some(3) => {
            rows.sort_by_key(|row| Reverse(row.server.as_ref().map(|server| server.since.at)))
        }
        Some(4) => rows.sort_by_key(|row| Reverse(row.tools)),
        Some(5) => rows.sort_by_key(|row| Reverse(row.tally.calls)),
        Some(6) => rows.sort_by_key(|row| Reverse(row.tally.errors)),
        Some(7) => rows.sort_by_key(|row| Reverse(p95(row))),
        _ => {}
    }
    if inverted {
        rows.reverse();
    }
}

/// The latency of a row that has one.
pub(crate) fn p95(row: &Row) -> Option<Duration> {
    (row.tally.calls > 0).then_some(row.tally.latency.p95)
}
