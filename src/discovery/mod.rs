//! Dynamic injection: what of a registry a model gets to see, round by round (sections 4 to 7).
//! Pure: no tokio, no clock, no I/O.

mod exposure;
#[cfg(test)]
pub(crate) mod fixture;
pub mod lint;
pub mod pool;
pub mod recall;
pub mod search;
pub mod session;
mod settings;
pub mod tool_search;
mod visible;
pub mod what_if;
pub mod why;

pub use exposure::{DecidedBy, ExposedTool, Exposures, FixedExposure, TOOL_SEARCH};
pub use pool::{EvictReason, Pool, PoolChange, PoolEntry, Touch};
pub use session::Session;
pub use settings::{BudgetSettings, DynamicSettings, Mode, PoolSettings};
pub use visible::{Sent, VisibleSet, Why, Withheld, WithheldReason, visible_set};
