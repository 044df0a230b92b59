//! The findings of lint, worked out anew only for what has changed: the catalog once per version,
//! a session once per change of its row.

use std::collections::HashMap;
use std::sync::Arc;

use crate::discovery::Exposures;
use crate::discovery::lint::{Finding, SessionRounds, of_catalog, of_session};
use crate::session::{SessionId, SessionRow, SessionStatus};

/// What was found last, and in what.
#[derive(Default)]
pub(super) struct Lints {
    exposures: Option<Arc<Exposures>>,
    catalog: Vec<Finding>,
    /// Of the sessions that go on; bounded by them.
    sessions: HashMap<SessionId, (Arc<SessionRow>, Vec<Finding>)>,
    all: Arc<[Finding]>,
}

impl Lints {
    /// The findings now; the same as before when nothing has changed.
    pub(super) fn update(
        &mut self,
        exposures: &Arc<Exposures>,
        sessions: &[Arc<SessionRow>],
    ) -> Arc<[Finding]> {
        let known = self.exposures.as_ref();
        let mut stale = known.is_none_or(|known| !Arc::ptr_eq(known, exposures));
        if stale {
            self.catalog = of_catalog(exposures);
            self.exposures = Some(Arc::clone(exposures));
        }
        let goes_on = |row: &&Arc<SessionRow>| row.status != SessionStatus::Ended;
        let before = self.sessions.len();
        self.sessions
            .retain(|id, _| sessions.iter().filter(goes_on).any(|row| row.id == *id));
        stale |= self.sessions.len() != before;
        for row in sessions.iter().filter(goes_on) {
            let known = self.sessions.get(&row.id);
            if known.is_some_and(|(known, _)| Arc::ptr_eq(known, row)) {
                continue;
            }
            let findings = of_session(&SessionRounds {
                name: &row.name,
                history: &row.history,
                current: &row.current,
            });
            self.sessions.insert(row.id, (Arc::clone(row), findings));
            stale = true;
        }
        if stale {
            let of_row = |row: &Arc<SessionRow>| self.sessions.get(&row.id).map(|(_, f)| f);
            let sessions = sessions.iter().filter_map(of_row).flatten();
            self.all = self.catalog.iter().chain(sessions).cloned().collect();
        }
        Arc::clone(&self.all)
    }
}
