//! Behaviour of the executor over small tools, under a paused clock.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::middleware::Recover;
use crate::registry::Owner;
use crate::tool::{Definition, ErrorKind, Invocation, Tool};

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl CallObserver for Log {
    fn started(&self, call: &Arc<Started>) {
        self.0.lock().push(format!("start {}", call.tool));
    }
    fn finished(&self, outcome: &Outcome) {
        let kind = outcome.result.error_kind.map_or("ok", ErrorKind::as_str);
        self.0
            .lock()
            .push(format!("{kind} {}", outcome.started.tool));
    }
}

struct Act(Definition);

impl Tool for Act {
    fn definition(&self) -> Definition {
        self.0.clone()
    }
    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult> {
        let name = self.0.name().to_owned();
        Box::pin(async move {
            match name.as_str() {
                "panics" => panic!("boom"),
                "hangs" => std::future::pending().await,
                _ => {
                    let ms = invocation.arguments.get("ms").and_then(Value::as_u64);
                    tokio::time::sleep(Duration::from_millis(ms.unwrap_or(0))).await;
                    ToolResult::text(format!("slept {}", ms.unwrap_or(0)))
                }
            }
        })
    }
}

async fn executor(layers: Chain) -> (Executor, Arc<Log>) {
    let registry = Arc::new(Registry::new());
    let tools = ["panics", "hangs", "sleeps"].map(|name| {
        let definition = Definition::new(name, "", json!({"type": "object"})).unwrap();
        Arc::new(Act(definition)) as Arc<dyn Tool>
    });
    registry
        .publish(&Owner::source("s", 0), tools.to_vec())
        .await;
    let log = Arc::new(Log::default());
    let observer = Arc::clone(&log) as Arc<dyn CallObserver>;
    (Executor::new(registry, layers, observer), log)
}

fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.result.error_kind
}

#[tokio::test(start_paused = true)]
async fn a_batch_starts_together_and_returns_in_the_order_of_its_calls() {
    let (executor, _) = executor(Chain::default()).await;
    let begin = tokio::time::Instant::now();
    let calls = [300, 100, 200].map(|ms| Call::new("sleeps", json!({"ms": ms})));
    let outcomes = executor.batch(calls.to_vec()).await;
    let texts: Vec<_> = outcomes.iter().map(|o| o.result.all_text()).collect();
    assert_eq!(texts, ["slept 300", "slept 100", "slept 200"]);
    assert_eq!(begin.elapsed(), Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_name_is_not_found_and_lists_the_nearest() {
    let (executor, _) = executor(Chain::default()).await;
    let outcome = executor.call(Call::new("sleps", json!({}))).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::NotFound));
    assert_eq!(
        outcome.result.all_text(),
        "no tool is named `sleps`; the nearest names are `sleeps`"
    );
    assert!(!outcome.reached_tool);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_object_never_reach_the_tool() {
    let (executor, _) = executor(Chain::default()).await;
    let outcome = executor.call(Call::new("hangs", json!([1]))).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Validation));
    assert!(!outcome.reached_tool);
}

#[tokio::test(start_paused = true)]
async fn a_panic_becomes_a_result_with_and_without_the_layer() {
    for chain in [
        Chain::default(),
        Chain::new(vec![Arc::new(Recover::default())]),
    ] {
        let (executor, log) = executor(chain).await;
        let outcome = executor.call(Call::new("panics", json!({}))).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::Panic));
        assert_eq!(outcome.result.all_text(), "`panics` panicked: boom");
        assert!(outcome.reached_tool);
        assert_eq!(*log.0.lock(), ["start panics", "panic panics"]);
        assert!(executor.in_flight().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_running_call_is_listed_and_can_be_cancelled_by_its_id() {
    let (executor, _) = executor(Chain::default()).await;
    let call = Call::new("hangs", json!({}));
    let id = call.id.clone();
    let other = executor.clone();
    let running = tokio::spawn(async move { other.call(call).await });
    tokio::task::yield_now().await;
    assert_eq!(executor.in_flight().list()[0].started.id, id);
    assert!(executor.cancel(&id));
    assert_eq!(kind(&running.await.unwrap()), Some(ErrorKind::Cancelled));
    assert!(!executor.cancel(&id));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_any_more_is_reported_as_cancelled() {
    let (executor, log) = executor(Chain::default()).await;
    let call = executor.call(Call::new("hangs", json!({})));
    let _ = tokio::time::timeout(Duration::from_secs(1), call).await;
    assert_eq!(*log.0.lock(), ["start hangs", "cancelled hangs"]);
    assert!(executor.in_flight().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_the_caller_is_kept() {
    let (executor, _) = executor(Chain::default()).await;
    let mut call = Call::new("hangs", json!({}));
    call.deadline = Some(tokio::time::Instant::now() + Duration::from_secs(3));
    let outcome = executor.call(call).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
    assert_eq!(outcome.duration, Duration::from_secs(3));
}
