//! Who may start and who waits: a pure queue. Calls start in the order in which they came, except
//! that a call whose source is full does not hold up those of other sources.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::middleware::settings::ConcurrencySettings;

/// Most calls that wait at once; the next is refused as `overloaded` (rule 9.7).
pub(super) const QUEUE: usize = 1_000;

/// Identity of a waiting call.
pub(super) type Ticket = u64;

/// What a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Start; it holds a slot now.
    Start,
    /// Wait until the ticket is called.
    Wait(Ticket),
    /// Neither: the queue is full.
    Full,
}

/// The slots and the queue before them. No waiting call could start: whatever changes calls
/// everybody who can.
#[derive(Debug, Default)]
pub(super) struct Slots {
    limit: Option<usize>,
    per_source: HashMap<Arc<str>, Source>,
    running: usize,
    waiting: VecDeque<(Ticket, Option<Arc<str>>)>,
    next: Ticket,
}

#[derive(Debug, Default)]
struct Source {
    limit: Option<usize>,
    running: usize,
}

impl Slots {
    pub(super) fn new(settings: &ConcurrencySettings) -> Self {
        let mut slots = Self::default();
        slots.set_limits(settings);
        slots
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A call comes. `source` is the owner of its tool, if it has one.
    pub(super) fn enter(&mut self, source: Option<&Arc<str>>) -> Entry {
        if self.fits(source) {
            self.start(source);
            return Entry::Start;
        }
        if self.waiting.len() >= QUEUE {
            return Entry::Full;
        }
        let ticket = self.next;
        self.next += 1;
        self.waiting.push_back((ticket, source.cloned()));
        Entry::Wait(ticket)
    }

    /// A call that held a slot has ended; gives the tickets that are called by that.
    pub(super) fn leave(&mut self, source: Option<&Arc<str>>) -> Vec<Ticket> {
        self.running = self.running.saturating_sub(1);
        if let Some(source) = source.and_then(|name| self.per_source.get_mut(name)) {
            source.running = source.running.saturating_sub(1);
        }
        self.call()
    }

    /// A waiting call gives up; `false` when its ticket has been called already.
    pub(super) fn give_up(&mut self, ticket: Ticket) -> bool {
        // Tickets are given out in order, so the queue is sorted by them.
        let place = self.waiting.binary_search_by_key(&ticket, |(t, _)| *t);
        place.is_ok_and(|place| self.waiting.remove(place).is_some())
    }

    /// Other limits from now on; gives the tickets that are called by that. Calls that run beyond
    /// a lowered limit end in their own time.
    pub(super) fn set_limits(&mut self, settings: &ConcurrencySettings) -> Vec<Ticket> {
        self.limit = settings.limit;
        for source in self.per_source.values_mut() {
            source.limit = None;
        }
        for (name, limit) in &settings.per_source {
            let source = self.per_source.entry(name.as_str().into()).or_default();
            source.limit = Some(*limit);
        }
        self.call()
    }

    fn fits(&self, source: Option<&Arc<str>>) -> bool {
        let source = source.and_then(|name| self.per_source.get(name));
        let source_full =
            source.is_some_and(|source| source.limit.is_some_and(|limit| source.running >= limit));
        !self.is_full() && !source_full
    }

    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.running >= limit)
    }

    fn start(&mut self, source: Option<&Arc<str>>) {
        self.running += 1;
        if let Some(name) = source {
            // Sources without a limit are counted as well: they may be given one later. Their
            // number is that of the deployment.
            match self.per_source.get_mut(name) {
                Some(source) => source.running += 1,
                None => {
                    let source = Source {
                        limit: None,
                        running: 1,
                    };
                    self.per_source.insert(Arc::clone(name), source);
                }
            }
        }
    }

    /// Starts everybody who can, in order.
    fn call(&mut self) -> Vec<Ticket> {
        let mut called = Vec::new();
        let mut place = 0;
        while place < self.waiting.len() && !self.is_full() {
            if !self.fits(self.waiting[place].1.as_ref()) {
                place += 1;
            } else if let Some((ticket, source)) = self.waiting.remove(place) {
                self.start(source.as_ref());
                called.push(ticket);
            }
        }
        called
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: [Ticket; 0] = [];

    fn slots(limit: Option<usize>, per_source: &[(&str, usize)]) -> Slots {
        Slots::new(&settings(limit, per_source))
    }

    fn settings(limit: Option<usize>, per_source: &[(&str, usize)]) -> ConcurrencySettings {
        let per_source = per_source.iter().map(|(name, n)| ((*name).into(), *n));
        ConcurrencySettings {
            limit,
            per_source: per_source.collect(),
        }
    }

    #[test]
    fn calls_start_in_the_order_in_which_they_came() {
        let mut slots = slots(Some(2), &[]);
        let entries: Vec<_> = (0..5).map(|_| slots.enter(None)).collect();
        use Entry::{Start, Wait};
        assert_eq!(entries, [Start, Start, Wait(0), Wait(1), Wait(2)]);
        assert!(slots.give_up(1));
        assert!(!slots.give_up(1));
        assert_eq!(slots.leave(None), [0]);
        assert_eq!(slots.leave(None), [2]);
        assert_eq!(slots.leave(None), NOBODY);
        assert_eq!((slots.running(), slots.waiting()), (1, 0));
    }

    #[test]
    fn a_full_source_does_not_hold_up_the_others() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut slots = slots(Some(2), &[("a", 1)]);
        assert_eq!(slots.enter(Some(&a)), Entry::Start);
        assert_eq!(slots.enter(Some(&a)), Entry::Wait(0), "its source is full");
        assert_eq!(slots.enter(Some(&b)), Entry::Start, "another source is not");
        assert_eq!(slots.enter(Some(&b)), Entry::Wait(1), "everything is full");
        assert_eq!(slots.leave(Some(&b)), [1], "`a` is still full");
        assert_eq!(slots.leave(Some(&a)), [0]);
    }

    #[test]
    fn the_queue_has_a_bound() {
        let mut slots = slots(Some(1), &[]);
        assert_eq!(slots.enter(None), Entry::Start);
        for ticket in 0..QUEUE as u64 {
            assert_eq!(slots.enter(None), Entry::Wait(ticket));
        }
        assert_eq!(slots.enter(None), Entry::Full);
        assert_eq!(slots.leave(None), [0]);
        assert_eq!(slots.enter(None), Entry::Wait(QUEUE as u64));
    }

    #[test]
    fn raised_limits_call_those_who_wait_and_lowered_ones_let_the_running_end() {
        let a: Arc<str> = "a".into();
        let mut slots = slots(None, &[("a", 1)]);
        let enter = |slots: &mut Slots| slots.enter(Some(&a));
        assert_eq!(enter(&mut slots), Entry::Start);
        assert_eq!(enter(&mut slots), Entry::Wait(0));
        assert_eq!(enter(&mut slots), Entry::Wait(1));
        assert_eq!(slots.set_limits(&settings(Some(2), &[("a", 9)])), [0]);
        assert_eq!(slots.set_limits(&settings(Some(1), &[])), NOBODY);
        assert_eq!(slots.leave(Some(&a)), NOBODY, "one too many has ended");
        assert_eq!(slots.leave(Some(&a)), [1]);
    }
}
