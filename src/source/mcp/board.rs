//! What is published of one server: collects the changes and sends the newest state as one value.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::log::Log;
use super::{ServerSettings, TransportSettings};
use crate::clock::Stamp;
use crate::secrets::Secrets;
use crate::source::{
    Failure, HeldTool, Launch, Proofs, ServerInfo, ServerRows, ServerState, ServerStatus,
    Transition,
};

/// How many changes of state are kept; the oldest go first.
const HISTORY: usize = 200;

/// How many round trips are kept; the oldest go first.
const PINGS: usize = 60;

/// How many warnings are kept; a server that keeps causing them adds nothing after that.
const WARNINGS: usize = 50;

/// What a connection that was made says of the server.
#[derive(Clone, Debug, Default)]
pub(super) struct Introduction {
    pub(super) protocol: String,
    pub(super) server_info: Option<ServerInfo>,
    pub(super) capabilities: Vec<String>,
    pub(super) instructions: Option<Arc<str>>,
}

/// The published side of one server.
pub(super) struct Board {
    status: ServerStatus,
    history: VecDeque<Transition>,
    rows: Arc<watch::Sender<ServerRows>>,
    log: Log,
    secrets: Secrets,
    /// Warnings of the newest listing, and those that stay.
    listed: Vec<String>,
    standing: Vec<String>,
}

impl Board {
    pub(super) fn new(
        first: ServerStatus,
        rows: Arc<watch::Sender<ServerRows>>,
        log: Log,
        secrets: Secrets,
    ) -> Self {
        let standing = first.warnings.to_vec();
        Self {
            status: first,
            history: VecDeque::new(),
            rows,
            log,
            secrets,
            listed: Vec::new(),
            standing,
        }
    }

    /// The state before anything happened.
    pub(super) fn first_status(
        source: &Arc<str>,
        settings: &ServerSettings,
        resolved: Option<String>,
        secrets: &Secrets,
    ) -> ServerStatus {
        ServerStatus {
            source: Arc::clone(source),
            name: settings.name.as_str().into(),
            launch: launch(settings, resolved, secrets),
            state: ServerState::Connecting,
            since: Stamp::now(),
            required: settings.required,
            attempts: 0,
            reconnects: 0,
            losses: 0,
            next_retry: None,
            last_error: None,
            protocol: None,
            server_info: None,
            capabilities: Vec::new(),
            instructions: None,
            tools: 0,
            warnings: prefix_warning(settings).into_iter().collect(),
            held: Arc::default(),
            proofs: Proofs::default(),
            ping: None,
            pings: Arc::default(),
            log: Arc::default(),
            log_dropped: 0,
            history: Arc::default(),
            settled: false,
        }
    }

    pub(super) fn status(&self) -> &ServerStatus {
        &self.status
    }

    pub(super) fn enter(&mut self, to: ServerState, reason: String, attempt: u32) {
        let at = Stamp::now();
        let transition = Transition {
            at,
            from: self.status.state,
            to,
            reason: self.secrets.mask(&reason).into_owned(),
            attempt,
        };
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(transition);
        self.status.history = self.history.iter().cloned().collect();
        if to != self.status.state {
            self.status.since = at;
        }
        self.status.state = to;
        self.status.attempts = attempt;
    }

    pub(super) fn set_next_retry(&mut self, at: Option<tokio::time::Instant>) {
        self.status.next_retry = at.map(|at| {
            let now = Stamp::now();
            let wait = at.saturating_duration_since(now.at);
            Stamp {
                at,
                wall: now.wall.checked_add(wait).unwrap_or(now.wall),
            }
        });
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        self.status.settled = true;
        self.status.last_error = Some(Arc::new(failure));
    }

    pub(super) fn lost(&mut self, failure: Failure) {
        self.status.losses += 1;
        self.status.last_error = Some(Arc::new(failure));
        self.set_pid(None);
    }

    pub(super) fn connected(&mut self, introduction: Introduction) {
        let now = Stamp::now();
        if self.status.proofs.tools.is_some() {
            self.status.reconnects += 1;
        }
        self.status.settled = true;
        self.status.protocol = Some(introduction.protocol);
        self.status.server_info = introduction.server_info;
        self.status.capabilities = introduction.capabilities;
        self.status.instructions = introduction
            .instructions
            .map(|text| self.secrets.mask(&text).as_ref().into());
        self.status.proofs.protocol = Some(now);
        self.proved_alive();
    }

    /// Bytes came back for a request of ours.
    pub(super) fn proved_alive(&mut self) {
        let now = Stamp::now();
        self.status.proofs.reachable = Some(now);
        // A process asks for no authorization.
        if matches!(self.status.launch, Launch::Http { .. }) {
            self.status.proofs.authenticated = Some(now);
        }
    }

    /// The server answered, if only to say no.
    pub(super) fn proved_reachable(&mut self) {
        self.status.proofs.reachable = Some(Stamp::now());
    }

    /// Whether this definition is known to be held back.
    pub(super) fn holds(&self, tool: &HeldTool) -> bool {
        let mut held = self.status.held.iter();
        held.any(|known| known.definition == tool.definition)
    }

    pub(super) fn listed(&mut self, tools: usize, held: Vec<HeldTool>, warnings: Vec<String>) {
        self.status.tools = tools;
        self.status.held = held
            .into_iter()
            .map(|tool| HeldTool {
                definition: tool.definition.masked(&self.secrets),
                accepted: tool.accepted.map(|known| known.masked(&self.secrets)),
            })
            .collect();
        self.status.proofs.tools = Some(Stamp::now());
        self.listed = warnings;
        self.show_warnings();
    }

    /// A warning that stays until the source ends.
    pub(super) fn warn(&mut self, warning: String) {
        if !self.standing.contains(&warning) {
            self.standing.push(warning);
            self.show_warnings();
        }
    }

    fn show_warnings(&mut self) {
        let all = self.standing.iter().chain(&self.listed);
        self.status.warnings = all
            .take(WARNINGS)
            .map(|warning| self.secrets.mask(warning).into_owned())
            .collect();
    }

    pub(super) fn set_ping(&mut self, ping: Duration) {
        self.status.ping = Some(ping);
        let skip = (self.status.pings.len() + 1).saturating_sub(PINGS);
        let kept = self.status.pings.iter().skip(skip).copied();
        self.status.pings = kept.chain([ping]).collect();
    }

    pub(super) fn set_pid(&mut self, new: Option<u32>) {
        if let Launch::Stdio { pid, .. } = &mut self.status.launch {
            *pid = new;
        }
    }

    pub(super) fn set_resolved(&mut self, new: Option<String>) {
        if let Launch::Stdio { resolved, .. } = &mut self.status.launch {
            *resolved = new;
        }
    }

    /// Sends the newest state.
    pub(super) fn publish(&mut self) {
        (self.status.log, self.status.log_dropped) = self.log.lines();
        let row = Arc::new(self.status.clone());
        self.rows.send_if_modified(|rows| {
            // A server that was taken out of the deployment has no row any more.
            let Some(place) = rows.iter().position(|known| known.name == row.name) else {
                return false;
            };
            let mut next = rows.to_vec();
            next[place] = row;
            *rows = next.into();
            true
        });
    }
}

/// A prefix that runs into the name: `fs` makes `fsread_file` (rule 8.1).
fn prefix_warning(settings: &ServerSettings) -> Option<String> {
    let prefix = settings.prefix();
    let last = prefix.chars().last()?;
    last.is_alphanumeric().then(|| {
        format!("the prefix `{prefix}` ends in a letter or digit: it makes `{prefix}read_file`")
    })
}

fn launch(settings: &ServerSettings, resolved: Option<String>, secrets: &Secrets) -> Launch {
    let mask = |text: &str| secrets.mask(text).into_owned();
    match &settings.transport {
        TransportSettings::Stdio {
            command,
            args,
            env,
            cwd,
        } => Launch::Stdio {
            command: mask(command),
            args: args.iter().map(|arg| mask(arg)).collect(),
            resolved: resolved.map(|path| mask(&path)),
            cwd: cwd
                .clone()
                .or_else(|| std::env::current_dir().ok())
                .map(|path| mask(&path.to_string_lossy()))
                .unwrap_or_default(),
            env: env.iter().map(|(name, _)| name.clone()).collect(),
            pid: None,
        },
        TransportSettings::Http { url, headers, .. } => Launch::Http {
            url: mask(url),
            headers: headers.iter().map(|(name, _)| name.clone()).collect(),
        },
    }
}
