//! Waiting for a server to be ready (rule 8.8).

use std::time::Duration;

use tokio::sync::watch;

use crate::source::{ServerRows, ServerState, ServerStatus};
use crate::tool::ErrorKind;

/// Why a server is not ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// It refuses us; the cause in words.
    #[error("server `{server}` is rejected: {cause}")]
    Rejected {
        /// The server.
        server: String,
        /// What happened.
        cause: String,
    },
    /// Time is up.
    #[error("server `{server}` is not ready after {timeout:?}: it is {state}{last_error}")]
    Timeout {
        /// The server.
        server: String,
        /// How long it was waited for.
        timeout: Duration,
        /// Its state then.
        state: ServerState,
        /// The newest failure, after a colon, if there was one.
        last_error: String,
    },
    /// The source was closed.
    #[error("server `{server}` is stopped: source `{source_name}` is closed")]
    Closed {
        /// The source.
        source_name: String,
        /// The server.
        server: String,
    },
    /// The source has no server of that name.
    #[error("source `{source_name}` has no server `{server}`{nearest}")]
    Unknown {
        /// The source.
        source_name: String,
        /// The name that was asked for.
        server: String,
        /// The nearest name, as a hint, if one is similar.
        nearest: String,
    },
}

impl NotReady {
    /// The kind of error that a call would answer with.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Rejected { .. } | Self::Closed { .. } => ErrorKind::NotAvailable,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Unknown { .. } => ErrorKind::Validation,
        }
    }
}

pub(super) async fn wait(
    source: &str,
    mut rows: watch::Receiver<ServerRows>,
    server: &str,
    timeout: Duration,
) -> Result<(), NotReady> {
    let place = rows.borrow().iter().position(|row| &*row.name == server);
    let Some(place) = place else {
        let names: Vec<_> = rows.borrow().iter().map(|row| row.name.clone()).collect();
        let nearest = crate::registry::nearest_one(server, names.iter().map(|name| &**name));
        return Err(NotReady::Unknown {
            source_name: source.to_owned(),
            server: server.to_owned(),
            nearest: nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)")),
        });
    };
    let decided = async {
        loop {
            let row = rows.borrow_and_update()[place].clone();
            if let Some(outcome) = outcome(source, &row) {
                return outcome;
            }
            if rows.changed().await.is_err() {
                return Err(closed(source, server));
            }
        }
    };
    if let Ok(outcome) = tokio::time::timeout(timeout, decided).await {
        return outcome;
    }
    let row = rows.borrow()[place].clone();
    Err(NotReady::Timeout {
        server: server.to_owned(),
        timeout,
        state: row.state,
        last_error: cause(&row).map_or_else(String::new, |cause| format!(": {cause}")),
    })
}

fn outcome(source: &str, row: &ServerStatus) -> Option<Result<(), NotReady>> {
    match row.state {
        ServerState::Stopped => Some(Err(closed(source, &row.name))),
        _ if row.proofs.tools.is_some() => Some(Ok(())),
        ServerState::Rejected => Some(Err(NotReady::Rejected {
            server: row.name.to_string(),
            cause: cause(row).unwrap_or_default(),
        })),
        _ => None,
    }
}

fn closed(source: &str, server: &str) -> NotReady {
    NotReady::Closed {
        source_name: source.to_owned(),
        server: server.to_owned(),
    }
}

fn cause(row: &ServerStatus) -> Option<String> {
    row.last_error.as_ref().map(|error| error.message.clone())
}
