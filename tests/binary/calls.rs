//! `call`: arguments as they are typed, results as they are printed, exit codes.

use serde_json::{Value, json};

use crate::place::{Ended, LAB, Place, children};

/// The JSON of a call with what differs from run to run checked and taken out.
fn answer(ended: &Ended) -> Value {
    let mut answer = ended.json();
    assert!(answer["duration_ms"].take().is_u64(), "{answer}");
    assert!(answer["call_id"].take().is_string(), "{answer}");
    answer
}

fn expected(tool: &str, error_kind: Option<&str>, content: Value) -> Value {
    json!({
        "call_id": null, "tool": tool, "is_error": error_kind.is_some(), "error_kind": error_kind,
        "content": content, "duration_ms": null, "truncated": false,
    })
}

#[tokio::test]
async fn arguments_come_as_json_from_a_file_from_stdin_and_one_by_one() {
    let place = Place::with(LAB);
    place.write("arguments.json", r#"{"text": "file"}"#);
    let rows: [(&str, &[&str], &str, &str); 8] = [
        ("none", &["say"], "", "{}"),
        ("JSON", &["say", r#"{"text": "a"}"#], "", r#"{"text":"a"}"#),
        ("blank", &["say", " "], "", "{}"),
        (
            "a file",
            &["say", "@arguments.json"],
            "",
            r#"{"text":"file"}"#,
        ),
        (
            "stdin",
            &["say", "-"],
            r#"{"text": "in"}"#,
            r#"{"text":"in"}"#,
        ),
        (
            "pairs in the types of the schema",
            &[
                "say",
                "--arg",
                "text=5",
                "--arg",
                "count=5",
                "--arg",
                "loud=true",
                "--arg",
                "x=5",
            ],
            "",
            r#"{"text":"5","count":5,"loud":true,"x":"5"}"#,
        ),
        (
            "pairs over JSON",
            &["say", r#"{"count": 1, "text": "a"}"#, "--arg", "count=2"],
            "",
            r#"{"count":2,"text":"a"}"#,
        ),
        (
            "a pair of a tool that has to be loaded first",
            &["late", "--arg", "count=7"],
            "",
            r#"{"count":7}"#,
        ),
    ];
    for (name, args, stdin, echoed) in rows {
        let ended = place
            .run_with_stdin(&[&["call"], args].concat(), stdin)
            .await;
        assert_eq!(
            (ended.code, &*ended.stderr),
            (Some(0), ""),
            "{name}: {ended:?}"
        );
        let echoed: Value = serde_json::from_str(echoed).unwrap();
        assert_eq!(ended.json(), echoed, "{name}");
    }
}

#[tokio::test]
async fn a_result_as_json_has_fixed_fields_and_an_error_ends_with_1() {
    let place = Place::with(LAB);
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let rows: [(&str, &[&str], i32, Value); 6] = [
        ("echo", &["say", "{}"], 0, expected("say", None, text("{}"))),
        (
            "data",
            &["figures"],
            0,
            expected(
                "figures",
                None,
                json!([{
                    "type": "data", "media_type": "application/json", "value": {"rows": [1, 2]},
                }]),
            ),
        ),
        (
            "the tool's own error",
            &["fail"],
            1,
            expected("fail", Some("tool"), text("the lamp is broken")),
        ),
        (
            "an unknown tool",
            &["sey"],
            1,
            expected(
                "sey",
                Some("not_found"),
                text("no tool is named `sey`; the nearest names are `say`"),
            ),
        ),
        (
            "JSON that is no object",
            &["say", "[1]"],
            1,
            expected(
                "say",
                Some("validation"),
                text("arguments of `say` must be a JSON object, not an array"),
            ),
        ),
        (
            "refused by choice",
            &["say", "--read-only"],
            1,
            expected(
                "say",
                Some("denied"),
                text("`--read-only` refuses calls, and `say` was not called"),
            ),
        ),
    ];
    for (name, args, code, answered) in rows {
        let ended = place.run(&[&["call", "--json"], args].concat()).await;
        assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
        assert_eq!(answer(&ended), answered, "{name}");
        assert_eq!(ended.stderr, "", "{name}");
    }
}

#[tokio::test]
async fn a_call_ends_when_its_time_is_up() {
    let place = Place::with(LAB);
    let ended = place
        .run(&["call", "hang", "--timeout", "200ms", "--json"])
        .await;
    assert_eq!(ended.code, Some(1));
    let answer = answer(&ended);
    assert_eq!(answer["error_kind"], "timeout", "{answer}");
}

#[tokio::test]
async fn results_for_people_are_plain_text_and_errors_are_told_on_stderr() {
    let place = Place::with(LAB);
    let rows: [(&str, &[&str], i32, &str, &str); 4] = [
        (
            "data",
            &["figures"],
            0,
            "{\n  \"rows\": [\n    1,\n    2\n  ]\n}\n",
            "",
        ),
        (
            "a pipe gets text as it is",
            &["escape"],
            0,
            "a\x1b[2Jb\n",
            "",
        ),
        (
            "an image",
            &["paint"],
            0,
            "[image, image/png, 120 bytes; `--save DIR` writes it to a file]\n",
            "",
        ),
        (
            "an error",
            &["fail"],
            1,
            "the lamp is broken\n",
            "error: `fail` answered with an error of kind `tool`\n",
        ),
    ];
    for (name, args, code, stdout, stderr) in rows {
        let ended = place.run(&[&["call"], args].concat()).await;
        assert_eq!(
            (ended.code, &*ended.stdout, &*ended.stderr),
            (Some(code), stdout, stderr),
            "{name}"
        );
    }
}

#[tokio::test]
async fn images_are_written_to_files_on_request() {
    let place = Place::with(LAB);
    let ended = place.run(&["call", "paint", "--save", "out"]).await;
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stdout, "[image, image/png, 120 bytes]\n");
    assert_eq!(ended.stderr, "wrote out/paint-1.png\n");
    let picture = std::fs::read(place.path().join("out/paint-1.png")).unwrap();
    assert_eq!(picture.len(), 120);
    assert_eq!(picture[..8], *b"\x89PNG\r\n\x1a\n");
    let again = place
        .run(&["call", "paint", "--save", "out", "--json"])
        .await;
    assert_eq!(again.json()["saved"], json!(["out/paint-2.png"]));
}

#[tokio::test]
async fn a_tool_of_a_real_server_answers_and_its_process_ends_with_the_command() {
    let place = Place::with(&children("files"));
    let read = place
        .run(&["call", "files__read_file", "--arg", "path=README.md"])
        .await;
    assert_eq!(read.code, Some(0), "{read:?}");
    assert!(read.stdout.starts_with("# Tidepool\n"), "{}", read.stdout);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[tokio::test]
async fn usage_errors_end_with_2_before_anything_is_started() {
    let place = Place::with(LAB);
    let rows: [(&str, &[&str], &str); 9] = [
        (
            "no JSON",
            &["call", "say", "{a"],
            "the arguments must be JSON",
        ),
        (
            "no file",
            &["call", "say", "@nowhere.json"],
            "`nowhere.json`",
        ),
        ("no pair", &["call", "say", "--arg", "text"], "key=value"),
        (
            "no duration",
            &["call", "say", "--timeout", "5"],
            "`5` has no unit",
        ),
        (
            "no time at all",
            &["call", "say", "--timeout", "0s"],
            "longer than nothing",
        ),
        ("an unknown command", &["fetch"], "fetch"),
        ("an unknown option", &["tools", "--jsno"], "--json"),
        ("an unknown screen", &["view", "kitchen"], "overview"),
        (
            "an unknown assembly",
            &["tools", "--assembly", "x"],
            "this deployment has `tools`",
        ),
    ];
    for (name, args, words) in rows {
        let ended = place.run(args).await;
        assert_eq!(
            (ended.code, &*ended.stdout),
            (Some(2), ""),
            "{name}: {ended:?}"
        );
        assert!(ended.stderr.contains(words), "{name}: {}", ended.stderr);
        assert!(
            ended.stderr.starts_with("error: "),
            "{name}: {}",
            ended.stderr
        );
    }
}
