//! The panes that answer questions, over sessions that were really run.

use std::sync::Arc;

use serde_json::json;
use toolcrib::discovery::Mode;
use toolcrib::discovery::what_if::what_if;
use toolcrib::observe::Snapshot;
use toolcrib::session::{SessionDriver, SessionKind};

use crate::console::command::{Answer, Command};
use crate::console::event::Event;
use crate::console::fixture::{Bench, console, definition, picture, press, round, take};
use crate::console::screens::ScreenId;
use crate::console::state::State;
use crate::console::update::update;

const WIDE: (u16, u16) = (140, 42);
const MIDDLE: (u16, u16) = (100, 30);
const SMALL: (u16, u16) = (80, 24);
const TINY: (u16, u16) = (40, 10);

/// What is on the screen between the tabs and the footer, which are others' to picture.
fn body(state: &State) -> String {
    let picture = picture(state);
    let lines: Vec<&str> = picture.lines().skip(2).collect();
    let (_, above) = lines.split_last().unwrap();
    above.join("\n") + "\n"
}

/// Whether all of this can be read on the screen.
fn shows(state: &State, words: &[&str]) {
    let body = body(state);
    for word in words {
        assert!(body.contains(word), "{word} in\n{body}");
    }
}

fn search(query: &str, limit: usize) -> (&'static str, serde_json::Value) {
    ("tool_search", json!({"query": query, "limit": limit}))
}

/// A session that searched, called, was short of room, and lost tools.
fn busy(bench: &Bench) -> SessionDriver {
    let mut driver = bench.session("agent-7", SessionKind::Agent);
    round(
        &mut driver,
        &[search("read a file", 1), search("send a mail", 1)],
    );
    round(&mut driver, &[("files__read_file", json!({}))]);
    round(&mut driver, &[search("video", 2)]);
    round(&mut driver, &[("video__cut", json!({}))]);
    round(&mut driver, &[]);
    driver
}

fn opened(snapshot: &Arc<Snapshot>, size: (u16, u16)) -> State {
    let mut state = console(snapshot, ScreenId::Sessions, size);
    press(&mut state, "enter");
    state
}

/// Types a text, blanks too.
fn type_in(state: &mut State, text: &str) {
    press(state, &text.replace(' ', " space "));
}

/// Presses keys and plays what they have played again.
fn press_and_play(state: &mut State, pressed: &str) {
    for command in press(state, pressed) {
        if let Command::WhatIf {
            id,
            rounds,
            changes,
        } = command
        {
            let played = what_if(&rounds, &changes).map(Box::new);
            update(state, Event::Answered(id, Answer::WhatIf(played)));
        }
    }
}

#[test]
fn why_tells_the_chain_of_the_selected_tool_and_follows_the_selection() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), WIDE);
    press(&mut state, "j j o");
    shows(
        &state,
        &[
            "Why: files__read_file",
            "files__read_file is sent in",
            "found",
            "budget",
        ],
    );
    insta::assert_snapshot!("why", body(&state));
    press(&mut state, "tab k");
    assert!(
        body(&state).contains("tool_search is sent"),
        "{}",
        body(&state)
    );
}

#[test]
fn why_not_is_asked_by_name_with_completion() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), WIDE);
    press(&mut state, "o enter");
    type_in(&mut state, "mail");
    shows(&state, &["tool: mail", "mail__send"]);
    press(&mut state, "enter");
    shows(&state, &["mail__send is not sent in", "kept", "idle since"]);
    insta::assert_snapshot!("why_not", body(&state));
    press(&mut state, "enter");
    type_in(&mut state, "web fetch");
    press(&mut state, "enter");
    shows(&state, &["web__fetch is not sent in", "search for `fetch`"]);
    press(&mut state, "enter");
    type_in(&mut state, "wev__fetch");
    press(&mut state, "enter");
    shows(
        &state,
        &["wev__fetch is not sent in", "use the name `web__fetch`"],
    );
}

#[test]
fn why_fits_every_size() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    for (name, size) in [("middle", MIDDLE), ("small", SMALL), ("tiny", TINY)] {
        let mut state = opened(&bench.snapshot(), size);
        press(&mut state, "o enter");
        type_in(&mut state, "mail");
        press(&mut state, "enter");
        shows(&state, &["is not sent in"]);
        insta::assert_snapshot!(format!("why_not_{name}"), body(&state));
    }
}

#[test]
fn a_search_is_explained_while_it_is_typed_with_near_misses() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), WIDE);
    press(&mut state, "left left x");
    shows(&state, &["query: video", "video__cut", "video__render"]);
    press(&mut state, "enter");
    type_in(&mut state, " fetch a page");
    shows(&state, &["web__fetch", "below the limit of 2"]);
    insta::assert_snapshot!("explained", body(&state));
    let mut small = opened(&bench.snapshot(), TINY);
    press(&mut small, "x");
    type_in(&mut small, "cut");
    shows(&small, &["query: cut", "video__cut"]);
}

#[test]
fn no_more_hits_are_listed_than_the_pool_holds() {
    let bench = Bench::new(
        (0..6)
            .map(|n| definition(&format!("f__read_{n}"), "", 10))
            .collect(),
        (8, 4_096),
        (3, 6_144),
    );
    let mut driver = bench.session("s", SessionKind::Agent);
    round(&mut driver, &[]);
    let mut state = opened(&bench.snapshot(), WIDE);
    press(&mut state, "x");
    type_in(&mut state, "read");
    shows(
        &state,
        &["Explain a search, 3 hits", "below the limit of 3"],
    );
}

#[test]
fn why_there_is_no_hit_is_told_as_it_is() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    for (query, words) in [
        ("", "Type what a model would ask for"),
        ("the", "`the` says nothing and is not searched."),
        ("of the", "`of`, `the` say nothing and are not searched."),
        ("zzyzx", "nor one that begins with them."),
        ("the zzyzx", "`the`"),
        ("tool_search", "`tool_search` exists and is sent always"),
    ] {
        let mut state = opened(&bench.snapshot(), WIDE);
        press(&mut state, "x");
        type_in(&mut state, query);
        shows(&state, &[words]);
    }
}

#[test]
fn a_hidden_tool_of_that_name_is_said_to_be_hidden() {
    let bench = Bench::usual();
    let hidden = bench
        .discovery
        .overrule(&"mail__send".into(), Some(Mode::Hidden));
    assert_eq!(hidden, Ok(Mode::Hidden));
    let _driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), WIDE);
    press(&mut state, "x");
    type_in(&mut state, "mail__send");
    shows(&state, &["`mail__send` exists, but is hidden"]);
}

#[test]
fn an_exact_name_that_is_not_first_is_told() {
    let tools = [("a__log", ""), ("log__log_logs", "log log")];
    let tools = tools.map(|(name, about)| definition(name, about, 10));
    let bench = Bench::new(tools.into(), (8, 4_096), (6, 6_144));
    let mut driver = bench.session("s", SessionKind::Agent);
    round(&mut driver, &[]);
    let mut state = opened(&bench.snapshot(), SMALL);
    press(&mut state, "x");
    type_in(&mut state, "log");
    shows(&state, &["a__log has exactly this name"]);
}

#[test]
fn other_settings_are_tried_round_by_round() {
    let bench = Bench::usual();
    let mut driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), WIDE);
    press(&mut state, "t");
    shows(&state, &["change a setting", "budget.max_definitions"]);
    press_and_play(&mut state, "enter");
    type_in(&mut state, "2");
    press_and_play(&mut state, "enter");
    shows(
        &state,
        &["4 of 5 rounds differ", "missed video__cut", "the same"],
    );
    insta::assert_snapshot!("other_settings", body(&state));
    press_and_play(&mut state, "+ j j j j - G");
    shows(&state, &["4 of 5 rounds differ"]);
    round(&mut driver, &[]);
    take(&mut state, &bench.snapshot());
    assert!(
        body(&state).contains("it has gone on since"),
        "{}",
        body(&state)
    );
    press_and_play(&mut state, "f");
    assert!(body(&state).contains("of 6 rounds"), "{}", body(&state));
}

#[test]
fn a_typed_zero_tries_the_default_and_shows_it() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), WIDE);
    press(&mut state, "t");
    press_and_play(&mut state, "enter");
    type_in(&mut state, "0");
    press_and_play(&mut state, "enter");
    shows(&state, &["→ 32 (default)"]);
    press_and_play(&mut state, "+");
    shows(&state, &["→ 33"]);
}

#[test]
fn the_exposure_of_the_selected_tool_is_tried_and_the_settings_are_copied() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), MIDDLE);
    press(&mut state, "G t");
    press_and_play(&mut state, "e");
    shows(&state, &["rounds differ"]);
    let copied = press(&mut state, "y")
        .into_iter()
        .find_map(|command| match command {
            Command::Copy(text) => Some(text),
            _ => None,
        });
    insta::assert_snapshot!("what_if_copied", copied.unwrap());
}

#[test]
fn while_an_answer_is_waited_for_that_is_said_and_a_late_one_is_ignored() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = opened(&bench.snapshot(), SMALL);
    press(&mut state, "t");
    let orders = press(&mut state, "+ +");
    assert!(
        body(&state).contains("plays the rounds again"),
        "{}",
        body(&state)
    );
    let mut played = orders.into_iter().filter_map(|command| match command {
        Command::WhatIf {
            id,
            rounds,
            changes,
        } => Some((id, what_if(&rounds, &changes).map(Box::new))),
        _ => None,
    });
    let (early, late) = (played.next().unwrap(), played.next().unwrap());
    update(
        &mut state,
        Event::Answered(early.0, Answer::WhatIf(early.1)),
    );
    assert!(body(&state).contains("plays the rounds again"));
    update(&mut state, Event::Answered(late.0, Answer::WhatIf(late.1)));
    assert!(body(&state).contains("rounds differ"), "{}", body(&state));
}

#[test]
fn the_screen_tools_asks_why_about_its_selected_tool() {
    let bench = Bench::usual();
    let _driver = busy(&bench);
    let mut state = console(&bench.snapshot(), ScreenId::Tools, WIDE);
    press(&mut state, "o");
    assert_eq!(state.screen, ScreenId::Sessions);
    assert!(body(&state).contains("Why"), "{}", body(&state));
}
