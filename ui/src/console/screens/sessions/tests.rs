//! The screen in its states, from sessions that were really run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib::observe::Snapshot;
use toolcrib::session::{CheckRow, PlayRow, PlayState, PlayedRound, SessionDriver, SessionKind};

use crate::console::command::{Answer, Command, NotDone};
use crate::console::event::Event;
use crate::console::fixture::{self, Bench, console, picture, press, round, take};
use crate::console::screens::ScreenId;
use crate::console::shared::Options;
use crate::console::state::State;
use crate::console::update::update;

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

/// A scenario that has been played up to its second round, with one expectation missed.
fn playing(bench: &Bench, state: PlayState) -> SessionDriver {
    let mut driver = bench.session("first-discovery", SessionKind::Scenario);
    round(&mut driver, &[search("read a file", 1)]);
    round(&mut driver, &[("files__read_file", json!({}))]);
    let check = |what, expected: &str, actual: &str| CheckRow {
        what,
        expected: vec![expected.into()],
        actual: vec![actual.into()],
        met: expected == actual,
    };
    let played = |round, note: &str, checks| {
        Arc::new(PlayedRound {
            round,
            note: Some(note.into()),
            checks,
        })
    };
    let id = bench.directory.rows().last().unwrap().id;
    bench.directory.set_play(
        id,
        PlayRow {
            scenario: "first-discovery.yaml".into(),
            state,
            interval: Duration::from_secs(2),
            total: 4,
            played: Arc::new([
                played(
                    1,
                    "look for a way to read files",
                    vec![check("exposed", "files__read_file", "files__read_file")],
                ),
                played(
                    2,
                    "call what was found",
                    vec![
                        check("ok", "files__read_file", "files__read_file"),
                        check("evicted", "mail__send: idle", "nothing"),
                    ],
                ),
            ]),
            next_note: Some("wait until it idles out".into()),
        },
    );
    driver
}

#[test]
fn a_scenario_is_shown_with_its_notes_and_what_came_of_its_expectations() {
    let bench = Bench::usual();
    let _driver = playing(&bench, PlayState::Playing);
    let snapshot = bench.snapshot();
    let mut state = sessions(&snapshot, WIDE);
    press(&mut state, "enter [ [ [");
    insta::assert_snapshot!("playing_wide", body(&state));
    let mut state = sessions(&snapshot, SMALL);
    press(&mut state, "enter left");
    insta::assert_snapshot!("playing_small", body(&state));
}

#[test]
fn without_colour_and_unicode_everything_still_has_a_word() {
    let bench = Bench::usual();
    let _busy = busy(&bench);
    let _driver = playing(&bench, PlayState::Paused);
    let options = Options {
        ascii: true,
        colour: false,
        ..fixture::options(ScreenId::Sessions)
    };
    let mut state = State::new(options, &bench.snapshot(), WIDE);
    press(&mut state, "enter left D");
    let shown = body(&state);
    assert!(shown.is_ascii(), "{shown}");
    insta::assert_snapshot!("ascii", shown);
}

#[test]
fn the_record_of_a_session_is_written_as_a_trace() {
    let bench = Bench::usual();
    let _driver = playing(&bench, PlayState::Paused);
    let mut state = sessions(&bench.snapshot(), WIDE);
    let commands = press(&mut state, "E");
    let [Command::SaveFiles { files, .. }] = &commands[..] else {
        panic!("{commands:?}");
    };
    let (name, text) = &files[0];
    assert!(
        name.starts_with("toolcrib-session-first-discovery-"),
        "{name}"
    );
    let trace: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(trace["scenario"], "first-discovery.yaml");
    let round = &trace["rounds"][0];
    assert_eq!(round["searches"][0]["exposed"], json!(["files__read_file"]));
    assert_eq!(round["calls"][0]["outcome"], "ok");
    assert_eq!(trace["missed"][0]["round"], 2);
}

/// The orders that pressing keys led to, as they are told in debug output.
fn orders(commands: Vec<Command>) -> Vec<String> {
    let orders = commands.into_iter().filter_map(|command| match command {
        Command::Session { order, .. } => Some(format!("{order:?}")),
        _ => None,
    });
    orders.collect()
}

#[test]
fn an_operator_opens_searches_calls_advances_requires_and_closes() {
    let bench = Bench::usual();
    let mut own = bench.session("operator-1", SessionKind::Operator);
    round(&mut own, &[search("read a file", 1)]);
    own.begin_round();
    let snapshot = bench.snapshot();
    let mut state = sessions(&snapshot, WIDE);
    let id = snapshot.sessions[0].id;
    assert_eq!(orders(press(&mut state, "a")), ["Open"]);
    press(&mut state, "enter");
    assert_eq!(
        orders(press(&mut state, ".")),
        [format!("Order({id:?}, Advance(1))")]
    );
    assert_eq!(
        orders(press(&mut state, "> 1 2 enter")),
        [format!("Order({id:?}, Advance(12))")]
    );
    let asked = orders(press(&mut state, "u read space it enter"));
    assert!(
        asked[0].contains("\"query\": String(\"read it\")"),
        "{asked:?}"
    );
    press(&mut state, "G");
    let required = orders(press(&mut state, "r"));
    assert_eq!(
        required,
        [format!("Order({id:?}, Require(\"files__read_file\"))")]
    );
    // The form of the Calls screen, and back.
    press(&mut state, "c");
    assert_eq!(state.screen, ScreenId::Calls);
    assert!(picture(&state).contains("Call files__read_file in operator-1"));
    let fired = orders(press(&mut state, "a tab enter"));
    assert!(
        fired[0].starts_with(&format!("Order({id:?}, Batch(")),
        "{fired:?}"
    );
    assert_eq!(state.screen, ScreenId::Sessions);
    assert_eq!(
        orders(press(&mut state, "X y")),
        [format!("Order({id:?}, Close)")]
    );
}

#[test]
fn a_scenario_is_paused_stepped_slowed_down_and_another_is_chosen_by_name() {
    let bench = Bench::usual();
    let _driver = playing(&bench, PlayState::Playing);
    let snapshot = bench.snapshot();
    let id = snapshot.sessions[0].id;
    let mut state = sessions(&snapshot, WIDE);
    for (keys, pace) in [
        ("p", "Pause"),
        (".", "Step"),
        ("-", "Every(4s)"),
        ("+", "Every(1s)"),
    ] {
        let expected = [format!("Order({id:?}, Pace({pace}))")];
        assert_eq!(orders(press(&mut state, keys)), expected, "{keys}");
    }
    let chosen = orders(press(&mut state, ": play space idling enter"));
    assert_eq!(chosen, ["Play(Shipped(1))"]);
    let mut state = sessions(&fixture::normal(), SMALL);
    press(&mut state, "p");
    let shown = picture(&state);
    assert!(shown.contains("play first-discovery"), "{shown}");
    assert!(!shown.contains("play or pause"), "{shown}");
    let chosen = orders(press(&mut state, "enter"));
    assert_eq!(chosen, ["Play(Shipped(0))"], "the first lesson is selected");
    press(&mut state, "p");
    let chosen = orders(press(&mut state, "a space file enter x . yaml enter"));
    assert_eq!(chosen, ["Play(File(\"x.yaml\"))"]);
}

#[test]
fn read_only_refuses_every_order() {
    let bench = Bench::usual();
    let mut own = bench.session("operator-1", SessionKind::Operator);
    own.begin_round();
    let options = Options {
        read_only: true,
        ..fixture::options(ScreenId::Sessions)
    };
    let mut state = State::new(options, &bench.snapshot(), WIDE);
    for keys in ["a", ".", "p", "u", "X y", ": play space idling enter"] {
        assert_eq!(orders(press(&mut state, keys)), [""; 0], "{keys}");
    }
}

#[test]
fn who_may_only_read_is_told_of_no_key_that_would_be_refused() {
    let options = Options {
        read_only: true,
        ..fixture::options(ScreenId::Sessions)
    };
    let state = State::new(options, &fixture::normal(), WIDE);
    let shown = picture(&state);
    assert!(shown.contains("No session yet"), "{shown}");
    assert!(!shown.contains("opens one in which you"), "{shown}");
    assert!(!shown.contains("plays a scenario"), "{shown}");
}

#[test]
fn every_problem_of_a_scenario_that_cannot_be_played_is_shown_with_its_place() {
    let mut state = sessions(&fixture::normal(), SMALL);
    let id = press(&mut state, "p enter")
        .into_iter()
        .find_map(|command| match command {
            Command::Session { id, .. } => Some(id),
            _ => None,
        })
        .unwrap();
    let text = "resources: {}\nrounds:\n  - bogus: 1\n  - idle: 0\n  - calls: 7\n";
    let environment = toolcrib::deployment::Supplied::only([("", ""); 0]);
    let path = std::path::Path::new(".");
    let problems = toolcrib::scenario::load_text("bad.yaml", text, path, &environment).unwrap_err();
    assert!(problems.0.len() >= 3, "{problems}");
    update(
        &mut state,
        Event::Answered(
            id,
            Answer::Session(Err(NotDone::Unreadable(problems.clone()))),
        ),
    );
    let shown = picture(&state);
    for problem in &problems {
        let place = format!("bad.yaml:{}:{}:", problem.line, problem.column);
        assert!(shown.contains(&place), "{place} in\n{shown}");
    }
    insta::assert_snapshot!("bad_scenario_small", shown);
    let copied = press(&mut state, "y")
        .into_iter()
        .any(|command| matches!(command, Command::Copy(text) if text.contains("bad.yaml:4:")));
    assert!(copied);
    press(&mut state, "esc");
    assert!(!picture(&state).contains("bad.yaml:4:"));
}

#[test]
fn names_and_queries_that_would_harm_the_terminal_are_cleaned() {
    let tools = vec![fixture::definition("a\x1b[31mred", "Reads.", 300)];
    let bench = Bench::new(tools, (9, 9_000), (9, 9_000));
    let mut own = bench.session("evil\x07name", SessionKind::Client);
    round(
        &mut own,
        &[
            search("reads \x1b]0;title\x07", 3),
            ("no\u{202e}such", json!({})),
        ],
    );
    round(&mut own, &[]);
    let mut state = sessions(&bench.snapshot(), WIDE);
    press(&mut state, "enter");
    for _ in 0..5 {
        press(&mut state, "]");
        let shown = picture(&state);
        let is_clean = |char: char| char == '\n' || !(char.is_control() || char == '\u{202e}');
        assert!(shown.chars().all(is_clean), "{shown}");
    }
}

#[test]
fn the_header_tells_the_fullest_session() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let state = sessions(&bench.snapshot(), WIDE);
    let shown = picture(&state);
    assert!(
        shown
            .lines()
            .next()
            .unwrap()
            .contains("budget agent-7 93 %"),
        "{shown}"
    );
}

#[test]
fn ten_thousand_tools_in_a_session_are_windowed() {
    let tools = (0..10_000).map(|n| fixture::definition(&format!("tool_{n:05}"), "Works.", 120));
    let bench = Bench::new(tools.collect(), (20_000, 20_000_000), (20_000, 20_000_000));
    let mut own = bench.session("large", SessionKind::Operator);
    for n in 0..10_000 {
        own.require(format!("tool_{n:05}"));
    }
    round(&mut own, &[]);
    let mut state = sessions(&bench.snapshot(), WIDE);
    press(&mut state, "enter G");
    let shown = body(&state);
    assert!(
        shown.contains("tool_09999") && shown.contains("10001 of 20000"),
        "{shown}"
    );
    press(&mut state, "/ tool_0004 enter g g");
    let shown = body(&state);
    assert!(
        shown.contains("tool_00040") && !shown.contains("tool_00050"),
        "{shown}"
    );
}
