//! Calls that are made again, and files that calls write (skills 5.8 and 5.9).

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};
use toolcrib::tool::{Call, ToolResult};

use super::wire::{Wire, ok, reply};
use super::{Case, outcome};

async fn case(tool: &str, replies: Vec<super::wire::Reply>) -> (Wire, Case) {
    let wire = Wire::new(replies).await;
    let text = format!(
        "name: s\ntools:\n  - name: t\n    {tool}\n    http: {{url: '{}/'}}\n",
        wire.url
    );
    (wire, Case::new(&[("a.skill.yaml", &text)]))
}

async fn in_session(
    runtime: &toolcrib::runtime::Runtime,
    session: &str,
    arguments: Value,
) -> ToolResult {
    let mut call = Call::new("t", arguments);
    call.session = Some(session.into());
    outcome(runtime, call).await.result
}

#[tokio::test]
async fn an_equal_call_runs_as_often_as_the_skill_allows() {
    for (claim, tool, runs) in [
        ("default", "", 1),
        ("0", "max_repeats: 0", 1),
        ("1", "max_repeats: 1", 1),
        ("3", "max_repeats: 3", 3),
        ("any number", "max_repeats: -1", 5),
        ("read-only", "hints: {read_only: true}", 5),
        (
            "read-only, but set",
            "hints: {read_only: true}\n    max_repeats: 2",
            2,
        ),
        ("not read-only", "hints: {read_only: false}", 1),
    ] {
        let (wire, case) = case(tool, vec![ok("ok")]).await;
        let runtime = case.start().await;
        for round in 1..=5 {
            // The order of keys makes no other call of it.
            let arguments = match round % 2 {
                0 => json!({"a": 1, "b": {"c": 2, "d": 3}}),
                _ => json!({"b": {"d": 3, "c": 2}, "a": 1}),
            };
            let result = in_session(&runtime, "one", arguments).await;
            assert_eq!(result.replayed, round > runs, "{claim}, call {round}");
            assert!(result.all_text().starts_with("ok"), "{claim}");
        }
        assert_eq!(wire.requests().len(), runs, "{claim}");
        in_session(&runtime, "one", json!({"a": 2})).await;
        in_session(&runtime, "two", json!({"a": 1})).await;
        assert_eq!(
            wire.requests().len(),
            runs + 2,
            "{claim}: others are others"
        );
        runtime.shutdown().await;
    }
}

#[tokio::test]
async fn two_equal_calls_at_once_run_once() {
    let (wire, case) = case("", vec![ok("ok")]).await;
    let runtime = case.start().await;
    let (first, second) = tokio::join!(
        in_session(&runtime, "one", json!({})),
        in_session(&runtime, "one", json!({}))
    );
    assert_eq!(wire.requests().len(), 1);
    assert!(first.replayed != second.replayed);
}

#[tokio::test]
async fn the_raw_body_of_a_success_is_kept_and_nothing_else() {
    let latin1 = &[("Content-Type", "text/plain; charset=latin1")];
    let answers = vec![
        reply("200 OK", latin1, b"caf\xe9"),
        reply("500 x", &[], "not this"),
        ok(&"y".repeat(1_048_577)),
    ];
    let (_wire, case) = case("output_file: out/t.txt", answers).await;
    let file = case.path().join("out/t.txt");
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = elsewhere.path().join("victim");
    std::fs::write(&victim, "kept").unwrap();
    std::fs::create_dir(case.path().join("out")).unwrap();
    symlink(&victim, &file).unwrap();
    let runtime = case.start().await;
    in_session(&runtime, "one", json!({})).await;
    assert_eq!(std::fs::read(&file).unwrap(), b"caf\xe9", "byte for byte");
    let mode = std::fs::symlink_metadata(&file)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode, 0o100_600, "a file and no link, for its owner");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
    assert!(in_session(&runtime, "two", json!({})).await.is_error());
    assert_eq!(std::fs::read(&file).unwrap(), b"caf\xe9");
    assert!(in_session(&runtime, "three", json!({})).await.truncated);
    assert_eq!(
        std::fs::read(&file).unwrap().len(),
        1_048_576,
        "without the marker"
    );
    let names = std::fs::read_dir(case.path().join("out")).unwrap();
    assert_eq!(names.count(), 1, "nothing half written lies about");
}

#[tokio::test]
async fn a_link_that_appears_later_leads_no_file_out_either() {
    let (_wire, case) = case("output_file: out/t.txt", vec![ok("ok")]).await;
    let runtime = case.start().await;
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), case.path().join("out")).unwrap();
    let result = in_session(&runtime, "one", json!({})).await;
    assert_eq!((result.is_error(), result.warnings.len()), (false, 1));
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
