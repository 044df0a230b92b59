//! The inverted index: fielded BM25 over the tools of a catalog, updated tool by tool.
//!
//! Everything that the score depends on is an exact count, so that an index that was updated a
//! thousand times ranks like one that was built anew.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::sync::Arc;

use super::synonyms::synonyms;
use super::words::{Counts, DocId, Posting, Recent, TermId, WordId, Words, stem};
use super::{Document, Field, Hit, MatchKind, Ranker, Tuning, tokens};

const FIELDS: usize = Field::ALL.len();

/// Most words that one query word may stand for as their start; the rest, in order of the
/// alphabet, is passed over. A start that short says next to nothing.
const MOST_STARTED: usize = 64;

/// Most distinct words of a query that count; a longer text is cut there.
const MOST_WORDS: usize = 256;

/// Fielded BM25 over tools.
#[derive(Clone, Default)]
pub struct Index {
    tuning: Tuning,
    words: Words,
    docs: Vec<Option<Doc>>,
    free: Vec<DocId>,
    by_name: HashMap<Arc<str>, DocId>,
    /// Words in all documents per field.
    totals: [u64; FIELDS],
    /// Per document and field: weight over length norm. Made by [`Index::settle`].
    factors: Vec<[f32; FIELDS]>,
}

#[derive(Clone)]
struct Doc {
    name: Arc<str>,
    lengths: [u32; FIELDS],
    /// Each once.
    words: Box<[WordId]>,
}

impl fmt::Debug for Index {
    /// Thousands of tools would help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({} tools)", self.len())
    }
}

/// Room to work in while documents are added.
#[derive(Default)]
struct Desk {
    recent: Recent,
    /// Per stem the occurrences in the document at hand; all zero between documents.
    counts: Vec<Counts>,
    /// The stems of the document at hand.
    touched: Vec<TermId>,
    /// The words as written of the document at hand.
    written: Vec<WordId>,
    /// Per word as written, how many documents had been begun when it was last met.
    met: Vec<u32>,
    begun: u32,
}

/// What one word of the query looks for.
pub(super) struct Wanted {
    pub(super) word: String,
    pub(super) exact: Option<TermId>,
    /// Weaker stand-ins.
    pub(super) weak: Vec<Weak>,
    /// What the word is worth in the share of the query that matched.
    pub(super) worth: f32,
}

/// A word that a query word stands for less surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weak {
    pub(super) term: TermId,
    pub(super) kind: MatchKind,
    /// What a match of it is worth: the rarity, weakened.
    pub(super) rarity: f32,
}

impl Index {
    /// An empty index.
    pub fn new(tuning: Tuning) -> Self {
        Self {
            tuning,
            ..Self::default()
        }
    }

    /// Changes tools: removes some, then adds or replaces others.
    pub fn update<'a>(
        &mut self,
        removed: impl IntoIterator<Item = &'a str>,
        put: impl IntoIterator<Item = Document<'a>>,
    ) {
        for name in removed {
            self.remove(name);
        }
        let mut desk = Desk::default();
        for document in put {
            if self.remove(document.name) {
                desk.recent.clear(); // it may hold what is forgotten now
            }
            self.add(&document, &mut desk);
        }
        self.settle();
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The names of the tools, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_name.keys()
    }

    fn add(&mut self, document: &Document<'_>, desk: &mut Desk) {
        let mut lengths = [0_u32; FIELDS];
        let words = &mut self.words;
        let Desk {
            recent,
            counts,
            touched,
            written,
            met,
            begun,
        } = desk;
        *begun += 1;
        document.texts(&mut |field, text| {
            tokens(text, &mut |word| {
                let telling = recent.intern(words, word);
                let spelled = match (telling, field) {
                    (Some(spelled), _) => spelled,
                    // A name may be made of such words alone; its length is that of the others.
                    (None, Field::Name) => words.intern_stop(word),
                    (None, _) => return,
                };
                lengths[field as usize] += u32::from(telling.is_some());
                let at = spelled.word as usize;
                if at >= met.len() {
                    met.resize(at + 1, 0);
                }
                if met[at] != *begun {
                    met[at] = *begun;
                    written.push(spelled.word);
                }
                let at = spelled.term as usize;
                if at >= counts.len() {
                    counts.resize(at + 1, Counts::default());
                }
                if counts[at] == Counts::default() {
                    touched.push(spelled.term);
                }
                let count = &mut counts[at][field as usize];
                *count = count.saturating_add(1);
            });
        });
        let doc = self.free.pop().unwrap_or_else(|| {
            self.docs.push(None);
            (self.docs.len() - 1) as DocId
        });
        for word in &*written {
            self.words.put_word(*word);
        }
        let written = written.drain(..).collect();
        for term in touched.drain(..) {
            let counts = std::mem::take(&mut counts[term as usize]);
            self.words.put(term, Posting { doc, counts });
        }
        for (total, length) in self.totals.iter_mut().zip(lengths) {
            *total += u64::from(length);
        }
        let name: Arc<str> = document.name.into();
        self.by_name.insert(Arc::clone(&name), doc);
        self.docs[doc as usize] = Some(Doc {
            name,
            lengths,
            words: written,
        });
    }

    /// Tells whether the dictionary has forgotten words with it.
    fn remove(&mut self, name: &str) -> bool {
        let Some(id) = self.by_name.remove(name) else {
            return false;
        };
        let Some(doc) = self.docs[id as usize].take() else {
            return false;
        };
        let forgot = self.words.take(&doc.words, id);
        for (total, length) in self.totals.iter_mut().zip(doc.lengths) {
            *total -= u64::from(length);
        }
        self.free.push(id);
        forgot
    }

    /// Computes the factor of every document and field, after the average lengths have changed.
    fn settle(&mut self) {
        let count = self.len().max(1) as f32;
        let averages = self
            .totals
            .map(|total| (total as f32 / count).max(f32::MIN_POSITIVE));
        let tuning = &self.tuning.fields;
        self.factors.clear();
        self.factors.extend(self.docs.iter().map(|doc| {
            let lengths = doc.as_ref().map_or([0; FIELDS], |doc| doc.lengths);
            std::array::from_fn(|f| {
                let share = lengths[f] as f32 / averages[f];
                tuning[f].weight / (1.0 - tuning[f].length + tuning[f].length * share)
            })
        }));
    }

    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    pub(super) fn doc_id(&self, name: &str) -> Option<DocId> {
        self.by_name.get(name).copied()
    }

    /// Rarer stems tell more.
    pub(super) fn rarity(&self, term: TermId) -> f32 {
        let (all, with) = (
            self.len() as f32,
            self.words.term(term).postings.len() as f32,
        );
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// Weighted occurrences per field that count for this kind of match.
    pub(super) fn shares(&self, kind: MatchKind, posting: &Posting) -> [f32; FIELDS] {
        let factors = &self.factors[posting.doc as usize];
        let mut shares = std::array::from_fn(|f| f32::from(posting.counts[f]) * factors[f]);
        if kind == MatchKind::Synonym {
            // Another word in the small print of a parameter says nothing about the capability.
            shares[Field::Parameter as usize] = 0.0;
            shares[Field::ParameterText as usize] = 0.0;
        }
        shares
    }

    /// What a match adds to a document before coverage.
    pub(super) fn gain(&self, kind: MatchKind, rarity: f32, posting: &Posting) -> f32 {
        let weighted: f32 = self.shares(kind, posting).iter().sum();
        rarity * weighted * (self.tuning.k1 + 1.0) / (self.tuning.k1 + weighted)
    }

    /// The distinct words of a query that some tool has, with what each stands for.
    pub(super) fn wanted(&self, query: &str) -> Vec<Wanted> {
        let mut wanted: Vec<Wanted> = Vec::new();
        // A query of nothing but stop words is about a name that is made of them.
        let (mut words, mut telling) = (0_usize, 0_usize);
        tokens(query, &mut |word| {
            words += 1;
            telling += usize::from(!self.words.is_stop(word));
        });
        tokens(query, &mut |word| {
            if wanted.len() == MOST_WORDS
                || (telling > 0 && self.words.is_stop(word))
                || wanted.iter().any(|known| known.word == word)
            {
                return;
            }
            let exact = self.words.find(word);
            if exact.is_some() && wanted.iter().any(|known| known.exact == exact) {
                return;
            }
            let weak = match telling {
                0 => Vec::new(),
                _ => self.stand_ins(word, exact, words == 1),
            };
            let worth = match exact {
                Some(term) => self.rarity(term),
                None => weak.iter().map(|weak| weak.rarity).fold(0.0, f32::max),
            };
            if worth > 0.0 {
                wanted.push(Wanted {
                    word: word.to_owned(),
                    exact,
                    weak,
                    worth,
                });
            }
        });
        wanted
    }

    /// The words that begin with this one, and other words for it.
    fn stand_ins(&self, word: &str, exact: Option<TermId>, is_alone: bool) -> Vec<Weak> {
        let mut weak: Vec<Weak> = Vec::new();
        let mut add = |term, kind, weight: f32| {
            if Some(term) == exact || weak.iter().any(|known| known.term == term) {
                return;
            }
            // A rare stand-in must not be worth more than the word that was asked for.
            let bound = exact.map_or(f32::INFINITY, |exact| self.rarity(exact));
            let rarity = weight * self.rarity(term).min(bound);
            if rarity > 0.0 {
                weak.push(Weak { term, kind, rarity });
            }
        };
        for other in synonyms(&stem(word)) {
            if let Some(term) = self.words.find(other) {
                add(term, MatchKind::Synonym, self.tuning.synonym);
            }
        }
        if is_alone || word.chars().nth(1).is_some() {
            // One letter among others is the start of everything.
            for term in self.words.starting_with(word).take(MOST_STARTED) {
                add(term, MatchKind::Prefix, self.tuning.prefix);
            }
        }
        weak
    }
}

/// Sums per document; dense, because a query touches a good part of all documents.
struct Sums {
    of: Vec<Sum>,
    touched: Vec<DocId>,
    /// The best stand-in of the word at hand per document.
    weak: Vec<Sum>,
    weak_touched: Vec<DocId>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    gain: f32,
    worth: f32,
}

impl Sums {
    fn new(docs: usize) -> Self {
        Self {
            of: vec![Sum::default(); docs],
            touched: Vec::new(),
            weak: vec![Sum::default(); docs],
            weak_touched: Vec::new(),
        }
    }

    fn add(&mut self, doc: DocId, gain: f32, worth: f32) {
        let sum = &mut self.of[doc as usize];
        if sum.gain == 0.0 {
            self.touched.push(doc);
        }
        sum.gain += gain;
        sum.worth += worth;
    }

    fn add_weak(&mut self, doc: DocId, gain: f32, worth: f32) {
        let best = &mut self.weak[doc as usize];
        if best.gain == 0.0 {
            self.weak_touched.push(doc);
        }
        if gain > best.gain {
            *best = Sum { gain, worth };
        }
    }

    /// Adds the stand-ins of the word at hand to the documents that do not have the word itself.
    fn close_word(&mut self) {
        for doc in std::mem::take(&mut self.weak_touched) {
            let Sum { gain, worth } = std::mem::take(&mut self.weak[doc as usize]);
            if gain > 0.0 {
                self.add(doc, gain, worth);
            }
        }
    }
}

impl Index {
    /// Per word the better of an exact match and its best stand-in; the sum over all words.
    fn sums(&self, wanted: &[Wanted]) -> Sums {
        let mut sums = Sums::new(self.docs.len());
        for word in wanted {
            for weak in &word.weak {
                let worth = word.worth.min(weak.rarity);
                for posting in &self.words.term(weak.term).postings {
                    sums.add_weak(
                        posting.doc,
                        self.gain(weak.kind, weak.rarity, posting),
                        worth,
                    );
                }
            }
            if let Some(term) = word.exact {
                let rarity = self.rarity(term);
                for posting in &self.words.term(term).postings {
                    let weak = std::mem::take(&mut sums.weak[posting.doc as usize]).gain;
                    let gain = self.gain(MatchKind::Exact, rarity, posting).max(weak);
                    sums.add(posting.doc, gain, word.worth);
                }
            }
            sums.close_word();
        }
        sums
    }

    /// The score of a document from its sums.
    fn covered(&self, score: f32, matched: f32, known: f32) -> f32 {
        let coverage = self.tuning.coverage;
        score * (1.0 - coverage + coverage * matched / known)
    }
}

impl Ranker for Index {
    fn rank(&self, query: &str, limit: usize, admit: &dyn Fn(&str) -> bool) -> Vec<Hit> {
        let wanted = self.wanted(query);
        let known: f32 = wanted.iter().map(|word| word.worth).sum();
        let sums = self.sums(&wanted);
        let mut best: BinaryHeap<Ranked<'_>> = BinaryHeap::with_capacity(limit.min(self.len()) + 1);
        for &doc in &sums.touched {
            let at = doc as usize;
            let Some(entry) = &self.docs[at] else {
                continue;
            };
            let ranked = Ranked {
                score: self.covered(sums.of[at].gain, sums.of[at].worth, known),
                name: &entry.name,
            };
            let has_room = best.len() < limit;
            if !has_room && best.peek().is_none_or(|worst| ranked >= *worst) {
                continue;
            }
            if admit(&entry.name) {
                if !has_room {
                    best.pop();
                }
                best.push(ranked);
            }
        }
        best.into_sorted_vec()
            .into_iter()
            .map(|ranked| Hit {
                name: Arc::clone(ranked.name),
                score: f64::from(ranked.score),
            })
            .collect()
    }
}

/// Ordered best first, so that the greatest is the worst.
struct Ranked<'a> {
    score: f32,
    name: &'a Arc<str>,
}

impl Ord for Ranked<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then_with(|| self.name.cmp(other.name))
    }
}

impl PartialOrd for Ranked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked<'_> {}
