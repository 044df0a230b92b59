//! The signals that end the console, and the one that tells of a new size.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Somebody asks the program to end.
pub(super) struct End {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl End {
    /// Listens from now on.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for it.
    pub(super) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// The terminal gets another size.
pub(super) struct Resizes(Signal);

impl Resizes {
    /// Listens from now on.
    pub(super) fn new() -> io::Result<Self> {
        signal(SignalKind::window_change()).map(Self)
    }

    /// Waits for it, and gives columns and rows.
    pub(super) async fn wait(&mut self) -> (u16, u16) {
        loop {
            // Both `None`s mean that the runtime goes down.
            if self.0.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
            if let Ok(size) = crossterm::terminal::size() {
                return size;
            }
        }
    }
}
