//! Ranking tools for a query (rules 7.5 and 7.6). [`Ranker`] is the seam: the session and the
//! measurements know nothing else. The ranker that is used is [`Index`].

mod document;
mod explain;
mod follow;
mod index;
mod stop;
mod synonyms;
mod tokenize;
mod tuning;
mod words;

use std::sync::Arc;

pub use document::{Document, Field};
pub use explain::{Explained, Match, MatchKind};
pub use follow::IndexChange;
pub use index::Index;
pub use tokenize::tokens;
pub use tuning::{FieldTuning, Tuning};
pub use words::stem;

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

#[cfg(test)]
mod tests;
