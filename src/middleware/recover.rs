//! `recover`: a panic becomes an error result (rule 9.2).

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::counter::Count;
use super::{Counter, Middleware, Next, Request};
use crate::tool::{ErrorKind, ToolResult};

/// The outermost layer: keeps the others whole when something inside panics.
#[derive(Debug, Default)]
pub struct Recover {
    recovered: Count,
}

impl Middleware for Recover {
    fn name(&self) -> &'static str {
        "recover"
    }

    fn settings(&self) -> Value {
        json!({"enabled": true})
    }

    fn counters(&self) -> Vec<Counter> {
        vec![self.recovered.shown_as("recovered")]
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let tool = request.call.tool.clone();
        let span = request.span();
        // Inside the caught future, because a layer may also panic before it gives its own.
        let work = AssertUnwindSafe(async move { next.run(request).await }).catch_unwind();
        Box::pin(async move {
            match work.await {
                Ok(result) => result,
                Err(panic) => {
                    self.recovered.one();
                    span.note("caught a panic");
                    panic_result(&tool, &*panic)
                }
            }
        })
    }
}

/// The result of a call that panicked; also what the executor's own task boundary gives.
pub(crate) fn panic_result(tool: &str, panic: &(dyn Any + Send)) -> ToolResult {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned());
    tracing::error!(tool, message, "a call panicked");
    ToolResult::error(ErrorKind::Panic, format!("`{tool}` panicked: {message}"))
}
