use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, PeerRequestOptions};
use rmcp::{ClientHandler, RoleClient};
use serde_json::json;

use super::super::tests::{called, connected, connected_as, failed};
use super::*;

#[tokio::test]
async fn every_tool_works_once() {
    let clock = connected(Clock).await;
    for (tool, arguments, expected) in [
        ("now", json!({"zone": "Asia/Tokyo"}), " JST"),
        (
            "convert_time",
            json!({"time": "2026-11-30T14:00", "from": "Europe/Berlin", "to": "Asia/Tokyo"}),
            "2026-11-30 22:00:00 +09:00, Monday",
        ),
        (
            "add_duration",
            json!({"time": "2026-01-31", "duration": "1 month"}),
            "2026-02-28 00:00:00 +00:00, Saturday",
        ),
        (
            "add_duration",
            json!({"time": "2026-03-01T00:00", "duration": "-90m"}),
            "2026-02-28 22:30:00",
        ),
        (
            "days_between",
            json!({"from": "2026-11-30", "to": "2026-12-07"}),
            "7 days, 5 of them",
        ),
        (
            "days_between",
            json!({"from": "2026-12-07", "to": "2026-11-30"}),
            "-7 days, 5 of them",
        ),
        ("calculate", json!({"expression": "(3 + 4) * 2"}), "14"),
        ("statistics", json!({"numbers": [1, 2, 3.5]}), "median 2,"),
        (
            "convert_units",
            json!({"value": 26.2, "from": "miles", "to": "km"}),
            "26.2 miles = 42.1648128 km",
        ),
        (
            "random_number",
            json!({"min": 7, "max": 7, "count": 3}),
            "7, 7, 7",
        ),
    ] {
        let result = called(&clock, tool, arguments).await;
        assert!(result.contains(expected), "{tool}: {result}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_a_tool_error_in_words() {
    let clock = connected(Clock).await;
    for (tool, arguments, expected) in [
        ("now", json!({"zone": "Mars/Base"}), "no time zone"),
        (
            "convert_time",
            json!({"time": "noon", "to": "UTC"}),
            "write it as",
        ),
        (
            "add_duration",
            json!({"time": "2026-01-01", "duration": "soon"}),
            "is no duration",
        ),
        (
            "add_duration",
            json!({"time": "2026-01-01", "duration": "9999 years"}),
            "out of range",
        ),
        (
            "calculate",
            json!({"expression": "1/0"}),
            "division by zero",
        ),
        ("statistics", json!({"numbers": []}), "at least one"),
        (
            "statistics",
            json!({"numbers": ["a"]}),
            "must be a list of numbers",
        ),
        (
            "convert_units",
            json!({"value": 1, "from": "kg", "to": "m"}),
            "is a unit of mass",
        ),
        ("random_number", json!({"min": 3, "max": 1}), "not above"),
        ("wait", json!({"seconds": 0}), "from 1 to 300"),
    ] {
        let message = failed(&clock, tool, arguments).await;
        assert!(message.contains(expected), "{tool}: {message}");
    }
}

#[derive(Clone, Default)]
struct Listener(Arc<AtomicU32>);

impl ClientHandler for Listener {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn wait(seconds: u32) -> ClientRequest {
    let mut params = CallToolRequestParams::new("wait");
    params.arguments = json!({"seconds": seconds, "steps": 4}).as_object().cloned();
    ClientRequest::CallToolRequest(CallToolRequest::new(params))
}

#[tokio::test(start_paused = true)]
async fn waiting_reports_each_step() {
    let listener = Listener::default();
    let clock = connected_as(Clock, listener.clone()).await;
    let begun = tokio::time::Instant::now();
    let options = PeerRequestOptions::no_options();
    let handle = clock
        .send_cancellable_request(wait(20), options)
        .await
        .unwrap();
    handle.await_response().await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(20));
    while listener.0.load(Ordering::SeqCst) < 5 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_when_the_client_gives_up() {
    let listener = Listener::default();
    let clock = connected_as(Clock, listener.clone()).await;
    let options = PeerRequestOptions::no_options();
    let handle = clock
        .send_cancellable_request(wait(300), options)
        .await
        .unwrap();
    while listener.0.load(Ordering::SeqCst) < 1 {
        tokio::task::yield_now().await;
    }
    handle.cancel(Some("enough".into())).await.unwrap();
    // The server answers others, and closing does not wait for the rest of the five minutes.
    assert_eq!(
        called(&clock, "calculate", json!({"expression": "1"})).await,
        "1"
    );
    let begun = tokio::time::Instant::now();
    clock.cancel().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60));
}
