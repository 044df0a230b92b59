//! Export to an OpenTelemetry collector over OTLP/HTTP (rule 9.3), behind the feature `otel`: what
//! the layer `telemetry` tells becomes a span `<tool>.execute`, two counters and a histogram, and
//! lines of the program's log become log records.
//!
//! Nothing is exported unless the environment names an endpoint or an exporter. Of the standard
//! variables these count, those of OTLP each also in its form for one signal
//! (`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` and so on): `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`,
//! `_TIMEOUT`, `_COMPRESSION` (`gzip` or `none`), `_PROTOCOL` (`http/protobuf` alone);
//! `OTEL_SDK_DISABLED`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_EXPORTER`,
//! `OTEL_METRICS_EXPORTER` and `OTEL_LOGS_EXPORTER` (`otlp` or `none`), `OTEL_TRACES_SAMPLER` with
//! its argument, and the sizes and times `OTEL_BSP_*`, `OTEL_BLRP_*` and
//! `OTEL_METRIC_EXPORT_INTERVAL`. A value that none of them can have is an error.

mod env;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::metrics::{Counter, Histogram, MeterProvider as _};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{
    ExporterBuildError, LogExporter, MetricExporter, SpanExporter, WithExportConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use crate::middleware::{Execution, Instruments, Measured};
use crate::observe::SECONDS;
use crate::secrets::Secrets;

/// What a collector sees as the origin.
const SCOPE: &str = "toolcrib";

/// How long a flush is waited for, for example when the program ends.
const LAST_EXPORT: Duration = Duration::from_secs(3);

/// Why nothing can be exported.
#[derive(Debug, thiserror::Error)]
pub enum OtelError {
    /// An exporter cannot be made, for example because its endpoint is no URL.
    #[error("cannot export to the OpenTelemetry collector: {0}")]
    Exporter(#[from] ExporterBuildError),
    /// A variable asks for what this program does not know.
    #[error("`{variable}` is `{value}`; it has to be {known}")]
    Unknown {
        /// The variable.
        variable: String,
        /// Its value.
        value: String,
        /// What it may be.
        known: &'static str,
    },
    /// A list of headers holds what is none. The entry itself may be a token.
    #[error(
        "entry {number} of `{variable}` is no header; write `name=value`, with commas between them \
         and other signs percent-encoded"
    )]
    Header {
        /// The variable.
        variable: String,
        /// Which of its entries, counted from 1.
        number: usize,
    },
}

/// A line of the program's log.
#[derive(Clone, Debug)]
pub struct LogLine<'l> {
    /// When.
    pub at: SystemTime,
    /// How bad.
    pub level: tracing::Level,
    /// The part of the program.
    pub target: &'l str,
    /// The sentence.
    pub message: &'l str,
    /// Further fields by name.
    pub fields: &'l [(&'static str, String)],
}

/// A running export. Batches are sent by threads of their own; a collector that does not answer
/// costs spans and lines, never time of a call.
pub struct Otel {
    /// A collector that did not take one flush in time is not waited for again.
    dead: AtomicBool,
    secrets: Secrets,
    traces: Option<(SdkTracerProvider, SdkTracer)>,
    metrics: Option<Meters>,
    logs: Option<(SdkLoggerProvider, SdkLogger)>,
}

/// The instruments of rule 9.3.
struct Meters {
    provider: SdkMeterProvider,
    executions: Counter<u64>,
    errors: Counter<u64>,
    duration: Histogram<f64>,
}

impl fmt::Debug for Otel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Otel")
    }
}

/// The value of a variable that is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

impl Otel {
    /// An export as the `OTEL_*` variables say, or `None` when they name no endpoint or switch it
    /// off. What is exported has these secrets masked.
    ///
    /// # Errors
    /// When the variables make no sense.
    pub fn from_env(secrets: Secrets) -> Result<Option<Self>, OtelError> {
        let wanted = env::read(&variable)?;
        if !wanted.anything() {
            return Ok(None);
        }
        for value in &wanted.confidential {
            secrets.add(value);
        }
        let traces = match wanted.traces {
            true => Some(SpanExporter::builder().with_http().build()?),
            false => None,
        };
        let metrics = match wanted.metrics {
            true => Some(MetricExporter::builder().with_http().build()?),
            false => None,
        };
        let logs = match wanted.logs {
            true => Some(LogExporter::builder().with_http().build()?),
            false => None,
        };
        Ok(Some(Self::new(traces, metrics, logs, secrets)))
    }

    /// An export of everything to this collector, for example `http://127.0.0.1:4318`.
    ///
    /// # Errors
    /// When the endpoint is no URL.
    pub fn to(endpoint: &str, secrets: Secrets) -> Result<Self, OtelError> {
        let endpoint = endpoint.trim_end_matches('/');
        let spans = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{endpoint}/v1/traces"))
            .build()?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_endpoint(format!("{endpoint}/v1/metrics"))
            .build()?;
        let logs = LogExporter::builder()
            .with_http()
            .with_endpoint(format!("{endpoint}/v1/logs"))
            .build()?;
        Ok(Self::new(Some(spans), Some(metrics), Some(logs), secrets))
    }

    fn new(
        spans: Option<SpanExporter>,
        metrics: Option<MetricExporter>,
        logs: Option<LogExporter>,
        secrets: Secrets,
    ) -> Self {
        // A name that is set here would win over the variables.
        let named = variable("OTEL_SERVICE_NAME").is_some()
            || variable("OTEL_RESOURCE_ATTRIBUTES")
                .is_some_and(|list| list.contains("service.name="));
        let resource = Resource::builder()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let resource = match named {
            true => resource.build(),
            false => resource.with_service_name(SCOPE).build(),
        };
        let traces = spans.map(|exporter| {
            let provider = SdkTracerProvider::builder()
                .with_resource(resource.clone())
                .with_batch_exporter(exporter)
                .build();
            let tracer = provider.tracer(SCOPE);
            (provider, tracer)
        });
        let metrics = metrics.map(|exporter| {
            let provider = SdkMeterProvider::builder()
                .with_resource(resource.clone())
                .with_periodic_exporter(exporter)
                .build();
            Meters::new(provider)
        });
        let logs = logs.map(|exporter| {
            let provider = SdkLoggerProvider::builder()
                .with_resource(resource.clone())
                .with_batch_exporter(exporter)
                .build();
            let logger = provider.logger(SCOPE);
            (provider, logger)
        });
        Self {
            dead: AtomicBool::new(false),
            secrets,
            traces,
            metrics,
            logs,
        }
    }

    /// Exports a line of the log, secrets masked. Lines of the export itself are left out: a
    /// collector that does not answer would be told of it for ever.
    pub fn log(&self, line: &LogLine<'_>) {
        let Some((_, logger)) = &self.logs else {
            return;
        };
        let own = ["opentelemetry", "reqwest", "hyper"];
        if own.iter().any(|target| line.target.starts_with(target)) {
            return;
        }
        let masked = |text: &str| AnyValue::from(self.secrets.mask(text).into_owned());
        let mut record = logger.create_log_record();
        let (severity, word) = severity(line.level);
        record.set_timestamp(line.at);
        record.set_observed_timestamp(line.at);
        record.set_severity_number(severity);
        record.set_severity_text(word);
        record.set_target(line.target.to_owned());
        record.set_body(masked(line.message));
        for (name, value) in line.fields {
            record.add_attribute(*name, masked(value));
        }
        logger.emit(record);
    }
}

fn severity(level: tracing::Level) -> (Severity, &'static str) {
    match level {
        tracing::Level::ERROR => (Severity::Error, "ERROR"),
        tracing::Level::WARN => (Severity::Warn, "WARN"),
        tracing::Level::INFO => (Severity::Info, "INFO"),
        tracing::Level::DEBUG => (Severity::Debug, "DEBUG"),
        tracing::Level::TRACE => (Severity::Trace, "TRACE"),
    }
}

impl Meters {
    fn new(provider: SdkMeterProvider) -> Self {
        let meter = provider.meter(SCOPE);
        Self {
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
                .with_boundaries(SECONDS.to_vec())
                .build(),
            provider,
        }
    }
}

/// The context of the W3C header `traceparent`; `None` for what is none.
fn parse(header: &str) -> Option<SpanContext> {
    let mut parts = header.trim().split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    // Version 00 has four parts; a later one may have more, of which these are still true.
    let known =
        version.len() == 2 && version != "ff" && (version != "00" || parts.next().is_none());
    if !known || trace.len() != 32 || span.len() != 16 || flags.len() != 2 {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        flags,
        true,
        TraceState::default(),
    );
    context.is_valid().then_some(context)
}

/// A call whose span has begun.
struct Running {
    executions: Option<(Counter<u64>, Counter<u64>, Histogram<f64>)>,
    span: Option<opentelemetry_sdk::trace::Span>,
    call_id: String,
    tool: String,
}

impl Measured for Running {
    fn traceparent(&self) -> Option<Arc<str>> {
        let context = self.span.as_ref()?.span_context();
        context.is_valid().then(|| {
            format!(
                "00-{}-{}-{:02x}",
                context.trace_id(),
                context.span_id(),
                context.trace_flags()
            )
            .into()
        })
    }

    fn end(self: Box<Self>, execution: &Execution) {
        let tool = KeyValue::new("tool.name", self.tool);
        let status = KeyValue::new("status", execution.status());
        let seconds = execution.duration.as_secs_f64();
        if let Some((executions, errors, duration)) = &self.executions {
            executions.add(1, &[tool.clone(), status.clone()]);
            duration.record(seconds, std::slice::from_ref(&tool));
            if execution.error.is_some() {
                errors.add(1, std::slice::from_ref(&tool));
            }
        }
        let Some(mut span) = self.span else { return };
        span.set_attributes([
            tool,
            KeyValue::new("tool.call_id", self.call_id),
            KeyValue::new("duration_s", seconds),
            status,
        ]);
        if let Some(kind) = execution.error {
            span.set_attribute(KeyValue::new("error.type", kind.as_str()));
        }
        let begun = SystemTime::from(execution.begun.wall);
        for (at, attempt) in execution.attempts.iter().enumerate() {
            let number = i64::try_from(at + 1).unwrap_or(i64::MAX);
            let worked = attempt.took.saturating_sub(attempt.waited);
            let outcome = attempt.outcome.clone().unwrap_or("given up".into());
            span.add_event_with_timestamp(
                "attempt",
                begun + attempt.entered + attempt.waited,
                vec![
                    KeyValue::new("attempt.number", number),
                    KeyValue::new("attempt.waited_s", attempt.waited.as_secs_f64()),
                    KeyValue::new("attempt.duration_s", worked.as_secs_f64()),
                    KeyValue::new("attempt.outcome", outcome),
                ],
            );
        }
        span.set_status(match execution.error {
            None => Status::Ok,
            Some(kind) => Status::error(kind.as_str()),
        });
        span.end_with_timestamp(begun + execution.duration);
    }
}

impl Instruments for Otel {
    fn begin(&self, execution: &Execution, parent: Option<&str>) -> Box<dyn Measured> {
        let tool = self.secrets.mask(&execution.tool).into_owned();
        let parent = match parent.and_then(parse) {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
        let span = self.traces.as_ref().map(|(_, tracer)| {
            tracer
                .span_builder(format!("{tool}.execute"))
                .with_kind(SpanKind::Internal)
                .with_start_time(SystemTime::from(execution.begun.wall))
                .start_with_context(tracer, &parent)
        });
        let executions = self.metrics.as_ref().map(|meters| {
            (
                meters.executions.clone(),
                meters.errors.clone(),
                meters.duration.clone(),
            )
        });
        Box::new(Running {
            executions,
            span,
            call_id: self.secrets.mask(execution.call_id.as_str()).into_owned(),
            tool,
        })
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        if self.dead.load(Ordering::Relaxed) {
            return Box::pin(async {});
        }
        let traces = self.traces.as_ref().map(|(provider, _)| provider.clone());
        let metrics = self.metrics.as_ref().map(|meters| meters.provider.clone());
        let logs = self.logs.as_ref().map(|(provider, _)| provider.clone());
        // All of them block: they wait for their threads. Side by side, so that one that waits for
        // a dead collector does not keep the others from theirs.
        let flush = [
            tokio::task::spawn_blocking(move || traces.map(|provider| provider.force_flush())),
            tokio::task::spawn_blocking(move || metrics.map(|provider| provider.force_flush())),
            tokio::task::spawn_blocking(move || logs.map(|provider| provider.force_flush())),
        ];
        Box::pin(async move {
            let flushed = futures::future::join_all(flush);
            match tokio::time::timeout(LAST_EXPORT, flushed).await {
                Ok(results) => {
                    let results = results.into_iter().filter_map(|ended| ended.ok().flatten());
                    for error in results.filter_map(Result::err) {
                        tracing::warn!(%error, "an export to the OpenTelemetry collector failed");
                    }
                }
                Err(_) => {
                    self.dead.store(true, Ordering::Relaxed);
                    tracing::warn!("the OpenTelemetry collector did not take the last export");
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_that_is_no_url_is_an_error() {
        assert!(Otel::to("not a url", Secrets::default()).is_err());
    }

    #[test]
    fn only_a_whole_traceparent_is_taken() {
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = parse(header).unwrap();
        assert!(context.is_sampled() && context.is_remote());
        assert_eq!(
            context.trace_id().to_string(),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-4bf9-00f067aa0ba902b7-01",
            "zz",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
        assert!(parse(&format!("cc{}-more", &header[2..])).is_some());
    }
}
