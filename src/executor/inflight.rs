//! The table of calls that run now.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::Started;
use crate::middleware::Trace;
use crate::tool::{CallId, Progress};

/// A call that runs now.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// How it began.
    pub started: Arc<Started>,
    /// The newest progress that its tool reported.
    pub progress: Option<Progress>,
    /// Whether somebody has asked it to stop.
    pub cancelling: bool,
    /// The layer that it is inside of, or `tool`.
    pub inside: Option<&'static str>,
}

struct Row {
    started: Arc<Started>,
    cancel: CancellationToken,
    progress: watch::Receiver<Option<Progress>>,
    trace: Arc<Trace>,
}

/// Shared table; locks are held for the edit alone. Rows are keyed by an own number, because two
/// callers may choose the same call id.
#[derive(Clone, Default)]
pub struct InFlightTable(Arc<Mutex<Rows>>, Arc<Notify>);

#[derive(Default)]
struct Rows {
    next: u64,
    rows: BTreeMap<u64, Row>,
}

/// A place in the table.
pub(super) struct Ticket {
    table: InFlightTable,
    key: u64,
}

impl Ticket {
    pub(super) fn leave(&self) {
        self.table.0.lock().rows.remove(&self.key);
        self.table.1.notify_waiters();
    }
}

impl InFlightTable {
    pub(super) fn enter(
        &self,
        started: Arc<Started>,
        cancel: CancellationToken,
        progress: watch::Receiver<Option<Progress>>,
        trace: Arc<Trace>,
    ) -> Ticket {
        let mut table = self.0.lock();
        let key = table.next;
        table.next += 1;
        table.rows.insert(
            key,
            Row {
                started,
                cancel,
                progress,
                trace,
            },
        );
        Ticket {
            table: self.clone(),
            key,
        }
    }

    /// Cancels every call of that id; `false` when there is none.
    pub fn cancel(&self, id: &CallId) -> bool {
        let table = self.0.lock();
        let mut found = false;
        for row in table.rows.values().filter(|row| row.started.id == *id) {
            row.cancel.cancel();
            found = true;
        }
        found
    }

    /// Cancels everything; used when the runtime stops.
    pub fn cancel_all(&self) {
        for row in self.0.lock().rows.values() {
            row.cancel.cancel();
        }
    }

    /// What runs now, the oldest first.
    pub fn list(&self) -> Vec<InFlight> {
        self.0
            .lock()
            .rows
            .values()
            .map(|row| InFlight {
                started: Arc::clone(&row.started),
                progress: row.progress.borrow().clone(),
                cancelling: row.cancel.is_cancelled(),
                inside: row.trace.inside(),
            })
            .collect()
    }

    /// How many calls run now.
    pub fn len(&self) -> usize {
        self.0.lock().rows.len()
    }

    /// Waits until no call runs.
    pub async fn wait_empty(&self) {
        loop {
            let left = self.1.notified();
            if self.is_empty() {
                return;
            }
            left.await;
        }
    }

    /// Whether no call runs now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
