//! The chain of layers and the walk along it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use serde::Serialize;

use super::settings::MiddlewareSettings;
use super::trace::{Entered, Trace};
use super::{Counter, Drill, DrillStatus, Middleware, ORDER, Request};
use crate::tool::ToolResult;

/// What the span of the tool itself is called, beside those of the layers.
const TOOL_SPAN: &str = "tool";

/// What stands behind the innermost layer.
pub trait Endpoint: Send + Sync {
    /// Looks the tool up and runs it.
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult>;
}

/// The rest of the chain as a layer sees it. Copy, so that a layer may go on more than once.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    slots: &'a [Slot],
    endpoint: &'a dyn Endpoint,
}

impl<'a> Next<'a> {
    /// Passes the call to the next layer that is not paused, or to the tool behind the last.
    pub fn run(self, mut request: Request) -> Run<'a> {
        let endpoint = self.endpoint;
        let mut rest = self.slots;
        while let Some((slot, slots)) = rest.split_first() {
            rest = slots;
            if slot.paused.load(Ordering::Relaxed) || !slot.layer.acts() {
                continue;
            }
            let span = Entered::new(request.enter(slot.layer.name()));
            let work = slot.layer.handle(request, Next { slots, endpoint });
            return Run { work, span };
        }
        let span = Entered::new(request.enter(TOOL_SPAN));
        let work = endpoint.finish(request);
        Run { work, span }
    }
}

/// A call on its way through the rest of the chain.
pub struct Run<'a> {
    work: BoxFuture<'a, ToolResult>,
    span: Entered,
}

impl Future for Run<'_> {
    type Output = ToolResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ToolResult> {
        let result = ready!(self.work.as_mut().poll(cx));
        self.span.complete();
        Poll::Ready(result)
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
    /// Whether an operator has paused it: calls go past it.
    pub paused: bool,
    /// Whether an operator has changed its settings since it was built.
    pub changed: bool,
    /// The drill that it carries out, if any.
    pub drill: Option<DrillStatus>,
}

impl LayerStatus {
    /// The counter of that name; zero when the layer has none.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|counter| counter.name == name);
        found.map_or(0, |counter| counter.value)
    }
}

/// Why a layer was not paused or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// The chain has no such layer.
    #[error("the chain has no layer `{layer}`; it has {known}")]
    Unknown {
        /// The name that was asked for.
        layer: String,
        /// Those that exist, as a list in words.
        known: String,
    },
    /// The layer cannot take these settings.
    #[error("the settings of `{layer}` cannot be changed: {reason}")]
    Fixed {
        /// The layer.
        layer: &'static str,
        /// Why.
        reason: String,
    },
    /// A drill can neither begin nor end.
    #[error("the drill cannot be changed: {reason}")]
    Drill {
        /// Why.
        reason: String,
    },
}

/// A layer in its place.
struct Slot {
    layer: Arc<dyn Middleware>,
    paused: AtomicBool,
    changed: AtomicBool,
}

/// The layers of one assembly, outermost first. Clones share the layers and their switches.
#[derive(Clone, Default)]
pub struct Chain {
    slots: Arc<[Slot]>,
}

impl Chain {
    /// A chain of these layers, brought into the fixed order of rule 9.1.
    pub fn new(mut layers: Vec<Arc<dyn Middleware>>) -> Self {
        layers.sort_by_key(|layer| place(layer.name()));
        let slots = layers.into_iter().map(|layer| Slot {
            layer,
            paused: AtomicBool::new(false),
            changed: AtomicBool::new(false),
        });
        Self {
            slots: slots.collect(),
        }
    }

    /// Sends a call through all layers to the endpoint.
    pub fn run<'a>(&'a self, request: Request, endpoint: &'a dyn Endpoint) -> Run<'a> {
        Next {
            slots: &self.slots,
            endpoint,
        }
        .run(request)
    }

    /// Sends a result that is completed only now through the layers that its call has passed, from
    /// the inside out (rule 7.3). Layers that are paused, or were while the call passed, are left
    /// out.
    pub fn complete(&self, tool: &str, result: ToolResult, trace: &Arc<Trace>) -> ToolResult {
        let slots = self.slots.iter().rev();
        let working = slots.filter(|slot| !slot.paused.load(Ordering::Relaxed));
        working.fold(result, |result, slot| {
            match trace.passed(slot.layer.name()) {
                Some(span) => slot.layer.complete(tool, result, &span),
                None => result,
            }
        })
    }

    /// The layers as they are now, outermost first.
    pub fn status(&self) -> Vec<LayerStatus> {
        let acting = self.slots.iter().filter(|slot| slot.layer.acts());
        acting
            .map(|slot| LayerStatus {
                name: slot.layer.name(),
                settings: slot.layer.settings(),
                counters: slot.layer.counters(),
                paused: slot.paused.load(Ordering::Relaxed),
                changed: slot.changed.load(Ordering::Relaxed),
                drill: slot.layer.drill(),
            })
            .collect()
    }

    /// Lets calls go past a layer, or through it again. Calls that are inside it stay there.
    ///
    /// # Errors
    /// When the chain has no such layer.
    pub fn set_paused(&self, layer: &str, paused: bool) -> Result<(), LayerError> {
        let slot = self.slot(layer)?;
        if slot.paused.swap(paused, Ordering::Relaxed) != paused {
            let state = if paused { "paused" } else { "at work again" };
            tracing::warn!("the operator set layer `{layer}` {state}");
        }
        Ok(())
    }

    /// Gives a layer its part of these settings, for this process only. Calls that are inside it
    /// keep the settings they began with.
    ///
    /// # Errors
    /// When the chain has no such layer, or the layer cannot take the settings.
    pub fn change(&self, layer: &str, settings: &MiddlewareSettings) -> Result<(), LayerError> {
        let slot = self.slot(layer)?;
        match slot.layer.change(settings) {
            Ok(()) => {
                slot.changed.store(true, Ordering::Relaxed);
                tracing::warn!("the operator changed the settings of layer `{layer}`");
                Ok(())
            }
            Err(reason) => Err(LayerError::Fixed {
                layer: slot.layer.name(),
                reason,
            }),
        }
    }

    /// Begins a fault drill in place of the one that goes on, or ends that. A paused layer is set
    /// to work: a drill that does nothing would be worse than none.
    ///
    /// # Errors
    /// When the chain cannot inject faults, or there is no drill to end.
    pub fn set_drill(&self, drill: Option<Drill>) -> Result<(), LayerError> {
        let slot = self.slot("fault")?;
        let began = drill.is_some();
        slot.layer
            .set_drill(drill)
            .map_err(|reason| LayerError::Drill { reason })?;
        if began {
            slot.paused.store(false, Ordering::Relaxed);
        }
        let what = if began { "began" } else { "ended" };
        tracing::warn!("the operator {what} a fault drill");
        Ok(())
    }

    /// Lets every layer finish what it still has to write, innermost first. Idempotent.
    pub async fn close(&self) {
        for slot in self.slots.iter().rev() {
            slot.layer.close().await;
        }
    }

    fn slot(&self, layer: &str) -> Result<&Slot, LayerError> {
        let found = self.slots.iter().find(|slot| slot.layer.name() == layer);
        found.ok_or_else(|| {
            let acting = self.slots.iter().filter(|slot| slot.layer.acts());
            let names: Vec<_> = acting
                .map(|slot| format!("`{}`", slot.layer.name()))
                .collect();
            LayerError::Unknown {
                layer: layer.to_owned(),
                known: match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join(", "),
                },
            }
        })
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

    #[tokio::test]
    async fn a_paused_layer_is_passed_by_and_shown_so() {
        let chain = Chain::new(vec![Arc::new(Mark("recover")), Arc::new(Mark("fault"))]);
        let run = async || {
            let request = Request::new(Call::new("t", json!({})), Arc::new(Catalog::default()));
            chain.run(request, &End).await.all_text()
        };
        chain.set_paused("recover", true).unwrap();
        assert_eq!(run().await, "tool\nfault");
        let paused: Vec<_> = chain.status().iter().map(|s| (s.name, s.paused)).collect();
        assert_eq!(paused, [("recover", true), ("fault", false)]);
        chain.clone().set_paused("recover", false).unwrap();
        assert_eq!(run().await, "tool\nfault\nrecover");
    }

    #[test]
    fn orders_to_layers_that_cannot_follow_them_say_why() {
        let chain = Chain::new(vec![Arc::new(Mark("recover")), Arc::new(Mark("fault"))]);
        assert_eq!(
            chain.set_paused("audit", true).unwrap_err().to_string(),
            "the chain has no layer `audit`; it has `recover`, `fault`"
        );
        let error = chain.change("fault", &MiddlewareSettings::default());
        assert_eq!(
            error.unwrap_err().to_string(),
            "the settings of `fault` cannot be changed: it has none that act while it runs"
        );
        assert!(!chain.status()[1].changed);
    }

    #[tokio::test]
    async fn every_layer_and_the_tool_leave_a_span() {
        let chain = Chain::new(vec![Arc::new(Mark("recover")), Arc::new(Mark("fault"))]);
        let request = Request::new(Call::new("t", json!({})), Arc::new(Catalog::default()));
        let trace = request.trace();
        chain.run(request, &End).await;
        let spans: Vec<_> = trace
            .spans(0)
            .iter()
            .map(|s| (s.layer, s.completed))
            .collect();
        assert_eq!(spans, [("recover", true), ("fault", true), ("tool", true)]);
    }
}
