//! What a person can know of a server, as plain data. Every text in here has had its secrets
//! masked already; escape sequences are still in it and are the surface's to clean.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::clock::Stamp;
use crate::tool::Definition;

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A child process over stdin and stdout.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl Transport {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// The states that a person sees (rule 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// An attempt is under way.
    Connecting,
    /// Connected, the last proof is good.
    Ready,
    /// Connected, but a probe is late or failed once.
    Degraded,
    /// Waiting for the next attempt.
    Backoff,
    /// The server refuses us; nothing is retried (rule 8.4).
    Rejected,
    /// Switched off by the operator.
    Disabled,
    /// The source is closed.
    Stopped,
}

impl ServerState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Connecting,
        Self::Ready,
        Self::Degraded,
        Self::Backoff,
        Self::Rejected,
        Self::Disabled,
        Self::Stopped,
    ];

    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Backoff => "backoff",
            Self::Rejected => "rejected",
            Self::Disabled => "disabled",
            Self::Stopped => "stopped",
        }
    }

    /// Whether calls can reach the server.
    pub fn is_up(self) -> bool {
        matches!(self, Self::Ready | Self::Degraded)
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What went wrong, by type and never by text (rule 8.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FailureKind {
    /// The command is not on the path, or is no executable file.
    CommandNotFound {
        /// The command as configured.
        command: String,
        /// The directories that were searched.
        path: String,
    },
    /// The process could not be started for another reason.
    SpawnFailed,
    /// The process ended before it answered, or while it was connected.
    ProcessExited {
        /// Its exit code, if it exited by itself.
        code: Option<i32>,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
    },
    /// The process lives, but its stdout is closed.
    OutputClosed,
    /// Nothing listens at the address.
    ConnectionRefused,
    /// The connection broke.
    ConnectionReset,
    /// The host name has no address.
    NameNotResolved,
    /// The proxy that the environment names for the address let no connection through.
    Proxy {
        /// Its address, without the credentials in it.
        address: String,
    },
    /// The TLS handshake failed.
    Tls {
        /// Whether the certificate has expired, which heals by itself (rule 8.3).
        expired: bool,
    },
    /// No answer in time.
    TimedOut,
    /// The server answered with this HTTP status.
    HttpStatus {
        /// The status code.
        status: u16,
        /// The first words of the body.
        body: String,
        /// The `WWW-Authenticate` header, if the server sent one.
        www_authenticate: Option<String>,
    },
    /// The body is not MCP: HTML, or JSON of another kind.
    NotMcp {
        /// The media type.
        content_type: String,
        /// The first words of the body.
        body: String,
    },
    /// The server answered a request of the handshake with a JSON-RPC error.
    RpcError {
        /// The code.
        code: i64,
        /// The server's own words.
        message: String,
    },
    /// Both sides have no revision in common.
    UnsupportedProtocol {
        /// What the server offered.
        offered: String,
    },
    /// Two liveness probes in a row were missed (rule 8.7).
    ProbesMissed,
    /// The settings cannot work, for example a header that may not be set.
    BadSettings,
    /// Anything else that ended the connection.
    Other,
}

/// A failure with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// When.
    pub at: Stamp,
    /// By type.
    #[serde(flatten)]
    pub kind: FailureKind,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do next, where there is something to do.
    pub advice: Option<String>,
    /// How long the attempt or the connection had lasted.
    pub after: Duration,
    /// The last stderr lines of the process at that time.
    pub stderr: Arc<[LogLine]>,
}

/// Where a line of a server's log came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogOrigin {
    /// The process wrote it to stderr.
    Stderr,
    /// The process wrote it to stdout, where it is no JSON (rule 8.12).
    Stdout,
    /// A `notifications/message` of the server.
    Message,
}

/// One line of a server's log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogLine {
    /// When it arrived.
    pub at: Stamp,
    /// Where it came from.
    pub origin: LogOrigin,
    /// MCP's level of a `notifications/message`, for example `warning`.
    pub level: Option<String>,
    /// The text, secrets masked.
    pub text: Arc<str>,
}

/// How a server is started or reached, secrets masked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "transport")]
pub enum Launch {
    /// A child process.
    Stdio {
        /// The command as configured.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The file that the command resolves to, if there is one.
        resolved: Option<String>,
        /// Its working directory.
        cwd: String,
        /// Names of the variables that are added to the environment.
        env: Vec<String>,
        /// The process id while it runs.
        pid: Option<u32>,
    },
    /// An address.
    Http {
        /// The URL.
        url: String,
        /// Names of the configured headers.
        headers: Vec<String>,
    },
}

/// When each light was last proved good; absent when it never was (console, "four lights").
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proofs {
    /// Bytes came back.
    pub reachable: Option<Stamp>,
    /// A request that needs authorization was accepted.
    pub authenticated: Option<Stamp>,
    /// The handshake ended with an agreed revision.
    pub protocol: Option<Stamp>,
    /// The tools were listed.
    pub tools: Option<Stamp>,
}

/// What the server says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A change of state (rule 8.2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transition {
    /// When.
    pub at: Stamp,
    /// The state before.
    pub from: ServerState,
    /// The state now.
    pub to: ServerState,
    /// Why, in a sentence.
    pub reason: String,
    /// The attempt number within the series, from 1; 0 where no attempt is involved.
    pub attempt: u32,
}

/// A tool that is offered and not registered, because its definition was not accepted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldTool {
    /// What the server offers.
    pub definition: Definition,
    /// What was accepted under this name and seen by this process; absent when the name is new, or
    /// changed before the start.
    pub accepted: Option<Definition>,
}

/// Everything about one server now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerStatus {
    /// The source that it belongs to.
    pub source: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// How it is started or reached.
    pub launch: Launch,
    /// Its state.
    pub state: ServerState,
    /// Since when it is in that state.
    pub since: Stamp,
    /// Whether the host waits for it (rule 8.8).
    pub required: bool,
    /// Attempts in the series that is under way, or that led to the connection.
    pub attempts: u32,
    /// How often a connection was made after the first one.
    pub reconnects: u32,
    /// How often an established connection was lost.
    pub losses: u32,
    /// When the next attempt comes, while in `backoff`.
    pub next_retry: Option<Stamp>,
    /// The newest failure, kept after it healed.
    pub last_error: Option<Arc<Failure>>,
    /// The negotiated protocol revision of the current or last connection.
    pub protocol: Option<String>,
    /// What the server says of itself.
    pub server_info: Option<ServerInfo>,
    /// The names of its capabilities.
    pub capabilities: Vec<String>,
    /// The server's own instructions to the model, if any.
    pub instructions: Option<Arc<str>>,
    /// How many tools it has registered or offers.
    pub tools: usize,
    /// Things that an operator should know: repeated names, mapped names, stray output.
    pub warnings: Arc<[String]>,
    /// Tools that its `pin` file holds back until an operator accepts them (rule 8.1).
    pub held: Arc<[HeldTool]>,
    /// When each light was last good.
    pub proofs: Proofs,
    /// Round trip of the newest probe.
    pub ping: Option<Duration>,
    /// Round trips of the newest probes, the oldest first (ring of 60).
    pub pings: Arc<[Duration]>,
    /// The newest lines of its log, oldest first (ring of 1,000; rule 8.12).
    pub log: Arc<[LogLine]>,
    /// How many lines the ring has dropped.
    pub log_dropped: u64,
    /// The newest changes of state, oldest first (ring of 200).
    pub history: Arc<[Transition]>,
    /// Whether it has been ready once, has failed once or was rejected.
    pub settled: bool,
}

impl ServerStatus {
    /// How it is reached.
    pub fn transport(&self) -> Transport {
        match self.launch {
            Launch::Stdio { .. } => Transport::Stdio,
            Launch::Http { .. } => Transport::Http,
        }
    }
}
