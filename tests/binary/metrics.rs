//! `--metrics`: what Prometheus scrapes while a command runs.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::place::{PATIENCE, Place};

/// One call that ends and one that hangs, in one round.
const SCENARIO: &str = r#"resources:
  lab:
    kind: tool.Source
    impl: sim
    settings:
      tools:
        - {name: say}
        - {name: hang, behavior: {hang: {}}}
  tools:
    kind: tool.Assembly
    impl: middleware
    deps: {tool: lab}
    settings: {middlewares: {recover: {enabled: true}}}
rounds:
  - calls: [{tool: say, arguments: {a: 1}}]
  - calls: [{tool: hang}]
"#;

/// Asks for `/metrics` and gives head and body.
async fn scrape(address: &str) -> (String, String) {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_scenario_that_runs_can_be_scraped() {
    let place = Place::new();
    place.write("s.yaml", SCENARIO);
    let mut child = place
        .command(&["play", "s.yaml", "--metrics", "0", "-v"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = async {
        loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("the log ends early");
            if let Some((_, rest)) = line.split_once("metrics are served at http://") {
                return rest.trim_end_matches("/metrics").to_owned();
            }
        }
    };
    let address = tokio::time::timeout(PATIENCE, told).await.unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let scraping = async {
        let mut tick = tokio::time::interval(Duration::from_millis(20));
        loop {
            tick.tick().await;
            let (head, body) = scrape(&address).await;
            assert!(head.contains("200 OK"), "{head}");
            assert!(head.contains("version=0.0.4"), "{head}");
            if body.contains("toolcrib_calls_in_flight 1") && body.contains("tool_name=\"say\"") {
                return body;
            }
        }
    };
    let body = tokio::time::timeout(PATIENCE, scraping).await.unwrap();
    for line in [
        "toolcrib_executions_total{tool_name=\"say\",status=\"ok\"} 1",
        "toolcrib_duration_seconds_count{tool_name=\"say\"} 1",
        "toolcrib_tools{source=\"lab\"} 2",
        "toolcrib_layer_events_total{layer=\"recover\",event=\"recovered\"} 0",
    ] {
        assert!(body.lines().any(|known| known == line), "{line} in {body}");
    }
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_port_in_use_is_told_and_other_commands_refuse_the_option() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::new();
    place.write("s.yaml", SCENARIO);
    let ended = place.run(&["play", "s.yaml", "--metrics", &address]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the port is in use"), "{ended:?}");
    let ended = place.run(&["check", "--metrics", "9464"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let ended = place.run(&["play", "s.yaml", "--metrics", "nowhere"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
}
