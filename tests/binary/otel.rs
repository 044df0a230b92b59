//! The export to an OpenTelemetry collector as the environment asks for it.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use parking_lot::Mutex;

use crate::place::{LAB, Place};

/// Path, the header `x-key`, and the body of each post.
type Posted = Arc<Mutex<Vec<(String, String, Bytes)>>>;

async fn collector() -> (String, Posted) {
    let posted = Posted::default();
    let keep = async |State(to): State<Posted>, uri: Uri, headers: HeaderMap, body: Bytes| {
        let key = headers.get("x-key").and_then(|value| value.to_str().ok());
        let key = key.unwrap_or("none").to_owned();
        to.lock().push((uri.path().to_owned(), key, body));
    };
    let app = Router::new().fallback(keep).with_state(Arc::clone(&posted));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, posted)
}

fn holds(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|part| part == text.as_bytes())
}

/// The laboratory behind a chain that tells of its calls.
fn lab() -> String {
    LAB.replace(
        "impl: memory",
        "impl: middleware\n    settings: {middlewares: {telemetry: {enabled: true}}}",
    )
}

#[tokio::test]
async fn each_signal_goes_where_its_variable_says() {
    let (url, posted) = collector().await;
    let place = Place::with(&lab())
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .set(
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            &format!("{url}/my/spans"),
        )
        .set("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k1")
        .set("OTEL_SERVICE_NAME", "crib-under-test");
    let ended = place.run(&["call", "fail"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let posted = posted.lock();
    for (path, text) in [
        ("/my/spans", "fail.execute"),
        ("/v1/metrics", "executions.total"),
        ("/v1/logs", "a call failed: the lamp is broken"),
    ] {
        let mut of_path = posted.iter().filter(|(to, ..)| to == path);
        let found = of_path.find(|(_, _, body)| holds(body, text));
        let (_, key, body) = found.unwrap_or_else(|| panic!("{path} has no `{text}`: {posted:?}"));
        assert_eq!(key, "k1", "{path}");
        assert!(holds(body, "crib-under-test"), "{path}");
    }
}

/// The paths that something was posted to when the laboratory's `say` was called.
async fn exported(variables: &[(&str, String)]) -> Vec<String> {
    let (url, posted) = collector().await;
    let mut place = Place::with(&lab());
    for (name, value) in variables {
        place = place.set(name, &value.replace("URL", &url));
    }
    let ended = place.run(&["call", "say"]).await;
    assert_eq!(ended.code, Some(0), "{variables:?}: {ended:?}");
    let mut paths: Vec<_> = posted
        .lock()
        .iter()
        .map(|(path, ..)| path.clone())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

#[tokio::test]
async fn what_is_exported_is_what_the_variables_say() {
    const ALL: [&str; 3] = ["/v1/logs", "/v1/metrics", "/v1/traces"];
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "URL");
    let rows: [(&[(&str, &str)], &[&str]); 8] = [
        (&[endpoint], &ALL[1..]),
        (&[endpoint, ("OTEL_SDK_DISABLED", "true")], &[]),
        (&[("OTEL_SERVICE_NAME", "no endpoint")], &[]),
        (
            &[endpoint, ("OTEL_TRACES_EXPORTER", "none")],
            &["/v1/metrics"],
        ),
        (
            &[endpoint, ("OTEL_METRICS_EXPORTER", "none")],
            &["/v1/traces"],
        ),
        (
            &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "URL/only/these")],
            &["/only/these"],
        ),
        (
            &[endpoint, ("OTEL_TRACES_SAMPLER", "always_off")],
            &["/v1/metrics"],
        ),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "URL/prefix/")],
            &["/prefix/v1/metrics", "/prefix/v1/traces"],
        ),
    ];
    for (variables, expected) in rows {
        let owned: Vec<_> = variables
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        assert_eq!(exported(&owned).await, expected, "{variables:?}");
    }
}

#[tokio::test]
async fn the_header_of_a_signal_goes_before_the_general_one_and_is_in_no_log() {
    let (url, posted) = collector().await;
    let place = Place::with(&lab())
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .set("OTEL_EXPORTER_OTLP_HEADERS", "x-key=general-token")
        .set("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=traces%2Dtoken")
        .set("OTEL_RESOURCE_ATTRIBUTES", "service.name=named,team=cranes");
    let ended = place.run(&["call", "fail", "-vvv"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let posted = posted.lock();
    assert!(posted.len() >= 3, "{posted:?}");
    for (path, key, body) in posted.iter() {
        let expected = match path.as_str() {
            "/v1/traces" => "traces-token",
            _ => "general-token",
        };
        assert_eq!(key, expected, "{path}");
        assert!(holds(body, "named") && holds(body, "cranes"), "{path}");
        assert!(!holds(body, "-token"), "{path}");
    }
    assert!(!ended.stderr.contains("-token"), "{}", ended.stderr);
}

#[tokio::test]
async fn what_makes_no_sense_is_told_and_nothing_is_started() {
    for (name, value, expected) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "`http/protobuf`"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "a URL"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no header", "entry 1 of"),
        ("OTEL_LOGS_EXPORTER", "file", "`otlp` or `none`"),
    ] {
        let place = Place::with(&lab())
            .set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
            .set(name, value);
        let ended = place.run(&["call", "say"]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stdout, "");
        let told = ended.stderr.contains(name) && ended.stderr.contains(expected);
        assert!(told, "{ended:?}");
    }
}

/// Takes connections and never answers.
async fn silent() -> (tokio::net::TcpListener, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test]
async fn a_collector_that_does_not_answer_cannot_keep_the_program_from_its_end() {
    let (_listener, url) = silent().await;
    let patient = Place::with(&lab()).set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    let begin = tokio::time::Instant::now();
    let ended = patient.run(&["call", "say"]).await;
    let took = begin.elapsed();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let warned = "the OpenTelemetry collector did not take the last export";
    assert!(ended.stderr.contains(warned), "{ended:?}");
    // Ten seconds is what one export would wait.
    assert!(took.as_secs() < 9, "{took:?}");

    let brief = Place::with(&lab())
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .set("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
        .set("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "200");
    let ended = brief.run(&["call", "say"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The exporters gave up by themselves, before the program lost its patience.
    let warned = "an export to the OpenTelemetry collector failed";
    assert!(ended.stderr.contains(warned), "{ended:?}");
    assert!(!ended.stderr.contains("did not take"), "{ended:?}");
}
