//! A call on its way through the chain.

use std::sync::Arc;

use tokio::sync::watch;

use super::trace::{Span, Trace};
use crate::registry::{Catalog, Entry};
use crate::tool::{Call, Progress, ToolResult, bounded};

/// The call, the catalog it is looked up in, and what is learnt about it on the way.
#[derive(Clone, Debug)]
pub struct Request {
    /// The call. Layers may change it before they pass it on.
    pub call: Call,
    /// One version of the catalog for the whole way, so that no two layers see different tools.
    pub catalog: Arc<Catalog>,
    /// Where the tool reports its progress.
    pub progress: watch::Sender<Option<Progress>>,
    trace: Arc<Trace>,
    /// The span of the layer that holds the request now.
    span: Option<Span>,
}

impl Request {
    /// A call about to enter the chain.
    pub fn new(call: Call, catalog: Arc<Catalog>) -> Self {
        Self {
            call,
            catalog,
            progress: watch::Sender::new(None),
            trace: Trace::new(),
            span: None,
        }
    }

    /// The tool that the call names, if it exists.
    pub fn entry(&self) -> Option<&Arc<Entry>> {
        self.catalog.get(&self.call.tool)
    }

    /// Notes that the call got as far as its tool (rule 6.4).
    pub fn mark_reached(&self) {
        self.trace.mark_reached();
    }

    /// Whether the call, or any clone of it, got as far as its tool.
    pub fn reached(&self) -> bool {
        self.trace.reached()
    }

    /// What is noted about the call; shared by all clones of it.
    pub fn trace(&self) -> Arc<Trace> {
        Arc::clone(&self.trace)
    }

    /// Where the layer that holds the request notes what it does with it.
    pub fn span(&self) -> Span {
        match &self.span {
            Some(span) => span.clone(),
            // Outside any chain: a layer that is handed a request by hand.
            None => self.trace.enter("direct"),
        }
    }

    pub(super) fn enter(&mut self, layer: &'static str) -> Span {
        let span = self.trace.enter(layer);
        self.span = Some(span.clone());
        span
    }

    /// Waits for `work` until the call is cancelled or its deadline passes; every wait inside the
    /// chain goes through here, so that the outer layers see how it ended.
    ///
    /// # Errors
    /// A `cancelled` or `timeout` result when the wait was given up; `work` is dropped then.
    pub async fn bounded<T>(&self, work: impl Future<Output = T>) -> Result<T, ToolResult> {
        let call = &self.call;
        bounded(&call.tool, &call.cancel, call.deadline, work).await
    }
}
