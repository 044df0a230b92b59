//! What one search found, before anything is loaded or admitted.

use std::sync::Arc;

use super::SearchArguments;
use crate::discovery::Exposures;
use crate::discovery::search::Ranker;
use crate::tool::Definition;

/// How it stands with the definition of a hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// There was nothing to load.
    Ready,
    /// It was loaded for this search.
    Loaded(Definition),
    /// It could not be loaded, with the reason in words.
    Failed(String),
}

/// A hit of one search.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedHit {
    /// The tool.
    pub name: Arc<str>,
    /// Its score.
    pub score: f64,
    /// Set by whoever loads lazy tools.
    pub load: Load,
}

/// The ranked hits of one search, at most as many as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// The query as written.
    pub query: Arc<str>,
    /// How many hits were asked for, before that was lowered to the pool.
    pub asked: usize,
    /// The best first.
    pub hits: Vec<PlannedHit>,
}

impl SearchPlan {
    /// Ranks the direct and deferred tools that the session sees in this round (rule 7.2).
    pub fn new(arguments: &SearchArguments, ranker: &dyn Ranker, exposures: &Exposures) -> Self {
        let searchable = |name: &str| exposures.get(name).is_some_and(|t| t.is_searchable());
        let hits = ranker.rank(&arguments.query, arguments.limit, &searchable);
        Self {
            query: arguments.query.as_str().into(),
            asked: arguments.asked,
            hits: hits
                .into_iter()
                .map(|hit| PlannedHit {
                    name: hit.name,
                    score: hit.score,
                    load: Load::Ready,
                })
                .collect(),
        }
    }
}
