use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::Instant;
use toolcrib::source::mcp::{Liveness, TransportSettings};
use toolcrib::source::{FailureKind, Launch, LogOrigin, ServerState, ServerStatus, Source as _};
use toolcrib::tool::{ErrorKind, ToolResult};

use super::fixture::{host_program, server, sh};
use super::{Host, PATIENCE, settings};

fn pid(row: &ServerStatus) -> u32 {
    match row.launch {
        Launch::Stdio { pid: Some(pid), .. } => pid,
        _ => panic!("no process: {:?}", row.launch),
    }
}

pub(super) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Whether a process runs; one that has ended and is not collected yet does not.
pub(crate) fn runs(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.starts_with('Z') && !state.starts_with('X')
}

/// Nothing tells of the end of a process that is not ours, so it is looked at.
async fn until_gone(pid: u32) {
    let began = Instant::now();
    while runs(pid) {
        assert!(began.elapsed() < PATIENCE, "process {pid} lives on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn failure(row: &ServerStatus) -> &FailureKind {
    &row.last_error.as_ref().expect("no failure").kind
}

fn exited(code: i32) -> FailureKind {
    FailureKind::ProcessExited {
        code: Some(code),
        signal: None,
    }
}

fn killed() -> FailureKind {
    FailureKind::ProcessExited {
        code: None,
        signal: Some(9),
    }
}

#[tokio::test]
async fn a_child_is_a_server_and_is_gone_after_closing() {
    let host = Host::start(settings(server("serve")));
    let row = host.ready().await;
    let child = pid(&row);
    let result = host.call("m__pid", json!({})).await;
    assert_eq!(result, ToolResult::text(child.to_string()));
    host.source.close().await;
    assert!(!runs(child));
    assert_eq!(host.row().state, ServerState::Stopped);
    host.source.close().await;
}

#[tokio::test]
async fn a_killed_server_is_lost_by_name_of_the_signal_and_comes_back() {
    let host = Host::start(settings(server("serve")));
    let row = host.ready().await;
    signal(pid(&row), Signal::KILL);
    let row = host.until(|row| row.reconnects == 1).await;
    assert_eq!(*failure(&row), killed());
    assert_eq!(row.losses, 1);
    host.source.close().await;
}

#[tokio::test]
async fn an_exit_during_start_carries_code_and_last_words() {
    let script = "echo 'cannot open zone.tab' >&2; exit 3";
    let host = Host::start(settings(sh(script, "unused")));
    let row = host.until(|row| row.settled).await;
    assert_eq!(row.state, ServerState::Backoff);
    let error = row.last_error.as_ref().unwrap();
    assert_eq!(error.kind, exited(3));
    assert_eq!(error.message, "`/bin/sh` exited with 3 before it answered");
    assert_eq!(&*error.stderr[0].text, "cannot open zone.tab");
    assert!(error.advice.is_some());
    host.source.close().await;
}

#[tokio::test]
async fn a_command_that_is_not_there_is_told_with_the_path_that_was_searched() {
    let host = Host::start(settings(TransportSettings::Stdio {
        command: "no-such-command".into(),
        args: Vec::new(),
        env: vec![("PATH".into(), "/nowhere:/nothing".into())],
        cwd: None,
    }));
    let row = host.until(|row| row.settled).await;
    assert_eq!(
        row.last_error.as_ref().unwrap().message,
        "no executable file named `no-such-command` is on the path `/nowhere:/nothing`"
    );
    assert_eq!(row.state, ServerState::Backoff);
    host.source.close().await;
}

#[tokio::test]
async fn an_exit_under_a_call_may_have_run_and_an_answer_before_it_counts() {
    let host = Host::start(settings(server("serve")));
    host.ready().await;
    let result = host.call("m__exit", json!({"code": 5})).await;
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    assert!(result.all_text().contains("may have run"), "{result:?}");
    let row = host.until(|row| row.reconnects == 1).await;
    assert_eq!(*failure(&row), exited(5));
    let result = host.call("m__answer_and_exit", json!({})).await;
    assert_eq!(result, ToolResult::text("last words"));
    host.until(|row| row.losses == 2).await;
    host.source.close().await;
}

#[tokio::test]
async fn a_stopped_process_is_degraded_and_ready_again_when_it_goes_on() {
    let mut settings = settings(server("legacy"));
    settings.servers[0].liveness = Some(Liveness::Every(Duration::from_millis(400)));
    let host = Host::start(settings);
    let row = host.ready().await;
    signal(pid(&row), Signal::STOP);
    host.until(|row| row.state == ServerState::Degraded).await;
    signal(pid(&row), Signal::CONT);
    let row = host.until(|row| row.state == ServerState::Ready).await;
    assert_eq!(row.losses, 0);
    host.source.close().await;
}

#[tokio::test]
async fn what_a_server_forked_ends_with_it() {
    let script = r#"sleep 300 & echo "forked $!" >&2; exec "$0" "$@""#;
    let host = Host::start(settings(sh(script, "serve")));
    let row = host.ready().await;
    let child = pid(&row);
    let row = host.until(|row| forked(row).is_some()).await;
    let grandchild = forked(&row).unwrap();
    assert!(runs(grandchild));
    signal(child, Signal::KILL);
    until_gone(grandchild).await;
    let row = host
        .until(|row| row.reconnects == 1 && forked(row) != Some(grandchild))
        .await;
    host.source.close().await;
    until_gone(forked(&row).unwrap()).await;
}

fn forked(row: &ServerStatus) -> Option<u32> {
    let mut lines = row.log.iter().rev();
    lines.find_map(|line| line.text.strip_prefix("forked ")?.parse().ok())
}

#[tokio::test]
async fn a_closed_stdout_is_a_loss_though_the_process_lives() {
    let script = r#""$0" "$@"; exec 1>&-; sleep 300"#;
    let host = Host::start(settings(sh(script, "serve")));
    let child = pid(&*host.ready().await);
    let result = host.call("m__exit", json!({})).await;
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    let row = host.until(|row| row.losses == 1).await;
    assert_eq!(*failure(&row), FailureKind::OutputClosed);
    host.until(|row| row.reconnects == 1).await;
    host.source.close().await;
    until_gone(child).await;
}

#[tokio::test]
async fn a_banner_and_ten_megabytes_without_a_line_end_are_skipped_and_shown() {
    let script = r#"echo Welcome; head -c 10000000 /dev/zero | tr '\0' x; echo; exec "$0" "$@""#;
    let host = Host::start(settings(sh(script, "serve")));
    let row = host.ready().await;
    let stray: Vec<&str> = row
        .log
        .iter()
        .filter(|line| line.origin == LogOrigin::Stdout)
        .map(|line| &*line.text)
        .collect();
    assert_eq!(stray[0], "Welcome");
    assert!(stray[1].ends_with("… (10000000 bytes in all)"), "not cut");
    host.source.close().await;
}

#[tokio::test]
async fn an_answer_of_several_megabytes_arrives() {
    let host = Host::start(settings(server("serve")));
    host.ready().await;
    let result = host.call("m__big", json!({"bytes": 5_000_000})).await;
    assert_eq!(result.all_text().len(), 5_000_000);
    host.source.close().await;
}

#[tokio::test]
async fn servers_that_ignore_everything_are_killed_together_after_five_seconds() {
    let script = r#"trap '' TERM; "$0" "$@"; while :; do sleep 0.1; done"#;
    let mut many = settings(sh(script, "serve"));
    for number in 1..4 {
        let mut more = many.servers[0].clone();
        more.name = format!("m{number}");
        many.servers.push(more);
    }
    let host = Host::start(many);
    let mut rows = host.source.servers();
    let children: Vec<u32> = rows
        .wait_for(|rows| rows.iter().all(|row| row.state == ServerState::Ready))
        .await
        .unwrap()
        .iter()
        .map(|row| pid(row))
        .collect();
    let began = Instant::now();
    host.source.close().await;
    let took = began.elapsed().as_secs_f64();
    assert!((4.9..9.0).contains(&took), "{took}");
    for child in children {
        assert!(!runs(child));
    }
}

/// Starts a host program, which starts a child, and gives both.
async fn host_with_child(mode: &str) -> (tokio::process::Child, u32) {
    let mut program = host_program(mode)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stderr.take().unwrap()).lines();
    let child = async {
        loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("no child was started");
            if let Some(pid) = line.strip_prefix("child ") {
                break pid.parse().unwrap();
            }
        }
    };
    let child = tokio::time::timeout(PATIENCE, child).await.unwrap();
    (program, child)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_child_outlives_a_program_that_is_killed() {
    let (mut program, child) = host_with_child("host").await;
    assert!(runs(child));
    program.start_kill().unwrap();
    program.wait().await.unwrap();
    until_gone(child).await;
}

#[tokio::test]
async fn no_child_outlives_a_panic() {
    let (mut program, child) = host_with_child("host_panics").await;
    program.wait().await.unwrap();
    until_gone(child).await;
}
