//! The client under the protocol's own conformance suite: a deployment with the server that the
//! suite plays, and what each scenario wants done with it.
//!
//! `.ci/run` starts the suite, which starts this test as its client and appends the address of its
//! server to the command.

use serde_json::{Value, json};
use toolcrib::control::ControlError;
use toolcrib::deployment::{ProcessEnvironment, load_text};
use toolcrib::runtime::{Options, Runtime};
use toolcrib::source::ServerState;
use toolcrib::source::mcp::{Answer, Questions};
use toolcrib::tool::Call;

use super::host::PATIENCE;

#[tokio::test]
#[ignore = "this is the client that the conformance suite starts"]
async fn client() {
    let Some(url) = std::env::args()
        .next_back()
        .filter(|last| last.starts_with("http"))
    else {
        return;
    };
    let revision = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    let protocol = revision
        .filter(|revision| ["2025-11-25", "2026-07-28"].contains(&revision.as_str()))
        .unwrap_or_else(|| "auto".to_owned());
    let server = json!({"name": "s", "transport": "http", "url": url, "prefix": "",
        "protocol": protocol});
    let text = json!({"resources": {
        "servers": {"kind": "tool.Source", "impl": "mcp", "settings": {"servers": [server]}},
        "tools": {"kind": "tool.Assembly", "impl": "memory", "deps": {"tool": "servers"}},
    }})
    .to_string();
    let loaded = load_text("conformance.json", &text, ".".as_ref(), &ProcessEnvironment).unwrap();
    let questions = Questions::default();
    let _seat = questions.attach();
    tokio::spawn(answer(questions.clone()));
    let options = Options {
        questions,
        ..Options::default()
    };
    let runtime = Runtime::start(&loaded.deployment, options).await.unwrap();
    let mut snapshots = runtime.snapshot();
    let settled = snapshots.wait_for(|all| all.servers[0].settled);
    let snapshot = tokio::time::timeout(PATIENCE, settled)
        .await
        .unwrap()
        .unwrap()
        .clone();
    if snapshot.servers[0].state == ServerState::Rejected {
        // The operator agrees at once.
        let url = runtime.control().authorize("servers", "s").await.unwrap();
        reqwest::get(url).await.unwrap();
    }
    let ready = snapshots.wait_for(|all| all.servers[0].state == ServerState::Ready);
    tokio::time::timeout(PATIENCE, ready)
        .await
        .unwrap()
        .unwrap();
    let outcome = run(&runtime).await;
    assert!(runtime.shutdown().await.is_empty());
    outcome.unwrap();
}

/// Calls every tool once, with arguments that its schema asks for; the suite's servers say by what
/// they get whether it was right.
async fn run(runtime: &Runtime) -> Result<(), ControlError> {
    let named = std::env::var("MCP_CONFORMANCE_CONTEXT").ok();
    let context: Value = named
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let wanted = context.get("toolCalls").and_then(Value::as_array).cloned();
    let calls = match wanted {
        Some(calls) => calls
            .iter()
            .map(|call| {
                let name = call["name"].as_str().unwrap_or_default();
                Call::new(name, call["arguments"].clone())
            })
            .collect(),
        None => {
            let catalog = runtime.executor().registry().catalog();
            // One scenario wants a schema back as it came, to see whether a client keeps all of it.
            let echoed = catalog.get("json_schema_2020_12_tool");
            let calls = catalog
                .definitions()
                .map(|tool| match (tool.name(), echoed) {
                    ("json_schema_echo", Some(echoed)) => {
                        let schema = echoed.definition.input_schema();
                        Call::new(tool.name(), json!({"schema": schema}))
                    }
                    (name, _) => Call::new(name, example(tool.input_schema())),
                });
            calls.collect::<Vec<_>>()
        }
    };
    for call in calls {
        let tool = call.tool.clone();
        let result = runtime.control().call(call).await?.result;
        eprintln!("{tool}: {}", result.all_text());
    }
    Ok(())
}

/// A value that fits a schema of plain kinds.
fn example(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => json!(5),
        Some("boolean") => json!(true),
        Some("string") => json!("text"),
        Some("array") => json!([]),
        _ => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let each = properties.into_iter().flatten();
            each.map(|(name, schema)| (name.clone(), example(schema)))
                .collect()
        }
    }
}

/// Accepts whatever is asked, with the defaults that the schema names.
async fn answer(questions: Questions) {
    let mut pending = questions.pending();
    loop {
        let open = pending.borrow_and_update().clone();
        for question in open.iter() {
            let schema = question.params.get("requestedSchema");
            let content = match schema {
                Some(schema) => example(schema),
                None => json!({"role": "assistant", "model": "none",
                    "content": {"type": "text", "text": "none"}}),
            };
            questions.answer(question.id, Answer::Accept(content));
        }
        if pending.changed().await.is_err() {
            return;
        }
    }
}
