//! The tool `tool_search` as the registry holds it (rules 7.1 and 7.2).

use std::sync::{Arc, Weak};

use futures::future::{BoxFuture, join_all};

use super::{Discovery, View};
use crate::discovery::tool_search::{Load, PlannedHit, SearchArguments, SearchPlan, definition};
use crate::registry::Registry;
use crate::tool::{Definition, ErrorKind, Hints, InvalidDefinition, Invocation, Tool, ToolResult};

/// Ranks, loads what is lazy, and leaves the outcome at the desk of its session, whose driver
/// completes the answer when the batch has ended.
pub struct ToolSearch {
    definition: Definition,
    /// Weak, because the registry holds this tool and the service holds what leads back to it.
    discovery: Weak<Discovery>,
}

impl ToolSearch {
    pub(super) fn new(discovery: &Arc<Discovery>) -> Result<Self, InvalidDefinition> {
        Ok(Self {
            definition: definition()?,
            discovery: Arc::downgrade(discovery),
        })
    }

    async fn search(&self, invocation: Invocation) -> Result<ToolResult, ToolResult> {
        let discovery = self.discovery.upgrade().ok_or_else(no_session)?;
        let session = invocation.session.as_ref();
        let View { exposures, index } = discovery.desk().view(session).ok_or_else(no_session)?;
        let settings = exposures.settings().ok_or_else(no_session)?;
        let arguments = SearchArguments::parse(&invocation.arguments, settings.discovery.max_tools)
            .map_err(|fault| ToolResult::error(ErrorKind::Validation, fault))?;
        let mut plan = SearchPlan::new(&arguments, &*index, &exposures);
        if let Some(registry) = discovery.registry() {
            join_all(plan.hits.iter_mut().map(|hit| load(&registry, hit))).await;
        }
        discovery.desk().leave(session, invocation.id, plan);
        // Nothing yet: the answer passes the layers of the chain when it is complete.
        Ok(ToolResult::default())
    }
}

/// Loads a hit whose definition is not there yet, and lets the registry know.
async fn load(registry: &Registry, hit: &mut PlannedHit) {
    let Some(entry) = registry.catalog().get(&hit.name).cloned() else {
        hit.load = Load::Failed("the tool was removed meanwhile".into());
        return;
    };
    if entry.tool.loader().is_none() {
        return;
    }
    hit.load = match entry.load().await {
        Ok(definition) => {
            registry.refresh(&hit.name).await;
            Load::Loaded(definition)
        }
        Err(error) => Load::Failed(error.reason),
    };
}

fn no_session() -> ToolResult {
    ToolResult::error(
        ErrorKind::NotAvailable,
        "`tool_search` works within a session with dynamic injection; this call has none",
    )
}

impl Tool for ToolSearch {
    fn definition(&self) -> Definition {
        self.definition.clone()
    }

    fn hints(&self) -> Hints {
        Hints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        }
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            match self.search(invocation).await {
                Ok(result) | Err(result) => result,
            }
        })
    }
}
