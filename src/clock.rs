//! The one place that reads the wall clock.

use std::time::Duration;

use serde::{Serialize, Serializer};
use tokio::time::Instant;

/// A moment on both clocks: the monotonic one for ages and deadlines, the wall clock for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The monotonic instant.
    pub at: Instant,
    /// The wall-clock time.
    pub wall: jiff::Timestamp,
}

impl Stamp {
    /// This moment.
    pub fn now() -> Self {
        Self {
            at: Instant::now(),
            wall: jiff::Timestamp::now(),
        }
    }

    /// How long before `now` this was; zero when it lies in the future.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }
}

/// Serializes as RFC 3339 in UTC.
impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.wall)
    }
}
