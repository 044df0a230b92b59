//! The chain that every call passes (rules 9.1 to 9.9).
//!
//! A layer is an object-safe [`Middleware`]; the chain is data: names, settings and counters can be
//! listed while calls run. The order of the layers is fixed by [`ORDER`], not by the file.

mod chain;
mod recover;
mod request;
pub mod settings;
mod timeout;

pub use chain::{Chain, Endpoint, LayerStatus, Next};
pub use recover::Recover;
pub(crate) use recover::panic_result;
pub use request::Request;
pub use timeout::{Timeout, TimeoutRule};

use futures::future::BoxFuture;
use serde::Serialize;

use crate::tool::ToolResult;

/// The layers in their fixed order, outermost first (rule 9.1). `Chain` sorts by it and shows it.
pub const ORDER: [&str; 11] = [
    "recover",
    "telemetry",
    "audit",
    "result_limit",
    "redact",
    "validate",
    "approval",
    "timeout",
    "rate_limit",
    "concurrency",
    "fault",
];

/// A number that a layer keeps about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// What is counted, for example `recovered`.
    pub name: &'static str,
    /// How many.
    pub value: u64,
}

/// One layer of the chain.
pub trait Middleware: Send + Sync + 'static {
    /// Its name in [`ORDER`].
    fn name(&self) -> &'static str;

    /// Its settings as they act now.
    fn settings(&self) -> serde_json::Value;

    /// What it has done so far.
    fn counters(&self) -> Vec<Counter>;

    /// Passes the call on with `next.run(request)`, or answers itself.
    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult>;
}
