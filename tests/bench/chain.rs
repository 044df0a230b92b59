//! What the chain costs per call: empty, each layer alone, all of them, beside a direct call and
//! beside tower where it has the same layers; and what a snapshot of a large assembly costs.
//! Run with `cargo bench --bench chain`.

#![expect(
    clippy::expect_used,
    reason = "a bench that cannot be set up has nothing to measure"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use toolcrib::discovery::DynamicSettings;
use toolcrib::executor::{CallObserver, Executor};
use toolcrib::middleware::settings::{
    ApprovalSettings, AuditSettings, ConcurrencySettings, FaultSettings, MiddlewareSettings,
    RateLimitSettings, RedactSettings, ResultLimitSettings,
};
use toolcrib::middleware::{Approvals, BuildContext, Chain, Endpoint, Request, TimeoutRule, build};
use toolcrib::observe::{AssemblyRow, Feed, Hub, Publisher, Window};
use toolcrib::registry::{Catalog, GlobMap, Owner, Registry};
use toolcrib::secrets::Secrets;
use toolcrib::session::{Directory, Discovery, SessionDriver, SessionKind};
use toolcrib::source::{OrderError, ServerOrder, ServerRows, Source, SourceSet};
use toolcrib::tool::{Call, Definition, Invocation, Tool, ToolResult};
use tower::{Service, ServiceBuilder, ServiceExt};

/// A page of text, as a tool that reads files gives it.
const TEXT_BYTES: usize = 1_000;

struct Reads(String);

impl Tool for Reads {
    fn definition(&self) -> Definition {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        });
        Definition::new("read", "Reads.", schema).expect("the definition is valid")
    }

    fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { ToolResult::text(self.0.clone()) })
    }
}

struct Direct(Arc<Reads>);

impl Endpoint for Direct {
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let arguments = match request.call.checked_arguments() {
                Ok(arguments) => arguments,
                Err(result) => return result,
            };
            self.0.execute(Invocation::bare(arguments)).await
        })
    }
}

type Edit = fn(&mut MiddlewareSettings);

fn all_tools() -> Vec<String> {
    vec!["*".into()]
}

/// One row per layer, with settings that let every call pass.
fn layers() -> [(&'static str, Edit); 10] {
    [
        ("recover", |s| s.recover = true),
        ("telemetry", |s| s.telemetry = true),
        ("result_limit", |s| {
            s.result_limit = Some(ResultLimitSettings {
                max: 100_000,
                marker: "#".into(),
                part_budget_bytes: None,
            });
        }),
        ("redact", |s| {
            s.redact = Some(RedactSettings {
                patterns: vec![r"sk-[A-Za-z0-9]{20,}".into()],
                replacement: "#".into(),
            });
        }),
        ("validate", |s| s.validate = true),
        ("approval", |s| {
            s.approval = Some(ApprovalSettings {
                tools: vec!["delete_*".into()],
                timeout: None,
            });
        }),
        ("timeout", |s| {
            s.timeout = Some(TimeoutRule {
                default: Some(Duration::from_secs(60)),
                tools: GlobMap::default(),
            });
        }),
        ("rate_limit", |s| {
            s.rate_limit = Some(RateLimitSettings {
                per_second: Some(1e9),
                burst: 1_000_000,
                tools: all_tools(),
            });
        }),
        ("concurrency", |s| {
            s.concurrency = Some(ConcurrencySettings {
                limit: Some(64),
                per_source: vec![("s".into(), 32)],
            });
        }),
        ("fault", |s| {
            s.fault = Some(FaultSettings {
                tools: all_tools(),
                latency: Duration::ZERO,
                error_rate: 0.0,
                drop: 0.0,
            });
        }),
    ]
}

struct Bench {
    runtime: Runtime,
    registry: Arc<Registry>,
    tool: Arc<Reads>,
    endpoint: Direct,
}

impl Bench {
    fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime can be built");
        let registry = Arc::new(Registry::new());
        let tool = Arc::new(Reads("lorem ipsum ".repeat(TEXT_BYTES / 12)));
        let shared = Arc::clone(&tool) as Arc<dyn Tool>;
        runtime.block_on(registry.publish(&Owner::source("s", 0), vec![shared]));
        Self {
            runtime,
            registry,
            endpoint: Direct(Arc::clone(&tool)),
            tool,
        }
    }

    fn chain(&self, settings: &MiddlewareSettings) -> Chain {
        let context = BuildContext {
            registry: Arc::clone(&self.registry),
            secrets: Secrets::default(),
            approvals: Approvals::default(),
            instruments: None,
        };
        build(settings, &context).expect("the settings are valid")
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.registry.catalog()
    }
}

/// No layer at all: not even the one that bounds parts without any setting.
fn nothing() -> MiddlewareSettings {
    MiddlewareSettings {
        result_part_budget_bytes: 0,
        ..MiddlewareSettings::default()
    }
}

fn call() -> Call {
    Call::new("read", json!({"path": "a.txt"}))
}

fn ours(c: &mut Criterion) {
    let bench = Bench::new();
    let mut group = c.benchmark_group("chain");
    group.bench_function("direct", |b| {
        b.iter(|| {
            bench.runtime.block_on(async {
                let arguments = call().checked_arguments().expect("they are an object");
                black_box(bench.tool.execute(Invocation::bare(arguments)).await)
            })
        });
    });
    let mut run = |name: &str, chain: Chain| {
        group.bench_function(name, |b| {
            b.iter(|| {
                bench.runtime.block_on(async {
                    let request = Request::new(call(), bench.catalog());
                    black_box(chain.run(request, &bench.endpoint).await)
                })
            });
        });
    };
    run("empty", bench.chain(&nothing()));
    let mut every = nothing();
    for (name, edit) in layers() {
        let mut settings = nothing();
        edit(&mut settings);
        edit(&mut every);
        run(name, bench.chain(&settings));
    }
    let dir = tempfile::tempdir().expect("a directory can be made");
    let mut audited = nothing();
    audited.audit = Some(AuditSettings {
        file: dir.path().join("audit.jsonl"),
    });
    every.audit = Some(AuditSettings {
        file: dir.path().join("all.jsonl"),
    });
    run("audit", bench.chain(&audited));
    run("all", bench.chain(&every));
    // What tower has too.
    let mut shared = nothing();
    for (name, edit) in layers() {
        if ["timeout", "rate_limit", "concurrency"].contains(&name) {
            edit(&mut shared);
        }
    }
    run("timeout+rate_limit+concurrency", bench.chain(&shared));
    group.finish();
}

/// The same tool as a tower service; the layers that tower has too.
fn towers(c: &mut Criterion) {
    let bench = Bench::new();
    let mut group = c.benchmark_group("tower");
    // Its rate limit wants a timer when it is made.
    let _entered = bench.runtime.enter();
    let tool = &bench.tool;
    let service = || {
        let tool = Arc::clone(tool);
        tower::service_fn(move |call: Call| {
            let tool = Arc::clone(&tool);
            async move {
                let arguments = call.checked_arguments().expect("they are an object");
                Ok::<_, std::convert::Infallible>(tool.execute(Invocation::bare(arguments)).await)
            }
        })
    };
    macro_rules! run {
        ($name:literal, $service:expr) => {
            group.bench_function($name, |b| {
                let mut service = $service;
                b.iter(|| {
                    bench.runtime.block_on(async {
                        let ready = service.ready().await.expect("it is always ready");
                        black_box(ready.call(call()).await.expect("it never fails"))
                    })
                });
            });
        };
    }
    // Boxed and shared as a chain built from a file has to be.
    run!("empty", service().boxed_clone());
    run!(
        "timeout",
        ServiceBuilder::new()
            .timeout(Duration::from_secs(60))
            .service(service())
            .boxed_clone()
    );
    run!(
        "concurrency",
        ServiceBuilder::new()
            .concurrency_limit(64)
            .service(service())
            .boxed_clone()
    );
    // A rate that no call waits for, as in the chain. This one cannot be shared without a queue in
    // front of it.
    run!(
        "rate_limit",
        ServiceBuilder::new()
            .rate_limit(1_000_000_000, Duration::from_secs(1))
            .service(service())
            .boxed()
    );
    run!(
        "timeout+rate_limit+concurrency",
        ServiceBuilder::new()
            .timeout(Duration::from_secs(60))
            .rate_limit(1_000_000_000, Duration::from_secs(1))
            .concurrency_limit(64)
            .service(service())
            .boxed()
    );
    group.finish();
}

/// A source that does nothing.
struct Idle(String, tokio::sync::watch::Sender<ServerRows>);

impl Source for Idle {
    fn name(&self) -> &str {
        &self.0
    }

    fn kind(&self) -> &'static str {
        "sim"
    }

    fn servers(&self) -> tokio::sync::watch::Receiver<ServerRows> {
        self.1.subscribe()
    }

    fn order(&self, _: &str, _: ServerOrder) -> BoxFuture<'_, Result<String, OrderError>> {
        Box::pin(async { Err(OrderError::Closed(String::new())) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

struct Named(String);

impl Tool for Named {
    fn definition(&self) -> Definition {
        Definition::new(&*self.0, "Does it.", json!({"type": "object"})).expect("it is valid")
    }

    fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { ToolResult::text("done") })
    }
}

/// One snapshot of 100 sources with 10,000 tools, each of which was called, and 100 sessions.
fn snapshots(c: &mut Criterion) {
    const SOURCES: usize = 100;
    const TOOLS: usize = 100;
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be built");
    let registry = Arc::new(Registry::new());
    let hub = Arc::new(Hub::new(Arc::clone(&registry), Secrets::default()));
    let observer = Arc::clone(&hub) as Arc<dyn CallObserver>;
    let executor = Executor::new(Arc::clone(&registry), Chain::default(), observer);
    let discovery = Discovery::new(&registry, Some(DynamicSettings::default()));
    let name = |source: usize, tool: usize| format!("s{source}__t{tool}");
    let mut sources: Vec<Arc<dyn Source>> = Vec::new();
    for source in 0..SOURCES {
        let owner = Owner::source(format!("s{source}"), 0);
        let tools = (0..TOOLS).map(|tool| Arc::new(Named(name(source, tool))) as Arc<dyn Tool>);
        runtime.block_on(registry.publish(&owner, tools.collect()));
        let rows = tokio::sync::watch::Sender::new(ServerRows::from([]));
        sources.push(Arc::new(Idle(format!("s{source}"), rows)));
    }
    let sessions = Directory::default();
    let drivers: Vec<SessionDriver> = (0..100)
        .map(|number| {
            let (executor, discovery) = (executor.clone(), Arc::clone(&discovery));
            let mut driver = SessionDriver::new(format!("a{number}"), executor, discovery, []);
            driver.enlist(sessions.list(driver.name(), SessionKind::Agent, Secrets::default()));
            driver
        })
        .collect();
    let set = SourceSet::default();
    set.replace(sources);
    let mut publisher = Publisher::new(Feed {
        deployment: "bench".into(),
        warnings: tokio::sync::watch::Sender::new(Arc::from([])).subscribe(),
        assembly: Arc::new(parking_lot::RwLock::new(AssemblyRow {
            name: "tools".into(),
            implementation: "middleware",
            dynamic: true,
        })),
        reload: tokio::sync::watch::Sender::new(None).subscribe(),
        discovery,
        sources: set,
        executor: executor.clone(),
        hub,
        approvals: Approvals::default(),
        sessions,
        questions: toolcrib::source::mcp::Questions::default(),
        traffic: None,
        stopping: Arc::default(),
    });
    let watching = publisher.subscribe();
    let call = |number: usize| {
        let mut call = Call::new(name(number % SOURCES, number / SOURCES % TOOLS), json!({}));
        call.session = Some(Arc::clone(drivers[number % drivers.len()].name()));
        runtime.block_on(executor.call(call));
    };
    (0..SOURCES * TOOLS).for_each(call);
    publisher.publish();
    let mut group = c.benchmark_group("snapshot");
    group.bench_function("unchanged", |b| b.iter(|| publisher.publish()));
    let mut number = 0;
    group.bench_function("after a call", |b| {
        b.iter(|| {
            number += 1;
            call(number);
            publisher.publish();
        });
    });
    let snapshot = Arc::clone(&watching.borrow());
    let age = snapshot.age_at(snapshot.taken.at);
    group.bench_function("40 rows of five minutes", |b| {
        b.iter(|| {
            let rows = snapshot.stats.meters.tools.values().take(40);
            let rows = rows.map(|meter| meter.tally(Window::FiveMinutes, age));
            black_box(rows.map(|tally| tally.calls).sum::<u64>())
        });
    });
    group.bench_function("10,000 tools in order", |b| {
        b.iter(|| {
            let tools = snapshot.stats.meters.tools.values();
            let mut counts: Vec<_> = tools
                .map(|meter| meter.counts(Window::FiveMinutes, age))
                .collect();
            counts.sort_unstable();
            black_box(counts.len())
        });
    });
    group.finish();
}

criterion_group!(benches, ours, towers, snapshots);
criterion_main!(benches);
