//! Things that happened, for logs and effects. A subscriber that falls behind is told how many it
//! missed; no screen depends on them.

use std::sync::Arc;

use serde::Serialize;

use super::{CallRecord, CatalogChange};
use crate::executor::Started;
use crate::source::Transition;

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// A server changed its state.
    Server {
        /// The source.
        source: Arc<str>,
        /// The server.
        server: Arc<str>,
        /// The change.
        transition: Transition,
    },
    /// The registry changed.
    Catalog(Arc<CatalogChange>),
    /// A call began.
    CallStarted(Arc<Started>),
    /// A call ended.
    CallFinished(Arc<CallRecord>),
}
