//! The screen in its states, from sessions that were really run.

use std::sync::Arc;

use serde_json::json;
use toolcrib::observe::Snapshot;
use toolcrib::session::{SessionDriver, SessionKind};

use crate::console::fixture::{self, Bench, console, picture, press, round, take};
use crate::console::screens::ScreenId;
use crate::console::state::State;

const WIDE: (u16, u16) = (140, 42);
const MIDDLE: (u16, u16) = (100, 30);
const SMALL: (u16, u16) = (80, 24);
const TINY: (u16, u16) = (40, 10);

/// What is on the screen below the header and the tabs, which are others' to picture.
fn body(state: &State) -> String {
    let picture = picture(state);
    let lines: Vec<&str> = picture.lines().skip(2).collect();
    lines.join("\n") + "\n"
}

fn sessions(snapshot: &Arc<Snapshot>, size: (u16, u16)) -> State {
    console(snapshot, ScreenId::Sessions, size)
}

fn search(query: &str, limit: usize) -> (&'static str, serde_json::Value) {
    ("tool_search", json!({"query": query, "limit": limit}))
}

/// A session that searched, called, was short of room, and lost tools.
fn busy(bench: &Bench) -> SessionDriver {
    let mut driver = bench.session("agent-7", SessionKind::Agent);
    driver.require("git__log");
    round(
        &mut driver,
        &[search("read a file", 1), search("send a mail", 1)],
    );
    round(&mut driver, &[("files__read_file", json!({}))]);
    round(
        &mut driver,
        &[search("scale a picture", 1), ("nowhere", json!({}))],
    );
    round(&mut driver, &[search("video", 2)]);
    round(&mut driver, &[("files__read_file", json!({}))]);
    round(&mut driver, &[]);
    driver
}

#[test]
fn without_a_session_the_screen_says_how_to_get_one() {
    let state = sessions(&fixture::normal(), SMALL);
    insta::assert_snapshot!(body(&state));
}

#[test]
fn the_list_tells_of_each_session_how_full_it_is() {
    let bench = Bench::usual();
    let _busy = busy(&bench);
    let mut other = bench.session("operator-1", SessionKind::Operator);
    round(&mut other, &[]);
    let _unborn = bench.session("client of 127.0.0.1", SessionKind::Client);
    drop(bench.session("gone", SessionKind::Agent));
    let snapshot = bench.snapshot();
    insta::assert_snapshot!("list_wide", body(&sessions(&snapshot, WIDE)));
    insta::assert_snapshot!("list_middle", body(&sessions(&snapshot, MIDDLE)));
    insta::assert_snapshot!("list_tiny", body(&sessions(&snapshot, TINY)));
}

#[test]
fn one_session_is_shown_with_what_was_sent_withheld_and_lost() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let snapshot = bench.snapshot();
    for (name, size) in [
        ("wide", WIDE),
        ("middle", MIDDLE),
        ("small", SMALL),
        ("tiny", TINY),
    ] {
        let mut state = sessions(&snapshot, size);
        press(&mut state, "enter");
        insta::assert_snapshot!(format!("one_{name}"), body(&state));
    }
    let mut state = sessions(&snapshot, WIDE);
    press(&mut state, "enter tab");
    for tab in ["searches", "calls", "withheld", "pool"] {
        press(&mut state, "]");
        insta::assert_snapshot!(format!("tab_{tab}"), body(&state));
    }
}

#[test]
fn going_back_shows_exactly_what_the_model_saw_then() {
    let bench = Bench::usual();
    let mut driver = busy(&bench);
    let mut state = sessions(&bench.snapshot(), WIDE);
    press(&mut state, "enter left left left");
    let then = body(&state);
    insta::assert_snapshot!("time_travelled", then);
    round(&mut driver, &[search("fetch a page", 1)]);
    take(&mut state, &bench.snapshot());
    assert_eq!(body(&state), then.replace("round 3 of 6", "round 3 of 7"));
    press(&mut state, "f");
    assert!(body(&state).contains("round 7 of 7"), "{}", body(&state));
}

#[test]
fn two_rounds_are_compared() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = sessions(&bench.snapshot(), WIDE);
    press(&mut state, "enter left D");
    insta::assert_snapshot!("compared_with_the_one_before", body(&state));
    press(&mut state, "D left left left");
    insta::assert_snapshot!("compared_with_a_held_one", body(&state));
    press(&mut state, "esc");
    assert!(body(&state).contains("Sent to the model"));
}
