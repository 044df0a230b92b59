//! The long run: a server that is killed every few seconds. Run it with
//! `cargo test --test it -- --ignored --nocapture soak`; `SOAK_SECONDS` makes it shorter.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tokio::time::Instant;
use toolcrib::source::mcp::Backoff;
use toolcrib::source::{Launch, Source as _};

use super::fixture::server;
use super::process::{runs, signal};
use super::{Host, settings};

/// How long it goes on.
const LONG: Duration = Duration::from_secs(600);

/// How long the server lives each time.
const LIFE: Duration = Duration::from_secs(3);

/// What is measured of this process.
#[derive(Clone, Copy, Debug)]
struct Figures {
    fds: usize,
    memory_kib: u64,
}

fn figures() -> Figures {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find(|line| line.starts_with("VmRSS:"));
    let memory = memory.unwrap().split_whitespace().nth(1).unwrap();
    Figures {
        fds: std::fs::read_dir("/proc/self/fd").unwrap().count(),
        memory_kib: memory.parse().unwrap(),
    }
}

/// Processes whose parent is this one, the dead that nobody has collected among them.
fn children() -> usize {
    let own = std::process::id().to_string();
    let parent = |stat: &Path| {
        let text = std::fs::read_to_string(stat.join("stat")).ok()?;
        let rest = text.rsplit(')').next()?.to_owned();
        rest.split_whitespace().nth(1).map(str::to_owned)
    };
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| parent(&entry.ok()?.path()))
        .filter(|parent| *parent == own)
        .count()
}

#[tokio::test]
#[ignore = "ten minutes; the measure of leaks"]
async fn soak_a_server_killed_again_and_again_leaves_nothing_behind() {
    let long = std::env::var("SOAK_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .map_or(LONG, Duration::from_secs);
    let mut settings = settings(server("serve"));
    // As short as can be, so that as many connections as possible come and go.
    settings.backoff = Backoff {
        initial: Duration::from_millis(50),
        max: Duration::from_millis(100),
        jitter: 0.0,
    };
    let host = Host::start(settings);
    let began = Instant::now();
    let mut seen = HashSet::new();
    let mut first: Option<Figures> = None;
    let mut most = 0;
    let mut calls = 0_u32;
    while began.elapsed() < long {
        let row = host.ready().await;
        let Launch::Stdio { pid: Some(pid), .. } = row.launch else {
            continue;
        };
        let born = Instant::now();
        while born.elapsed() < LIFE {
            let result = host.call("m__echo", json!({"text": "x"})).await;
            calls += u32::from(!result.is_error());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        seen.insert(pid);
        let now = figures();
        // The first rounds fill rings and caches.
        if seen.len() == 5 {
            first = Some(now);
        }
        most = most.max(now.memory_kib);
        signal(pid, Signal::KILL);
        let losses = row.losses;
        host.until(|row| row.losses > losses).await;
    }
    host.ready().await;
    let last = figures();
    let processes = children();
    let row = host.row();
    host.source.close().await;
    let first = first.expect("too short to measure anything");
    eprintln!(
        "{} s: {} losses, {} reconnects, {calls} calls; open files {} then {}; memory {} KiB then \
         {} KiB, at most {most} KiB; children at the end {processes}, after closing {}",
        began.elapsed().as_secs(),
        row.losses,
        row.reconnects,
        first.fds,
        last.fds,
        first.memory_kib,
        last.memory_kib,
        children(),
    );
    assert_eq!(children(), 0, "a child is left");
    assert!(seen.iter().all(|pid| !runs(*pid)), "a process lives on");
    assert_eq!(processes, 1, "more than the one server ran at the end");
    assert!(last.fds <= first.fds, "files are left open");
    // Rings of the log and the history fill up; after that nothing may grow.
    assert!(
        last.memory_kib < first.memory_kib + 16 * 1024,
        "memory grew"
    );
}
