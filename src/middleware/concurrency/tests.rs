//! The layer under load, and what waits in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::*;
use crate::middleware::{Chain, Endpoint};
use crate::registry::Catalog;
use crate::tool::Call;

/// Works for ten milliseconds, or briefly; knows how many of its kind run at once and in which order they
/// began.
#[derive(Default)]
struct Work {
    brief: bool,
    running: AtomicUsize,
    most: AtomicUsize,
    began: Mutex<Vec<u64>>,
}

struct Running<'w>(&'w AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Endpoint for Work {
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            let number = request.call.arguments["number"].as_u64().unwrap();
            self.began.lock().push(number);
            let _running = Running(&self.running);
            match self.brief {
                true => tokio::task::yield_now().await,
                false => tokio::time::sleep(Duration::from_millis(10)).await,
            }
            ToolResult::text("done")
        })
    }
}

struct Bench {
    layer: Arc<Concurrency>,
    chain: Chain,
    work: Arc<Work>,
}

impl Bench {
    fn new(limit: usize) -> Self {
        Self::with(limit, Work::default())
    }

    fn with(limit: usize, work: Work) -> Self {
        let layer = Arc::new(Concurrency::new(ConcurrencySettings {
            limit: Some(limit),
            per_source: Vec::new(),
        }));
        Self {
            chain: Chain::new(vec![Arc::clone(&layer) as Arc<dyn Middleware>]),
            layer,
            work: Arc::new(work),
        }
    }

    fn start(&self, number: u64) -> (Call, JoinHandle<ToolResult>) {
        let call = Call::new("t", json!({"number": number}));
        let (chain, work) = (self.chain.clone(), Arc::clone(&self.work));
        let request = Request::new(call.clone(), Arc::new(Catalog::default()));
        let task = tokio::spawn(async move { chain.run(request, &*work).await });
        (call, task)
    }

    fn counter(&self, name: &str) -> u64 {
        let counters = self.chain.status().remove(0).counters;
        counters.iter().find(|c| c.name == name).unwrap().value
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_never_exceed_the_limit_and_start_in_order() {
    let bench = Bench::new(8);
    let begin = Instant::now();
    let calls: Vec<_> = (0..1_000).map(|number| bench.start(number)).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(
        (bench.counter("running"), bench.counter("waiting")),
        (8, 992)
    );
    for (_, task) in calls {
        assert!(!task.await.unwrap().is_error());
    }
    assert_eq!(bench.work.most.load(Ordering::SeqCst), 8);
    assert_eq!(*bench.work.began.lock(), Vec::from_iter(0..1_000));
    assert_eq!(begin.elapsed(), Duration::from_millis(1_250));
    assert_eq!((bench.counter("running"), bench.counter("waiting")), (0, 0));
    assert_eq!(
        (bench.counter("started"), bench.counter("waited")),
        (1_000, 992)
    );
}

#[tokio::test(start_paused = true)]
async fn cancelling_half_of_those_who_wait_loses_no_slot() {
    let bench = Bench::new(8);
    let calls: Vec<_> = (0..1_000).map(|number| bench.start(number)).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    for (call, _) in calls.iter().skip(8).step_by(2) {
        call.cancel.cancel();
    }
    let mut kinds = Vec::new();
    for (_, task) in calls {
        kinds.push(task.await.unwrap().error_kind);
    }
    let cancelled = kinds.iter().filter(|k| **k == Some(ErrorKind::Cancelled));
    assert_eq!(cancelled.count(), 496);
    assert_eq!(kinds.iter().filter(|kind| kind.is_none()).count(), 504);
    assert_eq!(bench.counter("gave_up"), 496);
    assert_eq!(bench.work.most.load(Ordering::SeqCst), 8);
    let expected: Vec<u64> = (0..1_000).filter(|n| *n < 8 || n % 2 == 1).collect();
    assert_eq!(*bench.work.began.lock(), expected, "order is kept");
    all_slots_are_there(&bench, 8);
}

#[tokio::test(start_paused = true)]
async fn dropping_calls_that_run_and_that_wait_loses_no_slot() {
    let bench = Bench::new(4);
    let calls: Vec<_> = (0..40).map(|number| bench.start(number)).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    for (_, task) in calls.iter().step_by(2) {
        task.abort();
    }
    for (_, task) in calls {
        let _ = task.await;
    }
    all_slots_are_there(&bench, 4);
}

/// Cancels in the very moment in which slots become free, many times over, on several threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slot_that_is_handed_out_while_its_caller_gives_up_is_not_lost() {
    let work = Work {
        brief: true,
        ..Work::default()
    };
    let bench = Bench::with(2, work);
    let calls: Vec<_> = (0..800).map(|number| bench.start(number)).collect();
    let cancels: Vec<_> = calls.iter().map(|(call, _)| call.cancel.clone()).collect();
    let canceller = tokio::spawn(async move {
        for cancel in cancels.iter().skip(1).step_by(2) {
            cancel.cancel();
            tokio::task::yield_now().await;
        }
    });
    canceller.await.unwrap();
    for (_, task) in calls {
        task.await.unwrap();
    }
    all_slots_are_there(&bench, 2);
}

/// As many slots as the limit can be taken, and no more.
fn all_slots_are_there(bench: &Bench, limit: usize) {
    assert_eq!((bench.counter("running"), bench.counter("waiting")), (0, 0));
    assert_eq!(bench.layer.gate.0.lock().waiting.len(), 0);
    let taken: Vec<_> = (0..limit).map(|_| bench.layer.gate.enter(None)).collect();
    assert!(taken.iter().all(|found| matches!(found, Found::Slot(_))));
    assert!(matches!(bench.layer.gate.enter(None), Found::Queue(_)));
}

#[tokio::test(start_paused = true)]
async fn the_call_after_a_thousand_waiting_ones_is_refused() {
    let bench = Bench::new(1);
    let calls: Vec<_> = (0..1_002).map(|number| bench.start(number)).collect();
    let mut kinds = Vec::new();
    for (_, task) in calls {
        kinds.push(task.await.unwrap().error_kind);
    }
    assert_eq!(kinds.pop(), Some(Some(ErrorKind::Overloaded)));
    assert!(kinds.iter().all(Option::is_none));
    assert_eq!(bench.counter("overloaded"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_bounded_by_the_deadline_and_noted_apart_from_work() {
    let bench = Bench::new(1);
    let (_, first) = bench.start(0);
    tokio::task::yield_now().await;
    let mut call = Call::new("t", json!({"number": 1}));
    call.deadline = Some(Instant::now() + Duration::from_millis(4));
    let request = Request::new(call, Arc::new(Catalog::default()));
    let late = bench.chain.run(request, &*bench.work).await;
    assert_eq!(late.error_kind, Some(ErrorKind::Timeout));
    let request = Request::new(
        Call::new("t", json!({"number": 2})),
        Arc::new(Catalog::default()),
    );
    let trace = request.trace();
    bench.chain.run(request, &*bench.work).await;
    first.await.unwrap();
    let span = trace.spans(0)[0];
    let ms = Duration::from_millis;
    assert_eq!((span.waited, span.took), (ms(6), ms(16)));
    assert_eq!(*bench.work.began.lock(), [0, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_raised_limit_lets_those_who_wait_start() {
    let bench = Bench::new(1);
    let calls: Vec<_> = (0..3).map(|number| bench.start(number)).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let settings = MiddlewareSettings {
        concurrency: Some(ConcurrencySettings {
            limit: Some(3),
            per_source: Vec::new(),
        }),
        ..MiddlewareSettings::default()
    };
    bench.chain.change("concurrency", &settings).unwrap();
    assert_eq!((bench.counter("running"), bench.counter("waiting")), (3, 0));
    for (_, task) in calls {
        assert!(!task.await.unwrap().is_error());
    }
}
