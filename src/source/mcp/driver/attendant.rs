//! Sees one connection to its end: notices when it closes, and closes it exactly once.

use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::attempt::Service;
use super::connection::send;
use super::ending::{Ending, ended_for_good};
use super::listen::FAREWELL;
use super::{Event, Events};
use crate::source::mcp::link::Epoch;
use crate::source::mcp::transport::process::Process;

/// How long the end of a connection may take on our side (an HTTP session is deleted in it).
const CLOSE: Duration = Duration::from_secs(6);

/// What a connection over lines stands on. Dropping it closes stdin and stops the process.
#[derive(Default)]
pub(super) struct Held {
    pub(super) process: Option<Process>,
    pub(super) stop: Option<DropGuard>,
}

pub(super) struct Attendant {
    pub(super) epoch: Epoch,
    pub(super) ending: Ending,
    /// Fires when the connection is to be closed.
    pub(super) close: CancellationToken,
    /// The standing streams.
    pub(super) listeners: TaskTracker,
    pub(super) held: Held,
    pub(super) events: Events,
}

impl Attendant {
    pub(super) async fn attend(mut self, service: Service) {
        let stop = service.cancellation_token();
        let waiting = service.waiting();
        tokio::pin!(waiting);
        let lost = tokio::select! {
            biased;
            () = self.close.cancelled() => false,
            () = self.ending.ended.cancelled() => true,
            () = ended_for_good(self.ending.exit.clone()) => true,
            _ = &mut waiting => true,
        };
        if lost {
            self.ending.ended.cancel();
            let (epoch, trouble) = (self.epoch, self.ending.trouble().await);
            send(&self.events, Event::Lost { epoch, trouble }).await;
        } else {
            self.listeners.close();
            let _ = timeout(FAREWELL, self.listeners.wait()).await;
            self.ending.ended.cancel();
        }
        stop.cancel();
        // Stdin is closed and the process ends in parallel to the rest.
        drop(self.held);
        // Gives an error when the loop above has seen the end already.
        if !lost {
            let _ = timeout(CLOSE, &mut waiting).await;
        }
    }
}
