//! What all sessions of one assembly share: exposures and index of the newest catalog version.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::ToolSearch;
use super::desk::Desk;
use crate::discovery::search::{Explained, Index, IndexChange};
use crate::discovery::{DynamicSettings, Exposures, FixedExposure, Mode, TOOL_SEARCH};
use crate::registry::{Catalog, Registry};
use crate::tool::InvalidDefinition;

/// The newest exposures and the index over the tools that a search may find.
#[derive(Clone, Default)]
pub struct View {
    /// Every tool with its mode.
    pub exposures: Arc<Exposures>,
    /// The searchable tools; without dynamic injection all of them (rule 4.1).
    pub index: Arc<Index>,
}

impl fmt::Debug for View {
    /// Thousands of tools would help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "View(version {}, {:?})",
            self.exposures.version(),
            self.index
        )
    }
}

/// The discovery service of one assembly.
pub struct Discovery {
    /// Weak, because the registry holds [`ToolSearch`], which holds this.
    registry: Weak<Registry>,
    state: Mutex<State>,
    desk: Desk,
}

struct State {
    /// As the deployment says.
    stated: Option<Arc<DynamicSettings>>,
    /// Modes that an operator set for this process, by tool. Bounded by the names of tools that
    /// there were when he did.
    overruled: BTreeMap<Arc<str>, Mode>,
    /// Both together: what is in force.
    settings: Option<Arc<DynamicSettings>>,
    view: View,
    stale: bool,
}

impl Discovery {
    /// A service over a registry. Without settings dynamic injection is off.
    pub fn new(registry: &Arc<Registry>, settings: Option<DynamicSettings>) -> Arc<Self> {
        let settings = settings.map(Arc::new);
        Arc::new(Self {
            registry: Arc::downgrade(registry),
            state: Mutex::new(State {
                stated: settings.clone(),
                overruled: BTreeMap::new(),
                settings,
                view: View::default(),
                stale: true,
            }),
            desk: Desk::default(),
        })
    }

    /// The tool that the assembly adds to its registry, if dynamic injection is on (rule 4.3).
    ///
    /// # Errors
    /// Never in practice: its definition is fixed.
    pub fn tool_search(self: &Arc<Self>) -> Result<Option<Arc<ToolSearch>>, InvalidDefinition> {
        match self.settings() {
            Some(_) => Ok(Some(Arc::new(ToolSearch::new(self)?))),
            None => Ok(None),
        }
    }

    /// The names of the sessions that are open.
    pub fn open_sessions(&self) -> HashSet<Arc<str>> {
        self.desk.names()
    }

    /// The settings in force.
    pub fn settings(&self) -> Option<Arc<DynamicSettings>> {
        self.state.lock().settings.clone()
    }

    /// Overrules the mode of a tool for this process; without a mode what the deployment says
    /// counts again. Answers with the mode in force. Sessions take it over as they do
    /// [`Discovery::configure`], which does not undo it.
    ///
    /// # Errors
    /// For `tool_search`, which has one mode only (rule 4.3).
    pub fn overrule(&self, tool: &Arc<str>, mode: Option<Mode>) -> Result<Mode, FixedExposure> {
        if **tool == *TOOL_SEARCH {
            return Err(FixedExposure);
        }
        let mut state = self.state.lock();
        match mode {
            Some(mode) => state.overruled.insert(Arc::clone(tool), mode),
            None => state.overruled.remove(tool),
        };
        state.combine();
        Ok(mode_in(state.settings.as_deref(), tool))
    }

    /// The modes that were overruled, each with what the deployment says instead.
    pub fn overruled(&self) -> BTreeMap<Arc<str>, Mode> {
        let state = self.state.lock();
        let names = state.overruled.keys();
        names
            .map(|name| (Arc::clone(name), mode_in(state.stated.as_deref(), name)))
            .collect()
    }

    /// Other settings from now on. Sessions take them over at their next round, or when their
    /// driver looks ([`SessionDriver::see`](super::SessionDriver::see)).
    pub fn configure(&self, settings: Option<DynamicSettings>) {
        let mut state = self.state.lock();
        state.stated = settings.map(Arc::new);
        state.combine();
    }

    /// The view of the newest catalog version. Brings exposures and index up to date first, by
    /// what has changed; that is quick unless thousands of tools have.
    pub fn view(&self) -> View {
        let mut state = self.state.lock();
        // Under the lock, so that an older version never replaces a newer one.
        if let Some(registry) = self.registry.upgrade() {
            state.catch_up(&registry.catalog());
        }
        state.view.clone()
    }

    /// Keeps the view up to date as the registry changes, so that no search has to wait for it.
    /// Ends when the registry is gone.
    pub async fn follow(self: Arc<Self>) {
        let Some(mut versions) = self.registry.upgrade().map(|registry| registry.watch()) else {
            return;
        };
        while versions.changed().await.is_ok() {
            let this = Arc::clone(&self);
            // Indexing a large catalog takes a while, and nothing else should wait for it. That the
            // runtime shuts down meanwhile is no loss.
            let _ = tokio::task::spawn_blocking(move || this.view()).await;
        }
    }

    /// Ranks the tools that a search may find, with the reasons (rules 7.5 and 7.6).
    pub fn search(&self, query: &str, limit: usize) -> Vec<Explained> {
        let view = self.view();
        view.index.rank_explained(query, limit, &|_| true)
    }

    /// One sentence for each name and glob of `exposures` that matches no tool now, in the order of
    /// the file; a warning once all sources are settled (rule 4.2).
    pub fn unmatched(&self) -> Vec<String> {
        let (Some(settings), Some(registry)) = (self.settings(), self.registry.upgrade()) else {
            return Vec::new();
        };
        let catalog = registry.catalog();
        let unmatched = settings.unmatched(&catalog).into_iter();
        unmatched
            .map(|name| format!("`{name}` in `dynamic.exposures` matches no tool"))
            .collect()
    }

    pub(super) fn registry(&self) -> Option<Arc<Registry>> {
        self.registry.upgrade()
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }
}

impl State {
    /// Puts what the deployment says and what was overruled together.
    fn combine(&mut self) {
        let mut settings = self.stated.clone();
        for (tool, mode) in &self.overruled {
            let Some(known) = &settings else { break };
            // `tool_search` is never among the overruled.
            if let Ok(next) = known.with_mode(tool, *mode) {
                settings = Some(Arc::new(next));
            }
        }
        self.settings = settings;
        self.stale = true;
    }

    fn catch_up(&mut self, catalog: &Catalog) {
        let before = Arc::clone(&self.view.exposures);
        if !self.stale && before.version() == catalog.version {
            return;
        }
        self.stale = false;
        let now = before.next(catalog, self.settings.clone());
        let change = IndexChange::between(&before, &now);
        if !change.is_empty() {
            // A search that runs holds the old index; it is copied then, and left alone.
            change.apply(Arc::make_mut(&mut self.view.index));
        }
        self.view.exposures = Arc::new(now);
    }
}

/// The mode that settings give to a tool.
fn mode_in(settings: Option<&DynamicSettings>, tool: &str) -> Mode {
    settings.map_or(Mode::Always, |settings| {
        let mode = settings.exposures.get(tool);
        mode.copied().unwrap_or(settings.default)
    })
}
