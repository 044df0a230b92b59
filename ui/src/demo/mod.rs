//! The demo: real MCP servers that are this binary, the deployment that uses them, and the host
//! that keeps the HTTP one running. Nothing here needs a network or another program.

mod arguments;
mod brittle;
mod clock;
mod files;
mod host;
mod outages;
mod server;
mod web;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rmcp::ServiceExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;
use toolcrib::clock::Stamp;

use clock::Clock;
use files::Files;
pub(crate) use host::{Host, OnDemand, Running, use_own_binary};
use outages::{Fate, fate};
use server::{Server, Toolset, say};

/// The deployment that is used when no other is named.
pub(crate) const DEPLOYMENT: &str = include_str!("../../../config/demo.yaml");

/// How long an orderly end may take before the process ends anyway.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Be one of the demo's MCP servers.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoServer {
    #[command(subcommand)]
    server: Kind,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Kind {
    /// A file tree in memory, on stdio.
    Files,
    /// Time and arithmetic, on stdio.
    Clock {
        /// Die whenever that much time has passed, such as `75s`, and fail to start now and then.
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        die_after: Option<Duration>,
        /// When the demo began, in seconds since 1970; else it begins with this process.
        #[arg(long, value_name = "SECONDS", requires = "die_after")]
        since: Option<i64>,
    },
    /// Falls over in the middle of its first `fall`, on stdio; its tool `boom` refuses.
    Brittle {
        /// Where calls are noted, a line each: what happens depends on those before.
        #[arg(long, value_name = "FILE")]
        calls: std::path::PathBuf,
    },
    /// A small site, on streamable HTTP. Ends when its stdin closes.
    Web {
        /// A loopback address; port 0 takes any.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
        listen: SocketAddr,
    },
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Result<SignedDuration, _> = text.parse();
    parsed
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| *duration >= Duration::from_secs(1))
        .ok_or_else(|| "use a duration of a second or more, such as `75s`".to_owned())
}

/// Runs a demo server to its end. Call it outside any runtime: it brings its own and leaves it
/// without waiting for a blocked read of stdin.
pub(crate) fn run(options: DemoServer) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            say("demo", format_args!("cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(serve(options));
    runtime.shutdown_timeout(LAST_WORDS);
    code
}

async fn serve(options: DemoServer) -> ExitCode {
    match options.server {
        Kind::Files => {
            let files = Files::new();
            say("files", format_args!("serving {} files", files.len()));
            on_stdio(files).await
        }
        Kind::Clock { die_after, since } => match die_after {
            None => on_stdio(Clock).await,
            Some(every) => mortal_clock(since, every, Stamp::now().wall).await,
        },
        Kind::Brittle { calls } => on_stdio(brittle::Brittle { calls }).await,
        Kind::Web { listen } => match on_http(listen, tokio::io::stdin()).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say("web", format_args!("cannot serve on {listen}: {error}"));
                ExitCode::FAILURE
            }
        },
    }
}

async fn on_stdio<T: Toolset>(toolset: T) -> ExitCode {
    let name = toolset.name();
    say(name, "started");
    let server = Server(Arc::new(toolset));
    let running = match server.serve(rmcp::transport::io::stdio_pipes()).await {
        Ok(running) => running,
        Err(error) => {
            say(name, format_args!("no client: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let ended = running.waiting().await;
    say(name, "stdin is closed, goodbye");
    if ended.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A clock that dies as `outages` has it.
async fn mortal_clock(since: Option<i64>, every: Duration, now: Timestamp) -> ExitCode {
    let began = since.and_then(|seconds| Timestamp::from_second(seconds).ok());
    let passed = Duration::try_from(now.duration_since(began.unwrap_or(now)));
    match fate(passed.unwrap_or_default(), every) {
        Fate::CannotStart { code } => {
            say(
                "clock",
                "cannot read the leap second table: resource busy (scripted outage)",
            );
            ExitCode::from(code)
        }
        Fate::Dies { after, code } => tokio::select! {
            ended = on_stdio(Clock) => ended,
            () = tokio::time::sleep(after) => {
                say("clock", "the mainspring broke (scripted outage)");
                ExitCode::from(code)
            }
        },
    }
}

/// Serves until `lifeline` closes, so that the server cannot outlive whoever started it.
async fn on_http(address: SocketAddr, mut lifeline: impl AsyncRead + Unpin) -> std::io::Result<()> {
    let listener = web::listen(address).await?;
    let stop = CancellationToken::new();
    let serving = web::serve(listener, stop.clone());
    let mut ignored = [0; 64];
    tokio::pin!(serving);
    loop {
        tokio::select! {
            ended = &mut serving => return ended,
            read = lifeline.read(&mut ignored), if !stop.is_cancelled() => {
                if !matches!(read, Ok(count) if count > 0) {
                    say("web", "stdin is closed, goodbye");
                    stop.cancel();
                    // Open streams get a moment to end; then the process ends with them.
                    return tokio::time::timeout(LAST_WORDS, serving).await.unwrap_or(Ok(()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
