//! The standing stream of the newer revision: tells of changed tools, and over HTTP its end tells
//! that the server may be gone.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Subscription, SubscriptionEnd};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Event;
use super::connection::{Connection, Unanswered, send, unanswered};
use crate::source::mcp::Backoff;
use crate::source::mcp::link::STABLE;

/// How long it may take to end the stream. A server whose stream is not ended may wait for it
/// before it exits.
pub(super) const FAREWELL: Duration = Duration::from_millis(300);

struct Listener {
    connection: Arc<Connection>,
    /// Whether the server tells of changed tools; without that the stream is silent.
    changes: bool,
    close: CancellationToken,
}

/// Listens for as long as the connection stands.
pub(super) async fn listen(connection: Arc<Connection>, changes: bool, close: CancellationToken) {
    let listener = Listener {
        connection,
        changes,
        close,
    };
    listener.keep_listening().await;
}

impl Listener {
    /// Resolves when the connection is closed, by whichever side.
    async fn over(&self) {
        tokio::select! {
            () = self.close.cancelled() => {}
            () = self.connection.gone.cancelled() => {}
        }
    }

    async fn tell(&self, event: Event) {
        send(&self.connection.events, event).await;
    }

    async fn tell_change(&self) {
        let epoch = self.connection.epoch;
        self.tell(Event::ListChanged { epoch }).await;
    }

    async fn keep_listening(&self) {
        let filter = if self.changes {
            SubscriptionFilter::builder().tools_list_changed().build()
        } else {
            SubscriptionFilter::new()
        };
        let backoff = Backoff::default();
        // How often in a row the stream ended soon. The first end is answered at once: a server
        // that is gone is noticed by that. After that the delays are those of the series.
        let mut ends: u32 = 0;
        loop {
            let began = Instant::now();
            let opened = tokio::select! {
                () = self.over() => return,
                opened = self.connection.peer.listen(filter.clone()) => opened,
            };
            let stream = match opened {
                Ok(stream) => stream,
                Err(error) => return self.not_opened(unanswered(error)).await,
            };
            if ends > 0 && self.changes {
                // What was announced in between is not told again.
                self.tell_change().await;
            }
            let Some(end) = self.follow(stream).await else {
                return;
            };
            if matches!(end, SubscriptionEnd::Lagged { .. }) {
                self.tell_change().await;
            }
            ends = if began.elapsed() >= STABLE {
                1
            } else {
                ends + 1
            };
            let delay = backoff.delay(ends, 0.0);
            tokio::select! {
                () = self.over() => return,
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    async fn not_opened(&self, unanswered: Unanswered) {
        let trouble = match unanswered {
            Unanswered::Trouble(trouble) => Some(trouble),
            Unanswered::Interrupted | Unanswered::NotSent => None,
            // The server has no such stream. That is its right, and no loss.
            _ => return,
        };
        // Nobody is there to listen to: the connection is closed.
        let epoch = self.connection.epoch;
        self.tell(Event::Trouble { epoch, trouble }).await;
    }

    /// Follows one stream to its end; `None` when the connection is over.
    async fn follow(&self, mut stream: Subscription) -> Option<SubscriptionEnd> {
        loop {
            let next = tokio::select! {
                () = self.over() => {
                    let _ = timeout(FAREWELL, stream.cancel()).await;
                    return None;
                }
                next = stream.next() => next,
            };
            match next {
                Ok(Some(ServerNotification::ToolListChangedNotification(_))) => {
                    self.tell_change().await;
                }
                Ok(Some(_)) => {}
                // An ill-formed stream is one that broke.
                Ok(None) | Err(_) => break,
            }
        }
        Some(stream.end().cloned().unwrap_or(SubscriptionEnd::Abrupt))
    }
}
