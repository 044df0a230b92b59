//! MCP servers as a source of tools (section 8).
//!
//! `link` decides, `driver` acts, `transport` moves bytes, `translate` turns the protocol's words
//! into ours. Nothing else here knows the protocol library.

mod backoff;
mod board;
mod driver;
mod failure;
mod frames;
mod link;
mod log;
mod names;
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
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use frames::{Direction, Frame, FrameKind, FrameSink};
pub use question::{Answer, Desk, NoDesk, Question, QuestionKind};
pub use ready::NotReady;
pub use settings::{Backoff, Liveness, McpSettings, Protocol, ServerSettings, TransportSettings};
pub use transport::spawn_bound;

use super::{OrderError, ServerOrder, ServerRows, Source};
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
    servers: Vec<ServerHandle>,
    rows: Arc<watch::Sender<ServerRows>>,
    close: CancellationToken,
    tracker: TaskTracker,
    _close_on_drop: tokio_util::sync::DropGuard,
}

struct ServerHandle {
    name: Arc<str>,
    server: Arc<Server>,
    orders: mpsc::Sender<Order>,
}

impl McpSource {
    /// Starts the source; never waits for a server. `place` is the place of the source in the
    /// deployment file. Has to be called within a tokio runtime.
    pub fn start(name: Arc<str>, place: u32, settings: McpSettings, context: McpContext) -> Self {
        let own_command = context.own_command.clone();
        Self::start_with(name, place, settings, context, |settings| {
            Arc::new(Configured {
                settings: Arc::clone(settings),
                own_command: own_command.clone(),
                http: tokio::sync::OnceCell::new(),
            })
        })
    }

    fn start_with(
        name: Arc<str>,
        place: u32,
        settings: McpSettings,
        context: McpContext,
        connector: impl Fn(&Arc<ServerSettings>) -> Arc<dyn Connector>,
    ) -> Self {
        let (close, tracker) = (CancellationToken::new(), TaskTracker::new());
        let servers: Vec<(Arc<ServerSettings>, Arc<dyn Connector>)> = settings
            .servers
            .iter()
            .map(|server| {
                let server = Arc::new(server.clone());
                let connector = connector(&server);
                (server, connector)
            })
            .collect();
        let rows: ServerRows = servers
            .iter()
            .map(|(server, connector)| {
                let resolved = connector.resolved();
                Board::first_status(&name, server, resolved, &context.secrets).into()
            })
            .collect();
        let rows = Arc::new(watch::Sender::new(rows));
        let roots: Arc<[PathBuf]> = settings.roots.clone().into();
        let mut handles = Vec::new();
        for (index, (server, connector)) in servers.into_iter().enumerate() {
            let server_name: Arc<str> = server.name.as_str().into();
            let log = Log::new(context.secrets.clone());
            let first = Arc::clone(&rows.borrow()[index]);
            let board = Board::new(
                (*first).clone(),
                Arc::clone(&rows),
                index,
                log.clone(),
                context.secrets.clone(),
            );
            let (orders, arriving) = mpsc::channel(ORDERS);
            let order = u32::try_from(index).unwrap_or(u32::MAX);
            let shared = Arc::new(Server::new(
                Arc::clone(&server_name),
                context.secrets.clone(),
                rows.subscribe(),
                index,
            ));
            let parts = Parts {
                server: Arc::clone(&shared),
                connector,
                board,
                person: Person {
                    source: Arc::clone(&name),
                    server: Arc::clone(&server_name),
                    desk: Arc::clone(&context.desk),
                    roots: Arc::clone(&roots),
                    log: log.clone(),
                },
                tap: Tap {
                    source: Arc::clone(&name),
                    server: Arc::clone(&server_name),
                    epoch: 0,
                    sink: context.frames.clone(),
                    secrets: context.secrets.clone(),
                },
                log,
                registry: Arc::clone(&context.registry),
                owner: Owner::server(Arc::clone(&name), Arc::clone(&server_name), (place, order)),
                backoff: settings.backoff,
                liveness: settings.liveness,
                connect_timeout: settings.connect_timeout,
                client_version: context.client_version.clone(),
                pins: server.pin.clone().map(pin::Pins::open),
                tracker: tracker.clone(),
                orders: arriving,
                close: close.clone(),
                settings: server,
            };
            tracker.spawn(Driver::run(parts));
            handles.push(ServerHandle {
                name: server_name,
                server: shared,
                orders,
            });
        }
        Self {
            name,
            servers: handles,
            rows,
            _close_on_drop: close.clone().drop_guard(),
            close,
            tracker,
        }
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
        let handle = self.servers.iter().find(|handle| &*handle.name == server)?;
        let (server, tool) = (Arc::clone(&handle.server), tool.to_owned());
        Some(Box::pin(async move {
            let way = tool::Way::Call;
            tool::call(&server, &tool, &tool, way, invocation).await
        }))
    }

    async fn send(
        &self,
        server: &str,
        order: impl FnOnce(oneshot::Sender<Result<String, OrderError>>) -> Order,
    ) -> Result<String, OrderError> {
        let handle = self
            .servers
            .iter()
            .find(|handle| &*handle.name == server)
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

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.close.cancel();
            self.tracker.close();
            // Every task ends by itself then: a child is killed after five seconds at the latest.
            self.tracker.wait().await;
        })
    }
}

#[cfg(test)]
mod tests;
