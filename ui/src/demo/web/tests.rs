use std::sync::{Arc, Mutex};

#[expect(deprecated, reason = "the demo sends log messages")]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};
use serde_json::json;

use super::super::tests::{called, connected, connected_as, failed, result_of};
use super::*;

#[tokio::test(start_paused = true)]
async fn every_tool_works_once() {
    let web = connected(Web).await;
    for (tool, arguments, expected) in [
        (
            "fetch_page",
            json!({"path": "/tides"}),
            "# Tides and water level\n\nHigh water",
        ),
        (
            "search_pages",
            json!({"query": "ferries"}),
            "/ferries  Ferries",
        ),
        (
            "search_pages",
            json!({"query": "zebra"}),
            "no page has any word",
        ),
        (
            "weather_forecast",
            json!({"city": "kiyokawa", "days": 2}),
            "Kiyokawa (demo data)\n20",
        ),
        (
            "convert_currency",
            json!({"amount": 10, "from": "eur", "to": "jpy"}),
            "10 EUR = 1625 JPY (invented rate 162.5000)",
        ),
        (
            "slow_report",
            json!({"topic": "kelp", "seconds": 10}),
            "Report on kelp (demo data)\n1. collecting: done",
        ),
    ] {
        let result = called(&web, tool, arguments).await;
        assert!(result.contains(expected), "{tool}: {result}");
    }
}

#[tokio::test]
async fn a_chart_is_a_text_and_a_png() {
    let web = connected(Web).await;
    let arguments = json!({"values": [1, 2.5], "labels": ["a", "b"], "title": "T"});
    let result = result_of(&web, "draw_chart", arguments).await;
    assert_eq!(result.content[0].as_text().unwrap().text, "T\na: 1\nb: 2.5");
    let image = result.content[1].as_image().unwrap();
    assert_eq!(image.mime_type, "image/png");
    assert!(
        image.data.starts_with("iVBORw0KGgo"),
        "the signature of a PNG"
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_a_tool_error_in_words() {
    let web = connected(Web).await;
    for (tool, arguments, expected) in [
        (
            "fetch_page",
            json!({"path": "/tide"}),
            "did you mean `/tides`?",
        ),
        (
            "weather_forecast",
            json!({"city": "Paris"}),
            "the cities of this demo are",
        ),
        (
            "weather_forecast",
            json!({"city": "Saltmere", "days": 15}),
            "from 1 to 14",
        ),
        (
            "convert_currency",
            json!({"amount": "x", "from": "EUR", "to": "JPY"}),
            "must be a number",
        ),
        ("draw_chart", json!({"values": []}), "from 1 to 100"),
        (
            "draw_chart",
            json!({"values": [1], "labels": ["a", "b"]}),
            "2 labels for 1 values",
        ),
    ] {
        let message = failed(&web, tool, arguments).await;
        assert!(message.contains(expected), "{tool}: {message}");
    }
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Value>>>);

impl ClientHandler for Listener {
    #[expect(deprecated, reason = "the demo sends log messages")]
    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push(message.data);
    }
}

#[tokio::test]
async fn calls_are_told_of_in_log_messages() {
    let listener = Listener::default();
    let web = connected_as(Web, listener.clone()).await;
    called(&web, "fetch_page", json!({"path": "/news"})).await;
    while listener.0.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*listener.0.lock().unwrap(), [json!("GET /news 200")]);
}

#[tokio::test]
async fn only_loopback_is_listened_on() {
    let error = listen("0.0.0.0:0".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("no loopback address"));
}
