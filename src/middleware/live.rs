//! Settings of a layer that an operator may change while calls run.

use std::sync::Arc;

use parking_lot::RwLock;

/// A value that is read by every call and seldom replaced. A call keeps the version it began with.
#[derive(Debug)]
pub(super) struct Live<T>(RwLock<Arc<T>>);

impl<T> Live<T> {
    pub(super) fn new(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }

    pub(super) fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read())
    }

    pub(super) fn set(&self, value: T) {
        *self.0.write() = Arc::new(value);
    }
}
