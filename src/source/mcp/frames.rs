//! The tap on the traffic: every JSON-RPC message of every server, both ways, what HTTP answers
//! besides, and lines that are no messages at all.

mod envelope;

use std::borrow::Cow;
use std::sync::Arc;

use crate::clock::Stamp;
use crate::secrets::Secrets;

use super::log::cut_to;
use envelope::Envelope;

/// How much of a message is kept as text; `bytes` always gives its whole length.
const TEXT_BYTES: usize = 64 * 1024;

/// How much of a method, an id or a tool's name is kept.
const NAME_BYTES: usize = 256;

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From us to the server.
    ToServer,
    /// From the server to us.
    FromServer,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// Wants an answer.
    Request,
    /// Wants none.
    Notification,
    /// Answers a request with a result.
    Answer,
    /// Answers a request with an error.
    Error,
    /// An answer of HTTP that holds no message: a status, and what else stood there.
    Status,
    /// No JSON-RPC at all, such as a banner on stdout.
    Stray,
}

impl FrameKind {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Answer => "answer",
            Self::Error => "error",
            Self::Status => "status",
            Self::Stray => "stray",
        }
    }
}

/// One message as it stood on the wire.
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
    /// What it is.
    pub kind: FrameKind,
    /// The method of a request or notification.
    pub method: Option<Arc<str>>,
    /// The id as JSON, so that `1` and `"1"` differ.
    pub id: Option<Arc<str>>,
    /// The tool that a `tools/call` names.
    pub tool: Option<Arc<str>>,
    /// The status that HTTP answered with.
    pub status: Option<u16>,
    /// When.
    pub at: Stamp,
    /// Its whole length in bytes.
    pub bytes: usize,
    /// Its text, secrets masked, cut at 64 KiB.
    pub text: Arc<str>,
}

/// Hears of every message. Called where the message passes: must not block.
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
    /// A message passes, or what stood where one should.
    pub(super) fn pass(&self, direction: Direction, message: &[u8]) {
        self.pass_with(direction, message, None);
    }

    /// HTTP answered with this status and body.
    pub(super) fn answered(&self, status: u16, body: &[u8]) {
        self.pass_with(Direction::FromServer, body, Some(status));
    }

    fn pass_with(&self, direction: Direction, message: &[u8], status: Option<u16>) {
        let Some(sink) = self.sink.as_ref().filter(|sink| sink.wants()) else {
            return;
        };
        let envelope = Envelope::read(message);
        let kind = match (envelope.kind(), status) {
            (FrameKind::Stray, Some(_)) => FrameKind::Status,
            (kind, _) => kind,
        };
        let name = |name: Option<Cow<'_, str>>| -> Option<Arc<str>> {
            Some(cut_to(&self.secrets.mask(&name?), NAME_BYTES).into())
        };
        // Masked before it is cut: half a secret would not be recognized any more.
        let text = String::from_utf8_lossy(message);
        let text = cut_to(&self.secrets.mask(&text), TEXT_BYTES);
        sink.frame(Frame {
            source: Arc::clone(&self.source),
            server: Arc::clone(&self.server),
            epoch: self.epoch,
            direction,
            kind,
            method: name(envelope.method),
            id: name(envelope.id),
            tool: name(envelope.tool),
            status,
            at: Stamp::now(),
            bytes: message.len(),
            text: text.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Frame>>);

    impl FrameSink for Kept {
        fn frame(&self, frame: Frame) {
            self.0.lock().push(frame);
        }
    }

    fn tapped(secret: &str, pass: impl Fn(&Tap)) -> Frame {
        let kept = Arc::new(Kept::default());
        let secrets = Secrets::default();
        secrets.add(secret);
        let tap = Tap {
            source: "s".into(),
            server: "x".into(),
            epoch: 3,
            sink: Some(Arc::clone(&kept) as Arc<dyn FrameSink>),
            secrets,
        };
        pass(&tap);
        kept.0.lock().remove(0)
    }

    #[test]
    fn a_frame_says_what_it_is_and_hides_secrets_everywhere() {
        let frame = tapped("hunter22", |tap| {
            let call = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"say_hunter22","arguments":{"key":"hunter22"}}}"#;
            tap.pass(Direction::ToServer, call);
        });
        assert_eq!(frame.kind, FrameKind::Request);
        assert_eq!(frame.method.as_deref(), Some("tools/call"));
        assert_eq!(frame.id.as_deref(), Some("7"));
        assert_eq!(frame.tool.as_deref(), Some("say_••••"));
        assert!(!frame.text.contains("hunter22"), "{}", frame.text);
    }

    #[test]
    fn a_body_that_is_no_message_is_a_status_over_http_and_stray_on_stdout() {
        let over_http = tapped("", |tap| tap.answered(401, b"<h1>who are you?</h1>"));
        assert_eq!(
            (over_http.kind, over_http.status),
            (FrameKind::Status, Some(401))
        );
        let banner = tapped("", |tap| tap.pass(Direction::FromServer, b"listening ..."));
        assert_eq!((banner.kind, banner.status), (FrameKind::Stray, None));
    }

    #[test]
    fn a_long_message_is_cut_and_its_length_is_told() {
        let long = format!(
            r#"{{"id":1,"result":{{"text":"{}"}}}}"#,
            "x".repeat(200_000)
        );
        let frame = tapped("", |tap| {
            tap.pass(Direction::FromServer, long.as_bytes());
        });
        assert_eq!(
            (frame.kind, frame.bytes),
            (FrameKind::Answer, long.len()),
            "its end is read although it is not kept"
        );
        assert!(frame.text.len() < TEXT_BYTES + 64);
    }
}
