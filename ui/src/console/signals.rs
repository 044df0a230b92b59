//! The signals that end the console, that ask for a reload, and that tell of a new size.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Somebody asks the program to end.
pub(super) struct End {
    interrupt: Signal,
    terminate: Signal,
}

impl End {
    /// Listens from now on.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for it.
    pub(super) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Somebody asks for the deployment to be read again, or the terminal goes away.
pub(super) struct HangUps(Signal);

impl HangUps {
    /// Listens from now on.
    pub(super) fn new() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for it.
    pub(super) async fn wait(&mut self) {
        // `None` means that the runtime goes down.
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
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
