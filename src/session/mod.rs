//! Sessions that run: a thin, asynchronous shell around the pure [`Session`](crate::discovery).
//!
//! [`Discovery`] keeps exposures and index of one assembly up to date; [`ToolSearch`] is the tool
//! that it adds to the registry; a [`SessionDriver`] owns one session, runs its batches through
//! the executor and completes the answers of their searches. The commands, the console, the model
//! loop and the gateway all use the driver. A driver that is listed in a [`Directory`] can be seen
//! by everybody as a [`SessionRow`].

mod desk;
mod directory;
mod discovery;
mod driver;
mod play_row;
mod report;
mod row;
mod search_tool;

pub use directory::{Directory, Listing};
pub use discovery::{Discovery, View};
pub use driver::{Gate, SessionDriver};
pub use play_row::{CheckRow, PlayRow, PlayState, PlayedRound};
pub use report::{CallReport, RoundReport, SessionState};
pub use row::{BudgetUse, SessionId, SessionKind, SessionRow, SessionStatus};
pub use search_tool::ToolSearch;

#[cfg(test)]
mod tests;
