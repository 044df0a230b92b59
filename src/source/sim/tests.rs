use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::*;
use crate::tool::{ErrorKind, Hints, Invocation, Part, ToolResult};

pub(super) fn tool(name: &str, behavior: Behavior) -> SimTool {
    SimTool {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        pad_to_bytes: None,
        lazy: None,
        hints: Hints::default(),
        rate: None,
        behavior,
    }
}

fn of(outcome: Outcome) -> Behavior {
    Behavior {
        outcome,
        ..Behavior::default()
    }
}

struct Bench {
    registry: Arc<Registry>,
    source: SimSource,
}

impl Bench {
    async fn with(tools: Vec<SimTool>) -> Self {
        Self::seeded(tools, 1).await
    }

    async fn seeded(tools: Vec<SimTool>, seed: u64) -> Self {
        Self::start(SimSettings {
            seed: Some(seed),
            catalog: None,
            tools: Some(tools),
        })
        .await
    }

    async fn start(settings: SimSettings) -> Self {
        let registry = Arc::new(Registry::new());
        let source = SimSource::start("sim".into(), 3, &settings, Arc::clone(&registry))
            .await
            .unwrap();
        Self { registry, source }
    }

    fn tool(&self, name: &str) -> SharedTool {
        Arc::clone(&self.registry.catalog().get(name).unwrap().tool)
    }

    fn names(&self) -> Vec<String> {
        let catalog = self.registry.catalog();
        catalog.definitions().map(|d| d.name().to_owned()).collect()
    }

    async fn call(&self, name: &str) -> ToolResult {
        self.tool(name).execute(Invocation::bare(Map::new())).await
    }

    /// How long a call takes and whether it fails.
    async fn draw(&self, name: &str) -> (Duration, bool) {
        let begun = Instant::now();
        let failed = self.call(name).await.is_error();
        (begun.elapsed(), failed)
    }
}

fn uncertain(name: &str) -> SimTool {
    let behavior = Behavior {
        latency: Duration::from_millis(10),
        jitter: Duration::from_millis(500),
        error_rate: 0.4,
        outcome: Outcome::Echo,
    };
    tool(name, behavior)
}

#[tokio::test(start_paused = true)]
async fn the_draws_of_a_tool_depend_on_its_own_calls_alone() {
    let tools = || vec![uncertain("a"), uncertain("b")];
    let (alone, mixed) = (Bench::with(tools()).await, Bench::with(tools()).await);
    let (mut expected, mut seen) = (Vec::new(), Vec::new());
    for round in 0..20 {
        expected.push(alone.draw("a").await);
        for _ in 0..round % 3 {
            mixed.draw("b").await;
        }
        seen.push(mixed.draw("a").await);
    }
    assert_eq!(seen, expected);
    let failed = seen.iter().filter(|(_, failed)| *failed).count();
    assert!((1..20).contains(&failed), "{failed} of 20 failed");
    let other = Bench::seeded(tools(), 2).await;
    let mut different = Vec::new();
    for _ in 0..20 {
        different.push(other.draw("a").await);
    }
    assert_ne!(different, expected);
}

#[tokio::test(start_paused = true)]
async fn an_injected_failure_is_of_kind_tool_and_says_what_it_is() {
    let failing = Behavior {
        error_rate: 1.0,
        outcome: Outcome::Data(json!(1)),
        ..Behavior::default()
    };
    let bench = Bench::with(vec![tool("t", failing)]).await;
    assert_eq!(
        bench.call("t").await,
        ToolResult::error(ErrorKind::Tool, "simulated failure of `t` (`error_rate` 1)")
    );
}

#[tokio::test(start_paused = true)]
async fn one_failing_part_makes_an_error_that_keeps_all_parts() {
    let slow = Behavior {
        latency: Duration::from_secs(2),
        ..of(Outcome::Text {
            text: "ab".into(),
            repeat: 2,
        })
    };
    let parts = Behavior {
        latency: Duration::from_secs(1),
        ..of(Outcome::Parts(vec![
            of(Outcome::Image(100)),
            of(Outcome::Error("no luck".into())),
            slow,
            of(Outcome::Data(json!({"k": 1}))),
        ]))
    };
    let bench = Bench::with(vec![tool("t", parts)]).await;
    let begun = Instant::now();
    let result = bench.call("t").await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(result.error_kind, Some(ErrorKind::Tool));
    let Part::Image { bytes, media_type } = &result.parts[0] else {
        panic!("{:?}", result.parts[0]);
    };
    assert_eq!((bytes.len(), media_type.as_str()), (100, "image/png"));
    assert_eq!(
        result.parts[1..],
        [
            Part::Text("no luck".into()),
            Part::Text("abab".into()),
            Part::json(json!({"k": 1})),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn echo_gives_the_arguments_as_compact_json() {
    let bench = Bench::with(vec![tool("t", Behavior::default())]).await;
    let Value::Object(arguments) = json!({"z": [1, "é"], "a": null}) else {
        unreachable!()
    };
    let result = bench.tool("t").execute(Invocation::bare(arguments)).await;
    assert_eq!(result, ToolResult::text(r#"{"z":[1,"é"],"a":null}"#));
}

#[tokio::test(start_paused = true)]
async fn a_wait_and_a_hang_end_by_cancellation_and_by_the_deadline() {
    let waiting = Behavior {
        latency: Duration::from_secs(60),
        ..Behavior::default()
    };
    let bench = Bench::with(vec![tool("hang", of(Outcome::Hang)), tool("wait", waiting)]).await;
    for name in ["hang", "wait"] {
        let begun = Instant::now();
        let mut invocation = Invocation::bare(Map::new());
        invocation.deadline = Some(begun + Duration::from_secs(7));
        let result = bench.tool(name).execute(invocation).await;
        assert_eq!(result.error_kind, Some(ErrorKind::Timeout), "{name}");
        assert_eq!(begun.elapsed(), Duration::from_secs(7), "{name}");

        let begun = Instant::now();
        let invocation = Invocation::bare(Map::new());
        let cancel = invocation.cancel.clone();
        let called = bench.tool(name);
        let (result, ()) = tokio::join!(called.execute(invocation), async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            cancel.cancel();
        });
        assert_eq!(result.error_kind, Some(ErrorKind::Cancelled), "{name}");
        assert_eq!(begun.elapsed(), Duration::from_secs(2), "{name}");
    }
}

#[tokio::test]
#[should_panic(expected = "as ordered")]
async fn a_panic_is_a_real_one() {
    let panics = of(Outcome::Panic("as ordered".into()));
    Bench::with(vec![tool("t", panics)]).await.call("t").await;
}

fn lazy(name: &str, fail: bool) -> SimTool {
    SimTool {
        description: "the whole truth".into(),
        pad_to_bytes: Some(400),
        lazy: Some(LazySettings {
            placeholder: "soon".into(),
            latency: Duration::from_secs(1),
            fail,
        }),
        ..tool(name, Behavior::default())
    }
}

#[tokio::test(start_paused = true)]
async fn a_lazy_tool_shows_its_placeholder_until_it_is_loaded() {
    let bench = Bench::with(vec![lazy("t", false)]).await;
    let shown = || {
        let entry = Arc::clone(bench.registry.catalog().get("t").unwrap());
        (
            entry.definition.description().len(),
            entry.definition.bytes(),
        )
    };
    assert_eq!(shown(), (4, 65));
    let entry = Arc::clone(bench.registry.catalog().get("t").unwrap());
    let begun = Instant::now();
    let (first, second) = tokio::join!(entry.load(), entry.load());
    assert_eq!(
        begun.elapsed(),
        Duration::from_secs(1),
        "one shared attempt"
    );
    assert_eq!(first.unwrap().bytes(), 400);
    assert!(second.is_ok());
    bench.registry.refresh("t").await;
    assert_eq!(shown().1, 400);
}

#[tokio::test(start_paused = true)]
async fn a_call_loads_a_lazy_tool_and_shows_its_definition() {
    let bench = Bench::with(vec![lazy("t", false)]).await;
    assert_eq!(bench.call("t").await, ToolResult::text("{}"));
    let entry = Arc::clone(bench.registry.catalog().get("t").unwrap());
    assert_eq!(entry.definition.bytes(), 400);
    assert!(!entry.changed_since_first_seen());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_cannot_be_loaded_is_not_available_and_keeps_its_placeholder() {
    let bench = Bench::with(vec![lazy("t", true)]).await;
    let result = bench.call("t").await;
    assert_eq!(
        result,
        ToolResult::error(
            ErrorKind::NotAvailable,
            "cannot load the definition of `t`: simulated failure (`lazy.fail` is set)"
        )
    );
    let entry = Arc::clone(bench.registry.catalog().get("t").unwrap());
    assert_eq!(entry.definition.description(), "soon");
}

#[tokio::test(start_paused = true)]
async fn tools_come_and_go_while_the_source_runs_and_close_takes_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.jsonl");
    std::fs::write(
        &path,
        "{\"name\":\"x\",\"server\":\"s\"}\n{\"name\":\"y\",\"server\":\"s\"}",
    )
    .unwrap();
    let bench = Bench::start(SimSettings {
        seed: None,
        catalog: Some(path),
        tools: Some(vec![tool("a", Behavior::default())]),
    })
    .await;
    let foreign = Owner::source("other", 9);
    let stranger = tool::tool(
        tool("b", Behavior::default()),
        Seed::new(None),
        &bench.registry,
    );
    bench.registry.add(&foreign, stranger.unwrap()).await;
    assert_eq!(bench.names(), ["a", "b", "x", "y"]);
    assert_eq!(
        bench.registry.catalog().get("x").unwrap().owner,
        Owner::server("sim", "s", (3, 1))
    );

    let changed = SimTool {
        description: "new".into(),
        ..tool("x", Behavior::default())
    };
    bench.source.add(changed).await.unwrap();
    bench
        .source
        .add(tool("c", Behavior::default()))
        .await
        .unwrap();
    let catalog = bench.registry.catalog();
    assert_eq!(catalog.get("x").unwrap().definition.description(), "new");
    assert!(
        catalog.refusals().is_empty(),
        "a replacement is no conflict with itself"
    );

    bench.source.remove(&["y", "b", "never there"]).await;
    assert_eq!(
        bench.names(),
        ["a", "b", "c", "x"],
        "`b` belongs to another source"
    );
    bench.source.close().await;
    bench.source.close().await;
    assert_eq!(bench.names(), ["b"]);
}

#[tokio::test]
async fn wrong_settings_register_nothing() {
    let registry = Arc::new(Registry::new());
    let settings = SimSettings {
        tools: Some(vec![
            tool("a", Behavior::default()),
            tool("", Behavior::default()),
        ]),
        ..SimSettings::default()
    };
    let started = SimSource::start("sim".into(), 0, &settings, Arc::clone(&registry)).await;
    assert_eq!(
        started.err().unwrap().to_string(),
        "tools[1].name: a tool needs a name that is not empty"
    );
    assert!(registry.catalog().is_empty());
}

#[tokio::test]
async fn a_source_without_servers_knows_none() {
    let bench = Bench::start(SimSettings::default()).await;
    assert!(bench.source.servers().borrow().is_empty());
    let error = bench
        .source
        .order("x", ServerOrder::Probe)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "source `sim` has no server `x`");
}

#[tokio::test]
async fn ten_thousand_lines_of_a_thousand_servers_are_one_version_of_the_catalog() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.jsonl");
    let line = |n: usize| {
        let server = format!("server{}", n % 1000);
        let definition = json!({
            "name": format!("{server}__tool_{n}"),
            "server": server,
            "description": format!("Does thing number {n} and returns what came of it."),
            "input_schema": {
                "type": "object",
                "properties": {"path": {"type": "string", "description": "Where it is"}},
                "required": ["path"]
            },
        });
        format!("{definition}\n")
    };
    std::fs::write(&path, (0..10_000).map(line).collect::<String>()).unwrap();
    let bench = Bench::start(SimSettings {
        catalog: Some(path),
        ..SimSettings::default()
    })
    .await;
    let catalog = bench.registry.catalog();
    assert_eq!((catalog.len(), catalog.version), (10_000, 1));
}
