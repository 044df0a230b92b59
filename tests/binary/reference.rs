//! `import`, `schema`, `completions`, `man` and `view`.

use serde_json::json;

use crate::place::{LAB, Place};

/// Each client's file, and the server that it amounts to.
const CLIENTS: [(&str, &str, &str); 4] = [
    (
        "claude.json",
        r#"{"mcpServers": {"time": {"command": "time-server", "args": ["--utc"]}}, "theme": "dark"}"#,
        "stdio",
    ),
    (
        "cursor.json",
        r#"{"mcpServers": {"time": {"url": "http://localhost:1/mcp"}}}"#,
        "http",
    ),
    (
        "vscode.json",
        "{\"servers\": {\"time\": {\"type\": \"stdio\", \"command\": \"time-server\",}, /* x */}}",
        "stdio",
    ),
    (
        "config.toml",
        "model = \"x\"\n[mcp_servers.time]\ncommand = \"time-server\"\n",
        "stdio",
    ),
];

#[tokio::test]
async fn a_file_of_another_client_becomes_a_deployment_that_is_valid() {
    for (name, text, transport) in CLIENTS {
        let place = Place::new();
        place.write(name, text);
        let imported = place.run(&["import", name]).await;
        assert_eq!(imported.code, Some(0), "{name}: {imported:?}");
        assert!(
            imported.stdout.contains("- name: time\n"),
            "{name}: {}",
            imported.stdout
        );
        let line = format!("transport: {transport}\n");
        assert!(
            imported.stdout.contains(&line),
            "{name}: {}",
            imported.stdout
        );
        place.write("toolcrib.yaml", &imported.stdout);
        let checked = place.run(&["check", "--strict"]).await;
        assert_eq!(checked.stdout, "toolcrib.yaml: valid\n", "{name}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_client_s_is_refused_with_2() {
    let place = Place::new();
    place.write("other.json", "{}");
    let imported = place.run(&["import", "other.json"]).await;
    assert_eq!((imported.code, &*imported.stdout), (Some(2), ""));
    assert!(
        imported.stderr.starts_with("other.json:1:1: "),
        "{}",
        imported.stderr
    );
}

#[tokio::test]
async fn every_shell_gets_completions_with_the_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&["completions", shell]).await;
        assert_eq!((script.code, &*script.stderr), (Some(0), ""), "{shell}");
        for word in ["check", "servers", "--log-file"] {
            assert!(
                script.stdout.contains(word.trim_start_matches('-')),
                "{shell} lacks {word}"
            );
        }
    }
}

#[tokio::test]
async fn the_man_page_names_every_command_but_the_hidden_one() {
    let man = Place::new().run(&["man"]).await;
    assert_eq!((man.code, &*man.stderr), (Some(0), ""));
    assert!(man.stdout.contains(".TH toolcrib 1"), "{}", man.stdout);
    for command in [
        "CHECK", "SERVERS", "TOOLS", "CALL", "VIEW", "IMPORT", "SCHEMA",
    ] {
        let heading = format!("\"COMMAND {command}\"");
        assert!(man.stdout.contains(&heading), "no {command}");
    }
    assert!(!man.stdout.contains("DEMO"), "{}", man.stdout);
}

#[tokio::test]
async fn a_screen_is_printed_without_a_terminal_as_text_and_as_data() {
    let place = Place::with(LAB);
    let tools = place.run(&["view", "tools"]).await;
    assert_eq!((tools.code, &*tools.stderr), (Some(0), ""));
    assert!(tools.stdout.contains("figures"), "{}", tools.stdout);
    assert!(!tools.stdout.contains('\x1b'), "{}", tools.stdout);
    let data = place.run(&["view", "tools", "--json"]).await;
    assert_eq!(data.json()["screen"], "tools");
    assert_eq!(data.json()["deployment"]["state"], "serving");
    assert_eq!(data.json()["tools"].as_array().unwrap().len(), 7);
    let ascii = place
        .run(&["view", "overview", "--ascii", "--after", "50ms"])
        .await;
    assert!(ascii.stdout.is_ascii(), "{}", ascii.stdout);
}

#[tokio::test]
async fn the_console_says_that_it_needs_a_terminal() {
    let ended = Place::with(LAB).run(&[]).await;
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
    assert_eq!(
        ended.stderr,
        "error: the console needs a terminal; name a command, or `view SCREEN` to print a screen \
         without one\n"
    );
}

#[tokio::test]
async fn the_schema_refuses_what_check_refuses() {
    let schema = Place::new().run(&["schema"]).await;
    let validator = jsonschema::validator_for(&schema.json()).unwrap();
    let source = |settings| json!({"resources": {"a": {"kind": "tool.Source", "impl": "sim", "settings": settings}}});
    assert!(validator.is_valid(&source(json!({"seed": 1}))));
    assert!(!validator.is_valid(&source(json!({"sed": 1}))));
    assert!(!validator.is_valid(&json!({})));
}
