//! The chain that every call passes (rules 9.1 to 9.9).
//!
//! A layer is an object-safe [`Middleware`]; the chain is data: names, settings and counters can be
//! listed while calls run. The order of the layers is fixed by [`ORDER`], not by the file.

mod approval;
mod audit;
mod build;
mod chain;
mod concurrency;
mod counter;
mod ending;
mod fault;
mod live;
mod rate_limit;
mod recover;
mod redact;
mod request;
mod result_limit;
pub mod settings;
mod telemetry;
mod timeout;
mod trace;
mod validate;
mod written;

pub use approval::{Approval, Approvals, Console, Decision, PendingApproval};
pub use audit::Audit;
pub use build::{BuildContext, BuildError, build};
pub use chain::{Chain, Endpoint, LayerError, LayerStatus, Next, Run};
pub use concurrency::Concurrency;
pub use counter::Counter;
pub use fault::{Drill, DrillStatus, Fault};
pub use rate_limit::RateLimit;
pub use recover::Recover;
pub(crate) use recover::panic_result;
pub use redact::{Redact, Redactor};
pub use request::Request;
pub use result_limit::ResultLimit;
pub use telemetry::{Execution, Instruments, Measured, Telemetry};
pub use timeout::{Timeout, TimeoutRule};
pub use trace::{Cut, LayerSpan, Span, Trace};
pub use validate::Validate;

use self::settings::MiddlewareSettings;
use crate::registry::glob_matches;
use crate::tool::ToolResult;
use futures::future::BoxFuture;

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

/// What a layer says when it is told to change without being given its own settings.
fn absent(layer: &str) -> String {
    format!("the new settings say nothing about `{layer}`; pause it to switch it off")
}

/// Whether one of the globs names the tool.
fn named(globs: &[String], tool: &str) -> bool {
    globs
        .iter()
        .any(|glob| glob == "*" || glob_matches(glob, tool))
}

/// One layer of the chain.
pub trait Middleware: Send + Sync + 'static {
    /// Its name in [`ORDER`].
    fn name(&self) -> &'static str;

    /// Its settings as they act now.
    fn settings(&self) -> serde_json::Value;

    /// What it has done so far.
    fn counters(&self) -> Vec<Counter>;

    /// Takes its part of these settings over, for the calls that come from now on.
    ///
    /// # Errors
    /// Why it cannot; the settings in force stay.
    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let _ = settings;
        Err("it has none that act while it runs".into())
    }

    /// Does to a result that is completed after its call has left the chain, as the answer of a
    /// search is (rule 7.3), what it does to results that come out of it. `span` is the one that
    /// it has noted for the call.
    fn complete(&self, tool: &str, result: ToolResult, span: &Span) -> ToolResult {
        let _ = (tool, span);
        result
    }

    /// Finishes what it still has to write; called once no more calls come. Idempotent.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Whether it does anything now. A layer that does not is passed by and not shown.
    fn acts(&self) -> bool {
        true
    }

    /// The fault drill that it carries out now, if any.
    fn drill(&self) -> Option<DrillStatus> {
        None
    }

    /// Begins a drill in place of the one that it carries out now, or ends that.
    ///
    /// # Errors
    /// Why it cannot.
    fn set_drill(&self, drill: Option<Drill>) -> Result<(), String> {
        let _ = drill;
        Err("it injects no faults".into())
    }

    /// Passes the call on with `next.run(request)`, or answers itself.
    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult>;
}

#[cfg(test)]
mod tests;
