//! Small catalogs for the tests of this room: tools of an exact size, without a registry task.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use super::{DynamicSettings, Exposures, Mode};
use crate::registry::{Catalog, GlobMap, Owner, Registry};
use crate::tool::{Definition, Invocation, SharedTool, Tool, ToolResult};

/// A tool that does nothing.
pub(crate) struct Still(pub(crate) Definition);

impl Tool for Still {
    fn definition(&self) -> Definition {
        self.0.clone()
    }
    fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { ToolResult::text("") })
    }
}

/// A definition of exactly that size.
pub(crate) fn sized(name: &str, bytes: usize) -> Definition {
    let bare = Definition::new(name, "", json!({"type": "object"})).unwrap();
    let padding = bytes.checked_sub(bare.bytes()).expect("too small a size");
    Definition::new(name, ".".repeat(padding), json!({"type": "object"})).unwrap()
}

/// Dynamic settings with these exposures and defaults otherwise.
pub(crate) fn settings(exposures: &[(&str, Mode)]) -> DynamicSettings {
    DynamicSettings {
        exposures: GlobMap::new(exposures.iter().map(|(name, mode)| ((*name).into(), *mode))),
        ..DynamicSettings::default()
    }
}

/// A registry that is edited without waiting.
#[derive(Default)]
pub(crate) struct Shelf(Registry);

impl Shelf {
    /// Tools of 100 bytes each.
    pub(crate) fn of(names: &[&str]) -> Self {
        let mut shelf = Self::default();
        for name in names {
            shelf.put(name, 100);
        }
        shelf
    }

    pub(crate) fn put(&mut self, name: &str, bytes: usize) {
        self.define(sized(name, bytes));
    }

    pub(crate) fn define(&mut self, definition: Definition) {
        let tool: SharedTool = Arc::new(Still(definition));
        let done = self.0.add(&owner(), tool).now_or_never();
        done.expect("closing a still tool does not wait");
    }

    pub(crate) fn take(&mut self, name: &str) {
        let done = self.0.remove(&owner(), &[name]).now_or_never();
        done.expect("closing a still tool does not wait");
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.0.catalog()
    }

    pub(crate) fn exposures(&self, settings: Option<DynamicSettings>) -> Exposures {
        Exposures::new(&self.catalog(), settings.map(Arc::new))
    }
}

fn owner() -> Owner {
    Owner::source("shelf", 0)
}
