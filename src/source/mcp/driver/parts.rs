//! What a driver is made of, and what reaches it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::attempt::{Failed, Session};
use super::{Connector, Person, Server, Unanswered};
use crate::registry::{Owner, Registry};
use crate::source::mcp::board::Board;
use crate::source::mcp::frames::Tap;
use crate::source::mcp::link::Epoch;
use crate::source::mcp::log::Log;
use crate::source::mcp::pin::Pins;
use crate::source::mcp::translate::Listing;
use crate::source::mcp::transport::Trouble;
use crate::source::mcp::{Backoff, Liveness, ServerSettings};
use crate::source::{OrderError, ServerOrder};

/// What happened at a connection or an attempt. Everything names its epoch.
pub(super) enum Event {
    /// The process of an attempt runs.
    Started {
        epoch: Epoch,
        pid: u32,
    },
    Attempted {
        epoch: Epoch,
        outcome: Box<Result<Session, Failed>>,
    },
    Lost {
        epoch: Epoch,
        trouble: Trouble,
    },
    /// A request found something wrong; without a trouble, the connection closed under it.
    Trouble {
        epoch: Epoch,
        trouble: Option<Trouble>,
    },
    Alive {
        epoch: Epoch,
    },
    ListChanged {
        epoch: Epoch,
    },
    Listed {
        epoch: Epoch,
        listing: Result<Listing, String>,
    },
    Probed {
        epoch: Epoch,
        probe: u64,
        took: Result<Duration, Unanswered>,
    },
}

pub(super) type Events = mpsc::Sender<Event>;

/// What an operator wants, with the place for the answer.
pub(in super::super) enum Order {
    Server(ServerOrder, oneshot::Sender<Result<String, OrderError>>),
    /// Take the definitions that are held back by the pin file; all, or one.
    Accept(Option<String>, oneshot::Sender<Result<String, OrderError>>),
}

/// What a driver is made of.
pub(in super::super) struct Parts {
    pub(in super::super) server: Arc<Server>,
    pub(in super::super) settings: Arc<ServerSettings>,
    pub(in super::super) connector: Arc<dyn Connector>,
    pub(in super::super) board: Board,
    pub(in super::super) log: Log,
    pub(in super::super) person: Person,
    pub(in super::super) tap: Tap,
    pub(in super::super) registry: Arc<Registry>,
    pub(in super::super) owner: Owner,
    pub(in super::super) backoff: Backoff,
    pub(in super::super) liveness: Liveness,
    pub(in super::super) connect_timeout: Duration,
    pub(in super::super) client_version: String,
    pub(in super::super) pins: Option<Pins>,
    pub(in super::super) tracker: TaskTracker,
    pub(in super::super) orders: mpsc::Receiver<Order>,
    pub(in super::super) close: CancellationToken,
}
