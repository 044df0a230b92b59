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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::middleware::concurrency::Concurrency;
    use crate::middleware::settings::ConcurrencySettings;
    use crate::middleware::{Chain, Endpoint};
    use crate::registry::Catalog;
    use crate::tool::Call;

    /// A layer that breaks for the tools of these names, before it gives its future or in it.
    struct Breaks;

    impl Middleware for Breaks {
        fn name(&self) -> &'static str {
            "fault"
        }
        fn settings(&self) -> Value {
            json!({})
        }
        fn counters(&self) -> Vec<Counter> {
            Vec::new()
        }
        fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
            let tool = request.call.tool.clone();
            assert_ne!(&*tool, "before", "no future");
            Box::pin(async move {
                let result = next.run(request).await;
                assert_ne!(&*tool, "after", "no result");
                result
            })
        }
    }

    struct End;

    impl Endpoint for End {
        fn finish(&self, _: Request) -> BoxFuture<'_, ToolResult> {
            Box::pin(async { ToolResult::text("done") })
        }
    }

    #[tokio::test]
    async fn a_panic_inside_a_layer_leaves_the_layers_around_it_whole() {
        let slots = Concurrency::new(ConcurrencySettings {
            limit: Some(1),
            per_source: Vec::new(),
        });
        let layers: [Arc<dyn Middleware>; 3] = [
            Arc::new(Recover::default()),
            Arc::new(slots),
            Arc::new(Breaks),
        ];
        let chain = Chain::new(layers.to_vec());
        for (tool, kind) in [
            ("before", Some(ErrorKind::Panic)),
            ("after", Some(ErrorKind::Panic)),
            ("fine", None),
        ] {
            let request = Request::new(Call::new(tool, json!({})), Arc::new(Catalog::default()));
            let trace = request.trace();
            let result = chain.run(request, &End).await;
            assert_eq!(result.error_kind, kind, "{tool}: {}", result.all_text());
            let caught = trace.spans(0)[0];
            assert_eq!(caught.note, kind.map(|_| "caught a panic"), "{tool}");
            assert!(caught.completed, "{tool}");
            let status = chain.status();
            let counters = status[1].counters.iter();
            let running = counters.filter(|counter| counter.name == "running");
            assert_eq!(running.map(|counter| counter.value).sum::<u64>(), 0);
        }
        assert_eq!(chain.status()[0].counters[0].value, 2);
    }
}
