use rmcp::model::{ReadResourceRequestParams, ResourceContents};
use serde_json::json;

use super::super::tests::{called, connected, failed, rmcp_error};
use super::*;

#[tokio::test]
async fn every_tool_works_once() {
    let files = connected(Files::new()).await;
    for (tool, arguments, expected) in [
        ("list_directory", json!({}), "docs/  (4 files)"),
        (
            "list_directory",
            json!({"path": "docs", "recursive": true}),
            "docs/観測手順.md",
        ),
        (
            "read_file",
            json!({"path": "config/thresholds.yaml"}),
            "# levels",
        ),
        (
            "read_file",
            json!({"path": "notes/todo.txt", "first_line": 2, "last_line": 2}),
            "calibrate after the spring tide\n",
        ),
        (
            "write_file",
            json!({"path": "notes/new.md", "content": "潮"}),
            "created `notes/new.md`, 3 bytes",
        ),
        (
            "write_file",
            json!({"path": "notes/new.md", "content": "tide"}),
            "replaced `notes/new.md`, 4 bytes",
        ),
        (
            "append_file",
            json!({"path": "notes/new.md", "text": "\nebb\n"}),
            "`notes/new.md` now has 9 bytes",
        ),
        (
            "edit_file",
            json!({"path": "notes/new.md", "old_text": "ebb", "new_text": "flow"}),
            "changed `notes/new.md`",
        ),
        ("read_file", json!({"path": "notes/new.md"}), "tide\nflow\n"),
        (
            "search_files",
            json!({"query": "MOST_JUMP", "path": "src"}),
            "src/gauge.py:6: MOST_JUMP_CM = 40",
        ),
        (
            "search_files",
            json!({"query": "reading", "limit": 1}),
            "there are more than 1; raise `limit`",
        ),
        (
            "search_files",
            json!({"query": "台風"}),
            "docs/観測手順.md:7: > 台風",
        ),
        (
            "search_files",
            json!({"query": "zzzz"}),
            "nothing contains `zzzz`",
        ),
        ("file_info", json!({"path": "notes/größen.md"}), "6 lines"),
        (
            "move_file",
            json!({"path": "notes/new.md", "to": "notes/old.md"}),
            "moved `notes/new.md` to `notes/old.md`",
        ),
        (
            "delete_file",
            json!({"path": "notes/old.md"}),
            "deleted `notes/old.md`",
        ),
    ] {
        let result = called(&files, tool, arguments).await;
        assert!(result.contains(expected), "{tool}: {result}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_a_tool_error_in_words() {
    let files = connected(Files::new()).await;
    for (tool, arguments, expected) in [
        (
            "read_file",
            json!({}),
            "`read_file` needs the argument `path`",
        ),
        ("read_file", json!({"path": 1}), "`path` must be a string"),
        (
            "read_file",
            json!({"path": "README.md", "line": 1}),
            "takes no argument `line`",
        ),
        (
            "read_file",
            json!({"path": "README.md", "first_line": 999}),
            "`first_line` is 999",
        ),
        (
            "read_file",
            json!({"path": "README.md", "first_line": 0}),
            "must be a whole number from 1",
        ),
        (
            "read_file",
            json!({"path": "README.md", "first_line": 3, "last_line": 2}),
            "is before `first_line`",
        ),
        (
            "read_file",
            json!({"path": "gauge.py"}),
            "did you mean `src/gauge.py`?",
        ),
        (
            "list_directory",
            json!({"recursive": "yes"}),
            "`recursive` must be true or false",
        ),
        ("delete_file", json!({"path": "src"}), "is a directory"),
    ] {
        let message = failed(&files, tool, arguments).await;
        assert!(message.contains(expected), "{tool}: {message}");
    }
    let error = rmcp_error(&files, "no_such_tool").await;
    assert!(error.contains("no tool is named `no_such_tool`"), "{error}");
}

#[tokio::test]
async fn the_project_is_there_as_resources_too() {
    let files = connected(Files::new()).await;
    let listed = files.list_resources(None).await.unwrap().resources;
    assert_eq!(listed.len(), seed::FILES.len());
    let japanese = listed
        .iter()
        .find(|r| r.name == "docs/観測手順.md")
        .unwrap();
    let request = ReadResourceRequestParams::new(japanese.uri.clone());
    let contents = files.read_resource(request).await.unwrap().contents;
    let ResourceContents::TextResourceContents {
        text, mime_type, ..
    } = &contents[0]
    else {
        panic!("{contents:?}");
    };
    assert!(text.starts_with("# 観測手順"));
    assert_eq!(mime_type.as_deref(), Some("text/markdown"));
    let missing = ReadResourceRequestParams::new("files:///nothing");
    assert!(files.read_resource(missing).await.is_err());
}

#[tokio::test]
async fn hints_tell_readers_from_writers_and_destroyers() {
    let files = connected(Files::new()).await;
    let tools = files.list_tools(None).await.unwrap().tools;
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        let hints = tool.annotations.clone().unwrap();
        (
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
        )
    };
    assert_eq!(hints("read_file"), (Some(true), Some(false), Some(true)));
    assert_eq!(
        hints("append_file"),
        (Some(false), Some(false), Some(false))
    );
    assert_eq!(hints("delete_file"), (Some(false), Some(true), Some(true)));
}

#[test]
fn the_seed_is_about_twenty_files_of_several_scripts() {
    let all: String = seed::FILES.iter().map(|(_, text)| *text).collect();
    assert!((18..=25).contains(&seed::FILES.len()));
    for sign in ["潮", "ö", "🌊", "警", "الماء"] {
        assert!(all.contains(sign), "{sign}");
    }
}
