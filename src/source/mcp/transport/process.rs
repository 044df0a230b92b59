//! A server as a child process: its own process group, its three pipes, its end (rule 8.13).

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::{Trouble, spawner};
use crate::source::FailureKind;

/// How long a server may take to end after its stdin was closed.
const AFTER_EOF: Duration = Duration::from_secs(2);

/// How long its process group may take to end after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(3);

/// How often it is looked whether a group whose leader is gone has ended; nothing reports that.
const GROUP_POLL: Duration = Duration::from_millis(20);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Exit {
    pub(in super::super) code: Option<i32>,
    pub(in super::super) signal: Option<i32>,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        Self {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

impl Exit {
    pub(in super::super) fn kind(self) -> FailureKind {
        FailureKind::ProcessExited {
            code: self.code,
            signal: self.signal,
        }
    }
}

/// What is to be started.
#[derive(Clone, Debug)]
pub(in super::super) struct Program {
    pub(in super::super) file: PathBuf,
    pub(in super::super) args: Vec<String>,
    pub(in super::super) env: Vec<(String, String)>,
    pub(in super::super) cwd: Option<PathBuf>,
}

/// A running child. Dropping it stops the child in the background, by the rules.
pub(in super::super) struct Process {
    pub(in super::super) pid: u32,
    exit: watch::Receiver<Option<Exit>>,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

/// The ends of its pipes.
pub(in super::super) struct Pipes {
    pub(in super::super) stdin: ChildStdin,
    pub(in super::super) stdout: ChildStdout,
    pub(in super::super) stderr: ChildStderr,
}

impl Process {
    /// Starts the program. `tracker` knows the task that sees the child to its end.
    pub(in super::super) async fn start(
        program: &Program,
        tracker: &TaskTracker,
    ) -> Result<(Self, Pipes), Trouble> {
        let mut command = Command::new(&program.file);
        command
            .args(&program.args)
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
        die_with_parent(&mut command);
        let failed = |error: std::io::Error| Trouble {
            kind: FailureKind::SpawnFailed,
            detail: Some(error.to_string()),
        };
        let mut child = spawner::spawn(command).await.map_err(failed)?;
        let gone = || failed(std::io::Error::other("the process has no pipes"));
        let pid = child.id().ok_or_else(gone)?;
        let pipes = Pipes {
            stdin: child.stdin.take().ok_or_else(gone)?,
            stdout: child.stdout.take().ok_or_else(gone)?,
            stderr: child.stderr.take().ok_or_else(gone)?,
        };
        let stop = CancellationToken::new();
        let (exited, exit) = watch::channel(None);
        let group = i32::try_from(pid).ok().and_then(Pid::from_raw);
        tracker.spawn(see_to_its_end(child, Group(group), stop.clone(), exited));
        let process = Self {
            pid,
            exit,
            _stop_on_drop: stop.clone().drop_guard(),
            stop,
        };
        Ok((process, pipes))
    }

    /// Fires when the child is to end: whoever holds its stdin closes it then.
    pub(in super::super) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Follows its end.
    pub(in super::super) fn exit(&self) -> ExitWatch {
        ExitWatch(self.exit.clone())
    }
}

/// Waits for the end of a process, without holding it alive.
#[derive(Clone)]
pub(in super::super) struct ExitWatch(watch::Receiver<Option<Exit>>);

impl ExitWatch {
    /// Waits until the leader of the group has ended.
    pub(in super::super) async fn ended(&mut self) -> Exit {
        match self.0.wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or(Exit {
                code: None,
                signal: None,
            }),
            // The task is gone with the runtime; the group was killed with it.
            Err(_) => Exit {
                code: None,
                signal: None,
            },
        }
    }

    /// As [`ExitWatch::ended`], if it comes soon: an end of file on stdout comes a moment before
    /// the exit code.
    pub(in super::super) async fn ended_soon(&mut self) -> Option<Exit> {
        timeout(Duration::from_millis(250), self.ended()).await.ok()
    }
}

/// The process group. Killed when this is dropped before it was released, so that not even a
/// runtime that is torn down leaves a child behind.
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            // It may be gone already.
            let _ = kill_process_group(pid, signal);
        }
    }

    fn is_alive(&self) -> bool {
        self.0
            .is_some_and(|pid| test_kill_process_group(pid).is_ok())
    }

    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

async fn see_to_its_end(
    mut child: Child,
    group: Group,
    stop: CancellationToken,
    exited: watch::Sender<Option<Exit>>,
) {
    let report = |status: std::io::Result<ExitStatus>| {
        let exit = status.map_or(
            Exit {
                code: None,
                signal: None,
            },
            Exit::from,
        );
        exited.send_replace(Some(exit));
    };
    tokio::select! {
        status = child.wait() => report(status),
        () = stop.cancelled() => {
            // Stdin is closed by its holder on the same signal.
            if let Ok(status) = timeout(AFTER_EOF, child.wait()).await {
                report(status);
            }
        }
    }
    // Here the leader has ended by itself, or it has to be told; others of its group may live on
    // in either case (a wrapper that forked).
    if exited.borrow().is_some() && !group.is_alive() {
        return group.release();
    }
    group.signal(Signal::TERM);
    let ended = timeout(AFTER_TERM, async {
        if exited.borrow().is_none() {
            report(child.wait().await);
        }
        while group.is_alive() {
            tokio::time::sleep(GROUP_POLL).await;
        }
    })
    .await;
    if ended.is_err() {
        group.signal(Signal::KILL);
        if exited.borrow().is_none() {
            report(child.wait().await);
        }
    }
    group.release();
}

/// Asks the kernel to kill the child when this program dies in a way that runs no code of ours.
#[cfg(target_os = "linux")]
pub(super) fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died between the fork and the line above.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    };
    #[expect(
        unsafe_code,
        reason = "runs between fork and exec; it makes two system calls and allocates nothing"
    )]
    // SAFETY: `prctl` and `getppid` are async-signal-safe, and the error is made without
    // allocating.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Other systems have no such signal: there the closed stdin has to do.
#[cfg(not(target_os = "linux"))]
pub(super) fn die_with_parent(_: &mut Command) {}
