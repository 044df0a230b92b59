//! The directory of sessions: a row of each for everybody who looks, made anew only for a session
//! in which something happened. Drivers write to it, the publisher reads it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::row::warnings_of;
use super::{PlayRow, SessionId, SessionKind, SessionRow, SessionState, SessionStatus};
use crate::clock::Stamp;
use crate::discovery::session::{Cause, RoundRecord};
use crate::secrets::Secrets;

/// How many sessions are kept after they ended; the one that ended first is forgotten beyond that.
/// Sessions that have not ended are all listed: whoever opens them has to bound them.
const ENDED: usize = 16;

/// The sessions of a runtime. Cheap to clone. Locks are held for the edit alone.
#[derive(Clone, Default)]
pub struct Directory(Arc<Inner>);

#[derive(Default)]
struct Inner {
    rows: Mutex<Rows>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Rows {
    next: u64,
    /// By id, which is the order in which they were opened.
    all: Vec<Arc<SessionRow>>,
    /// Those that ended, the first to end first.
    ended: Vec<SessionId>,
    /// What was given out last, until something changes.
    given: Option<Arc<[Arc<SessionRow>]>>,
}

impl Directory {
    /// The rows, in the order in which the sessions were opened.
    pub fn rows(&self) -> Arc<[Arc<SessionRow>]> {
        let mut rows = self.0.rows.lock();
        if let Some(given) = &rows.given {
            return Arc::clone(given);
        }
        let all: Arc<[_]> = rows.all.iter().cloned().collect();
        rows.given = Some(Arc::clone(&all));
        all
    }

    /// Follows that something changed; what, the rows tell.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Says how the scenario stands that is played in a session; nothing if that is forgotten.
    pub fn set_play(&self, id: SessionId, play: PlayRow) {
        let play = Some(Arc::new(play));
        self.edit(id, |row| row.play = play);
    }

    /// Forgets a session that has ended.
    pub fn forget(&self, id: SessionId) {
        {
            let mut rows = self.0.rows.lock();
            rows.ended.retain(|ended| *ended != id);
            rows.all
                .retain(|row| row.id != id || row.status != SessionStatus::Ended);
            rows.given = None;
        }
        self.0.changed.send_replace(());
    }

    /// Lists a session from now on, until the listing is dropped; before its first round until a
    /// driver takes the listing over
    /// ([`SessionDriver::enlist`](super::SessionDriver::enlist)). The secrets are masked in what
    /// is shown of it.
    pub fn list(&self, name: &str, kind: SessionKind, secrets: Secrets) -> Listing {
        let now = Stamp::now();
        let name = secrets.mask(name).into();
        let masks = Masks::new(secrets);
        let id = {
            let mut rows = self.0.rows.lock();
            rows.next += 1;
            let id = SessionId(rows.next);
            rows.all.push(Arc::new(SessionRow {
                id,
                name,
                kind,
                status: SessionStatus::Open,
                opened: now,
                active: now,
                current: Arc::default(),
                history: Arc::new([]),
                warnings: Arc::new([]),
                play: None,
            }));
            rows.given = None;
            id
        };
        self.0.changed.send_replace(());
        Listing {
            directory: self.clone(),
            id,
            masks,
        }
    }

    fn edit(&self, id: SessionId, change: impl FnOnce(&mut SessionRow)) {
        {
            let mut rows = self.0.rows.lock();
            let Ok(at) = rows.all.binary_search_by_key(&id, |row| row.id) else {
                return;
            };
            change(Arc::make_mut(&mut rows.all[at]));
            rows.given = None;
        }
        self.0.changed.send_replace(());
    }

    fn set_status(&self, id: SessionId, status: SessionStatus) {
        self.edit(id, |row| {
            if row.status != SessionStatus::Ended {
                row.status = status;
            }
            row.active = Stamp::now();
        });
    }

    fn end(&self, id: SessionId) {
        self.set_status(id, SessionStatus::Ended);
        let mut rows = self.0.rows.lock();
        rows.ended.push(id);
        if rows.ended.len() > ENDED {
            let first = rows.ended.remove(0);
            rows.all.retain(|row| row.id != first);
            rows.given = None;
        }
    }
}

/// The entry of a session that runs; its row is marked as ended when this is dropped.
pub struct Listing {
    directory: Directory,
    id: SessionId,
    masks: Masks,
}

impl Listing {
    /// The identity of its row.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Shows what the session has come to.
    pub(super) fn show(&mut self, state: &SessionState) {
        let current = self.masks.one(&state.current);
        let history = self.masks.all(&state.history);
        let warnings = warnings_of(&current);
        self.directory.edit(self.id, |row| {
            if *row.warnings != warnings {
                row.warnings = warnings.into();
            }
            row.current = current;
            row.history = history;
            row.active = Stamp::now();
        });
    }

    /// Shows that a batch runs, until the guard is dropped.
    pub(super) fn busy(&self) -> Busy {
        self.directory.set_status(self.id, SessionStatus::Running);
        Busy {
            directory: self.directory.clone(),
            id: self.id,
        }
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        self.directory.end(self.id);
    }
}

/// While this lives, the batch of a session runs: also when its future is dropped half way.
pub(super) struct Busy {
    directory: Directory,
    id: SessionId,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.directory.set_status(self.id, SessionStatus::Open);
    }
}

/// Masks records, each once.
struct Masks {
    secrets: Secrets,
    /// By the address of what came, which is kept so that the address stays its own. Bounded by
    /// the history of the session.
    known: HashMap<usize, (Arc<RoundRecord>, Arc<RoundRecord>)>,
}

impl Masks {
    fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            known: HashMap::new(),
        }
    }

    fn one(&self, record: &Arc<RoundRecord>) -> Arc<RoundRecord> {
        if let Some((_, masked)) = self.known.get(&Arc::as_ptr(record).addr()) {
            return Arc::clone(masked);
        }
        match masked(record, &self.secrets) {
            Some(masked) => Arc::new(masked),
            None => Arc::clone(record),
        }
    }

    fn all(&mut self, history: &Arc<[Arc<RoundRecord>]>) -> Arc<[Arc<RoundRecord>]> {
        if self.secrets.is_empty() {
            return Arc::clone(history);
        }
        let mut kept = HashMap::with_capacity(history.len());
        let mut any = false;
        let shown: Arc<[_]> = history
            .iter()
            .map(|record| {
                let masked = self.one(record);
                any |= !Arc::ptr_eq(record, &masked);
                let pair = (Arc::clone(record), Arc::clone(&masked));
                kept.insert(Arc::as_ptr(record).addr(), pair);
                masked
            })
            .collect();
        self.known = kept;
        if any { shown } else { Arc::clone(history) }
    }
}

fn masked_name(name: &Arc<str>, secrets: &Secrets) -> Option<Arc<str>> {
    match secrets.mask(name) {
        std::borrow::Cow::Borrowed(_) => None,
        std::borrow::Cow::Owned(masked) => Some(masked.into()),
    }
}

/// The record with the secrets masked in what a model wrote and in what searches told; `None` if
/// there are none.
fn masked(record: &RoundRecord, secrets: &Secrets) -> Option<RoundRecord> {
    if secrets.is_empty() {
        return None;
    }
    let mut found = false;
    let mut mask = |text: &mut Arc<str>| {
        if let Some(masked) = masked_name(text, secrets) {
            *text = masked;
            found = true;
        }
    };
    let mut calls = record.calls.clone();
    for call in &mut calls {
        mask(&mut call.tool);
    }
    let mut searches = record.searches.clone();
    for search in &mut searches {
        mask(&mut search.query);
    }
    let mut ledger = record.ledger.clone();
    for line in &mut ledger {
        match &mut line.cause {
            Cause::Search { query, .. } => mask(query),
            Cause::Call { tool } | Cause::Recovery { tool } => mask(tool),
            Cause::Idle | Cause::Registry => {}
        }
    }
    for hit in searches.iter_mut().flat_map(|search| &mut search.exposed) {
        if let std::borrow::Cow::Owned(masked) = secrets.mask(&hit.description) {
            hit.description = masked;
            found = true;
        }
    }
    found.then(|| RoundRecord {
        calls,
        searches,
        ledger,
        ..record.clone()
    })
}
