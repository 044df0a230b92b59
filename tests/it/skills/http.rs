//! HTTP execution, rule by rule, byte for byte (skills 5).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::observe::CallRecord;
use toolcrib::runtime::Runtime;
use toolcrib::tool::{Call, ErrorKind, Part};

use super::wire::{Reply, Wire, ok, reply};
use super::{Case, call, nothing, outcome, skill};

/// One call of `t`, whose request is written in YAML with `url: U` for the server's address.
async fn ask(
    replies: Vec<Reply>,
    http: &str,
    arguments: Value,
) -> (Wire, toolcrib::tool::ToolResult) {
    let wire = Wire::new(replies).await;
    let text = skill(&http.replace("url: U", &format!("url: {}", wire.url)));
    let case = Case::new(&[("a.skill.yaml", &text)]).env("TOK", "sek/ret+1");
    let runtime = case.start().await;
    let result = call(&runtime, "t", arguments).await;
    runtime.shutdown().await;
    (wire, result)
}

#[tokio::test]
async fn arguments_are_encoded_by_where_they_stand() {
    for (claim, http, arguments, target) in [
        (
            "one segment",
            "url: U/repos/{{.r}}/x",
            json!({"r": "a/../b?q=1#f"}),
            "/repos/a%2F..%2Fb%3Fq%3D1%23f/x",
        ),
        (
            "unreserved",
            "url: U/{{.r}}",
            json!({"r": "aZ09-._~"}),
            "/aZ09-._~",
        ),
        (
            "utf-8",
            "url: U/{{.r}}",
            json!({"r": "日 é"}),
            "/%E6%97%A5%20%C3%A9",
        ),
        (
            "every digit",
            "url: U/{{.r}}",
            json!({"r": u64::MAX}),
            "/18446744073709551615",
        ),
        (
            "a list",
            "url: U/{{.r}}",
            json!({"r": ["a", 1]}),
            "/%5B%22a%22%2C1%5D",
        ),
        (
            "query",
            "url: U/?q={{.q}}&z=1",
            json!({"q": "a b&c=d"}),
            "/?q=a+b%26c%3Dd&z=1",
        ),
        (
            "env in the path is raw",
            "url: U/{{env:TOK}}/x",
            json!({}),
            "/sek/ret+1/x",
        ),
        (
            "query map replaces",
            "url: U/?a=1&b=2\nquery: {a: '{{.q}}', c: 3}",
            json!({"q": "x y"}),
            "/?b=2&a=x+y&c=3",
        ),
    ] {
        let (wire, result) = ask(vec![ok("ok")], http, arguments).await;
        assert_eq!(wire.only().target(), target, "{claim}: {result:?}");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_not_sent() {
    for (claim, http, arguments, kind, words) in [
        (
            "missing in the path",
            "url: U/{{.r}}",
            json!({}),
            ErrorKind::Validation,
            "`r`",
        ),
        (
            "null in the path",
            "url: U/{{.r}}",
            json!({"r": null}),
            ErrorKind::Validation,
            "`r`",
        ),
        (
            "dots",
            "url: U/{{.r}}/x",
            json!({"r": ".."}),
            ErrorKind::Validation,
            "`r`",
        ),
        (
            "header",
            "url: U/\nheaders: {X-A: '{{.v}}'}",
            json!({"v": "a\r\nX-Evil: 1"}),
            ErrorKind::Validation,
            "`X-A`",
        ),
        (
            "unset",
            "url: U/{{env:UNSET}}",
            json!({}),
            ErrorKind::NotAvailable,
            "`UNSET`",
        ),
    ] {
        let (wire, result) = ask(vec![ok("ok")], http, arguments).await;
        assert_eq!(result.error_kind, Some(kind), "{claim}");
        assert!(
            result.all_text().contains(words),
            "{claim}: {}",
            result.all_text()
        );
        assert!(wire.requests().is_empty(), "{claim}");
    }
}

#[tokio::test]
async fn a_body_keeps_its_types_and_is_json_by_default() {
    let http = "url: U/\nmethod: put\nbody:\n  n: {{.n}}\n  t: 'n={{.n}}'\n  gone: {{.gone}}\n  \
                list: [{{.gone}}, {{.o}}]\n  yes: true\n";
    let (wire, _) = ask(
        vec![ok("")],
        http,
        json!({"n": 5, "o": {"b": 1, "a": [null]}}),
    )
    .await;
    let seen = wire.only();
    assert_eq!(seen.line(), "PUT / HTTP/1.1");
    assert_eq!(seen.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    let expected = json!({"n": 5, "t": "n=5", "list": [null, {"b": 1, "a": [null]}], "yes": true});
    assert_eq!(body, expected);
}

#[tokio::test]
async fn headers_of_the_file_override_defaults_and_empty_answers_are_one_empty_text() {
    let http = "url: U/\nheaders: {User-Agent: mine/1, Accept: text/plain, X-N: 5}";
    let (wire, result) = ask(vec![reply("204 No Content", &[], "")], http, nothing()).await;
    let seen = wire.only();
    assert_eq!(seen.header("user-agent"), Some("mine/1"));
    assert_eq!(seen.header("accept"), Some("text/plain"));
    assert_eq!(seen.header("x-n"), Some("5"));
    assert_eq!(result.parts, [Part::Text(String::new())]);
}

#[tokio::test]
async fn answers_become_parts_by_type_charset_and_encoding() {
    let gzip = {
        // "hello" by `gzip -n`.
        let bytes: &[u8] = &[
            31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0,
            0, 0,
        ];
        reply("200 OK", &[("Content-Encoding", "gzip")], bytes)
    };
    let typed =
        |content_type: &str, body: &[u8]| reply("200 OK", &[("Content-Type", content_type)], body);
    let text = |text: &str| Part::Text(text.into());
    for (claim, answer, parts) in [
        (
            "json",
            typed("application/json", b"{\"a\":1}"),
            vec![text("{\"a\":1}"), Part::json(json!({"a": 1}))],
        ),
        (
            "latin1",
            typed("text/plain; charset=iso-8859-1", b"caf\xe9"),
            vec![text("café")],
        ),
        ("gzip", gzip, vec![text("hello")]),
        (
            "image",
            typed("image/png", b"\x89PNG"),
            vec![Part::Image {
                bytes: b"\x89PNG".as_slice().into(),
                media_type: "image/png".into(),
            }],
        ),
    ] {
        let (_, result) = ask(vec![answer], "url: U/", nothing()).await;
        assert_eq!(result.parts, parts, "{claim}");
    }
}

#[tokio::test]
async fn a_body_is_read_to_one_mebibyte_and_no_further() {
    let whole = "x".repeat(1_048_576);
    let (_, result) = ask(vec![ok(&whole)], "url: U/", nothing()).await;
    assert_eq!(
        (result.all_text().len(), result.truncated),
        (1_048_576, false)
    );
    let (_, result) = ask(vec![ok(&(whole + "y"))], "url: U/", nothing()).await;
    assert!(result.truncated);
    assert!(result.all_text().ends_with("x…[result truncated]"));
}

#[tokio::test]
async fn a_packed_body_is_bounded_by_what_it_unpacks_to() {
    // Stored blocks of 65,535 bytes: more than one mebibyte, and no end, for nobody reads so far.
    let mut packed = vec![31, 139, 8, 0, 0, 0, 0, 0, 0, 3];
    for _ in 0..20 {
        packed.extend([0, 0xff, 0xff, 0, 0]);
        packed.extend([b'z'; 65_535]);
    }
    let answer = reply("200 OK", &[("Content-Encoding", "gzip")], packed);
    let (_, result) = ask(vec![answer], "url: U/", nothing()).await;
    assert!(result.truncated, "{:?}", result.error_kind);
    let text = result.all_text();
    let kept = text.strip_suffix("…[result truncated]").unwrap();
    assert_eq!(kept.len(), 1_048_576);
}

#[tokio::test]
async fn a_character_that_the_cut_splits_is_left_out() {
    let body = "é".repeat(524_288) + "é";
    let (_, result) = ask(vec![ok(&body)], "url: U/", nothing()).await;
    assert_eq!(
        result.all_text().chars().filter(|c| *c == 'é').count(),
        524_288
    );
    let body = "x".to_owned() + &"é".repeat(524_288);
    let (_, result) = ask(vec![ok(&body)], "url: U/", nothing()).await;
    assert!(result.all_text().ends_with("é…[result truncated]"));
    assert!(!result.all_text().contains('\u{fffd}'));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_available_and_may_be_asked_for_again() {
    let broken = Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec());
    let (_, result) = ask(vec![broken.clone()], "url: U/", nothing()).await;
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    assert!(result.all_text().contains("it may have run"));
    let wire = Wire::new(vec![broken, ok("whole")]).await;
    let retry = "    retry: {max_attempts: 2, base_delay: 0s}\n";
    let case = Case::new(&[("a.skill.yaml", &tool(&wire.url, retry))]);
    let runtime = case.start().await;
    assert_eq!(call(&runtime, "t", nothing()).await.all_text(), "whole");
}

#[tokio::test]
async fn a_body_that_stops_half_way_is_given_up_at_the_timeout() {
    let stalled = Reply::Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec());
    let wire = Wire::new(vec![stalled]).await;
    let case = Case::new(&[("a.skill.yaml", &tool(&wire.url, "    timeout: 80ms\n"))]);
    let result = call(&case.start().await, "t", nothing()).await;
    assert_eq!(result.error_kind, Some(ErrorKind::Timeout));
    assert!(result.all_text().contains("within 80ms"));
}

#[tokio::test]
async fn a_secret_is_masked_in_every_form_in_which_a_server_echoes_it() {
    let forms = ["sek/ret+1", "sek%2Fret%2B1", "sek%2fret%2b1", "sek\\/ret+1"];
    let answer = reply("400 Bad Request", &[], format!("[{}]", forms.join("] [")));
    let http = "url: U/{{env:TOK}}?k={{env:TOK}}";
    let (_, result) = ask(vec![answer], http, nothing()).await;
    let text = result.all_text();
    assert!(text.ends_with("[••••] [••••] [••••] [••••]"), "{text}");
    assert!(text.contains("/••••?k=•••• answered 400"), "{text}");
}

#[tokio::test]
async fn a_date_says_when_to_ask_again_too() {
    let past = &[("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")];
    let answers = vec![reply("429 Too Many Requests", past, ""), ok("ok")];
    let (wire, result) = ask(answers, "url: U/", nothing()).await;
    assert_eq!((wire.requests().len(), result.all_text()), (2, "ok".into()));
}

#[tokio::test]
async fn another_status_is_an_error_with_status_words_and_no_secret() {
    let body = format!("you sent sek/ret+1 {}", "z".repeat(400));
    let answer = reply("418 I'm a teapot", &[("Content-Type", "text/plain")], body);
    let (_, result) = ask(vec![answer], "url: U/p?key={{env:TOK}}", nothing()).await;
    assert_eq!(result.error_kind, Some(ErrorKind::Tool));
    let text = result.all_text();
    assert!(
        text.contains("/p?key=•••• answered 418 I'm a teapot: you sent •••• z"),
        "{text}"
    );
    assert!(
        !text.contains("sek/ret") && !text.contains("sek%2Fret"),
        "{text}"
    );
    assert!(text.chars().filter(|c| *c == 'z').count() < 256);
}

#[tokio::test]
async fn nobody_there_is_not_available_without_the_secret() {
    let text = skill("url: http://127.0.0.1:1/p?key={{env:TOK}}");
    let runtime = Case::new(&[("a.skill.yaml", &text)])
        .env("TOK", "sekret")
        .start()
        .await;
    let result = call(&runtime, "t", nothing()).await;
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    assert!(
        !result.all_text().contains("sekret"),
        "{}",
        result.all_text()
    );
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_once() {
    let limited = || reply("429 Too Many Requests", &[("Retry-After", "0")], "slow");
    let (wire, result) = ask(vec![limited(), ok("ok")], "url: U/", nothing()).await;
    assert_eq!(
        (wire.requests().len(), result.all_text().as_str()),
        (2, "ok")
    );
    let (wire, result) = ask(vec![limited(), limited(), ok("ok")], "url: U/", nothing()).await;
    assert_eq!(wire.requests().len(), 2);
    assert!(result.all_text().contains("answered 429"));
    let drained = &[("X-RateLimit-Remaining", "0"), ("Retry-After", "0")];
    let answers = vec![reply("403 Forbidden", drained, ""), ok("ok")];
    let (wire, _) = ask(answers, "url: U/", nothing()).await;
    assert_eq!(wire.requests().len(), 2);
    let (wire, _) = ask(
        vec![reply("403 Forbidden", &[], ""), ok("ok")],
        "url: U/",
        nothing(),
    )
    .await;
    assert_eq!(wire.requests().len(), 1);
}

/// A tool `t` with settings beside its request.
fn tool(url: &str, more: &str) -> String {
    format!("name: s\ntools:\n  - name: t\n{more}    http:\n      url: {url}/\n")
}

#[tokio::test]
async fn retry_counts_attempts_doubles_its_pauses_and_keeps_the_method_in_mind() {
    let down = || reply("503 Service Unavailable", &[], "");
    let retry = "    retry: {max_attempts: 3, base_delay: 10ms, max_delay: 200ms}\n";
    let wire = Wire::new(vec![down(), down(), ok("ok")]).await;
    let runtime = Case::new(&[("a.skill.yaml", &tool(&wire.url, retry))])
        .start()
        .await;
    assert_eq!(call(&runtime, "t", nothing()).await.all_text(), "ok");
    let seen = wire.requests();
    let gaps: Vec<_> = seen
        .windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    assert!(
        gaps[0] >= Duration::from_millis(8) && gaps[1] >= Duration::from_millis(16),
        "{gaps:?}"
    );
    let wire = Wire::new(vec![Reply::Reset, ok("ok")]).await;
    let post = format!("{}      method: POST\n", tool(&wire.url, retry));
    let runtime = Case::new(&[("a.skill.yaml", &post)]).start().await;
    let result = call(&runtime, "t", nothing()).await;
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    assert!(
        result.all_text().contains("may have run"),
        "{}",
        result.all_text()
    );
    assert_eq!(wire.requests().len(), 1);
}

#[tokio::test]
async fn every_try_of_a_call_is_in_its_record_with_the_pause_before_it() {
    let down = || reply("503 Service Unavailable", &[], "");
    let slow = reply("429 Too Many Requests", &[("Retry-After", "0")], "");
    let retry = "    retry: {max_attempts: 3, base_delay: 10ms, max_delay: 200ms}\n";
    let wire = Wire::new(vec![down(), slow, ok("ok"), ok("at once")]).await;
    let runtime = Case::new(&[("a.skill.yaml", &tool(&wire.url, retry))])
        .start()
        .await;
    for expected in ["ok", "at once"] {
        assert_eq!(call(&runtime, "t", nothing()).await.all_text(), expected);
    }
    let mut snapshots = runtime.snapshot();
    let both = |snapshot: &std::sync::Arc<toolcrib::observe::Snapshot>| snapshot.history.len() == 2;
    let history = snapshots.wait_for(both).await.unwrap().history.clone();
    assert_eq!(*history[0].attempts, [], "one try is the call itself");
    let record = &history[1];
    let told: Vec<_> = record
        .attempts
        .iter()
        .map(|attempt| attempt.outcome.as_deref().unwrap())
        .collect();
    let expected = ["503 Service Unavailable", "429 Too Many Requests", "200 OK"];
    assert_eq!(told, expected);
    let [first, second, third] = &*record.attempts else {
        panic!("{record:?}");
    };
    assert_eq!(first.waited, Duration::ZERO);
    assert!(second.waited >= Duration::from_millis(8), "{second:?}");
    for (before, after) in [(first, second), (second, third)] {
        assert!(after.waited < after.took, "a pause and work: {after:?}");
        let gap = after.entered - (before.entered + before.took);
        assert!(gap < Duration::from_millis(8), "{gap:?}");
    }
    assert!(third.entered + third.took <= record.duration);
}

#[tokio::test]
async fn a_silent_server_is_given_up_at_the_timeout() {
    let wire = Wire::new(vec![Reply::Silence]).await;
    let text = tool(&wire.url, "    timeout: 50ms\n");
    let runtime = Case::new(&[("a.skill.yaml", &text)]).start().await;
    let result = call(&runtime, "t", nothing()).await;
    assert_eq!(result.error_kind, Some(ErrorKind::Timeout));
}

#[tokio::test]
async fn cancelling_ends_the_wait_for_a_rate_limit_at_once() {
    let wire = Wire::new(vec![reply(
        "429 Too Many Requests",
        &[("Retry-After", "60")],
        "",
    )])
    .await;
    let runtime = Case::new(&[("a.skill.yaml", &tool(&wire.url, ""))])
        .start()
        .await;
    let call = Call::new("t", nothing());
    let cancel = call.cancel.clone();
    let seen = Arc::clone(&wire.seen);
    let watch = async move {
        while seen.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(outcome(&runtime, call), watch);
    assert_eq!(outcome.result.error_kind, Some(ErrorKind::Cancelled));
    assert!(outcome.duration < Duration::from_secs(30));
    let attempts = outcome.trace.attempts().list();
    assert_eq!(attempts.last().unwrap().outcome, None, "{attempts:?}");
}

#[tokio::test]
async fn redirects_are_followed_but_take_no_secret_to_another_host() {
    let other = Wire::new(vec![ok("there")]).await;
    let away = reply(
        "302 Found",
        &[("Location", &format!("{}/b", other.url))],
        "",
    );
    let http = "url: U/a\nheaders: {Authorization: Bearer abc, X-Key: '{{env:TOK}}', X-Plain: p}";
    let (wire, result) = ask(vec![away], http, nothing()).await;
    assert_eq!(result.all_text(), "there");
    assert_eq!(wire.only().header("authorization"), Some("Bearer abc"));
    let seen = other.only();
    assert_eq!(seen.target(), "/b");
    assert_eq!(
        (seen.header("authorization"), seen.header("x-key")),
        (None, None)
    );
    assert_eq!(seen.header("x-plain"), Some("p"));
    let kept = reply(
        "307 Temporary Redirect",
        &[("Location", &format!("{}/c", other.url))],
        "",
    );
    let http = "url: U/a\nbody: {key: '{{env:TOK}}'}";
    let (_, result) = ask(vec![kept], http, nothing()).await;
    assert!(
        result.all_text().contains("the body holds a variable"),
        "{}",
        result.all_text()
    );
    assert_eq!(other.requests().len(), 1);
    let round = reply("307 Temporary Redirect", &[("Location", "/again")], "");
    let (wire, result) = ask(vec![round], "url: U/a", nothing()).await;
    assert_eq!(wire.requests().len(), 11, "the first and ten more");
    assert!(result.all_text().contains("redirects more than 10 times"));
}

#[tokio::test]
async fn a_success_is_written_where_the_skill_wants_it_and_a_failed_write_is_no_error() {
    let wire = Wire::new(vec![ok("kept")]).await;
    let text = tool(&wire.url, "    output_file: out/deep/t.txt\n");
    let case = Case::new(&[("a.skill.yaml", &text)]);
    let runtime = case.start().await;
    assert!(!call(&runtime, "t", nothing()).await.is_error());
    let file = case.path().join("out/deep/t.txt");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    std::fs::remove_dir_all(case.path().join("out")).unwrap();
    std::fs::write(case.path().join("out"), "in the way").unwrap();
    let result = call(&runtime, "t", nothing()).await;
    assert_eq!((result.is_error(), result.warnings.len()), (false, 1));
    let record = newest(&runtime, 2).await;
    assert_eq!(
        (record.error_kind, &*record.warnings),
        (None, &*result.warnings)
    );
    assert!(
        record.warnings[0].contains("`out/deep/t.txt`"),
        "{record:?}"
    );
}

/// The newest record once there are so many.
async fn newest(runtime: &Runtime, count: usize) -> Arc<CallRecord> {
    let mut snapshots = runtime.snapshot();
    let whole = snapshots.wait_for(|snapshot| snapshot.history.len() == count);
    Arc::clone(&whole.await.unwrap().history[0])
}

#[tokio::test]
async fn an_equal_call_of_one_session_is_replayed_and_marked() {
    let wire = Wire::new(vec![ok("one"), ok("two"), ok("three")]).await;
    let runtime = Case::new(&[("a.skill.yaml", &tool(&wire.url, ""))])
        .start()
        .await;
    let ask = |session: Option<&str>| {
        let mut call = Call::new("t", json!({"a": 1}));
        call.session = session.map(Into::into);
        outcome(&runtime, call)
    };
    assert_eq!(ask(Some("s")).await.result.all_text(), "one");
    let replay = ask(Some("s")).await.result.all_text();
    assert!(
        replay.starts_with("one\n[replay: `t` has run once"),
        "{replay}"
    );
    assert_eq!(ask(Some("other")).await.result.all_text(), "two");
    assert_eq!(
        ask(None).await.result.all_text(),
        "three",
        "an operator's calls are not counted"
    );
    assert!(!newest(&runtime, 4).await.replayed);
    ask(Some("other")).await;
    assert!(newest(&runtime, 5).await.replayed, "the record says so");
}

#[tokio::test]
async fn the_preview_shows_the_request_with_secrets_masked() {
    let http =
        "url: http://h/{{.r}}?k={{env:TOK}}\nheaders: {X-Key: '{{env:TOK}}'}\nbody: {a: {{.r}}}";
    let case = Case::new(&[("a.skill.yaml", &skill(http))]).env("TOK", "sek");
    let runtime = case.start().await;
    let catalog = runtime.executor().registry().catalog();
    let entry = catalog.get("t").unwrap();
    let arguments = json!({"r": "x y"});
    let preview = entry
        .tool
        .preview(arguments.as_object().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(
        preview,
        "POST http://h/x%20y?k=••••\nx-key: ••••\ncontent-type: application/json\n\n\
         {\n  \"a\": \"x y\"\n}\n"
    );
    assert_eq!(entry.tool.defined_at(), Some("skills/a.skill.yaml:3"));
}
