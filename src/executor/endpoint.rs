//! The end of the chain: lookup, then the tool.

use futures::future::BoxFuture;

use crate::middleware::{Endpoint, Request};
use crate::tool::{ErrorKind, Invocation, ToolResult};

/// Looks the tool up in the request's catalog and runs it within the bounds of the call.
pub(super) struct Lookup;

impl Endpoint for Lookup {
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let Some(entry) = request.entry().cloned() else {
                return not_found(&request);
            };
            let arguments = match request.call.checked_arguments() {
                Ok(arguments) => arguments,
                Err(result) => return result,
            };
            let invocation = Invocation {
                id: request.call.id.clone(),
                arguments,
                deadline: request.call.deadline,
                cancel: request.call.cancel.clone(),
                session: request.call.session.clone(),
                progress: request.progress.clone(),
                traceparent: request.call.traceparent.clone(),
                attempts: request.trace().attempts().clone(),
            };
            let work = async {
                request.mark_reached();
                entry.tool.execute(invocation).await
            };
            match request.bounded(work).await {
                Ok(result) | Err(result) => result,
            }
        })
    }
}

fn not_found(request: &Request) -> ToolResult {
    let nearest = request.catalog.nearest(&request.call.tool);
    let advice = if nearest.is_empty() {
        String::new()
    } else {
        format!("; the nearest names are `{}`", nearest.join("`, `"))
    };
    ToolResult::error(
        ErrorKind::NotFound,
        format!("no tool is named `{}`{advice}", request.call.tool),
    )
}
