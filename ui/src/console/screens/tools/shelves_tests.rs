use std::sync::Arc;

use toolcrib::observe::Snapshot;
use toolcrib::source::skills::Shelf;

use crate::console::command::Command;
use crate::console::fixture::{self, console, picture, press, take};
use crate::console::screens::ScreenId;
use crate::console::state::State;

const SMALL: (u16, u16) = (80, 24);
const MIDDLE: (u16, u16) = (100, 30);
const WIDE: (u16, u16) = (140, 42);

fn tools(size: (u16, u16)) -> State {
    console(&fixture::with_skills(), ScreenId::Tools, size)
}

fn body(state: &State) -> String {
    let picture = picture(state);
    let lines: Vec<&str> = picture.lines().skip(2).collect();
    lines.join("\n")
}

#[test]
fn pictures_of_the_three_lists() {
    for size in [SMALL, MIDDLE, WIDE] {
        let name = |list: &str| format!("shelves-{list}-{}x{}", size.0, size.1);
        let mut state = tools(size);
        insta::assert_snapshot!(name("tools"), body(&state));
        press(&mut state, "]");
        insta::assert_snapshot!(name("skills"), body(&state));
        press(&mut state, "]");
        insta::assert_snapshot!(name("toolsets"), body(&state));
    }
}

#[test]
fn picture_of_the_request_of_a_tool_and_of_its_skill_in_ascii() {
    let mut state = tools(WIDE);
    press(&mut state, "/ skills__book enter enter ]");
    insta::assert_snapshot!("tab-request", body(&state));
    let mut options = fixture::options(ScreenId::Tools);
    options.ascii = true;
    options.colour = false;
    let mut state = State::new(options, &fixture::with_skills(), SMALL);
    press(&mut state, "] enter G");
    let picture = body(&state);
    assert!(picture.is_ascii(), "{picture}");
    assert!(picture.contains("the station is {{station}}"), "{picture}");
}

#[test]
fn the_keys_of_sub_tabs_act_on_what_has_the_focus() {
    let mut state = tools(WIDE);
    press(&mut state, "] ]");
    assert!(picture(&state).contains("[Toolsets 1]"));
    press(&mut state, "]");
    assert!(picture(&state).contains("[Tools 9]"), "round the end");
    press(&mut state, "enter ]");
    let inside = picture(&state);
    assert!(
        inside.contains("[Tools 9]") && inside.contains("[Schema]"),
        "{inside}"
    );
    press(&mut state, "esc ] enter [");
    assert!(picture(&state).contains("[Tools 9]"));
}

#[test]
fn the_filter_holds_and_y_copies_the_name_or_the_prompt() {
    let mut state = tools(WIDE);
    let copied = |commands: Vec<Command>| match &commands[..] {
        [Command::Copy(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    press(&mut state, "] / mann enter");
    let shown = picture(&state);
    assert!(
        shown.contains("Answer in one sentence.") && !shown.contains("harbour"),
        "{shown}"
    );
    assert_eq!(copied(press(&mut state, "y")), "manners");
    assert_eq!(
        copied(press(&mut state, "enter y")),
        "Answer in one sentence."
    );
    press(&mut state, "esc / zzz enter");
    assert!(picture(&state).contains("Nothing fits the filter"));
    press(&mut state, "enter j G y");
}

#[test]
fn shelves_that_go_away_take_their_lists_with_them() {
    let mut state = tools(WIDE);
    press(&mut state, "] enter");
    take(&mut state, &fixture::normal());
    let shown = picture(&state);
    assert!(
        shown.contains("Tools 7") && !shown.contains("Skills"),
        "{shown}"
    );
}

#[test]
fn nothing_of_a_file_reaches_the_terminal_raw_and_no_size_is_too_small() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}evil\u{9b}31m\0\r\nline\u{2028}two";
    let mut all = Snapshot::clone(&fixture::with_skills());
    let mut shelf = Shelf::clone(&all.shelves[0]);
    let mut skills = shelf.skills.to_vec();
    let skill = &mut skills[0];
    skill.name = hostile.into();
    skill.description = hostile.into();
    skill.version = Some(hostile.into());
    skill.append = Some(hostile.into());
    skill.parameters = vec![(hostile.into(), hostile.into())];
    skill.extract = vec![(hostile.into(), hostile.into(), hostile.into())];
    shelf.skills = skills.into();
    let mut sets = shelf.toolsets.to_vec();
    sets[0].name = hostile.into();
    sets[0].description = hostile.into();
    shelf.toolsets = sets.into();
    all.shelves = vec![Arc::new(shelf)].into();
    let all = Arc::new(all);
    for size in [WIDE, SMALL, (40, 10), (10, 4), (1, 1)] {
        let mut state = console(&all, ScreenId::Tools, size);
        for keys in ["]", "enter G", "esc ]", "enter", "esc [ [ enter ]"] {
            press(&mut state, keys);
            let picture = picture(&state);
            let raw = picture.chars().find(|char| {
                (char.is_control() && *char != '\n') || matches!(*char, '\u{202e}' | '\u{2028}')
            });
            assert_eq!(raw, None, "{picture}");
        }
    }
}
