//! Why a tool was found: the matched words, the field of each and what it added (rule 7.6).

use serde::Serialize;

use super::index::{Index, Wanted};
use super::words::{Posting, TermId};
use super::{Field, Hit, Ranker as _};

/// How a word of the query matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchKind {
    /// The word, apart from its ending.
    Exact,
    /// The word is the start of an indexed one; counts weakly.
    Prefix,
    /// Another word for it; counts weakly.
    Synonym,
}

/// What one word of the query added to a score through one field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// The word of the query.
    pub word: String,
    /// The stem that the tool has.
    pub term: String,
    /// How they matched.
    pub kind: MatchKind,
    /// Where the tool has it.
    pub field: Field,
    /// What it added. All matches together make the score.
    pub score: f64,
}

/// A hit with its reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The tool.
    pub name: String,
    /// Its score.
    pub score: f64,
    /// The matches, what added most first.
    pub matches: Vec<Match>,
}

impl Index {
    /// Says how each hit of a query came to its score.
    pub fn explain(&self, query: &str, hits: &[Hit]) -> Vec<Explained> {
        let wanted = self.wanted(query);
        hits.iter()
            .map(|hit| Explained {
                name: hit.name.to_string(),
                score: hit.score,
                matches: self.matches(&wanted, hit),
            })
            .collect()
    }

    /// [`Ranker::rank`](super::Ranker::rank) with the reasons.
    pub fn rank_explained(
        &self,
        query: &str,
        limit: usize,
        admit: &dyn Fn(&str) -> bool,
    ) -> Vec<Explained> {
        self.explain(query, &self.rank(query, limit, admit))
    }

    fn matches(&self, wanted: &[Wanted], hit: &Hit) -> Vec<Match> {
        let mut matches = Vec::new();
        for word in wanted {
            let Some((term, kind, gain, posting)) = self.best_match(word, &hit.name) else {
                continue;
            };
            let shares = self.shares(kind, posting);
            let all: f32 = shares.iter().sum();
            for (field, share) in Field::ALL.into_iter().zip(shares) {
                if share > 0.0 {
                    matches.push(Match {
                        word: word.word.clone(),
                        term: self.words().term(term).stem.to_string(),
                        kind,
                        field,
                        score: f64::from(gain * share / all),
                    });
                }
            }
        }
        // Coverage acts on the sum, so each match bears its part of it.
        let sum: f64 = matches.iter().map(|m| m.score).sum();
        for one in &mut matches {
            one.score *= hit.score / sum;
        }
        matches.sort_by(|a, b| {
            let order = b.score.total_cmp(&a.score);
            order.then_with(|| (&a.word, a.field).cmp(&(&b.word, b.field)))
        });
        matches
    }

    /// The match of a word that counted: an exact one wins a tie with a stand-in.
    fn best_match(&self, word: &Wanted, name: &str) -> Option<(TermId, MatchKind, f32, &Posting)> {
        let doc = self.doc_id(name)?;
        let exact = word
            .exact
            .map(|term| (term, MatchKind::Exact, self.rarity(term)));
        let weak = word.weak.iter().map(|w| (w.term, w.kind, w.rarity));
        let mut best: Option<(TermId, MatchKind, f32, &Posting)> = None;
        for (term, kind, rarity) in exact.into_iter().chain(weak) {
            let postings = &self.words().term(term).postings;
            let Ok(place) = postings.binary_search_by_key(&doc, |posting| posting.doc) else {
                continue;
            };
            let gain = self.gain(kind, rarity, &postings[place]);
            if gain > best.map_or(0.0, |(_, _, gain, _)| gain) {
                best = Some((term, kind, gain, &postings[place]));
            }
        }
        best
    }
}
