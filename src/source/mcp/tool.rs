//! The tools of a server as the registry holds them. They outlive every connection.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::driver::{Bounds, Server};
use super::translate::Offered;
use crate::tool::{Definition, ErrorKind, Hints, Invocation, Tool, ToolResult};

/// What a call of the tool asks of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `tools/call`.
    Call,
    /// `resources/list`.
    ListResources,
    /// `resources/read`.
    ReadResource,
}

pub(super) struct McpTool {
    server: Arc<Server>,
    offered: Offered,
    way: Way,
}

impl McpTool {
    pub(super) fn new(server: Arc<Server>, offered: Offered, way: Way) -> Self {
        Self {
            server,
            offered,
            way,
        }
    }
}

/// Asks the server for what a tool does. `name` is the tool's name in messages, `original` the one
/// at the server.
pub(super) async fn call(
    server: &Server,
    name: &str,
    original: &str,
    way: Way,
    invocation: Invocation,
) -> ToolResult {
    let Some(connection) = server.current() else {
        return server.down(name);
    };
    let bounds = Bounds {
        deadline: invocation.deadline,
        cancel: invocation.cancel,
        progress: Some(invocation.progress),
        traceparent: invocation.traceparent,
    };
    let answered = match way {
        Way::Call => {
            connection
                .call(original, invocation.arguments, &bounds)
                .await
        }
        Way::ListResources => connection.list_resources(&bounds).await,
        Way::ReadResource => match invocation.arguments.get("uri") {
            Some(Value::String(uri)) => connection.read_resource(uri, &bounds).await,
            _ => {
                return ToolResult::error(
                    ErrorKind::Validation,
                    format!("`{name}` needs the argument `uri`, a string"),
                );
            }
        },
    };
    answered.unwrap_or_else(|why| server.ended(name, &why))
}

impl Tool for McpTool {
    fn definition(&self) -> Definition {
        self.offered.definition.clone()
    }

    fn hints(&self) -> Hints {
        self.offered.hints
    }

    fn original_name(&self) -> Option<&str> {
        self.offered
            .mapped
            .then_some(self.offered.original.as_str())
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult> {
        let name = self.offered.definition.name();
        let original = &self.offered.original;
        Box::pin(call(&self.server, name, original, self.way, invocation))
    }
}

/// The two tools that `resources: true` adds (rule 8.1). A prefix that no provider takes is mapped
/// like that of every other tool.
pub(super) fn resource_tools(prefix: &str) -> Vec<(Offered, Way)> {
    let tools = [
        (
            "list_resources",
            "List the resources that this server offers, with their URIs.",
            json!({"type": "object", "properties": {}}),
            Way::ListResources,
        ),
        (
            "read_resource",
            "Read a resource of this server by its URI.",
            json!({
                "type": "object",
                "properties": {"uri": {
                    "type": "string",
                    "description": "The URI of the resource, as the list gives it.",
                }},
                "required": ["uri"],
            }),
            Way::ReadResource,
        ),
    ];
    let names: Vec<&str> = tools.iter().map(|(name, ..)| *name).collect();
    let namings = super::names::assign(prefix, &names);
    tools
        .into_iter()
        .zip(namings)
        .filter_map(|((original, description, schema, way), naming)| {
            let super::names::Naming::Named { name, mapped } = naming else {
                return None;
            };
            let offered = Offered {
                definition: Definition::new(name, description, schema).ok()?,
                hints: Hints {
                    read_only: Some(true),
                    ..Hints::default()
                },
                original: original.to_owned(),
                mapped,
            };
            Some((offered, way))
        })
        .collect()
}
