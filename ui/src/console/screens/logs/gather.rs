//! Makes log lines of what a snapshot tells that was not there before: what servers wrote, how
//! their state changed, how calls ended, what came and went in the registry. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;
use toolcrib::observe::{CatalogChange, Snapshot};
use toolcrib::source::{LogLine, LogOrigin, ServerState, ServerStatus};
use toolcrib::tool::CallId;
use tracing::Level;

use crate::console::figures;
use crate::console::log::LogRecord;
use crate::text;

/// How many names a line lists.
const NAMES: usize = 4;

/// What has been gathered already.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    servers: HashMap<Arc<str>, Seen>,
    newest_call: Option<(CallId, Instant)>,
    catalog: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// Lines of the server's log, those that its ring has dropped included.
    lines: u64,
    transition: Option<Instant>,
}

impl Gathered {
    /// The new lines, the oldest first.
    pub(super) fn gather(&mut self, snapshot: &Snapshot) -> Vec<Arc<LogRecord>> {
        let mut lines = Vec::new();
        for server in snapshot.servers.iter() {
            self.server(server, &mut lines);
        }
        self.calls(snapshot, &mut lines);
        self.changes(snapshot, &mut lines);
        lines.sort_by_key(|line| line.at.at);
        lines.into_iter().map(Arc::new).collect()
    }

    fn server(&mut self, server: &ServerStatus, lines: &mut Vec<LogRecord>) {
        let owner: Arc<str> = format!("{}/{}", server.source, server.name).into();
        let seen = self.servers.entry(Arc::clone(&owner)).or_default();
        let total = server.log_dropped + server.log.len() as u64;
        let new = usize::try_from(total.saturating_sub(seen.lines)).unwrap_or(usize::MAX);
        let skip = server.log.len().saturating_sub(new);
        lines.extend(server.log.iter().skip(skip).map(|line| LogRecord {
            at: line.at,
            level: level(line),
            target: Arc::clone(&owner),
            text: Arc::clone(&line.text),
        }));
        seen.lines = total;
        let known = seen.transition;
        let new = server
            .history
            .iter()
            .filter(|change| known.is_none_or(|known| change.at.at > known));
        lines.extend(new.map(|change| LogRecord {
            at: change.at,
            level: match change.to {
                ServerState::Backoff | ServerState::Rejected => Level::ERROR,
                ServerState::Degraded => Level::WARN,
                _ => Level::INFO,
            },
            target: Arc::clone(&owner),
            text: format!("{} -> {}: {}", change.from, change.to, change.reason).into(),
        }));
        seen.transition = server.history.last().map(|change| change.at.at).or(known);
    }

    fn calls(&mut self, snapshot: &Snapshot, lines: &mut Vec<LogRecord>) {
        let known = self.newest_call.take();
        let is_known = |id: &CallId, at: Instant| known.as_ref() == Some(&(id.clone(), at));
        let new = snapshot
            .history
            .iter()
            .take_while(|record| !is_known(&record.id, record.started.at));
        for record in new {
            let took = figures::latency(record.duration);
            let (level, text) = match record.error_kind {
                None => (
                    Level::DEBUG,
                    format!("{} {} ok in {took}", record.id, record.tool),
                ),
                Some(kind) => {
                    let words = record.error.as_deref().unwrap_or("");
                    let words = text::one_line(words);
                    let text =
                        format!("{} {} {kind} after {took}: {words}", record.id, record.tool);
                    (Level::WARN, text)
                }
            };
            let mut at = record.started;
            at.at += record.duration;
            at.wall = jiff::SignedDuration::try_from(record.duration)
                .ok()
                .and_then(|span| at.wall.checked_add(span).ok())
                .unwrap_or(at.wall);
            lines.push(LogRecord {
                at,
                level,
                target: record.owner.clone().unwrap_or_else(|| "calls".into()),
                text: text.into(),
            });
        }
        let newest = snapshot.history.first();
        self.newest_call = newest
            .map(|record| (record.id.clone(), record.started.at))
            .or(known);
    }

    fn changes(&mut self, snapshot: &Snapshot, lines: &mut Vec<LogRecord>) {
        let known = self.catalog;
        let new = snapshot
            .changes
            .iter()
            .take_while(|change| change.diff.version > known);
        lines.extend(new.map(|change| change_line(change)));
        if let Some(newest) = snapshot.changes.first() {
            self.catalog = newest.diff.version;
        }
    }
}

fn change_line(change: &CatalogChange) -> LogRecord {
    let diff = &change.diff;
    let changed: Vec<_> = diff
        .changed
        .iter()
        .map(|change| Arc::clone(&change.name))
        .collect();
    let refused: Vec<_> = diff
        .refused
        .iter()
        .map(|refusal| Arc::clone(&refusal.name))
        .collect();
    let parts = [
        ("new", &diff.added),
        ("gone", &diff.removed),
        ("changed", &changed),
        ("refused", &refused),
    ];
    let parts: Vec<_> = parts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| format!("{word} {}", listed(names)))
        .collect();
    LogRecord {
        at: change.at,
        level: match (changed.is_empty(), refused.is_empty()) {
            (true, true) => Level::INFO,
            _ => Level::WARN,
        },
        target: diff.owner.to_string().into(),
        text: format!("tools: {}", parts.join("; ")).into(),
    }
}

fn listed(names: &[Arc<str>]) -> String {
    let shown: Vec<_> = names
        .iter()
        .take(NAMES)
        .map(|name| text::clean_name(name, text::Marks::Ascii))
        .collect();
    match names.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What a server writes on stderr has no level; on stdout it should not write at all.
fn level(line: &LogLine) -> Level {
    match (line.origin, line.level.as_deref()) {
        (LogOrigin::Stderr, _) => Level::INFO,
        (LogOrigin::Stdout, _) => Level::WARN,
        (LogOrigin::Message, Some("debug")) => Level::DEBUG,
        (LogOrigin::Message, Some("warning")) => Level::WARN,
        (LogOrigin::Message, Some("error" | "critical" | "alert" | "emergency")) => Level::ERROR,
        (LogOrigin::Message, _) => Level::INFO,
    }
}
