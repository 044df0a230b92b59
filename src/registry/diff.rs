//! What a change of the registry did (rule 2.4).

use std::sync::Arc;

use serde::Serialize;

use super::{Owner, Refusal};
use crate::secrets::Secrets;
use crate::tool::Definition;

/// A definition that was replaced in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DefinitionChange {
    /// The tool.
    pub name: Arc<str>,
    /// The definition before.
    pub before: Definition,
    /// The definition now.
    pub after: Definition,
}

impl DefinitionChange {
    /// Which parts differ: `title`, `description`, `input_schema`.
    pub fn what(&self) -> Vec<&'static str> {
        let mut what = Vec::new();
        if self.before.title() != self.after.title() {
            what.push("title");
        }
        if self.before.description() != self.after.description() {
            what.push("description");
        }
        if self.before.input_schema() != self.after.input_schema() {
            what.push("input_schema");
        }
        what
    }
}

/// The difference between two versions of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CatalogDiff {
    /// The version that this led to.
    pub version: u64,
    /// Whose change it was.
    pub owner: Owner,
    /// Names that are new.
    pub added: Vec<Arc<str>>,
    /// Names that are gone.
    pub removed: Vec<Arc<str>>,
    /// Names whose definition changed in place.
    pub changed: Vec<DefinitionChange>,
    /// Refusals that are new.
    pub refused: Vec<Refusal>,
}

impl CatalogDiff {
    /// The difference as it may be shown: with the secrets masked in the definitions.
    pub(crate) fn masked(&self, secrets: &Secrets) -> Self {
        let masked = |change: &DefinitionChange| DefinitionChange {
            name: Arc::clone(&change.name),
            before: change.before.masked(secrets),
            after: change.after.masked(secrets),
        };
        Self {
            changed: self.changed.iter().map(masked).collect(),
            ..self.clone()
        }
    }

    /// Whether nothing changed that a reader could see.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.refused.is_empty()
    }
}
