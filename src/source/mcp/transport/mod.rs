//! How bytes go to a server and come back. Everything here is I/O; what follows from it is decided
//! in `link`.

pub(super) mod http;
pub(super) mod line;
pub(super) mod process;
mod resolve;
mod spawner;

pub(super) use resolve::resolve;

use tokio::process::{Child, Command};

use crate::source::FailureKind;

/// Starts a child that on Linux is killed when this program dies, however that happens (rule
/// 8.13). The command is forked by a thread that lives as long as the program.
///
/// # Errors
/// When it cannot be started.
pub async fn spawn_bound(mut command: Command) -> std::io::Result<Child> {
    process::die_with_parent(&mut command);
    spawner::spawn(command).await
}

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
