//! One attempt: start or reach the server, agree on a revision, list its tools.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{
    ClientRequest, DiscoverRequest, DiscoverRequestParams, ListToolsRequest, PingRequest,
    ProtocolVersion, ServerPeerInfo,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService,
};
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::attendant::{Attendant, Held};
use super::connection::{Bounds, Connection, ProgressTable, Unanswered, send};
use super::connector::{Connector, Headers, Http, Lines, Wire};
use super::ending::{Ending, ended_for_good};
use super::handler::{Handler, Person, log_level_request};
use super::{Event, Events, listen};
use crate::source::mcp::board::Introduction;
use crate::source::mcp::failure::Stage;
use crate::source::mcp::frames::Tap;
use crate::source::mcp::link::Epoch;
use crate::source::mcp::log::Log;
use crate::source::mcp::translate::{self, Listing};
use crate::source::mcp::transport::Trouble;
use crate::source::mcp::transport::http::{HttpClient, Seen};
use crate::source::mcp::transport::line::{LineSettings, LineTransport, drain};
use crate::source::mcp::transport::process::Process;
use crate::source::mcp::{Protocol, ServerSettings};
use crate::source::{FailureKind, LogOrigin};

/// How much of a line of stderr is read; the log cuts it further.
const STDERR_BYTES: usize = 64 * 1024;

/// A connection as the protocol library runs it.
pub(super) type Service = RunningService<RoleClient, Handler>;

/// What every attempt at one server needs.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) epoch: Epoch,
    pub(super) settings: Arc<ServerSettings>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) connect_timeout: Duration,
    pub(super) client_version: String,
    pub(super) tap: Tap,
    pub(super) log: Log,
    pub(super) person: Person,
    pub(super) events: Events,
    pub(super) tracker: TaskTracker,
}

/// A connection that was made, with its tools. Dropping it closes the connection.
pub(super) struct Session {
    pub(super) connection: Arc<Connection>,
    pub(super) introduction: Introduction,
    pub(super) listing: Listing,
    _close: DropGuard,
}

/// A failed attempt.
pub(super) struct Failed {
    pub(super) trouble: Trouble,
    pub(super) stage: Stage,
}

impl Attempt {
    /// Makes the attempt within `connect_timeout`.
    pub(super) async fn run(self) -> Result<Session, Failed> {
        let stage = Arc::new(Mutex::new(Stage::Starting));
        let within = self.connect_timeout;
        let work = async {
            match self.connect(self.settings.protocol, &stage).await {
                // It knows the newer way to ask, and speaks only an older revision.
                Err(Start::Older) => self.connect(Protocol::V2025_11_25, &stage).await,
                outcome => outcome,
            }
        };
        let outcome = tokio::time::timeout(within, work).await;
        let trouble = match outcome {
            Ok(Ok(session)) => return Ok(session),
            Ok(Err(Start::Failed(trouble))) => trouble,
            Ok(Err(Start::Older)) => FailureKind::UnsupportedProtocol {
                offered: "an older one".to_owned(),
            }
            .into(),
            Err(_) => Trouble {
                kind: FailureKind::TimedOut,
                detail: Some(format!("`connect_timeout` is {within:?}")),
            },
        };
        let stage = *stage.lock();
        Err(Failed { trouble, stage })
    }

    async fn connect(&self, protocol: Protocol, stage: &Mutex<Stage>) -> Result<Session, Start> {
        let wire = self.connector.open(&self.tracker).await?;
        *stage.lock() = Stage::Handshake;
        // Ends everything of this connection, also when the attempt is dropped half-way.
        let close = CancellationToken::new();
        let guard = close.clone().drop_guard();
        let progress = ProgressTable::default();
        let handler = Handler {
            epoch: self.epoch,
            client_version: self.client_version.clone(),
            person: self.person.clone(),
            progress: progress.clone(),
            events: self.events.clone(),
        };
        let http = matches!(wire, Wire::Http { .. });
        let (service, mut ending, held, request_timeout) = match wire {
            Wire::Lines(lines) => {
                let (service, ending, held) = self.over_lines(lines, handler, protocol).await?;
                (service, ending, held, None)
            }
            Wire::Http(http) => {
                let timeout = http.timeout;
                let (service, ending) = self.over_http(http, handler, protocol).await?;
                (service, ending, Held::default(), timeout)
            }
        };
        let peer = service.peer().clone();
        let info = peer
            .peer_info()
            .ok_or_else(|| Trouble::from(FailureKind::Other))?;
        let modern = !info.protocol_version.has_initialize();
        let connection = Arc::new(Connection {
            epoch: self.epoch,
            modern,
            http,
            has_tools: info.capabilities.tools.is_some(),
            has_resources: info.capabilities.resources.is_some(),
            gone: ending.ended.clone(),
            peer,
            progress,
            events: self.events.clone(),
            request_timeout,
            asks_for_log: info.capabilities.logging.is_some() && modern,
            person: self.person.clone(),
        });
        // From here on the service is closed by its own task, exactly once.
        let listeners = TaskTracker::new();
        let attendant = Attendant {
            epoch: self.epoch,
            ending: ending.clone(),
            close: close.clone(),
            listeners: listeners.clone(),
            held,
            events: self.events.clone(),
        };
        self.tracker.spawn(attendant.attend(service));
        check_revision(self.settings.protocol, &info)?;
        *stage.lock() = Stage::Listing;
        let listing = match list(&connection, &self.settings).await {
            Ok(listing) => listing,
            Err(unanswered) => return Err(ending.trouble_of_listing(unanswered).await.into()),
        };
        begin_listening(&connection, &info, &close, &listeners);
        Ok(Session {
            connection,
            introduction: translate::introduction(&info),
            listing,
            _close: guard,
        })
    }

    async fn over_lines(
        &self,
        lines: Lines,
        handler: Handler,
        protocol: Protocol,
    ) -> Result<(Service, Ending, Held), Start> {
        let mut ending = Ending {
            ended: CancellationToken::new(),
            exit: lines.process.as_ref().map(Process::exit),
            quiet: CancellationToken::new(),
            seen: Seen::default(),
        };
        let mut held = Held::default();
        let stopping = if let Some(process) = lines.process {
            let (epoch, pid) = (self.epoch, process.pid);
            send(&self.events, Event::Started { epoch, pid }).await;
            let stopping = process.stopping();
            held.process = Some(process);
            stopping
        } else {
            let stopping = CancellationToken::new();
            held.stop = Some(stopping.clone().drop_guard());
            stopping
        };
        let quiet = ending.quiet.clone().drop_guard();
        if let Some(stderr) = lines.stderr {
            let log = self.log.clone();
            // Not awaited at the end: somebody outside the group may hold it open.
            tokio::spawn(async move {
                let _quiet = quiet;
                let each = |line: &str| log.push(LogOrigin::Stderr, None, line);
                drain(stderr, STDERR_BYTES, each).await;
            });
        }
        let settings = LineSettings::new(
            self.tap.clone(),
            self.log.clone(),
            stopping,
            ending.ended.clone(),
        );
        let transport = LineTransport::start(lines.reader, lines.writer, settings);
        let served = tokio::select! {
            biased;
            served = handler.serve_with_lifecycle(transport, lifecycle(protocol)) => served,
            () = ended_for_good(ending.exit.clone()) => {
                return Err(ending.trouble().await.into());
            }
        };
        match served {
            Ok(service) => Ok((service, ending, held)),
            Err(error) => Err(start(protocol, &mut ending, &error).await),
        }
    }

    async fn over_http(
        &self,
        http: Http,
        handler: Handler,
        protocol: Protocol,
    ) -> Result<(Service, Ending), Start> {
        let mut ending = Ending {
            ended: CancellationToken::new(),
            exit: None,
            quiet: CancellationToken::new(),
            seen: Seen::default(),
        };
        let client = HttpClient {
            http: http.client,
            tap: self.tap.clone(),
            seen: ending.seen.clone(),
            timeout: http.timeout,
            auth: http.auth,
        };
        let config = http_config(http.url, http.headers);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        match handler
            .serve_with_lifecycle(transport, lifecycle(protocol))
            .await
        {
            Ok(service) => Ok((service, ending)),
            Err(error) => Err(start(protocol, &mut ending, &error).await),
        }
    }
}

/// Subscribes to changes and log messages, as the revision has it.
fn begin_listening(
    connection: &Arc<Connection>,
    info: &ServerPeerInfo,
    close: &CancellationToken,
    listeners: &TaskTracker,
) {
    let changes = info
        .capabilities
        .tools
        .as_ref()
        .is_some_and(|tools| tools.list_changed == Some(true));
    let connection = Arc::clone(connection);
    if connection.modern {
        // Over HTTP the open stream is also what tells that the server is gone.
        if changes || connection.http {
            listeners.spawn(listen::listen(connection, changes, close.clone()));
        }
    } else if info.capabilities.logging.is_some() {
        listeners.spawn(async move {
            // Some servers send nothing until they were told a level; a refusal does no harm.
            let bounds = Bounds {
                deadline: None,
                cancel: connection.gone.clone(),
                progress: None,
                traceparent: None,
            };
            let _ = connection.request(log_level_request(), &bounds).await;
        });
    }
}

/// How far an attempt with one revision came.
enum Start {
    Failed(Trouble),
    /// The server told that it has the older revision only.
    Older,
}

impl From<Trouble> for Start {
    fn from(trouble: Trouble) -> Self {
        Self::Failed(trouble)
    }
}

async fn start(protocol: Protocol, ending: &mut Ending, error: &ClientInitializeError) -> Start {
    if let ClientInitializeError::NoCompatibleProtocolVersion {
        server_supported, ..
    } = error
        && protocol == Protocol::Auto
        && server_supported.contains(&ProtocolVersion::V_2025_11_25)
    {
        return Start::Older;
    }
    Start::Failed(ending.trouble_of_start(error).await)
}

fn lifecycle(protocol: Protocol) -> ClientLifecycleMode {
    match protocol {
        Protocol::Auto => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
        Protocol::V2026_07_28 => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        Protocol::V2025_11_25 => ClientLifecycleMode::Initialize,
    }
}

/// A server may answer `initialize` with any revision; only known ones, or the one that is asked
/// for, are spoken.
fn check_revision(protocol: Protocol, info: &ServerPeerInfo) -> Result<(), Trouble> {
    let offered = &info.protocol_version;
    let good = match protocol {
        Protocol::Auto => ProtocolVersion::KNOWN_VERSIONS.contains(offered),
        Protocol::V2026_07_28 => *offered == ProtocolVersion::V_2026_07_28,
        Protocol::V2025_11_25 => *offered == ProtocolVersion::V_2025_11_25,
    };
    if good {
        return Ok(());
    }
    Err(FailureKind::UnsupportedProtocol {
        offered: format!("`{offered}`"),
    }
    .into())
}

fn http_config(url: Arc<str>, headers: Headers) -> StreamableHttpClientTransportConfig {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    // A session that ended is a lost connection: the link decides what follows, visibly.
    config.reinit_on_expired_session = false;
    config.allow_stateless = true;
    // A stream that broke is taken up again a few times; then the call that waits on it ends.
    let mut retry = FixedInterval::default();
    retry.max_times = Some(3);
    retry.duration = Duration::from_millis(500);
    config.retry_config = Arc::new(retry);
    config
}

/// Lists the tools of a fresh or an old connection.
pub(super) async fn list(
    connection: &Connection,
    settings: &ServerSettings,
) -> Result<Listing, Unanswered> {
    let mut warnings = Vec::new();
    if !connection.has_tools {
        warnings.push("the server says that it has no tools".to_owned());
        return Ok(Listing {
            tools: Vec::new(),
            warnings,
        });
    }
    let request = |params| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
    // The whole attempt is bounded, and a listing later on by the driver.
    let bounds = Bounds {
        deadline: None,
        cancel: CancellationToken::new(),
        progress: None,
        traceparent: None,
    };
    let listed = connection
        .pages(&bounds, request, "tools", &mut warnings)
        .await?;
    Ok(translate::listing(&settings.prefix(), listed, warnings))
}

/// A sign of life: `ping`, or the revision's `server/discover`, which only an operator asks for.
pub(super) async fn probe(connection: &Connection) -> Result<(), Unanswered> {
    let request = if connection.modern {
        ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}))
    } else {
        ClientRequest::PingRequest(PingRequest {
            method: Default::default(),
            extensions: Default::default(),
        })
    };
    let bounds = Bounds {
        deadline: None,
        cancel: connection.gone.clone(),
        progress: None,
        traceparent: None,
    };
    match connection.request(request, &bounds).await {
        // An error is an answer too.
        Ok(_) | Err(Unanswered::Refused(_) | Unanswered::Unexpected) => Ok(()),
        Err(unanswered) => Err(unanswered),
    }
}
