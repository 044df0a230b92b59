//! Measures a ranking on labelled queries (the `recall` command).
//!
//! Each query names *groups* of interchangeable tools; a group is found within *k* when any of its
//! members is among the first *k* hits. All figures are means over the queries:
//! - recall@k: the share of the query's groups that are found within *k*;
//! - MRR: one over the place of the first hit that belongs to a group, 0 if there is none among the
//!   first ten;
//! - nDCG@10: binary gains with the discount 1/log2(place + 1); the first hit of a group gains 1,
//!   further members of it nothing; the ideal has one hit for each group from the first place on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::search::Ranker;

/// How deep a ranking is looked at.
const DEPTH: usize = 10;

/// The depths of recall.
pub const DEPTHS: [usize; 4] = [1, 3, 5, DEPTH];

/// A query is a miss when not all of its groups are within this.
const MISS_DEPTH: usize = 5;

/// A query with the tools that would serve it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LabelledQuery {
    /// Identity, for the list of misses.
    pub id: String,
    /// What is asked.
    pub query: String,
    /// The tools that serve it.
    pub relevant: Vec<String>,
    /// Interchangeable tools; absent means that each relevant name is its own group.
    #[serde(default)]
    pub groups: Option<Vec<Vec<String>>>,
}

impl LabelledQuery {
    fn groups(&self) -> Vec<Vec<&str>> {
        match self.groups.as_ref().filter(|groups| !groups.is_empty()) {
            Some(groups) => groups
                .iter()
                .map(|group| group.iter().map(String::as_str).collect())
                .collect(),
            None => self
                .relevant
                .iter()
                .map(|name| vec![name.as_str()])
                .collect(),
        }
    }
}

/// A query whose groups are not all among the first five hits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// The query's id.
    pub id: String,
    /// The query.
    pub query: String,
    /// What would have served it.
    pub relevant: Vec<String>,
    /// The first ten hits.
    pub got: Vec<String>,
}

/// The figures of a ranking; its JSON is that of the command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recall {
    /// How many queries were asked.
    pub queries: usize,
    /// Recall by depth.
    pub recall: BTreeMap<usize, f64>,
    /// Mean reciprocal rank.
    pub mrr: f64,
    /// Normalized discounted cumulative gain at ten.
    pub ndcg10: f64,
    /// The queries that were not fully served.
    pub misses: Vec<Miss>,
}

/// Asks every query and measures the hits among the tools that `admit` lets pass. Without queries
/// all figures are 0.
pub fn measure(
    ranker: &dyn Ranker,
    queries: &[LabelledQuery],
    admit: &dyn Fn(&str) -> bool,
) -> Recall {
    let mut sums = BTreeMap::from(DEPTHS.map(|depth| (depth, 0.0)));
    let (mut mrr, mut ndcg10, mut misses) = (0.0, 0.0, Vec::new());
    for query in queries {
        let hits = ranker.rank(&query.query, DEPTH, admit);
        let got: Vec<String> = hits.iter().map(|hit| hit.name.to_string()).collect();
        let groups = query.groups();
        let places: Vec<Option<usize>> = groups
            .iter()
            .map(|group| got.iter().position(|name| group.contains(&name.as_str())))
            .collect();
        for (depth, sum) in &mut sums {
            *sum += share_within(&places, *depth);
        }
        let first = places.iter().flatten().min();
        mrr += first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
        ndcg10 += ndcg(&places);
        if share_within(&places, MISS_DEPTH) < 1.0 {
            misses.push(Miss {
                id: query.id.clone(),
                query: query.query.clone(),
                relevant: query.relevant.clone(),
                got,
            });
        }
    }
    let count = queries.len().max(1) as f64;
    Recall {
        queries: queries.len(),
        recall: sums.into_iter().map(|(k, sum)| (k, sum / count)).collect(),
        mrr: mrr / count,
        ndcg10: ndcg10 / count,
        misses,
    }
}

/// The share of the groups found within `depth`; a query without groups has missed nothing.
fn share_within(places: &[Option<usize>], depth: usize) -> f64 {
    if places.is_empty() {
        return 1.0;
    }
    let found = places.iter().flatten().filter(|place| **place < depth);
    found.count() as f64 / places.len() as f64
}

fn ndcg(places: &[Option<usize>]) -> f64 {
    let gain = |place: usize| 1.0 / ((place + 2) as f64).log2();
    let ideal: f64 = (0..places.len().min(DEPTH)).map(gain).sum();
    if ideal == 0.0 {
        return 1.0;
    }
    places
        .iter()
        .flatten()
        .map(|place| gain(*place))
        .sum::<f64>()
        / ideal
}

#[cfg(test)]
mod tests;
