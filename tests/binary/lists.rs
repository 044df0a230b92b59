//! `servers` and `tools`, over simulated tools and over real child processes.

use serde_json::{Value, json};

use crate::place::{LAB, PROGRAM, Place, children};

#[tokio::test]
async fn tools_prints_the_registry_by_name() {
    let place = Place::with(LAB);
    let tools = place.run(&["tools"]).await;
    assert_eq!(tools.code, Some(0));
    assert_eq!(
        tools.stdout,
        "\
TOOL     EXPOSURE  BYTES  SOURCE  DESCRIPTION
escape   always       66  lab
fail     always       64  lab
figures  always       67  lab
hang     always       64  lab
late     always       71  lab     not yet
paint    always       65  lab
say      always      179  lab     Says it. 日本語 too.
"
    );
    assert_eq!(tools.stderr, "");
}

#[tokio::test]
async fn a_tool_as_json_has_fixed_fields() {
    let place = Place::with(LAB);
    let tools = place.run(&["tools", "--json"]).await;
    let mut all = tools.json();
    let rows = all.as_array_mut().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["escape", "fail", "figures", "hang", "late", "paint", "say"]
    );
    let say = rows.last_mut().unwrap();
    let hash = say["definition_hash"].take();
    assert_eq!(hash.as_str().map(str::len), Some(64), "{hash}");
    let schema = json!({"type": "object", "properties": {
        "text": {"type": "string"}, "count": {"type": "integer"}, "loud": {"type": "boolean"},
    }});
    let description = "Says it. 日本語 too.";
    let wire = json!({"name": "say", "description": description, "inputSchema": schema});
    assert_eq!(
        *say,
        json!({
            "name": "say", "source": "lab", "server": null, "exposure": "always",
            "bytes": wire.to_string().len(), "description": description, "input_schema": schema,
            "hints": {"read_only": true}, "definition_hash": null, "title": null,
            "original_name": null, "defined_at": null,
        })
    );
}

#[tokio::test]
async fn without_servers_the_list_of_servers_is_empty() {
    let place = Place::with(LAB);
    let servers = place.run(&["servers", "--json"]).await;
    assert_eq!((servers.code, &*servers.stdout), (Some(0), "[]\n"));
    let servers = place.run(&["servers"]).await;
    assert_eq!((servers.code, &*servers.stdout), (Some(0), ""));
    assert_eq!(
        servers.stderr,
        "no servers: this deployment has no source of impl `mcp`\n"
    );
}

#[tokio::test]
async fn a_server_as_json_has_fixed_fields_and_its_process_ends_with_the_command() {
    let place = Place::with(&children("files"));
    let servers = place.run(&["servers", "--json"]).await;
    assert_eq!(place.left(), Vec::<String>::new());
    assert_eq!(servers.code, Some(0));
    assert_eq!(
        servers.json(),
        json!([{
            "source": "real", "server": "files", "transport": "stdio", "state": "ready",
            "required": false, "protocol": "2026-07-28",
            "server_info": {
                "name": "toolcrib-demo-files",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "tools": 9, "attempts": 1, "reconnects": 0, "last_error": null, "next_retry_ms": null,
        }])
    );
}

#[tokio::test]
async fn a_server_that_cannot_start_is_listed_with_its_failure_and_the_next_attempt() {
    let place = Place::with(
        "resources:
  real:
    kind: tool.Source
    impl: mcp
    settings: {servers: [{name: a, transport: stdio, command: nowhere-at-all}]}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: real}}
",
    );
    let servers = place.run(&["servers", "--json"]).await;
    assert_eq!(servers.code, Some(0));
    let row = &servers.json()[0];
    assert_eq!(row["state"], "backoff", "{row}");
    assert_eq!(row["attempts"], 1);
    let error = row["last_error"].as_str().unwrap();
    assert!(error.contains("`nowhere-at-all`"), "{error}");
    let next = row["next_retry_ms"].as_u64().unwrap();
    assert!(next <= 1_200, "{next}");
    assert_eq!(
        (&row["protocol"], &row["server_info"]),
        (&Value::Null, &Value::Null)
    );
    let tools = place.run(&["tools", "--json"]).await;
    assert_eq!((tools.code, &*tools.stdout), (Some(0), "[]\n"));
    assert!(
        tools
            .stderr
            .contains("server `a` of source `real` is in state `backoff`"),
        "{}",
        tools.stderr
    );
}

#[tokio::test]
async fn a_server_is_named_on_the_command_line_too_and_alone_its_tools_keep_their_names() {
    let place = Place::new();
    let file =
        json!({"mcpServers": {"clock": {"command": PROGRAM, "args": ["demo-server", "clock"]}}});
    place.write("other.json", &file.to_string());
    let rows: [(&str, &[&str], &str); 3] = [
        (
            "a command",
            &["tools", "--json", "--", PROGRAM, "demo-server", "clock"],
            "now",
        ),
        (
            "another client's file",
            &["--mcp", "other.json", "tools", "--json"],
            "clock__now",
        ),
        (
            "beside another",
            &[
                "tools",
                "--json",
                "--mcp",
                "other.json",
                "--",
                PROGRAM,
                "demo-server",
                "files",
            ],
            "clock__now",
        ),
    ];
    for (name, args, tool) in rows {
        let tools = place.run(args).await;
        assert_eq!(tools.code, Some(0), "{name}: {tools:?}");
        let all = tools.json();
        let found = all
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["name"] == tool);
        assert!(found, "{name}: no `{tool}` in {all}");
    }
    assert_eq!(place.left(), Vec::<String>::new());
}

#[tokio::test]
async fn the_demo_runs_without_anything_else() {
    let place = Place::new();
    let servers = place.run(&["servers", "--json"]).await;
    assert_eq!(place.left(), Vec::<String>::new());
    let rows = servers.json();
    let states: Vec<(&str, &str)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["server"].as_str().unwrap(),
                row["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [("files", "ready"), ("clock", "ready"), ("web", "ready")],
        "{rows}"
    );
}

#[tokio::test]
async fn a_reader_that_leaves_early_is_no_failure() {
    let place = Place::new();
    let mut child = place.command(&["schema"]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = crate::place::finish(child).await;
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
}
