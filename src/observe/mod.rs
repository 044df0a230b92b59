//! What can be seen of a running tool system: a [`Snapshot`] that is the truth, and [`Event`]s for
//! logs and effects. Plain data; secrets are masked before anything gets here.

mod attention;
mod event;
mod hub;
mod publisher;
mod record;
mod rows;
mod tally;
mod traffic;

pub use attention::{Attention, Severity, Subject, attention};
pub use event::Event;
pub use hub::Hub;
pub use publisher::{Feed, Publisher};
pub use record::{CallRecord, History};
pub use rows::{
    AssemblyRow, CatalogChange, DeploymentRow, DeploymentState, ReloadRow, RunningRow, Snapshot,
    SourceRow, StatsRow, ToolRow,
};
pub use tally::{ErrorCount, Quantiles, SecondRow, Statistics, Tally};
pub use traffic::{Traffic, TrafficFrame, TrafficPage, TrafficRows};
