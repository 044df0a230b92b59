//! Which lines are shown.

use std::sync::Arc;

use toolcrib::observe::Snapshot;
use tracing::Level;

use crate::console::event::Event;
use crate::console::fixture::{ago, console, failing, normal, picture, press, take};
use crate::console::log::LogRecord;
use crate::console::screens::ScreenId;
use crate::console::state::State;
use crate::console::update::update;

fn logs(size: (u16, u16)) -> State {
    console(&failing(), ScreenId::Logs, size)
}

fn say(state: &mut State, level: Level, target: &str, text: &str) {
    let record = LogRecord {
        at: ago(0),
        level,
        target: target.into(),
        text: text.into(),
    };
    update(state, Event::Logs(vec![Arc::new(record)]));
}

#[test]
fn pictures() {
    for (width, height) in [(80, 24), (140, 42)] {
        insta::assert_snapshot!(
            format!("failing_{width}x{height}"),
            picture(&logs((width, height)))
        );
    }
    let state = console(&crate::console::fixture::empty(), ScreenId::Logs, (80, 24));
    assert!(picture(&state).contains("nothing has been logged yet"));
}

#[test]
fn plus_and_minus_move_through_the_levels() {
    let mut state = logs((120, 60));
    for (level, text) in [
        (Level::DEBUG, "quiet"),
        (Level::INFO, "usual"),
        (Level::ERROR, "loud"),
    ] {
        say(&mut state, level, "x", text);
    }
    let shows = |state: &State| {
        let picture = picture(state);
        ["quiet", "usual", "loud"].map(|word| picture.contains(word))
    };
    assert_eq!(shows(&state), [false, true, true]);
    press(&mut state, "+ G");
    assert_eq!(shows(&state), [true, true, true]);
    press(&mut state, "- - - - - - G");
    assert_eq!(shows(&state), [false, false, true]);
}

#[test]
fn the_filter_keeps_the_lines_that_hold_it() {
    let mut state = logs((120, 40));
    press(&mut state, "/ zone.TAB enter");
    let shown = picture(&state);
    assert!(shown.contains("zone.tab") && !shown.contains("listening"));
    press(&mut state, "/ nothing-like-it enter");
    assert!(picture(&state).contains("no line matches"));
    press(&mut state, "esc");
    assert!(picture(&state).contains("listening"));
}

#[test]
fn a_snapshot_that_tells_nothing_new_adds_no_line_and_a_new_one_only_what_is_new() {
    let mut state = console(&normal(), ScreenId::Logs, (120, 40));
    let before = state.screens.logs.records.len();
    take(&mut state, &normal());
    assert_eq!(state.screens.logs.records.len(), before);
    let mut newer = Snapshot::clone(&normal());
    let call = crate::console::fixture::call(999, "web__fetch", 0, None);
    newer.history = std::iter::once(Arc::new(call))
        .chain(newer.history.iter().cloned())
        .collect();
    take(&mut state, &Arc::new(newer));
    let new: Vec<_> = state.screens.logs.records.iter().skip(before).collect();
    assert_eq!(new.len(), 1);
    assert_eq!(&*new[0].text, "call-999 web__fetch ok in 17 ms");
}

#[test]
fn the_oldest_lines_go_first_and_the_title_says_how_many() {
    let mut state = console(&crate::console::fixture::empty(), ScreenId::Logs, (120, 20));
    for number in 0..super::KEPT + 2 {
        say(&mut state, Level::INFO, "x", &format!("line {number}"));
    }
    assert!(picture(&state).contains("(2 older dropped)"));
    press(&mut state, "g g");
    assert!(picture(&state).contains("line 2"));
}

#[test]
fn scrolling_stops_following_and_f_takes_it_up_again() {
    let mut state = logs((100, 12));
    assert!(picture(&state).contains("following"));
    press(&mut state, "k");
    assert!(!picture(&state).contains("following"));
    let before = picture(&state);
    say(&mut state, Level::INFO, "x", "newest of all");
    assert_eq!(body(&picture(&state)), body(&before));
    press(&mut state, "f");
    assert!(picture(&state).contains("newest of all"));
}

/// The lines inside the frame.
fn body(picture: &str) -> Vec<String> {
    let lines = picture.lines().skip(3);
    lines
        .filter(|line| line.starts_with('│'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn t_shows_the_log_by_target() {
    tui_logger::set_default_level(log::LevelFilter::Trace);
    tui_logger::Drain::new().log(
        &log::Record::builder()
            .level(log::Level::Warn)
            .target("a-target-of-this-test")
            .args(format_args!("said once"))
            .build(),
    );
    tui_logger::move_events();
    let mut state = logs((140, 20));
    press(&mut state, "t");
    let shown = picture(&state);
    assert!(shown.contains("a-target-of-this-test"), "{shown}");
    press(&mut state, "esc");
    assert!(picture(&state).contains("Log, info and graver"));
}
