//! The layer under a paused clock.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::*;
use crate::middleware::{Chain, Endpoint};
use crate::registry::{Owner, Registry};
use crate::tool::{Call, Definition, Invocation, Tool};

/// A tool that declares a rate, if it has one.
struct Rated(&'static str, Option<f64>);

impl Tool for Rated {
    fn definition(&self) -> Definition {
        Definition::new(self.0, "", json!({"type": "object"})).unwrap()
    }
    fn rate(&self) -> Option<f64> {
        self.1
    }
    fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { ToolResult::text("done") })
    }
}

struct Direct;

impl Endpoint for Direct {
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
        request.mark_reached();
        Box::pin(async { ToolResult::text("done") })
    }
}

struct Bench {
    chain: Chain,
    registry: Registry,
    begin: Instant,
}

type Ended = (Option<ErrorKind>, u128);

impl Bench {
    async fn new(per_second: Option<f64>, burst: u32, tools: &[&str]) -> Self {
        let layer = RateLimit::new(RateLimitSettings {
            per_second,
            burst,
            tools: tools.iter().map(|glob| (*glob).to_owned()).collect(),
        });
        let registry = Registry::new();
        let rated: [Arc<dyn Tool>; 3] = [
            Arc::new(Rated("free", None)),
            Arc::new(Rated("slow", Some(2.0))),
            Arc::new(Rated("broken", Some(-3.0))),
        ];
        registry
            .publish(&Owner::source("s", 0), rated.to_vec())
            .await;
        Self {
            chain: Chain::new(vec![Arc::new(layer)]),
            registry,
            begin: Instant::now(),
        }
    }

    /// A call that gives its kind of error and when it ended, in milliseconds.
    fn start(&self, tool: &str, deadline_ms: Option<u64>) -> (Call, JoinHandle<Ended>) {
        let mut call = Call::new(tool, json!({}));
        call.deadline = deadline_ms.map(|ms| self.begin + Duration::from_millis(ms));
        let request = Request::new(call.clone(), self.registry.catalog());
        let (chain, begin) = (self.chain.clone(), self.begin);
        let task = tokio::spawn(async move {
            let result = chain.run(request, &Direct).await;
            (result.error_kind, begin.elapsed().as_millis())
        });
        (call, task)
    }

    async fn run(&self, calls: &[(&str, Option<u64>)]) -> Vec<Ended> {
        let tasks: Vec<_> = calls
            .iter()
            .map(|(tool, deadline)| self.start(tool, *deadline).1)
            .collect();
        let mut ended = Vec::new();
        for task in tasks {
            ended.push(task.await.unwrap());
        }
        ended
    }

    fn counter(&self, name: &str) -> u64 {
        let counters = self.chain.status().remove(0).counters;
        counters.iter().find(|c| c.name == name).unwrap().value
    }
}

fn ok(ms: u128) -> Ended {
    (None, ms)
}

/// Under the clock that runs: the paused one would hide what little time it takes.
#[tokio::test]
async fn a_token_that_lies_ready_is_taken_without_a_wait_being_noted() {
    let bench = Bench::new(Some(1e6), 1_000, &["*"]).await;
    for _ in 0..20 {
        let request = Request::new(Call::new("free", json!({})), bench.registry.catalog());
        let trace = request.trace();
        bench.chain.run(request, &Direct).await;
        assert_eq!(trace.spans(0)[0].waited, Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_start_in_a_burst_and_then_at_the_rate_in_order() {
    let bench = Bench::new(Some(10.0), 3, &["*"]).await;
    let ended = bench.run(&[("free", None); 6]).await;
    assert_eq!(ended, [ok(0), ok(0), ok(0), ok(100), ok(200), ok(300)]);
    assert_eq!((bench.counter("waited"), bench.counter("waiting")), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn tools_that_no_glob_names_do_not_wait() {
    let bench = Bench::new(Some(1.0), 1, &["s*"]).await;
    let ended = bench
        .run(&[("free", None), ("free", None), ("free", None)])
        .await;
    assert_eq!(ended, [ok(0), ok(0), ok(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_tools_own_rate_counts_beside_the_shared_one_and_without_it() {
    let own = Bench::new(None, 1, &["*"]).await;
    let calls = [
        ("slow", None),
        ("slow", None),
        ("free", None),
        ("broken", None),
        ("broken", None),
    ];
    assert_eq!(own.run(&calls).await, [ok(0), ok(500), ok(0), ok(0), ok(0)]);
    let both = Bench::new(Some(10.0), 1, &["*"]).await;
    let calls = [
        ("slow", None),
        ("slow", None),
        ("free", None),
        ("free", None),
    ];
    assert_eq!(both.run(&calls).await, [ok(0), ok(500), ok(100), ok(200)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_turn_lies_behind_its_deadline_is_refused_at_once() {
    let bench = Bench::new(Some(1.0), 1, &["*"]).await;
    let calls = [
        ("free", None),
        ("free", Some(2_500)),
        ("free", Some(1_999)),
        ("free", None),
    ];
    let ended = bench.run(&calls).await;
    let late = (Some(ErrorKind::Timeout), 0);
    assert_eq!(ended, [ok(0), ok(1_000), late, ok(2_000)]);
    assert_eq!(bench.counter("late"), 1);
    let mut call = Call::new("free", json!({}));
    call.deadline = Some(Instant::now() + Duration::from_millis(10));
    let request = Request::new(call, bench.registry.catalog());
    let trace = request.trace();
    let result = bench.chain.run(request, &Direct).await;
    assert_eq!(
        result.all_text(),
        "`free` was not called: the rate limit would let it start in 1000 ms, but its deadline is in 10 ms"
    );
    assert!(!trace.reached());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_leaves_its_turn_to_the_next() {
    let bench = Bench::new(Some(1.0), 1, &["*"]).await;
    let calls: Vec<_> = (0..4).map(|_| bench.start("free", None)).collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(bench.counter("waiting"), 3);
    calls[1].0.cancel.cancel();
    calls[2].1.abort();
    let mut ended = Vec::new();
    for (_, task) in calls {
        ended.push(task.await.ok());
    }
    let cancelled = (Some(ErrorKind::Cancelled), 300);
    assert_eq!(ended, [Some(ok(0)), Some(cancelled), None, Some(ok(1_000))]);
    assert_eq!((bench.counter("gave_up"), bench.counter("waiting")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_at_the_second_bucket_gives_the_token_of_the_first_back() {
    let bench = Bench::new(Some(0.5), 1, &["*"]).await;
    assert_eq!(bench.run(&[("free", None)]).await, [ok(0)]);
    let (call, task) = bench.start("slow", None);
    tokio::time::sleep(Duration::from_millis(10)).await;
    call.cancel.cancel();
    assert_eq!(task.await.unwrap().0, Some(ErrorKind::Cancelled));
    // With its token gone, the tool's own rate would add another 500 ms.
    let rule = MiddlewareSettings {
        rate_limit: Some(RateLimitSettings {
            per_second: None,
            burst: 1,
            tools: Vec::new(),
        }),
        ..MiddlewareSettings::default()
    };
    let before = bench.run(&[("slow", Some(2_100))]).await;
    assert_eq!(before, [ok(2_000)], "the shared bucket alone decides");
    bench.chain.change("rate_limit", &rule).unwrap();
    assert_eq!(
        bench.run(&[("slow", None)]).await,
        [ok(2_000)],
        "new buckets are full"
    );
}

#[tokio::test(start_paused = true)]
async fn the_queue_before_a_bucket_has_a_bound() {
    let bench = Bench::new(Some(1_000.0), 1, &["*"]).await;
    let ended = bench.run(&[("free", None); 1_002]).await;
    assert_eq!(ended[1_001], (Some(ErrorKind::Overloaded), 0));
    assert_eq!(ended[1_000], ok(1_000));
    assert_eq!(bench.counter("overloaded"), 1);
}
