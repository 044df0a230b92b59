//! A source end to end, over in-memory streams and under a paused clock.

mod late;
mod life;
pub(in crate::source::mcp) mod server;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::ServiceExt as _;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::driver::{Connector, Lines, Wire};
use super::transport::Trouble;
use super::*;
use crate::source::{FailureKind, ServerState, ServerStatus};
use crate::tool::{Invocation, ToolResult};
use server::Shelf;

/// Connects to a shelf in memory. Each connection can be cut, and attempts can be made to fail.
#[derive(Clone)]
struct Memory {
    shelf: Shelf,
    /// What becomes of the next attempts; after that they succeed.
    fails: Arc<Mutex<VecDeque<FailureKind>>>,
    /// Cuts the newest connection.
    cut: Arc<Mutex<CancellationToken>>,
    /// When attempts were made.
    attempts: Arc<Mutex<Vec<Instant>>>,
}

impl Memory {
    fn new(shelf: Shelf) -> Self {
        Self {
            shelf,
            fails: Arc::default(),
            cut: Arc::default(),
            attempts: Arc::default(),
        }
    }

    fn cut(&self) {
        self.cut.lock().cancel();
    }

    fn fail(&self, kinds: impl IntoIterator<Item = FailureKind>) {
        self.fails.lock().extend(kinds);
    }

    /// The pauses between the attempts, in milliseconds.
    fn pauses(&self) -> Vec<u128> {
        let attempts = self.attempts.lock();
        attempts
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_millis())
            .collect()
    }
}

impl Connector for Memory {
    fn open<'a>(&'a self, _: &'a TaskTracker) -> BoxFuture<'a, Result<Wire, Trouble>> {
        self.attempts.lock().push(Instant::now());
        if let Some(kind) = self.fails.lock().pop_front() {
            return Box::pin(async move { Err(kind.into()) });
        }
        let (ours, mut near) = tokio::io::duplex(64 * 1024);
        let (theirs, mut far) = tokio::io::duplex(64 * 1024);
        let cut = CancellationToken::new();
        *self.cut.lock() = cut.clone();
        // A wire in between, so that a cut looks to both sides like a cut.
        tokio::spawn(async move {
            tokio::select! {
                () = cut.cancelled() => {}
                _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
            }
        });
        let shelf = self.shelf.clone();
        tokio::spawn(async move {
            if let Ok(service) = shelf.serve(theirs).await {
                let _ = service.waiting().await;
            }
        });
        let (reader, writer) = tokio::io::split(ours);
        Box::pin(async {
            Ok(Wire::Lines(Lines {
                reader: Box::new(reader),
                writer: Box::new(writer),
                stderr: None,
                process: None,
            }))
        })
    }
}

fn server(name: &str) -> ServerSettings {
    ServerSettings {
        name: name.to_owned(),
        transport: TransportSettings::Stdio {
            command: "in-memory".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
        },
        protocol: Protocol::Auto,
        pin: None,
        prefix: None,
        resources: false,
        required: false,
        liveness: None,
    }
}

/// A source with one server `m`.
struct Bench {
    source: McpSource,
    registry: Arc<Registry>,
    memory: Memory,
}

impl Bench {
    fn new(shelf: Shelf) -> Self {
        Self::with(Memory::new(shelf), |_| {})
    }

    fn with(memory: Memory, change: impl FnOnce(&mut McpSettings)) -> Self {
        let mut settings = McpSettings {
            servers: vec![server("m")],
            backoff: Backoff {
                jitter: 0.0,
                ..Backoff::default()
            },
            ..McpSettings::default()
        };
        change(&mut settings);
        let registry = Arc::new(Registry::new());
        let context = McpContext::new(Arc::clone(&registry), Secrets::default());
        Self::with_context(memory, settings, context)
    }

    fn with_context(memory: Memory, settings: McpSettings, context: McpContext) -> Self {
        let registry = Arc::clone(&context.registry);
        let connector = memory.clone();
        let source = McpSource::start_with("src".into(), 0, settings, context, move |_| {
            Arc::new(connector.clone())
        });
        Self {
            source,
            registry,
            memory,
        }
    }

    fn row(&self) -> Arc<ServerStatus> {
        Arc::clone(&self.source.servers().borrow()[0])
    }

    /// Waits for a state of the server, whatever it takes.
    async fn until(&self, what: impl Fn(&ServerStatus) -> bool) -> Arc<ServerStatus> {
        let mut rows = self.source.servers();
        let reached = rows.wait_for(|rows| what(&rows[0]));
        let reached = tokio::time::timeout(Duration::from_secs(3600), reached).await;
        match reached {
            Ok(rows) => Arc::clone(&rows.unwrap()[0]),
            Err(_) => panic!("never came, the server is {:#?}", self.row()),
        }
    }

    async fn ready(&self) -> Arc<ServerStatus> {
        self.until(|row| row.state == ServerState::Ready).await
    }

    fn names(&self) -> Vec<String> {
        let catalog = self.registry.catalog();
        let names = catalog
            .definitions()
            .map(|definition| definition.name().to_owned());
        names.collect()
    }

    fn invocation(arguments: Value) -> Invocation {
        let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
        Invocation::bare(arguments)
    }

    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        self.run(name, Self::invocation(arguments)).await
    }

    async fn run(&self, name: &str, invocation: Invocation) -> ToolResult {
        let entry = Arc::clone(self.registry.catalog().get(name).expect("no such tool"));
        entry.tool.execute(invocation).await
    }
}
