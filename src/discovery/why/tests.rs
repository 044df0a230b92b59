//! One case per place where a chain can break, and the whole chain of a tool that is sent.

use futures::FutureExt as _;

use super::*;
use crate::clock::Stamp;
use crate::discovery::fixture::{Shelf, Still, settings, sized};
use crate::discovery::search::{Index, IndexChange};
use crate::discovery::session::{CallEnd, Effect, EndedCall};
use crate::discovery::tool_search::{Load, PlannedHit, SearchPlan};
use crate::discovery::{DynamicSettings, Session, TOOL_SEARCH};
use crate::registry::Registry;
use crate::source::{Failure, FailureKind, HeldTool, Launch, Proofs, ServerState};

struct Bench {
    shelf: Shelf,
    settings: Option<DynamicSettings>,
    session: Session,
    servers: Vec<Arc<ServerStatus>>,
    rank: bool,
}

impl Bench {
    fn new(names: &[&str], settings: DynamicSettings) -> Self {
        let shelf = Shelf::of(names);
        let settings = Some(settings);
        let session = Session::new(Arc::new(shelf.exposures(settings.clone())), []);
        Self {
            shelf,
            settings,
            session,
            servers: Vec::new(),
            rank: false,
        }
    }

    fn round(&mut self, calls: Vec<EndedCall>) {
        let exposures = self.shelf.exposures(self.settings.clone());
        self.session.begin_round(Arc::new(exposures));
        self.session.apply_batch(calls);
    }

    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.round(Vec::new());
        }
    }

    fn at(&self, tool: &str, round: u32) -> Chain {
        let exposures = self.shelf.exposures(self.settings.clone());
        let current = Arc::clone(self.session.current());
        let rounds: Vec<_> = self.session.history().cloned().chain([current]).collect();
        let mut index = Index::default();
        IndexChange::between(&Exposures::default(), &exposures).apply(&mut index);
        let catalog = self.shelf.catalog();
        let evidence = Evidence {
            owner: catalog.get(tool).map(|entry| &entry.owner),
            refusals: catalog.refusals(),
            mapped: None,
            exposures: &exposures,
            servers: &self.servers,
            rounds: &rounds,
            ranker: self.rank.then_some(&index),
        };
        why(tool, round, &evidence)
    }

    /// The broken stage, what is known there, and what would help.
    fn broken(&self, tool: &str) -> (&'static str, String, String) {
        let chain = self.at(tool, u32::MAX);
        assert!(!chain.visible);
        let link = chain.broken().unwrap();
        let last = chain.links.last().unwrap();
        assert_eq!(link, last, "the chain ends where it breaks");
        let remedy = chain.remedy.clone().unwrap();
        (link.stage.as_str(), link.fact.to_string(), remedy)
    }
}

fn call(tool: &str, effect: Effect) -> EndedCall {
    EndedCall {
        id: "c".into(),
        tool: tool.into(),
        end: CallEnd::Ok,
        effect,
    }
}

fn search_with(query: &str, hits: &[(&str, Load)]) -> EndedCall {
    let hits = hits.iter().map(|(name, load)| PlannedHit {
        name: (*name).into(),
        score: 1.0,
        load: load.clone(),
    });
    let plan = SearchPlan {
        query: query.into(),
        asked: 8,
        hits: hits.collect(),
    };
    call(TOOL_SEARCH, Effect::Search(plan))
}

fn search(query: &str, hits: &[&str]) -> EndedCall {
    let hits: Vec<_> = hits.iter().map(|name| (*name, Load::Ready)).collect();
    search_with(query, &hits)
}

fn pool_of(max_tools: usize) -> DynamicSettings {
    let mut settings = DynamicSettings::default();
    settings.discovery.max_tools = max_tools;
    settings
}

fn server(name: &str, state: ServerState) -> ServerStatus {
    let at = Stamp::now();
    let failure = Failure {
        at,
        kind: FailureKind::ConnectionRefused,
        message: "connection refused".into(),
        advice: Some("start it".into()),
        after: std::time::Duration::ZERO,
        stderr: Arc::default(),
    };
    ServerStatus {
        source: "mcp".into(),
        name: name.into(),
        launch: Launch::Http {
            url: "http://h/".into(),
            headers: Vec::new(),
        },
        state,
        since: at,
        required: false,
        attempts: 1,
        reconnects: 0,
        losses: 0,
        next_retry: None,
        last_error: Some(Arc::new(failure)),
        protocol: None,
        server_info: None,
        capabilities: Vec::new(),
        instructions: None,
        tools: 0,
        warnings: Arc::default(),
        held: Arc::default(),
        proofs: Proofs::default(),
        ping: None,
        pings: Arc::default(),
        log: Arc::default(),
        log_dropped: 0,
        history: Arc::default(),
        settled: true,
    }
}

fn told(stage: &'static str, fact: &str, remedy: &str) -> (&'static str, String, String) {
    (stage, fact.into(), remedy.into())
}

#[test]
fn a_tool_that_is_sent_has_a_whole_chain() {
    let mut bench = Bench::new(
        &["fs__read", TOOL_SEARCH],
        settings(&[("fs__*", Mode::Direct)]),
    );
    bench.round(vec![search("read file", &["fs__read"])]);
    bench.round(vec![call("fs__read", Effect::Reached)]);
    bench.round(Vec::new());
    let chain = bench.at("fs__read", u32::MAX);
    assert!(chain.visible);
    assert_eq!(
        (chain.round, &chain.remedy, chain.broken()),
        (3, &None, None)
    );
    let links: Vec<_> = chain
        .links
        .iter()
        .map(|link| format!("{}: {}", link.stage.as_str(), link.fact))
        .collect();
    assert_eq!(
        links,
        [
            "source: source `shelf`, which has no servers",
            "registered: registered, 100 bytes",
            "exposure: direct, by the entry `fs__*`",
            "found: found by a call in round 2; search `read file` in round 1, place 1",
            "admitted: in the pool since round 1, last used in round 2 at rank 0",
            "kept: still there, idle in 9 more rounds unless it is used",
            "budget: sent at place 2 as pooled, 100 bytes; the round sends 200 of 16384",
        ]
    );
}

#[test]
fn an_earlier_round_is_explained_as_it_was() {
    let mut bench = Bench::new(&["a", TOOL_SEARCH], DynamicSettings::default());
    bench.round(vec![search("q", &["a"])]);
    bench.round(Vec::new());
    assert!(bench.at("a", 2).visible);
    let first = bench.at("a", 1);
    let link = first.broken().unwrap();
    assert_eq!(
        (link.stage, link.fact.to_string()),
        (
            Stage::Found,
            "found by search `q` in round 1, place 1: visible from the next round on".into()
        )
    );
    assert_eq!(
        first.remedy.unwrap(),
        "begin the next round: it is visible then"
    );
}

#[test]
fn an_unknown_name_gives_the_nearest() {
    let bench = Bench::new(&["fs__read_file"], DynamicSettings::default());
    assert_eq!(
        bench.broken("fs__raed_file"),
        told(
            "registered",
            "no tool has this name; the nearest are `fs__read_file`",
            "use the name `fs__read_file`, if that is what you mean"
        )
    );
}

#[test]
fn a_name_of_the_origin_gives_the_name_that_it_was_mapped_to_and_a_conflict_is_noted() {
    let bench = Bench::new(&["fs__a_b"], DynamicSettings::default());
    let exposures = bench.shelf.exposures(bench.settings.clone());
    let (holder, refused) = (Owner::source("one", 1), Owner::source("two", 2));
    let refusals = [Refusal {
        name: "fs__a_b".into(),
        refused,
        holder: holder.clone(),
    }];
    let mut evidence = Evidence {
        owner: None,
        refusals: &refusals,
        mapped: Some("fs__a_b"),
        exposures: &exposures,
        servers: &[],
        rounds: &[],
        ranker: None,
    };
    let chain = why("a b", 0, &evidence);
    let remedy = "use the name `fs__a_b`, if that is what you mean";
    assert_eq!(chain.remedy.as_deref(), Some(remedy));
    evidence.owner = Some(&holder);
    let chain = why("fs__a_b", 0, &evidence);
    let fact = chain.links[1].fact.to_string();
    assert_eq!(
        fact,
        "registered, 100 bytes; the same name of two is refused"
    );
}

#[test]
fn a_server_that_is_down_is_the_answer_only_while_its_tools_are_not_registered() {
    let mut bench = Bench::new(&["a", TOOL_SEARCH], DynamicSettings::default());
    bench.servers = vec![Arc::new(server("clock", ServerState::Backoff))];
    assert_eq!(
        bench.broken("clock__now"),
        told(
            "source",
            "server `clock` is backoff: connection refused",
            "start it; then reconnect `clock`"
        )
    );
    let registry = Registry::new();
    let owner = crate::registry::Owner::server("mcp", "clock", (0, 0));
    let tool = Arc::new(Still(sized("clock__now", 100)));
    registry.add(&owner, tool).now_or_never().unwrap();
    let catalog = registry.catalog();
    let exposures = Exposures::new(&catalog, Some(Arc::default()));
    let evidence = Evidence {
        owner: catalog.get("clock__now").map(|entry| &entry.owner),
        refusals: catalog.refusals(),
        mapped: None,
        exposures: &exposures,
        servers: &bench.servers,
        rounds: &[],
        ranker: None,
    };
    let chain = why("clock__now", 0, &evidence);
    assert_eq!(chain.links[0].verdict, Verdict::Noted);
    assert_eq!(chain.broken().unwrap().stage, Stage::Found);
}

#[test]
fn a_definition_that_is_not_accepted_is_held_back() {
    let mut bench = Bench::new(&["a"], DynamicSettings::default());
    let mut clock = server("clock", ServerState::Ready);
    clock.held = Arc::new([HeldTool {
        definition: sized("now", 100),
        accepted: None,
    }]);
    bench.servers = vec![Arc::new(clock)];
    assert_eq!(
        bench.broken("now"),
        told(
            "registered",
            "held back by the pin file of `clock`: its definition is not accepted",
            "review its definition and accept it, with `A` on server `clock`"
        )
    );
}

#[test]
fn a_tool_that_came_or_went_is_told_by_round() {
    let mut bench = Bench::new(&["a"], DynamicSettings::default());
    bench.rounds(2);
    bench.shelf.take("a");
    bench.shelf.put("b", 100);
    bench.round(Vec::new());
    let (_, fact, _) = bench.broken("a");
    assert_eq!(
        fact,
        "not registered any more; round 2 was the last to see it"
    );
    let early = bench.at("b", 1);
    assert_eq!(early.broken().unwrap().fact, Fact::NotYet);
}

#[test]
fn a_hidden_tool_needs_to_be_required() {
    let mut bench = Bench::new(&["a"], settings(&[("*", Mode::Hidden)]));
    bench.round(Vec::new());
    assert_eq!(
        bench.broken("a"),
        told(
            "exposure",
            "hidden, by the entry `*`; the session does not require it",
            "require it in the session, or give it another mode under `dynamic.exposures`"
        )
    );
    bench.session.require("a".into());
    bench.round(Vec::new());
    let chain = bench.at("a", u32::MAX);
    assert!(chain.visible, "and no pool plays a part");
    let stages: Vec<_> = chain.links.iter().map(|link| link.stage).collect();
    assert_eq!(
        stages,
        [
            Stage::Source,
            Stage::Registered,
            Stage::Exposure,
            Stage::Budget
        ]
    );
}

#[test]
fn searches_that_missed_it_are_listed_with_how_near_they_came() {
    let names = ["read_a", "read_b", "fs__write_it", TOOL_SEARCH];
    let mut bench = Bench::new(&names, DynamicSettings::default());
    bench.round(vec![search("read", &["read_a"]), search("fly", &[])]);
    bench.round(Vec::new());
    bench.rank = true;
    let (stage, fact, remedy) = bench.broken("read_b");
    assert_eq!(stage, "found");
    assert_eq!(
        fact,
        "no search of 2 found it: `fly` in round 1 did not; `read` in round 1 did not: place 2, \
         and it listed 1"
    );
    assert_eq!(remedy, "search for `read b`");
    assert_eq!(bench.broken("fs__write_it").2, "search for `write it`");
    let fresh = Bench::new(&["a"], DynamicSettings::default());
    assert_eq!(fresh.broken("a").1, "nobody has searched or called it");
}

#[test]
fn what_came_before_the_rounds_that_are_kept_is_not_denied() {
    let mut bench = Bench::new(&["a", "b"], DynamicSettings::default());
    bench.round(vec![search("b", &["b"])]);
    bench.rounds(crate::discovery::session::HISTORY + 3);
    let (_, fact, _) = bench.broken("b");
    assert_eq!(
        fact,
        "nobody has searched or called it in the rounds that are kept, from 4 on"
    );
    bench.round(vec![search("a", &["a"])]);
    bench.round(Vec::new());
    let (_, fact, _) = bench.broken("b");
    assert_eq!(
        fact,
        "no search of 1 found it in the rounds that are kept, from 6 on: `a` in round 505 did not"
    );
}

#[test]
fn what_the_pool_refused_tells_the_reason_and_the_bounds() {
    let mut bench = Bench::new(&["a", "b"], pool_of(1));
    let broken = Load::Failed("gone".into());
    bench.round(vec![search("q", &["a", "b"])]);
    bench.round(Vec::new());
    let (stage, fact, _) = bench.broken("b");
    assert_eq!(
        (stage, &*fact),
        (
            "admitted",
            "failed in round 1: over_budget, 100 bytes; the pool holds 1 tools and 16384 bytes"
        )
    );
    bench.round(vec![search_with("q", &[("b", broken)])]);
    bench.round(Vec::new());
    assert_eq!(
        bench.broken("b"),
        told(
            "admitted",
            "failed in round 3: load_failed, its definition could not be loaded",
            "search again once its definition can be loaded"
        )
    );
    bench.round(vec![call("a", Effect::Reached), call("b", Effect::Reached)]);
    bench.round(Vec::new());
    let (_, fact, _) = bench.broken("b");
    assert!(
        fact.starts_with("called in round 5, but over_budget"),
        "{fact}"
    );
}

#[test]
fn what_left_the_pool_tells_when_why_and_for_whom() {
    let mut idle = pool_of(1);
    idle.discovery.idle_rounds = 1;
    let mut bench = Bench::new(&["a", "b"], idle);
    bench.round(vec![search("first", &["a"])]);
    bench.round(vec![search("second", &["b"])]);
    bench.round(Vec::new());
    assert_eq!(
        bench.broken("a"),
        told(
            "kept",
            "left in round 2 to make room for `b`, found by `second`",
            "search for `a` again, or raise `discovery.max_tools` or `discovery.max_bytes`"
        )
    );
    bench.round(Vec::new());
    assert_eq!(
        bench.broken("b"),
        told(
            "kept",
            "left at the start of round 4: idle since round 2",
            "search for `b` again, or raise `discovery.idle_rounds` to 2 or more"
        )
    );
}

#[test]
fn what_the_budget_withholds_tells_what_is_missing() {
    let mut tight = settings(&[("al", Mode::Always)]);
    tight.budget.max_bytes = 250;
    let mut bench = Bench::new(&["al", "a", TOOL_SEARCH], tight);
    bench.round(vec![search("q", &["a"])]);
    bench.round(Vec::new());
    assert_eq!(
        bench.broken("a"),
        told(
            "budget",
            "withheld (pooled): 100 bytes do not fit in 250, 50 are missing",
            "raise `budget.max_bytes` to 300, or use it: what was used last goes first"
        )
    );
    if let Some(settings) = &mut bench.settings {
        settings.budget.max_definitions = 2;
    }
    bench.round(Vec::new());
    let (_, fact, _) = bench.broken("a");
    assert_eq!(
        fact,
        "withheld (pooled): the round has its 2 definitions already, 50 are missing"
    );
}

#[test]
fn without_dynamic_injection_every_tool_is_sent() {
    let mut bench = Bench::new(&["a"], DynamicSettings::default());
    bench.settings = None;
    bench.round(Vec::new());
    let chain = bench.at("a", u32::MAX);
    assert!(chain.visible);
    assert_eq!(
        chain.links[2].fact.to_string(),
        "always: dynamic injection is off"
    );
}

#[test]
fn a_chain_serializes_its_facts_in_words() {
    let bench = Bench::new(&["a"], DynamicSettings::default());
    let json = serde_json::to_value(bench.at("a", 0)).unwrap();
    assert_eq!(json["links"][1]["fact"], "registered, 100 bytes");
    assert_eq!(json["links"][1]["verdict"], "ok");
}
