//! Drivers over a simulated source and a real executor, under a paused clock.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::discovery::session::{CallEnd, ExposeError};
use crate::discovery::{DynamicSettings, Mode, PoolSettings, TOOL_SEARCH};
use crate::executor::{CallObserver, Executor, Outcome, Started};
use crate::middleware::settings::ConcurrencySettings;
use crate::middleware::{Chain, Concurrency};
use crate::registry::{GlobMap, Owner, Registry};
use crate::secrets::Secrets;
use crate::source::sim::{self, Behavior, LazySettings, SimSettings, SimSource, SimTool};
use crate::tool::{Call, ErrorKind, Hints, Part};

struct Deaf;

impl CallObserver for Deaf {
    fn started(&self, _: &Arc<Started>) {}
    fn finished(&self, _: &Outcome) {}
}

fn tool(name: &str, description: &str) -> SimTool {
    SimTool {
        name: name.into(),
        description: description.into(),
        input_schema: json!({"type": "object"}),
        pad_to_bytes: Some(600),
        lazy: None,
        hints: Hints::default(),
        rate: None,
        behavior: Behavior::default(),
    }
}

fn lazy(name: &str, description: &str, fail: bool) -> SimTool {
    SimTool {
        lazy: Some(LazySettings {
            placeholder: description.into(),
            latency: Duration::from_millis(200),
            fail,
        }),
        ..tool(name, description)
    }
}

fn slow(name: &str, ms: u64) -> SimTool {
    SimTool {
        behavior: Behavior {
            latency: Duration::from_millis(ms),
            ..Behavior::default()
        },
        ..tool(name, &format!("works on {name}"))
    }
}

struct Bench {
    registry: Arc<Registry>,
    executor: Executor,
    discovery: Arc<Discovery>,
}

impl Bench {
    async fn new(tools: Vec<SimTool>, settings: Option<DynamicSettings>) -> Self {
        Self::behind(Chain::default(), tools, settings).await
    }

    async fn behind(chain: Chain, tools: Vec<SimTool>, settings: Option<DynamicSettings>) -> Self {
        let registry = Arc::new(Registry::new());
        let sim = SimSettings {
            seed: Some(1),
            catalog: None,
            tools: Some(tools),
        };
        SimSource::start("sim".into(), 0, &sim, Arc::clone(&registry))
            .await
            .unwrap();
        let discovery = Discovery::new(&registry, settings);
        if let Some(tool) = discovery.tool_search().unwrap() {
            registry.add(&Owner::source("assembly", 9), tool).await;
        }
        Self {
            executor: Executor::new(Arc::clone(&registry), chain, Arc::new(Deaf)),
            registry,
            discovery,
        }
    }

    fn session(&self) -> SessionDriver {
        let (executor, discovery) = (self.executor.clone(), Arc::clone(&self.discovery));
        SessionDriver::new("s", executor, discovery, [])
    }
}

fn search(query: &str) -> Call {
    Call::new(TOOL_SEARCH, json!({"query": query}))
}

fn answer(report: &CallReport) -> &Value {
    match report.result.parts.as_slice() {
        [Part::Data { value, .. }] => value,
        other => panic!("not one data part: {other:?}"),
    }
}

fn names(value: &Value) -> Vec<&str> {
    let items = value.as_array().unwrap().iter();
    items.map(|item| item["name"].as_str().unwrap()).collect()
}

fn visible(driver: &SessionDriver) -> Vec<&str> {
    driver.session().visible().names().collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_search_exposes_can_be_called_from_the_next_round_on() {
    let tools = vec![tool("a_tool", "works on apple")];
    let bench = Bench::new(tools, Some(DynamicSettings::default())).await;
    let mut driver = bench.session();
    let round = driver
        .round(vec![Call::new("a_tool", json!({})), search("apple")])
        .await;
    assert_eq!(round.calls[0].end, CallEnd::UndefinedTool);
    assert!(round.calls[0].outcome.is_none());
    assert_eq!(names(&answer(&round.calls[1])["exposed"]), ["a_tool"]);
    let round = driver.round(vec![Call::new("a_tool", json!({}))]).await;
    assert_eq!(round.calls[0].end, CallEnd::Ok);
    assert_eq!(round.record.round, 2);
}

#[tokio::test(start_paused = true)]
async fn searches_of_one_batch_are_completed_together_even_with_equal_call_ids() {
    let tools = vec![
        tool("a_tool", "works on apple"),
        tool("b_tool", "works on berry"),
    ];
    let bench = Bench::new(tools, Some(DynamicSettings::default())).await;
    let mut driver = bench.session();
    let mut calls = vec![search("apple"), search("berry")];
    calls[1].id = calls[0].id.clone();
    let round = driver.round(calls).await;
    assert_eq!(names(&answer(&round.calls[0])["exposed"]), ["a_tool"]);
    assert_eq!(names(&answer(&round.calls[1])["exposed"]), ["b_tool"]);
    assert_eq!(round.calls[0].id, round.calls[1].id);
}

#[tokio::test(start_paused = true)]
async fn a_lazy_hit_is_loaded_and_sent_with_its_loaded_definition() {
    let tools = vec![
        lazy("a_tool", "works on apple", false),
        lazy("broken", "works on apple", true),
    ];
    let bench = Bench::new(tools, Some(DynamicSettings::default())).await;
    let placeholder = bench
        .registry
        .catalog()
        .get("a_tool")
        .unwrap()
        .definition
        .bytes();
    let mut driver = bench.session();
    let round = driver.round(vec![search("apple")]).await;
    let value = answer(&round.calls[0]);
    assert_eq!(names(&value["exposed"]), ["a_tool"]);
    let failed = &value["failed"][0];
    assert_eq!(
        (&failed["name"], &failed["reason"]),
        (&json!("broken"), &json!("load_failed"))
    );
    driver.begin_round();
    let sent = &driver.session().visible().sent[1];
    assert_eq!((sent.name(), sent.bytes()), ("a_tool", 600));
    assert_ne!(placeholder, 600);
    assert_eq!(driver.session().current().evicted().count(), 0);
}

/// The second search begins when the first has loaded what it found.
#[tokio::test(start_paused = true)]
async fn what_a_search_loads_does_not_change_what_another_of_its_batch_finds() {
    let changes = SimTool {
        lazy: Some(LazySettings {
            placeholder: "apple".into(),
            latency: Duration::ZERO,
            fail: false,
        }),
        ..tool("changes", "berry")
    };
    let one_at_a_time = ConcurrencySettings {
        limit: Some(1),
        per_source: Vec::new(),
    };
    let chain = Chain::new(vec![Arc::new(Concurrency::new(one_at_a_time))]);
    let tools = vec![changes, tool("stays", "apple berry")];
    let bench = Bench::behind(chain, tools, Some(DynamicSettings::default())).await;
    let mut driver = bench.session();
    let round = driver.round(vec![search("apple"), search("berry")]).await;
    assert_eq!(names(&answer(&round.calls[0])["exposed"]).len(), 2);
    assert_eq!(names(&answer(&round.calls[1])["exposed"]), ["stays"]);
    let round = driver.round(vec![search("berry")]).await;
    assert_eq!(names(&answer(&round.calls[0])["exposed"]).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lazy_tool_that_its_call_has_loaded_is_admitted_with_its_loaded_size() {
    let tools = vec![lazy("a_tool", "works on apple", false)];
    let bench = Bench::new(tools, Some(DynamicSettings::default())).await;
    let mut driver = bench.session();
    driver.begin_round();
    let calls = vec![Call::new("a_tool", json!({}))];
    driver.run(calls, Gate::Open).await;
    assert_eq!(driver.session().pool().bytes(), 600);
    driver.begin_round();
    assert_eq!(driver.session().current().ledger, []);
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_of_a_search_are_a_validation_result_and_have_no_effect() {
    let bench = Bench::new(
        vec![tool("a_tool", "works on apple")],
        Some(DynamicSettings::default()),
    )
    .await;
    let mut driver = bench.session();
    let round = driver
        .round(vec![Call::new(TOOL_SEARCH, json!({"query": " "}))])
        .await;
    assert_eq!(round.calls[0].end, CallEnd::Error(ErrorKind::Validation));
    assert_eq!(round.record.searches, []);
}

#[tokio::test(start_paused = true)]
async fn a_search_outside_of_any_session_is_not_available() {
    let bench = Bench::new(Vec::new(), Some(DynamicSettings::default())).await;
    let outcome = bench.executor.call(search("apple")).await;
    assert_eq!(outcome.result.error_kind, Some(ErrorKind::NotAvailable));
}

#[tokio::test(start_paused = true)]
async fn without_dynamic_every_tool_is_visible_and_a_search_is_undefined_or_not_found() {
    let tools = vec![tool("b", "works on berry"), tool("a", "works on apple")];
    let bench = Bench::new(tools, None).await;
    let mut driver = bench.session();
    let round = driver
        .round(vec![search("apple"), Call::new("a", json!({}))])
        .await;
    assert_eq!(visible(&driver), ["a", "b"]);
    let ends: Vec<_> = round.calls.iter().map(|call| call.end).collect();
    assert_eq!(ends, [CallEnd::UndefinedTool, CallEnd::Ok]);
    driver.begin_round();
    let round = driver.run(vec![search("apple")], Gate::Open).await;
    assert_eq!(round.calls[0].end, CallEnd::Error(ErrorKind::NotFound));
    assert_eq!(driver.expose("a").unwrap_err(), ExposeError::NotAvailable);
    let found: Vec<_> = bench
        .discovery
        .search("berry", 5)
        .into_iter()
        .map(|hit| hit.name)
        .collect();
    assert_eq!(found, ["b"], "ranking works on all tools");
}

#[tokio::test(start_paused = true)]
async fn an_operator_may_call_what_is_not_visible_and_that_admits_it() {
    let bench = Bench::new(
        vec![tool("a_tool", "works on apple")],
        Some(DynamicSettings::default()),
    )
    .await;
    let mut driver = bench.session();
    driver.begin_round();
    let round = driver
        .run(vec![Call::new("a_tool", json!({}))], Gate::Open)
        .await;
    assert_eq!(round.calls[0].end, CallEnd::Ok);
    driver.begin_round();
    assert_eq!(visible(&driver), [TOOL_SEARCH, "a_tool"]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_batch_has_no_effect_and_the_session_goes_on() {
    let bench = Bench::new(
        vec![slow("slow_tool", 60_000), tool("a_tool", "works on apple")],
        Some(DynamicSettings::default()),
    )
    .await;
    let mut driver = bench.session();
    driver.begin_round();
    let calls = vec![Call::new("slow_tool", json!({})), search("apple")];
    let batch = driver.run(calls, Gate::Open);
    assert!(
        tokio::time::timeout(Duration::from_secs(1), batch)
            .await
            .is_err()
    );
    assert!(bench.executor.in_flight().is_empty());
    let round = driver.round(vec![search("apple")]).await;
    assert_eq!(round.record.round, 2);
    assert_eq!(names(&answer(&round.calls[0])["exposed"]), ["a_tool"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_comes_and_one_that_goes_are_seen_from_the_next_round_on() {
    let bench = Bench::new(
        vec![tool("a_tool", "works on apple")],
        Some(DynamicSettings::default()),
    )
    .await;
    let mut driver = bench.session();
    driver.round(vec![search("apple")]).await;
    let owner = bench
        .registry
        .catalog()
        .get("a_tool")
        .unwrap()
        .owner
        .clone();
    bench.registry.remove(&owner, &["a_tool"]).await;
    let fresh = sim::tool(
        tool("new_tool", "works on apple"),
        sim::Seed::new(Some(1)),
        &bench.registry,
    );
    bench.registry.add(&owner, fresh.unwrap()).await;
    let round = driver.round(vec![search("apple")]).await;
    let evicted: Vec<_> = round
        .record
        .evicted()
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(evicted, ["a_tool"]);
    assert_eq!(names(&answer(&round.calls[0])["exposed"]), ["new_tool"]);
}

#[tokio::test(start_paused = true)]
async fn changed_settings_reach_sessions_and_index() {
    let bench = Bench::new(
        vec![tool("a_tool", "works on apple")],
        Some(DynamicSettings::default()),
    )
    .await;
    let mut driver = bench.session();
    driver.round(vec![search("apple")]).await;
    bench.discovery.configure(Some(DynamicSettings {
        exposures: GlobMap::new([("a_*".to_owned(), Mode::Hidden)]),
        ..DynamicSettings::default()
    }));
    driver.see();
    assert_eq!(driver.session().pool().entries(), []);
    let round = driver.round(vec![search("apple")]).await;
    assert_eq!(names(&answer(&round.calls[0])["exposed"]), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn globs_that_match_nothing_are_told() {
    let settings = DynamicSettings {
        exposures: GlobMap::new([("zip__*".to_owned(), Mode::Hidden)]),
        ..DynamicSettings::default()
    };
    let bench = Bench::new(vec![tool("a_tool", "x")], Some(settings)).await;
    assert_eq!(
        bench.discovery.unmatched(),
        ["`zip__*` in `dynamic.exposures` matches no tool"]
    );
}

/// What one round did, without what may differ from run to run (call ids).
fn essence(report: &RoundReport) -> String {
    let record = &report.record;
    let visible: Vec<_> = record.visible.names().collect();
    let results: Vec<_> = report
        .calls
        .iter()
        .map(|call| (&call.tool, call.end, &call.result))
        .collect();
    format!(
        "{} {visible:?} {results:?} {:?} {:?}",
        record.round, record.ledger, record.pool
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_order_of_a_batch_does_not_depend_on_how_long_its_calls_take(
        batches in prop::collection::vec(prop::collection::vec((0..8_usize, any::<bool>()), 0..5), 1..8),
        latencies in prop::collection::vec(prop::collection::vec(0..500_u64, 8), 2),
    ) {
        const NAMES: [&str; 8] = ["apple", "berry", "cherry", "damson", "elder", "fig", "grape", "hazel"];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        let play = |latencies: &[u64]| -> Vec<String> {
            runtime.block_on(async {
                let tools = NAMES.iter().zip(latencies).map(|(name, ms)| slow(name, *ms));
                let settings = DynamicSettings {
                    discovery: PoolSettings { max_tools: 3, ..PoolSettings::default() },
                    ..DynamicSettings::default()
                };
                let bench = Bench::new(tools.collect(), Some(settings)).await;
                let mut driver = bench.session();
                let mut rounds = Vec::new();
                for batch in &batches {
                    let calls = batch.iter().map(|(tool, is_search)| match is_search {
                        true => search(NAMES[*tool]),
                        false => Call::new(NAMES[*tool], json!({})),
                    });
                    let calls: Vec<_> = calls.collect();
                    driver.begin_round();
                    rounds.push(essence(&driver.run(calls, Gate::Open).await));
                }
                rounds
            })
        };
        prop_assert_eq!(play(&latencies[0]), play(&latencies[1]));
    }
}

/// A driver that is listed.
fn listed(bench: &Bench, directory: &Directory, secrets: &Secrets) -> SessionDriver {
    let mut driver = bench.session();
    driver.enlist(directory.list("s", SessionKind::Agent, secrets.clone()));
    driver
}

#[tokio::test(start_paused = true)]
async fn rows_and_rounds_in_which_nothing_happened_are_shared_between_publications() {
    let tools = vec![tool("note_write", "write a note")];
    let bench = Bench::new(tools, Some(DynamicSettings::default())).await;
    let directory = Directory::default();
    let mut busy = listed(&bench, &directory, &Secrets::default());
    let _still = listed(&bench, &directory, &Secrets::default());
    busy.round(vec![search("note")]).await;
    let before = directory.rows();
    assert!(Arc::ptr_eq(&before, &directory.rows()), "nothing happened");
    busy.round(vec![]).await;
    busy.round(vec![]).await;
    let after = directory.rows();
    assert!(Arc::ptr_eq(&before[1], &after[1]));
    assert!(!Arc::ptr_eq(&before[0], &after[0]));
    assert!(Arc::ptr_eq(&before[0].current, &after[0].history[0]));
    let kept: Vec<u32> = after[0].rounds().map(|record| record.round).collect();
    assert_eq!(
        (kept, after[0].status),
        (vec![1, 2, 3], SessionStatus::Open)
    );
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_a_model_wrote_is_masked_in_every_round_that_is_kept() {
    let tools = vec![tool("note_write", "write a note")];
    let bench = Bench::new(tools, Some(DynamicSettings::default())).await;
    let directory = Directory::default();
    let secrets = Secrets::default();
    secrets.add("hunter2-hunter2");
    let mut driver = listed(&bench, &directory, &secrets);
    let calls = vec![
        search("note hunter2-hunter2"),
        Call::new("hunter2-hunter2", Value::Null),
    ];
    driver.round(calls).await;
    driver.round(vec![]).await;
    let row = Arc::clone(&directory.rows()[0]);
    for record in row.rounds() {
        assert!(!format!("{record:?}").contains("hunter2"), "{record:?}");
    }
    assert_eq!(&*row.history[0].searches[0].query, "note ••••");
    assert_eq!(&*row.history[0].calls[1].tool, "••••");
    let json = serde_json::to_value(&row).unwrap();
    assert_eq!(json["round"], 2);
    assert_eq!(json["visible"][1]["why"], "pooled");
    // The session itself goes on with what was really written.
    assert_eq!(
        &*driver.session().history().next().unwrap().calls[1].tool,
        "hunter2-hunter2"
    );
}

#[tokio::test(start_paused = true)]
async fn of_the_sessions_that_ended_the_newest_are_kept() {
    let bench = Bench::new(Vec::new(), Some(DynamicSettings::default())).await;
    let directory = Directory::default();
    let open = listed(&bench, &directory, &Secrets::default());
    for _ in 0..20 {
        drop(listed(&bench, &directory, &Secrets::default()));
    }
    let rows = directory.rows();
    let ended = rows.iter().filter(|row| row.status == SessionStatus::Ended);
    assert_eq!((rows.len(), ended.count()), (17, 16));
    assert_eq!(rows[0].status, SessionStatus::Open);
    directory.forget(rows[0].id);
    assert_eq!(
        directory.rows().len(),
        17,
        "one that goes on is not forgotten"
    );
    directory.forget(rows[1].id);
    assert_eq!(directory.rows().len(), 16);
    drop(open);
}

#[tokio::test(start_paused = true)]
async fn always_and_required_tools_that_are_withheld_are_warnings() {
    let settings = DynamicSettings {
        budget: crate::discovery::BudgetSettings {
            max_definitions: 2,
            max_bytes: 1_300,
        },
        ..DynamicSettings::default()
    };
    let tools = vec![tool("a", "works"), tool("b", "works")];
    let bench = Bench::new(tools, Some(settings)).await;
    let directory = Directory::default();
    let mut driver = listed(&bench, &directory, &Secrets::default());
    driver.require("a");
    driver.require("b");
    driver.begin_round();
    let row = Arc::clone(&directory.rows()[0]);
    assert_eq!(row.warnings.len(), 1);
    assert!(row.warnings[0].starts_with("`b` is required and withheld: definitions"));
    assert_eq!(row.budget_use().map(|used| used.percent()), Some(100));
}
