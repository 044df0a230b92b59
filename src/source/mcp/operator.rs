//! The desk at which an operator answers what servers ask: what waits for an answer, and whether
//! anybody sits there.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use super::{Answer, Desk, Question, QuestionKind};
use crate::clock::Stamp;

/// How many questions may wait at once; the next is declined, so that a server that asks without
/// end cannot bury the others'.
const QUEUE: usize = 100;

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PendingQuestion {
    /// Identity.
    pub id: u64,
    /// The source.
    pub source: Arc<str>,
    /// The server that asks.
    pub server: Arc<str>,
    /// What it wants.
    pub kind: QuestionKind,
    /// The `params` of its request.
    pub params: Value,
    /// When it was asked.
    pub asked: Stamp,
}

/// The queue between servers and operator. Cheap to clone; all clones are the same desk. While
/// nobody has a seat nothing is offered to servers, and whatever is asked is declined at once.
#[derive(Clone, Default)]
pub struct Questions(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    shown: watch::Sender<Arc<[Arc<PendingQuestion>]>>,
}

#[derive(Default)]
struct State {
    seats: usize,
    next: u64,
    open: BTreeMap<u64, Open>,
}

struct Open {
    row: Arc<PendingQuestion>,
    answer: oneshot::Sender<Answer>,
}

/// Somebody who can answer. When the last one is dropped, everything that waits is declined.
pub struct Seat(Questions);

impl Drop for Seat {
    fn drop(&mut self) {
        let inner = &self.0.0;
        let mut state = inner.state.lock();
        state.seats -= 1;
        if state.seats == 0 {
            for (_, open) in std::mem::take(&mut state.open) {
                // Whoever asked may have gone.
                let _ = open.answer.send(Answer::Decline);
            }
            inner.show(&state);
        }
    }
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Questions({} open)", self.0.state.lock().open.len())
    }
}

impl Inner {
    fn show(&self, state: &State) {
        let rows = state.open.values().map(|open| Arc::clone(&open.row));
        self.shown.send_replace(rows.collect());
    }
}

impl Questions {
    /// Takes a seat. What servers are told that they may ask is decided when they connect, so a
    /// host does this before it starts a runtime.
    pub fn attach(&self) -> Seat {
        self.0.state.lock().seats += 1;
        Seat(self.clone())
    }

    /// Follows what waits for an answer, the oldest first; only the newest list counts.
    pub fn pending(&self) -> watch::Receiver<Arc<[Arc<PendingQuestion>]>> {
        self.0.shown.subscribe()
    }

    /// Answers a question; `false` when it is not open any more.
    pub fn answer(&self, id: u64, answer: Answer) -> bool {
        let mut state = self.0.state.lock();
        let Some(open) = state.open.remove(&id) else {
            return false;
        };
        self.0.show(&state);
        open.answer.send(answer).is_ok()
    }

    fn open(&self, question: Question) -> Option<Waiting> {
        let mut state = self.0.state.lock();
        if state.seats == 0 || state.open.len() >= QUEUE {
            return None;
        }
        let id = state.next;
        state.next += 1;
        let (sender, answer) = oneshot::channel();
        let row = PendingQuestion {
            id,
            source: question.source,
            server: question.server,
            kind: question.kind,
            params: question.params,
            asked: Stamp::now(),
        };
        let open = Open {
            row: Arc::new(row),
            answer: sender,
        };
        state.open.insert(id, open);
        self.0.show(&state);
        Some(Waiting {
            desk: self.clone(),
            id,
            answer,
        })
    }
}

impl Desk for Questions {
    fn offers(&self, _: QuestionKind) -> bool {
        self.0.state.lock().seats > 0
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        let waiting = self.open(question);
        async move {
            match waiting {
                Some(mut waiting) => (&mut waiting.answer).await.unwrap_or(Answer::Decline),
                None => Answer::Decline,
            }
        }
        .boxed()
    }
}

/// A question that is open as long as this lives.
struct Waiting {
    desk: Questions,
    id: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let inner = &self.desk.0;
        let mut state = inner.state.lock();
        if state.open.remove(&self.id).is_some() {
            inner.show(&state);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question() -> Question {
        Question {
            source: "s".into(),
            server: "x".into(),
            kind: QuestionKind::Elicitation,
            params: json!({"message": "who?"}),
        }
    }

    #[tokio::test]
    async fn without_a_seat_nothing_is_offered_and_everything_declined() {
        let desk = Questions::default();
        assert!(!desk.offers(QuestionKind::Sampling));
        assert_eq!(desk.ask(question()).await, Answer::Decline);
    }

    #[tokio::test]
    async fn a_question_waits_until_it_is_answered_and_only_once() {
        let desk = Questions::default();
        let _seat = desk.attach();
        assert!(desk.offers(QuestionKind::Elicitation));
        let mut pending = desk.pending();
        let asking = tokio::spawn({
            let desk = desk.clone();
            async move { desk.ask(question()).await }
        });
        let rows = pending.wait_for(|rows| !rows.is_empty()).await.unwrap();
        let id = rows[0].id;
        drop(rows);
        let answer = Answer::Accept(json!({"name": "me"}));
        assert!(desk.answer(id, answer.clone()));
        assert_eq!(asking.await.unwrap(), answer);
        assert!(!desk.answer(id, Answer::Decline));
        assert!(desk.pending().borrow().is_empty());
    }

    #[tokio::test]
    async fn a_server_that_does_not_wait_any_more_takes_its_question_away() {
        let desk = Questions::default();
        let _seat = desk.attach();
        drop(desk.ask(question()));
        assert!(desk.pending().borrow().is_empty());
    }

    #[tokio::test]
    async fn the_last_one_to_leave_declines_what_waits_and_a_flood_is_declined() {
        let desk = Questions::default();
        let seat = desk.attach();
        let waiting: Vec<_> = (0..QUEUE).map(|_| desk.ask(question())).collect();
        assert_eq!(desk.ask(question()).await, Answer::Decline);
        assert_eq!(desk.pending().borrow().len(), QUEUE);
        drop(seat);
        for answer in futures::future::join_all(waiting).await {
            assert_eq!(answer, Answer::Decline);
        }
    }
}
