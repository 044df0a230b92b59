//! The dictionary: words as written, their stems, and where each stem occurs.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use rust_stemmers::{Algorithm, Stemmer};

use super::Field;
use super::stop::STOP;

/// A stem within the dictionary.
pub(super) type TermId = u32;

/// A document within the index.
pub(super) type DocId = u32;

/// How often a stem occurs in each field of a document, at most 255 times.
pub(super) type Counts = [u8; Field::ALL.len()];

/// Where a stem occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) doc: DocId,
    pub(super) counts: Counts,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Term {
    pub(super) stem: Arc<str>,
    /// Sorted by document.
    pub(super) postings: Vec<Posting>,
    /// The words as written that have this stem.
    written: Vec<Arc<str>>,
}

/// What the dictionary knows of a word as written.
#[derive(Clone, Copy)]
enum Word {
    Stop,
    Stem(TermId),
}

impl Word {
    fn term(self) -> Option<TermId> {
        match self {
            Self::Stop => None,
            Self::Stem(term) => Some(term),
        }
    }
}

/// The dictionary. Words of which no occurrence is left are forgotten, so that it does not grow
/// while tools come and go.
#[derive(Clone)]
pub(super) struct Words {
    terms: Vec<Term>,
    free: Vec<TermId>,
    by_stem: HashMap<Arc<str>, TermId>,
    by_word: HashMap<Arc<str>, Word>,
    /// The stems of `by_word` in order of the words, for the starts of words.
    in_order: BTreeMap<Arc<str>, TermId>,
}

/// The stem of a word in lower case.
pub fn stem(word: &str) -> String {
    Stemmer::create(Algorithm::English).stem(word).into_owned()
}

impl Default for Words {
    fn default() -> Self {
        let stop = STOP.iter().map(|word| (Arc::from(*word), Word::Stop));
        Self {
            terms: Vec::new(),
            free: Vec::new(),
            by_stem: HashMap::new(),
            by_word: stop.collect(),
            in_order: BTreeMap::new(),
        }
    }
}

impl Words {
    /// The stem of a word as written, made if it is new; `None` for a stop word.
    pub(super) fn intern(&mut self, word: &str) -> Option<TermId> {
        if let Some(known) = self.by_word.get(word) {
            return known.term();
        }
        let stem = stem(word);
        let id = match self.by_stem.get(stem.as_str()) {
            Some(id) => *id,
            None => self.add_term(stem.into()),
        };
        let word: Arc<str> = word.into();
        self.terms[id as usize].written.push(Arc::clone(&word));
        self.in_order.insert(Arc::clone(&word), id);
        self.by_word.insert(word, Word::Stem(id));
        Some(id)
    }

    /// Whether a word says nothing.
    pub(super) fn is_stop(&self, word: &str) -> bool {
        matches!(self.by_word.get(word), Some(Word::Stop))
    }

    /// The stem of a word, if it occurs anywhere.
    pub(super) fn find(&self, word: &str) -> Option<TermId> {
        match self.by_word.get(word) {
            Some(known) => known.term(),
            None => self.by_stem.get(stem(word).as_str()).copied(),
        }
    }

    /// The stems of the words as written that begin with `start` and are longer, in the order of
    /// the words, repeated where several words share one.
    pub(super) fn starting_with(&self, start: &str) -> impl Iterator<Item = TermId> {
        self.in_order
            .range::<str, _>((Bound::Excluded(start), Bound::Unbounded))
            .take_while(move |(word, _)| word.starts_with(start))
            .map(|(_, id)| *id)
    }

    pub(super) fn term(&self, id: TermId) -> &Term {
        &self.terms[id as usize]
    }

    /// Notes that a stem occurs in a document.
    pub(super) fn put(&mut self, id: TermId, posting: Posting) {
        let postings = &mut self.terms[id as usize].postings;
        match postings.last() {
            Some(last) if last.doc >= posting.doc => {
                let place = postings.partition_point(|known| known.doc < posting.doc);
                postings.insert(place, posting);
            }
            _ => postings.push(posting),
        }
    }

    /// Takes an occurrence back, and the stem with it if it was the last.
    pub(super) fn take(&mut self, id: TermId, doc: DocId) {
        let term = &mut self.terms[id as usize];
        if let Ok(place) = term.postings.binary_search_by_key(&doc, |known| known.doc) {
            term.postings.remove(place);
        }
        if term.postings.is_empty() {
            let term = std::mem::take(term);
            self.by_stem.remove(&term.stem);
            for word in &term.written {
                self.by_word.remove(word);
                self.in_order.remove(word);
            }
            self.free.push(id);
        }
    }

    /// How many stems there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_stem.len()
    }

    fn add_term(&mut self, stem: Arc<str>) -> TermId {
        let term = Term {
            stem: Arc::clone(&stem),
            ..Term::default()
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.terms[id as usize] = term;
                id
            }
            None => {
                self.terms.push(term);
                (self.terms.len() - 1) as TermId
            }
        };
        self.by_stem.insert(stem, id);
        id
    }
}
