//! Signals end a command in order: its exit code tells, and no child process is left.

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use crate::place::{PATIENCE, Place, children, finish};

/// Starts a call that hangs, and waits until the deployment's server is ready.
async fn hanging(place: &Place) -> (Child, Pid) {
    let mut child = place.command(&["call", "hang", "-v"]).spawn().unwrap();
    let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("connecting -> ready") {
                return;
            }
        }
        panic!("the log ends before the server is ready");
    };
    tokio::time::timeout(PATIENCE, ready)
        .await
        .expect("the server does not get ready");
    let running = place.left();
    assert!(
        running
            .iter()
            .any(|line| line.contains("demo-server files")),
        "{running:?}"
    );
    // Goes on reading, so that the program never waits for room in the pipe.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, pid)
}

#[tokio::test]
async fn a_signal_ends_a_command_with_its_code_and_leaves_no_child() {
    let rows = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];
    for (signal, code) in rows {
        let place = Place::with(&children("files"));
        let (child, pid) = hanging(&place).await;
        kill_process(pid, signal).unwrap();
        let ended = finish(child).await;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(ended.stdout, "");
        assert_eq!(place.left(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn even_a_kill_leaves_no_child() {
    let place = Place::with(&children("files"));
    let (child, pid) = hanging(&place).await;
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(finish(child).await.code, None);
    place.empty().await;
}

#[tokio::test]
async fn the_demo_leaves_no_child_when_it_is_ended_or_killed() {
    for signal in [Signal::TERM, Signal::KILL] {
        let place = Place::new();
        let mut child = place.command(&["call", "clock__wait", "--arg", "seconds=60", "-v"]);
        let mut child = child.spawn().unwrap();
        let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let all_ready = async {
            let mut ready = 0;
            while ready < 3 {
                let line = lines
                    .next_line()
                    .await
                    .unwrap()
                    .expect("the log ends early");
                ready += usize::from(line.contains("connecting -> ready"));
            }
        };
        let ready = tokio::time::timeout(PATIENCE, all_ready).await;
        ready.expect("the servers do not get ready");
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        kill_process(pid, signal).unwrap();
        finish(child).await;
        if signal == Signal::TERM {
            assert_eq!(place.left(), Vec::<String>::new());
        }
        place.empty().await;
    }
}
