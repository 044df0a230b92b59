//! Collects what happens: the one place that hot paths write to. Locks are held for the edit alone.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast};

use super::{CallRecord, CatalogChange, Event, History, Statistics, StatsRow};
use crate::clock::Stamp;
use crate::executor::{CallObserver, Outcome, Started};
use crate::registry::{CatalogDiff, Registry};
use crate::secrets::Secrets;
use crate::tool::Part;

/// How many events a slow subscriber may fall behind; past that it is told how many it missed.
const EVENTS: usize = 1_024;

/// How many changes of the registry are kept.
const CHANGES: usize = 200;

/// How much of an error's text a record carries beside its parts.
const ERROR_CHARS: usize = 512;

/// Where everything that happens is collected.
pub struct Hub {
    registry: Arc<Registry>,
    secrets: Secrets,
    started: Stamp,
    events: broadcast::Sender<Event>,
    dirty: Notify,
    state: Mutex<State>,
}

struct State {
    stats: Statistics,
    history: History,
    changes: VecDeque<Arc<CatalogChange>>,
    /// Grows with each change, so that a reader can tell whether it has seen everything.
    version: u64,
}

/// What the hub holds at one moment.
pub(super) struct HubView {
    /// Grows with each change.
    pub version: u64,
    /// Counts and latencies.
    pub stats: StatsRow,
    /// The newest first.
    pub history: Arc<[Arc<CallRecord>]>,
    /// The newest first.
    pub changes: Arc<[Arc<CatalogChange>]>,
}

impl Hub {
    /// An empty hub. The registry tells who owns a called tool; the secrets are masked in what is
    /// kept of calls.
    pub fn new(registry: Arc<Registry>, secrets: Secrets) -> Self {
        let started = Stamp::now();
        Self {
            registry,
            secrets,
            started,
            events: broadcast::Sender::new(EVENTS),
            dirty: Notify::new(),
            state: Mutex::new(State {
                stats: Statistics::new(started.at),
                history: History::default(),
                changes: VecDeque::new(),
                version: 0,
            }),
        }
    }

    /// When the hub was made.
    pub fn started(&self) -> Stamp {
        self.started
    }

    /// The values to mask.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Follows what happens.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Tells everybody that something happened.
    pub fn emit(&self, event: Event) {
        // Nobody listening is no error.
        let _ = self.events.send(event);
        self.touch();
    }

    /// Asks for a publication.
    pub fn touch(&self) {
        self.dirty.notify_one();
    }

    /// Waits until something has changed since the last wait.
    pub(super) async fn changed(&self) {
        self.dirty.notified().await;
    }

    /// Keeps a change of the registry and tells of it.
    pub fn catalog_changed(&self, diff: Arc<CatalogDiff>) {
        let diff = match self.secrets.is_empty() {
            true => diff,
            false => Arc::new(diff.masked(&self.secrets)),
        };
        let change = Arc::new(CatalogChange {
            at: Stamp::now(),
            diff,
        });
        {
            let mut state = self.state.lock();
            state.changes.push_front(Arc::clone(&change));
            state.changes.truncate(CHANGES);
            state.version += 1;
        }
        self.emit(Event::Catalog(change));
    }

    /// Counts and latencies up to now.
    pub fn stats(&self) -> StatsRow {
        stats(&mut self.state.lock().stats)
    }

    /// Forgets what was counted for sessions of which `open` says no.
    pub(super) fn keep_sessions(&self, open: impl Fn(&str) -> bool) {
        self.state.lock().stats.keep_sessions(open);
    }

    pub(super) fn view(&self) -> HubView {
        let mut state = self.state.lock();
        HubView {
            version: state.version,
            stats: stats(&mut state.stats),
            history: state.history.newest_first(),
            changes: state.changes.iter().cloned().collect(),
        }
    }

    fn record(&self, outcome: &Outcome) -> CallRecord {
        let started = &outcome.started;
        let result = &outcome.result;
        let catalog = self.registry.catalog();
        let bytes_out = result.parts.iter().map(Part::encoded_len).sum();
        CallRecord {
            id: started.id.clone(),
            tool: Arc::clone(&started.tool),
            owner: catalog
                .get(&started.tool)
                .map(|entry| entry.owner.to_string().into()),
            session: started.session.clone(),
            arguments: self.secrets.mask_json(&started.arguments),
            started: started.at,
            duration: outcome.duration,
            error_kind: result.error_kind,
            // Masked before it is cut, for half a secret would not be known as one.
            error: result.is_error().then(|| {
                let text = result.all_text();
                self.secrets.mask(&text).chars().take(ERROR_CHARS).collect()
            }),
            bytes_in: serde_json::to_string(&started.arguments).map_or(0, |text| text.len()),
            bytes_out,
            truncated: result.truncated,
            warnings: result
                .warnings
                .iter()
                .map(|warning| self.secrets.mask(warning).into_owned())
                .collect(),
            replayed: result.replayed,
            reached_tool: outcome.reached_tool,
            layers: outcome.trace.spans(bytes_out),
            attempts: outcome.trace.attempts().several(),
            parts: Some(result.parts.iter().map(|part| self.masked(part)).collect()),
        }
    }

    fn masked(&self, part: &Part) -> Part {
        if self.secrets.is_empty() {
            return part.clone();
        }
        match part {
            Part::Text(text) => Part::Text(self.secrets.mask(text).into_owned()),
            Part::Data { value, media_type } => Part::Data {
                value: self.secrets.mask_json(value),
                media_type: media_type.clone(),
            },
            Part::File {
                uri,
                media_type,
                name,
            } => Part::File {
                uri: self.secrets.mask(uri).into_owned(),
                media_type: media_type.clone(),
                name: name
                    .as_ref()
                    .map(|name| self.secrets.mask(name).into_owned()),
            },
            media => media.clone(),
        }
    }
}

fn stats(stats: &mut Statistics) -> StatsRow {
    StatsRow {
        total: stats.total(),
        recent: stats.recent(Stamp::now().at),
        tools: stats.by_tool(),
        owners: stats.by_owner(),
        meters: stats.meters(),
        busy: Arc::default(),
    }
}

impl CallObserver for Hub {
    fn started(&self, call: &Arc<Started>) {
        self.emit(Event::CallStarted(Arc::new(Started {
            arguments: self.secrets.mask_json(&call.arguments),
            ..Started::clone(call)
        })));
    }

    fn finished(&self, outcome: &Outcome) {
        let record = Arc::new(self.record(outcome));
        {
            let mut state = self.state.lock();
            state.stats.add(&record, Stamp::now());
            state.history.push(Arc::clone(&record));
            state.version += 1;
        }
        self.emit(Event::CallFinished(record));
    }
}
