//! Findings with their numbers, over small catalogs and hand-made sessions.

use serde_json::json;

use super::*;
use crate::discovery::fixture::{Shelf, settings, sized};
use crate::discovery::session::{CallEnd, Effect, EndedCall};
use crate::discovery::tool_search::SearchPlan;
use crate::discovery::{DynamicSettings, PoolSettings, Session};
use crate::tool::Definition;

fn bounded(
    max_definitions: usize,
    max_bytes: usize,
    exposures: &[(&str, Mode)],
) -> DynamicSettings {
    DynamicSettings {
        budget: BudgetSettings {
            max_definitions,
            max_bytes,
        },
        discovery: PoolSettings {
            max_tools: 9,
            max_bytes: 900,
            idle_rounds: 10,
        },
        ..settings(exposures)
    }
}

fn named(name: &str, description: &str) -> Definition {
    Definition::new(name, description, json!({"type": "object"})).unwrap()
}

fn call(tool: &str, effect: Effect) -> EndedCall {
    EndedCall {
        id: "c".into(),
        tool: tool.into(),
        end: CallEnd::Ok,
        effect,
    }
}

fn empty_search(query: &str) -> EndedCall {
    let plan = SearchPlan {
        query: query.into(),
        asked: 8,
        hits: Vec::new(),
    };
    call(TOOL_SEARCH, Effect::Search(plan))
}

/// What is said of a session that plays these batches.
fn played(shelf: &Shelf, settings: DynamicSettings, batches: Vec<Vec<EndedCall>>) -> Vec<Finding> {
    let exposures = Arc::new(shelf.exposures(Some(settings)));
    let mut session = Session::new(Arc::clone(&exposures), []);
    for batch in batches {
        session.begin_round(Arc::clone(&exposures));
        session.apply_batch(batch);
    }
    let history: Vec<_> = session.history().cloned().collect();
    of_session(&SessionRounds {
        name: &"s".into(),
        history: &history,
        current: session.current(),
    })
}

fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_budget_that_withholds_for_three_rounds_is_told_and_for_two_is_not() {
    let shelf = Shelf::of(&["a", "b"]);
    let tight = || bounded(1, 1000, &[("*", Mode::Always)]);
    let rounds = |count| (0..count).map(|_| Vec::new()).collect::<Vec<_>>();
    assert_eq!(played(&shelf, tight(), rounds(2)), []);
    let findings = played(&shelf, tight(), rounds(3));
    assert_eq!(
        told(&findings),
        [
            "`s`: the visible set is full for 3 rounds: 1 of 1 definitions, 100 of 1000 bytes, \
          1 tool withheld"
        ]
    );
    assert_eq!(findings[0].about(), About::Session("s".into()));
}

#[test]
fn a_set_with_room_that_withholds_a_large_tool_is_not_called_full() {
    let mut shelf = Shelf::of(&["a", "b"]);
    shelf.put("large", 700);
    let roomy = || bounded(4, 800, &[("*", Mode::Always)]);
    let of_session = |batches| {
        let mut told = played(&shelf, roomy(), batches);
        told.retain(|finding| matches!(finding, Finding::BudgetFull { .. }));
        told
    };
    let findings = of_session(vec![Vec::new(); 4]);
    assert_eq!(
        told(&findings),
        [
            "`s`: tools are withheld in the last 4 rounds: 2 of 4 definitions, 200 of 800 bytes, \
          1 tool withheld"
        ]
    );
    assert!(findings[0].advice().contains("shorten"));
}

#[test]
fn a_tool_sent_in_many_rounds_since_its_last_call_is_told() {
    let shelf = Shelf::of(&["a", "b", TOOL_SEARCH]);
    let modes = || bounded(9, 9000, &[("*", Mode::Always)]);
    let mut batches = vec![vec![call("a", Effect::Reached)]];
    batches.extend((0..UNUSED_ROUNDS - 1).map(|_| Vec::new()));
    let findings = played(&shelf, modes(), batches.clone());
    let once = "`s`: `b` was sent in 20 rounds and not called, 100 bytes each";
    assert_eq!(told(&findings), [once], "`a` was called in the first");
    batches.push(Vec::new());
    assert_eq!(played(&shelf, modes(), batches).len(), 2);
}

#[test]
fn searches_that_found_nothing_are_counted_by_query() {
    let shelf = Shelf::of(&[TOOL_SEARCH]);
    let batches = vec![
        vec![empty_search("fly")],
        vec![empty_search("swim"), empty_search("fly")],
    ];
    assert_eq!(
        told(&played(&shelf, bounded(9, 9000, &[]), batches)),
        [
            "`s`: `swim` found nothing in round 2",
            "`s`: `fly` found nothing in round 2, 2 times in all"
        ]
    );
}

#[test]
fn definitions_that_never_fit_and_always_tools_that_take_most_are_told_with_their_numbers() {
    let mut shelf = Shelf::of(&[TOOL_SEARCH, "al"]);
    shelf.put("large", 901);
    shelf.put("pool", 880);
    shelf.put("fits", 400);
    shelf.put("hidden", 5000);
    let mut tight = bounded(9, 1000, &[("al", Mode::Always), ("hidden", Mode::Hidden)]);
    tight.discovery.max_bytes = 500;
    let findings = of_catalog(&shelf.exposures(Some(tight)));
    assert_eq!(
        told(&findings),
        [
            "`large` can never be sent: it has 901 bytes, and the budget leaves 900",
            "`pool` can never be discovered: it has 880 bytes, and the pool holds 500",
        ]
    );
    assert_eq!(
        findings[0].advice(),
        "shorten it, or raise `budget.max_bytes` by at least 1"
    );
    let heavy = bounded(9, 300, &[("al", Mode::Always), ("*", Mode::Hidden)]);
    let findings = of_catalog(&shelf.exposures(Some(heavy)));
    assert_eq!(
        told(&findings),
        ["always tools take 2 of 9 definitions and 200 of 300 bytes of every round"]
    );
    assert!(
        findings[0]
            .advice()
            .ends_with("the largest is `al`, 100 bytes")
    );
}

#[test]
fn names_in_another_writing_and_the_same_job_at_two_servers_are_alike() {
    let mut shelf = Shelf::default();
    for (name, description) in [
        ("fs__read_file", "Reads a text file from the disk"),
        ("files__readFile", "Read a text file from disk"),
        (
            "web__read_file",
            "Downloads whatever stands behind an address",
        ),
        ("list_pods", "a"),
        ("listPod", "b"),
        ("list_pod_logs", "c"),
        ("old__listPods", "hidden"),
    ] {
        shelf.define(named(name, description));
    }
    let exposures = shelf.exposures(Some(settings(&[("old__*", Mode::Hidden)])));
    let alike = |names: &[&str], same_job| Finding::AlikeNames {
        names: names.iter().map(|name| (*name).into()).collect(),
        same_job,
    };
    assert_eq!(
        of_catalog(&exposures),
        [
            alike(&["listPod", "list_pods"], false),
            alike(&["files__readFile", "fs__read_file"], true),
        ]
    );
}

#[test]
fn without_dynamic_only_names_are_looked_at() {
    let mut shelf = Shelf::default();
    shelf.define(sized("huge", 99_999));
    assert_eq!(of_catalog(&shelf.exposures(None)), []);
}
