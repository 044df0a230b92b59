//! Export to an OpenTelemetry collector over OTLP/HTTP (rule 9.3), behind the feature `otel`: what
//! the layer `telemetry` tells becomes a span `<tool>.execute`, two counters and a histogram.

use std::fmt;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, MeterProvider as _};
use opentelemetry::trace::{Span as _, Status, Tracer as _, TracerProvider as _};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use crate::middleware::{Execution, Instruments};

/// The variable that names the collector everywhere.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// What a collector sees as the origin.
const SCOPE: &str = "toolcrib";

/// Upper bounds of the histogram, in seconds: from a tool in memory to a slow server.
const BOUNDARIES: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// How long a flush is waited for, for example when the program ends.
const LAST_EXPORT: Duration = Duration::from_secs(3);

/// Why nothing can be exported.
#[derive(Debug, thiserror::Error)]
#[error("cannot export to the OpenTelemetry collector: {0}")]
pub struct OtelError(#[from] ExporterBuildError);

/// A running export. Batches are sent by threads of their own; a collector that does not answer
/// costs spans, never time of a call.
pub struct Otel {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    tracer: SdkTracer,
    executions: Counter<u64>,
    errors: Counter<u64>,
    duration: Histogram<f64>,
}

impl fmt::Debug for Otel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Otel")
    }
}

impl Otel {
    /// An export as the `OTEL_*` variables say, or `None` when `OTEL_EXPORTER_OTLP_ENDPOINT` is
    /// not set.
    ///
    /// # Errors
    /// When the variables make no sense.
    pub fn from_env() -> Result<Option<Self>, OtelError> {
        if std::env::var_os(ENDPOINT).is_none_or(|value| value.is_empty()) {
            return Ok(None);
        }
        let spans = SpanExporter::builder().with_http().build()?;
        let metrics = MetricExporter::builder().with_http().build()?;
        Ok(Some(Self::new(spans, metrics)))
    }

    /// An export to this collector, for example `http://127.0.0.1:4318`.
    ///
    /// # Errors
    /// When the endpoint is no URL.
    pub fn to(endpoint: &str) -> Result<Self, OtelError> {
        let endpoint = endpoint.trim_end_matches('/');
        let spans = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{endpoint}/v1/traces"))
            .build()?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_endpoint(format!("{endpoint}/v1/metrics"))
            .build()?;
        Ok(Self::new(spans, metrics))
    }

    fn new(spans: SpanExporter, metrics: MetricExporter) -> Self {
        // A name that is set here would win over the variable.
        let resource = Resource::builder()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_service_name(std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| SCOPE.into()))
            .build();
        let traces = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_batch_exporter(spans)
            .build();
        let metrics = SdkMeterProvider::builder()
            .with_resource(resource)
            .with_periodic_exporter(metrics)
            .build();
        let meter = metrics.meter(SCOPE);
        Self {
            tracer: traces.tracer(SCOPE),
            executions: meter
                .u64_counter("executions.total")
                .with_description("Calls that ended.")
                .build(),
            errors: meter
                .u64_counter("errors.total")
                .with_description("Calls that failed.")
                .build(),
            duration: meter
                .f64_histogram("duration.seconds")
                .with_description("How long calls took, queues included.")
                .with_unit("s")
                .with_boundaries(BOUNDARIES.to_vec())
                .build(),
            traces,
            metrics,
        }
    }
}

impl Instruments for Otel {
    fn executed(&self, execution: &Execution) {
        let tool = KeyValue::new("tool.name", execution.tool.to_string());
        let status = KeyValue::new("status", execution.status());
        let seconds = execution.duration.as_secs_f64();
        self.executions.add(1, &[tool.clone(), status.clone()]);
        self.duration.record(seconds, std::slice::from_ref(&tool));
        let mut attributes = vec![
            tool.clone(),
            KeyValue::new("tool.call_id", execution.call_id.to_string()),
            KeyValue::new("duration_s", seconds),
            status,
        ];
        if let Some(kind) = execution.error {
            self.errors.add(1, &[tool]);
            attributes.push(KeyValue::new("error.type", kind.as_str()));
        }
        let begun = SystemTime::from(execution.begun.wall);
        let mut span = self
            .tracer
            .span_builder(format!("{}.execute", execution.tool))
            .with_start_time(begun)
            .with_attributes(attributes)
            .start(&self.tracer);
        span.set_status(match execution.error {
            None => Status::Ok,
            Some(kind) => Status::error(kind.as_str()),
        });
        span.end_with_timestamp(begun + execution.duration);
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        let (traces, metrics) = (self.traces.clone(), self.metrics.clone());
        // Both block: they wait for their threads.
        let flushed =
            tokio::task::spawn_blocking(move || [traces.force_flush(), metrics.force_flush()]);
        Box::pin(async move {
            match tokio::time::timeout(LAST_EXPORT, flushed).await {
                Ok(Ok(results)) => {
                    for error in results.into_iter().filter_map(Result::err) {
                        tracing::warn!(%error, "an export to the OpenTelemetry collector failed");
                    }
                }
                Ok(Err(_)) | Err(_) => {
                    tracing::warn!("the OpenTelemetry collector did not take the last export");
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::Router;
    use axum::body::Bytes;
    use axum::extract::State;
    use axum::routing::post;
    use parking_lot::Mutex;

    use super::*;
    use crate::clock::Stamp;
    use crate::tool::ErrorKind;

    /// What was posted, by path. The bodies are protobuf, in which texts stand as they are.
    type Posted = Arc<Mutex<Vec<(&'static str, Bytes)>>>;

    async fn collector() -> (String, Posted) {
        let posted = Posted::default();
        let keep = |path: &'static str| {
            post(
                move |State(posted): State<Posted>, body: Bytes| async move {
                    posted.lock().push((path, body));
                },
            )
        };
        let app = Router::new()
            .route("/v1/traces", keep("traces"))
            .route("/v1/metrics", keep("metrics"))
            .with_state(Arc::clone(&posted));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (url, posted)
    }

    fn holds(posted: &Posted, path: &str, text: &str) -> bool {
        let posted = posted.lock();
        posted.iter().filter(|(p, _)| *p == path).any(|(_, body)| {
            body.windows(text.len())
                .any(|window| window == text.as_bytes())
        })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_collector_gets_spans_counters_and_the_histogram() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (url, posted) = collector().await;
        let otel = Otel::to(&url).unwrap();
        let execution = |error| Execution {
            tool: "fs__read".into(),
            call_id: "call-77".into(),
            begun: Stamp::now(),
            duration: Duration::from_millis(30),
            error,
        };
        otel.executed(&execution(None));
        otel.executed(&execution(Some(ErrorKind::Timeout)));
        otel.flush().await;
        for text in [
            "fs__read.execute",
            "tool.name",
            "tool.call_id",
            "call-77",
            "duration_s",
            "status",
            "timeout",
        ] {
            assert!(holds(&posted, "traces", text), "a span holds `{text}`");
        }
        for text in [
            "executions.total",
            "errors.total",
            "duration.seconds",
            "fs__read",
            "toolcrib",
        ] {
            assert!(holds(&posted, "metrics", text), "a metric holds `{text}`");
        }
    }

    #[test]
    fn an_endpoint_that_is_no_url_is_an_error() {
        assert!(Otel::to("not a url").is_err());
    }
}
