//! The demo servers as processes: how they serve, how they end, and that the demo finds them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what fails here fails the test"
)]

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, NotificationContext};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use toolcrib::deployment::{SourceSettings, Supplied, load_text};
use toolcrib::registry::Registry;
use toolcrib::secrets::Secrets;
use toolcrib::source::Source as _;
use toolcrib::source::mcp::{McpContext, McpSource, TransportSettings};
use toolcrib::tool::Invocation;

/// Far more than anything here takes; what hangs fails instead of blocking the run.
const PATIENCE: Duration = Duration::from_secs(30);

fn server(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .arg("demo-server")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> Lines<BufReader<ChildStderr>> {
    BufReader::new(child.stderr.take().unwrap()).lines()
}

async fn code(child: &mut Child) -> Option<i32> {
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
    ended.expect("the server does not end").unwrap().code()
}

fn call(tool: &'static str, arguments: serde_json::Value) -> CallToolRequestParams {
    let mut params = CallToolRequestParams::new(tool);
    params.arguments = arguments.as_object().cloned();
    params
}

#[tokio::test]
async fn files_serves_on_stdio_and_ends_when_stdin_closes() {
    let mut child = server(&["files"]);
    let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let client = ().serve(pipes).await.unwrap();
    assert_eq!(client.list_tools(None).await.unwrap().tools.len(), 9);
    let read = client.call_tool(call("read_file", json!({"path": "README.md"})));
    assert_eq!(read.await.unwrap().is_error, Some(false));
    client.cancel().await.unwrap();
    assert_eq!(code(&mut child).await, Some(0));
    let mut said = String::new();
    child
        .stderr
        .unwrap()
        .read_to_string(&mut said)
        .await
        .unwrap();
    assert!(said.contains("[files] read_file: done"), "{said}");
}

/// Counts the progress that it is told of.
#[derive(Clone, Default)]
struct Listener(Arc<AtomicU32>);

impl ClientHandler for Listener {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn web_serves_over_http_on_both_revisions_and_ends_when_stdin_closes() {
    // Only https would use it, but no client is built without.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut child = server(&["web"]);
    let mut said = lines(&mut child);
    let first = said.next_line().await.unwrap().unwrap();
    let url = first.strip_prefix("[web] serving ").unwrap().to_owned();
    let newest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let mut clients = Vec::new();
    for (mode, version) in [
        (newest, ProtocolVersion::V_2026_07_28),
        (
            ClientLifecycleMode::Initialize,
            ProtocolVersion::V_2025_11_25,
        ),
    ] {
        let listener = Listener::default();
        let transport = StreamableHttpClientTransport::from_uri(url.clone());
        let client = listener
            .clone()
            .serve_with_lifecycle(transport, mode)
            .await
            .unwrap();
        assert_eq!(client.peer_info().unwrap().protocol_version, version);
        let report = json!({"topic": "kelp", "seconds": 1});
        let result = client.call_tool(call("slow_report", report)).await.unwrap();
        assert_eq!(result.is_error, Some(false));
        while listener.0.load(Ordering::SeqCst) < 6 {
            tokio::task::yield_now().await;
        }
        clients.push(client);
    }
    // Streams are still open when the lifeline is cut.
    drop(child.stdin.take());
    assert_eq!(code(&mut child).await, Some(0));
}

#[tokio::test]
async fn clock_dies_as_scripted_with_a_last_line() {
    let mut child = server(&["clock", "--die-after", "1s"]);
    let mut said = lines(&mut child);
    let mut last = String::new();
    // It serves nobody; the outage comes all the same. Waiting would close a stdin left in place.
    let open = child.stdin.take();
    let ended = code(&mut child).await;
    drop(open);
    while let Some(line) = said.next_line().await.unwrap() {
        last = line;
    }
    assert_eq!(ended, Some(137));
    assert!(last.contains("(scripted outage)"), "{last}");
}

#[tokio::test]
async fn the_demo_deployment_reaches_its_three_servers_and_their_tools() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut web = server(&["web"]);
    let first = lines(&mut web).next_line().await.unwrap().unwrap();
    let url = first.strip_prefix("[web] serving ").unwrap();
    let now = toolcrib::clock::Stamp::now().wall.as_second().to_string();
    let variables = Supplied::only([
        ("TOOLCRIB_DEMO_URL", url),
        ("TOOLCRIB_DEMO_STARTED", &now),
        ("TOOLCRIB_DEMO_API", "http://127.0.0.1:1"),
        ("TOOLCRIB_DEMO_KEY", "demo"),
    ]);
    let text = include_str!("../../config/demo.yaml");
    let config = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../config"));
    let deployment = load_text("demo", text, config, &variables)
        .unwrap()
        .deployment;
    let spec = deployment.source("servers").unwrap();
    let SourceSettings::Mcp(mut settings) = spec.settings.clone() else {
        panic!("{spec:?}");
    };
    // Whatever is installed under that name on this machine is not what is tested.
    for server in &mut settings.servers {
        if let TransportSettings::Stdio { command, .. } = &mut server.transport {
            *command = env!("CARGO_BIN_EXE_toolcrib").to_owned();
        }
    }
    let names: Vec<String> = settings
        .servers
        .iter()
        .map(|server| server.name.clone())
        .collect();
    let registry = Arc::new(Registry::new());
    let context = McpContext::new(Arc::clone(&registry), Secrets::default());
    let source = McpSource::start("servers".into(), spec.place, settings, context);
    for name in &names {
        source.wait_ready(name, PATIENCE).await.unwrap();
    }
    let catalog = registry.catalog();
    let exposures = deployment.assemblies[0]
        .dynamic
        .as_ref()
        .unwrap()
        .exposures
        .clone();
    for (name, _) in exposures.iter().filter(|(name, _)| name.contains("__")) {
        assert!(
            catalog.get(name).is_some(),
            "`{name}` is not among the tools"
        );
    }
    let resources = catalog.get("files__read_resource");
    assert!(
        resources.is_some(),
        "the files are offered as resources too"
    );
    let entry = Arc::clone(catalog.get("clock__calculate").unwrap());
    let arguments = json!({"expression": "6 * 7"}).as_object().cloned().unwrap();
    let result = entry.tool.execute(Invocation::bare(arguments)).await;
    assert!(
        !result.is_error() && result.all_text().contains("42"),
        "{result:?}"
    );
    source.close().await;
}

#[tokio::test]
async fn the_demo_shows_the_tools_of_all_its_servers_embedded_and_as_a_file() {
    let nowhere = tempfile::tempdir().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/demo.yaml");
    for arguments in [&["tools", "--json"][..], &["-c", file, "tools", "--json"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(arguments)
            .current_dir(nowhere.path())
            .env("HOME", nowhere.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("TOOLCRIB_CONFIG")
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, output)
            .await
            .unwrap()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        let tools: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
        for name in [
            "files__read_file",
            "clock__now",
            "web__fetch_page",
            "mail_send",
            "harbour_tides",
            "measure_calculate",
            "tool_search",
        ] {
            let there = tools.iter().any(|tool| tool["name"] == name);
            assert!(there, "{arguments:?}: `{name}` is missing\n{said}");
        }
    }
}
