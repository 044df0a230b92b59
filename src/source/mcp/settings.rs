//! The settings of an MCP source, as the deployment file gives them (rule 8.1).

use std::path::PathBuf;
use std::time::Duration;

/// The settings of `impl: mcp`.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSettings {
    /// The servers, in the order of the file; at least one.
    pub servers: Vec<ServerSettings>,
    /// Directories that a server may ask for.
    pub roots: Vec<PathBuf>,
    /// Default of each server's `liveness`.
    pub liveness: Liveness,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The delays between attempts (rule 8.3).
    pub backoff: Backoff,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            roots: Vec::new(),
            liveness: Liveness::default(),
            connect_timeout: Duration::from_secs(30),
            backoff: Backoff::default(),
        }
    }
}

/// One server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSettings {
    /// Its name, unique in the source.
    pub name: String,
    /// How it is reached.
    pub transport: TransportSettings,
    /// Which revision is spoken.
    pub protocol: Protocol,
    /// A file of accepted definition hashes.
    pub pin: Option<PathBuf>,
    /// Put before each tool name; `None` means `<name>__`.
    pub prefix: Option<String>,
    /// Adds the two resource tools.
    pub resources: bool,
    /// Whether the host waits for it (rule 8.8).
    pub required: bool,
    /// Overrides the source's liveness.
    pub liveness: Option<Liveness>,
}

impl ServerSettings {
    /// The prefix in force.
    pub fn prefix(&self) -> String {
        self.prefix
            .clone()
            .unwrap_or_else(|| format!("{}__", self.name))
    }
}

/// The settings that only one transport has.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportSettings {
    /// A child process.
    Stdio {
        /// The command.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables added to the inherited environment, in the order of the file.
        env: Vec<(String, String)>,
        /// Its working directory; absent means ours.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of every request, in the order of the file.
        headers: Vec<(String, String)>,
        /// The bound of one request; never bounds a standing stream.
        http_timeout: Option<Duration>,
    },
}

/// Which protocol revision is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The newest that both have.
    #[default]
    Auto,
    /// Only 2026-07-28.
    V2026_07_28,
    /// Only 2025-11-25, by `initialize`.
    V2025_11_25,
}

/// How often a server has to prove that it lives (rule 8.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// A ping every interval.
    Every(Duration),
    /// No pings.
    Off,
}

impl Default for Liveness {
    fn default() -> Self {
        Self::Every(Duration::from_secs(15))
    }
}

/// The delays between attempts (rule 8.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// Before the second attempt; doubles from there.
    pub initial: Duration,
    /// The longest.
    pub max: Duration,
    /// The share by which a delay may be longer or shorter, applied last.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(30),
            jitter: 0.2,
        }
    }
}
