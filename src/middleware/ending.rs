//! How a call ended, for layers that have to note every call once.

use crate::tool::{ErrorKind, ToolResult};

/// The end of a call as a layer sees it.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<'r> {
    /// With a result.
    Result(&'r ToolResult),
    /// A panic passes; an outer layer or the executor makes a result of it.
    Panic,
    /// Whoever waited for the call dropped it.
    Dropped,
}

impl End<'_> {
    /// The kind of error, if it is one.
    pub(super) fn kind(self) -> Option<ErrorKind> {
        match self {
            Self::Result(result) => result.error_kind,
            Self::Panic => Some(ErrorKind::Panic),
            Self::Dropped => Some(ErrorKind::Cancelled),
        }
    }
}

/// Tells of the end exactly once, also when the call is dropped or panics.
pub(super) struct Ending<F: FnOnce(End<'_>)>(Option<F>);

impl<F: FnOnce(End<'_>)> Ending<F> {
    pub(super) fn new(tell: F) -> Self {
        Self(Some(tell))
    }

    pub(super) fn with(mut self, result: &ToolResult) {
        self.tell(End::Result(result));
    }

    fn tell(&mut self, end: End<'_>) {
        if let Some(tell) = self.0.take() {
            tell(end);
        }
    }
}

impl<F: FnOnce(End<'_>)> Drop for Ending<F> {
    fn drop(&mut self) {
        self.tell(match std::thread::panicking() {
            true => End::Panic,
            false => End::Dropped,
        });
    }
}
