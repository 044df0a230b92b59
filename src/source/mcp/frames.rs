//! The tap on the traffic: every JSON-RPC message of every server, both ways.

use std::sync::Arc;

use crate::clock::Stamp;
use crate::secrets::Secrets;

use super::log::cut_to;

/// How much of a message is kept as text; `bytes` always gives its whole length.
const TEXT_BYTES: usize = 64 * 1024;

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From us to the server.
    ToServer,
    /// From the server to us.
    FromServer,
}

/// One JSON-RPC message as it stood on the wire.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Frame {
    /// The source.
    pub source: Arc<str>,
    /// The server.
    pub server: Arc<str>,
    /// Which connection of that server; counts up with every attempt.
    pub epoch: u64,
    /// Which way.
    pub direction: Direction,
    /// When.
    pub at: Stamp,
    /// Its whole length in bytes.
    pub bytes: usize,
    /// Its text, secrets masked, cut at 64 KiB.
    pub text: Arc<str>,
}

/// Hears of every message. Called where the message passes: must not block, so an implementation
/// hands the frame to a bounded channel and counts what does not fit.
pub trait FrameSink: Send + Sync + 'static {
    /// Whether anybody listens now; while not, frames are not even made.
    fn wants(&self) -> bool {
        true
    }

    /// A message passed.
    fn frame(&self, frame: Frame);
}

/// The tap of one connection.
#[derive(Clone)]
pub(super) struct Tap {
    pub(super) source: Arc<str>,
    pub(super) server: Arc<str>,
    pub(super) epoch: u64,
    pub(super) sink: Option<Arc<dyn FrameSink>>,
    pub(super) secrets: Secrets,
}

impl Tap {
    pub(super) fn pass(&self, direction: Direction, message: &[u8]) {
        let Some(sink) = self.sink.as_ref().filter(|sink| sink.wants()) else {
            return;
        };
        // Masked before it is cut: half a secret would not be recognized any more.
        let text = String::from_utf8_lossy(message);
        let text = cut_to(&self.secrets.mask(&text), TEXT_BYTES);
        sink.frame(Frame {
            source: Arc::clone(&self.source),
            server: Arc::clone(&self.server),
            epoch: self.epoch,
            direction,
            at: Stamp::now(),
            bytes: message.len(),
            text: text.into(),
        });
    }
}
