//! JSON-RPC over lines, as stdio servers speak it: one task reads, one task writes, and the
//! transport given to the protocol library is two channels, so that nothing is lost when a future
//! is dropped half-way.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::source::LogOrigin;
use crate::source::mcp::frames::{Direction, Tap};
use crate::source::mcp::log::{Log, cut_to};

/// The longest line that is taken. A longer one is dropped and shown, and the request that it was
/// to answer fails.
const LINE_BYTES: usize = 64 * 1024 * 1024;

/// How much of a dropped line is kept, to find out which request it answers.
const HEAD_BYTES: usize = 4096;

/// Messages on their way in or out. When it is full, the side that fills it waits: the server by
/// its pipe, we by the future of the send.
const QUEUE: usize = 64;

/// Requests without an answer, so that a dropped line does not leave one waiting for ever.
type Pending = Arc<Mutex<HashSet<RequestId>>>;

/// Why a message could not be sent.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum LineError {
    #[error("the connection is closed")]
    Closed,
    #[error("the message is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
}

struct Outgoing {
    line: Bytes,
    written: oneshot::Sender<Result<(), std::io::Error>>,
}

/// The transport.
pub(in super::super) struct LineTransport {
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    outgoing: Option<mpsc::Sender<Outgoing>>,
    pending: Pending,
}

/// What the two tasks need to know.
pub(in super::super) struct LineSettings {
    pub(in super::super) tap: Tap,
    pub(in super::super) log: Log,
    /// Closes the writing side when it fires.
    pub(in super::super) stopping: CancellationToken,
    /// Fired here when the reading side has ended.
    pub(in super::super) ended: CancellationToken,
    pub(in super::super) longest_line: usize,
}

impl LineSettings {
    pub(in super::super) fn new(
        tap: Tap,
        log: Log,
        stopping: CancellationToken,
        ended: CancellationToken,
    ) -> Self {
        Self {
            tap,
            log,
            stopping,
            ended,
            longest_line: LINE_BYTES,
        }
    }
}

impl LineTransport {
    /// Starts the two tasks.
    pub(in super::super) fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        settings: LineSettings,
    ) -> Self {
        let (arrived, incoming) = mpsc::channel(QUEUE);
        let (outgoing, to_write) = mpsc::channel(QUEUE);
        let pending = Pending::default();
        tokio::spawn(write_lines(
            writer,
            to_write,
            settings.tap.clone(),
            settings.stopping.clone(),
        ));
        let reading = Reading {
            pending: Arc::clone(&pending),
            arrived,
            settings,
        };
        tokio::spawn(reading.run(reader));
        Self {
            incoming,
            outgoing: Some(outgoing),
            pending,
        }
    }
}

impl Transport<RoleClient> for LineTransport {
    type Error = LineError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let TxJsonRpcMessage::<RoleClient>::Request(request) = &item {
            self.pending.lock().insert(request.id.clone());
        }
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            Bytes::from(line)
        });
        let outgoing = self.outgoing.clone();
        async move {
            let (written, done) = oneshot::channel();
            let message = Outgoing {
                line: line?,
                written,
            };
            outgoing
                .ok_or(LineError::Closed)?
                .send(message)
                .await
                .map_err(|_| LineError::Closed)?;
            Ok(done.await.map_err(|_| LineError::Closed)??)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.incoming.recv().await?;
        match &message {
            RxJsonRpcMessage::<RoleClient>::Response(response) => {
                self.pending.lock().remove(&response.id);
            }
            RxJsonRpcMessage::<RoleClient>::Error(error) => {
                if let Some(id) = &error.id {
                    self.pending.lock().remove(id);
                }
            }
            _ => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.outgoing = None;
        self.incoming.close();
        Ok(())
    }
}

async fn write_lines(
    mut writer: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Outgoing>,
    tap: Tap,
    stopping: CancellationToken,
) {
    loop {
        let next = tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            next = lines.recv() => next,
        };
        let Some(Outgoing { line, written }) = next else {
            break;
        };
        tap.pass(Direction::ToServer, line.trim_ascii_end());
        let write = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        let result = tokio::select! {
            result = write => result,
            () = stopping.cancelled() => return,
        };
        let failed = result.is_err();
        let _ = written.send(result);
        if failed {
            return;
        }
    }
    // A pipe closes when it is dropped; a duplex stream wants to be told.
    let _ = writer.shutdown().await;
}

struct Reading {
    pending: Pending,
    arrived: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    settings: LineSettings,
}

impl Reading {
    async fn run(self, reader: impl AsyncRead + Unpin) {
        let _ended = self.settings.ended.clone().drop_guard();
        let mut reader = BufReader::with_capacity(64 * 1024, reader);
        let mut line = Vec::new();
        // How many bytes of a line that is too long were not kept.
        let mut dropped: Option<usize> = None;
        loop {
            let chunk = match reader.fill_buf().await {
                Ok([]) | Err(_) => break,
                Ok(chunk) => chunk,
            };
            let (part, ends) = match chunk.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&chunk[..end], true),
                None => (chunk, false),
            };
            if dropped.is_some() || line.len() + part.len() > self.settings.longest_line {
                let room = HEAD_BYTES.saturating_sub(line.len()).min(part.len());
                line.extend_from_slice(&part[..room]);
                let lost = part.len() - room + line.len().saturating_sub(HEAD_BYTES);
                dropped = Some(dropped.unwrap_or(0) + lost);
                line.truncate(HEAD_BYTES);
                line.shrink_to(HEAD_BYTES);
            } else {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(ends);
            reader.consume(used);
            if ends {
                self.take(&line, dropped).await;
                line.clear();
                line.shrink_to(64 * 1024);
                dropped = None;
            }
        }
        self.take(&line, dropped).await;
    }

    async fn take(&self, line: &[u8], dropped: Option<usize>) {
        if let Some(dropped) = dropped {
            return self.too_long(line, line.len() + dropped).await;
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice::<RxJsonRpcMessage<RoleClient>>(line) {
            Ok(message) => {
                self.settings.tap.pass(Direction::FromServer, line);
                // Nobody receives any more while it is being closed; the rest is read away so that
                // the child does not hang in a write.
                let _ = self.arrived.send(message).await;
            }
            Err(_) => self.stray(line).await,
        }
    }

    /// A line that is no message: shown and skipped (rule 8.12). If it is a malformed answer, the
    /// request that it was to answer fails.
    async fn stray(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        self.settings.log.push(LogOrigin::Stdout, None, &text);
        self.settings.tap.pass(Direction::FromServer, line);
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        if value.get("method").is_none()
            && let Some(id) = value.get("id").and_then(request_id)
            && self.pending.lock().contains(&id)
        {
            let told = format!("the answer is no MCP message: {}", cut_to(&text, 200));
            self.fail(id, told).await;
        }
    }

    async fn too_long(&self, head: &[u8], bytes: usize) {
        let told = format!(
            "a line of {bytes} bytes on stdout was dropped: the longest that is taken is {} bytes",
            self.settings.longest_line
        );
        self.settings
            .log
            .push(LogOrigin::Stdout, Some("error"), &told);
        let ids: Vec<RequestId> = {
            let pending = self.pending.lock();
            match id_in_head(head).filter(|id| pending.contains(id)) {
                Some(id) => vec![id],
                // Whose answer it was cannot be seen; none of them may wait for ever.
                None if head.trim_ascii_start().starts_with(b"{") => {
                    pending.iter().cloned().collect()
                }
                None => Vec::new(),
            }
        };
        for id in ids {
            self.fail(id, told.clone()).await;
        }
    }

    async fn fail(&self, id: RequestId, told: String) {
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, told, None);
        let message = RxJsonRpcMessage::<RoleClient>::error(error, Some(id));
        let _ = self.arrived.send(message).await;
    }
}

/// Reads a stream of text to its end, line by line; of a long line only the beginning is kept.
pub(in super::super) async fn drain(
    reader: impl AsyncRead + Unpin,
    keep: usize,
    mut each: impl FnMut(&str),
) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        let chunk = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(chunk) => chunk,
        };
        let (part, ends) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&chunk[..end], true),
            None => (chunk, false),
        };
        let room = keep.saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(&part[..room]);
        let used = part.len() + usize::from(ends);
        reader.consume(used);
        if ends {
            each(String::from_utf8_lossy(&line).trim_end_matches('\r'));
            line.clear();
        }
    }
    if !line.is_empty() {
        each(&String::from_utf8_lossy(&line));
    }
}

fn request_id(value: &Value) -> Option<RequestId> {
    match value {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        _ => None,
    }
}

/// The id of an answer whose end is missing, when it stands before the `result`.
fn id_in_head(head: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(head);
    let mut rest = text.trim_start().strip_prefix('{')?;
    loop {
        let mut key = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let name = key.next()?.ok()?;
        rest = rest[key.byte_offset()..].trim_start().strip_prefix(':')?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let value = values.next()?.ok()?;
        if name == "id" {
            return request_id(&value);
        }
        rest = rest[values.byte_offset()..]
            .trim_start()
            .strip_prefix(',')?
            .trim_start();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::secrets::Secrets;

    struct Bench {
        transport: LineTransport,
        server: tokio::io::DuplexStream,
        log: Log,
        ended: CancellationToken,
        stopping: CancellationToken,
    }

    fn bench(longest_line: usize) -> Bench {
        let (ours, server) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(ours);
        let log = Log::new(Secrets::default());
        let tap = Tap {
            source: "s".into(),
            server: "x".into(),
            epoch: 1,
            sink: None,
            secrets: Secrets::default(),
        };
        let (stopping, ended) = (CancellationToken::new(), CancellationToken::new());
        let settings = LineSettings {
            longest_line,
            ..LineSettings::new(tap, log.clone(), stopping.clone(), ended.clone())
        };
        Bench {
            transport: LineTransport::start(reader, writer, settings),
            server,
            log,
            ended,
            stopping,
        }
    }

    fn ping(id: i64) -> TxJsonRpcMessage<RoleClient> {
        serde_json::from_value(serde_json::json!({
            "jsonrpc": "2.0", "id": id, "method": "ping"
        }))
        .unwrap()
    }

    async fn received(transport: &mut LineTransport) -> Value {
        let message = tokio::time::timeout(Duration::from_secs(60), transport.receive())
            .await
            .expect("no message came")
            .expect("the stream ended");
        serde_json::to_value(message).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_banner_is_logged_and_skipped_and_the_answer_after_it_arrives() {
        let mut bench = bench(1024);
        bench
            .server
            .write_all(b"Welcome!\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n")
            .await
            .unwrap();
        let answer = received(&mut bench.transport).await;
        assert_eq!(answer["id"], 1);
        let (lines, _) = bench.log.lines();
        assert_eq!(lines.len(), 1);
        assert_eq!(&*lines[0].text, "Welcome!");
        assert_eq!(lines[0].origin, LogOrigin::Stdout);
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_is_too_long_fails_the_request_that_it_answers_and_no_other() {
        let mut bench = bench(100);
        for id in [1, 2] {
            let send = bench.transport.send(ping(id));
            send.await.unwrap();
        }
        let long = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"x\":\"{}\"}}}}\n",
            "y".repeat(300)
        );
        bench.server.write_all(long.as_bytes()).await.unwrap();
        let answer = received(&mut bench.transport).await;
        assert_eq!(answer["id"], 2);
        assert_eq!(answer["error"]["code"], -32603);
        let (lines, _) = bench.log.lines();
        assert!(lines[0].text.contains("was dropped"), "{}", lines[0].text);
        bench
            .server
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
            .await
            .unwrap();
        assert_eq!(received(&mut bench.transport).await["id"], 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_endless_line_without_an_id_is_dropped_and_reading_goes_on() {
        let mut bench = bench(100);
        bench.server.write_all(&[b'z'; 5000]).await.unwrap();
        bench
            .server
            .write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n")
            .await
            .unwrap();
        assert_eq!(received(&mut bench.transport).await["id"], 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_malformed_answer_fails_its_request() {
        let mut bench = bench(1024);
        let send = bench.transport.send(ping(4));
        send.await.unwrap();
        bench
            .server
            .write_all(b"{\"id\":4,\"nonsense\":true}\n")
            .await
            .unwrap();
        let answer = received(&mut bench.transport).await;
        assert_eq!(answer["id"], 4);
        assert!(answer["error"].is_object());
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_closes_the_writing_side_and_the_end_of_the_other_is_told() {
        let mut bench = bench(1024);
        bench.stopping.cancel();
        let mut rest = Vec::new();
        drop(bench.transport);
        // The reading half keeps the duplex open until its own end comes.
        bench.server.shutdown().await.unwrap();
        bench.ended.cancelled().await;
        bench.server.read_to_end(&mut rest).await.unwrap();
        assert!(rest.is_empty());
    }

    #[test]
    fn the_id_is_found_in_the_head_of_a_cut_line() {
        let head = br#"{"jsonrpc":"2.0","id":"a-1","result":{"content":[{"type":"te"#;
        assert_eq!(id_in_head(head), Some(RequestId::String("a-1".into())));
        assert_eq!(id_in_head(br#"{"result":{"a":"#), None);
        assert_eq!(id_in_head(b"zzz"), None);
    }
}
