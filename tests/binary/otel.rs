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

#[tokio::test]
async fn nothing_is_exported_where_it_is_switched_off_and_nonsense_is_told() {
    let (url, posted) = collector().await;
    let off = [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_SERVICE_NAME", "no endpoint"),
    ];
    for (at, (name, value)) in off.into_iter().enumerate() {
        let mut place = Place::with(&lab()).set(name, value);
        if at == 0 {
            place = place.set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
        }
        assert_eq!(place.run(&["call", "say"]).await.code, Some(0));
    }
    assert!(posted.lock().is_empty());
    let place = Place::with(&lab())
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let ended = place.run(&["call", "say"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("`http/protobuf`"), "{ended:?}");
}
