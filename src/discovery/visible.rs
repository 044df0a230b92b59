//! The one function that computes the visible set: for the model, for the report of `tool_search`
//! and for the console (rules 5.3 to 5.6). Pure over a snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::{BudgetSettings, Exposures, Mode, PoolEntry, TOOL_SEARCH};
use crate::tool::Definition;

/// Why a tool is a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Its mode is `always`, or dynamic injection is off.
    Always,
    /// The session requires its name.
    Required,
    /// It is in the pool.
    Pooled,
}

impl Why {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Required => "required",
            Self::Pooled => "pooled",
        }
    }
}

/// Which bound of the budget a tool did not fit in (rule 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WithheldReason {
    /// There were `max_definitions` already; named first if both bounds fail.
    Definitions,
    /// Its bytes did not fit any more.
    Bytes,
}

impl WithheldReason {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Definitions => "definitions",
            Self::Bytes => "bytes",
        }
    }
}

/// A tool that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// What is sent.
    pub definition: Definition,
    /// Why.
    pub why: Why,
}

impl Sent {
    /// The name.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// Its share of the budget.
    pub fn bytes(&self) -> usize {
        self.definition.bytes()
    }
}

/// A candidate that is not sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// The name.
    pub name: Arc<str>,
    /// Its size.
    pub bytes: usize,
    /// Why it was a candidate. Withheld always and required tools are worth a warning.
    pub why: Why,
    /// Which bound it did not fit in.
    pub reason: WithheldReason,
    /// How many bytes were missing; 0 when only definitions were.
    pub missing_bytes: usize,
    /// The smallest bounds with which it is sent for certain: they have room for everything that
    /// goes before it, too, which with a little more room takes that first.
    pub needed: BudgetSettings,
}

impl Withheld {
    /// Whether an operator has to be warned (rule 5.4).
    pub fn is_warning(&self) -> bool {
        self.why != Why::Pooled
    }
}

/// What one round sends and what it withholds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleSet {
    /// In the order sent (rule 5.5).
    pub sent: Vec<Sent>,
    /// In the order of the walk (rule 5.3).
    pub withheld: Vec<Withheld>,
    /// The bytes of everything sent.
    pub bytes: usize,
    /// The bounds, or `None` when dynamic injection is off.
    pub budget: Option<BudgetSettings>,
}

impl VisibleSet {
    /// Whether the set holds the tool. Linear: the set is bounded by the budget.
    pub fn contains(&self, name: &str) -> bool {
        self.sent.iter().any(|sent| sent.name() == name)
    }

    /// The names in the order sent.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sent.iter().map(Sent::name)
    }
}

/// A tool on the walk. `place` is its place within its group in the order sent.
struct Candidate<'a> {
    definition: &'a Definition,
    why: Why,
    place: usize,
}

/// Computes the visible set: candidates, order, what is kept and withheld, order sent.
///
/// `pool` stands in the order of admission. Names that do not exist in `exposures` are passed over.
pub fn visible_set(
    exposures: &Exposures,
    required: &BTreeSet<Arc<str>>,
    pool: &[PoolEntry],
) -> VisibleSet {
    let mut walk = always(exposures);
    let Some(settings) = exposures.settings() else {
        return all_of(&walk);
    };
    walk.extend(pinned(exposures, required));
    walk.extend(pooled(exposures, required, pool));
    keep(walk, settings.budget)
}

/// `tool_search`, then the other always tools by name.
fn always(exposures: &Exposures) -> Vec<Candidate<'_>> {
    let mut walk: Vec<_> = exposures
        .always()
        .iter()
        .enumerate()
        .filter_map(|(place, name)| {
            Some(Candidate {
                definition: &exposures.get(name)?.definition,
                why: Why::Always,
                place,
            })
        })
        .collect();
    walk.sort_by_key(|candidate| candidate.definition.name() != TOOL_SEARCH); // stable
    walk
}

/// The required names that exist and are not there already, by name.
fn pinned<'a>(
    exposures: &'a Exposures,
    required: &'a BTreeSet<Arc<str>>,
) -> impl Iterator<Item = Candidate<'a>> {
    required
        .iter()
        .enumerate()
        .filter_map(|(place, name)| Some((place, exposures.get(name)?)))
        .filter(|(_, tool)| tool.mode != Mode::Always)
        .map(|(place, tool)| Candidate {
            definition: &tool.definition,
            why: Why::Required,
            place,
        })
}

/// The pool entries that exist and are not required, the best first.
fn pooled<'a>(
    exposures: &'a Exposures,
    required: &BTreeSet<Arc<str>>,
    pool: &[PoolEntry],
) -> impl Iterator<Item = Candidate<'a>> {
    let mut ranked: Vec<_> = pool
        .iter()
        .enumerate()
        .filter(|(_, entry)| !required.contains(&entry.name))
        .filter_map(|(place, entry)| Some((place, entry, exposures.get(&entry.name)?)))
        .filter(|(_, _, tool)| tool.is_searchable())
        .collect();
    ranked.sort_by(|(_, a, a_tool), (_, b, b_tool)| {
        let direct = |mode: Mode| mode == Mode::Direct;
        a.cmp_best_first(direct(a_tool.mode), b, direct(b_tool.mode))
    });
    ranked.into_iter().map(|(place, _, tool)| Candidate {
        definition: &tool.definition,
        why: Why::Pooled,
        place,
    })
}

fn all_of(walk: &[Candidate<'_>]) -> VisibleSet {
    let mut sent: Vec<_> = walk.iter().collect();
    sent.sort_by_key(|candidate| candidate.place);
    VisibleSet {
        bytes: sent.iter().map(|c| c.definition.bytes()).sum(),
        sent: sent.into_iter().map(Candidate::sent).collect(),
        withheld: Vec::new(),
        budget: None,
    }
}

/// The one walk: keeps what fits, withholds the rest and goes on.
fn keep(walk: Vec<Candidate<'_>>, budget: BudgetSettings) -> VisibleSet {
    let (mut kept, mut withheld, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
    let mut needed_bytes = 0_usize;
    for (place, candidate) in walk.into_iter().enumerate() {
        let size = candidate.definition.bytes();
        needed_bytes = needed_bytes.saturating_add(size);
        let missing_bytes = bytes.saturating_add(size).saturating_sub(budget.max_bytes);
        let reason = if kept.len() >= budget.max_definitions {
            Some(WithheldReason::Definitions)
        } else if missing_bytes > 0 {
            Some(WithheldReason::Bytes)
        } else {
            None
        };
        match reason {
            Some(reason) if candidate.definition.name() != TOOL_SEARCH => withheld.push(Withheld {
                name: candidate.definition.shared_name(),
                bytes: size,
                why: candidate.why,
                reason,
                missing_bytes,
                needed: BudgetSettings {
                    max_definitions: place + 1,
                    max_bytes: needed_bytes,
                },
            }),
            _ => {
                bytes = bytes.saturating_add(size);
                kept.push(candidate);
            }
        }
    }
    kept.sort_by_key(|candidate| (candidate.why, candidate.place));
    VisibleSet {
        sent: kept.iter().map(Candidate::sent).collect(),
        withheld,
        bytes,
        budget: Some(budget),
    }
}

impl Candidate<'_> {
    fn sent(&self) -> Sent {
        Sent {
            definition: self.definition.clone(),
            why: self.why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::DynamicSettings;
    use crate::discovery::fixture::{Shelf, settings};

    fn entry(name: &str, last_used: u32, rank: u32, sequence: u64) -> PoolEntry {
        PoolEntry {
            name: name.into(),
            bytes: 100,
            last_used,
            rank,
            sequence,
        }
    }

    fn budget(max_definitions: usize, max_bytes: usize) -> BudgetSettings {
        BudgetSettings {
            max_definitions,
            max_bytes,
        }
    }

    fn bounded(exposures: &[(&str, Mode)], budget: BudgetSettings) -> DynamicSettings {
        DynamicSettings {
            budget,
            ..settings(exposures)
        }
    }

    fn names(set: &VisibleSet) -> Vec<&str> {
        set.names().collect()
    }

    fn withheld(set: &VisibleSet) -> Vec<(&str, WithheldReason, usize)> {
        set.withheld
            .iter()
            .map(|w| (&*w.name, w.reason, w.missing_bytes))
            .collect()
    }

    fn required(names: &[&str]) -> BTreeSet<Arc<str>> {
        names.iter().map(|name| (*name).into()).collect()
    }

    #[test]
    fn always_then_required_then_the_pool_in_the_order_of_admission_is_the_order_sent() {
        let shelf = Shelf::of(&["z_always", "a_always", "r2", "r1", "p1", "p2", TOOL_SEARCH]);
        let exposures = shelf.exposures(Some(settings(&[("*_always", Mode::Always)])));
        let pool = [
            entry("p2", 1, 5, 0),
            entry("r1", 9, 0, 2),
            entry("p1", 3, 0, 1),
        ];
        let set = visible_set(&exposures, &required(&["r2", "r1", "gone"]), &pool);
        assert_eq!(
            names(&set),
            [
                "a_always",
                "tool_search",
                "z_always",
                "r1",
                "r2",
                "p2",
                "p1"
            ]
        );
        let why: Vec<_> = set.sent.iter().map(|sent| sent.why.as_str()).collect();
        assert_eq!(
            why,
            [
                "always", "always", "always", "required", "required", "pooled", "pooled"
            ]
        );
        assert_eq!(set.bytes, 700);
    }

    #[test]
    fn pool_entries_lose_by_last_use_rank_mode_sequence_in_that_order() {
        let shelf = Shelf::of(&["a", "b", "c", "d", "e", "f"]);
        let exposures =
            shelf.exposures(Some(bounded(&[("d", Mode::Direct)], budget(1, usize::MAX))));
        let pool = [
            entry("a", 1, 0, 9),
            entry("b", 2, 1, 8),
            entry("c", 2, 0, 5),
            entry("d", 2, 0, 4),
            entry("e", 2, 0, 6),
            entry("f", 3, 7, 1),
        ];
        let set = visible_set(&exposures, &BTreeSet::new(), &pool);
        assert_eq!(names(&set), ["f"]);
        let order: Vec<_> = set.withheld.iter().map(|w| &*w.name).collect();
        assert_eq!(order, ["d", "e", "c", "b", "a"]);
    }

    #[test]
    fn a_candidate_that_does_not_fit_is_withheld_and_the_walk_goes_on() {
        let mut shelf = Shelf::default();
        for (name, bytes) in [("big", 500), ("huge", 700), ("small", 150)] {
            shelf.put(name, bytes);
        }
        let exposures = shelf.exposures(Some(bounded(&[], budget(9, 1000))));
        let pool = [
            entry("big", 3, 0, 0),
            entry("huge", 2, 0, 1),
            entry("small", 1, 0, 2),
        ];
        let set = visible_set(&exposures, &BTreeSet::new(), &pool);
        assert_eq!(names(&set), ["big", "small"]);
        assert_eq!(withheld(&set), [("huge", WithheldReason::Bytes, 200)]);
        assert_eq!(set.bytes, 650);
    }

    #[test]
    fn definitions_is_named_first_when_both_bounds_fail() {
        let shelf = Shelf::of(&["a", "b"]);
        let exposures = shelf.exposures(Some(bounded(&[("*", Mode::Always)], budget(1, 120))));
        let set = visible_set(&exposures, &BTreeSet::new(), &[]);
        assert_eq!(withheld(&set), [("b", WithheldReason::Definitions, 80)]);
        assert!(set.withheld[0].is_warning());
    }

    #[test]
    fn tool_search_is_kept_even_alone_over_the_budget_and_counts() {
        let mut shelf = Shelf::of(&["a"]);
        shelf.put(TOOL_SEARCH, 300);
        let exposures = shelf.exposures(Some(bounded(&[("a", Mode::Always)], budget(5, 200))));
        let set = visible_set(&exposures, &BTreeSet::new(), &[]);
        assert_eq!(names(&set), [TOOL_SEARCH]);
        assert_eq!(withheld(&set), [("a", WithheldReason::Bytes, 200)]);
        let exposures = shelf.exposures(Some(bounded(&[("a", Mode::Always)], budget(1, 900))));
        let set = visible_set(&exposures, &BTreeSet::new(), &[]);
        assert_eq!(withheld(&set), [("a", WithheldReason::Definitions, 0)]);
    }

    #[test]
    fn an_exact_fit_fits() {
        let shelf = Shelf::of(&["a", "b"]);
        let exposures = shelf.exposures(Some(bounded(&[("*", Mode::Always)], budget(2, 200))));
        assert_eq!(
            names(&visible_set(&exposures, &BTreeSet::new(), &[])),
            ["a", "b"]
        );
    }

    #[test]
    fn an_always_tool_that_is_required_or_pooled_appears_once_as_always() {
        let shelf = Shelf::of(&["a"]);
        let exposures = shelf.exposures(Some(settings(&[("a", Mode::Always)])));
        let set = visible_set(&exposures, &required(&["a"]), &[entry("a", 1, 0, 0)]);
        assert_eq!(names(&set), ["a"]);
        assert_eq!(set.sent[0].why, Why::Always);
    }

    #[test]
    fn without_dynamic_everything_is_sent_by_name() {
        let shelf = Shelf::of(&["tool_search", "a", "z"]);
        let set = visible_set(&shelf.exposures(None), &BTreeSet::new(), &[]);
        assert_eq!(names(&set), ["a", "tool_search", "z"]);
        assert_eq!((set.budget, set.bytes), (None, 300));
    }
}
