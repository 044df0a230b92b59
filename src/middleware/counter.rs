//! Numbers that layers keep about themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// A number as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// What is counted, for example `recovered`.
    pub name: &'static str,
    /// How many.
    pub value: u64,
}

/// A number that grows.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn one(&self) {
        self.many(1);
    }

    pub(super) fn many(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    pub(super) fn shown_as(&self, name: &'static str) -> Counter {
        Counter {
            name,
            value: self.0.load(Ordering::Relaxed),
        }
    }
}
