//! Waiting for servers (rule 8.8 and the commands that start sources).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Runtime;
use crate::source::{ServerRows, ServerState, ServerStatus};

/// A server that is not as the host wants it, with the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// The source.
    pub source: Arc<str>,
    /// The server.
    pub server: Arc<str>,
    /// Its state.
    pub state: ServerState,
    /// The cause in a sentence.
    pub cause: String,
    /// What to do next, where there is something to do.
    pub advice: Option<String>,
}

/// How the servers stand after the wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Servers that reject us: the deployment has failed (rule 8.4).
    pub rejected: Vec<NotReady>,
    /// Required servers that are not ready (rule 8.8).
    pub required: Vec<NotReady>,
    /// Servers that have neither been ready nor failed yet.
    pub pending: Vec<NotReady>,
}

impl Readiness {
    /// Whether a host may serve: nothing rejected, everything required is ready.
    pub fn may_serve(&self) -> bool {
        self.rejected.is_empty() && self.required.is_empty()
    }
}

impl Runtime {
    /// Waits until each server is ready, has failed once or is rejected, at most `wait`; and until
    /// each required one is ready or rejected, at most `required_wait`, both from now.
    pub async fn wait_settled(&self, wait: Duration, required_wait: Duration) -> Readiness {
        let now = Instant::now();
        self.wait_for(now + wait, |server| server.settled).await;
        self.wait_for(now + required_wait, |server| {
            !server.required || server.state.is_up() || server.state == ServerState::Rejected
        })
        .await;
        let readiness = self.readiness();
        // Before that a source that is late might still bring what is named (rule 4.2).
        if readiness.pending.is_empty() {
            for warning in self.discovery.unmatched() {
                tracing::warn!("{warning}");
            }
        }
        readiness
    }

    /// Waits until every server is as `wanted`, or the deadline passes.
    async fn wait_for(&self, deadline: Instant, wanted: impl Fn(&ServerStatus) -> bool) {
        let all = |rows: &ServerRows| rows.iter().all(|server| wanted(server));
        for source in self.sources.all().iter() {
            let mut servers = source.servers();
            // A closed source will not change any more.
            let _ = tokio::time::timeout_at(deadline, servers.wait_for(&all)).await;
        }
    }

    fn readiness(&self) -> Readiness {
        let mut readiness = Readiness::default();
        for source in self.sources.all().iter() {
            for server in source.servers().borrow().iter() {
                if server.state == ServerState::Rejected {
                    readiness.rejected.push(not_ready(server));
                } else if server.required && !server.state.is_up() {
                    readiness.required.push(not_ready(server));
                } else if !server.settled {
                    readiness.pending.push(not_ready(server));
                }
            }
        }
        readiness
    }
}

fn not_ready(server: &ServerStatus) -> NotReady {
    let failure = server.last_error.as_ref();
    NotReady {
        source: Arc::clone(&server.source),
        server: Arc::clone(&server.name),
        state: server.state,
        cause: failure.map_or_else(
            || format!("still {} when the time to wait was over", server.state),
            |failure| failure.message.clone(),
        ),
        advice: failure.and_then(|failure| failure.advice.clone()),
    }
}
