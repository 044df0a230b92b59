//! Random sessions against a second, naive model that is written straight from the rules: lists
//! instead of structures, everything computed anew each time.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::discovery::fixture::{Shelf, settings};
use crate::discovery::what_if::{Changes, what_if};
use crate::discovery::{BudgetSettings, DynamicSettings, TOOL_SEARCH};

const TOOLS: usize = 10;
const MODES: [Mode; 4] = [Mode::Deferred, Mode::Direct, Mode::Always, Mode::Hidden];

#[derive(Clone, Debug)]
enum Act {
    Search(Vec<usize>),
    Call(usize),
    Stopped(usize),
}

#[derive(Clone, Debug)]
struct Plan {
    remove: Option<usize>,
    put: Option<(usize, usize)>,
    mode: Option<(usize, usize)>,
    pool: Option<(usize, usize)>,
    require: Option<usize>,
    batch: Vec<Act>,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just((0..TOOLS).collect::<Vec<_>>()).prop_shuffle()
            .prop_flat_map(|all| (1..5_usize).prop_map(move |n| Act::Search(all[..n].to_vec()))),
        2 => (0..TOOLS).prop_map(Act::Call),
        1 => (0..TOOLS).prop_map(Act::Stopped),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let rarely = |odds| prop::option::weighted(odds, 0..TOOLS);
    (
        rarely(0.1),
        prop::option::weighted(0.2, (0..TOOLS, 70..400_usize)),
        prop::option::weighted(0.1, (0..TOOLS, 0..MODES.len())),
        prop::option::weighted(0.05, (1..6_usize, 100..1200_usize)),
        rarely(0.05),
        prop::collection::vec(act(), 0..4),
    )
        .prop_map(|(remove, put, mode, pool, require, batch)| Plan {
            remove,
            put,
            mode,
            pool,
            require,
            batch,
        })
}

fn name(tool: usize) -> String {
    format!("tool{tool}")
}

/// The rules, literally.
#[derive(Clone, Default)]
struct Model {
    round: u32,
    touches: u64,
    tools: Vec<(String, usize, Mode)>,
    required: Vec<String>,
    /// name, bytes, last use, rank, sequence; in the order of admission
    pool: Vec<(String, usize, u32, u32, u64)>,
    evicted: Vec<(String, &'static str)>,
}

type Row = (String, usize, u32, u32, u64);

impl Model {
    fn tool(&self, name: &str) -> Option<(usize, Mode)> {
        let found = self.tools.iter().find(|(n, _, _)| n == name);
        found.map(|(_, bytes, mode)| (*bytes, *mode))
    }
    fn searchable(&self, name: &str) -> bool {
        matches!(self.tool(name), Some((_, Mode::Direct | Mode::Deferred)))
    }
    fn worst(&self, rows: &[Row]) -> Option<Row> {
        let deferred = |row: &Row| matches!(self.tool(&row.0), Some((_, Mode::Deferred)));
        let mut rows = rows.to_vec();
        rows.sort_by(|a, b| {
            (a.2.cmp(&b.2))
                .then(b.3.cmp(&a.3))
                .then(deferred(b).cmp(&deferred(a)))
                .then(a.4.cmp(&b.4))
        });
        rows.first().cloned()
    }
    fn leave(&mut self, name: &str, reason: &'static str) {
        self.pool.retain(|row| row.0 != name);
        self.evicted.push((name.to_owned(), reason));
    }
    fn total(rows: &[Row]) -> usize {
        rows.iter().map(|row| row.1).sum()
    }
    fn start(&mut self, idle_rounds: u32) {
        self.round += 1;
        self.evicted.clear();
        for row in self.pool.clone() {
            if self.round - row.2 > idle_rounds {
                self.leave(&row.0, "idle");
            }
        }
    }
    fn see(&mut self, settings: &DynamicSettings) {
        for row in self.pool.clone() {
            if !self.searchable(&row.0) {
                self.leave(&row.0, "removed");
            }
        }
        let sizes: Vec<_> = self.tools.clone();
        for row in &mut self.pool {
            row.1 = sizes.iter().find(|(n, _, _)| *n == row.0).unwrap().1;
        }
        while self.pool.len() > settings.discovery.max_tools
            || Self::total(&self.pool) > settings.discovery.max_bytes
        {
            let worst = self.worst(&self.pool).unwrap().0;
            self.leave(&worst, "crowded");
        }
    }
    fn visible(&self, budget: BudgetSettings) -> (Vec<String>, Vec<(String, &'static str)>) {
        let mut walk: Vec<(String, usize)> = Vec::new();
        let mut add = |name: &str, bytes: usize| {
            if !walk.iter().any(|(known, _)| known == name) {
                walk.push((name.to_owned(), bytes));
            }
        };
        let mut tools = self.tools.clone();
        tools.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, bytes, mode) in &tools {
            if name == TOOL_SEARCH && *mode == Mode::Always {
                add(name, *bytes);
            }
        }
        for (name, bytes, mode) in &tools {
            if *mode == Mode::Always {
                add(name, *bytes);
            }
        }
        let mut required = self.required.clone();
        required.sort();
        for name in &required {
            if let Some((bytes, _)) = self.tool(name) {
                add(name, bytes);
            }
        }
        let mut rest = self.pool.clone();
        let mut backwards = Vec::new();
        while let Some(worst) = self.worst(&rest) {
            rest.retain(|row| row.0 != worst.0);
            backwards.push(worst);
        }
        for row in backwards.iter().rev() {
            add(&row.0, row.1);
        }
        let (mut kept, mut withheld, mut used) = (Vec::new(), Vec::new(), 0);
        for (name, bytes) in walk {
            if name != TOOL_SEARCH && kept.len() + 1 > budget.max_definitions {
                withheld.push((name, "definitions"));
            } else if name != TOOL_SEARCH && used + bytes > budget.max_bytes {
                withheld.push((name, "bytes"));
            } else {
                used += bytes;
                kept.push(name);
            }
        }
        let mut sent = Vec::new();
        for (name, _, mode) in &tools {
            if *mode == Mode::Always && kept.contains(name) {
                sent.push(name.clone());
            }
        }
        for name in required.iter().chain(self.pool.iter().map(|row| &row.0)) {
            if kept.contains(name) && !sent.contains(name) {
                sent.push(name.clone());
            }
        }
        (sent, withheld)
    }
    /// Whether the tool is in the pool afterwards.
    fn touch(&mut self, name: &str, rank: u32, bounds: PoolSettings) -> bool {
        if !self.searchable(name) {
            return false;
        }
        let (round, sequence) = (self.round, self.touches);
        if let Some(row) = self.pool.iter_mut().find(|row| row.0 == name) {
            (row.2, row.3, row.4) = (round, rank, sequence);
            self.touches += 1;
            return true;
        }
        let bytes = self.tool(name).unwrap().0;
        let mut trial = self.clone();
        loop {
            if trial.pool.len() < bounds.max_tools
                && Self::total(&trial.pool) + bytes <= bounds.max_bytes
            {
                trial
                    .pool
                    .push((name.to_owned(), bytes, round, rank, sequence));
                trial.touches += 1;
                *self = trial;
                return true;
            }
            let untouched: Vec<_> = trial
                .pool
                .iter()
                .filter(|r| r.2 != round)
                .cloned()
                .collect();
            match trial.worst(&untouched) {
                Some(worst) => trial.leave(&worst.0, "crowded"),
                None => return false,
            }
        }
    }
}

struct Pair {
    model: Model,
    shelf: Shelf,
    session: Session,
    settings: DynamicSettings,
    modes: BTreeMap<String, Mode>,
}

impl Pair {
    fn new() -> Self {
        let mut shelf = Shelf::of(&[TOOL_SEARCH]);
        for tool in 0..TOOLS {
            shelf.put(&name(tool), 80 + tool * 30);
        }
        let settings = DynamicSettings {
            budget: BudgetSettings {
                max_definitions: 5,
                max_bytes: 700,
            },
            discovery: PoolSettings {
                max_tools: 4,
                max_bytes: 600,
                idle_rounds: 2,
            },
            ..DynamicSettings::default()
        };
        let session = Session::new(Arc::new(shelf.exposures(Some(settings.clone()))), []);
        Self {
            model: Model::default(),
            shelf,
            session,
            settings,
            modes: BTreeMap::new(),
        }
    }

    fn change(&mut self, plan: &Plan) {
        if let Some(tool) = plan.remove {
            self.shelf.take(&name(tool));
        }
        if let Some((tool, bytes)) = plan.put {
            self.shelf.put(&name(tool), bytes);
        }
        if let Some((tool, mode)) = plan.mode {
            self.modes.insert(name(tool), MODES[mode]);
        }
        let modes: Vec<_> = self.modes.iter().map(|(n, m)| (n.as_str(), *m)).collect();
        self.settings.exposures = settings(&modes).exposures;
        if let Some((max_tools, max_bytes)) = plan.pool {
            self.settings.discovery.max_tools = max_tools;
            self.settings.discovery.max_bytes = max_bytes;
        }
        if let Some(tool) = plan.require {
            self.session.require(name(tool).into());
            self.model.required.push(name(tool));
        }
        let mode = |name: &str| match name {
            TOOL_SEARCH => Mode::Always,
            _ => self.modes.get(name).copied().unwrap_or_default(),
        };
        let catalog = self.shelf.catalog();
        self.model.tools = catalog
            .definitions()
            .map(|d| (d.name().to_owned(), d.bytes(), mode(d.name())))
            .collect();
    }

    fn assert_alike(&self) {
        let pool: Vec<Row> = self
            .session
            .pool()
            .entries()
            .iter()
            .map(|e| (e.name.to_string(), e.bytes, e.last_used, e.rank, e.sequence))
            .collect();
        assert_eq!(pool, self.model.pool);
        let sorted = |mut list: Vec<(String, &'static str)>| {
            list.sort();
            list
        };
        let evicted = self.session.current().evicted();
        let evicted = evicted.map(|(n, r)| (n.to_string(), r.as_str())).collect();
        assert_eq!(sorted(evicted), sorted(self.model.evicted.clone()));
    }

    fn batch(&mut self, batch: &[Act]) -> Vec<SearchAnswer> {
        let bounds = self.settings.discovery;
        let mut calls = Vec::new();
        for act in batch {
            let (tool, effect) = match act {
                Act::Call(tool) => {
                    self.model.touch(&name(*tool), 0, bounds);
                    (name(*tool), Effect::Reached)
                }
                Act::Stopped(tool) => (name(*tool), Effect::None),
                Act::Search(hits) => {
                    let hits: Vec<_> = hits
                        .iter()
                        .map(|tool| name(*tool))
                        .filter(|hit| self.model.searchable(hit))
                        .take(bounds.max_tools)
                        .collect();
                    let asked = hits.len();
                    for (rank, hit) in (0..).zip(&hits) {
                        self.model.touch(hit, rank, bounds);
                    }
                    let hits = hits.into_iter().map(|hit| PlannedHit {
                        name: hit.into(),
                        score: 1.0,
                        load: Load::Ready,
                    });
                    let plan = SearchPlan {
                        query: "q".into(),
                        asked,
                        hits: hits.collect(),
                    };
                    (TOOL_SEARCH.to_owned(), Effect::Search(plan))
                }
            };
            calls.push(EndedCall {
                id: "c".into(),
                tool: tool.into(),
                end: CallEnd::Ok,
                effect,
            });
        }
        self.session.apply_batch(calls)
    }
}

proptest! {
    #[test]
    fn a_random_session_agrees_with_the_rules_and_its_reports_with_what_is_sent_next(
        plans in prop::collection::vec(plan(), 1..30)
    ) {
        let mut pair = Pair::new();
        let mut replayed = pair.session.pool().clone();
        for plan in &plans {
            pair.model.start(pair.settings.discovery.idle_rounds);
            pair.change(plan);
            pair.model.see(&pair.settings);
            let exposures = Arc::new(pair.shelf.exposures(Some(pair.settings.clone())));
            let set = pair.session.begin_round(exposures).clone();
            let (sent, withheld) = pair.model.visible(pair.settings.budget);
            prop_assert_eq!(set.names().collect::<Vec<_>>(), sent);
            let ours: Vec<_> = set.withheld.iter().map(|w| (w.name.to_string(), w.reason.as_str())).collect();
            prop_assert_eq!(ours, withheld);
            let only_search = set.sent.len() <= 1;
            prop_assert!(only_search || set.bytes <= pair.settings.budget.max_bytes);

            let answers = pair.batch(&plan.batch);
            pair.assert_alike();
            let (pool, bounds) = (pair.session.pool(), pair.settings.discovery);
            prop_assert!(pool.entries().len() <= bounds.max_tools && pool.bytes() <= bounds.max_bytes);
            for line in &pair.session.current().ledger {
                replayed.replay(&line.change);
            }
            prop_assert_eq!(replayed.entries(), pair.session.pool().entries());

            let mut next = pair.session.clone();
            let exposures = Arc::clone(pair.session.exposures());
            let next = next.begin_round(exposures).clone();
            for answer in &answers {
                let mut listed: Vec<_> = answer.exposed.iter().map(|hit| &hit.name)
                    .chain(answer.failed.iter().map(|hit| &hit.name)).collect();
                listed.sort();
                let mut ranked: Vec<_> = answer.ranked.iter().collect();
                ranked.sort();
                prop_assert_eq!(listed, ranked, "each hit is in exactly one list");
                for hit in &answer.exposed {
                    prop_assert!(next.contains(&hit.name));
                }
                for hit in &answer.failed {
                    let pooled = pair.session.pool().get(&hit.name).is_some();
                    match hit.reason {
                        FailedReason::VisibleBudget => prop_assert!(pooled && !next.contains(&hit.name)),
                        FailedReason::OverBudget => prop_assert!(!pooled),
                        FailedReason::LoadFailed => prop_assert!(false, "nothing is lazy here"),
                    }
                }
            }
        }
    }
}

/// A round as it can be played again by the model: what there was, and what was done.
struct Step {
    tools: Vec<(String, usize, Mode)>,
    required: Vec<String>,
    sent: Vec<String>,
    acts: Vec<Act>,
}

/// The rules for a session that is played again with other settings: sent and missed per round.
fn played_again(steps: &[Step], settings: &DynamicSettings) -> Vec<(Vec<String>, Vec<String>)> {
    let mut model = Model::default();
    let mut rounds = Vec::new();
    for step in steps {
        model.start(settings.discovery.idle_rounds);
        model.tools.clone_from(&step.tools);
        model.required.clone_from(&step.required);
        model.see(settings);
        let (sent, _) = model.visible(settings.budget);
        let mut missed = Vec::new();
        for act in &step.acts {
            match act {
                Act::Stopped(tool) | Act::Call(tool)
                    if step.sent.contains(&name(*tool)) && !sent.contains(&name(*tool)) =>
                {
                    missed.push(name(*tool));
                }
                Act::Stopped(_) => {}
                Act::Call(tool) => {
                    model.touch(&name(*tool), 0, settings.discovery);
                }
                Act::Search(hits) => {
                    for (rank, hit) in (0..).zip(hits.iter().take(settings.discovery.max_tools)) {
                        model.touch(&name(*hit), rank, settings.discovery);
                    }
                }
            }
        }
        rounds.push((sent, missed));
    }
    rounds
}

fn changes() -> impl Strategy<Value = Changes> {
    (
        1..9_usize,
        100..1200_usize,
        1..9_usize,
        100..1200_usize,
        1..6_u32,
    )
        .prop_map(
            |(definitions, bytes, pool_tools, pool_bytes, idle)| Changes {
                max_definitions: Some(definitions),
                max_bytes: Some(bytes),
                pool_tools: Some(pool_tools),
                pool_bytes: Some(pool_bytes),
                idle_rounds: Some(idle),
                modes: Vec::new(),
            },
        )
}

proptest! {
    #[test]
    fn a_session_played_again_comes_out_as_it_was_and_with_other_settings_as_the_rules_say(
        plans in prop::collection::vec(plan(), 1..30),
        changes in changes(),
        cut in 0..30_usize,
    ) {
        let mut pair = Pair::new();
        let mut steps = Vec::new();
        for plan in &plans {
            pair.model.start(pair.settings.discovery.idle_rounds);
            pair.change(plan);
            pair.model.see(&pair.settings);
            let exposures = Arc::new(pair.shelf.exposures(Some(pair.settings.clone())));
            pair.session.begin_round(exposures);
            let most = pair.settings.discovery.max_tools;
            let acts = plan.batch.iter().map(|act| match act {
                Act::Search(hits) => {
                    let found = hits.iter().filter(|hit| pair.model.searchable(&name(**hit)));
                    Act::Search(found.take(most).copied().collect())
                }
                other => other.clone(),
            });
            steps.push(Step {
                tools: pair.model.tools.clone(),
                required: pair.model.required.clone(),
                sent: pair.session.visible().names().map(str::to_owned).collect(),
                acts: acts.collect(),
            });
            pair.batch(&plan.batch);
        }
        let current = Arc::clone(pair.session.current());
        let rounds: Vec<_> = pair.session.history().cloned().chain([current]).collect();
        for from in [0, cut % rounds.len()] {
            let Ok(same) = what_if(&rounds[from..], &Changes::default()) else {
                prop_assert_eq!(from, rounds.len() - 1, "the last round alone has no round before it");
                continue;
            };
            for pair in &same.rounds {
                prop_assert_eq!(&pair.was, &pair.would);
                prop_assert_eq!((pair.missed.len(), pair.regained.len()), (0, 0));
            }
        }
        let other = what_if(&rounds, &changes).unwrap();
        let strings = |list: &[Arc<str>]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let ours: Vec<_> = other.rounds.iter()
            .map(|pair| (strings(&pair.would.sent), strings(&pair.missed)))
            .collect();
        prop_assert_eq!(ours, played_again(&steps, &changes.apply(&pair.settings).unwrap()));
    }
}
