//! Findings in the rounds of one session.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{FULL, FULL_ROUNDS, Finding, MOST, SessionRounds, UNUSED_ROUNDS};
use crate::discovery::session::RoundRecord;
use crate::discovery::{BudgetSettings, TOOL_SEARCH};

/// The visible set has been full, or has withheld tools, for a while.
pub(super) fn full(session: &SessionRounds<'_>) -> Option<Finding> {
    let full = |record: &&RoundRecord| {
        let budget = record.visible.budget;
        budget.is_some_and(|budget| percent(record, budget) >= FULL)
    };
    // One large tool is withheld also where there is room for others.
    let short = |record: &&RoundRecord| {
        let set = &record.visible;
        full(record) || (set.budget.is_some() && !set.withheld.is_empty())
    };
    let rounds = session.newest_first().take_while(short).count();
    if rounds < FULL_ROUNDS {
        return None;
    }
    let newest = &session.newest_first().next()?.visible;
    let budget = newest.budget?;
    Some(Finding::BudgetFull {
        session: Arc::clone(session.name),
        rounds,
        full: session.newest_first().take(rounds).filter(full).count(),
        used: (newest.sent.len(), newest.bytes),
        budget: (budget.max_definitions, budget.max_bytes),
        withheld: newest.withheld.len(),
    })
}

/// The fuller of both bounds in percent.
fn percent(record: &RoundRecord, budget: BudgetSettings) -> usize {
    let of = |part: usize, whole: usize| part * 100 / whole.max(1);
    let set = &record.visible;
    of(set.sent.len(), budget.max_definitions).max(of(set.bytes, budget.max_bytes))
}

/// Tools that the newest round still sends, for many rounds without a call; the most wasteful
/// first.
pub(super) fn unused(session: &SessionRounds<'_>) -> Vec<Finding> {
    let Some(newest) = session.newest_first().next() else {
        return Vec::new();
    };
    let mut waiting: BTreeMap<&str, (Arc<str>, usize, usize)> = newest
        .visible
        .sent
        .iter()
        .filter(|sent| sent.name() != TOOL_SEARCH)
        .map(|sent| {
            let name = sent.definition.shared_name();
            (sent.name(), (name, 0, sent.bytes()))
        })
        .collect();
    let mut called: HashSet<&str> = HashSet::new();
    for record in session.newest_first() {
        called.extend(record.calls.iter().map(|call| &*call.tool));
        for sent in &record.visible.sent {
            if let Some((_, rounds, _)) = waiting
                .get_mut(sent.name())
                .filter(|_| !called.contains(sent.name()))
            {
                *rounds += 1;
            }
        }
    }
    let mut unused: Vec<_> = waiting
        .into_values()
        .filter(|(_, rounds, _)| *rounds >= UNUSED_ROUNDS)
        .collect();
    unused.sort_by_key(|(_, rounds, bytes)| Reverse(rounds * bytes)); // stable
    unused
        .into_iter()
        .take(MOST)
        .map(|(tool, rounds, bytes)| Finding::Unused {
            session: Arc::clone(session.name),
            tool,
            rounds,
            bytes,
        })
        .collect()
}

/// Searches that found nothing, the newest first; equal queries count together.
pub(super) fn empty_searches(session: &SessionRounds<'_>) -> Vec<Finding> {
    let mut found: Vec<(Arc<str>, usize, u32)> = Vec::new();
    for record in session.newest_first() {
        for answer in record.searches.iter().filter(|a| a.ranked.is_empty()) {
            let known = found.iter().position(|(query, ..)| *query == answer.query);
            match known {
                Some(at) => found[at].1 += 1,
                None if found.len() < MOST => {
                    found.push((Arc::clone(&answer.query), 1, record.round));
                }
                None => {}
            }
        }
    }
    found
        .into_iter()
        .map(|(query, times, round)| Finding::EmptySearch {
            session: Arc::clone(session.name),
            query,
            times,
            round,
        })
        .collect()
}
