//! What the tools of a server share: the way to its present connection, and what to say while
//! there is none.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Connection, Unanswered};
use crate::secrets::Secrets;
use crate::source::mcp::ServerSettings;
use crate::source::mcp::tool::{McpTool, Way, resource_tools};
use crate::source::mcp::translate::{self, Offered};
use crate::source::{ServerRows, ServerStatus};
use crate::tool::{ErrorKind, SharedTool, ToolResult};

pub(in super::super) struct Server {
    pub(in super::super) name: Arc<str>,
    pub(in super::super) secrets: Secrets,
    rows: watch::Receiver<ServerRows>,
    current: RwLock<Option<Arc<Connection>>>,
    /// Tools that were made, so that an unchanged one stays the same object.
    made: Mutex<HashMap<String, (Offered, SharedTool)>>,
}

impl Server {
    pub(in super::super) fn new(
        name: Arc<str>,
        secrets: Secrets,
        rows: watch::Receiver<ServerRows>,
    ) -> Self {
        Self {
            name,
            secrets,
            rows,
            current: RwLock::default(),
            made: Mutex::default(),
        }
    }

    /// The connection that counts now.
    pub(in super::super) fn current(&self) -> Option<Arc<Connection>> {
        self.current
            .read()
            .clone()
            .filter(|connection| !connection.gone.is_cancelled())
    }

    pub(super) fn connect(&self, connection: Arc<Connection>) {
        *self.current.write() = Some(connection);
    }

    pub(super) fn disconnect(&self) {
        *self.current.write() = None;
    }

    /// Its row, while the deployment has it.
    fn status(&self) -> Option<Arc<ServerStatus>> {
        let rows = self.rows.borrow();
        rows.iter().find(|row| row.name == self.name).cloned()
    }

    /// The tools to register for what is offered.
    pub(super) fn tools(
        self: &Arc<Self>,
        offered: &[Offered],
        settings: &ServerSettings,
    ) -> Vec<SharedTool> {
        let has_resources = self
            .current()
            .is_some_and(|connection| connection.has_resources);
        let extra = if settings.resources && has_resources {
            resource_tools(&settings.prefix())
        } else {
            Vec::new()
        };
        let mut made = self.made.lock();
        let mut kept = HashMap::new();
        let mut tools = Vec::new();
        let ways = offered
            .iter()
            .map(|tool| (tool.clone(), Way::Call))
            .chain(extra);
        for (offered, way) in ways {
            let name = offered.definition.name().to_owned();
            if kept.contains_key(&name) {
                continue; // the server has a tool of that name itself
            }
            let tool = match made.remove(&name) {
                Some((before, tool)) if before == offered => tool,
                _ => Arc::new(McpTool::new(Arc::clone(self), offered.clone(), way)) as SharedTool,
            };
            tools.push(Arc::clone(&tool));
            kept.insert(name, (offered, tool));
        }
        *made = kept;
        tools
    }

    /// The answer to a call that cannot be sent (rule 8.5).
    pub(in super::super) fn down(&self, tool: &str) -> ToolResult {
        let Some(status) = self.status() else {
            let told = format!(
                "`{tool}` is not available: server `{}` was taken out of the deployment",
                self.name
            );
            return ToolResult::error(ErrorKind::NotAvailable, told);
        };
        let mut told = format!(
            "`{tool}` is not available: server `{}` is {}",
            self.name, status.state
        );
        if status.state.is_up() {
            // The end of the connection is known, and not published yet.
            told = format!(
                "`{tool}` is not available: the connection to server `{}` has just ended",
                self.name
            );
        }
        if let Some(error) = &status.last_error {
            told.push_str(&format!("; last error: {}", error.message));
        }
        if let Some(retry) = status.next_retry {
            let wait = retry.at.saturating_duration_since(Instant::now());
            told.push_str(&format!(
                "; next try in {:.1} s, at {:.0}",
                wait.as_secs_f64(),
                retry.wall
            ));
        }
        ToolResult::error(ErrorKind::NotAvailable, told)
    }

    /// The answer to a call that ended without a result.
    pub(in super::super) fn ended(&self, tool: &str, why: &Unanswered) -> ToolResult {
        let server = &self.name;
        match why {
            Unanswered::NotSent => self.down(tool),
            Unanswered::Interrupted => ToolResult::error(
                ErrorKind::NotAvailable,
                format!(
                    "`{tool}` was interrupted: the connection to server `{server}` ended under the \
                     call, which may have run"
                ),
            ),
            Unanswered::Trouble(trouble) => {
                let detail = trouble
                    .detail
                    .as_ref()
                    .map(|detail| format!(" ({detail})"))
                    .unwrap_or_default();
                let (what, ran) = super::super::failure::in_a_call(&trouble.kind);
                let ran = if ran {
                    "; it was interrupted and may have run"
                } else {
                    ""
                };
                let told =
                    format!("`{tool}` is not available: server `{server}` {what}{detail}{ran}");
                ToolResult::error(
                    ErrorKind::NotAvailable,
                    self.secrets.mask(&told).into_owned(),
                )
            }
            Unanswered::Refused(error) => translate::call_error(tool, server, error),
            Unanswered::TimedOut => ToolResult::error(
                ErrorKind::Timeout,
                format!("`{tool}`: server `{server}` did not answer in time; it was told to stop"),
            ),
            Unanswered::Cancelled => ToolResult::error(
                ErrorKind::Cancelled,
                format!("the call of `{tool}` was cancelled; server `{server}` was told to stop"),
            ),
            Unanswered::Unexpected => ToolResult::error(
                ErrorKind::Tool,
                format!("`{tool}`: the answer of server `{server}` is no result of a tool"),
            ),
        }
    }
}
