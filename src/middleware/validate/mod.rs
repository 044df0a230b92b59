//! `validate`: checks arguments against the input schema before anything is done (rule 9.8).

mod faults;
mod schemas;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use self::schemas::{Schema, Schemas};
use super::counter::Count;
use super::{Counter, Middleware, Next, Request};
use crate::registry::{Entry, Registry};
use crate::tool::{Definition, ErrorKind, ToolResult};

/// The layer. A call of an unknown name passes: lookup says what is wrong with it. So does a call
/// whose schema cannot be used.
pub struct Validate {
    registry: Arc<Registry>,
    schemas: Schemas,
    checked: Count,
    rejected: Count,
    unchecked: Count,
}

impl Validate {
    /// A layer that refreshes lazy tools in this registry when it had to load them.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self {
            registry,
            schemas: Schemas::default(),
            checked: Count::default(),
            rejected: Count::default(),
            unchecked: Count::default(),
        }
    }

    /// Passes, or says what is wrong.
    async fn check(&self, request: &Request) -> Result<(), ToolResult> {
        let Some(entry) = request.entry() else {
            return Ok(());
        };
        let arguments = request.call.checked_arguments().inspect_err(|_| {
            self.rejected.one();
        })?;
        // The placeholder of a lazy tool says nothing about its arguments (rule 1.5).
        let definition = match request.bounded(self.loaded(entry)).await? {
            Some(definition) => definition,
            // The tool says itself why it cannot be loaded.
            None => return Ok(()),
        };
        match self.faults(&definition, &arguments) {
            None => Ok(()),
            Some(text) => {
                self.rejected.one();
                request.span().note("rejected");
                Err(ToolResult::error(ErrorKind::Validation, text))
            }
        }
    }

    async fn loaded(&self, entry: &Entry) -> Option<Definition> {
        match entry.tool.loader().map(|loader| loader.loaded()) {
            None => Some(entry.definition.clone()),
            Some(Some(definition)) => Some(definition),
            Some(None) => {
                let definition = entry.load().await.ok()?;
                self.registry.refresh(definition.name()).await;
                Some(definition)
            }
        }
    }

    fn faults(&self, definition: &Definition, arguments: &Map<String, Value>) -> Option<String> {
        match &*self.schemas.get(definition) {
            Schema::Usable(validator) => {
                self.checked.one();
                faults::describe(definition.name(), validator, arguments)
            }
            Schema::Unusable => {
                self.unchecked.one();
                None
            }
        }
    }
}

impl Middleware for Validate {
    fn name(&self) -> &'static str {
        "validate"
    }

    fn settings(&self) -> Value {
        json!({"enabled": true})
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            self.checked.shown_as("checked"),
            self.rejected.shown_as("rejected"),
            self.unchecked.shown_as("unchecked"),
        ]
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.check(&request).await {
                Ok(()) => next.run(request).await,
                Err(result) => result,
            }
        })
    }
}
