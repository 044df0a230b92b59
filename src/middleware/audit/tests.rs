//! The layer with a real file.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::middleware::{Chain, Endpoint, Recover};
use crate::registry::Catalog;
use crate::tool::{Call, ErrorKind};

struct Acts;

impl Endpoint for Acts {
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            match &*request.call.tool {
                "panics" => panic!("boom"),
                "hangs" => std::future::pending().await,
                "fails" => ToolResult::error(ErrorKind::Tool, "no"),
                _ => {
                    tokio::time::sleep(Duration::from_millis(25)).await;
                    ToolResult::text("done")
                }
            }
        })
    }
}

fn open(dir: &tempfile::TempDir) -> (Arc<Audit>, PathBuf) {
    let file = dir.path().join("audit.jsonl");
    let settings = AuditSettings { file: file.clone() };
    let audit = Audit::open(&settings, None, Secrets::default()).unwrap();
    (Arc::new(audit), file)
}

async fn run(chain: &Chain, tool: &str) -> ToolResult {
    let request = Request::new(Call::new(tool, json!({})), Arc::new(Catalog::default()));
    chain.run(request, &Acts).await
}

fn lines(file: &PathBuf) -> Vec<(String, Option<String>, u64)> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let kind = line["error_kind"].as_str().map(ToOwned::to_owned);
            assert_eq!(line["is_error"], kind.is_some());
            let tool = line["tool"].as_str().unwrap().to_owned();
            (tool, kind, line["duration_ms"].as_u64().unwrap())
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn every_call_has_one_line_however_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let (audit, file) = open(&dir);
    let layers: Vec<Arc<dyn Middleware>> = vec![audit, Arc::new(Recover::default())];
    let chain = Chain::new(layers);
    run(&chain, "works").await;
    run(&chain, "fails").await;
    let panicked = run(&chain, "panics").await;
    assert_eq!(panicked.error_kind, Some(ErrorKind::Panic));
    let dropped = tokio::time::timeout(Duration::from_millis(40), run(&chain, "hangs")).await;
    assert!(dropped.is_err());
    chain.close().await;
    let row = |tool: &str, kind: Option<&str>, ms| (tool.to_owned(), kind.map(Into::into), ms);
    let expected = [
        row("works", None, 25),
        row("fails", Some("tool"), 0),
        row("panics", Some("panic"), 0),
        row("hangs", Some("cancelled"), 40),
    ];
    assert_eq!(lines(&file), expected);
    let counters: Vec<_> = chain.status()[1].counters.iter().map(|c| c.value).collect();
    assert_eq!(counters, [4, 0]);
    // A second process, or this one after a restart, goes on at the end.
    let (audit, _) = open(&dir);
    let chain = Chain::new(vec![audit]);
    run(&chain, "fails").await;
    chain.close().await;
    chain.close().await;
    assert_eq!(lines(&file).len(), 5);
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let settings = AuditSettings {
        file: dir.path().join("missing/audit.jsonl"),
    };
    let error = Audit::open(&settings, None, Secrets::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_at_once_are_written_or_counted_as_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (audit, file) = open(&dir);
    let chain = Chain::new(vec![audit]);
    let calls = (0..10_000).map(|_| run(&chain, "fails"));
    futures::future::join_all(calls).await;
    chain.close().await;
    let counters: Vec<_> = chain.status()[0].counters.iter().map(|c| c.value).collect();
    assert_eq!(counters[0], lines(&file).len() as u64);
    assert_eq!(counters[0] + counters[1], 10_000);
}
