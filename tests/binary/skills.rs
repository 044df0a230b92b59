//! Skills over real servers: MCP tools through a server that is this program, whatever becomes of
//! it, and the shipped skill files against the API of the demo.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use toolcrib::deployment::{EnvValue, load_file, load_text};
use toolcrib::runtime::{Options, Runtime};
use toolcrib::source::ServerState;
use toolcrib::tool::{Call, ErrorKind, Part, ToolResult};

use super::place::{PATIENCE, PROGRAM, Place};

const SKILL: &str = "\
name: s
tools:
  - name: refuses
    type: mcp
    retry: {max_attempts: 3, base_delay: 10ms}
    output_file: out/refuses.txt
    mcp: {server: brittle, tool: boom}
  - name: falls
    type: mcp
    output_file: out/falls.txt
    mcp: {server: brittle, tool: fall}
  - name: hangs
    type: mcp
    timeout: 300ms
    mcp: {server: brittle, tool: hang}
";

/// The server as a dependency, and out of a servers file whose command is a line of a shell.
fn deployments(calls: &Path) -> [(&'static str, String, String); 2] {
    let calls = calls.display();
    let dependency = format!(
        "resources:\n  servers:\n    kind: tool.Source\n    impl: mcp\n    settings:\n      \
         servers:\n        - {{name: brittle, transport: stdio, command: '{PROGRAM}', args: \
         [demo-server, brittle, --calls, '{calls}']}}\n  skills: {{kind: tool.Source, impl: \
         skills, deps: {{mcp: servers}}, settings: {{dir: skills}}}}\n  tools: {{kind: \
         tool.Assembly, impl: memory, deps: {{tool: skills}}}}\n"
    );
    let file = "resources:\n  skills: {kind: tool.Source, impl: skills, settings: {dir: skills, \
                mcp_servers_file: servers.yaml}}\n  tools: {kind: tool.Assembly, impl: memory, \
                deps: {tool: skills}}\n";
    let servers = format!(
        "servers:\n  - name: brittle\n    command: \"'{PROGRAM}' demo-server 'brittle'\"\n    \
         args: [--calls, '{calls}']\n"
    );
    [
        ("a dependency", dependency, String::new()),
        ("a servers file", file.to_owned(), servers),
    ]
}

async fn call(
    runtime: &Runtime,
    tool: &str,
    arguments: Value,
    session: Option<&str>,
) -> ToolResult {
    let mut call = Call::new(tool, arguments);
    call.session = session.map(Into::into);
    let outcome = tokio::time::timeout(PATIENCE, runtime.control().call(call)).await;
    outcome.unwrap().unwrap().result
}

async fn start(deployment: &toolcrib::deployment::Loaded) -> Runtime {
    let options = Options {
        secrets: deployment.secrets.clone(),
        own_command: Some(PROGRAM.into()),
        ..Options::default()
    };
    let runtime = Runtime::start(&deployment.deployment, options)
        .await
        .unwrap();
    let ready = runtime.wait_settled(PATIENCE, PATIENCE).await;
    assert!(ready.may_serve());
    runtime
}

/// Cases M07 and M09 of the specification.
#[tokio::test]
async fn what_a_server_says_comes_through_and_one_that_falls_over_is_back_for_the_next_call() {
    let nothing: HashMap<String, EnvValue> = HashMap::new();
    for (claim, number) in [("a dependency", 0), ("a servers file", 1)] {
        let place = Place::new();
        let calls = place.path().join("calls");
        let (name, text, servers) = deployments(&calls)[number].clone();
        assert_eq!(name, claim);
        place.write("skills/a.skill.yaml", SKILL);
        place.write("servers.yaml", &servers);
        let loaded = load_text("deploy.yaml", &text, place.path(), &nothing);
        let runtime = start(&loaded.unwrap_or_else(|problems| panic!("{problems}"))).await;

        let refused = call(&runtime, "refuses", json!({}), None).await;
        assert_eq!(
            refused,
            ToolResult::error(ErrorKind::Tool, "boom"),
            "{claim}"
        );
        let noted = std::fs::read_to_string(&calls).unwrap();
        assert_eq!(
            noted, "boom\n",
            "{claim}: an answer is an answer and not asked for again"
        );

        let silent = call(&runtime, "hangs", json!({}), None).await;
        assert_eq!(silent.error_kind, Some(ErrorKind::Timeout), "{claim}");

        // In a session: that nothing came of it must not be remembered as its result.
        let fallen = call(&runtime, "falls", json!({}), Some("one")).await;
        assert_eq!(fallen.error_kind, Some(ErrorKind::NotAvailable), "{claim}");
        let said = fallen.all_text();
        assert!(said.contains("may have run"), "{claim}: {said}");
        let mut snapshots = runtime.snapshot();
        let back = snapshots.wait_for(|snapshot| {
            let server = &snapshot.servers[0];
            server.state == ServerState::Ready && server.attempts > 1
        });
        tokio::time::timeout(PATIENCE, back).await.unwrap().unwrap();
        let stood = call(&runtime, "falls", json!({}), Some("one")).await;
        assert_eq!(stood, ToolResult::text("stood, call 2"), "{claim}");
        let again = call(&runtime, "falls", json!({}), Some("one")).await;
        assert!(again.replayed, "{claim}: {again:?}");
        let noted = std::fs::read_to_string(&calls).unwrap();
        assert_eq!(noted, "boom\nhang\nfall\nfall\n", "{claim}");
        let written = std::fs::read_to_string(place.path().join("out/falls.txt")).unwrap();
        assert_eq!(written, "stood, call 2", "{claim}: the text parts are kept");
        assert!(!place.path().join("out/refuses.txt").exists(), "{claim}");
        runtime.shutdown().await;
    }
}

/// A server that gets its variables from a password store, and one tool that shows them.
const STORED: &str = "\
servers:
  - name: echo
    command: [sh, -c, 'printf %s \"$GITHUB_TOKEN\" > \"$HOME/got\"; exec cat']
    env:
      - {name: GITHUB_TOKEN, pass: forge/token, env: OWN_TOKEN}
";

#[tokio::test]
async fn a_password_store_is_asked_first_and_the_variable_is_what_is_left() {
    let deployment = "resources:\n  s: {kind: tool.Source, impl: skills, settings: {dir: skills, \
                      mcp_servers_file: servers.yaml}}\n  t: {kind: tool.Assembly, impl: memory, \
                      deps: {tool: s}}\n";
    let path = std::env::var("PATH").unwrap();
    for (claim, store, own, code, got) in [
        (
            "the store answers",
            "[ \"$*\" = 'show forge/token' ] && printf 'from the store\\nlogin: me\\n'",
            Some("from us"),
            0,
            "from the store",
        ),
        ("the store refuses", "exit 1", Some("from us"), 0, "from us"),
        (
            "the store hangs",
            "exec sleep 60",
            Some("from us"),
            0,
            "from us",
        ),
        ("nobody knows", "exit 1", None, 1, ""),
    ] {
        let mut place = Place::with(deployment);
        place.write("skills/a.skill.yaml", "name: s\nsystem_prompt_append: x\n");
        place.write("servers.yaml", STORED);
        let pass = place.write("bin/pass", &format!("#!/bin/sh\n{store}\n"));
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&pass, executable).unwrap();
        let bin = place.path().join("bin").display().to_string();
        place = place.set("PATH", &format!("{bin}:{path}"));
        if let Some(own) = own {
            place = place.set("OWN_TOKEN", own);
        }
        let checked = place.run(&["check"]).await;
        assert_eq!(
            checked.code,
            Some(0),
            "{claim}: nothing is run to check: {checked:?}"
        );
        assert!(!place.path().join("got").exists());
        let listed = place.run(&["tools", "--json", "--wait", "2s"]).await;
        assert_eq!(listed.code, Some(code), "{claim}: {listed:?}");
        match code {
            0 => {
                let found = std::fs::read_to_string(place.path().join("got")).unwrap();
                assert_eq!(found, got, "{claim}");
            }
            _ => {
                let told = &listed.stderr;
                assert!(
                    told.contains("`GITHUB_TOKEN` cannot be read"),
                    "{claim}: {told}"
                );
                assert!(told.contains("`OWN_TOKEN` is not set"), "{claim}: {told}");
            }
        }
        assert_eq!(place.left(), [""; 0], "{claim}");
    }
}

/// The demo's web server, and the address of its API.
async fn api() -> (Child, String) {
    let mut child = Command::new(PROGRAM)
        .args(["demo-server", "web"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(url) = line.strip_prefix("[web] serving ")
            && url.ends_with("/api")
        {
            let url = url.to_owned();
            // Whoever writes to a pipe that nobody reads is stopped by it.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (child, url);
        }
    }
}

#[tokio::test]
async fn every_tool_of_the_shipped_skills_does_what_its_file_says() {
    let (_server, url) = api().await;
    let secret = |value: &str| EnvValue {
        value: value.to_owned(),
        secret: true,
    };
    let environment = HashMap::from([
        ("TOOLCRIB_DEMO_API".to_owned(), secret(&url)),
        ("TOOLCRIB_DEMO_KEY".to_owned(), secret("saltmere-berths")),
    ]);
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../config/examples/skills.yaml"
    );
    let loaded = load_file(Path::new(file), &environment);
    let runtime = start(&loaded.unwrap_or_else(|problems| panic!("{problems}"))).await;
    let ask = async |tool: &str, arguments: Value| call(&runtime, tool, arguments, None).await;

    let stations = ask("harbour_stations", json!({})).await;
    assert!(
        matches!(&stations.parts[1], Part::Data { value, .. } if value["stations"][0]["code"] == "QUAY")
    );
    let tides = ask("harbour_tides", json!({"station": "QUAY", "days": 2})).await;
    assert_eq!(tides.parts.len(), 2, "{tides:?}");
    assert!(
        matches!(&tides.parts[1], Part::Data { value, .. } if value["high_waters"].as_array().unwrap().len() == 4)
    );
    let unknown = ask("harbour_tides", json!({"station": "a/../b"})).await;
    assert_eq!(unknown.error_kind, Some(ErrorKind::Tool));
    let said = unknown.all_text();
    assert!(
        said.contains("answered 404 Not Found") && said.contains("`a/../b`"),
        "{said}"
    );
    assert!(
        !said.contains("127.0.0.1"),
        "the address is a variable, and masked: {said}"
    );
    let chart = ask("harbour_tide_chart", json!({"station": "BAR"})).await;
    assert!(
        matches!(&chart.parts[..], [Part::Image { media_type, .. }] if media_type == "image/png")
    );
    assert!(
        ask("harbour_notices", json!({}))
            .await
            .all_text()
            .contains("Höhenfels übernimmt")
    );
    assert!(!ask("harbour_ship_positions", json!({})).await.is_error());
    let begun = tokio::time::Instant::now();
    assert!(
        !ask("harbour_ship_positions", json!({})).await.is_error(),
        "the limit is waited for"
    );
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert!(
        ask("harbour_radar", json!({}))
            .await
            .all_text()
            .contains("\"sweep\":2")
    );
    let archive = ask("harbour_archive", json!({})).await;
    assert!(archive.truncated && archive.all_text().ends_with("…[result truncated]"));
    let boat = json!({"vessel": "Möwe", "length_m": 9.5, "nights": 2});
    let booked = ask("harbour_book_berth", boat).await;
    assert!(
        matches!(&booked.parts[1], Part::Data { value, .. }
        if value["price_crowns"] == 47.5 && value["remarks"].is_null()),
        "{booked:?}"
    );
    assert!(
        ask("measure_calculate", json!({"expression": "6*7"}))
            .await
            .all_text()
            .contains("42")
    );
    let readings = ask("measure_readings", json!({"path": "data/readings.csv"})).await;
    assert!(!readings.is_error(), "{readings:?}");
    let preview = runtime
        .control()
        .preview("harbour_book_berth", serde_json::Map::new())
        .await;
    let preview = preview.unwrap().unwrap().unwrap();
    assert!(
        preview.starts_with("POST ••••/berths\nx-harbour-key: ••••\n"),
        "{preview}"
    );
    runtime.shutdown().await;
}

#[tokio::test]
async fn the_example_is_checked_and_called_from_anywhere_and_leaves_nothing_running() {
    let place = Place::new();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../config/examples/skills.yaml"
    );
    let checked = place.run(&["-c", file, "check", "--strict"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    for from in [&["-c", file][..], &[]] {
        let call = ["call", "harbour_tides", "--arg", "station=LOCK", "--json"];
        let called = place.run(&[from, &call].concat()).await;
        assert_eq!(called.code, Some(0), "{called:?}");
        assert_eq!(called.json()["content"][1]["value"]["station"], "Sea lock");
    }
    assert_eq!(place.left(), [""; 0]);
}

#[tokio::test]
async fn check_finds_what_is_wrong_with_skill_files_at_their_places() {
    let place = Place::with(
        "resources:\n  s: {kind: tool.Source, impl: skills, settings: {dir: skills}}\n  \
         t: {kind: tool.Assembly, impl: memory, deps: {tool: s}}\n",
    );
    place.write(
        "skills/a.skill.yaml",
        "name: a\ntools:\n  - name: x\n    http: {url: 'http://h/{{name}}'}\n",
    );
    place.write("skills/b.toolset.yaml", "name: b\ntools: [y]\n");
    let checked = place.run(&["check", "--json"]).await;
    assert_eq!(checked.code, Some(2));
    let problems = checked.json();
    let places: Vec<String> = problems["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| {
            let file = problem["file"].as_str().unwrap();
            format!("{file}:{}:{}", problem["line"], problem["column"])
        })
        .collect();
    assert_eq!(
        places,
        ["skills/a.skill.yaml:4:27", "skills/b.toolset.yaml:2:9"]
    );
}
