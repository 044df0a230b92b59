//! Cleans a snapshot when it enters the state. What is already clean is shared with the snapshot
//! that came, and what was cleaned before is found again by identity, so that a version with one
//! new record costs one record.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use toolcrib::middleware::PendingApproval;
use toolcrib::observe::{
    CallRecord, CatalogChange, DeploymentRow, DeploymentState, ReloadRow, RunningRow, Snapshot,
    StatsRow, Table, Tally, ToolRow,
};
use toolcrib::registry::{CatalogDiff, DefinitionChange, Owner, Refusal};
use toolcrib::session::{BudgetUse, CheckRow, PlayRow, PlayState, PlayedRound, SessionRow};
use toolcrib::source::mcp::PendingQuestion;
use toolcrib::source::{Failure, FailureKind, HeldTool, Launch, LogLine, ServerStatus, Transition};
use toolcrib::tool::{Definition, Progress};

use crate::text::{Lines, Marks, clean, clean_name};

/// Counts by the name of a tool or of an owner.
type Tallies = Table<Tally>;

/// The rows of all sessions.
type Sessions = Arc<[Arc<SessionRow>]>;

/// Cleans snapshots one after the other.
#[derive(Debug)]
pub(super) struct Cleaner {
    marks: Marks,
    servers: Memory<ServerStatus>,
    records: Memory<CallRecord>,
    /// The tools of the last snapshot as they came and as they are shown.
    tools: Option<(Arc<[ToolRow]>, Arc<[ToolRow]>)>,
    changes: Memory<CatalogChange>,
    rows: Memory<SessionRow>,
    /// The sessions of the last snapshot as they came and as they are shown.
    sessions: Option<(Sessions, Sessions)>,
    /// The counts by name of the last snapshot as they came and as they are shown.
    tallies: [Option<(Tallies, Tallies)>; 2],
    /// Names that had to be changed, by what is shown.
    names: HashMap<Arc<str>, Arc<str>>,
}

/// What was cleaned last time, by the address of what came. The original is kept with it, so that
/// the address cannot be given to another value.
#[derive(Debug)]
struct Memory<T>(HashMap<usize, (Arc<T>, Arc<T>)>);

impl<T> Memory<T> {
    fn new() -> Self {
        Self(HashMap::new())
    }

    /// Cleans all, forgetting what is no longer among them.
    fn clean_all(
        &mut self,
        all: &[Arc<T>],
        mut clean: impl FnMut(&Arc<T>) -> Arc<T>,
    ) -> Arc<[Arc<T>]> {
        let mut kept = HashMap::with_capacity(all.len());
        let cleaned = all
            .iter()
            .map(|value| {
                let address = Arc::as_ptr(value).addr();
                let pair = self
                    .0
                    .remove(&address)
                    .unwrap_or_else(|| (Arc::clone(value), clean(value)));
                let shown = Arc::clone(&pair.1);
                kept.insert(address, pair);
                shown
            })
            .collect();
        self.0 = kept;
        cleaned
    }
}

impl Cleaner {
    /// A cleaner that has seen nothing.
    pub(super) fn new(marks: Marks) -> Self {
        Self {
            marks,
            servers: Memory::new(),
            records: Memory::new(),
            tools: None,
            changes: Memory::new(),
            rows: Memory::new(),
            sessions: None,
            tallies: [None, None],
            names: HashMap::new(),
        }
    }

    /// The name that was shown as `shown`.
    pub(super) fn original(&self, shown: &Arc<str>) -> Arc<str> {
        Arc::clone(self.names.get(shown).unwrap_or(shown))
    }

    /// The tool that was shown as `shown`; itself if it is none of the last snapshot's.
    pub(super) fn tool_as_it_came(&self, shown: &ToolRow) -> ToolRow {
        let found = self.tools.as_ref().and_then(|(came, cleaned)| {
            let name = shown.definition.name();
            let at = cleaned
                .iter()
                .position(|tool| tool.definition.name() == name && tool == shown)?;
            came.get(at).cloned()
        });
        found.unwrap_or_else(|| shown.clone())
    }

    /// The record that was shown as `shown`; itself if it is none of the last snapshot's.
    pub(super) fn record_as_it_came(&self, shown: &Arc<CallRecord>) -> Arc<CallRecord> {
        let mut known = self.records.0.values();
        let found = known.find(|(_, cleaned)| Arc::ptr_eq(cleaned, shown));
        Arc::clone(found.map_or(shown, |(came, _)| came))
    }

    /// The snapshot with every text in it cleaned, but for the parts of results and the rounds of
    /// sessions: they may be of any size, and whoever shows one cleans the rows on the screen.
    pub(super) fn clean(&mut self, snapshot: &Arc<Snapshot>) -> Arc<Snapshot> {
        let tools = self.tools(&snapshot.tools);
        let sessions = self.sessions(&snapshot.sessions);
        let mut words = Words {
            marks: self.marks,
            names: &mut self.names,
        };
        let servers = self
            .servers
            .clean_all(&snapshot.servers, |server| Arc::new(words.server(server)));
        let history = self
            .records
            .clean_all(&snapshot.history, |record| words.record(record));
        let sources = snapshot
            .sources
            .iter()
            .map(|source| {
                let mut source = source.clone();
                source.name = words.name(&source.name);
                source
            })
            .collect();
        let running = snapshot
            .running
            .iter()
            .map(|row| words.running(row))
            .collect();
        let changes = self
            .changes
            .clean_all(&snapshot.changes, |change| words.change(change));
        let [by_tool, by_owner] = &mut self.tallies;
        let stats = StatsRow {
            tools: words.tallies(by_tool, &snapshot.stats.tools),
            owners: words.tallies(by_owner, &snapshot.stats.owners),
            // Names in `meters` and `busy` are identities; whoever shows one cleans it.
            ..snapshot.stats.clone()
        };
        let approvals = snapshot
            .approvals
            .iter()
            .map(|question| Arc::new(words.approval(question)))
            .collect();
        let questions = snapshot
            .questions
            .iter()
            .map(|question| {
                // What it asks is cleaned where it is drawn: the answer has to fit it as it came.
                Arc::new(PendingQuestion {
                    source: words.name(&question.source),
                    server: words.name(&question.server),
                    ..PendingQuestion::clone(question)
                })
            })
            .collect();
        let refusals = snapshot
            .refusals
            .iter()
            .map(|refusal| words.refusal(refusal))
            .collect();
        Arc::new(Snapshot {
            deployment: words.deployment(&snapshot.deployment),
            sources,
            servers,
            tools,
            refusals,
            running,
            history,
            changes,
            stats,
            approvals,
            questions,
            sessions,
            worst_budget: snapshot.worst_budget.as_ref().map(|used| BudgetUse {
                session: words.name(&used.session),
                ..used.clone()
            }),
            ..Snapshot::clone(snapshot)
        })
    }

    /// Most versions bring the sessions of the one before.
    fn sessions(&mut self, sessions: &Sessions) -> Sessions {
        if let Some((came, shown)) = &self.sessions
            && Arc::ptr_eq(came, sessions)
        {
            return Arc::clone(shown);
        }
        let mut words = Words {
            marks: self.marks,
            names: &mut self.names,
        };
        let shown = self.rows.clean_all(sessions, |row| {
            words.session(row).unwrap_or_else(|| Arc::clone(row))
        });
        self.sessions = Some((Arc::clone(sessions), Arc::clone(&shown)));
        shown
    }

    /// The tools are by far the most: they are only looked at when the registry has changed.
    fn tools(&mut self, tools: &Arc<[ToolRow]>) -> Arc<[ToolRow]> {
        if let Some((came, shown)) = &self.tools
            && Arc::ptr_eq(came, tools)
        {
            return Arc::clone(shown);
        }
        let mut words = Words {
            marks: self.marks,
            names: &mut self.names,
        };
        let cleaned: Vec<Option<ToolRow>> = tools.iter().map(|row| words.tool(row)).collect();
        let shown = if cleaned.iter().all(Option::is_none) {
            Arc::clone(tools)
        } else {
            std::iter::zip(cleaned, tools.iter())
                .map(|(cleaned, row)| cleaned.unwrap_or_else(|| row.clone()))
                .collect()
        };
        self.tools = Some((Arc::clone(tools), Arc::clone(&shown)));
        shown
    }
}

/// Cleans the single values. The methods that give an `Option` give `None` for what is clean.
struct Words<'n> {
    marks: Marks,
    names: &'n mut HashMap<Arc<str>, Arc<str>>,
}

impl Words<'_> {
    fn name(&mut self, name: &Arc<str>) -> Arc<str> {
        match clean_name(name, self.marks) {
            std::borrow::Cow::Borrowed(_) => Arc::clone(name),
            std::borrow::Cow::Owned(shown) => {
                let shown: Arc<str> = shown.into();
                self.names.insert(Arc::clone(&shown), Arc::clone(name));
                shown
            }
        }
    }

    fn changed(&self, text: &str) -> Option<String> {
        match clean(text, Lines::Many, self.marks) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(shown) => (shown != text).then_some(shown),
        }
    }

    fn line(&self, text: &str) -> String {
        clean(text, Lines::One, self.marks).into_owned()
    }

    fn lines(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.line(text)).collect()
    }

    fn value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) => self.changed(text).map(Value::String),
            Value::Array(items) => {
                let cleaned: Vec<_> = items.iter().map(|item| self.value(item)).collect();
                cleaned.iter().any(Option::is_some).then(|| {
                    std::iter::zip(cleaned, items)
                        .map(|(cleaned, item)| cleaned.unwrap_or_else(|| item.clone()))
                        .collect()
                })
            }
            Value::Object(map) => {
                let cleaned: Vec<_> = map
                    .iter()
                    .map(|(key, item)| {
                        let key = match clean_name(key, self.marks) {
                            std::borrow::Cow::Borrowed(_) => None,
                            std::borrow::Cow::Owned(shown) => Some(shown),
                        };
                        (key, self.value(item))
                    })
                    .collect();
                let any = cleaned
                    .iter()
                    .any(|(key, item)| key.is_some() || item.is_some());
                any.then(|| {
                    std::iter::zip(cleaned, map)
                        .map(|((shown, cleaned), (key, item))| {
                            (
                                shown.unwrap_or_else(|| key.clone()),
                                cleaned.unwrap_or_else(|| item.clone()),
                            )
                        })
                        .collect()
                })
            }
            _ => None,
        }
    }

    fn owner(&mut self, owner: &Owner) -> Owner {
        Owner {
            precedence: owner.precedence,
            source: self.name(&owner.source),
            server: owner.server.as_ref().map(|server| self.name(server)),
        }
    }

    fn session(&mut self, row: &SessionRow) -> Option<Arc<SessionRow>> {
        let name = self.name(&row.name);
        let warnings = self.lines(&row.warnings);
        let play = row.play.as_ref().map(|play| Arc::new(self.play(play)));
        let is_clean = name == row.name && *warnings == *row.warnings && play == row.play;
        (!is_clean).then(|| {
            Arc::new(SessionRow {
                name,
                warnings: warnings.into(),
                play,
                ..row.clone()
            })
        })
    }

    fn play(&mut self, play: &PlayRow) -> PlayRow {
        let note = |note: &Arc<str>| -> Arc<str> { self.line(note).into() };
        let check = |check: &CheckRow| CheckRow {
            expected: self.lines(&check.expected),
            actual: self.lines(&check.actual),
            ..check.clone()
        };
        let played = |round: &Arc<PlayedRound>| {
            Arc::new(PlayedRound {
                note: round.note.as_ref().map(note),
                checks: round.checks.iter().map(check).collect(),
                round: round.round,
            })
        };
        PlayRow {
            state: match &play.state {
                PlayState::Failed { cause } => PlayState::Failed {
                    cause: self.line(cause),
                },
                other => other.clone(),
            },
            played: play.played.iter().map(played).collect(),
            next_note: play.next_note.as_ref().map(note),
            scenario: self.line(&play.scenario).into(),
            ..play.clone()
        }
    }

    fn deployment(&mut self, row: &DeploymentRow) -> DeploymentRow {
        DeploymentRow {
            name: self.name(&row.name),
            state: match &row.state {
                DeploymentState::Failed { cause } => DeploymentState::Failed {
                    cause: self.line(cause),
                },
                other => other.clone(),
            },
            warnings: self.lines(&row.warnings).into(),
            reload: row.reload.as_ref().map(|reload| {
                Arc::new(ReloadRow {
                    at: reload.at,
                    problems: self.lines(&reload.problems).into(),
                    done: self.lines(&reload.done).into(),
                })
            }),
        }
    }

    fn tool(&mut self, row: &ToolRow) -> Option<ToolRow> {
        let definition = &row.definition;
        let raw_name = definition.shared_name();
        let name = self.name(&raw_name);
        let owner = self.owner(&row.owner);
        let description = self.changed(definition.description());
        let schema = self.value(definition.input_schema());
        let title = row.title.as_ref().and_then(|title| self.changed(title));
        let original = row.original_name.as_ref().map(|name| self.name(name));
        let defined_at = row.defined_at.as_ref().map(|place| self.name(place));
        let is_clean = description.is_none()
            && schema.is_none()
            && title.is_none()
            && name == raw_name
            && owner == row.owner
            && original == row.original_name
            && defined_at == row.defined_at;
        if is_clean {
            return None;
        }
        let title = title.map(Into::into).or_else(|| row.title.clone());
        let shown = Definition::with_title(
            name,
            title.as_ref().map(ToString::to_string),
            description.unwrap_or_else(|| definition.description().to_owned()),
            schema.unwrap_or_else(|| definition.input_schema().clone()),
        );
        Some(ToolRow {
            // A name that is not empty stays so, and an object stays an object.
            definition: shown.unwrap_or_else(|_| definition.clone()),
            owner,
            title,
            original_name: original,
            defined_at,
            ..row.clone()
        })
    }

    fn running(&mut self, row: &RunningRow) -> RunningRow {
        RunningRow {
            tool: self.name(&row.tool),
            session: row.session.as_ref().map(|name| self.name(name)),
            arguments: self
                .value(&row.arguments)
                .unwrap_or_else(|| row.arguments.clone()),
            progress: row.progress.as_ref().map(|progress| Progress {
                message: progress.message.as_ref().map(|text| self.line(text)),
                ..progress.clone()
            }),
            ..row.clone()
        }
    }

    /// Counts are looked up by the names that are shown. Mostly no name has to be changed, and the
    /// whole table is shared.
    fn tallies(&mut self, last: &mut Option<(Tallies, Tallies)>, came: &Tallies) -> Tallies {
        if let Some((known, shown)) = last
            && known.is(came)
        {
            return shown.clone();
        }
        let is_clean =
            |name: &Arc<str>| matches!(clean_name(name, self.marks), std::borrow::Cow::Borrowed(_));
        let shown = if came.keys().all(is_clean) {
            came.clone()
        } else {
            let named = came
                .iter()
                .map(|(name, tally)| (self.name(name), tally.clone()));
            named.collect()
        };
        *last = Some((came.clone(), shown.clone()));
        shown
    }

    fn change(&mut self, change: &CatalogChange) -> Arc<CatalogChange> {
        let diff = &change.diff;
        let mut names = |names: &[Arc<str>]| names.iter().map(|name| self.name(name)).collect();
        let (added, removed) = (names(&diff.added), names(&diff.removed));
        let changed = diff.changed.iter().map(|change| DefinitionChange {
            name: self.name(&change.name),
            before: self.definition(&change.before),
            after: self.definition(&change.after),
        });
        let changed = changed.collect();
        let refused = diff.refused.iter().map(|refusal| self.refusal(refusal));
        let refused = refused.collect();
        Arc::new(CatalogChange {
            at: change.at,
            diff: Arc::new(CatalogDiff {
                version: diff.version,
                owner: self.owner(&diff.owner),
                added,
                removed,
                changed,
                refused,
            }),
        })
    }

    fn definition(&mut self, definition: &Definition) -> Definition {
        let name = self.name(&definition.shared_name());
        let description = self.changed(definition.description());
        let schema = self.value(definition.input_schema());
        let title = definition.title().and_then(|title| self.changed(title));
        let is_clean = description.is_none()
            && schema.is_none()
            && title.is_none()
            && *name == *definition.name();
        if is_clean {
            return definition.clone();
        }
        let shown = Definition::with_title(
            name,
            title.or_else(|| definition.title().map(ToOwned::to_owned)),
            description.unwrap_or_else(|| definition.description().to_owned()),
            schema.unwrap_or_else(|| definition.input_schema().clone()),
        );
        // A name that is not empty stays so, and an object stays an object.
        shown.unwrap_or_else(|_| definition.clone())
    }

    fn refusal(&mut self, refusal: &Refusal) -> Refusal {
        Refusal {
            name: self.name(&refusal.name),
            refused: self.owner(&refusal.refused),
            holder: self.owner(&refusal.holder),
        }
    }

    fn approval(&mut self, question: &PendingApproval) -> PendingApproval {
        PendingApproval {
            tool: self.name(&question.tool),
            session: question.session.as_ref().map(|name| self.name(name)),
            arguments: self
                .value(&question.arguments)
                .unwrap_or_else(|| question.arguments.clone()),
            ..question.clone()
        }
    }

    fn record(&mut self, record: &Arc<CallRecord>) -> Arc<CallRecord> {
        let tool = self.name(&record.tool);
        let session = record.session.as_ref().map(|name| self.name(name));
        let owner = record.owner.as_ref().map(|name| self.name(name));
        let arguments = self.value(&record.arguments);
        let error = record.error.as_ref().and_then(|text| self.changed(text));
        let is_clean = arguments.is_none()
            && error.is_none()
            && tool == record.tool
            && owner == record.owner
            && session == record.session;
        if is_clean {
            return Arc::clone(record);
        }
        Arc::new(CallRecord {
            tool,
            owner,
            session,
            arguments: arguments.unwrap_or_else(|| record.arguments.clone()),
            error: error.or_else(|| record.error.clone()),
            ..CallRecord::clone(record)
        })
    }

    fn server(&mut self, server: &ServerStatus) -> ServerStatus {
        ServerStatus {
            source: self.name(&server.source),
            name: self.name(&server.name),
            launch: self.launch(&server.launch),
            last_error: server
                .last_error
                .as_ref()
                .map(|failure| Arc::new(self.failure(failure))),
            protocol: server.protocol.as_ref().map(|text| self.line(text)),
            server_info: server
                .server_info
                .as_ref()
                .map(|info| toolcrib::source::ServerInfo {
                    name: self.line(&info.name),
                    version: self.line(&info.version),
                }),
            capabilities: self.lines(&server.capabilities),
            instructions: server.instructions.as_ref().map(|text| {
                self.changed(text)
                    .map_or_else(|| Arc::clone(text), Into::into)
            }),
            warnings: self.lines(&server.warnings).into(),
            held: server
                .held
                .iter()
                .map(|tool| HeldTool {
                    definition: self.definition(&tool.definition),
                    accepted: tool
                        .accepted
                        .as_ref()
                        .map(|definition| self.definition(definition)),
                })
                .collect(),
            log: self.log(&server.log),
            history: server
                .history
                .iter()
                .map(|transition| Transition {
                    reason: self.line(&transition.reason),
                    ..transition.clone()
                })
                .collect(),
            ..server.clone()
        }
    }

    fn launch(&mut self, launch: &Launch) -> Launch {
        match launch {
            Launch::Stdio {
                command,
                args,
                resolved,
                cwd,
                env,
                pid,
            } => Launch::Stdio {
                command: self.line(command),
                args: self.lines(args),
                resolved: resolved.as_ref().map(|text| self.line(text)),
                cwd: self.line(cwd),
                env: self.lines(env),
                pid: *pid,
            },
            Launch::Http { url, headers } => Launch::Http {
                url: self.line(url),
                headers: self.lines(headers),
            },
        }
    }

    fn failure(&self, failure: &Failure) -> Failure {
        Failure {
            kind: self.kind(&failure.kind),
            message: self.line(&failure.message),
            advice: failure.advice.as_ref().map(|text| self.line(text)),
            stderr: self.log(&failure.stderr),
            ..failure.clone()
        }
    }

    fn kind(&self, kind: &FailureKind) -> FailureKind {
        match kind {
            FailureKind::CommandNotFound { command, path } => FailureKind::CommandNotFound {
                command: self.line(command),
                path: self.line(path),
            },
            FailureKind::HttpStatus {
                status,
                body,
                www_authenticate,
            } => FailureKind::HttpStatus {
                status: *status,
                body: self.line(body),
                www_authenticate: www_authenticate.as_ref().map(|text| self.line(text)),
            },
            FailureKind::NotMcp { content_type, body } => FailureKind::NotMcp {
                content_type: self.line(content_type),
                body: self.line(body),
            },
            FailureKind::RpcError { code, message } => FailureKind::RpcError {
                code: *code,
                message: self.line(message),
            },
            FailureKind::UnsupportedProtocol { offered } => FailureKind::UnsupportedProtocol {
                offered: self.line(offered),
            },
            FailureKind::Proxy { address } => FailureKind::Proxy {
                address: self.line(address),
            },
            FailureKind::SpawnFailed
            | FailureKind::ProcessExited { .. }
            | FailureKind::OutputClosed
            | FailureKind::ConnectionRefused
            | FailureKind::ConnectionReset
            | FailureKind::NameNotResolved
            | FailureKind::Tls { .. }
            | FailureKind::TimedOut
            | FailureKind::ProbesMissed
            | FailureKind::BadSettings
            | FailureKind::Other => kind.clone(),
        }
    }

    fn log(&self, lines: &Arc<[LogLine]>) -> Arc<[LogLine]> {
        lines
            .iter()
            .map(|line| {
                let mut line = line.clone();
                let text = line.text.trim_end();
                if let std::borrow::Cow::Owned(shown) = clean(text, Lines::One, self.marks) {
                    line.text = shown.into();
                }
                line.level = line.level.map(|level| self.line(&level));
                line
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::fixture::{failing, normal, overfull, tool};

    fn texts(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                found.push(key.clone());
                texts(item, found);
            }),
            _ => {}
        }
    }

    #[test]
    fn nothing_hostile_is_left_in_any_text_of_a_snapshot() {
        let mut hostile = Snapshot::clone(&overfull());
        let evil = "\x1b]0;x\x07\u{202e}evil\u{200b}\r";
        hostile.deployment.name = evil.into();
        hostile.deployment.warnings = vec![evil.to_owned()].into();
        let mut server = ServerStatus::clone(&failing().servers[2]);
        server.instructions = Some(evil.into());
        server.capabilities = vec![evil.into()];
        server.protocol = Some(evil.into());
        let mut failure = Failure::clone(server.last_error.as_ref().unwrap());
        failure.message = evil.into();
        failure.advice = Some(evil.into());
        failure.kind = FailureKind::HttpStatus {
            status: 500,
            body: evil.into(),
            www_authenticate: Some(evil.into()),
        };
        server.last_error = Some(Arc::new(failure));
        server.launch = Launch::Stdio {
            command: evil.into(),
            args: vec![evil.into()],
            resolved: Some(evil.into()),
            cwd: evil.into(),
            env: vec![evil.into()],
            pid: None,
        };
        hostile.servers = hostile
            .servers
            .iter()
            .cloned()
            .chain([Arc::new(server)])
            .collect();
        let mut record = CallRecord::clone(&hostile.history[0]);
        record.arguments = serde_json::json!({evil: [evil]});
        record.error = Some(evil.into());
        hostile.history = vec![Arc::new(record)].into();
        let cleaned = Cleaner::new(Marks::Unicode).clean(&Arc::new(hostile));
        let mut found = Vec::new();
        texts(&serde_json::to_value(&*cleaned).unwrap(), &mut found);
        assert!(found.iter().any(|text| text.contains("evil")));
        for text in found {
            let again = clean(&text, Lines::Many, Marks::Unicode);
            assert_eq!(again, text);
        }
    }

    #[test]
    fn what_is_clean_is_shared_and_what_was_cleaned_is_not_cleaned_again() {
        let mut cleaner = Cleaner::new(Marks::Unicode);
        let snapshot = normal();
        let first = cleaner.clean(&snapshot);
        assert!(Arc::ptr_eq(&first.tools, &snapshot.tools));
        assert!(Arc::ptr_eq(&first.history[0], &snapshot.history[0]));
        let second = cleaner.clean(&Arc::new(Snapshot::clone(&snapshot)));
        assert!(Arc::ptr_eq(&first.servers[0], &second.servers[0]));
    }

    #[test]
    fn ten_thousand_hostile_tools_are_cleaned_once() {
        let mut all = Snapshot::clone(&normal());
        all.tools = (0..10_000)
            .map(|number| tool("sim", "sim", &format!("tool\x07{number}")))
            .collect();
        let mut cleaner = Cleaner::new(Marks::Unicode);
        let first = cleaner.clean(&Arc::new(all.clone()));
        all.version += 1;
        let second = cleaner.clean(&Arc::new(all));
        assert!(Arc::ptr_eq(&first.tools, &second.tools));
    }

    #[test]
    fn the_real_name_behind_a_shown_one_is_known() {
        let mut all = Snapshot::clone(&normal());
        all.tools = vec![tool("sim", "sim", "pay"), tool("sim", "sim", "p\u{200b}ay")].into();
        let mut cleaner = Cleaner::new(Marks::Unicode);
        let shown = cleaner.clean(&Arc::new(all));
        let names: Vec<_> = shown
            .tools
            .iter()
            .map(|tool| tool.definition.shared_name())
            .collect();
        assert_eq!(
            names.iter().map(|name| &**name).collect::<Vec<_>>(),
            ["sim__pay", "sim__p\\u{200b}ay"]
        );
        assert_eq!(&*cleaner.original(&names[0]), "sim__pay");
        assert_eq!(&*cleaner.original(&names[1]), "sim__p\u{200b}ay");
        // Sizes and hashes are those of what the model is sent.
        assert_eq!(
            shown.tools[1].bytes,
            tool("sim", "sim", "p\u{200b}ay").bytes
        );
    }
}
