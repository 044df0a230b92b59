//! Scenarios from file to trace, over running assemblies and under a paused clock.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::deployment::{Problems, ProcessEnvironment, Supplied};
use crate::runtime::{Options, Runtime};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/scenarios")
}

fn load(text: &str) -> Result<LoadedScenario, Problems> {
    let environment = Supplied::only([("LIMIT", "1")]);
    load_text("s.yaml", text, &fixtures(), &environment)
}

async fn play(loaded: LoadedScenario) -> Trace {
    let options = Options {
        assembly: Some(loaded.scenario.assembly.clone()),
        ..Options::default()
    };
    let runtime = Runtime::start(&loaded.deployment, options).await.unwrap();
    let stage = Stage {
        executor: runtime.executor().clone(),
        discovery: runtime.discovery().clone(),
    };
    let trace = Player::new(loaded.scenario, stage).play().await.unwrap();
    runtime.shutdown().await;
    trace
}

async fn play_file(name: &str) -> Trace {
    let path = fixtures().join(name);
    play(load_file(&path, &ProcessEnvironment).unwrap()).await
}

/// A deployment with these tools, and what follows it.
fn with_tools(tools: &[&str], rest: &str) -> String {
    let tools: String = tools
        .iter()
        .map(|tool| format!("      - {tool}\n"))
        .collect();
    format!(
        "resources:\n  sim:\n    kind: tool.Source\n    impl: sim\n    settings:\n      tools:\n{tools}  \
         tools:\n    kind: tool.Assembly\n    impl: memory\n    deps: {{tool: sim}}\n    \
         settings: {{dynamic: {{}}}}\n{rest}"
    )
}

const APPLE: &str = "{name: a_tool, description: works on apple, pad_to_bytes: 600}";

#[tokio::test(start_paused = true)]
async fn every_scenario_among_the_fixtures_is_as_expected() {
    let mut played = 0;
    for file in std::fs::read_dir(fixtures()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let trace = play_file(&name).await;
        assert_eq!(trace.missed, [], "{name}");
        played += 1;
    }
    assert!(played >= 10);
}

#[tokio::test(start_paused = true)]
async fn the_trace_has_the_fixed_fields() {
    let text = with_tools(
        &[APPLE],
        "rounds:\n- calls:\n  - {tool: tool_search, arguments: {query: apple}}\n  - {tool: nope}\n",
    );
    let trace = serde_json::to_value(play(load(&text).unwrap()).await).unwrap();
    let round = &trace["rounds"][0];
    let search = round["visible"][0]["bytes"].clone();
    let score = &round["calls"][0]["content"][0]["value"]["exposed"][0]["score"];
    assert!(score.as_f64().unwrap() > 0.0);
    let description = &round["calls"][0]["content"][0]["value"]["exposed"][0]["description"];
    let expected = json!({
        "scenario": "s.yaml",
        "rounds": [{
            "round": 1,
            "visible": [{"name": "tool_search", "bytes": search, "why": "always"}],
            "visible_bytes": search,
            "budget": {"max_definitions": 32, "max_bytes": 16384},
            "withheld": [],
            "calls": [
                {"tool": "tool_search", "call_id": "round-1-call-1", "outcome": "ok", "error_kind": null,
                 "content": [{"type": "data", "media_type": "application/json", "value": {
                    "query": "apple",
                    "exposed": [{"name": "a_tool", "description": description, "score": score}],
                    "failed": [], "evicted": []}}]},
                {"tool": "nope", "call_id": "round-1-call-2", "outcome": "undefined_tool", "error_kind": null,
                 "content": [{"type": "text", "text": "`nope` is not among the tools of this round"}]},
            ],
            "searches": [{"query": "apple", "ranked": ["a_tool"], "exposed": ["a_tool"], "failed": [], "evicted": []}],
            "pool": {"tools": [{"name": "a_tool", "bytes": 600, "last_used": 1, "rank": 0}],
                     "bytes": 600, "max_tools": 32, "max_bytes": 16384},
            "evicted": [],
        }],
        "missed": [],
    });
    assert_eq!(trace, expected);
}

#[tokio::test(start_paused = true)]
async fn idle_rounds_are_written_out_and_the_expectation_is_of_the_last() {
    let trace = play_file("tour.yaml").await;
    let numbers: Vec<_> = trace.rounds.iter().map(|round| round.round).collect();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
    let left: Vec<_> = trace.rounds[4..]
        .iter()
        .map(|round| round.evicted.len())
        .collect();
    let pooled = trace.rounds[3].pool.tools.len();
    assert_eq!(left.iter().sum::<usize>(), pooled);
    assert!(pooled > 0);
}

#[tokio::test(start_paused = true)]
async fn the_same_scenario_gives_the_same_trace() {
    assert_eq!(play_file("tour.yaml").await, play_file("tour.yaml").await);
}

#[tokio::test(start_paused = true)]
async fn a_static_assembly_has_no_bounds() {
    let trace = serde_json::to_value(play_file("static.yaml").await).unwrap();
    let round = &trace["rounds"][0];
    let none = json!({"max_definitions": null, "max_bytes": null});
    assert_eq!(round["budget"], none);
    let pool = json!({"tools": [], "bytes": 0, "max_tools": null, "max_bytes": null});
    assert_eq!(round["pool"], pool);
}

#[tokio::test(start_paused = true)]
async fn every_miss_is_told_as_expected_against_actual() {
    let text = with_tools(
        &[APPLE],
        "rounds:
- calls:
  - {tool: tool_search, arguments: {query: apple, limit: '${env:LIMIT}'}}
  expect: {visible: [tool_search, a_tool], errors: {tool_search: timeout}, ok: [], pool: []}
",
    );
    let trace = play(load(&text).unwrap()).await;
    let told: Vec<_> = trace.missed.iter().map(Miss::to_string).collect();
    assert_eq!(
        told,
        [
            "round 1: visible: expected [a_tool, tool_search], actual [tool_search]",
            "round 1: errors: expected [tool_search: timeout], actual [tool_search: validation]",
        ]
    );
    assert_eq!(
        serde_json::to_value(&trace.missed[0]).unwrap(),
        json!({"round": 1, "what": "visible", "expected": ["a_tool", "tool_search"], "actual": ["tool_search"]})
    );
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_is_replaced_in_place_is_resized_and_the_pool_refitted() {
    let text = with_tools(
        &[
            APPLE,
            "{name: b_tool, description: works on berry, pad_to_bytes: 600}",
        ],
        "rounds:
- calls:
  - {tool: tool_search, arguments: {query: apple}}
  - {tool: tool_search, arguments: {query: berry}}
- add: [{name: a_tool, description: works on apple, pad_to_bytes: 16000}]
  expect: {evicted: {a_tool: crowded}, pool: [b_tool]}
",
    );
    let trace = play(load(&text).unwrap()).await;
    // Both were last used in one round at one rank: the earlier one is the worse.
    assert_eq!(trace.missed, []);
}

fn problems(text: &str) -> Vec<String> {
    let problems = load(text).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn all_mistakes_are_told_at_once_each_at_its_place() {
    let text = with_tools(
        &[APPLE],
        "assembly: tool
rounds:
- {call: []}
- {idle: 3, calls: []}
- {idle: 0}
- {calls: [{arguments: {}}]}
- {expect: {failed: {a: too_big}, pol: []}}
- {remove: tool_search}
- {add: [{name: x, pad_to_bytes: 5}]}
",
    );
    assert_eq!(
        problems(&text),
        [
            "s.yaml:13:11: no assembly is named `tool` (did you mean `tools`?)",
            "s.yaml:15:4: unknown key `call` (did you mean `calls`?)",
            "s.yaml:16:10: `idle` means rounds without calls; `calls` is set too",
            "s.yaml:17:10: `idle` must be a whole number from 1 to 10000, not the number 0",
            "s.yaml:18:12: `tool` is missing",
            "s.yaml:19:25: `a` must be `visible_budget`, `over_budget` or `load_failed`, not `too_big`",
            "s.yaml:19:35: unknown key `pol` (did you mean `pool`?)",
            "s.yaml:20:12: `tool_search` belongs to the assembly and stays",
            "s.yaml:21:34: the definition of `x` has 61 bytes already and cannot be made 5 bytes long; use 61 or more",
        ]
    );
}

#[test]
fn a_scenario_needs_one_deployment() {
    assert_eq!(
        problems("rounds: []\n"),
        ["s.yaml:1:1: a scenario needs a deployment: `deployment: FILE`, or `resources:` here"]
    );
    assert_eq!(
        problems(&with_tools(&[APPLE], "deployment: tour.yaml\nrounds: []\n")),
        ["s.yaml:13:13: give either `deployment` or `resources`, not both"]
    );
    assert_eq!(
        problems("deployment: absent.yaml\nrounds: []\n"),
        ["s.yaml:1:13: the deployment `absent.yaml` does not exist"]
    );
    assert_eq!(
        problems("")[0],
        "s.yaml:1:1: the file is empty; a scenario has `rounds` and a deployment"
    );
}

#[test]
fn problems_of_the_deployment_file_are_told_in_that_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("d.yaml"), "resources: {}\n").unwrap();
    std::fs::write(
        dir.path().join("s.yaml"),
        "deployment: d.yaml\nrounds: []\n",
    )
    .unwrap();
    let told = load_file(&dir.path().join("s.yaml"), &ProcessEnvironment).unwrap_err();
    let file = dir.path().join("d.yaml").display().to_string();
    assert_eq!(
        told.0[0].to_string(),
        format!("{file}:1:12: `resources` is empty; a deployment needs at least one")
    );
}

#[test]
fn adding_tools_needs_a_simulated_source() {
    let text = "
resources:
  mcp: {kind: tool.Source, impl: mcp, settings: {servers: [{name: a, transport: stdio, command: x}]}}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: mcp}}
rounds:
- {add: [{name: x}]}
";
    assert_eq!(
        problems(text),
        ["s.yaml:6:9: `add` needs a source of `impl: sim` in the assembly, where the tools go"]
    );
}

#[test]
fn the_loaded_files_are_named_for_watching() {
    let loaded = load_file(&fixtures().join("tour.yaml"), &ProcessEnvironment).unwrap();
    assert_eq!(loaded.files, [fixtures().join("tour.yaml")]);
    let unused: Value = serde_json::Value::Null;
    assert_eq!(loaded.scenario.steps[1].calls[2].arguments, unused);
}
