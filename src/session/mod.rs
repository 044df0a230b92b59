//! Sessions that run: a thin, asynchronous shell around the pure [`Session`](crate::discovery).
//!
//! [`Discovery`] keeps exposures and index of one assembly up to date; [`ToolSearch`] is the tool
//! that it adds to the registry; a [`SessionDriver`] owns one session, runs its batches through
//! the executor and completes the answers of their searches. The commands, the console, the model
//! loop and the gateway all use the driver.

mod desk;
mod discovery;
mod driver;
mod report;
mod search_tool;

pub use discovery::{Discovery, View};
pub use driver::{Gate, SessionDriver};
pub use report::{CallReport, RoundReport, SessionState};
pub use search_tool::ToolSearch;

#[cfg(test)]
mod tests;
