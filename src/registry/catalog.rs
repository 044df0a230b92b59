//! The read side: one consistent version of everything registered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::nearest;
use crate::tool::{Definition, LoadError, SharedTool};

/// Who brought a tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Owner {
    /// Place of the source in the deployment file, then of the server in the source: the earlier
    /// holds a contested name until everything has settled (rule 2.1).
    #[serde(skip)]
    pub precedence: (u32, u32),
    /// The source.
    pub source: Arc<str>,
    /// The server within the source, where there is one.
    pub server: Option<Arc<str>>,
}

impl Owner {
    /// An owner without servers of its own, such as a simulated source.
    pub fn source(source: impl Into<Arc<str>>, place: u32) -> Self {
        Self {
            precedence: (place, 0),
            source: source.into(),
            server: None,
        }
    }

    /// A server of a source.
    pub fn server(
        source: impl Into<Arc<str>>,
        server: impl Into<Arc<str>>,
        precedence: (u32, u32),
    ) -> Self {
        Self {
            precedence,
            source: source.into(),
            server: Some(server.into()),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(f, "{}/{server}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// A registered tool.
#[derive(Clone)]
pub struct Entry {
    /// The definition of this version.
    pub definition: Definition,
    /// The tool behind it.
    pub tool: SharedTool,
    /// Who brought it.
    pub owner: Owner,
    /// The hash of the definition when this name was first seen from this owner.
    pub first_hash: Arc<str>,
    /// Order of registration, from 0.
    pub sequence: u64,
}

impl Entry {
    /// Whether the definition differs from the one first seen (rule 2.4).
    pub fn changed_since_first_seen(&self) -> bool {
        *self.first_hash != *self.definition.hash()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({} from {})", self.definition.name(), self.owner)
    }
}

/// A tool that was not registered because its name is taken (rule 2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The contested name.
    pub name: Arc<str>,
    /// Who was refused.
    pub refused: Owner,
    /// Who holds the name.
    pub holder: Owner,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "conflict: `{}` of {} is refused, {} has that name already",
            self.name, self.refused, self.holder
        )
    }
}

/// Everything registered, at one version.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Grows by one with each change.
    pub version: u64,
    pub(super) entries: BTreeMap<Arc<str>, Arc<Entry>>,
    pub(super) refusals: Arc<[Refusal]>,
}

impl Catalog {
    /// The entry of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(name)
    }

    /// All entries, sorted by name.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// All definitions, sorted by name.
    pub fn definitions(&self) -> impl ExactSizeIterator<Item = &Definition> {
        self.entries.values().map(|entry| &entry.definition)
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The tools that were refused because their names are taken.
    pub fn refusals(&self) -> &Arc<[Refusal]> {
        &self.refusals
    }

    /// Names similar to one that does not exist.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        nearest(name, self.entries.keys().map(|key| &**key))
    }
}

impl Entry {
    /// Loads the definition if the tool is lazy and not loaded yet.
    ///
    /// # Errors
    /// When the load fails; the placeholder stays.
    pub async fn load(&self) -> Result<Definition, LoadError> {
        match self.tool.loader() {
            Some(loader) => loader.load().await,
            None => Ok(self.definition.clone()),
        }
    }
}
