//! What an answer becomes, and when it is asked for again (skills 5.5 to 5.7).

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use toolcrib::tool::{Call, ErrorKind, Part, ToolResult};

use super::wire::{Reply, Wire, ok, reply};
use super::{Case, call, nothing, outcome};

/// One call of a tool with these lines beside its request and these within it.
async fn ask(replies: Vec<Reply>, tool: &str, http: &str) -> (Wire, ToolResult) {
    let wire = Wire::new(replies).await;
    let text = format!(
        "name: s\ntools:\n  - name: t\n    {tool}\n    http:\n      url: {}/a\n      {http}\n",
        wire.url
    );
    let runtime = Case::new(&[("a.skill.yaml", &text)]).start().await;
    let result = call(&runtime, "t", nothing()).await;
    runtime.shutdown().await;
    (wire, result)
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

#[tokio::test]
async fn a_success_is_told_by_its_type_and_its_charset() {
    let json_part = |value| vec![text("{\"a\":[1]}"), Part::json(value)];
    let typed = |kind: &str, body: &[u8]| reply("200 OK", &[("Content-Type", kind)], body);
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("né".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let image = Part::Image {
        bytes: b"<svg/>".as_slice().into(),
        media_type: "image/svg+xml".into(),
    };
    for (claim, answer, parts) in [
        ("205", reply("205 Reset Content", &[], ""), vec![text("")]),
        ("201", reply("201 Created", &[], "made"), vec![text("made")]),
        (
            "JSON without a type",
            reply("200 OK", &[], r#"{"a":[1]}"#),
            json_part(json!({"a": [1]})),
        ),
        (
            "JSON with parameters",
            typed("Application/JSON ; charset=UTF-8", br#"{"a":[1]}"#),
            json_part(json!({"a": [1]})),
        ),
        (
            "JSON after a byte order mark",
            typed("application/json", b"\xef\xbb\xbf{\"a\":[1]}"),
            json_part(json!({"a": [1]})),
        ),
        (
            "JSON in another charset",
            typed("application/json; charset=latin1", b"[\"\xe9\"]"),
            vec![text("[\"é\"]"), Part::json(json!(["é"]))],
        ),
        (
            "JSON that is none",
            typed("application/json", b"oops"),
            vec![text("oops")],
        ),
        (
            "an unknown charset",
            typed("text/plain; charset=x-nonsense", "é".as_bytes()),
            vec![text("é")],
        ),
        (
            "not UTF-8",
            typed("text/plain", b"a\xff"),
            vec![text("a\u{fffd}")],
        ),
        ("UTF-16", typed("text/plain", &utf16), vec![text("né")]),
        (
            "an image of text",
            typed("image/svg+xml", b"<svg/>"),
            vec![image],
        ),
    ] {
        let (_, result) = ask(vec![answer], "", "").await;
        assert_eq!(result.parts, parts, "{claim}");
        assert!(!result.is_error(), "{claim}");
    }
}

#[tokio::test]
async fn whatever_is_no_success_is_an_error_with_its_first_256_characters() {
    let long = "ü".repeat(300);
    for (claim, status, body, expected) in [
        ("not modified", "304 Not Modified", "", "304 Not Modified"),
        ("a redirect to nowhere", "302 Found", "", "302 Found"),
        ("client", "404 Not Found", long.as_str(), "404 Not Found: "),
        (
            "server",
            "500 Internal Server Error",
            "x",
            "500 Internal Server Error: x",
        ),
        ("unknown", "599 Whatever", "x", "599: x"),
    ] {
        let (wire, result) = ask(vec![reply(status, &[], body)], "", "").await;
        assert_eq!(result.error_kind, Some(ErrorKind::Tool), "{claim}");
        let said = result.all_text();
        let begin = format!("GET {}/a answered {expected}", wire.url);
        assert!(said.starts_with(&begin), "{claim}: {said}");
        assert_eq!(
            said.matches('ü').count(),
            body.matches('ü').count().min(256)
        );
        assert_eq!(wire.requests().len(), 1, "{claim}");
    }
}

#[tokio::test]
async fn a_redirect_changes_the_method_only_where_it_must() {
    for (status, method, expected, keeps_body) in [
        ("301 Moved Permanently", "POST", "GET", false),
        ("302 Found", "POST", "GET", false),
        ("302 Found", "PUT", "PUT", true),
        ("303 See Other", "PUT", "GET", false),
        ("307 Temporary Redirect", "POST", "POST", true),
        ("308 Permanent Redirect", "PATCH", "PATCH", true),
    ] {
        let replies = vec![reply(status, &[("Location", "../b?x=1")], ""), ok("there")];
        let http = format!(
            "method: {method}\n      headers: {{Authorization: Bearer abc}}\n      body: {{k: v}}"
        );
        let (wire, result) = ask(replies, "", &http).await;
        assert_eq!(result.all_text(), "there", "{status}");
        let seen = wire.requests();
        assert_eq!(
            seen[1].line(),
            format!("{expected} /b?x=1 HTTP/1.1"),
            "{status}"
        );
        assert_eq!(seen[1].header("authorization"), Some("Bearer abc"));
        let body: &[u8] = if keeps_body { br#"{"k":"v"}"# } else { b"" };
        assert_eq!(seen[1].body, body, "{status}");
        assert_eq!(
            seen[1].header("content-type").is_some(),
            keeps_body,
            "{status}"
        );
    }
}

#[tokio::test]
async fn what_was_left_behind_for_another_host_stays_behind() {
    let home = Wire::new(vec![ok("home")]).await;
    let back = reply(
        "302 Found",
        &[("Location", &format!("{}/back", home.url))],
        "",
    );
    let other = Wire::new(vec![back]).await;
    let away = reply(
        "302 Found",
        &[("Location", &format!("{}/b", other.url))],
        "",
    );
    let http = "headers: {authorization: Bearer abc, Cookie: c=1}";
    let (_, result) = ask(vec![away], "", http).await;
    assert_eq!(result.all_text(), "home");
    for seen in [other.only(), home.only()] {
        assert_eq!(
            (seen.header("authorization"), seen.header("cookie")),
            (None, None)
        );
    }
}

#[tokio::test]
async fn ten_redirects_are_followed_and_not_one_more() {
    let hop = || reply("302 Found", &[("Location", "/a")], "");
    let mut replies: Vec<Reply> = (0..10).map(|_| hop()).collect();
    replies.push(ok("there"));
    let (wire, result) = ask(replies.clone(), "", "").await;
    assert_eq!(
        (wire.requests().len(), result.all_text()),
        (11, "there".into())
    );
    replies.insert(0, hop());
    let (wire, result) = ask(replies, "", "").await;
    assert_eq!(wire.requests().len(), 11);
    assert!(result.all_text().contains("redirects more than 10 times"));
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_long_as_the_server_says() {
    let limit = |headers: &[(&str, &str)]| reply("429 Too Many Requests", headers, "wait");
    let now = SystemTime::from(toolcrib::clock::Stamp::now().wall);
    let soon = now + Duration::from_secs(2);
    let date = httpdate::fmt_http_date(soon);
    let reset = soon
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
        .to_string();
    let drained = [
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Reset", &reset),
    ];
    let retry = "retry: {max_attempts: 2, base_delay: 1ms}";
    for (claim, tool, answer, least) in [
        ("seconds", "", limit(&[("Retry-After", "1")]), 1_000),
        ("a date", "", limit(&[("Retry-After", &date)]), 1),
        ("the reset", "", reply("403 Forbidden", &drained, ""), 1),
        ("nothing named", "", limit(&[]), 1_000),
        ("nothing named, and retry set", retry, limit(&[]), 1_000),
    ] {
        let (wire, result) = ask(vec![answer, ok("ok")], tool, "").await;
        assert_eq!(result.all_text(), "ok", "{claim}");
        let seen = wire.requests();
        let gap = seen[1].at - seen[0].at;
        assert!(gap >= Duration::from_millis(least), "{claim}: {gap:?}");
        assert!(gap < Duration::from_secs(30), "{claim}: {gap:?}");
    }
}

#[tokio::test]
async fn a_post_is_sent_again_only_where_that_cannot_do_a_thing_twice() {
    let retry = "retry: {max_attempts: 3, base_delay: 1ms, max_delay: 2ms}";
    let quick = &[("Retry-After", "0")];
    for (claim, answer, method, calls) in [
        ("500", reply("500 x", &[], ""), "POST", 1),
        ("502", reply("502 x", &[], ""), "PATCH", 1),
        ("504", reply("504 x", &[], ""), "POST", 1),
        ("503", reply("503 x", &[], ""), "POST", 3),
        ("429", reply("429 x", quick, ""), "PATCH", 3),
        ("reset", Reply::Reset, "POST", 1),
        ("500 of a PUT", reply("500 x", &[], ""), "PUT", 3),
        ("504 of a GET", reply("504 x", &[], ""), "GET", 3),
        ("reset of a DELETE", Reply::Reset, "DELETE", 3),
        ("501", reply("501 x", &[], ""), "GET", 1),
        ("404", reply("404 x", &[], ""), "GET", 1),
        (
            "403 with some left",
            reply("403 x", &[("X-RateLimit-Remaining", "7")], ""),
            "GET",
            1,
        ),
    ] {
        let (wire, result) = ask(vec![answer], retry, &format!("method: {method}")).await;
        assert!(result.is_error(), "{claim}");
        assert_eq!(wire.requests().len(), calls, "{claim}");
    }
    let limited = vec![reply("429 x", quick, ""), ok("ok")];
    let (wire, result) = ask(limited, "retry: {max_attempts: 1}", "").await;
    assert!(result.is_error(), "`max_attempts` counts all");
    assert_eq!(wire.requests().len(), 1);
}

#[tokio::test]
async fn cancelling_ends_a_slow_body_and_the_pause_of_a_retry_at_once() {
    let half = Reply::Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec());
    let down = reply("503 Service Unavailable", &[], "");
    for (claim, answer) in [("a slow body", half), ("a pause", down)] {
        let wire = Wire::new(vec![answer]).await;
        let text = format!(
            "name: s\ntools:\n  - name: t\n    retry: {{max_attempts: 2, base_delay: 1m, max_delay: \
             1m}}\n    http: {{url: '{}/'}}\n",
            wire.url
        );
        let runtime = Case::new(&[("a.skill.yaml", &text)]).start().await;
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
        assert_eq!(
            outcome.result.error_kind,
            Some(ErrorKind::Cancelled),
            "{claim}"
        );
        assert_eq!(wire.requests().len(), 1, "{claim}");
    }
}

#[tokio::test]
async fn a_body_in_chunks_that_names_no_length_is_read_to_its_end_and_no_further_than_allowed() {
    let chunked = |size: usize| {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        bytes.extend(format!("{size:x}\r\n").bytes());
        bytes.extend(std::iter::repeat_n(b'x', size));
        bytes.extend(b"\r\n0\r\n\r\n");
        Reply::Bytes(bytes)
    };
    for (size, truncated) in [(5, false), (1_048_576, false), (1_048_577, true)] {
        let (_, result) = ask(vec![chunked(size)], "", "").await;
        assert_eq!(result.truncated, truncated, "{size}");
        let kept = result.all_text().matches('x').count();
        assert_eq!(kept, size.min(1_048_576));
        assert_eq!(
            result.all_text().ends_with("…[result truncated]"),
            truncated
        );
    }
}
