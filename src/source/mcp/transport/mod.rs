//! How bytes go to a server and come back. Everything here is I/O; what follows from it is decided
//! in `link`.

pub(super) mod http;
pub(super) mod line;
pub(super) mod process;
mod resolve;
mod spawner;

pub(super) use resolve::resolve;

use crate::source::FailureKind;

/// Why an attempt could not go on, by type.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) kind: FailureKind,
    /// What a library had to say beyond the type.
    pub(super) detail: Option<String>,
}

impl From<FailureKind> for Trouble {
    fn from(kind: FailureKind) -> Self {
        Self { kind, detail: None }
    }
}
