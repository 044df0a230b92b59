//! MCP servers as a source of tools (section 8).
//!
//! `link` decides, `driver` acts, `transport` moves bytes, `translate` turns the protocol's words
//! into ours. Nothing else here knows the protocol library.

mod auth;
mod backoff;
mod board;
mod driver;
mod failure;
mod frames;
mod link;
mod log;
mod names;
mod operator;
mod pin;
mod question;
mod ready;
mod settings;
mod tool;
mod translate;
mod transport;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use frames::{Direction, Frame, FrameKind, FrameSink};
pub use operator::{PendingQuestion, Questions, Seat};
pub use question::{Answer, Desk, NoDesk, Question, QuestionKind};
pub use ready::NotReady;
pub use settings::{Backoff, Liveness, McpSettings, Protocol, ServerSettings, TransportSettings};
pub use transport::spawn_bound;

use super::{FailureKind, LogOrigin, OrderError, ServerOrder, ServerRows, ServerStatus, Source};
use crate::registry::{Owner, Registry};
use crate::secrets::Secrets;
use crate::tool::{Invocation, ToolResult};
use board::Board;
use driver::{Configured, Connector, Driver, Order, Parts, Person, Server};
use frames::Tap;
use log::Log;

/// Orders that wait for a driver; an order beyond that waits at the sender.
const ORDERS: usize = 16;

/// What a source needs of its host.
#[derive(Clone)]
pub struct McpContext {
    /// Where the tools are registered.
    pub registry: Arc<Registry>,
    /// What is masked in everything that is shown.
    pub secrets: Secrets,
    /// The running program: it is started for `command: toolcrib` when that is not on the path.
    pub own_command: Option<PathBuf>,
    /// The version that servers are told.
    pub client_version: String,
    /// Hears of every message; `None` costs nothing.
    pub frames: Option<Arc<dyn FrameSink>>,
    /// Where tokens of servers that ask for authorization are kept, in files that their owner alone
    /// can read; without it they are forgotten at the end.
    pub tokens: Option<PathBuf>,
    /// Where servers' questions are put before a person.
    pub desk: Arc<dyn Desk>,
}

impl McpContext {
    /// A context without a tap and without a person.
    pub fn new(registry: Arc<Registry>, secrets: Secrets) -> Self {
        Self {
            registry,
            secrets,
            own_command: None,
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            frames: None,
            tokens: None,
            desk: Arc::new(NoDesk),
        }
    }
}

/// A running MCP source. Its servers connect in the background.
///
/// [`Source::close`] ends everything in order. Dropping the source without that ends it too, but
/// nobody waits for it then.
pub struct McpSource {
    name: Arc<str>,
    /// The place of the source in the deployment file when it was started.
    place: u32,
    context: McpContext,
    connect: Connect,
    servers: Mutex<Vec<ServerHandle>>,
    /// Held while the settings change, so that one change follows the other.
    changing: tokio::sync::Mutex<()>,
    rows: Arc<watch::Sender<ServerRows>>,
    close: CancellationToken,
    _close_on_drop: tokio_util::sync::DropGuard,
}

/// Makes the way to a server.
type Connect = Box<dyn Fn(&Arc<ServerSettings>) -> Arc<dyn Connector> + Send + Sync>;

#[derive(Clone)]
struct ServerHandle {
    name: Arc<str>,
    work: Work,
    server: Arc<Server>,
    auth: Option<Arc<auth::Auth>>,
    log: Log,
    orders: mpsc::Sender<Order>,
    close: CancellationToken,
    /// Everything that runs for the server; empty once its process is gone.
    tracker: TaskTracker,
}

/// Everything that decides how a server is run: where it is the same, nothing has to change.
#[derive(Clone, PartialEq)]
struct Work {
    server: Arc<ServerSettings>,
    roots: Arc<[PathBuf]>,
    liveness: Liveness,
    connect_timeout: Duration,
    backoff: Backoff,
}

/// What a change of the settings did to the servers, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerChanges {
    /// They kept their connections.
    pub kept: Vec<String>,
    /// They are new.
    pub added: Vec<String>,
    /// They were stopped and started anew.
    pub restarted: Vec<String>,
    /// They were stopped.
    pub removed: Vec<String>,
}

impl ServerChanges {
    /// Whether everything goes on as before.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.restarted.is_empty() && self.removed.is_empty()
    }
}

impl McpSource {
    /// Starts the source; never waits for a server. `place` is the place of the source in the
    /// deployment file. Has to be called within a tokio runtime.
    pub fn start(name: Arc<str>, place: u32, settings: McpSettings, context: McpContext) -> Self {
        let own_command = context.own_command.clone();
        let (tokens, secrets) = (context.tokens.clone(), context.secrets.clone());
        Self::start_with(name, place, settings, context, move |settings| {
            Arc::new(Configured {
                settings: Arc::clone(settings),
                own_command: own_command.clone(),
                auth: auth::of(settings, tokens.as_deref(), &secrets),
                http: tokio::sync::OnceCell::new(),
            })
        })
    }

    fn start_with(
        name: Arc<str>,
        place: u32,
        settings: McpSettings,
        context: McpContext,
        connect: impl Fn(&Arc<ServerSettings>) -> Arc<dyn Connector> + Send + Sync + 'static,
    ) -> Self {
        let close = CancellationToken::new();
        let source = Self {
            name,
            place,
            context,
            connect: Box::new(connect),
            servers: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            rows: Arc::default(),
            _close_on_drop: close.clone().drop_guard(),
            close,
        };
        let all = works(&settings);
        let starting: Vec<_> = all
            .into_iter()
            .enumerate()
            .map(|(index, work)| source.prepare(index, work))
            .collect();
        let rows: ServerRows = starting.iter().map(|ready| ready.row()).collect();
        source.rows.send_replace(rows);
        *source.servers.lock() = starting.into_iter().map(Starting::run).collect();
        source
    }

    /// Takes other settings over. A server whose settings are the same keeps its connection; one
    /// that is gone or different has ended, process and all, when this returns.
    pub async fn change(&self, settings: McpSettings) -> ServerChanges {
        let _changing = self.changing.lock().await;
        let mut changes = ServerChanges::default();
        if self.close.is_cancelled() {
            return changes;
        }
        let mut before = self.servers.lock().clone();
        let (mut kept, mut new, mut later) = (Vec::new(), Vec::new(), Vec::new());
        let mut rows = Vec::new();
        let known = Arc::clone(&self.rows.borrow());
        for (index, work) in works(&settings).into_iter().enumerate() {
            let name = work.server.name.clone();
            let old = before.iter().position(|handle| *handle.name == *name);
            let old = old.map(|at| before.remove(at));
            let row = known.iter().find(|row| *row.name == *name);
            match (old, row) {
                (Some(handle), Some(row)) if handle.work == work => {
                    rows.push(Arc::clone(row));
                    kept.push(handle);
                    changes.kept.push(name);
                }
                (old, row) => {
                    let ready = self.prepare(index, work);
                    rows.push(ready.row());
                    match old {
                        Some(old) => {
                            // Until the old one has ended, its row stays.
                            if let (Some(row), Some(last)) = (row, rows.last_mut()) {
                                *last = Arc::clone(row);
                            }
                            old.close.cancel();
                            later.push((old, ready));
                            changes.restarted.push(name);
                        }
                        None => {
                            new.push(ready);
                            changes.added.push(name);
                        }
                    }
                }
            }
        }
        self.rows.send_replace(rows.into());
        // From here on new servers have rows in which what they publish is seen.
        kept.extend(new.into_iter().map(Starting::run));
        *self.servers.lock() = kept;
        for handle in &before {
            handle.close.cancel();
            changes.removed.push(handle.name.to_string());
        }
        let gone = before.iter().map(ServerHandle::ended);
        futures::future::join_all(gone).await;
        for (old, ready) in later {
            old.ended().await;
            let row = ready.row();
            self.rows.send_modify(|rows| {
                *rows = rows
                    .iter()
                    .map(|known| match known.name == row.name {
                        true => Arc::clone(&row),
                        false => Arc::clone(known),
                    })
                    .collect();
            });
            self.servers.lock().push(ready.run());
        }
        changes
    }

    /// A server that has not begun yet.
    fn prepare(&self, index: usize, work: Work) -> Starting {
        let context = &self.context;
        let settings = Arc::clone(&work.server);
        let connector = (self.connect)(&settings);
        let name: Arc<str> = settings.name.as_str().into();
        let log = Log::new(context.secrets.clone());
        let resolved = connector.resolved();
        let first = Board::first_status(&self.name, &settings, resolved, &context.secrets);
        let rows = Arc::clone(&self.rows);
        let board = Board::new(first, rows, log.clone(), context.secrets.clone());
        let (orders, arriving) = mpsc::channel(ORDERS);
        let order = u32::try_from(index).unwrap_or(u32::MAX);
        let server = Arc::new(Server::new(
            Arc::clone(&name),
            context.secrets.clone(),
            self.rows.subscribe(),
        ));
        let (close, tracker) = (self.close.child_token(), TaskTracker::new());
        let (auth, own_log) = (connector.auth(), log.clone());
        let parts = Parts {
            server: Arc::clone(&server),
            connector,
            board,
            person: Person {
                source: Arc::clone(&self.name),
                server: Arc::clone(&name),
                desk: Arc::clone(&context.desk),
                roots: Arc::clone(&work.roots),
                log: log.clone(),
            },
            tap: Tap {
                source: Arc::clone(&self.name),
                server: Arc::clone(&name),
                epoch: 0,
                sink: context.frames.clone(),
                secrets: context.secrets.clone(),
            },
            log,
            registry: Arc::clone(&context.registry),
            owner: Owner::server(
                Arc::clone(&self.name),
                Arc::clone(&name),
                (self.place, order),
            ),
            backoff: work.backoff,
            liveness: work.liveness,
            connect_timeout: work.connect_timeout,
            client_version: context.client_version.clone(),
            pins: settings.pin.clone().map(pin::Pins::open),
            tracker: tracker.clone(),
            orders: arriving,
            close: close.clone(),
            settings,
        };
        Starting {
            parts,
            handle: ServerHandle {
                name,
                work,
                server,
                auth,
                log: own_log,
                orders,
                close,
                tracker,
            },
        }
    }

    fn handle(&self, server: &str) -> Option<ServerHandle> {
        let servers = self.servers.lock();
        servers
            .iter()
            .find(|handle| &*handle.name == server)
            .cloned()
    }

    /// Waits until the server was ready for the first time (rule 8.8).
    ///
    /// # Errors
    /// With the cause when it is rejected, or when `timeout` is up, the source is closed, or there
    /// is no such server.
    pub async fn wait_ready(&self, server: &str, timeout: Duration) -> Result<(), NotReady> {
        ready::wait(&self.name, self.rows.subscribe(), server, timeout).await
    }

    /// Calls a tool by the name that it has at the server; `None` when there is no such server.
    /// This is how other sources use a server, whatever is registered of it.
    pub fn call(
        &self,
        server: &str,
        tool: &str,
        invocation: Invocation,
    ) -> Option<BoxFuture<'static, ToolResult>> {
        let handle = self.handle(server)?;
        let (server, tool) = (handle.server, tool.to_owned());
        Some(Box::pin(async move {
            let way = tool::Way::Call;
            tool::call(&server, &tool, &tool, way, invocation).await
        }))
    }

    /// What the server asked for when it refused us.
    fn challenge(&self, server: &str) -> Option<String> {
        let rows = self.rows.borrow();
        let row = rows.iter().find(|row| &*row.name == server)?;
        match &row.last_error.as_ref()?.kind {
            FailureKind::HttpStatus {
                www_authenticate, ..
            } => www_authenticate.clone(),
            _ => None,
        }
    }

    async fn send(
        &self,
        server: &str,
        order: impl FnOnce(oneshot::Sender<Result<String, OrderError>>) -> Order,
    ) -> Result<String, OrderError> {
        let handle = self
            .handle(server)
            .ok_or_else(|| OrderError::UnknownServer {
                source_name: self.name.to_string(),
                server: server.to_owned(),
            })?;
        let closed = || OrderError::Closed(self.name.to_string());
        let (reply, answer) = oneshot::channel();
        handle
            .orders
            .send(order(reply))
            .await
            .map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl Source for McpSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "mcp"
    }

    fn servers(&self) -> watch::Receiver<ServerRows> {
        self.rows.subscribe()
    }

    fn order(&self, server: &str, order: ServerOrder) -> BoxFuture<'_, Result<String, OrderError>> {
        let server = server.to_owned();
        Box::pin(async move {
            self.send(&server, |reply| Order::Server(order, reply))
                .await
        })
    }

    fn accept(
        &self,
        server: &str,
        tool: Option<&str>,
    ) -> BoxFuture<'_, Result<String, OrderError>> {
        let (server, tool) = (server.to_owned(), tool.map(str::to_owned));
        Box::pin(async move { self.send(&server, |reply| Order::Accept(tool, reply)).await })
    }

    fn authorize(&self, server: &str) -> BoxFuture<'_, Result<String, OrderError>> {
        let server = server.to_owned();
        Box::pin(async move {
            let handle = self
                .handle(&server)
                .ok_or_else(|| OrderError::UnknownServer {
                    source_name: self.name.to_string(),
                    server: server.clone(),
                })?;
            let Some(auth) = handle.auth else {
                return Err(OrderError::NotNow(format!(
                    "`{server}` is not authorized this way: it is a process, or its settings have \
                     a header for it"
                )));
            };
            let challenge = self.challenge(&server);
            let begun = auth.begin(challenge.as_deref()).await;
            let begun = begun.map_err(|told| {
                OrderError::NotNow(format!("`{server}` cannot be authorized: {told}"))
            })?;
            let url = begun.url.clone();
            let (orders, log, close) = (handle.orders, handle.log, handle.close);
            handle.tracker.spawn(async move {
                let finished = tokio::select! {
                    finished = auth.finish(begun) => finished,
                    () = close.cancelled() => return,
                };
                match finished {
                    Ok(()) => {
                        log.push(
                            LogOrigin::Message,
                            Some("notice"),
                            "authorized; connecting anew",
                        );
                        let (reply, _) = oneshot::channel();
                        // The server may have been taken out meanwhile.
                        let _ = orders
                            .send(Order::Server(ServerOrder::Reconnect, reply))
                            .await;
                    }
                    Err(told) => {
                        let told = format!("not authorized: {told}");
                        log.push(LogOrigin::Message, Some("error"), &told);
                    }
                }
            });
            Ok(url)
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.close.cancel();
            // A change that is under way has servers in its hands.
            let _changing = self.changing.lock().await;
            let handles = self.servers.lock().clone();
            futures::future::join_all(handles.iter().map(ServerHandle::ended)).await;
        })
    }
}

/// A server that has not begun yet.
struct Starting {
    parts: Parts,
    handle: ServerHandle,
}

impl Starting {
    /// What is shown of it until it begins.
    fn row(&self) -> Arc<ServerStatus> {
        Arc::new(self.parts.board.status().clone())
    }

    fn run(self) -> ServerHandle {
        self.handle.tracker.spawn(Driver::run(self.parts));
        self.handle
    }
}

impl ServerHandle {
    /// Waits until nothing runs for the server any more. Every task ends by itself once the server
    /// is closed: a child is killed after five seconds at the latest.
    async fn ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// The servers with what decides how each is run.
fn works(settings: &McpSettings) -> Vec<Work> {
    let roots: Arc<[PathBuf]> = settings.roots.clone().into();
    let work = |server: &ServerSettings| Work {
        liveness: server.liveness.unwrap_or(settings.liveness),
        server: Arc::new(server.clone()),
        roots: Arc::clone(&roots),
        connect_timeout: settings.connect_timeout,
        backoff: settings.backoff,
    };
    settings.servers.iter().map(work).collect()
}

#[cfg(test)]
mod tests;
