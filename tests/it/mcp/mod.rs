//! MCP sources against real processes and real HTTP.

mod auth;
mod fixture;
mod http;
mod process;
#[path = "../../../src/source/mcp/tests/server.rs"]
mod server;
mod soak;

pub(crate) use fixture::server;
pub(crate) use process::runs;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib::registry::Registry;
use toolcrib::secrets::Secrets;
use toolcrib::source::mcp::{
    Backoff, Liveness, McpContext, McpSettings, McpSource, Protocol, ServerSettings,
    TransportSettings,
};
use toolcrib::source::{ServerState, ServerStatus, Source as _};
use toolcrib::tool::{Invocation, ToolResult};

/// Nothing here takes nearly as long; a test that waits in vain fails after it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A source with one server `m`.
struct Host {
    source: McpSource,
    registry: Arc<Registry>,
}

fn settings(transport: TransportSettings) -> McpSettings {
    McpSettings {
        servers: vec![ServerSettings {
            name: "m".into(),
            transport,
            protocol: Protocol::Auto,
            pin: None,
            prefix: None,
            resources: false,
            required: false,
            liveness: Some(Liveness::Off),
        }],
        // Short, so that a test of a second attempt is quick; the series itself is tested apart.
        backoff: Backoff {
            initial: Duration::from_millis(20),
            max: Duration::from_millis(200),
            jitter: 0.0,
        },
        ..McpSettings::default()
    }
}

impl Host {
    fn start(settings: McpSettings) -> Self {
        let registry = Arc::new(Registry::new());
        let context = McpContext::new(Arc::clone(&registry), Secrets::default());
        let source = McpSource::start("src".into(), 0, settings, context);
        Self { source, registry }
    }

    fn row(&self) -> Arc<ServerStatus> {
        Arc::clone(&self.source.servers().borrow()[0])
    }

    async fn until(&self, what: impl Fn(&ServerStatus) -> bool) -> Arc<ServerStatus> {
        let mut rows = self.source.servers();
        let reached = tokio::time::timeout(PATIENCE, rows.wait_for(|rows| what(&rows[0]))).await;
        match reached {
            Ok(rows) => Arc::clone(&rows.unwrap()[0]),
            Err(_) => panic!("never came, the server is {:#?}", self.row()),
        }
    }

    async fn ready(&self) -> Arc<ServerStatus> {
        self.until(|row| row.state == ServerState::Ready).await
    }

    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        self.run(name, Invocation::bare(arguments)).await
    }

    async fn run(&self, name: &str, invocation: Invocation) -> ToolResult {
        let catalog = self.registry.catalog();
        let entry = Arc::clone(catalog.get(name).expect("no such tool"));
        let work = entry.tool.execute(invocation);
        tokio::time::timeout(PATIENCE, work)
            .await
            .expect("the call hangs")
    }
}
