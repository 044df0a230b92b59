//! The vocabulary: what a tool is, what a call asks and what a result holds (rules 1.1 to 1.5).
//! Depends on nothing else in the crate.

mod attempts;
mod call;
mod definition;
mod lazy;
mod result;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use attempts::{Attempt, Attempting, Attempts};
pub use call::{Call, CallId, Invocation, Progress, bounded};
pub use definition::{Definition, InvalidDefinition};
pub(crate) use definition::{doubtful_name, json_type};
pub use lazy::{LoadError, Loader};
pub use result::{ErrorKind, Part, ToolResult};

/// What a tool declares about its effects (rule 1.4). An absent hint is undeclared, and an
/// undeclared tool may change the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The tool may destroy something that cannot be brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling twice with the same arguments does no more than calling once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// The tool reaches things outside its own system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// Something a model can call.
///
/// Implementations must be cancel-safe: when `invocation.cancel` fires, the executor stops waiting
/// and drops the future.
pub trait Tool: Send + Sync + 'static {
    /// The definition that counts now; a lazy tool gives its placeholder until it is loaded.
    fn definition(&self) -> Definition;

    /// Declared effects.
    fn hints(&self) -> Hints {
        Hints::default()
    }

    /// Declared rate in calls per second, for the `rate_limit` layer (rule 9.8).
    fn rate(&self) -> Option<f64> {
        None
    }

    /// Whether the tool bounds its own time and is exempt from `timeout.default` (rule 9.6).
    fn bounds_own_time(&self) -> bool {
        false
    }

    /// The name at its origin, where that had to be mapped (rule 8.9).
    fn original_name(&self) -> Option<&str> {
        None
    }

    /// Where the tool was defined, as `file:line`, for tools that come from files.
    fn defined_at(&self) -> Option<&str> {
        None
    }

    /// The loader of a lazy tool (rule 1.5); `None` for every other tool.
    fn loader(&self) -> Option<&Loader> {
        None
    }

    /// What a call with these arguments would send, as text with secrets masked, for tools that
    /// send something a person can read; or why nothing would be sent.
    fn preview(&self, _arguments: &Map<String, Value>) -> Option<Result<String, String>> {
        None
    }

    /// Performs the call. Never fails in any other way than by an error result (rule 1.3).
    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult>;

    /// Closes what the tool holds open, with the reason in words if that fails (rule 2.2).
    fn close(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// A shared tool.
pub type SharedTool = Arc<dyn Tool>;
