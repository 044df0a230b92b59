//! The export to an OpenTelemetry collector, against a receiver that decodes what is posted.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use futures::future::BoxFuture;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value as Any};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use parking_lot::Mutex;
use prost::Message as _;
use serde_json::json;
use toolcrib::clock::Stamp;
use toolcrib::executor::{CallObserver, Executor, Outcome, Started};
use toolcrib::middleware::settings::MiddlewareSettings;
use toolcrib::middleware::{Approvals, BuildContext, Instruments, build};
use toolcrib::otel::{LogLine, Otel};
use toolcrib::registry::{Owner, Registry};
use toolcrib::secrets::Secrets;
use toolcrib::tool::{Call, Definition, ErrorKind, Invocation, Tool, ToolResult};

/// Everything that was posted, decoded.
#[derive(Default)]
struct Received {
    traces: Vec<ExportTraceServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
    logs: Vec<ExportLogsServiceRequest>,
}

type Shared = Arc<Mutex<Received>>;

async fn collector() -> (String, Shared) {
    let received = Shared::default();
    let app = Router::new()
        .route(
            "/v1/traces",
            post(async |State(to): State<Shared>, body: Bytes| {
                let request = ExportTraceServiceRequest::decode(body).unwrap();
                to.lock().traces.push(request);
            }),
        )
        .route(
            "/v1/metrics",
            post(async |State(to): State<Shared>, body: Bytes| {
                let request = ExportMetricsServiceRequest::decode(body).unwrap();
                to.lock().metrics.push(request);
            }),
        )
        .route(
            "/v1/logs",
            post(async |State(to): State<Shared>, body: Bytes| {
                let request = ExportLogsServiceRequest::decode(body).unwrap();
                to.lock().logs.push(request);
            }),
        )
        .with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, received)
}

/// Answers with the trace that it was called in; fails when it is told to.
struct Tells;

impl Tool for Tells {
    fn definition(&self) -> Definition {
        Definition::new("fs__read", "Reads.", json!({"type": "object"})).unwrap()
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            match invocation.arguments.get("fail") {
                Some(_) => {
                    for outcome in ["503", "500"] {
                        invocation.attempts.begin().ends(outcome);
                    }
                    ToolResult::error(ErrorKind::Tool, "it broke")
                }
                None => ToolResult::text(invocation.traceparent.as_deref().unwrap_or("none")),
            }
        })
    }
}

struct Silent;

impl CallObserver for Silent {
    fn started(&self, _: &Arc<Started>) {}
    fn finished(&self, _: &Outcome) {}
}

async fn executor(otel: &Arc<Otel>) -> Executor {
    let registry = Arc::new(Registry::new());
    let tool = Arc::new(Tells) as Arc<dyn Tool>;
    registry.publish(&Owner::source("s", 0), vec![tool]).await;
    let context = BuildContext {
        registry: Arc::clone(&registry),
        secrets: Secrets::default(),
        approvals: Approvals::default(),
        instruments: Some(Arc::clone(otel) as Arc<dyn Instruments>),
    };
    let settings = MiddlewareSettings {
        telemetry: true,
        ..MiddlewareSettings::default()
    };
    let chain = build(&settings, &context).unwrap();
    Executor::new(registry, chain, Arc::new(Silent))
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => text.clone(),
        Some(Any::DoubleValue(number)) => format!("{number:.1}"),
        other => format!("{other:?}"),
    }
}

fn attribute(all: &[KeyValue], name: &str) -> String {
    let found = all.iter().find(|pair| pair.key == name);
    found.map_or_else(|| "absent".into(), |pair| text(pair.value.as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_gets_spans_in_their_trace_counters_the_histogram_and_masked_logs() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (url, received) = collector().await;
    let secrets = Secrets::default();
    secrets.add("hunter2222");
    let otel = Arc::new(Otel::to(&url, secrets).unwrap());
    let executor = executor(&otel).await;
    let call = |id: &str, name: &str, arguments| {
        let mut call = Call::new(name, arguments);
        call.id = id.into();
        call
    };
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let mut inside = call("call-1", "fs__read", json!({}));
    inside.traceparent = Some(format!("00-{trace}-00f067aa0ba902b7-01").into());
    let told = executor.call(inside).await.result.all_text();
    executor
        .call(call("call-2", "fs__read", json!({"fail": true})))
        .await;
    executor
        .call(call("call-3", "made_up_by_a_model", json!({})))
        .await;
    otel.log(&LogLine {
        at: Stamp::now().wall.into(),
        level: tracing::Level::WARN,
        target: "toolcrib::call",
        message: "the token hunter2222 was refused",
        fields: &[("call_id", "call-2".into()), ("token", "hunter2222".into())],
    });
    // What the export says of itself is not exported.
    otel.log(&LogLine {
        at: Stamp::now().wall.into(),
        level: tracing::Level::ERROR,
        target: "opentelemetry_sdk",
        message: "own words",
        fields: &[],
    });
    executor.chain().close().await;
    let received = received.lock();

    let resource = received.traces[0].resource_spans[0]
        .resource
        .as_ref()
        .unwrap();
    assert_eq!(attribute(&resource.attributes, "service.name"), "toolcrib");
    let spans: Vec<_> = received
        .traces
        .iter()
        .flat_map(|request| &request.resource_spans)
        .flat_map(|resource| &resource.scope_spans)
        .flat_map(|scope| &scope.spans)
        .collect();
    let of = |id: &str| {
        let mut spans = spans.iter();
        *spans
            .find(|span| attribute(&span.attributes, "tool.call_id") == id)
            .unwrap()
    };
    let first = of("call-1");
    assert_eq!(first.name, "fs__read.execute");
    assert_eq!(hex(&first.trace_id), trace);
    assert_eq!(hex(&first.parent_span_id), "00f067aa0ba902b7");
    // What the tool was told is the span that the collector got.
    assert_eq!(told, format!("00-{trace}-{}-01", hex(&first.span_id)));
    assert_eq!(attribute(&first.attributes, "tool.name"), "fs__read");
    assert_eq!(attribute(&first.attributes, "duration_s"), "0.0");
    assert_eq!(attribute(&first.attributes, "status"), "ok");
    assert_eq!(first.status.as_ref().unwrap().code, 1);
    let failed = of("call-2");
    assert_eq!(attribute(&failed.attributes, "status"), "error");
    assert_eq!(attribute(&failed.attributes, "error.type"), "tool");
    assert_eq!(failed.status.as_ref().unwrap().code, 2);
    let tries: Vec<_> = failed
        .events
        .iter()
        .map(|event| {
            (
                &*event.name,
                attribute(&event.attributes, "attempt.outcome"),
            )
        })
        .collect();
    assert_eq!(
        tries,
        [("attempt", "503".to_owned()), ("attempt", "500".to_owned())]
    );
    assert_eq!(first.events, []);
    assert_ne!(
        hex(&failed.trace_id),
        trace,
        "a call without a parent begins a trace"
    );
    assert_eq!(of("call-3").name, "_unknown.execute");
    assert_eq!(spans.len(), 3);

    let metrics: Vec<_> = received
        .metrics
        .iter()
        .flat_map(|request| &request.resource_metrics)
        .flat_map(|resource| &resource.scope_metrics)
        .flat_map(|scope| &scope.metrics)
        .collect();
    let mut counted = Vec::new();
    for metric in metrics {
        match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => counted.extend(sum.data_points.iter().map(|point| {
                let Some(Number::AsInt(value)) = point.value else {
                    panic!("{point:?}");
                };
                let tool = attribute(&point.attributes, "tool.name");
                let status = attribute(&point.attributes, "status");
                format!("{} {tool} {status} {value}", metric.name)
            })),
            Data::Histogram(histogram) => {
                counted.extend(histogram.data_points.iter().map(|point| {
                    let tool = attribute(&point.attributes, "tool.name");
                    format!("{} {tool} {}", metric.name, point.count)
                }));
            }
            other => panic!("{other:?}"),
        }
    }
    counted.sort();
    assert_eq!(
        counted,
        [
            "duration.seconds _unknown 1",
            "duration.seconds fs__read 2",
            "errors.total _unknown absent 1",
            "errors.total fs__read absent 1",
            "executions.total _unknown error 1",
            "executions.total fs__read error 1",
            "executions.total fs__read ok 1",
        ]
    );

    let logs: Vec<_> = received
        .logs
        .iter()
        .flat_map(|request| &request.resource_logs)
        .flat_map(|resource| &resource.scope_logs)
        .flat_map(|scope| &scope.log_records)
        .collect();
    let [line] = logs.as_slice() else {
        panic!("{logs:?}");
    };
    assert_eq!(text(line.body.as_ref()), "the token •••• was refused");
    assert_eq!(line.severity_text, "WARN");
    assert_eq!(attribute(&line.attributes, "call_id"), "call-2");
    assert_eq!(attribute(&line.attributes, "token"), "••••");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_collector_holds_the_end_up_for_a_few_seconds_at_most_and_once() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Takes connections and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let otel = Arc::new(Otel::to(&url, Secrets::default()).unwrap());
    let executor = executor(&otel).await;
    executor.call(Call::new("fs__read", json!({}))).await;
    let begin = tokio::time::Instant::now();
    otel.flush().await;
    otel.flush().await;
    otel.flush().await;
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
    drop(listener);
    // Dropping the export would wait for the collector once more.
    std::mem::forget(executor);
    std::mem::forget(otel);
}
