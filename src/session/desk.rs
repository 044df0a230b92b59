//! Where a running `tool_search` finds the session that asked, and leaves what it found. Its
//! answer depends on the whole batch (rule 7.3), so that the call itself cannot give it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;

use super::View;
use crate::discovery::Exposures;
use crate::discovery::search::Index;
use crate::discovery::tool_search::SearchPlan;
use crate::tool::CallId;

/// The seats of all sessions of an assembly. Locks are held for the edit alone.
#[derive(Clone, Default)]
pub(super) struct Desk(Arc<Mutex<HashMap<Key, Place>>>);

/// The address of the session's name: two sessions may bear the same name, but not share it.
type Key = usize;

struct Place {
    /// The name lives as long as the place, so that its address stays its own.
    name: Arc<str>,
    exposures: Arc<Exposures>,
    /// What the searches of a batch rank by, while one runs: what a call of it loads must not
    /// change what another finds.
    index: Option<Arc<Index>>,
    /// Bounded by the searches of one batch.
    plans: HashMap<CallId, SearchPlan>,
}

/// A session's place at the desk; it is given up when this is dropped.
pub(super) struct Seat {
    desk: Desk,
    key: Key,
}

fn key(name: &Arc<str>) -> Key {
    Arc::as_ptr(name).cast::<u8>().addr()
}

impl Desk {
    /// Takes a seat for a session.
    pub(super) fn sit(&self, name: &Arc<str>) -> Seat {
        let key = key(name);
        let place = Place {
            name: Arc::clone(name),
            exposures: Arc::default(),
            index: None,
            plans: HashMap::new(),
        };
        self.0.lock().insert(key, place);
        Seat {
            desk: self.clone(),
            key,
        }
    }

    /// The names of the sessions that sit here.
    pub(super) fn names(&self) -> HashSet<Arc<str>> {
        let places = self.0.lock();
        places
            .values()
            .map(|place| Arc::clone(&place.name))
            .collect()
    }

    /// What the session of a call sees in its batch; `None` without a session.
    pub(super) fn view(&self, session: Option<&Arc<str>>) -> Option<View> {
        let places = self.0.lock();
        let place = places.get(&key(session?))?;
        Some(View {
            exposures: Arc::clone(&place.exposures),
            index: place.index.clone()?,
        })
    }

    /// Leaves what a search found; a session that is gone does not want it any more.
    pub(super) fn leave(&self, session: Option<&Arc<str>>, call: CallId, plan: SearchPlan) {
        let mut places = self.0.lock();
        if let Some(place) = session.and_then(|name| places.get_mut(&key(name))) {
            place.plans.insert(call, plan);
        }
    }
}

impl Seat {
    /// Begins a batch: whatever an abandoned batch has left is forgotten.
    pub(super) fn begin(&self, view: View) {
        if let Some(place) = self.desk.0.lock().get_mut(&self.key) {
            place.exposures = view.exposures;
            place.index = Some(view.index);
            place.plans.clear();
        }
    }

    /// Its calls have ended. The index is let go of, so that it can be updated in place.
    pub(super) fn end(&self) {
        if let Some(place) = self.desk.0.lock().get_mut(&self.key) {
            place.index = None;
        }
    }

    /// Takes what a search of the batch found.
    pub(super) fn take(&self, call: &CallId) -> Option<SearchPlan> {
        self.desk.0.lock().get_mut(&self.key)?.plans.remove(call)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.desk.0.lock().remove(&self.key);
    }
}
