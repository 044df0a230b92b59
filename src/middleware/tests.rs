//! The layers together: what their order decides, and that nothing is lost on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::settings::{
    ApprovalSettings, AuditSettings, ConcurrencySettings, FaultSettings, RateLimitSettings,
    RedactSettings, ResultLimitSettings,
};
use super::*;
use crate::executor::{CallObserver, Executor, Outcome, Started};
use crate::observe::{Hub, Window};
use crate::registry::{GlobMap, Owner, Registry};
use crate::secrets::Secrets;
use crate::tool::{Call, Definition, ErrorKind, Invocation, Tool};

/// Does what its arguments say, and counts.
struct Act {
    calls: AtomicU64,
}

impl Tool for Act {
    fn definition(&self) -> Definition {
        let schema = json!({
            "type": "object",
            "properties": {"seconds": {"type": "integer"}, "say": {"type": "string"}},
        });
        Definition::new("act", "", schema).unwrap()
    }
    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            if let Some(seconds) = invocation.arguments.get("seconds").and_then(Value::as_u64) {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            match invocation.arguments.get("say").and_then(Value::as_str) {
                Some("panic") => panic!("boom"),
                Some(text) => ToolResult::text(text),
                None => ToolResult::text("done"),
            }
        })
    }
}

struct Silent;

impl CallObserver for Silent {
    fn started(&self, _: &Arc<Started>) {}
    fn finished(&self, _: &Outcome) {}
}

struct Bench {
    executor: Executor,
    approvals: Approvals,
    tool: Arc<Act>,
}

impl Bench {
    async fn new(settings: MiddlewareSettings) -> Self {
        let registry = Arc::new(Registry::new());
        Self::over(settings, registry, Arc::new(Silent)).await
    }

    async fn over(
        settings: MiddlewareSettings,
        registry: Arc<Registry>,
        observer: Arc<dyn CallObserver>,
    ) -> Self {
        let tool = Arc::new(Act {
            calls: AtomicU64::new(0),
        });
        let shared = Arc::clone(&tool) as Arc<dyn Tool>;
        registry.publish(&Owner::source("s", 0), vec![shared]).await;
        let approvals = Approvals::default();
        let context = BuildContext {
            registry: Arc::clone(&registry),
            secrets: Secrets::default(),
            approvals: approvals.clone(),
            instruments: None,
        };
        let chain = build(&settings, &context).unwrap();
        Self {
            executor: Executor::new(registry, chain, observer),
            approvals,
            tool,
        }
    }

    fn counter(&self, layer: &str, name: &str) -> u64 {
        let status = self.executor.chain().status();
        let layer = status.iter().find(|status| status.name == layer).unwrap();
        let counter = layer.counters.iter().find(|counter| counter.name == name);
        counter.unwrap().value
    }
}

fn settings(edit: impl FnOnce(&mut MiddlewareSettings)) -> MiddlewareSettings {
    let mut settings = MiddlewareSettings::default();
    edit(&mut settings);
    settings
}

fn every(tools: &[&str]) -> Vec<String> {
    tools.iter().map(|glob| (*glob).to_owned()).collect()
}

fn limit(max: usize) -> Option<ResultLimitSettings> {
    Some(ResultLimitSettings {
        max,
        marker: "#".into(),
        part_budget_bytes: None,
    })
}

fn redact(pattern: &str) -> Option<RedactSettings> {
    Some(RedactSettings {
        patterns: every(&[pattern]),
        replacement: "••••".into(),
    })
}

fn approval(timeout: Option<Duration>) -> Option<ApprovalSettings> {
    Some(ApprovalSettings {
        tools: every(&["*"]),
        timeout,
    })
}

fn timeout(seconds: u64) -> Option<TimeoutRule> {
    Some(TimeoutRule {
        default: Some(Duration::from_secs(seconds)),
        tools: GlobMap::default(),
    })
}

fn slots(limit: usize) -> Option<ConcurrencySettings> {
    Some(ConcurrencySettings {
        limit: Some(limit),
        per_source: Vec::new(),
    })
}

fn rate(per_second: f64, burst: u32) -> Option<RateLimitSettings> {
    Some(RateLimitSettings {
        per_second: Some(per_second),
        burst,
        tools: every(&["*"]),
    })
}

fn fault(error_rate: f64, drop: f64) -> Option<FaultSettings> {
    Some(FaultSettings {
        tools: every(&["*"]),
        latency: Duration::ZERO,
        error_rate,
        drop,
    })
}

/// What a batch came to: for each call its kind of error or its text, the second in which it ended,
/// and whether it reached the tool.
type Ended = (&'static str, u64, bool);

const NOBODY: &str =
    "denied: `act` was not called: it needs the approval of an operator and no console is open";

const LATE: &str = "denied: `act` was not called: nobody answered within 9s";

struct Row {
    claim: &'static str,
    settings: MiddlewareSettings,
    /// The arguments of the calls, which start together.
    calls: Vec<Value>,
    /// When an operator answers everything with yes, if there is one.
    operator: Option<u64>,
    expected: Vec<Ended>,
}

fn rows() -> Vec<Row> {
    vec![
        Row {
            claim: "redaction comes before the cut, which would split what it looks for",
            settings: settings(|s| {
                s.redact = redact("s3cret");
                s.result_limit = limit(12);
            }),
            calls: vec![json!({"say": "12345678s3cret"})],
            operator: None,
            expected: vec![("12345678••••", 0, true)],
        },
        Row {
            claim: "what inner layers say is redacted and cut as well",
            settings: settings(|s| {
                s.validate = true;
                s.redact = redact("arguments");
                s.result_limit = limit(10);
            }),
            calls: vec![json!({"say": 1})],
            operator: None,
            expected: vec![("validation: the •••• #", 0, false)],
        },
        Row {
            claim: "nobody is asked about arguments that do not fit",
            settings: settings(|s| {
                s.validate = true;
                s.approval = approval(None);
                s.result_limit = limit(1);
            }),
            calls: vec![json!({"say": 1})],
            operator: Some(9),
            expected: vec![("validation: #", 0, false)],
        },
        Row {
            claim: "the time of the operator is not the time of the tool",
            settings: settings(|s| {
                s.approval = approval(Some(Duration::from_secs(60)));
                s.timeout = timeout(3);
            }),
            calls: vec![json!({"seconds": 2}), json!({"seconds": 4, "say": "late"})],
            operator: Some(30),
            expected: vec![
                ("done", 32, true),
                ("timeout: `act` did not answer within 3s", 33, true),
            ],
        },
        Row {
            claim: "waiting for a slot is the time of the call",
            settings: settings(|s| {
                s.concurrency = slots(1);
                s.timeout = timeout(3);
            }),
            calls: vec![
                json!({"seconds": 2}),
                json!({"seconds": 2}),
                json!({"seconds": 0}),
            ],
            operator: None,
            expected: vec![
                ("done", 2, true),
                ("timeout: `act` did not answer within 3s", 3, true),
                ("done", 3, true),
            ],
        },
        Row {
            claim: "a turn behind the timeout is refused at once and the slot stays free",
            settings: settings(|s| {
                s.concurrency = slots(1);
                s.rate_limit = rate(0.5, 1);
                s.timeout = timeout(3);
            }),
            calls: vec![json!({}), json!({}), json!({})],
            operator: None,
            expected: vec![
                ("done", 0, true),
                ("done", 2, true),
                (
                    "timeout: `act` was not called: the rate limit would let it start in 4000 ms, but its deadline is in 3000 ms",
                    0,
                    false,
                ),
            ],
        },
        Row {
            claim: "an injected silence holds its slot until the timeout",
            settings: settings(|s| {
                s.concurrency = slots(1);
                s.timeout = timeout(5);
                s.fault = fault(0.0, 1.0);
            }),
            calls: vec![json!({}), json!({})],
            operator: None,
            expected: vec![
                ("timeout: `act` did not answer within 5s", 5, false),
                ("timeout: `act` did not answer within 5s", 5, false),
            ],
        },
        Row {
            claim: "injected latency is the time of the call and holds its slot",
            settings: settings(|s| {
                s.concurrency = slots(1);
                s.timeout = timeout(5);
                s.fault = fault(0.0, 0.0).map(|fault| FaultSettings {
                    latency: Duration::from_secs(3),
                    ..fault
                });
            }),
            calls: vec![json!({}), json!({})],
            operator: None,
            expected: vec![
                ("done", 3, true),
                ("timeout: `act` did not answer within 5s", 5, false),
            ],
        },
        Row {
            claim: "an injected error is cut like that of a tool and leaves the slot to the next",
            settings: settings(|s| {
                s.result_limit = limit(8);
                s.concurrency = slots(1);
                s.fault = fault(1.0, 0.0);
            }),
            calls: vec![json!({}), json!({})],
            operator: None,
            expected: vec![("tool: `act` f#", 0, false), ("tool: `act` f#", 0, false)],
        },
        Row {
            claim: "where nobody is asked, no call gets as far as its turn",
            settings: settings(|s| {
                s.approval = approval(None);
                s.rate_limit = rate(0.1, 1);
                s.timeout = timeout(1);
            }),
            calls: vec![json!({}), json!({}), json!({})],
            operator: None,
            expected: vec![(NOBODY, 0, false), (NOBODY, 0, false), (NOBODY, 0, false)],
        },
        Row {
            claim: "nobody's answer in time is a denial, and the timeout has not begun",
            settings: settings(|s| {
                s.approval = approval(Some(Duration::from_secs(9)));
                s.timeout = timeout(1);
            }),
            calls: vec![json!({})],
            operator: Some(30),
            expected: vec![(LATE, 9, false)],
        },
        Row {
            claim: "a wait for the rate is within the timeout, and work after it too",
            settings: settings(|s| {
                s.rate_limit = rate(0.5, 1);
                s.timeout = timeout(3);
            }),
            calls: vec![json!({}), json!({"seconds": 2})],
            operator: None,
            expected: vec![
                ("done", 0, true),
                ("timeout: `act` did not answer within 3s", 3, true),
            ],
        },
        Row {
            claim: "a panic without `recover` is contained all the same and frees the slot",
            settings: settings(|s| {
                s.concurrency = slots(1);
                s.result_limit = limit(3);
            }),
            calls: vec![json!({"say": "panic"}), json!({"say": "four"})],
            operator: None,
            expected: vec![("panic: `act` panicked: boom", 0, true), ("fo#", 0, true)],
        },
        Row {
            claim: "a panic frees the slot",
            settings: settings(|s| {
                s.recover = true;
                s.concurrency = slots(1);
            }),
            calls: vec![json!({"say": "panic"}), json!({})],
            operator: None,
            expected: vec![("panic: `act` panicked: boom", 0, true), ("done", 0, true)],
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn the_order_of_the_layers_decides() {
    for row in rows() {
        let bench = Bench::new(row.settings).await;
        let console = row.operator.map(|_| bench.approvals.attach());
        if let Some(seconds) = row.operator {
            let approvals = bench.approvals.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                let open = Arc::clone(&approvals.pending().borrow());
                for question in open.iter() {
                    approvals.answer(question.id, Decision::Approve);
                }
            });
        }
        let begin = Instant::now();
        let calls = row.calls.into_iter().map(|arguments| {
            let call = bench.executor.call(Call::new("act", arguments));
            async {
                let outcome = call.await;
                let text = outcome.result.all_text();
                let text = match outcome.result.error_kind {
                    Some(kind) => format!("{kind}: {text}"),
                    None => text,
                };
                (text, begin.elapsed().as_secs(), outcome.reached_tool)
            }
        });
        let ended = futures::future::join_all(calls).await;
        let ended: Vec<_> = ended
            .iter()
            .map(|(t, at, r)| (t.as_str(), *at, *r))
            .collect();
        assert_eq!(ended, row.expected, "{}", row.claim);
        drop(console);
        let reached = row.expected.iter().filter(|ended| ended.2).count() as u64;
        assert_eq!(
            bench.tool.calls.load(Ordering::Relaxed),
            reached,
            "{}",
            row.claim
        );
    }
}

fn everything(audit: std::path::PathBuf) -> MiddlewareSettings {
    MiddlewareSettings {
        recover: true,
        telemetry: true,
        audit: Some(AuditSettings { file: audit }),
        result_limit: limit(1_000),
        result_part_budget_bytes: 1024,
        redact: redact(r"\d{4}"),
        validate: true,
        approval: approval(None),
        timeout: timeout(60),
        rate_limit: rate(1e6, 1_000_000),
        concurrency: slots(64),
        fault: fault(0.1, 0.0),
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_thousand_calls_are_counted_the_same_by_everybody() {
    const CALLS: u64 = 50_000;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    let registry = Arc::new(Registry::new());
    let hub = Arc::new(Hub::new(Arc::clone(&registry), Secrets::default()));
    let observer = Arc::clone(&hub) as Arc<dyn CallObserver>;
    let bench = Bench::over(everything(file.clone()), registry, observer).await;
    let names: Vec<_> = bench
        .executor
        .chain()
        .status()
        .iter()
        .map(|s| s.name)
        .collect();
    assert_eq!(names, ORDER, "all layers, in their order");
    let _console = bench.approvals.attach();
    // One question, answered for good.
    let answer = async {
        let mut pending = bench.approvals.pending();
        let id = pending.wait_for(|open| !open.is_empty()).await.unwrap()[0].id;
        bench.approvals.answer(id, Decision::Always)
    };
    let first = bench
        .executor
        .call(Call::new("act", json!({"say": "1234"})));
    let (first, answered) = tokio::join!(first, answer);
    assert!(answered);
    let (mut ok, mut failed) = (0, 0);
    let mut count = |outcome: &Outcome| match outcome.result.error_kind {
        None => {
            assert_eq!(outcome.result.all_text(), "••••");
            ok += 1;
        }
        Some(kind) => {
            assert_eq!(kind, ErrorKind::Tool);
            failed += 1;
        }
    };
    count(&first);
    let mut left = CALLS - 1;
    while left > 0 {
        let batch = left.min(1_000);
        let calls = (0..batch).map(|_| Call::new("act", json!({"say": "1234"})));
        for outcome in bench.executor.batch(calls.collect()).await {
            count(&outcome);
        }
        left -= batch;
    }
    bench.executor.chain().close().await;
    assert_eq!(ok + failed, CALLS);
    assert_eq!(bench.tool.calls.load(Ordering::Relaxed), ok);
    let stats = hub.stats();
    assert_eq!((stats.total.calls, stats.total.errors), (CALLS, failed));
    assert_eq!(stats.tools["act"].calls, CALLS);
    // What the tool itself has counted.
    let own = bench.tool.calls.load(Ordering::Relaxed);
    let age = hub.started().at.elapsed();
    for window in Window::ALL {
        let meters = &stats.meters;
        assert_eq!(meters.layers["tool"].counts(window, age), (own, 0));
        assert_eq!(
            meters.tools["act"].counts(window, age),
            (own + failed, failed)
        );
        assert_eq!(meters.owners["s"].counts(window, age).0, own + failed);
    }
    assert_eq!(stats.total.by_kind[0].kind, ErrorKind::Tool);
    assert_eq!(stats.total.by_kind[0].count, failed);
    for (layer, name, expected) in [
        ("telemetry", "executions.total", CALLS),
        ("telemetry", "errors.total", failed),
        ("validate", "checked", CALLS),
        ("approval", "approved", CALLS),
        ("concurrency", "started", CALLS),
        ("concurrency", "running", 0),
        ("concurrency", "waiting", 0),
        ("fault", "failed", failed),
        ("redact", "results_redacted", ok),
        ("recover", "recovered", 0),
    ] {
        assert_eq!(bench.counter(layer, name), expected, "{layer} {name}");
    }
    let written = bench.counter("audit", "written");
    assert_eq!(written + bench.counter("audit", "lost"), CALLS);
    let lines = std::fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().count() as u64, written);
    let redacted = r#""arguments":{"say":"••••"}"#;
    let count = lines.lines().filter(|line| line.contains(redacted)).count();
    assert_eq!(count as u64, written, "the audit is redacted");
}

#[tokio::test(start_paused = true)]
async fn every_window_counts_what_the_tool_itself_counted() {
    let registry = Arc::new(Registry::new());
    let hub = Arc::new(Hub::new(Arc::clone(&registry), Secrets::default()));
    let observer = Arc::clone(&hub) as Arc<dyn CallObserver>;
    let settings = settings(|s| {
        s.recover = true;
        s.concurrency = slots(8);
    });
    let bench = Bench::over(settings, registry, observer).await;
    let started = hub.started().at;
    let own = || bench.tool.calls.load(Ordering::Relaxed);
    // At the last moment of the hour every window has all of its slots.
    let end = Duration::from_secs(3_600) - Duration::from_millis(1);
    let begins = [3_540, 3_300, 0].map(Duration::from_secs);
    let mut before = [None; 3];
    for number in 0_u64.. {
        let age = started.elapsed();
        for (begin, before) in begins.iter().zip(&mut before) {
            if age >= *begin && before.is_none() {
                *before = Some(own());
            }
        }
        if age >= end {
            break;
        }
        let say = if number % 7 == 0 { "panic" } else { "fine" };
        bench
            .executor
            .call(Call::new("act", json!({"say": say})))
            .await;
        // Now and then a slot is left empty.
        let pause = Duration::from_millis(311 + number * 1_709 % 13_000);
        let next = (started.elapsed() + pause).min(end);
        // No pause steps over the begin of a window, at which the tool's own count is read.
        let mark = begins
            .into_iter()
            .find(|begin| started.elapsed() < *begin && next > *begin);
        tokio::time::sleep_until(started + mark.unwrap_or(next)).await;
    }
    let stats = hub.stats();
    let age = started.elapsed();
    for (window, before) in Window::ALL
        .into_iter()
        .zip(before.into_iter().chain([Some(0)]))
    {
        let expected = own() - before.unwrap();
        let meters = &stats.meters;
        for (what, meter) in [
            ("all", &meters.total),
            ("tool", &meters.tools["act"]),
            ("source", &meters.owners["s"]),
            ("layer", &meters.layers["concurrency"]),
            ("behind the layers", &meters.layers["tool"]),
        ] {
            let tally = meter.tally(window, age);
            assert_eq!(tally.calls, expected, "{what} in {}", window.as_str());
            assert_eq!(meter.counts(window, age).0, expected);
            assert_eq!(meter.latencies(window, age).count(), expected);
        }
        let (_, bins) = meters.total.series(window, age);
        let charted: u64 = bins.iter().map(|bin| bin.calls).sum();
        assert_eq!(charted, expected, "the chart of {}", window.as_str());
        let panics = meters.layers["recover"].tally(window, age).errors;
        assert_eq!(panics, meters.total.tally(window, age).errors);
        assert!(panics > 0 && expected > panics, "{panics} of {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_waterfall_of_a_call_tells_queues_from_work() {
    let bench = Bench::new(settings(|s| {
        s.result_limit = limit(3);
        s.rate_limit = rate(0.5, 1);
        s.concurrency = slots(1);
    }))
    .await;
    let calls = ["one", "three"].map(|say| Call::new("act", json!({"seconds": 5, "say": say})));
    let outcomes = bench.executor.batch(calls.to_vec()).await;
    let bytes = |text: &str| crate::tool::Part::Text(text.into()).encoded_len();
    let spans = outcomes[1].trace.spans(bytes("th#"));
    let rows: Vec<_> = spans
        .iter()
        .map(|span| {
            let seconds = [span.entered, span.took, span.waited].map(|time| time.as_secs());
            (span.layer, seconds, span.bytes_after)
        })
        .collect();
    let whole = Some(bytes("three"));
    assert_eq!(
        rows,
        [
            ("result_limit", [0, 10, 0], Some(bytes("th#"))),
            ("rate_limit", [0, 10, 2], whole),
            ("concurrency", [2, 8, 3], whole),
            ("tool", [5, 5, 0], whole),
        ]
    );
}

#[test]
fn what_cannot_be_built_is_named() {
    let context = BuildContext {
        registry: Arc::new(Registry::new()),
        secrets: Secrets::default(),
        approvals: Approvals::default(),
        instruments: None,
    };
    let message = |settings: MiddlewareSettings| match build(&settings, &context) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let pattern = message(settings(|s| s.redact = redact("(")));
    assert!(pattern.starts_with("`redact`: pattern `(`: "), "{pattern}");
    let file = message(settings(|s| {
        s.audit = Some(AuditSettings {
            file: "/nowhere/at/all/audit.jsonl".into(),
        });
    }));
    assert!(
        file.starts_with("`audit`: cannot open `/nowhere/at/all/audit.jsonl` for appending: "),
        "{file}"
    );
}
