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

/// How many words [`Recent`] has room for, as a power of two.
const RECENT_BITS: u32 = 13;

/// The longest word that [`Recent`] keeps, in bytes; few are longer.
const SHORT: usize = 15;

/// A place of [`Recent`]: the word in two halves with its length at the end, which is 0 where there
/// is none, and its stem, which a stop word has not.
type Seat = ([u64; 2], Option<TermId>);

/// The words looked up last, before the dictionary: one place per word, and a newcomer takes it
/// over. A dozen words make up half of every catalog; and a server that makes words collide on
/// purpose gains nothing, since the dictionary behind it hashes with a secret.
pub(super) struct Recent(Vec<Seat>);

impl Default for Recent {
    fn default() -> Self {
        Self(vec![Seat::default(); 1 << RECENT_BITS])
    }
}

impl Recent {
    /// As [`Words::intern`].
    pub(super) fn intern(&mut self, words: &mut Words, word: &str) -> Option<TermId> {
        let Some(packed) = packed(word) else {
            return words.intern(word);
        };
        let mixed = (packed[0] ^ packed[1].rotate_left(25)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let seat = &mut self.0[(mixed >> (64 - RECENT_BITS)) as usize];
        if seat.0 != packed {
            *seat = (packed, words.intern(word));
        }
        seat.1
    }

    /// Forgets everything, after the dictionary has forgotten words.
    pub(super) fn clear(&mut self) {
        self.0.fill(Seat::default());
    }
}

/// A short word in two numbers; no two words share them.
fn packed(word: &str) -> Option<[u64; 2]> {
    if word.len() > SHORT {
        return None;
    }
    let mut bytes = [0; SHORT + 1];
    bytes[..word.len()].copy_from_slice(word.as_bytes());
    bytes[SHORT] = word.len() as u8;
    let (first, second) = bytes.split_at(8);
    let half = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
    Some([half(first), half(second)])
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

    /// Takes an occurrence back, and the stem with it if it was the last; tells whether it was.
    pub(super) fn take(&mut self, id: TermId, doc: DocId) -> bool {
        let term = &mut self.terms[id as usize];
        if let Ok(place) = term.postings.binary_search_by_key(&doc, |known| known.doc) {
            term.postings.remove(place);
        }
        if !term.postings.is_empty() {
            return false;
        }
        let term = std::mem::take(term);
        self.by_stem.remove(&term.stem);
        for word in &term.written {
            self.by_word.remove(word);
            self.in_order.remove(word);
        }
        self.free.push(id);
        true
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
