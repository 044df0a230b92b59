//! Pictures of the screen, and what its keys do.

use std::sync::Arc;

use toolcrib::source::{HeldTool, ServerStatus};

use crate::console::command::Command;
use crate::console::fixture::{
    console, definition, empty, failing, normal, overfull, picture, press,
};
use crate::console::screens::ScreenId;
use crate::console::state::State;

fn sources(size: (u16, u16)) -> State {
    console(&failing(), ScreenId::Sources, size)
}

#[test]
fn pictures() {
    for (name, snapshot) in [
        ("empty", empty()),
        ("normal", normal()),
        ("failing", failing()),
        ("overfull", overfull()),
    ] {
        for (width, height) in [(80, 24), (140, 42)] {
            let state = console(&snapshot, ScreenId::Sources, (width, height));
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), picture(&state));
        }
    }
}

#[test]
fn a_killed_server_shows_what_happened_what_was_tried_and_what_to_do() {
    let mut state = sources((140, 42));
    press(&mut state, "j j j");
    insta::assert_snapshot!("killed_140x42", picture(&state));
}

#[test]
fn a_server_that_refuses_us_shows_its_own_words() {
    let mut state = sources((140, 42));
    press(&mut state, "j j j j");
    insta::assert_snapshot!("rejected_140x42", picture(&state));
}

#[test]
fn below_80x24_the_focused_pane_has_the_room() {
    let mut state = sources((50, 14));
    insta::assert_snapshot!("list_50x14", picture(&state));
    press(&mut state, "j j j enter");
    insta::assert_snapshot!("evidence_50x14", picture(&state));
}

#[test]
fn ascii_tells_the_same() {
    let options = crate::console::Options {
        ascii: true,
        ..crate::console::fixture::options(ScreenId::Sources)
    };
    let mut state = State::new(options, &failing(), (140, 42));
    press(&mut state, "j j j");
    insta::assert_snapshot!("ascii_140x42", picture(&state));
}

#[test]
fn zoom_leaves_text_alone_without_borders() {
    let mut state = sources((100, 30));
    press(&mut state, "j j j enter z");
    let shown = picture(&state);
    assert!(!shown.contains(['│', '┌', '└']));
    assert!(shown.starts_with("reachable"));
}

#[test]
fn the_sub_tabs_go_round() {
    let mut state = sources((140, 42));
    press(&mut state, "j j j ]");
    assert!(picture(&state).contains("stderr   error: cannot open /srv/demo/zone.tab"));
    press(&mut state, "]");
    assert!(picture(&state).contains("clock__now"));
    press(&mut state, "] [ [");
    assert!(picture(&state).contains("stderr   starting"));
}

#[test]
fn a_search_in_the_evidence_marks_and_steps_round() {
    let mut state = sources((100, 24));
    press(&mut state, "j j j enter / zone.tab enter");
    assert!(picture(&state).contains("zone.tab"));
    press(&mut state, "n n n n N");
    assert!(picture(&state).contains("zone.tab"));
    press(&mut state, "esc");
    assert_eq!(state.screen().filter(), "");
    assert_eq!(state.screen().depth(), 1);
}

/// The names in the list, from the top.
fn names(state: &State) -> Vec<String> {
    let known = ["files", "web", "sim", "clock", "mail", "git"];
    let picture = picture(state);
    let first = |line: &str| {
        line.trim_start_matches('│')
            .split_whitespace()
            .nth(1)
            .map(str::to_owned)
    };
    picture
        .lines()
        .filter_map(|line| first(line.split("││").next()?))
        .filter(|name| known.contains(&name.as_str()))
        .collect()
}

#[test]
fn s_goes_through_the_columns_and_back_to_the_order_of_the_file_and_i_inverts() {
    let mut state = sources((140, 42));
    let file = ["files", "web", "sim", "clock", "mail", "git"];
    assert_eq!(names(&state), file);
    press(&mut state, "s");
    assert_eq!(
        names(&state),
        ["clock", "files", "git", "mail", "sim", "web"]
    );
    press(&mut state, "i");
    assert_eq!(
        names(&state),
        ["web", "sim", "mail", "git", "files", "clock"]
    );
    press(&mut state, "s");
    // By state, the worst first; of equals the order of the file.
    assert_eq!(
        names(&state),
        ["clock", "mail", "git", "files", "web", "sim"]
    );
    press(&mut state, "s s s s s s");
    assert_eq!(names(&state), file);
}

#[test]
fn y_copies_the_failure_card_and_else_what_is_shown() {
    let mut state = sources((140, 42));
    press(&mut state, "j j j");
    let [Command::Copy(card)] = &press(&mut state, "y")[..] else {
        panic!("nothing was copied");
    };
    insta::assert_snapshot!("copied_card", card);
    press(&mut state, "g g");
    let [Command::Copy(text)] = &press(&mut state, "y")[..] else {
        panic!("nothing was copied");
    };
    assert!(text.starts_with("reachable"));
}

/// The server `files` holds definitions back: one that changed, and new ones.
fn holding(count: usize) -> State {
    let mut snapshot = toolcrib::observe::Snapshot::clone(&normal());
    let held = |at: usize| HeldTool {
        definition: definition(
            &format!("files__tool_{at}"),
            "Now it mails what it reads.",
            80,
        ),
        accepted: (at == 0).then(|| definition("files__tool_0", "Reads a file.", 80)),
    };
    snapshot.servers = snapshot
        .servers
        .iter()
        .map(|server| match &*server.name {
            "files" => Arc::new(ServerStatus {
                held: (0..count).map(held).collect(),
                ..ServerStatus::clone(server)
            }),
            _ => Arc::clone(server),
        })
        .collect();
    let mut state = console(&Arc::new(snapshot), ScreenId::Sources, (100, 30));
    press(&mut state, "/ f i l e s enter");
    state
}

/// Which tool is accepted, if any order was given.
fn accepted(commands: &[Command]) -> Option<Option<&str>> {
    commands.iter().find_map(|command| match command {
        Command::Accept { tool, .. } => Some(tool.as_deref()),
        _ => None,
    })
}

#[test]
fn one_definition_of_several_is_accepted_or_all_of_them() {
    let mut state = holding(12);
    assert_eq!(accepted(&press(&mut state, "A")), None);
    insta::assert_snapshot!("accept_100x30", picture(&state));
    assert_eq!(
        accepted(&press(&mut state, "3")),
        Some(Some("files__tool_2"))
    );
    assert_eq!(accepted(&press(&mut state, "A a")), Some(None));
    let mut state = holding(1);
    assert_eq!(accepted(&press(&mut state, "A n")), None);
    assert_eq!(
        accepted(&press(&mut state, "A y")),
        Some(Some("files__tool_0"))
    );
}
