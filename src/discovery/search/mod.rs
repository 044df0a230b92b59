//! Ranking tools for a query (rules 7.5 and 7.6). [`Ranker`] is the seam: the session and the
//! measurements know nothing else.

use std::sync::Arc;

/// A tool that a query found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The tool.
    pub name: Arc<str>,
    /// How well it fits; more is better, always above 0.
    pub score: f64,
}

/// Ranks tools.
pub trait Ranker: Send + Sync {
    /// The best tools for a query among those that `admit` lets pass, the best first, at most
    /// `limit`. Deterministic; ties go by name.
    fn rank(&self, query: &str, limit: usize, admit: &dyn Fn(&str) -> bool) -> Vec<Hit>;
}
