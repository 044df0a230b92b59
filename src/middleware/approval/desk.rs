//! The desk at which an operator answers: what waits for an answer, and who sits there.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::clock::Stamp;
use crate::tool::CallId;

/// Most calls that wait for an answer at once; the next is refused as `overloaded`.
pub(super) const QUEUE: usize = 1_000;

/// Most standing answers ("always"); past that the oldest is forgotten and asked for again.
const STANDING: usize = 4_096;

/// A call that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PendingApproval {
    /// Identity of the question; call ids may repeat.
    pub id: u64,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// The session, if any.
    pub session: Option<Arc<str>>,
    /// The arguments, secrets masked.
    pub arguments: Value,
    /// When it was asked.
    pub asked: Stamp,
    /// How long the answer is waited for, from then on; absent when nothing bounds it.
    pub patience: Option<Duration>,
}

impl PendingApproval {
    /// The time that is left to answer; `None` when nothing bounds it.
    pub fn left_at(&self, now: Instant) -> Option<Duration> {
        let patience = self.patience?;
        Some(patience.saturating_sub(self.asked.age(now)))
    }
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// This call may run.
    Approve,
    /// This call may not run.
    Deny,
    /// This call may run, and every later one of the same tool in the same session without asking;
    /// those that wait already as well.
    Always,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Given(Decision),
    /// The last console went away.
    Nobody,
}

/// What a call learns when it asks.
pub(super) enum Asked {
    /// A standing answer lets it pass.
    Standing,
    /// No console is there to ask (rule 9.8).
    NoConsole,
    /// Too many wait already.
    Full,
    /// An answer will come.
    Wait(Question),
}

/// The queue between calls and operator. Cheap to clone; all clones are the same desk.
#[derive(Clone)]
pub struct Approvals(Arc<Desk>);

struct Desk {
    state: Mutex<State>,
    shown: watch::Sender<Arc<[Arc<PendingApproval>]>>,
}

/// A tool in a session.
type Key = (Option<Arc<str>>, Arc<str>);

#[derive(Default)]
struct State {
    consoles: usize,
    next: u64,
    pending: BTreeMap<u64, Open>,
    standing: HashSet<Key>,
    /// The standing answers, the oldest first.
    order: VecDeque<Key>,
}

struct Open {
    row: Arc<PendingApproval>,
    answer: oneshot::Sender<Answer>,
}

impl Open {
    fn key(&self) -> Key {
        (self.row.session.clone(), Arc::clone(&self.row.tool))
    }
}

/// A console that can answer. When the last one is dropped, everything that waits is denied.
pub struct Console(Approvals);

impl Drop for Console {
    fn drop(&mut self) {
        let desk = &self.0.0;
        let mut state = desk.state.lock();
        state.consoles -= 1;
        if state.consoles == 0 {
            for (_, open) in std::mem::take(&mut state.pending) {
                // Whoever asked may have gone.
                let _ = open.answer.send(Answer::Nobody);
            }
            desk.show(&state);
        }
    }
}

/// A question that is open as long as this lives.
pub(super) struct Question {
    desk: Approvals,
    id: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Question {
    pub(super) async fn answer(&mut self) -> Answer {
        // The desk drops no sender unused while the question is open.
        (&mut self.answer).await.unwrap_or(Answer::Nobody)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let desk = &self.desk.0;
        let mut state = desk.state.lock();
        if state.pending.remove(&self.id).is_some() {
            desk.show(&state);
        }
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Approvals({} pending)",
            self.0.state.lock().pending.len()
        )
    }
}

impl Default for Approvals {
    fn default() -> Self {
        Self(Arc::new(Desk {
            state: Mutex::default(),
            shown: watch::Sender::new(Arc::new([])),
        }))
    }
}

impl Desk {
    fn show(&self, state: &State) {
        let rows = state.pending.values().map(|open| Arc::clone(&open.row));
        self.shown.send_replace(rows.collect());
    }
}

impl Approvals {
    /// Takes a seat at the desk: from now on calls are asked for instead of denied.
    pub fn attach(&self) -> Console {
        self.0.state.lock().consoles += 1;
        Console(self.clone())
    }

    /// Follows what waits for an answer, the oldest first; only the newest list counts.
    pub fn pending(&self) -> watch::Receiver<Arc<[Arc<PendingApproval>]>> {
        self.0.shown.subscribe()
    }

    /// Answers a question; `false` when it is not open any more.
    pub fn answer(&self, id: u64, decision: Decision) -> bool {
        let mut state = self.0.state.lock();
        let Some(open) = state.pending.remove(&id) else {
            return false;
        };
        let mut answered = Vec::new();
        if decision == Decision::Always {
            let key = open.key();
            answered = state.same(&key);
            state.remember(key);
        }
        answered.push(open);
        self.0.show(&state);
        drop(state);
        let mut heard = false;
        for open in answered {
            let asked_for = open.row.id == id;
            // Whoever asked may have gone in this moment.
            let sent = open.answer.send(Answer::Given(decision)).is_ok();
            heard |= sent && asked_for;
        }
        heard
    }

    pub(super) fn ask(&self, row: impl FnOnce(u64) -> PendingApproval, key: Key) -> Asked {
        let mut state = self.0.state.lock();
        if state.standing.contains(&key) {
            return Asked::Standing;
        }
        if state.consoles == 0 {
            return Asked::NoConsole;
        }
        if state.pending.len() >= QUEUE {
            return Asked::Full;
        }
        let id = state.next;
        state.next += 1;
        let (sender, answer) = oneshot::channel();
        let open = Open {
            row: Arc::new(row(id)),
            answer: sender,
        };
        state.pending.insert(id, open);
        self.0.show(&state);
        Asked::Wait(Question {
            desk: self.clone(),
            id,
            answer,
        })
    }

    pub(super) fn standing(&self) -> usize {
        self.0.state.lock().standing.len()
    }
}

impl State {
    /// Takes out what waits for the same tool in the same session.
    fn same(&mut self, key: &Key) -> Vec<Open> {
        let ids: Vec<u64> = self
            .pending
            .iter()
            .filter(|(_, open)| open.key() == *key)
            .map(|(id, _)| *id)
            .collect();
        ids.iter()
            .filter_map(|id| self.pending.remove(id))
            .collect()
    }

    fn remember(&mut self, key: Key) {
        if self.standing.insert(key.clone()) {
            self.order.push_back(key);
        }
        if self.order.len() > STANDING
            && let Some(oldest) = self.order.pop_front()
        {
            self.standing.remove(&oldest);
        }
    }
}
