//! A server that speaks just enough HTTP/1.1 to be exact: it keeps each request as it came in and
//! answers with the bytes that the test wants.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// How the server behaves for one request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// These bytes, then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing for as long as the peer waits.
    Stall(Vec<u8>),
    /// The connection is closed without a byte.
    Reset,
    /// Nothing, for as long as the peer waits.
    Silence,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn target(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

pub(crate) struct Wire {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
    _task: tokio_util::task::AbortOnDropHandle<()>,
}

impl Wire {
    /// Answers with the replies in order; the last one is repeated.
    pub(crate) async fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let mut next = 0;
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    break;
                };
                let reply = replies[next.min(replies.len() - 1)].clone();
                next += 1;
                tokio::spawn(serve(stream, reply, Arc::clone(&kept)));
            }
        });
        Self {
            url,
            seen,
            _task: tokio_util::task::AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    pub(crate) fn only(&self) -> Seen {
        let seen = self.requests();
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen[0].clone()
    }
}

/// A whole answer.
pub(crate) fn reply(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    Reply::Bytes(bytes)
}

pub(crate) fn ok(body: &str) -> Reply {
    reply("200 OK", &[("Content-Type", "text/plain")], body)
}

async fn serve(mut stream: TcpStream, reply: Reply, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut request = Seen {
        at: Instant::now(),
        head,
        body: bytes.split_off(head_end),
    };
    let length = request
        .header("content-length")
        .map_or(0, |n| n.parse().unwrap());
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.unwrap_or(0) == 0 {
            break;
        }
    }
    seen.lock().push(request);
    match reply {
        Reply::Bytes(bytes) => {
            // The peer may have had enough already.
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Stall(bytes) => {
            let _ = stream.write_all(&bytes).await;
            std::future::pending().await
        }
        Reply::Reset => {}
        Reply::Silence => std::future::pending().await,
    }
}
