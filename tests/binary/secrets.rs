//! What came from the environment is seen nowhere but in results (rule 10.3).

use crate::place::{PROGRAM, Place};

const SECRET: &str = "hunter2-is-secret";

/// A deployment with the secret wherever one can stand.
fn deployment() -> String {
    format!(
        r#"resources:
  real:
    kind: tool.Source
    impl: mcp
    settings:
      servers:
        - {{name: down, transport: http, url: "http://127.0.0.1:9/${{env:TOKEN}}", headers: {{authorization: "Bearer ${{env:TOKEN}}"}}}}
        - {{name: gone, transport: stdio, command: "nowhere-${{env:TOKEN}}", args: ["${{env:TOKEN}}"]}}
        - {{name: loud, transport: stdio, command: sh, args: [-c, "echo told: $SAID >&2; exit 3"], env: {{SAID: "${{env:TOKEN}}"}}}}
        - {{name: clock, transport: stdio, command: "{PROGRAM}", args: [demo-server, clock], env: {{SAID: "${{env:TOKEN}}"}}}}
  lab:
    kind: tool.Source
    impl: sim
    settings:
      tools:
        - {{name: say, description: "Knows ${{env:TOKEN}}."}}
        - {{name: fail, behavior: {{error: {{message: "no ${{env:TOKEN}}"}}}}}}
  tools:
    kind: tool.Assembly
    impl: memory
    deps: {{tool: [real, lab]}}
"#
    )
}

#[tokio::test]
async fn a_secret_is_in_no_list_log_error_or_screen() {
    let place = Place::with(&deployment()).set("TOKEN", SECRET);
    let runs: [&[&str]; 8] = [
        &["check"],
        &["check", "--json"],
        &["servers", "-vvv"],
        &["servers", "--json"],
        &["tools", "-vv"],
        &["tools", "--json"],
        &["view", "sources", "--json"],
        &["view", "tools"],
    ];
    for args in runs {
        let ended = place.run(args).await;
        assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
        assert!(!ended.stdout.contains(SECRET), "{args:?}: {}", ended.stdout);
        assert!(!ended.stderr.contains(SECRET), "{args:?}: {}", ended.stderr);
    }
    let tools = place
        .run(&["tools", "--json", "--log-file", "log.txt", "-vvv"])
        .await;
    assert!(tools.stdout.contains("Knows ••••."), "{}", tools.stdout);
    assert_eq!(tools.stderr, "");
    let log = std::fs::read_to_string(place.path().join("log.txt")).unwrap();
    assert!(log.contains("connecting -> ready"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
}

#[tokio::test]
async fn the_result_of_a_call_is_not_altered() {
    let place = Place::with(&deployment()).set("TOKEN", SECRET);
    let text = format!("text={SECRET}");
    let said = place.run(&["call", "say", "--arg", &text, "--json"]).await;
    assert!(said.stdout.contains(SECRET), "{said:?}");
    let failed = place.run(&["call", "fail"]).await;
    assert_eq!(failed.stdout, format!("no {SECRET}\n"));
    assert!(!failed.stderr.contains(SECRET), "{}", failed.stderr);
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_named_with_its_place() {
    let ended = Place::with(&deployment()).run(&["check"]).await;
    assert_eq!(ended.code, Some(2));
    let first = ended.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("toolcrib.yaml:7:") && first.contains("`TOKEN`"),
        "{first}"
    );
}
