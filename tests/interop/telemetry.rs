//! What is exported and scraped, read by code that is not ours: the official protobuf definitions
//! of OTLP and the official parsers of Prometheus, both from PyPI.
//!
//! Part of the tests of the program, since it is the program that exports. Ignored by default: these
//! need Python and the packages that `.ci/run` installs into the directory `TOOLCRIB_INTEROP`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::place::{PATIENCE, Place};

const SECRET: &str = "hunter2-is-secret";

/// What the collector is to be told, percent-encoded as the variable wants it.
const TOKEN: &str = "Bearer%20collector-token-77";

/// The secret stands wherever one can get out: in a description, in an argument, in an error.
const LAB: &str = r#"resources:
  lab:
    kind: tool.Source
    impl: sim
    settings:
      tools:
        - {name: say, description: "Knows ${env:LAMP_KEY}."}
        - {name: fail, behavior: {error: {message: "no lamp takes ${env:LAMP_KEY}"}}}
        - {name: long, behavior: {text: {text: "0123456789", repeat: 50}}}
        - {name: hang, behavior: {hang: {}}}
  tools:
    kind: tool.Assembly
    impl: middleware
    deps: {tool: lab}
    settings:
      middlewares:
        recover: {enabled: true}
        telemetry: {enabled: true}
        result_limit: {max: 100}
        concurrency: {limit: 4}
"#;

fn scenario(calls: &[Value]) -> String {
    let calls: Vec<_> = calls.iter().map(|call| json!({"calls": [call]})).collect();
    json!({"deployment": "./toolcrib.yaml", "rounds": calls}).to_string()
}

fn lab() -> Place {
    Place::with(LAB).set("LAMP_KEY", SECRET)
}

/// A Python program of this directory, run by the Python that has the packages.
fn python(script: &str) -> Command {
    let dir = std::env::var_os("TOOLCRIB_INTEROP");
    let dir = PathBuf::from(dir.expect("`.ci/run` sets TOOLCRIB_INTEROP"));
    let program = dir.join("venv/bin/python");
    assert!(program.exists(), "{} is not installed", program.display());
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop");
    let mut command = Command::new(program);
    command
        .arg(here.join(script))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A receiver that decodes with the official definitions.
struct Receiver {
    child: Child,
    lines: BufReader<ChildStdout>,
    url: String,
}

impl Receiver {
    async fn start() -> Self {
        let mut child = python("otlp_receiver.py").spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        let told = tokio::time::timeout(PATIENCE, lines.read_line(&mut first));
        told.await.expect("the receiver does not start").unwrap();
        let first: Value = serde_json::from_str(&first).unwrap();
        let url = format!("http://127.0.0.1:{}", first["port"]);
        Self { child, lines, url }
    }

    /// Everything that it was sent. A line is written before its request is answered, and the
    /// program ends after the answers: nothing is on its way any more.
    async fn received(mut self) -> Vec<Value> {
        self.child.kill().await.unwrap();
        let mut text = String::new();
        self.lines.read_to_string(&mut text).await.unwrap();
        assert!(!text.contains(SECRET), "{text}");
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        assert!(
            !lines.iter().any(|line| line.get("refused").is_some()),
            "{text}"
        );
        lines
    }
}

/// The messages that came for a path.
fn of<'l>(lines: &'l [Value], path: &'l str) -> impl Iterator<Item = &'l Value> {
    lines.iter().filter(move |line| line["path"] == path)
}

/// The innermost lists of the messages for a path, one after the other, by the names of the lists.
fn items<'l>(lines: &'l [Value], path: &'l str, names: [&str; 3]) -> Vec<&'l Value> {
    let list = |value: &'l Value, name: &str| value[name].as_array().unwrap().iter();
    of(lines, path)
        .flat_map(|line| list(&line["message"], names[0]))
        .flat_map(|resource| list(resource, names[1]))
        .flat_map(|scope| list(scope, names[2]))
        .collect()
}

/// Attributes as text by name.
fn attributes(of: &Value) -> BTreeMap<&str, String> {
    let all = of["attributes"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter()
        .map(|pair| {
            let value = pair["value"].as_object().unwrap().values().next().unwrap();
            let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
            (pair["key"].as_str().unwrap(), text)
        })
        .collect()
}

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn a_collector_decodes_spans_metrics_and_logs_and_none_holds_a_secret() {
    let receiver = Receiver::start().await;
    let place = lab()
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url)
        .set("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        .set(
            "OTEL_EXPORTER_OTLP_HEADERS",
            &format!("authorization={TOKEN}"),
        )
        .set("OTEL_SERVICE_NAME", "crib")
        .set(
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment.name=lab",
        );
    let calls = [
        json!({"tool": "say", "arguments": {"text": SECRET}}),
        json!({"tool": "say"}),
        json!({"tool": "fail"}),
        json!({"tool": "long"}),
    ];
    place.write("s.yaml", &scenario(&calls));
    let played = place.run(&["play", "s.yaml", "-vvv"]).await;
    assert_eq!(played.code, Some(0), "{played:?}");
    let unknown = place.run(&["call", "made_up"]).await;
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    for ended in [&played, &unknown] {
        assert!(!ended.stderr.contains("collector-token-77"), "{ended:?}");
    }
    let lines = receiver.received().await;

    for line in &lines {
        let headers = &line["headers"];
        assert_eq!(headers["authorization"], "Bearer collector-token-77");
        assert_eq!(headers["content-encoding"], "gzip", "{line}");
        assert!(!line["message"].to_string().contains("collector-token-77"));
        let list = line["message"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap();
        for resource in list.as_array().unwrap() {
            let of = attributes(&resource["resource"]);
            assert_eq!(of["service.name"], "crib");
            assert_eq!(of["service.version"], env!("CARGO_PKG_VERSION"));
            assert_eq!(of["deployment.environment.name"], "lab");
        }
    }

    let spans = items(
        &lines,
        "/v1/traces",
        ["resourceSpans", "scopeSpans", "spans"],
    );
    let mut told: Vec<_> = spans
        .iter()
        .map(|span| {
            let of = attributes(span);
            assert!(of["tool.call_id"].len() > 4, "{of:?}");
            assert!(of["duration_s"].parse::<f64>().unwrap() >= 0.0, "{of:?}");
            let nanos = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
            assert!(nanos("endTimeUnixNano") >= nanos("startTimeUnixNano"));
            let code = span["status"]["code"].as_str().unwrap().to_owned();
            let name = span["name"].as_str().unwrap().to_owned();
            let kind = of.get("error.type").cloned().unwrap_or_default();
            [
                name,
                of["tool.name"].clone(),
                of["status"].clone(),
                code,
                kind,
            ]
        })
        .collect();
    told.sort();
    let span = |name: &str, status: &str, code: &str, kind: &str| {
        let full = format!("{name}.execute");
        [full, name.into(), status.into(), code.into(), kind.into()]
    };
    assert_eq!(
        told,
        [
            span("_unknown", "error", "STATUS_CODE_ERROR", "not_found"),
            span("fail", "error", "STATUS_CODE_ERROR", "tool"),
            span("long", "ok", "STATUS_CODE_OK", ""),
            span("say", "ok", "STATUS_CODE_OK", ""),
            span("say", "ok", "STATUS_CODE_OK", ""),
        ]
    );

    let metrics = items(
        &lines,
        "/v1/metrics",
        ["resourceMetrics", "scopeMetrics", "metrics"],
    );
    let mut points = BTreeSet::new();
    for metric in metrics {
        let name = metric["name"].as_str().unwrap();
        let sum = metric["sum"]["dataPoints"].as_array();
        let histogram = metric["histogram"]["dataPoints"].as_array();
        for point in sum.into_iter().chain(histogram).flatten() {
            let value = point.get("asInt").or_else(|| point.get("count")).unwrap();
            points.insert(format!("{name} {:?} {value}", attributes(point)));
        }
        if sum.is_some() {
            assert_eq!(metric["sum"]["isMonotonic"], true, "{metric}");
        } else {
            assert_eq!(metric["unit"], "s", "{metric}");
        }
    }
    let expected = [
        r#"duration.seconds {"tool.name": "_unknown"} "1""#,
        r#"duration.seconds {"tool.name": "fail"} "1""#,
        r#"duration.seconds {"tool.name": "long"} "1""#,
        r#"duration.seconds {"tool.name": "say"} "2""#,
        r#"errors.total {"tool.name": "_unknown"} "1""#,
        r#"errors.total {"tool.name": "fail"} "1""#,
        r#"executions.total {"status": "error", "tool.name": "_unknown"} "1""#,
        r#"executions.total {"status": "error", "tool.name": "fail"} "1""#,
        r#"executions.total {"status": "ok", "tool.name": "long"} "1""#,
        r#"executions.total {"status": "ok", "tool.name": "say"} "2""#,
    ];
    assert_eq!(points, expected.map(String::from).into());

    let logs = items(
        &lines,
        "/v1/logs",
        ["resourceLogs", "scopeLogs", "logRecords"],
    );
    let failed = logs
        .iter()
        .find(|line| line["body"]["stringValue"] == "a call failed: no lamp takes ••••")
        .unwrap_or_else(|| panic!("{logs:#?}"));
    assert_eq!(failed["severityText"], "WARN");
    let of = attributes(failed);
    assert_eq!((&*of["tool"], &*of["kind"]), ("fail", "tool"));
}

/// What one scrape held in both formats.
async fn scrape(address: &str) -> Vec<Value> {
    let url = format!("http://{address}/metrics");
    let output = python("scrape.py").arg(url).output();
    let output = tokio::time::timeout(PATIENCE, output)
        .await
        .unwrap()
        .unwrap();
    assert!(output.status.success(), "the parsers refuse it");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains(SECRET), "{text}");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The value of a sample with these labels.
fn sample(families: &Value, name: &str, labels: &Value) -> Option<f64> {
    let families = families["families"].as_array().unwrap().iter();
    let mut samples = families.flat_map(|family| family["samples"].as_array().unwrap());
    let found = samples.find(|sample| sample["name"] == name && sample["labels"] == *labels);
    found.and_then(|sample| sample["value"].as_f64())
}

#[tokio::test]
#[ignore = "needs packages that .ci/run installs"]
async fn the_parsers_of_prometheus_read_what_is_served_while_a_scenario_plays() {
    let place = lab();
    let calls = [
        json!({"tool": "say", "arguments": {"text": SECRET}}),
        json!({"tool": "fail"}),
        json!({"tool": "long"}),
        json!({"tool": "hang"}),
    ];
    place.write("s.yaml", &scenario(&calls));
    let mut child = place
        .command(&["play", "s.yaml", "--metrics", "0", "-v"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = async {
        loop {
            let line = lines.next_line().await.unwrap();
            let line = line.expect("the log ends early");
            if let Some((_, rest)) = line.split_once("metrics are served at http://") {
                return rest.trim_end_matches("/metrics").to_owned();
            }
        }
    };
    let address = tokio::time::timeout(PATIENCE, told).await.unwrap();
    let scraping = async {
        let mut tick = tokio::time::interval(Duration::from_millis(50));
        loop {
            tick.tick().await;
            let scraped = scrape(&address).await;
            let hangs = sample(&scraped[0], "toolcrib_calls_in_flight", &json!({})) == Some(1.0);
            let cut = json!({"tool_name": "long", "status": "ok"});
            if hangs && sample(&scraped[0], "toolcrib_executions_total", &cut) == Some(1.0) {
                return scrape(&address).await;
            }
        }
    };
    let scraped = tokio::time::timeout(PATIENCE, scraping).await.unwrap();
    assert!(
        scraped[0]["media_type"]
            .as_str()
            .unwrap()
            .starts_with("text/plain")
    );
    let open = scraped[1]["media_type"].as_str().unwrap();
    assert!(open.starts_with("application/openmetrics-text"), "{open}");
    for families in &scraped {
        for (name, labels, expected) in [
            (
                "executions_total",
                json!({"tool_name": "say", "status": "ok"}),
                1.0,
            ),
            (
                "executions_total",
                json!({"tool_name": "fail", "status": "error"}),
                1.0,
            ),
            ("errors_total", json!({"tool_name": "fail"}), 1.0),
            ("errors_total", json!({"tool_name": "say"}), 0.0),
            ("errors_by_kind_total", json!({"error_kind": "tool"}), 1.0),
            ("duration_seconds_count", json!({"tool_name": "say"}), 1.0),
            (
                "duration_seconds_bucket",
                json!({"tool_name": "say", "le": "+Inf"}),
                1.0,
            ),
            ("results_truncated_total", json!({}), 1.0),
            ("tools", json!({"source": "lab"}), 4.0),
            ("calls_in_flight", json!({}), 1.0),
            (
                "layer_events_total",
                json!({"layer": "result_limit", "event": "results_cut"}),
                1.0,
            ),
        ] {
            let name = format!("toolcrib_{name}");
            assert_eq!(
                sample(families, &name, &labels),
                Some(expected),
                "{name} {labels}"
            );
        }
        for family in families["families"].as_array().unwrap() {
            assert_ne!(family["help"], "", "{family}");
            assert_ne!(family["type"], "unknown", "{family}");
        }
    }
    child.kill().await.unwrap();
}
