//! A deployment that runs for one command: started, waited for, and taken down in order however
//! the command ends.

use std::sync::Arc;
use std::time::Duration;

use toolcrib::observe::Snapshot;
use toolcrib::runtime::{Options, Readiness, Reload, Runtime};
use toolcrib::source::mcp::Questions;

use super::export;
use super::failure::Failure;
use super::signals::Signals;
use crate::demo;
use crate::opening::{self, Opened};

/// How long to wait for servers to settle (cli.md).
const SETTLE: Duration = Duration::from_secs(10);

/// How long to wait for required servers to be ready (rule 8.8).
const REQUIRED: Duration = Duration::from_secs(60);

/// Starts the deployment, does the work, and takes everything down again; a signal ends the work
/// early. No child process is left when this returns.
pub(crate) async fn with_runtime<T>(
    opened: &Opened,
    assembly: Option<&str>,
    work: impl AsyncFnOnce(&Runtime) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // Before the first child is started, so that there is no moment at which a signal would leave
    // one behind.
    let mut signals = Signals::listen()?;
    let (runtime, host) = start(opened, assembly).await?;
    let result = tokio::select! {
        result = work(&runtime) => result,
        signal = signals.next() => Err(Failure::Interrupted(signal)),
    };
    for failure in runtime.shutdown().await {
        tracing::warn!("{failure}");
    }
    stop(host).await;
    export::flush().await;
    result
}

/// Starts the deployment, and what the embedded demo needs beside it.
pub(crate) async fn start(
    opened: &Opened,
    assembly: Option<&str>,
) -> Result<(Runtime, Option<demo::Running>), Failure> {
    start_with(opened, assembly, None, Questions::default()).await
}

/// As [`start`], for a command that goes on until it is ended: what has changed in the files of
/// the deployment is taken over while it runs. What servers ask goes to the desk; where nobody has
/// taken a seat at it, it is declined.
pub(crate) async fn start_to_stay(
    opened: &Opened,
    assembly: Option<&str>,
    questions: Questions,
) -> Result<(Runtime, Option<demo::Running>), Failure> {
    start_with(opened, assembly, opened.reload.clone(), questions).await
}

async fn start_with(
    opened: &Opened,
    assembly: Option<&str>,
    reload: Option<Reload>,
    questions: Questions,
) -> Result<(Runtime, Option<demo::Running>), Failure> {
    let options = Options {
        assembly: assembly.map(ToOwned::to_owned),
        own_command: std::env::current_exe().ok(),
        secrets: opened.secrets.clone(),
        warnings: opened.warnings.iter().map(ToString::to_string).collect(),
        traffic: true,
        reload,
        questions,
        tokens: opening::state_dir().map(|dir| dir.join("toolcrib/tokens")),
        instruments: export::instruments(&opened.secrets)?,
        ..Options::default()
    };
    let host = match &opened.host {
        Some(host) => Some(host.start().await),
        None => None,
    };
    match Runtime::start(&opened.deployment, options).await {
        Ok(runtime) => Ok((runtime, host)),
        Err(error) => {
            stop(host).await;
            Err(error.into())
        }
    }
}

/// Ends what the embedded demo needs.
pub(crate) async fn stop(host: Option<demo::Running>) {
    if let Some(host) = host {
        host.stop().await;
    }
}

/// Waits until every server is ready, has failed once or is rejected, and required ones until they
/// are ready; `wait` bounds both.
pub(crate) async fn readiness(runtime: &Runtime, wait: Option<Duration>) -> Readiness {
    runtime
        .wait_settled(wait.unwrap_or(SETTLE), wait.unwrap_or(REQUIRED))
        .await
}

/// Fails, with server and cause, unless the deployment may do its work (rules 8.4 and 8.8).
pub(crate) fn may_serve(readiness: &Readiness) -> Result<(), Failure> {
    if !readiness.rejected.is_empty() {
        return Err(Failure::servers("rejects us", &readiness.rejected));
    }
    if !readiness.required.is_empty() {
        return Err(Failure::servers(
            "is required and not ready",
            &readiness.required,
        ));
    }
    Ok(())
}

/// Waits, and fails unless the deployment may do its work. What can be done without is told in the
/// log. Answers with what can be seen then.
pub(crate) async fn settled(
    runtime: &Runtime,
    wait: Option<Duration>,
) -> Result<Arc<Snapshot>, Failure> {
    may_serve(&readiness(runtime, wait).await)?;
    let snapshot = snapshot(runtime).await;
    for server in snapshot
        .servers
        .iter()
        .filter(|server| !server.state.is_up())
    {
        let failure = server.last_error.as_ref();
        let cause = failure.map_or("it has not answered yet", |failure| &failure.message);
        tracing::warn!(
            "server `{}` of source `{}` is in state `{}`: {cause}",
            server.name,
            server.source,
            server.state
        );
    }
    Ok(snapshot)
}

/// Everything that can be seen, as it stands now.
pub(crate) async fn snapshot(runtime: &Runtime) -> Arc<Snapshot> {
    let mut snapshots = runtime.snapshot();
    // Nothing is published while nobody watches, so what is there now may be old. An error means
    // that the runtime is closed, and then nothing newer will come.
    let _ = snapshots.changed().await;
    Arc::clone(&snapshots.borrow())
}
