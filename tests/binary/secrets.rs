//! What came from the environment is seen nowhere but in results (rule 10.3).

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

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

/// Refuses every request with a body that is what came in, and gives its address.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut seen = Vec::new();
            // The body of these requests ends with a brace, and nothing else of them does.
            while !seen.ends_with(b"}") {
                if stream.read_buf(&mut seen).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            let head = format!("HTTP/1.1 500 x\r\nContent-Length: {}\r\n\r\n", seen.len());
            let _ = stream.write_all(&[head.as_bytes(), &seen].concat()).await;
        }
    });
    url
}

/// A variable of a skill file, in every place of a request, and sent back in every form.
#[tokio::test]
async fn a_variable_of_a_skill_is_in_no_error_log_audit_line_or_screen() {
    const KEY: &str = "s3k/r&t +\u{fc}\"<x";
    let url = echo().await;
    let place = Place::with(
        "resources:\n  s: {kind: tool.Source, impl: skills, settings: {dir: skills}}\n  t:\n    \
         kind: tool.Assembly\n    impl: middleware\n    deps: {tool: s}\n    settings: \
         {middlewares: {audit: {file: audit.jsonl}}}\n",
    )
    .set("KEY", KEY);
    place.write(
        "skills/a.skill.yaml",
        &format!(
            "name: s\ntools:\n  - name: poke\n    http:\n      url: \
             {url}/{{{{env:KEY}}}}/{{{{.a}}}}?k={{{{env:KEY}}}}\n      headers: {{X-Key: \
             '{{{{env:KEY}}}}'}}\n      body: {{key: {{{{env:KEY}}}}, a: {{{{.a}}}}}}\n  - name: \
             nobody\n    http: {{url: 'http://127.0.0.1:1/?k={{{{env:KEY}}}}'}}\n"
        ),
    );
    // Whatever is written of it begins so.
    let hidden = |claim: &str, text: &str| assert!(!text.contains("s3k"), "{claim}: {text}");
    for (args, code) in [
        (&["check", "--json"][..], 0),
        (&["call", "poke", "--arg", "a=x", "--json", "-vvv"], 1),
        (&["call", "nobody", "-vvv"], 1),
        (
            &[
                "call",
                "poke",
                "--arg",
                &format!("a={KEY}"),
                "--log-file",
                "log.txt",
                "-vvv",
            ],
            1,
        ),
        (&["tools", "--json"], 0),
        (&["view", "tools", "--json"], 0),
        (&["view", "logs"], 0),
    ] {
        let ended = place.run(args).await;
        let claim = format!("{args:?}");
        assert_eq!(ended.code, Some(code), "{claim}: {ended:?}");
        hidden(&claim, &ended.stdout);
        hidden(&claim, &ended.stderr);
        if args[..2] == ["call", "poke"] {
            let told = &ended.stdout;
            assert!(told.contains("answered 500"), "{claim}: {told}");
            assert!(told.contains("/••••/"), "{claim}: {told}");
        }
    }
    for file in ["log.txt", "audit.jsonl"] {
        let text = std::fs::read_to_string(place.path().join(file)).unwrap();
        assert!(!text.is_empty());
        hidden(file, &text);
    }
    // A broken edit tells of itself without it too.
    place.write(
        "skills/b.skill.yaml",
        "name: t\nrequired_env: [KEY]\ntools: [{name: x, http: {url: 'ftp://{{env:KEY}}/'}}]\n",
    );
    let checked = place.run(&["check"]).await;
    assert_eq!(checked.code, Some(2), "{checked:?}");
    hidden("check", &format!("{}{}", checked.stdout, checked.stderr));
}
