//! The dictionary: words as written, their stems, and where each stem occurs.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use rust_stemmers::{Algorithm, Stemmer};

use super::Field;
use super::stop::STOP;

/// A stem within the dictionary.
pub(super) type TermId = u32;

/// A word as written within the dictionary.
pub(super) type WordId = u32;

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
}

/// A word as written.
#[derive(Clone, Debug, Default)]
struct Written {
    text: Arc<str>,
    term: TermId,
    is_stop: bool,
    /// In how many documents it stands. Kept beside the postings of its stem, since those outlive
    /// it as long as another word of the same stem is left.
    documents: u32,
}

/// What the dictionary knows of a word as written.
#[derive(Clone, Copy)]
enum Word {
    /// Says nothing, but in a name that may be made of such words alone.
    Stop(Option<Spelled>),
    Known(Spelled),
}

/// A word as written, and its stem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spelled {
    pub(super) word: WordId,
    pub(super) term: TermId,
}

impl Word {
    fn telling(self) -> Option<Spelled> {
        match self {
            Self::Stop(_) => None,
            Self::Known(spelled) => Some(spelled),
        }
    }
}

/// How many words [`Recent`] has room for, as a power of two.
const RECENT_BITS: u32 = 13;

/// The longest word that [`Recent`] keeps, in bytes; few are longer.
const SHORT: usize = 15;

/// A place of [`Recent`]: the word in two halves with its length at the end, which is 0 where there
/// is none, and what it is, which a stop word has not.
type Seat = ([u64; 2], Option<Spelled>);

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
    pub(super) fn intern(&mut self, words: &mut Words, word: &str) -> Option<Spelled> {
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

/// The dictionary. Words and stems of which no occurrence is left are forgotten, so that it does
/// not grow while tools come and go.
#[derive(Clone)]
pub(super) struct Words {
    terms: Vec<Term>,
    free_terms: Vec<TermId>,
    written: Vec<Written>,
    free_words: Vec<WordId>,
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
        let stop = STOP.iter().map(|word| (Arc::from(*word), Word::Stop(None)));
        Self {
            terms: Vec::new(),
            free_terms: Vec::new(),
            written: Vec::new(),
            free_words: Vec::new(),
            by_stem: HashMap::new(),
            by_word: stop.collect(),
            in_order: BTreeMap::new(),
        }
    }
}

impl Words {
    /// A word as written with its stem, made if it is new; `None` for a stop word.
    pub(super) fn intern(&mut self, word: &str) -> Option<Spelled> {
        match self.by_word.get(word) {
            Some(known) => known.telling(),
            None => Some(self.add_word(word, false)),
        }
    }

    /// The same for a stop word.
    pub(super) fn intern_stop(&mut self, word: &str) -> Spelled {
        match self.by_word.get(word) {
            Some(Word::Known(known) | Word::Stop(Some(known))) => *known,
            Some(Word::Stop(None)) | None => self.add_word(word, true),
        }
    }

    fn add_word(&mut self, word: &str, is_stop: bool) -> Spelled {
        let stem = stem(word);
        let term = match self.by_stem.get(stem.as_str()) {
            Some(id) => *id,
            None => self.add_term(stem.into()),
        };
        let text: Arc<str> = word.into();
        let written = Written {
            text: Arc::clone(&text),
            term,
            is_stop,
            documents: 0,
        };
        let word = seat(&mut self.written, &mut self.free_words, written);
        let spelled = Spelled { word, term };
        if is_stop {
            self.by_word.insert(text, Word::Stop(Some(spelled)));
        } else {
            self.in_order.insert(Arc::clone(&text), term);
            self.by_word.insert(text, Word::Known(spelled));
        }
        spelled
    }

    /// Whether a word says nothing.
    pub(super) fn is_stop(&self, word: &str) -> bool {
        matches!(self.by_word.get(word), Some(Word::Stop(_)))
    }

    /// The stem of a word, if it occurs anywhere; of a stop word, if it does in a name.
    pub(super) fn find(&self, word: &str) -> Option<TermId> {
        match self.by_word.get(word) {
            Some(Word::Known(known) | Word::Stop(Some(known))) => Some(known.term),
            Some(Word::Stop(None)) => None,
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

    /// Notes that a word as written occurs in one document more.
    pub(super) fn put_word(&mut self, id: WordId) {
        self.written[id as usize].documents += 1;
    }

    /// Takes the words of a document back: those that no other document has are forgotten, and the
    /// stems that are left without a document. Tells whether anything was forgotten.
    pub(super) fn take(&mut self, words: &[WordId], doc: DocId) -> bool {
        let mut forgot = false;
        for &word in words {
            let term = self.written[word as usize].term;
            forgot |= self.take_word(word);
            let postings = &mut self.terms[term as usize].postings;
            if let Ok(place) = postings.binary_search_by_key(&doc, |known| known.doc) {
                postings.remove(place);
                if postings.is_empty() {
                    self.forget_term(term);
                }
            }
        }
        forgot
    }

    fn take_word(&mut self, id: WordId) -> bool {
        let written = &mut self.written[id as usize];
        written.documents -= 1;
        if written.documents > 0 {
            return false;
        }
        let text = std::mem::take(&mut written.text);
        if written.is_stop {
            self.by_word.insert(text, Word::Stop(None));
        } else {
            self.by_word.remove(&text);
            self.in_order.remove(&text);
        }
        self.free_words.push(id);
        true
    }

    fn forget_term(&mut self, id: TermId) {
        let term = std::mem::take(&mut self.terms[id as usize]);
        self.by_stem.remove(&term.stem);
        self.free_terms.push(id);
    }

    /// How many stems and how many words as written there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        let stop = self.by_word.values();
        let stop = stop.filter(|word| matches!(word, Word::Stop(Some(_))));
        (self.by_stem.len(), self.in_order.len() + stop.count())
    }

    fn add_term(&mut self, stem: Arc<str>) -> TermId {
        let term = Term {
            stem: Arc::clone(&stem),
            ..Term::default()
        };
        let id = seat(&mut self.terms, &mut self.free_terms, term);
        self.by_stem.insert(stem, id);
        id
    }
}

/// Puts something on a free place, or on a new one, and gives its number.
fn seat<T>(places: &mut Vec<T>, free: &mut Vec<u32>, one: T) -> u32 {
    match free.pop() {
        Some(id) => {
            places[id as usize] = one;
            id
        }
        None => {
            places.push(one);
            (places.len() - 1) as u32
        }
    }
}
