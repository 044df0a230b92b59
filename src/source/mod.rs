//! Where tools come from. A [`Source`] brings tools into a registry and keeps them there; how its
//! servers fare is published as plain data ([`ServerStatus`]).

pub mod mcp;
mod set;
pub mod sim;
pub mod skills;
mod status;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;

pub use set::SourceSet;
pub use status::{
    Failure, FailureKind, HeldTool, Launch, LogLine, LogOrigin, Proofs, ServerInfo, ServerState,
    ServerStatus, Transition, Transport,
};

/// The servers of one source, in the order of the file. Empty for sources without servers.
pub type ServerRows = Arc<[Arc<ServerStatus>]>;

/// What an operator may order a server to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerOrder {
    /// Drop the connection, if any, and connect now.
    Reconnect,
    /// Prove now that the server answers.
    Probe,
    /// Disconnect and stay so.
    Disable,
    /// Connect again after `Disable`.
    Enable,
}

/// Why an order was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The source has no server of that name.
    #[error("source `{source_name}` has no server `{server}`")]
    UnknownServer {
        /// The source.
        source_name: String,
        /// The name that was asked for.
        server: String,
    },
    /// The state of the server does not allow it.
    #[error("{0}")]
    NotNow(String),
    /// The source has been closed.
    #[error("source `{0}` is closed")]
    Closed(String),
}

/// A running source. It publishes its tools into the registry it was given when it was started.
pub trait Source: Send + Sync + 'static {
    /// The name of the resource in the deployment file.
    fn name(&self) -> &str;

    /// The `impl` of the resource: `sim`, `mcp` or `skills`.
    fn kind(&self) -> &'static str;

    /// Follows the state of its servers; only the newest counts.
    fn servers(&self) -> watch::Receiver<ServerRows>;

    /// Gives an order to one server and answers with a sentence that says what was done.
    fn order(&self, server: &str, order: ServerOrder) -> BoxFuture<'_, Result<String, OrderError>>;

    /// Accepts definitions of one server that its `pin` file holds back (rule 8.1): one tool by
    /// its name, or all that the server offers now. Answers with a sentence that says what was
    /// done. Sources without such files refuse.
    fn accept(
        &self,
        server: &str,
        tool: Option<&str>,
    ) -> BoxFuture<'_, Result<String, OrderError>> {
        let _ = tool;
        let told = format!("`{server}` has no `pin` file");
        Box::pin(async { Err(OrderError::NotNow(told)) })
    }

    /// Begins the authorization of a server that asks for it, and answers with the address that the
    /// operator has to open in a browser. The server connects anew once it is granted; what went
    /// wrong stands in its log.
    fn authorize(&self, server: &str) -> BoxFuture<'_, Result<String, OrderError>> {
        let told = format!("`{server}` asks for no authorization");
        Box::pin(async { Err(OrderError::NotNow(told)) })
    }

    /// The skills and toolsets of its files, for sources that have any.
    fn shelf(&self) -> Option<Arc<skills::Shelf>> {
        None
    }

    /// Stops everything that the source started: connections, tasks, child processes. Idempotent.
    fn close(&self) -> BoxFuture<'_, ()>;
}
