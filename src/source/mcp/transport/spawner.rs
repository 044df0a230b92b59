//! The one thread that starts children. Linux sends the parent-death signal when the *thread* that
//! forked ends, so children are forked by a thread that lives as long as the program.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use tokio::process::{Child, Command};
use tokio::sync::oneshot;

/// How many starts may wait; a start takes about a millisecond. Beyond that the attempt fails and
/// is tried again with the usual delays.
const WAITING: usize = 256;

struct Job {
    command: Command,
    runtime: tokio::runtime::Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

static SPAWNER: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();

fn start() -> Option<SyncSender<Job>> {
    let (jobs, waiting) = sync_channel::<Job>(WAITING);
    std::thread::Builder::new()
        .name("toolcrib-spawn".into())
        .spawn(move || {
            while let Ok(mut job) = waiting.recv() {
                let _runtime = job.runtime.enter();
                let child = job.command.spawn();
                // Whoever asked may be gone; the child is then killed by its own `kill_on_drop`.
                let _ = job.reply.send(child);
            }
        })
        .ok()?;
    Some(jobs)
}

/// Starts the command on the long-lived thread.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    let (reply, answer) = oneshot::channel();
    let job = Job {
        command,
        runtime: tokio::runtime::Handle::current(),
        reply,
    };
    let jobs = SPAWNER
        .get_or_init(start)
        .as_ref()
        .ok_or_else(|| io::Error::other("no thread can be started"))?;
    match jobs.try_send(job) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => {
            return Err(io::Error::other("too many programs are being started"));
        }
        Err(TrySendError::Disconnected(_)) => {
            return Err(io::Error::other("the thread that starts programs is gone"));
        }
    }
    answer
        .await
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts programs is gone")))
}
