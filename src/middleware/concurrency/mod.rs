//! `concurrency`: bounds how many calls run at once; the others wait in order (rule 9.7).

mod slots;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::slots::{Entry, Slots, Ticket};
use super::counter::Count;
use super::live::Live;
use super::settings::{ConcurrencySettings, MiddlewareSettings};
use super::{Counter, Middleware, Next, Request, absent};
use crate::tool::{ErrorKind, ToolResult};

/// The layer.
pub struct Concurrency {
    settings: Live<ConcurrencySettings>,
    gate: Arc<Gate>,
    started: Count,
    waited: Count,
    gave_up: Count,
    overloaded: Count,
}

/// The queue and the way to those who wait in it.
#[derive(Default)]
struct Gate(Mutex<State>);

#[derive(Default)]
struct State {
    slots: Slots,
    /// Those who wait, by ticket. As many as the queue holds.
    waiting: HashMap<Ticket, Waiter>,
}

/// The way to one who waits.
struct Waiter {
    source: Option<Arc<str>>,
    hand: oneshot::Sender<Slot>,
}

/// A slot that a running call holds. Dropping it, for whatever reason, frees it.
struct Slot {
    gate: Arc<Gate>,
    source: Option<Arc<str>>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let source = self.source.as_ref();
        self.gate.call(|slots| slots.leave(source));
    }
}

/// A place in the queue. Dropping it leaves the queue; a slot that was handed out at the same
/// moment lies in the channel and is freed with it.
struct Place {
    gate: Arc<Gate>,
    ticket: Ticket,
    slot: oneshot::Receiver<Slot>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.gate.0.lock();
        // Absent once the ticket has been called.
        if state.waiting.remove(&self.ticket).is_some() {
            state.slots.give_up(self.ticket);
        }
    }
}

/// What a call finds at the gate.
enum Found {
    Slot(Slot),
    Queue(Place),
    Full,
}

impl Gate {
    fn enter(self: &Arc<Self>, source: Option<Arc<str>>) -> Found {
        let mut state = self.0.lock();
        match state.slots.enter(source.as_ref()) {
            Entry::Full => Found::Full,
            Entry::Start => Found::Slot(self.slot(source)),
            Entry::Wait(ticket) => {
                let (hand, slot) = oneshot::channel();
                state.waiting.insert(ticket, Waiter { source, hand });
                Found::Queue(Place {
                    gate: Arc::clone(self),
                    ticket,
                    slot,
                })
            }
        }
    }

    /// Changes the slots and hands one to everybody who is called by that.
    fn call(self: &Arc<Self>, change: impl FnOnce(&mut Slots) -> Vec<Ticket>) {
        let called: Vec<Waiter> = {
            let mut state = self.0.lock();
            let tickets = change(&mut state.slots);
            let waiting = &mut state.waiting;
            tickets.iter().filter_map(|t| waiting.remove(t)).collect()
        };
        // Outside the lock: who went away meanwhile gives the slot back by dropping it.
        for Waiter { source, hand } in called {
            let _ = hand.send(self.slot(source));
        }
    }

    fn slot(self: &Arc<Self>, source: Option<Arc<str>>) -> Slot {
        Slot {
            gate: Arc::clone(self),
            source,
        }
    }
}

impl Concurrency {
    /// A layer with these limits.
    pub fn new(settings: ConcurrencySettings) -> Self {
        let state = State {
            slots: Slots::new(&settings),
            waiting: HashMap::new(),
        };
        Self {
            settings: Live::new(settings),
            gate: Arc::new(Gate(Mutex::new(state))),
            started: Count::default(),
            waited: Count::default(),
            gave_up: Count::default(),
            overloaded: Count::default(),
        }
    }

    async fn slot(&self, request: &Request) -> Result<Slot, ToolResult> {
        let source = request.entry().map(|entry| Arc::clone(&entry.owner.source));
        let mut place = match self.gate.enter(source) {
            Found::Slot(slot) => return Ok(slot),
            Found::Queue(place) => place,
            Found::Full => {
                self.overloaded.one();
                return Err(overloaded(&request.call.tool));
            }
        };
        self.waited.one();
        let begin = Instant::now();
        let slot = request.bounded(&mut place.slot).await;
        request.span().waited(begin.elapsed());
        match slot {
            Ok(Ok(slot)) => Ok(slot),
            // The gate drops nobody's channel while the place is kept.
            Ok(Err(_)) => Err(overloaded(&request.call.tool)),
            Err(given_up) => {
                self.gave_up.one();
                Err(given_up)
            }
        }
    }
}

fn overloaded(tool: &str) -> ToolResult {
    ToolResult::error(
        ErrorKind::Overloaded,
        format!(
            "`{tool}` was not called: {} calls wait for a slot already; try again later",
            slots::QUEUE
        ),
    )
}

impl Middleware for Concurrency {
    fn name(&self) -> &'static str {
        "concurrency"
    }

    fn settings(&self) -> Value {
        let settings = self.settings.get();
        let per_source: Map<String, Value> = settings
            .per_source
            .iter()
            .map(|(source, limit)| (source.clone(), json!(limit)))
            .collect();
        json!({"limit": settings.limit, "per_source": per_source})
    }

    fn counters(&self) -> Vec<Counter> {
        let (running, waiting) = {
            let state = self.gate.0.lock();
            (state.slots.running(), state.slots.waiting())
        };
        let now = |name, value| Counter {
            name,
            value: value as u64,
        };
        vec![
            now("running", running),
            now("waiting", waiting),
            self.started.shown_as("started"),
            self.waited.shown_as("waited"),
            self.gave_up.shown_as("gave_up"),
            self.overloaded.shown_as("overloaded"),
        ]
    }

    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let settings = settings.concurrency.clone();
        let settings = settings.ok_or_else(|| absent("concurrency"))?;
        self.gate.call(|slots| slots.set_limits(&settings));
        self.settings.set(settings);
        Ok(())
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let _slot = match self.slot(&request).await {
                Ok(slot) => slot,
                Err(result) => return result,
            };
            self.started.one();
            next.run(request).await
        })
    }
}
