//! Sessions played again: unchanged, with less room, with other modes.

use std::path::Path;

use serde_json::json;

use super::*;
use crate::deployment::{Supplied, load_text};
use crate::discovery::fixture::{Shelf, settings};
use crate::discovery::session::{CallEnd, Effect, EndedCall};
use crate::discovery::tool_search::{Load, PlannedHit, SearchPlan};
use crate::discovery::{BudgetSettings, Mode, PoolSettings, Session, TOOL_SEARCH};
use crate::tool::Definition;

fn search(query: &str, asked: usize, hits: &[&str]) -> EndedCall {
    let hits = hits.iter().map(|name| PlannedHit {
        name: (*name).into(),
        score: 1.0,
        load: Load::Ready,
    });
    EndedCall {
        id: "s".into(),
        tool: TOOL_SEARCH.into(),
        end: CallEnd::Ok,
        effect: Effect::Search(SearchPlan {
            query: query.into(),
            asked,
            hits: hits.collect(),
        }),
    }
}

fn call(tool: &str, end: CallEnd) -> EndedCall {
    EndedCall {
        id: "c".into(),
        tool: tool.into(),
        end,
        effect: match end {
            CallEnd::UndefinedTool => Effect::None,
            _ => Effect::Reached,
        },
    }
}

fn played(
    shelf: &Shelf,
    settings: DynamicSettings,
    batches: Vec<Vec<EndedCall>>,
) -> Vec<Arc<RoundRecord>> {
    let exposures = Arc::new(shelf.exposures(Some(settings)));
    let mut session = Session::new(Arc::clone(&exposures), []);
    for batch in batches {
        session.begin_round(Arc::clone(&exposures));
        session.apply_batch(batch);
    }
    let current = Arc::clone(session.current());
    session.history().cloned().chain([current]).collect()
}

fn names(list: &[Arc<str>]) -> Vec<&str> {
    list.iter().map(|name| &**name).collect()
}

fn three_rounds() -> Vec<Vec<EndedCall>> {
    vec![
        vec![search("q", 8, &["a", "b"])],
        vec![call("a", CallEnd::Ok), call("b", CallEnd::Ok)],
        vec![call("c", CallEnd::UndefinedTool)],
    ]
}

#[test]
fn less_room_misses_what_was_called_and_counts_the_bytes() {
    let shelf = Shelf::of(&["a", "b", "c", TOOL_SEARCH]);
    let rounds = played(&shelf, DynamicSettings::default(), three_rounds());
    let changes = Changes {
        max_definitions: Some(2),
        ..Changes::default()
    };
    let what = what_if(&rounds, &changes).unwrap();
    let second = &what.rounds[1];
    assert_eq!(names(&second.was.sent), [TOOL_SEARCH, "a", "b"]);
    assert_eq!(names(&second.would.sent), [TOOL_SEARCH, "a"]);
    assert_eq!(
        second.would.withheld,
        [("b".into(), WithheldReason::Definitions)]
    );
    assert_eq!(names(&second.missed), ["b"]);
    assert_eq!(second.gone().map(|name| &**name).collect::<Vec<_>>(), ["b"]);
    assert_eq!((what.bytes(), what.calls()), ((700, 500), (1, 0)));
    assert_eq!(what.after.budget.max_definitions, 2);
    assert_eq!(what.before.budget.max_definitions, 32);
}

#[test]
fn rounds_that_the_session_dropped_are_counted_as_skipped() {
    let shelf = Shelf::of(&["a", TOOL_SEARCH]);
    let batches = vec![Vec::new(); crate::discovery::session::HISTORY + 4];
    let rounds = played(&shelf, DynamicSettings::default(), batches);
    let what = what_if(&rounds, &Changes::default()).unwrap();
    let first = what.rounds[0].round;
    assert!(
        first > 4,
        "the first that is kept only says how the next began"
    );
    assert_eq!(what.skipped, first as usize - 1);
}

#[test]
fn a_tool_that_is_always_there_is_regained_and_no_search_finds_it_any_more() {
    let mut shelf = Shelf::of(&[TOOL_SEARCH, "a", "b"]);
    let about_c = Definition::new("c", "q", json!({"type": "object"})).unwrap();
    shelf.define(about_c);
    let rounds = played(&shelf, DynamicSettings::default(), three_rounds());
    let changes = Changes {
        modes: vec![("c".into(), Mode::Always)],
        ..Changes::default()
    };
    let what = what_if(&rounds, &changes).unwrap();
    assert_eq!(names(&what.rounds[2].regained), ["c"]);
    assert_eq!(names(&what.rounds[0].would.sent), ["c", TOOL_SEARCH]);
    let ranked_anew = names(&what.rounds[1].would.sent);
    assert_eq!(ranked_anew, ["c", TOOL_SEARCH], "nothing but `c` says `q`");
}

#[test]
fn a_larger_pool_ranks_anew_where_the_record_was_cut_to_the_smaller_one() {
    let mut shelf = Shelf::of(&[TOOL_SEARCH]);
    for name in ["read_a", "read_b", "read_c"] {
        shelf.put(name, 100);
    }
    let mut small = DynamicSettings::default();
    small.discovery.max_tools = 1;
    let batches = vec![vec![search("read", 8, &["read_a"])], Vec::new()];
    let rounds = played(&shelf, small, batches);
    let changes = Changes {
        pool_tools: Some(2),
        ..Changes::default()
    };
    let what = what_if(&rounds, &changes).unwrap();
    let would = names(&what.rounds[1].would.sent);
    assert_eq!(would, [TOOL_SEARCH, "read_a", "read_b"]);
}

#[test]
fn fewer_idle_rounds_let_go_sooner() {
    let shelf = Shelf::of(&["a", TOOL_SEARCH]);
    let mut batches = vec![vec![search("q", 8, &["a"])]];
    batches.extend((0..4).map(|_| Vec::new()));
    let rounds = played(&shelf, DynamicSettings::default(), batches);
    let changes = Changes {
        idle_rounds: Some(2),
        ..Changes::default()
    };
    let what = what_if(&rounds, &changes).unwrap();
    let sent: Vec<usize> = what
        .rounds
        .iter()
        .map(|pair| pair.would.sent.len())
        .collect();
    assert_eq!(sent, [1, 2, 2, 1, 1], "rule 6.5: found in 1, gone in 4");
}

#[test]
fn a_session_that_cannot_be_played_says_why() {
    let shelf = Shelf::of(&["a"]);
    let exposures = Arc::new(shelf.exposures(None));
    let mut session = Session::new(Arc::clone(&exposures), []);
    let current = |session: &Session| [Arc::clone(session.current())];
    let nothing = Changes::default();
    assert_eq!(
        what_if(&current(&session), &nothing),
        Err(WhatIfError::NoRounds)
    );
    session.begin_round(exposures);
    assert_eq!(
        what_if(&current(&session), &nothing),
        Err(WhatIfError::Static)
    );
    let rounds = played(&shelf, DynamicSettings::default(), vec![Vec::new()]);
    let fixed = Changes {
        modes: vec![(TOOL_SEARCH.into(), Mode::Hidden)],
        ..Changes::default()
    };
    assert_eq!(
        what_if(&rounds, &fixed),
        Err(WhatIfError::Fixed(FixedExposure))
    );
    let mut old = (*rounds[0]).clone();
    old.seen = None;
    assert_eq!(
        what_if(&[Arc::new(old)], &nothing),
        Err(WhatIfError::Forgotten)
    );
}

#[test]
fn the_rounds_that_are_left_are_played_from_the_pool_of_the_one_before() {
    let shelf = Shelf::of(&["a", "b", "c", TOOL_SEARCH]);
    let rounds = played(&shelf, DynamicSettings::default(), three_rounds());
    let what = what_if(&rounds[1..], &Changes::default()).unwrap();
    assert_eq!(
        what.rounds.len(),
        1,
        "the second gives the pool for the third"
    );
    assert_eq!(what.rounds[0].was, what.rounds[0].would);
    assert_eq!(what.skipped, 2, "one is gone, one says how the next began");
}

#[test]
fn zero_means_default_as_in_the_file() {
    let zeros = Changes {
        max_definitions: Some(0),
        max_bytes: Some(9),
        pool_tools: Some(0),
        pool_bytes: Some(0),
        idle_rounds: Some(0),
        modes: Vec::new(),
    };
    let settings = zeros.apply(&DynamicSettings::default()).unwrap();
    let discovery = PoolSettings {
        max_tools: 32,
        max_bytes: 9,
        idle_rounds: 10,
    };
    assert_eq!(
        (settings.budget.max_definitions, settings.discovery),
        (32, discovery)
    );
}

#[test]
fn the_settings_are_accepted_by_a_deployment_file_and_mean_the_same() {
    let odd = [
        "fs__*",
        "a: b",
        "it's",
        "\"q\"",
        "tab\t",
        "日本",
        "${env:HOME}",
        "#",
        "- x",
    ];
    let modes: Vec<(&str, Mode)> = odd.iter().map(|name| (*name, Mode::Direct)).collect();
    let wanted = DynamicSettings {
        default: Mode::Hidden,
        budget: BudgetSettings {
            max_definitions: 7,
            max_bytes: 7777,
        },
        discovery: PoolSettings {
            max_tools: 3,
            max_bytes: 333,
            idle_rounds: 2,
        },
        ..settings(&modes)
    };
    let block: String = yaml(&wanted)
        .lines()
        .map(|line| format!("      {line}\n"))
        .collect();
    let text = format!(
        "resources:\n  sim: {{kind: tool.Source, impl: sim}}\n  tools:\n    \
         kind: tool.Assembly\n    impl: memory\n    deps: {{tool: sim}}\n    settings:\n{block}"
    );
    let environment = Supplied::only([("HOME", "/home")]);
    let loaded = load_text("t.yaml", &text, Path::new("/"), &environment).unwrap();
    let dynamic = loaded.deployment.assemblies[0].dynamic.as_ref();
    assert_eq!(dynamic, Some(&wanted), "{text}");
}
