//! The standing stream of the newer revision: tells of changed tools, and over HTTP its end tells
//! that the server may be gone.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::SubscriptionEnd;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Event;
use super::connection::{Connection, Unanswered, send, unanswered};
use crate::source::mcp::Backoff;
use crate::source::mcp::link::STABLE;

/// Listens for as long as the connection stands.
pub(super) async fn listen(connection: Arc<Connection>, changes: bool, close: CancellationToken) {
    tokio::select! {
        () = close.cancelled() => {}
        () = connection.gone.cancelled() => {}
        () = keep_listening(&connection, changes) => {}
    }
}

async fn keep_listening(connection: &Connection, changes: bool) {
    let epoch = connection.epoch;
    let filter = if changes {
        SubscriptionFilter::builder().tools_list_changed().build()
    } else {
        SubscriptionFilter::new()
    };
    let backoff = Backoff::default();
    // A stream that ends at once again and again is taken up with the delays of the series.
    let mut attempt = 1;
    loop {
        let began = Instant::now();
        let end = match connection.peer.listen(filter.clone()).await {
            Ok(mut stream) => {
                if attempt > 1 && changes {
                    // What was announced in between is not told again.
                    send(&connection.events, Event::ListChanged { epoch }).await;
                }
                loop {
                    match stream.next().await {
                        Ok(Some(ServerNotification::ToolListChangedNotification(_))) => {
                            send(&connection.events, Event::ListChanged { epoch }).await;
                        }
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => break,
                    }
                }
                stream.end().cloned()
            }
            Err(error) => {
                let trouble = match unanswered(error) {
                    Unanswered::Trouble(trouble) => Some(trouble),
                    Unanswered::Interrupted | Unanswered::NotSent => None,
                    // The server has no such stream. That is its right, and no loss.
                    _ => return,
                };
                // Nobody is there to listen to: the connection is closed.
                send(&connection.events, Event::Trouble { epoch, trouble }).await;
                return;
            }
        };
        if matches!(end, Some(SubscriptionEnd::Lagged { .. })) {
            send(&connection.events, Event::ListChanged { epoch }).await;
        }
        attempt = if began.elapsed() >= STABLE {
            2
        } else {
            attempt + 1
        };
        // The first end is answered at once: a server that is gone is noticed by that.
        let delay = if attempt == 2 {
            Duration::ZERO
        } else {
            backoff.delay(attempt - 1, 0.0)
        };
        tokio::time::sleep(delay).await;
    }
}
