//! What can be seen of a running tool system: a [`Snapshot`] that is the truth, and [`Event`]s for
//! logs and effects. Plain data; secrets are masked before anything gets here.

mod attention;
mod event;
mod exposition;
mod hub;
mod latencies;
mod lints;
mod meter;
mod publisher;
mod record;
mod rows;
mod table;
mod tally;
mod traffic;

pub use attention::{Attention, Severity, Subject, attention};
pub use event::Event;
pub use exposition::{Exposition, Format, SECONDS};
pub use hub::Hub;

pub use latencies::Latencies;
pub use meter::{Bin, Meter, Window};
pub(crate) use publisher::QUEUES;
pub use publisher::{Feed, Publisher};
pub use record::{CallRecord, History};
pub use rows::{
    AssemblyRow, Busy, CatalogChange, DeploymentRow, DeploymentState, Load, ReloadRow, RunningRow,
    Snapshot, SourceRow, StatsRow, ToolRow,
};
pub use table::Table;
pub use tally::{
    ErrorCount, MeterMap, Meters, OTHER, Quantiles, SecondRow, Statistics, Tally, UNKNOWN,
};
pub use traffic::{Traffic, TrafficFrame, TrafficPage, TrafficRows};
