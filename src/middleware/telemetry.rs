//! `telemetry`: tells of every call to the instruments of the host, and warns of failed ones
//! (rule 9.3). The console's own statistics do not depend on it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tracing::Instrument as _;

use super::counter::Count;
use super::ending::{End, Ending};
use super::{Counter, Middleware, Next, Request, Trace};
use crate::clock::Stamp;
use crate::secrets::Secrets;
use crate::tool::{Attempt, CallId, ErrorKind, ToolResult};

/// The label of all names that no tool has, so that a model that invents names cannot grow the
/// tables of whoever collects them.
pub(super) const UNKNOWN: &str = "_unknown";

/// How much of an error's text a log line carries.
const ERROR_CHARS: usize = 512;

/// A call that ended, as instruments get it.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// The tool, or `_unknown`; the span is named `<tool>.execute`.
    pub tool: Arc<str>,
    /// The call.
    pub call_id: CallId,
    /// When it began.
    pub begun: Stamp,
    /// How long it took, queues included.
    pub duration: Duration,
    /// The kind of error, if it failed.
    pub error: Option<ErrorKind>,
    /// The tries of a tool that tried again; empty when it did not.
    pub attempts: Arc<[Attempt]>,
}

impl Execution {
    /// `ok` or `error`.
    pub fn status(&self) -> &'static str {
        match self.error {
            None => "ok",
            Some(_) => "error",
        }
    }
}

/// Where executions are counted and exported. Called on the call's own task: must not block.
pub trait Instruments: fmt::Debug + Send + Sync + 'static {
    /// A call begins. `parent` is the trace that it belongs to already, as the W3C header
    /// `traceparent`, if whoever asked for it said so.
    fn begin(&self, execution: &Execution, parent: Option<&str>) -> Box<dyn Measured>;

    /// Sends what is left; called when a chain ends. The instruments may go on after that.
    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A call that is being measured.
pub trait Measured: Send {
    /// The trace that what the call does belongs to, as the W3C header `traceparent`.
    fn traceparent(&self) -> Option<Arc<str>>;

    /// The call has ended; `execution` says how.
    fn end(self: Box<Self>, execution: &Execution);
}

/// The layer.
#[derive(Debug)]
pub struct Telemetry {
    instruments: Option<Arc<dyn Instruments>>,
    secrets: Secrets,
    executions: Count,
    errors: Count,
}

impl Telemetry {
    /// A layer that tells these instruments, if there are any. Secrets are masked in its warnings.
    pub fn new(instruments: Option<Arc<dyn Instruments>>, secrets: Secrets) -> Self {
        Self {
            instruments,
            secrets,
            executions: Count::default(),
            errors: Count::default(),
        }
    }

    fn ended(
        &self,
        mut execution: Execution,
        trace: &Trace,
        measured: Option<Box<dyn Measured>>,
        end: End<'_>,
    ) {
        execution.duration = Stamp::now()
            .at
            .saturating_duration_since(execution.begun.at);
        execution.error = end.kind();
        self.executions.one();
        if let Some(kind) = execution.error {
            self.errors.one();
            self.warn(&execution, kind, end);
        }
        if let Some(measured) = measured {
            execution.attempts = trace.attempts().several();
            measured.end(&execution);
        }
    }

    fn warn(&self, execution: &Execution, kind: ErrorKind, end: End<'_>) {
        let text: String = match end {
            // Masked before it is cut, for half a secret would not be known as one.
            End::Result(result) => {
                let text = result.all_text();
                self.secrets.mask(&text).chars().take(ERROR_CHARS).collect()
            }
            End::Panic => "it panicked".into(),
            End::Dropped => "nobody waits for it any more".into(),
        };
        tracing::warn!(
            target: "toolcrib::call",
            tool = &*execution.tool,
            call_id = execution.call_id.as_str(),
            kind = kind.as_str(),
            duration_s = execution.duration.as_secs_f64(),
            "a call failed: {text}"
        );
    }
}

impl Middleware for Telemetry {
    fn name(&self) -> &'static str {
        "telemetry"
    }

    fn settings(&self) -> Value {
        json!({"enabled": true, "exported": self.instruments.is_some()})
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            self.executions.shown_as("executions.total"),
            self.errors.shown_as("errors.total"),
        ]
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        match &self.instruments {
            Some(instruments) => instruments.flush(),
            None => Box::pin(async {}),
        }
    }

    fn handle<'a>(&'a self, mut request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let tool = match request.entry() {
            Some(_) => Arc::clone(&request.call.tool),
            None => UNKNOWN.into(),
        };
        let execution = Execution {
            tool,
            call_id: request.call.id.clone(),
            begun: Stamp::now(),
            duration: Duration::ZERO,
            error: None,
            attempts: Arc::new([]),
        };
        // Log lines from inside the call say which call it is.
        let span = tracing::info_span!(
            target: "toolcrib::call",
            "execute",
            tool = &*execution.tool,
            call_id = execution.call_id.as_str(),
        );
        let parent = request.call.traceparent.as_deref();
        let instruments = self.instruments.as_ref();
        let measured = instruments.map(|instruments| instruments.begin(&execution, parent));
        if let Some(traceparent) = measured.as_ref().and_then(|it| it.traceparent()) {
            request.call.traceparent = Some(traceparent);
        }
        let trace = request.trace();
        let ending = Ending::new(move |end| self.ended(execution, &trace, measured, end));
        let work = async move {
            let result = next.run(request).await;
            ending.with(&result);
            result
        };
        Box::pin(work.instrument(span))
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::middleware::{Chain, Endpoint};
    use crate::registry::{Owner, Registry};
    use crate::tool::{Call, Definition, Invocation, Tool};

    #[derive(Debug, Default)]
    struct Seen(Mutex<Vec<(String, &'static str, u128)>>);

    impl Instruments for Arc<Seen> {
        fn begin(&self, _: &Execution, parent: Option<&str>) -> Box<dyn Measured> {
            assert_eq!(parent, Some("from outside"));
            Box::new(Sees(Arc::clone(self)))
        }
    }

    struct Sees(Arc<Seen>);

    impl Measured for Sees {
        fn traceparent(&self) -> Option<Arc<str>> {
            Some("of the span".into())
        }
        fn end(self: Box<Self>, execution: &Execution) {
            let ms = execution.duration.as_millis();
            let tool = execution.tool.to_string();
            self.0.0.lock().push((tool, execution.status(), ms));
        }
    }

    struct Known;

    impl Tool for Known {
        fn definition(&self) -> Definition {
            Definition::new("known", "", json!({"type": "object"})).unwrap()
        }
        fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
            Box::pin(async { ToolResult::text("done") })
        }
    }

    struct Acts;

    impl Endpoint for Acts {
        fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
            Box::pin(async move {
                assert_eq!(request.call.traceparent.as_deref(), Some("of the span"));
                tokio::time::sleep(Duration::from_millis(30)).await;
                match request.entry() {
                    Some(_) => ToolResult::text("done"),
                    None => ToolResult::error(ErrorKind::NotFound, "hunter22 is unknown"),
                }
            })
        }
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_call_is_told_and_a_failed_one_is_warned_of_without_secrets() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .finish();
        let _log = tracing::subscriber::set_default(subscriber);
        let registry = Registry::new();
        registry
            .publish(&Owner::source("s", 0), vec![Arc::new(Known)])
            .await;
        let secrets = Secrets::default();
        secrets.add("hunter22");
        let seen = Arc::new(Seen::default());
        let layer = Telemetry::new(Some(Arc::new(Arc::clone(&seen))), secrets);
        let chain = Chain::new(vec![Arc::new(layer)]);
        let run = async |tool: &str| {
            let mut call = Call::new(tool, json!({}));
            call.id = "call-9".into();
            call.traceparent = Some("from outside".into());
            let request = Request::new(call, registry.catalog());
            let work = chain.run(request, &Acts);
            let _ = tokio::time::timeout(Duration::from_millis(50), work).await;
        };
        run("known").await;
        run("made_up").await;
        let row = |tool: &str, status| (tool.to_owned(), status, 30);
        assert_eq!(*seen.0.lock(), [row("known", "ok"), row(UNKNOWN, "error")]);
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        assert_eq!(
            text,
            " WARN execute{tool=\"_unknown\" call_id=\"call-9\"}: toolcrib::call: a call failed: •••• is unknown tool=\"_unknown\" call_id=\"call-9\" kind=\"not_found\" duration_s=0.03\n"
        );
        let counters: Vec<_> = chain.status()[0].counters.iter().map(|c| c.value).collect();
        assert_eq!(counters, [2, 1]);
    }
}
