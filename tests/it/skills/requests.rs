//! What is sent, byte for byte (skills 5.1 to 5.5).

use serde_json::{Value, json};
use toolcrib::tool::{ErrorKind, ToolResult};

use super::wire::{Seen, Wire, ok};
use super::{Case, call, nothing, skill};

const TOKEN: &str = "a&b/c ü?=1";

/// One call of `t`, whose request is written in YAML with `U` for the server's address.
async fn ask(http: &str, arguments: Value) -> (Vec<Seen>, ToolResult) {
    let wire = Wire::new(vec![ok("ok")]).await;
    let text = skill(&http.replace("U/", &format!("{}/", wire.url)));
    let host = wire.url.trim_start_matches("http://");
    let case = Case::new(&[("a.skill.yaml", &text)])
        .env("TOK", TOKEN)
        .env("HOST", host)
        .env("BASE", &format!("{}/base?v=1", wire.url))
        .env("EMPTY", "")
        .env("LINES", "one\ntwo");
    let runtime = case.start().await;
    let result = call(&runtime, "t", arguments).await;
    runtime.shutdown().await;
    (wire.requests(), result)
}

/// The one request of a call that must succeed.
async fn sent(claim: &str, http: &str, arguments: Value) -> Seen {
    let (seen, result) = ask(http, arguments).await;
    assert!(!result.is_error(), "{claim}: {}", result.all_text());
    assert_eq!(seen.len(), 1, "{claim}");
    seen[0].clone()
}

#[tokio::test]
async fn methods_are_written_in_capitals_and_follow_from_the_body() {
    for (claim, http, line) in [
        ("no body", "url: U/", "GET / HTTP/1.1"),
        ("a body", "url: U/\nbody: {a: 1}", "POST / HTTP/1.1"),
        ("nothing as a body", "url: U/\nbody:", "GET / HTTP/1.1"),
        (
            "small letters",
            "url: U/\nmethod: patch",
            "PATCH / HTTP/1.1",
        ),
        ("mixed", "url: U/\nmethod: Delete", "DELETE / HTTP/1.1"),
        (
            "GET with a body",
            "url: U/\nmethod: get\nbody: {a: 1}",
            "GET / HTTP/1.1",
        ),
    ] {
        let seen = sent(claim, http, nothing()).await;
        assert_eq!(seen.line(), line, "{claim}");
        let body: &[u8] = if http.contains("a: 1") {
            br#"{"a":1}"#
        } else {
            b""
        };
        assert_eq!(seen.body, body, "{claim}");
    }
}

#[tokio::test]
async fn every_kind_of_value_has_its_form_in_a_path() {
    for (claim, value, target) in [
        ("a slash", json!("a/b"), "/x/a%2Fb/y"),
        ("a backslash", json!("a\\b"), "/x/a%5Cb/y"),
        ("encoded already", json!("%2e%2e"), "/x/%252e%252e/y"),
        ("three dots", json!("..."), "/x/.../y"),
        ("a hidden name", json!(".git"), "/x/.git/y"),
        ("a climb inside", json!("a/../../b"), "/x/a%2F..%2F..%2Fb/y"),
        ("the empty text", json!(""), "/x//y"),
        (
            "sub-delimiters",
            json!("!$&'()*+,;=:@"),
            "/x/%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%40/y",
        ),
        ("a line break", json!("a\r\nb"), "/x/a%0D%0Ab/y"),
        ("NUL", json!("\0"), "/x/%00/y"),
        ("four bytes", json!("🦀"), "/x/%F0%9F%A6%80/y"),
        (
            "never expanded again",
            json!("{{env:TOK}}"),
            "/x/%7B%7Benv%3ATOK%7D%7D/y",
        ),
        (
            "a negative integer",
            json!(i64::MIN),
            "/x/-9223372036854775808/y",
        ),
        (
            "more than a double holds",
            json!(9_007_199_254_740_993_i64),
            "/x/9007199254740993/y",
        ),
        ("a large float", json!(1e21), "/x/1000000000000000000000/y"),
        ("a small float", json!(1.5e-7), "/x/0.00000015/y"),
        ("a whole float", json!(3.0), "/x/3/y"),
        ("false", json!(false), "/x/false/y"),
        (
            "an object",
            json!({"b": 1, "a": "x"}),
            "/x/%7B%22a%22%3A%22x%22%2C%22b%22%3A1%7D/y",
        ),
    ] {
        let seen = sent(claim, "url: U/x/{{.v}}/y", json!({"v": value})).await;
        assert_eq!(seen.target(), target, "{claim}");
    }
    let nested = json!({"a": {"b": {"c": 7}}});
    let seen = sent("nested", "url: U/{{ .a.b.c }}", nested).await;
    assert_eq!(seen.target(), "/7");
}

#[tokio::test]
async fn a_query_is_a_form_and_replaces_what_the_address_has() {
    for (claim, http, arguments, target) in [
        (
            "encoded",
            "url: U/?q={{.q}}",
            json!({"q": "a b+c&d=é/?#"}),
            "/?q=a+b%2Bc%26d%3D%C3%A9%2F%3F%23",
        ),
        ("missing", "url: U/?q={{.q}}&r=1", json!({}), "/?q=&r=1"),
        ("null", "url: U/?q={{.q}}", json!({"q": null}), "/?q="),
        (
            "a variable",
            "url: U/?k={{env:TOK}}",
            json!({}),
            "/?k=a%26b%2Fc+%C3%BC%3F%3D1",
        ),
        (
            "replaced, both of them, however they are written",
            "url: U/p?a=1&k%65y=2&a=3&z\nquery: {a: '{{.a}}', key: n, new: ''}",
            json!({"a": ["x", 1]}),
            "/p?z&a=%5B%22x%22%2C1%5D&key=n&new=",
        ),
        (
            "numbers and booleans of the file",
            "url: U/\nquery: {n: 0x10, f: 1.50, b: true}",
            json!({}),
            "/?n=0x10&f=1.50&b=true",
        ),
        (
            "a base with a query of its own",
            "url: '{{env:BASE}}'\nquery: {w: 2}",
            json!({}),
            "/base?v=1&w=2",
        ),
        (
            "no fragment is sent",
            "url: U/p#{{.f}}",
            json!({"f": "x"}),
            "/p",
        ),
    ] {
        assert_eq!(
            sent(claim, http, arguments).await.target(),
            target,
            "{claim}"
        );
    }
}

#[tokio::test]
async fn a_host_may_come_from_a_variable_and_from_nothing_else() {
    let seen = sent("host", "url: http://{{env:HOST}}/{{.a}}", json!({"a": "x"})).await;
    assert_eq!(seen.target(), "/x");
    let (seen, result) = ask("url: http://{{env:EMPTY}}/{{.a}}", json!({"a": "x"})).await;
    assert_eq!(result.error_kind, Some(ErrorKind::Validation));
    assert!(seen.is_empty());
}

#[tokio::test]
async fn a_body_is_sent_digit_for_digit() {
    for (claim, http, arguments, body) in [
        (
            "integers",
            "url: U/\nbody: {big: 18446744073709551615, least: -9223372036854775808, n: '{{.n}}'}",
            json!({"n": 9_007_199_254_740_993_i64}),
            r#"{"big":18446744073709551615,"least":-9223372036854775808,"n":9007199254740993}"#,
        ),
        (
            "missing drops its key, and is null in a list",
            "url: U/\nbody: {a: {{.no}}, b: [{{.no}}, {c: {{.no}}}], d: {{.null}}}",
            json!({"null": null}),
            r#"{"b":[null,{}],"d":null}"#,
        ),
        (
            "exactly one placeholder keeps its type",
            "url: U/\nbody:\n  one: {{ .v }}\n  text: 'v={{.v}}'\n  two: '{{.v}}{{.v}}'\n  space: ' {{.v}}'",
            json!({"v": true}),
            r#"{"one":true,"text":"v=true","two":"truetrue","space":" true"}"#,
        ),
        (
            "an object as it came",
            "url: U/\nbody: {{.o}}",
            json!({"o": {"z": [1.5, "é"], "a": {}}}),
            r#"{"z":[1.5,"é"],"a":{}}"#,
        ),
        (
            "values are not expanded again",
            "url: U/\nbody: [{{.v}}, 'x {{.v}}']",
            json!({"v": "{{env:TOK}}"}),
            r#"["{{env:TOK}}","x {{env:TOK}}"]"#,
        ),
        (
            "a variable is text",
            "url: U/\nbody: {k: {{env:TOK}}}",
            json!({}),
            r#"{"k":"a&b/c ü?=1"}"#,
        ),
    ] {
        let seen = sent(claim, http, arguments).await;
        assert_eq!(String::from_utf8_lossy(&seen.body), body, "{claim}");
        assert_eq!(
            seen.header("content-type"),
            Some("application/json"),
            "{claim}"
        );
        let length = body.len().to_string();
        assert_eq!(seen.header("content-length"), Some(&*length), "{claim}");
    }
    let seen = sent("all of it missing", "url: U/\nbody: {{.no}}", nothing()).await;
    assert_eq!((seen.body.len(), seen.header("content-type")), (0, None));
}

#[tokio::test]
async fn a_header_is_one_line_or_nothing_is_sent() {
    for (claim, value) in [
        ("CR LF", "a\r\nX-Evil: 1"),
        ("LF", "a\nb"),
        ("CR", "a\rb"),
        ("LF at the end", "a\n"),
        ("NUL", "a\0"),
    ] {
        let http = "url: U/\nheaders: {X-My-Key: 'v {{.v}}'}";
        let (seen, result) = ask(http, json!({"v": value})).await;
        assert_eq!(result.error_kind, Some(ErrorKind::Validation), "{claim}");
        assert!(result.all_text().contains("`X-My-Key`"), "{claim}");
        assert!(seen.is_empty(), "{claim}");
    }
    let (seen, result) = ask("url: U/\nheaders: {X-A: '{{env:LINES}}'}", nothing()).await;
    assert_eq!(result.error_kind, Some(ErrorKind::Validation));
    assert!(seen.is_empty() && !result.all_text().contains("two"));
    let http = "url: U/\nheaders: {X-A: '{{.v}}', X-B: '{{.no}}', X-C: '{{env:TOK}}', \
                Content-Type: text/plain; charset=utf-8}\nbody: 'x {{.v}}'";
    let seen = sent("what fits", http, json!({"v": {"b": 2, "a": 1}})).await;
    assert_eq!(seen.header("x-a"), Some(r#"{"a":1,"b":2}"#));
    assert_eq!(seen.header("x-b"), Some(""));
    assert_eq!(seen.header("x-c"), Some(TOKEN));
    assert_eq!(
        seen.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(seen.body, br#"x {"a":1,"b":2}"#);
}
