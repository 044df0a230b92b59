//! Dynamic injection: what of a registry a model gets to see, round by round (sections 4 to 7).
//! Pure: no tokio, no clock, no I/O.

mod settings;

pub use settings::{BudgetSettings, DynamicSettings, Mode, PoolSettings};
