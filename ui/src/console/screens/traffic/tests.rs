//! Pictures of the screen, and what its keys do.

use std::sync::Arc;

use toolcrib::observe::{TrafficFrame, TrafficRows};

use crate::console::command::Command;
use crate::console::fixture::{
    console, empty, failing, normal, options, picture, press, take, traffic, with_traffic,
};
use crate::console::screens::ScreenId;
use crate::console::state::State;

fn shown(size: (u16, u16)) -> State {
    console(
        &with_traffic(&failing(), traffic()),
        ScreenId::Traffic,
        size,
    )
}

#[test]
fn pictures() {
    for (width, height) in [(140, 42), (100, 30), (80, 24), (40, 10)] {
        let mut state = shown((width, height));
        press(&mut state, "k k k k k k");
        insta::assert_snapshot!(format!("frames_{width}x{height}"), picture(&state));
    }
    let state = console(&empty(), ScreenId::Traffic, (80, 24));
    insta::assert_snapshot!("empty_80x24", picture(&state));
    let options = crate::console::Options {
        ascii: true,
        ..options(ScreenId::Traffic)
    };
    let mut state = State::new(options, &with_traffic(&normal(), traffic()), (140, 30));
    press(&mut state, "k");
    insta::assert_snapshot!("ascii_140x30", picture(&state));
}

#[test]
fn stderr_and_server_logs_are_sub_tabs_of_their_own() {
    let mut state = shown((120, 24));
    press(&mut state, "]");
    insta::assert_snapshot!("stderr_120x24", picture(&state));
    press(&mut state, "/ server:clock enter");
    assert!(picture(&state).contains("zone.tab"));
    press(&mut state, "/ nowhere enter");
    assert!(picture(&state).contains("no line matches"));
}

#[test]
fn a_frame_opens_as_a_tree_and_turns_into_text_and_esc_goes_back_level_by_level() {
    let mut state = shown((140, 42));
    press(&mut state, "k k k k k enter j j j j j j j");
    assert!(picture(&state).contains("answers frame 2 after 12 ms"));
    press(&mut state, "enter");
    assert_eq!(state.screen().depth(), 2, "{}", picture(&state));
    assert!(picture(&state).contains("a␛[31mb"));
    press(&mut state, "esc v");
    assert!(picture(&state).contains("\"content\": ["));
    press(&mut state, "esc");
    assert_eq!(state.screen().depth(), 0);
}

#[test]
fn what_is_no_message_is_shown_escaped() {
    let mut state = shown((140, 42));
    press(&mut state, "k");
    let picture = picture(&state);
    assert!(
        picture.contains(r"\u{1b}[32mlistening\u{1b}[0m on stdio"),
        "{picture}"
    );
}

fn more(from: u64, count: u64) -> TrafficRows {
    let sample = Arc::clone(traffic().get(2).unwrap());
    let rows = (from..from + count).map(|number| {
        Arc::new(TrafficFrame {
            number,
            ..TrafficFrame::clone(&sample)
        })
    });
    TrafficRows {
        pages: vec![rows.collect()].into(),
        dropped: from,
    }
}

fn title(state: &State) -> String {
    picture(state).lines().nth(2).unwrap_or_default().to_owned()
}

#[test]
fn it_follows_until_somebody_moves_and_again_with_f() {
    let mut state = console(
        &with_traffic(&normal(), more(0, 50)),
        ScreenId::Traffic,
        (140, 30),
    );
    assert!(title(&state).contains("following") && title(&state).contains("Frame 49"));
    take(&mut state, &with_traffic(&normal(), more(20, 50)));
    assert!(title(&state).contains("Frame 69") && title(&state).contains("20 older dropped"));
    press(&mut state, "k");
    take(&mut state, &with_traffic(&normal(), more(30, 90)));
    assert!(title(&state).contains("Frame 68") && !title(&state).contains("following"));
    press(&mut state, "f");
    assert!(title(&state).contains("Frame 119"));
    press(&mut state, "space");
    take(&mut state, &with_traffic(&normal(), more(60, 90)));
    assert!(title(&state).contains("Frame 119"), "frozen");
    press(&mut state, "space");
    assert!(title(&state).contains("Frame 149"));
}

#[test]
fn a_filter_narrows_the_list_and_the_export_writes_what_is_listed() {
    let mut state = shown((140, 42));
    press(&mut state, "/ tool:read enter");
    assert!(title(&state).contains("2 of 9 matching"));
    let commands = press(&mut state, "E");
    let [Command::SaveFrames { name, frames, .. }] = &commands[..] else {
        panic!("nothing was written: {commands:?}");
    };
    assert_eq!(name, "toolcrib-traffic-20261130-121452.jsonl");
    let text = super::lines(frames.iter().map(|frame| &**frame));
    let objects: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["message"]["params"]["name"], "read_file");
    assert_eq!(objects[1]["latency_ms"], 12.0);
    assert_eq!(objects[1]["id"], 2);
    press(&mut state, "esc");
    assert!(title(&state).contains("Traffic 9"));
}

#[test]
fn ten_thousand_new_frames_cost_little() {
    // Were frames formatted before they are on the screen, this would take many seconds.
    let mut state = console(&normal(), ScreenId::Traffic, (140, 42));
    for round in 0..20 {
        take(
            &mut state,
            &with_traffic(&normal(), more(round * 10_000, 10_000)),
        );
        picture(&state);
    }
    assert!(title(&state).contains("Frame 199999"));
}
