//! The test program as a server: it starts itself again with `MCP_FIXTURE` set, so that the tests
//! need nothing but themselves. What the test harness prints first is a banner on stdout, which a
//! client has to skip anyway.

use std::os::fd::AsFd;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use toolcrib::source::Launch;
use toolcrib::source::mcp::TransportSettings;

use super::server::Shelf;
use super::{Host, settings};

const MODE: &str = "MCP_FIXTURE";

#[test]
#[ignore = "this is the server that other tests start"]
fn fixture_server() {
    let Ok(mode) = std::env::var(MODE) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    match mode.as_str() {
        "host" => runtime.block_on(host()),
        "host_panics" => {
            runtime.block_on(async {
                // Held by the runtime, as a program's own tasks would be.
                let host = Arc::new(started().await);
                let held = Arc::clone(&host);
                tokio::spawn(async move {
                    let _held = held;
                    std::future::pending::<()>().await;
                });
                std::mem::forget(host);
                panic!("a bug");
            });
        }
        mode => {
            let shelf = match mode {
                "legacy" => Shelf::legacy(&TOOLS),
                _ => Shelf::new(&TOOLS),
            };
            runtime.block_on(async {
                let service = shelf
                    .serve((file(std::io::stdin()), file(std::io::stdout())))
                    .await
                    .unwrap();
                let _ = service.waiting().await;
            });
            #[expect(clippy::disallowed_methods, reason = "the harness must not go on")]
            std::process::exit(0);
        }
    }
}

/// One of our own pipes.
fn file(end: impl AsFd) -> tokio::fs::File {
    let end = end.as_fd().try_clone_to_owned().unwrap();
    tokio::fs::File::from_std(end.into())
}

const TOOLS: [&str; 6] = ["echo", "exit", "answer_and_exit", "big", "hang", "pid"];

/// A host with a child that ends for nothing but a signal that it cannot ignore.
async fn started() -> Host {
    let script = "trap '' TERM; while :; do sleep 1; done";
    let host = Host::start(settings(sh(script, "unused")));
    let row = host
        .until(|row| matches!(row.launch, Launch::Stdio { pid: Some(_), .. }))
        .await;
    let Launch::Stdio { pid: Some(pid), .. } = row.launch else {
        unreachable!();
    };
    eprintln!("child {pid}");
    host
}

async fn host() {
    let _host = started().await;
    std::future::pending::<()>().await;
}

fn own() -> String {
    let own = std::env::current_exe().unwrap();
    own.to_str().unwrap().to_owned()
}

fn own_args() -> Vec<String> {
    [
        "--exact",
        "mcp::fixture::fixture_server",
        "--ignored",
        "--nocapture",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The server itself.
pub(crate) fn server(mode: &str) -> TransportSettings {
    TransportSettings::Stdio {
        command: own(),
        args: own_args(),
        env: vec![(MODE.into(), mode.into())],
        cwd: None,
    }
}

/// A shell script, in which `"$0" "$@"` is the server.
pub(super) fn sh(script: &str, mode: &str) -> TransportSettings {
    let mut args = vec!["-c".to_owned(), script.to_owned(), own()];
    args.extend(own_args());
    TransportSettings::Stdio {
        command: "/bin/sh".into(),
        args,
        env: vec![(MODE.into(), mode.into())],
        cwd: None,
    }
}

/// The command for a second host program.
pub(super) fn host_program(mode: &str) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(own());
    command.args(own_args()).env(MODE, mode).kill_on_drop(true);
    command
}
