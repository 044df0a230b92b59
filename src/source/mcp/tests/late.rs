//! A server that answers a call after it was told that nobody waits for it any more (rule 9.6),
//! written line by line, since no library's server does that.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use super::*;
use crate::tool::ErrorKind;

/// Answers calls of `once` only when they are cancelled, all others at once.
async fn answers_late(stream: DuplexStream, seen: Arc<Mutex<Vec<String>>>) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = &message["id"];
        let text = |text: &str| serde_json::json!({"content": [{"type": "text", "text": text}]});
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => serde_json::json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "late", "version": "1"},
            }),
            "tools/list" => {
                let schema = serde_json::json!({"type": "object"});
                let tool = |name: &str| serde_json::json!({"name": name, "inputSchema": schema});
                serde_json::json!({"tools": [tool("once"), tool("now")]})
            }
            "tools/call" if message["params"]["name"] == "now" => text("in time"),
            "tools/call" => {
                seen.lock().push(format!("called {id}"));
                continue;
            }
            "notifications/cancelled" => {
                let id = &message["params"]["requestId"];
                seen.lock().push(format!("cancelled {id}"));
                let late = serde_json::json!({"jsonrpc": "2.0", "id": id, "result": text("late")});
                writer
                    .write_all(format!("{late}\n").as_bytes())
                    .await
                    .unwrap();
                continue;
            }
            _ if id.is_null() => continue,
            "ping" => serde_json::json!({}),
            _ => {
                let error = serde_json::json!({"code": -32601, "message": "unknown"});
                let error = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error});
                writer
                    .write_all(format!("{error}\n").as_bytes())
                    .await
                    .unwrap();
                continue;
            }
        };
        let answer = serde_json::json!({"jsonrpc": "2.0", "id": id, "result": answer});
        writer
            .write_all(format!("{answer}\n").as_bytes())
            .await
            .unwrap();
    }
}

#[derive(Clone, Default)]
struct Late(Arc<Mutex<Vec<String>>>);

impl Connector for Late {
    fn open<'a>(&'a self, _: &'a TaskTracker) -> BoxFuture<'a, Result<Wire, Trouble>> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(answers_late(theirs, Arc::clone(&self.0)));
        let (reader, writer) = tokio::io::split(ours);
        Box::pin(async {
            Ok(Wire::Lines(Lines {
                reader: Box::new(reader),
                writer: Box::new(writer),
                stderr: None,
                process: None,
            }))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_call_that_timed_out_is_ignored_and_the_next_call_gets_its_own() {
    let late = Late::default();
    let settings = McpSettings {
        servers: vec![server("m")],
        ..McpSettings::default()
    };
    let registry = Arc::new(Registry::new());
    let context = McpContext::new(Arc::clone(&registry), Secrets::default());
    let connector = late.clone();
    let source = McpSource::start_with("src".into(), 0, settings, context, move |_| {
        Arc::new(connector.clone())
    });
    let mut rows = source.servers();
    let ready = rows.wait_for(|rows| rows[0].state == ServerState::Ready);
    ready.await.unwrap();
    let call = async |name: &str, seconds: u64| {
        let entry = Arc::clone(registry.catalog().get(name).unwrap());
        let mut invocation = Bench::invocation(Value::Null);
        invocation.deadline = Some(Instant::now() + Duration::from_secs(seconds));
        entry.tool.execute(invocation).await
    };
    for number in 1..=3 {
        let result = call("m__once", 3).await;
        assert_eq!(result.error_kind, Some(ErrorKind::Timeout), "{number}");
        // The late answer comes before this one, on the same wire.
        assert_eq!(call("m__now", 3).await.all_text(), "in time", "{number}");
    }
    let seen = late.0.lock().clone();
    let ids = |what: &str| -> Vec<String> {
        let ids = seen.iter().filter_map(|seen| seen.strip_prefix(what));
        ids.map(ToOwned::to_owned).collect()
    };
    assert_eq!(ids("called ").len(), 3, "{seen:?}");
    assert_eq!(ids("called "), ids("cancelled "), "each was told to stop");
    let row = Arc::clone(&rows.borrow()[0]);
    assert_eq!((row.state, row.reconnects), (ServerState::Ready, 0));
    assert_eq!(row.last_error, None);
}
