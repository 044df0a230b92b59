//! The chain of layers and the walk along it.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;

use super::{Counter, Middleware, ORDER, Request};
use crate::tool::ToolResult;

/// What stands behind the innermost layer.
pub trait Endpoint: Send + Sync {
    /// Looks the tool up and runs it.
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult>;
}

/// The rest of the chain as a layer sees it. Copy, so that a layer may go on more than once.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    layers: &'a [Arc<dyn Middleware>],
    endpoint: &'a dyn Endpoint,
}

impl<'a> Next<'a> {
    /// Passes the call to the next layer, or to the tool behind the last.
    pub fn run(self, request: Request) -> BoxFuture<'a, ToolResult> {
        match self.layers.split_first() {
            Some((layer, layers)) => layer.handle(
                request,
                Next {
                    layers,
                    endpoint: self.endpoint,
                },
            ),
            None => self.endpoint.finish(request),
        }
    }
}

/// A layer as it is shown: name, settings and counters now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerStatus {
    /// Its name in [`ORDER`].
    pub name: &'static str,
    /// Its settings.
    pub settings: serde_json::Value,
    /// Its counters.
    pub counters: Vec<Counter>,
}

/// The layers of one assembly, outermost first.
#[derive(Clone, Default)]
pub struct Chain {
    layers: Arc<[Arc<dyn Middleware>]>,
}

impl Chain {
    /// A chain of these layers, brought into the fixed order of rule 9.1.
    pub fn new(mut layers: Vec<Arc<dyn Middleware>>) -> Self {
        layers.sort_by_key(|layer| place(layer.name()));
        Self {
            layers: layers.into(),
        }
    }

    /// Sends a call through all layers to the endpoint.
    pub fn run<'a>(
        &'a self,
        request: Request,
        endpoint: &'a dyn Endpoint,
    ) -> BoxFuture<'a, ToolResult> {
        Next {
            layers: &self.layers,
            endpoint,
        }
        .run(request)
    }

    /// The layers as they are now, outermost first.
    pub fn status(&self) -> Vec<LayerStatus> {
        self.layers
            .iter()
            .map(|layer| LayerStatus {
                name: layer.name(),
                settings: layer.settings(),
                counters: layer.counters(),
            })
            .collect()
    }
}

/// The place of a layer in the order; layers of other origin stand innermost.
fn place(name: &str) -> usize {
    ORDER
        .iter()
        .position(|known| *known == name)
        .unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Catalog;
    use crate::tool::{Call, Part};

    struct Mark(&'static str);

    impl Middleware for Mark {
        fn name(&self) -> &'static str {
            self.0
        }
        fn settings(&self) -> serde_json::Value {
            json!({})
        }
        fn counters(&self) -> Vec<Counter> {
            Vec::new()
        }
        fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
            Box::pin(async move {
                let mut result = next.run(request).await;
                result.parts.push(Part::Text(self.0.into()));
                result
            })
        }
    }

    struct End;

    impl Endpoint for End {
        fn finish(&self, _: Request) -> BoxFuture<'_, ToolResult> {
            Box::pin(async { ToolResult::text("tool") })
        }
    }

    #[tokio::test]
    async fn layers_stand_in_the_fixed_order_whatever_the_file_says() {
        let chain = Chain::new(vec![
            Arc::new(Mark("fault")),
            Arc::new(Mark("recover")),
            Arc::new(Mark("timeout")),
        ]);
        let request = Request::new(Call::new("t", json!({})), Arc::new(Catalog::default()));
        let result = chain.run(request, &End).await;
        assert_eq!(result.all_text(), "tool\nfault\ntimeout\nrecover");
    }
}
