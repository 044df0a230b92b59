//! The sources of a runtime, which a reload may exchange while everything reads them.

use std::sync::Arc;

use parking_lot::RwLock;

use super::Source;

/// Sources in the order of the file. Clones share them.
#[derive(Clone)]
pub struct SourceSet(Arc<RwLock<Arc<[Arc<dyn Source>]>>>);

impl Default for SourceSet {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Arc::from([]))))
    }
}

impl SourceSet {
    /// The sources now.
    pub fn all(&self) -> Arc<[Arc<dyn Source>]> {
        Arc::clone(&self.0.read())
    }

    /// These from now on.
    pub fn replace(&self, sources: impl Into<Arc<[Arc<dyn Source>]>>) {
        *self.0.write() = sources.into();
    }
}
