//! Servers as child processes.

use serde_json::json;
use toolcrib::tool::{ErrorKind, Part};

use super::host::{Host, installed};

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn everything_lists_calls_and_comes_back() {
    let command = installed("node_modules/.bin/mcp-server-everything");
    let host =
        Host::start(json!({"transport": "stdio", "command": command, "args": ["stdio"]})).await;
    let tools = host.tools();
    assert!(tools.len() >= 10, "{tools:?}");
    assert_eq!(
        host.text("s__echo", json!({"message": "grüß dich"})).await,
        "Echo: grüß dich"
    );
    let sum = host.text("s__get-sum", json!({"a": 19, "b": 23})).await;
    assert!(sum.contains("42"), "{sum}");
    let image = host.call("s__get-tiny-image", json!({})).await;
    let pictures = image
        .parts
        .iter()
        .filter(|part| matches!(part, Part::Image { .. }));
    assert_eq!(pictures.count(), 1);
    let structured = host
        .call("s__get-structured-content", json!({"location": "Chicago"}))
        .await;
    assert!(
        structured
            .parts
            .iter()
            .any(|part| matches!(part, Part::Data { .. }))
    );
    let wrong = host.call("s__get-sum", json!({"a": "x"})).await;
    assert_eq!(wrong.error_kind, Some(ErrorKind::Tool));
    host.kill_and_see_it_come_back().await;
    assert_eq!(
        host.text("s__echo", json!({"message": "again"})).await,
        "Echo: again"
    );
    host.stop().await;
}

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn filesystem_reads_and_writes_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().display().to_string();
    let command = installed("node_modules/.bin/mcp-server-filesystem");
    let host = Host::start(json!({"transport": "stdio", "command": command, "args": [root]})).await;
    let file = format!("{root}/note.txt");
    host.text(
        "s__write_file",
        json!({"path": file, "content": "tide at nine\n"}),
    )
    .await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "tide at nine\n");
    let read = host.text("s__read_text_file", json!({"path": file})).await;
    assert!(read.contains("tide at nine"), "{read}");
    let listed = host.text("s__list_directory", json!({"path": root})).await;
    assert!(listed.contains("note.txt"), "{listed}");
    let outside = host
        .call("s__read_text_file", json!({"path": "/etc/hostname"}))
        .await;
    assert_eq!(outside.error_kind, Some(ErrorKind::Tool));
    host.kill_and_see_it_come_back().await;
    let read = host.text("s__read_text_file", json!({"path": file})).await;
    assert!(read.contains("tide at nine"), "{read}");
    host.stop().await;
}

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn memory_keeps_a_graph_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("memory.jsonl").display().to_string();
    let command = installed("node_modules/.bin/mcp-server-memory");
    let env = json!({"MEMORY_FILE_PATH": file});
    let host = Host::start(json!({"transport": "stdio", "command": command, "env": env})).await;
    let entity = json!({"name": "crane", "entityType": "machine", "observations": ["lifts 5 t"]});
    host.text("s__create_entities", json!({"entities": [entity]}))
        .await;
    let graph = host.text("s__read_graph", json!({})).await;
    assert!(graph.contains("lifts 5 t"), "{graph}");
    host.kill_and_see_it_come_back().await;
    let found = host
        .text("s__search_nodes", json!({"query": "crane"}))
        .await;
    assert!(found.contains("machine"), "{found}");
    host.stop().await;
}

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn time_answers_and_comes_back() {
    let command = installed("venv/bin/mcp-server-time");
    let host = Host::start(json!({"transport": "stdio", "command": command})).await;
    let now = host
        .text("s__get_current_time", json!({"timezone": "Europe/Berlin"}))
        .await;
    assert!(now.contains("Europe/Berlin"), "{now}");
    let other = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let converted = host.text("s__convert_time", other).await;
    assert!(converted.contains("21:00"), "{converted}");
    host.kill_and_see_it_come_back().await;
    host.text("s__get_current_time", json!({"timezone": "UTC"}))
        .await;
    host.stop().await;
}

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn git_reads_a_repository_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display().to_string();
    let git = |args: &[&str]| {
        let status = std::process::Command::new("git")
            .current_dir(&root)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(args)
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
    };
    git(&["init", "--quiet"]);
    std::fs::write(dir.path().join("a.txt"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "First light"]);
    std::fs::write(dir.path().join("a.txt"), "two\n").unwrap();
    let command = installed("venv/bin/mcp-server-git");
    let args = json!(["--repository", root]);
    let host = Host::start(json!({"transport": "stdio", "command": command, "args": args})).await;
    let status = host.text("s__git_status", json!({"repo_path": root})).await;
    assert!(status.contains("a.txt"), "{status}");
    let log = host.text("s__git_log", json!({"repo_path": root})).await;
    assert!(log.contains("First light"), "{log}");
    let diff = host
        .text("s__git_diff_unstaged", json!({"repo_path": root}))
        .await;
    assert!(diff.contains("+two"), "{diff}");
    host.kill_and_see_it_come_back().await;
    host.text("s__git_log", json!({"repo_path": root})).await;
    host.stop().await;
}
