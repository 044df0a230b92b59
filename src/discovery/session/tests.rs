//! Rules of sections 5 to 7 over hand-made batches.

use super::*;
use crate::discovery::fixture::{Shelf, settings, sized};
use crate::discovery::{BudgetSettings, DynamicSettings, TOOL_SEARCH};
use crate::tool::ErrorKind;

struct Bench {
    shelf: Shelf,
    settings: Option<DynamicSettings>,
    session: Session,
}

impl Bench {
    fn new(names: &[&str], settings: Option<DynamicSettings>) -> Self {
        let shelf = Shelf::of(names);
        let session = Session::new(Arc::new(shelf.exposures(settings.clone())), []);
        Self {
            shelf,
            settings,
            session,
        }
    }
    fn begin(&mut self) -> Vec<String> {
        let exposures = self.shelf.exposures(self.settings.clone());
        let set = self.session.begin_round(Arc::new(exposures));
        set.names().map(str::to_owned).collect()
    }
    fn round(&mut self, calls: Vec<EndedCall>) -> Vec<SearchAnswer> {
        self.begin();
        self.session.apply_batch(calls)
    }
    fn pool(&self) -> Vec<&str> {
        let entries = self.session.pool().entries();
        entries.iter().map(|entry| &*entry.name).collect()
    }
    fn evicted(&self) -> Vec<(&str, &str)> {
        let evicted = self.session.current().evicted();
        evicted
            .map(|(name, reason)| (&**name, reason.as_str()))
            .collect()
    }
}

fn search(hits: &[&str]) -> EndedCall {
    let hits = hits.iter().map(|name| (*name, Load::Ready)).collect();
    search_with(hits)
}

fn search_with(hits: Vec<(&str, Load)>) -> EndedCall {
    let hits = hits
        .into_iter()
        .map(|(name, load)| PlannedHit {
            name: name.into(),
            score: 1.0,
            load,
        })
        .collect();
    EndedCall {
        id: "s".into(),
        tool: TOOL_SEARCH.into(),
        end: CallEnd::Ok,
        effect: Effect::Search(SearchPlan {
            query: "q".into(),
            asked: 8,
            hits,
        }),
    }
}

fn call(tool: &str, end: CallEnd, effect: Effect) -> EndedCall {
    EndedCall {
        id: "c".into(),
        tool: tool.into(),
        end,
        effect,
    }
}

fn reached(tool: &str) -> EndedCall {
    call(tool, CallEnd::Ok, Effect::Reached)
}

fn exposed(answer: &SearchAnswer) -> Vec<&str> {
    answer.exposed.iter().map(|hit| &*hit.name).collect()
}

fn failed(answer: &SearchAnswer) -> Vec<(&str, &str, usize)> {
    answer
        .failed
        .iter()
        .map(|hit| (&*hit.name, hit.reason.as_str(), hit.bytes))
        .collect()
}

fn dynamic(max_definitions: usize, max_tools: usize) -> DynamicSettings {
    DynamicSettings {
        budget: BudgetSettings {
            max_definitions,
            max_bytes: 16384,
        },
        discovery: PoolSettings {
            max_tools,
            ..PoolSettings::default()
        },
        ..DynamicSettings::default()
    }
}

#[test]
fn a_hit_is_visible_from_the_next_round_on_and_not_before() {
    let mut bench = Bench::new(&["a", TOOL_SEARCH], Some(DynamicSettings::default()));
    assert_eq!(bench.begin(), [TOOL_SEARCH]);
    let answers = bench.session.apply_batch(vec![search(&["a"])]);
    assert_eq!(exposed(&answers[0]), ["a"]);
    assert_eq!(bench.begin(), [TOOL_SEARCH, "a"]);
}

#[test]
fn effects_apply_in_the_order_of_the_calls_and_a_later_search_may_evict_what_a_later_call_uses() {
    let mut bench = Bench::new(&["a", "b", TOOL_SEARCH], Some(dynamic(9, 1)));
    bench.round(vec![search(&["a"])]);
    bench.round(vec![search(&["b"]), reached("a")]);
    assert_eq!(bench.pool(), ["b"], "touched first, b is not evicted for a");
    assert_eq!(bench.evicted(), [("a", "crowded")]);
    bench.round(vec![reached("b"), search(&["a"])]);
    assert_eq!(bench.pool(), ["b"]);
}

#[test]
fn every_call_that_reached_its_tool_touches_the_pool_and_no_other() {
    let mut bench = Bench::new(&["a", "b", "c"], Some(DynamicSettings::default()));
    bench.round(vec![
        call("a", CallEnd::Error(ErrorKind::Timeout), Effect::Reached),
        call("b", CallEnd::Error(ErrorKind::Denied), Effect::None),
        call("c", CallEnd::UndefinedTool, Effect::None),
    ]);
    assert_eq!(bench.pool(), ["a"]);
    let entry = &bench.session.pool().entries()[0];
    assert_eq!((entry.last_used, entry.rank), (1, 0));
}

#[test]
fn always_and_hidden_tools_and_tool_search_never_enter_the_pool() {
    let modes = settings(&[("al", Mode::Always), ("hi", Mode::Hidden)]);
    let mut bench = Bench::new(&["al", "hi", TOOL_SEARCH], Some(modes));
    bench.round(vec![reached("al"), reached("hi"), reached(TOOL_SEARCH)]);
    assert_eq!(bench.pool(), [""; 0]);
}

#[test]
fn refused_hits_count_in_the_rank_and_the_walk_goes_on() {
    let mut small_pool = dynamic(9, 9);
    small_pool.discovery.max_bytes = 150;
    let mut bench = Bench::new(&["b"], Some(small_pool));
    bench.shelf.put("huge", 151);
    let answers = bench.round(vec![search(&["huge", "b"])]);
    assert_eq!(failed(&answers[0]), [("huge", "over_budget", 151)]);
    assert_eq!(exposed(&answers[0]), ["b"]);
    assert_eq!(bench.session.pool().get("b").unwrap().rank, 1);
}

#[test]
fn all_searches_of_a_batch_are_answered_from_one_visible_set() {
    let mut bench = Bench::new(&["a", "b", TOOL_SEARCH], Some(dynamic(2, 9)));
    let answers = bench.round(vec![search(&["a"]), search(&["b"])]);
    assert_eq!(failed(&answers[0]), [("a", "visible_budget", 100)]);
    assert_eq!(exposed(&answers[1]), ["b"]);
    assert_eq!(bench.begin(), [TOOL_SEARCH, "b"]);
}

#[test]
fn a_required_hit_that_the_pool_refuses_is_sent_and_still_listed_as_over_budget() {
    let mut tiny = dynamic(9, 9);
    tiny.discovery.max_bytes = 50;
    let mut bench = Bench::new(&["a"], Some(tiny));
    bench.session.require("a".into());
    let answers = bench.round(vec![search(&["a"])]);
    assert_eq!(failed(&answers[0]), [("a", "over_budget", 100)]);
    assert_eq!(bench.begin(), ["a"]);
}

#[test]
fn a_hit_that_cannot_be_loaded_is_reported_and_not_admitted() {
    let mut bench = Bench::new(&["a", "b"], Some(DynamicSettings::default()));
    let broken = Load::Failed("gone".into());
    let answers = bench.round(vec![search_with(vec![("a", broken), ("b", Load::Ready)])]);
    assert_eq!(failed(&answers[0]), [("a", "load_failed", 100)]);
    assert_eq!(bench.pool(), ["b"]);
    assert_eq!(bench.session.pool().entries()[0].rank, 1);
}

#[test]
fn a_loaded_hit_counts_with_its_loaded_size_and_description() {
    let mut bench = Bench::new(&["a"], Some(DynamicSettings::default()));
    let loaded = sized("a", 400);
    let answers = bench.round(vec![search_with(vec![("a", Load::Loaded(loaded.clone()))])]);
    assert_eq!(answers[0].exposed[0].description, loaded.description());
    assert_eq!(bench.session.pool().bytes(), 400);
}

#[test]
fn a_pooled_placeholder_that_is_loaded_is_resized_first_and_then_refreshed() {
    let mut bench = Bench::new(&["a"], Some(DynamicSettings::default()));
    bench.round(vec![reached("a")]);
    bench.round(vec![search_with(vec![(
        "a",
        Load::Loaded(sized("a", 400)),
    )])]);
    let ledger = &bench.session.current().ledger;
    assert!(matches!(
        (&ledger[0].change, &ledger[1].change),
        (
            PoolChange::Resized {
                from: 100,
                bytes: 400,
                ..
            },
            PoolChange::Refreshed(_)
        )
    ));
}

#[test]
fn one_search_that_loads_a_tool_loads_it_for_all_searches_of_the_batch() {
    let mut bench = Bench::new(&["a"], Some(DynamicSettings::default()));
    let first = search_with(vec![("a", Load::Failed("too early".into()))]);
    let second = search_with(vec![("a", Load::Loaded(sized("a", 200)))]);
    let answers = bench.round(vec![first, second]);
    assert_eq!(exposed(&answers[0]), ["a"]);
    assert_eq!(exposed(&answers[1]), ["a"]);
}

#[test]
fn idle_entries_leave_before_registry_changes_apply() {
    let mut idle = dynamic(9, 9);
    idle.discovery.idle_rounds = 1;
    let mut bench = Bench::new(&["a", "b"], Some(idle));
    bench.round(vec![search(&["a"])]);
    bench.round(vec![search(&["b"])]);
    bench.shelf.take("a");
    bench.shelf.take("b");
    bench.begin();
    assert_eq!(bench.evicted(), [("a", "idle"), ("b", "removed")]);
}

#[test]
fn a_tool_that_becomes_always_or_hidden_leaves_the_pool() {
    let mut bench = Bench::new(&["a", "b"], Some(DynamicSettings::default()));
    bench.round(vec![search(&["a", "b"])]);
    bench.settings = Some(settings(&[("a", Mode::Always), ("b", Mode::Hidden)]));
    assert_eq!(bench.begin(), ["a"]);
    assert_eq!(bench.evicted(), [("a", "removed"), ("b", "removed")]);
}

#[test]
fn lowered_bounds_refit_the_pool_at_once() {
    let mut bench = Bench::new(&["a", "b"], Some(dynamic(9, 9)));
    bench.round(vec![search(&["a", "b"])]);
    let exposures = bench.shelf.exposures(Some(dynamic(9, 1)));
    bench.session.see(Arc::new(exposures));
    assert_eq!(bench.pool(), ["a"]);
    assert_eq!(bench.evicted(), [("b", "crowded")]);
}

#[test]
fn a_pool_larger_than_the_budget_brings_its_entries_back_when_they_are_found_again() {
    let mut bench = Bench::new(&["a", "b", TOOL_SEARCH], Some(dynamic(2, 9)));
    bench.round(vec![search(&["a"])]);
    bench.round(vec![search(&["b"])]);
    assert_eq!(bench.begin(), [TOOL_SEARCH, "b"]);
    bench.session.apply_batch(vec![search(&["a"])]);
    assert_eq!(bench.begin(), [TOOL_SEARCH, "a"]);
}

#[test]
fn discovering_a_tool_appends_and_a_refresh_does_not_move() {
    let mut bench = Bench::new(&["a", "b", "c"], Some(DynamicSettings::default()));
    bench.round(vec![search(&["b"])]);
    bench.round(vec![search(&["c"])]);
    bench.round(vec![reached("b"), search(&["a"])]);
    assert_eq!(bench.begin(), ["b", "c", "a"]);
}

#[test]
fn exposing_a_tool_within_a_round_makes_it_visible_in_that_round() {
    let modes = settings(&[("hi", Mode::Hidden)]);
    let mut bench = Bench::new(&["a", "hi"], Some(modes));
    assert_eq!(bench.begin(), [""; 0]);
    assert_eq!(bench.session.expose("a"), Ok(()));
    assert_eq!(bench.session.expose("hi"), Err(ExposeError::NotSearchable));
    assert_eq!(bench.session.expose("no"), Err(ExposeError::Unknown));
    assert!(bench.session.open().contains("a"));
    assert_eq!(bench.session.round(), 1);
}

#[test]
fn a_static_session_sends_everything_and_pools_nothing() {
    let mut bench = Bench::new(&["b", "a"], None);
    assert_eq!(bench.begin(), ["a", "b"]);
    bench.session.apply_batch(vec![reached("a")]);
    assert_eq!(bench.session.current().pool, PoolRecord::default());
    assert_eq!(bench.session.expose("a"), Err(ExposeError::NotAvailable));
}

#[test]
fn the_history_is_bounded_and_forgets_the_oldest_rounds() {
    let mut bench = Bench::new(&["a"], Some(DynamicSettings::default()));
    let exposures = Arc::new(bench.shelf.exposures(bench.settings.clone()));
    for _ in 0..HISTORY + 3 {
        bench.session.begin_round(Arc::clone(&exposures));
        bench.session.apply_batch(Vec::new());
    }
    let rounds: Vec<_> = bench.session.history().map(|record| record.round).collect();
    assert_eq!(rounds.len(), HISTORY);
    assert_eq!((rounds[0], bench.session.round()), (3, HISTORY as u32 + 3));
}

#[test]
fn a_round_keeps_what_it_saw_and_what_its_calls_did() {
    let mut bench = Bench::new(&["a"], Some(DynamicSettings::default()));
    let loaded = Load::Loaded(sized("a", 400));
    bench.round(vec![
        search_with(vec![("a", loaded)]),
        reached("a"),
        call("a", CallEnd::UndefinedTool, Effect::None),
    ]);
    let shelf = Arc::new(bench.shelf.exposures(None));
    bench.session.see(Arc::clone(&shelf));
    let record = bench.session.current();
    let effects: Vec<_> = record.calls.iter().map(|call| call.effect).collect();
    let expected = [CallEffect::Search, CallEffect::Reached, CallEffect::None];
    assert_eq!(effects, expected);
    let seen = record.seen.as_ref().unwrap();
    let size = |view: &Exposures| view.get("a").unwrap().definition.bytes();
    assert_eq!(size(&seen.opened), 100);
    assert_eq!(seen.learned.as_deref().map(size), Some(400));
    let later = seen.later.as_ref().unwrap();
    assert!(Arc::ptr_eq(later, &shelf));
}

#[test]
fn rounds_of_too_many_versions_ago_forget_what_they_saw_and_keep_what_they_sent() {
    let mut bench = Bench::new(&["a"], None);
    for _ in 0..VIEWS + 4 {
        bench.begin();
    }
    let seen: Vec<bool> = bench.session.history().map(|r| r.seen.is_some()).collect();
    assert_eq!(seen.iter().filter(|seen| **seen).count(), VIEWS);
    assert_eq!(seen[..3], [false; 3]);
    assert!(
        bench
            .session
            .history()
            .all(|record| record.visible.contains("a"))
    );
}

#[test]
fn rounds_of_very_many_tools_are_forgotten_earlier() {
    let names: Vec<String> = (0..2_000).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut bench = Bench::new(&names, None);
    let exposures = Arc::new(bench.shelf.exposures(None));
    for _ in 0..300 {
        bench.session.begin_round(Arc::clone(&exposures));
    }
    let rounds: Vec<u32> = bench.session.history().map(|record| record.round).collect();
    assert_eq!(rounds.len(), HISTORY_LINES / 2_000);
    assert_eq!(rounds.last(), Some(&299));
}
