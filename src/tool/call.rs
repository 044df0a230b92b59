//! A call as it is asked for, and as a tool receives it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempts::Attempts;
use super::definition::json_type;
use super::result::{ErrorKind, ToolResult};

/// Identity of one call, unique within a process unless the caller chose it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

static NEXT_CALL: AtomicU64 = AtomicU64::new(1);

impl CallId {
    /// A fresh id, `call-1`, `call-2` and so on.
    pub fn fresh() -> Self {
        let number = NEXT_CALL.fetch_add(1, Ordering::Relaxed);
        Self(format!("call-{number}").into())
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CallId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call as a model or an operator asks for it (rule 1.2).
#[derive(Clone, Debug)]
pub struct Call {
    /// Identity; results carry it.
    pub id: CallId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The arguments as they came; see [`Call::checked_arguments`].
    pub arguments: Value,
    /// The instant after which nobody waits any more, if the caller has one.
    pub deadline: Option<Instant>,
    /// Fires when the caller gives up.
    pub cancel: CancellationToken,
    /// Name of the session that the call belongs to, if any.
    pub session: Option<Arc<str>>,
    /// The trace that the call belongs to, as the W3C header `traceparent`; from whoever asks for
    /// the call, and from the layer `telemetry` on that of its own span.
    pub traceparent: Option<Arc<str>>,
}

impl Call {
    /// A call with a fresh id and no deadline.
    pub fn new(tool: impl Into<Arc<str>>, arguments: Value) -> Self {
        Self {
            id: CallId::fresh(),
            tool: tool.into(),
            arguments,
            deadline: None,
            cancel: CancellationToken::new(),
            session: None,
            traceparent: None,
        }
    }

    /// The arguments as an object: blank text and `null` mean `{}`.
    ///
    /// # Errors
    /// A `validation` result for anything else that is not an object (rule 1.2).
    pub fn checked_arguments(&self) -> Result<Map<String, Value>, ToolResult> {
        match &self.arguments {
            Value::Object(map) => Ok(map.clone()),
            Value::Null => Ok(Map::new()),
            Value::String(text) if text.trim().is_empty() => Ok(Map::new()),
            other => Err(ToolResult::error(
                ErrorKind::Validation,
                format!(
                    "arguments of `{}` must be a JSON object, not {}",
                    self.tool,
                    json_type(other)
                ),
            )),
        }
    }
}

/// Waits for `work` until a call of `tool` is cancelled or its deadline passes.
///
/// # Errors
/// A `cancelled` or `timeout` result when the wait was given up; `work` is dropped then.
pub async fn bounded<T>(
    tool: &str,
    cancel: &CancellationToken,
    deadline: Option<Instant>,
    work: impl Future<Output = T>,
) -> Result<T, ToolResult> {
    let expired = async {
        match deadline {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolResult::cancelled(tool)),
        output = work => Ok(output),
        () = expired => Err(ToolResult::error(
            ErrorKind::Timeout,
            format!("`{tool}` did not answer before the deadline of the call"),
        )),
    }
}

/// A report of how far a running call is (rule 8.12).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Units done so far.
    pub done: f64,
    /// Units in all, when the tool knows.
    pub total: Option<f64>,
    /// What the tool says it is doing.
    pub message: Option<String>,
}

/// What a tool receives: checked arguments and the bounds of the call.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Identity of the call.
    pub id: CallId,
    /// The arguments, always an object.
    pub arguments: Map<String, Value>,
    /// The instant by which the tool should be done.
    pub deadline: Option<Instant>,
    /// Fires when nobody waits for the result any more.
    pub cancel: CancellationToken,
    /// Name of the session, if any.
    pub session: Option<Arc<str>>,
    /// Where the latest progress is put; only the newest counts.
    pub progress: tokio::sync::watch::Sender<Option<Progress>>,
    /// The trace that the call belongs to, as the W3C header `traceparent`.
    pub traceparent: Option<Arc<str>>,
    /// Where a tool that tries again notes its tries.
    pub attempts: Attempts,
}

impl Invocation {
    /// An invocation outside any executor, for tests and direct use of a tool.
    pub fn bare(arguments: Map<String, Value>) -> Self {
        Self {
            id: CallId::fresh(),
            arguments,
            deadline: None,
            cancel: CancellationToken::new(),
            session: None,
            progress: tokio::sync::watch::Sender::new(None),
            traceparent: None,
            attempts: Attempts::since(Instant::now()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blank_and_null_arguments_mean_an_empty_object() {
        for arguments in [json!(null), json!(""), json!("  \n"), json!({})] {
            assert_eq!(
                Call::new("t", arguments).checked_arguments().unwrap(),
                Map::new()
            );
        }
    }

    #[test]
    fn anything_else_that_is_no_object_is_a_validation_error() {
        for arguments in [json!(1), json!([]), json!("x"), json!(true)] {
            let result = Call::new("t", arguments).checked_arguments().unwrap_err();
            assert_eq!(result.error_kind, Some(ErrorKind::Validation));
        }
    }
}
