//! Admission, eviction and re-fit, rule by rule, and random histories.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What the registry says, editable.
#[derive(Clone, Default)]
struct World(BTreeMap<String, Standing>);

impl World {
    fn of(tools: &[(&str, usize)]) -> Self {
        let mut world = Self::default();
        for (name, bytes) in tools {
            world.set(name, *bytes, false);
        }
        world
    }
    fn set(&mut self, name: &str, bytes: usize, direct: bool) {
        self.0.insert(name.into(), Standing { bytes, direct });
    }
}

struct Bench {
    pool: Pool,
    world: World,
    sequence: u64,
}

impl Bench {
    fn new(max_tools: usize, max_bytes: usize, world: World) -> Self {
        let bounds = PoolSettings {
            max_tools,
            max_bytes,
            idle_rounds: 2,
        };
        Self {
            pool: Pool::new(bounds),
            world,
            sequence: 0,
        }
    }
    fn admit(&mut self, name: &str, round: u32, rank: u32) -> Result<Vec<PoolChange>, OverBudget> {
        let sequence = self.sequence;
        self.sequence += 1;
        let touch = Touch {
            round,
            rank,
            sequence,
        };
        let world = self.world.0.clone();
        let bytes = world[name].bytes;
        self.pool
            .admit(&name.into(), bytes, touch, &|n| world.get(n).copied())
    }
    fn reconcile(&mut self, bounds: PoolSettings) -> Vec<PoolChange> {
        let world = self.world.0.clone();
        self.pool.reconcile(bounds, &|n| world.get(n).copied())
    }
    fn evict_idle(&mut self, round: u32) -> Vec<PoolChange> {
        let world = self.world.0.clone();
        self.pool.evict_idle(round, &|n| world.get(n).copied())
    }
    fn names(&self) -> Vec<&str> {
        self.pool.entries().iter().map(|e| &*e.name).collect()
    }
}

fn evicted(changes: &[PoolChange]) -> Vec<(&str, &str)> {
    changes
        .iter()
        .filter_map(|c| Some((&**c.name(), c.eviction()?.as_str())))
        .collect()
}

#[test]
fn a_pooled_hit_is_refreshed_and_keeps_its_place() {
    let mut bench = Bench::new(9, 999, World::of(&[("a", 100), ("b", 100)]));
    bench.admit("a", 1, 0).unwrap();
    bench.admit("b", 1, 1).unwrap();
    let changes = bench.admit("a", 2, 7).unwrap();
    let entry = PoolEntry {
        name: "a".into(),
        bytes: 100,
        last_used: 2,
        rank: 7,
        sequence: 2,
    };
    assert_eq!(changes, [PoolChange::Refreshed(entry)]);
    assert_eq!(bench.names(), ["a", "b"]);
}

#[test]
fn a_hit_larger_than_the_pool_is_refused_and_evicts_nothing() {
    let mut bench = Bench::new(9, 500, World::of(&[("a", 100), ("huge", 501)]));
    bench.admit("a", 1, 0).unwrap();
    assert_eq!(bench.admit("huge", 5, 0), Err(OverBudget));
    assert_eq!(bench.names(), ["a"]);
}

#[test]
fn room_is_made_worst_first_and_only_as_far_as_needed() {
    let tools = [("a", 100), ("b", 100), ("c", 100), ("new", 150)];
    let mut bench = Bench::new(9, 300, World::of(&tools));
    bench.admit("a", 3, 0).unwrap();
    bench.admit("b", 1, 0).unwrap();
    bench.admit("c", 1, 4).unwrap();
    let changes = bench.admit("new", 4, 0).unwrap();
    assert_eq!(evicted(&changes), [("c", "crowded"), ("b", "crowded")]);
    assert_eq!(bench.names(), ["a", "new"]);
}

#[test]
fn nothing_leaves_for_a_hit_that_would_not_fit_anyway() {
    let tools = [("old", 100), ("now", 300), ("new", 250)];
    let mut bench = Bench::new(9, 500, World::of(&tools));
    bench.admit("old", 1, 0).unwrap();
    bench.admit("now", 4, 0).unwrap();
    assert_eq!(bench.admit("new", 4, 1), Err(OverBudget));
    assert_eq!(bench.names(), ["old", "now"]);
}

#[test]
fn entries_touched_this_round_are_never_evicted_by_an_admission() {
    let mut bench = Bench::new(1, 500, World::of(&[("a", 100), ("b", 100)]));
    bench.admit("a", 4, 9).unwrap();
    assert_eq!(bench.admit("b", 4, 0), Err(OverBudget));
    assert_eq!(
        evicted(&bench.admit("b", 5, 0).unwrap()),
        [("a", "crowded")]
    );
}

#[test]
fn worst_is_oldest_use_then_worst_rank_then_deferred_then_lowest_sequence() {
    let mut world = World::of(&[("old", 1), ("rank", 1), ("seq", 1), ("late", 1)]);
    world.set("direct", 1, true);
    let mut bench = Bench::new(9, 999, world);
    for (name, round, rank) in [
        ("direct", 2, 0),
        ("seq", 2, 0),
        ("late", 2, 0),
        ("rank", 2, 3),
        ("old", 1, 0),
    ] {
        bench.admit(name, round, rank).unwrap();
    }
    let bounds = PoolSettings {
        max_tools: 0,
        ..bench.pool.bounds()
    };
    let order: Vec<_> = bench
        .reconcile(bounds)
        .iter()
        .map(|c| c.name().to_string())
        .collect();
    assert_eq!(order, ["old", "rank", "seq", "late", "direct"]);
}

#[test]
fn an_entry_leaves_when_it_was_idle_for_more_than_idle_rounds() {
    let mut bench = Bench::new(9, 999, World::of(&[("a", 1)]));
    bench.admit("a", 5, 0).unwrap();
    assert_eq!(evicted(&bench.evict_idle(6)), []);
    assert_eq!(evicted(&bench.evict_idle(7)), []);
    assert_eq!(evicted(&bench.evict_idle(8)), [("a", "idle")]);
}

#[test]
fn a_definition_that_grows_is_resized_and_the_pool_refitted_even_among_the_touched() {
    let mut bench = Bench::new(9, 250, World::of(&[("a", 100), ("b", 100)]));
    bench.admit("a", 1, 1).unwrap();
    bench.admit("b", 1, 0).unwrap();
    bench.world.set("b", 200, false);
    let changes = bench.reconcile(bench.pool.bounds());
    assert_eq!(
        changes[0],
        PoolChange::Resized {
            name: "b".into(),
            from: 100,
            bytes: 200
        }
    );
    assert_eq!(evicted(&changes), [("a", "crowded")]);
    assert_eq!(bench.pool.bytes(), 200);
}

#[test]
fn a_single_entry_that_outgrows_the_pool_leaves_too() {
    let mut bench = Bench::new(9, 250, World::of(&[("a", 100)]));
    bench.admit("a", 1, 0).unwrap();
    bench.world.set("a", 251, false);
    assert_eq!(
        evicted(&bench.reconcile(bench.pool.bounds())),
        [("a", "crowded")]
    );
    assert_eq!(bench.pool.bytes(), 0);
}

#[test]
fn a_tool_that_is_gone_leaves_before_anything_is_crowded_out() {
    let mut bench = Bench::new(2, 250, World::of(&[("a", 100), ("b", 100)]));
    bench.admit("a", 1, 0).unwrap();
    bench.admit("b", 2, 0).unwrap();
    bench.world.0.remove("b");
    bench.world.set("a", 240, false);
    assert_eq!(
        evicted(&bench.reconcile(bench.pool.bounds())),
        [("b", "removed")]
    );
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Admit {
        tool: usize,
        rank: u32,
    },
    NextRound,
    Resize {
        tool: usize,
        bytes: usize,
        direct: bool,
    },
    Remove {
        tool: usize,
    },
    Bounds {
        max_tools: usize,
        max_bytes: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..12_usize, 0..5_u32).prop_map(|(tool, rank)| Step::Admit { tool, rank }),
        2 => Just(Step::NextRound),
        1 => (0..12_usize, 1..400_usize, any::<bool>())
            .prop_map(|(tool, bytes, direct)| Step::Resize { tool, bytes, direct }),
        1 => (0..12_usize).prop_map(|tool| Step::Remove { tool }),
        1 => (1..6_usize, 50..900_usize)
            .prop_map(|(max_tools, max_bytes)| Step::Bounds { max_tools, max_bytes }),
    ]
}

proptest! {
    #[test]
    fn replaying_the_reported_changes_reproduces_the_pool_and_no_bound_is_ever_exceeded(
        steps in prop::collection::vec(step(), 1..120)
    ) {
        let mut bench = Bench::new(4, 600, World::default());
        let mut copy = bench.pool.clone();
        let mut round = 1;
        for step in steps {
            let before = bench.pool.clone();
            let changes = match step {
                Step::Admit { tool, rank } => {
                    let name = format!("t{tool}");
                    bench.world.0.entry(name.clone()).or_insert(Standing { bytes: 90 + tool * 17, direct: tool % 3 == 0 });
                    let outcome = bench.admit(&name, round, rank);
                    if outcome.is_err() {
                        prop_assert_eq!(&bench.pool, &before, "a refusal changes nothing");
                    }
                    let changes = outcome.unwrap_or_default();
                    let touched = |change: &PoolChange| matches!(change,
                        PoolChange::Evicted { entry, .. } if entry.last_used == round);
                    prop_assert!(!changes.iter().any(touched));
                    changes
                }
                Step::NextRound => { round += 1; bench.evict_idle(round) }
                Step::Resize { tool, bytes, direct } => {
                    bench.world.set(&format!("t{tool}"), bytes, direct);
                    bench.reconcile(before.bounds())
                }
                Step::Remove { tool } => {
                    bench.world.0.remove(&format!("t{tool}"));
                    bench.reconcile(before.bounds())
                }
                Step::Bounds { max_tools, max_bytes } => {
                    bench.reconcile(PoolSettings { max_tools, max_bytes, idle_rounds: 2 })
                }
            };
            for change in &changes {
                copy.replay(change);
            }
            prop_assert_eq!(copy.entries(), bench.pool.entries());
            prop_assert_eq!(copy.bytes(), bench.pool.bytes());
            let bounds = bench.pool.bounds();
            prop_assert!(bench.pool.entries().len() <= bounds.max_tools);
            prop_assert!(bench.pool.bytes() <= bounds.max_bytes);
            let sum: usize = bench.pool.entries().iter().map(|entry| entry.bytes).sum();
            prop_assert_eq!(sum, bench.pool.bytes());
        }
    }
}
