//! The layer in a chain.

use std::time::Duration;

use futures::FutureExt as _;

use super::*;
use crate::middleware::{Chain, Endpoint};
use crate::registry::Owner;
use crate::tool::{Call, Invocation, LoadError, Loader, Tool};

struct Typed(Definition, Option<Loader>);

impl Tool for Typed {
    fn definition(&self) -> Definition {
        let loaded = self.1.as_ref().and_then(Loader::loaded);
        loaded.unwrap_or_else(|| self.0.clone())
    }
    fn loader(&self) -> Option<&Loader> {
        self.1.as_ref()
    }
    fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { ToolResult::text("done") })
    }
}

fn typed(name: &str, schema: Value) -> Definition {
    Definition::new(name, "", schema).unwrap()
}

/// Loads after a second, or fails.
fn lazy(name: &'static str, schema: Option<Value>) -> Typed {
    let loader = Loader::new(move || {
        let outcome = match &schema {
            Some(schema) => Ok(typed(name, schema.clone())),
            None => Err(LoadError {
                tool: name.into(),
                reason: "no".into(),
            }),
        };
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            outcome
        }
        .boxed()
    });
    Typed(typed(name, json!({"required": ["never"]})), Some(loader))
}

struct Reached;

impl Endpoint for Reached {
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
        request.mark_reached();
        Box::pin(async { ToolResult::text("done") })
    }
}

fn needs_path() -> Value {
    json!({"type": "object", "required": ["path"]})
}

async fn bench() -> (Chain, Arc<Registry>) {
    let registry = Arc::new(Registry::new());
    let tools: [Arc<dyn Tool>; 4] = [
        Arc::new(Typed(typed("read", needs_path()), None)),
        Arc::new(Typed(typed("broken", json!({"type": 5})), None)),
        Arc::new(lazy("late", Some(needs_path()))),
        Arc::new(lazy("lost", None)),
    ];
    registry
        .publish(&Owner::source("s", 0), tools.to_vec())
        .await;
    let layer = Validate::new(Arc::clone(&registry));
    (Chain::new(vec![Arc::new(layer)]), registry)
}

async fn run(chain: &Chain, registry: &Registry, call: Call) -> (ToolResult, bool) {
    let request = Request::new(call, registry.catalog());
    let trace = request.trace();
    (chain.run(request, &Reached).await, trace.reached())
}

#[tokio::test(start_paused = true)]
async fn only_calls_that_fit_reach_their_tool() {
    let (chain, registry) = bench().await;
    for (claim, tool, arguments, passes) in [
        ("fits", "read", json!({"path": "x"}), true),
        ("does not", "read", json!({}), false),
        ("blank is an empty object", "read", json!(" "), false),
        ("no object", "broken", json!([1]), false),
        (
            "a schema that cannot be used",
            "broken",
            json!({"a": 1}),
            true,
        ),
        ("an unknown name", "nobody", json!({}), true),
        ("a lazy tool is loaded first", "late", json!({}), false),
        ("and fits then", "late", json!({"path": 1}), true),
        ("one that cannot be loaded", "lost", json!({}), true),
    ] {
        let (result, reached) = run(&chain, &registry, Call::new(tool, arguments)).await;
        let rejected = result.error_kind == Some(ErrorKind::Validation);
        assert_eq!((reached, rejected), (passes, !passes), "{claim}");
    }
    let values: Vec<_> = chain.status()[0].counters.iter().map(|c| c.value).collect();
    assert_eq!(values, [5, 4, 1]);
    let shown = registry.catalog().get("late").unwrap().definition.clone();
    assert_eq!(
        shown,
        typed("late", needs_path()),
        "the catalog shows the loaded one"
    );
}

#[tokio::test(start_paused = true)]
async fn loading_is_bounded_by_the_deadline_of_the_call() {
    let (chain, registry) = bench().await;
    let mut call = Call::new("late", json!({"path": 1}));
    call.deadline = Some(tokio::time::Instant::now() + Duration::from_millis(10));
    let (result, reached) = run(&chain, &registry, call).await;
    assert_eq!(result.error_kind, Some(ErrorKind::Timeout));
    assert!(!reached);
}
