//! The console on a real terminal: what it shows, and how it gives the terminal back.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod session;
mod walk;

use session::Session;

const SIMULATED: [&str; 2] = ["-c", "config/examples/simulated.yaml"];

#[test]
fn q_ends_it_and_gives_the_terminal_back() {
    let mut session = Session::start(&SIMULATED);
    session.wait_for("the overview", |screen| {
        screen.alternate_screen() && screen.contents().contains("Needs attention")
    });
    session.press("2");
    session.wait_for("the sources", |screen| {
        screen.contents().contains("SINCE") && screen.contents().contains("in process")
    });
    session.press("q");
    assert_eq!(session.exit(), 0);
    session.is_given_back();
}

#[test]
fn ctrl_c_ends_it_from_under_the_help() {
    let mut session = Session::start(&SIMULATED);
    session.wait_for("the overview", |screen| {
        screen.contents().contains("Needs attention")
    });
    session.press("?");
    session.wait_for("the help", |screen| {
        screen.contents().contains("Keys of this screen")
    });
    session.press("\x03");
    assert_eq!(session.exit(), 0);
    session.is_given_back();
}

#[test]
fn a_new_size_is_taken_up_down_to_nearly_nothing_and_back() {
    let mut session = Session::start(&SIMULATED);
    session.wait_for("the overview", |screen| {
        screen.contents().contains("Needs attention")
    });
    for (columns, rows) in [(30, 8), (1, 1), (200, 50), (5, 3)] {
        session.resize(columns, rows);
    }
    session.resize(140, 42);
    session.wait_for("the wide layout", |screen| {
        let top = screen.rows(0, 140).nth(2).unwrap_or_default();
        screen.contents().contains("Latency") && top.contains("New here?")
    });
    session.press("q");
    assert_eq!(session.exit(), 0);
}

#[test]
fn a_signal_ends_it_in_order_and_leaves_no_child() {
    // No arguments: the demo, whose servers are children.
    let mut session = Session::start(&[]);
    session.wait_for("the servers", |screen| {
        screen.contents().contains("servers 3/3")
    });
    let children = session.children();
    assert!(children.len() >= 2, "{children:?}");
    session.signal("TERM");
    assert_eq!(session.exit(), 0);
    session.is_given_back();
    session::assert_gone(&children);
}

/// Rule 10.5. That a terminal which is closed ends it is seen in `walk`.
#[test]
fn a_hang_up_asks_for_a_reload_and_ends_nothing() {
    let mut session = Session::start(&[]);
    session.wait_for("the servers", |screen| {
        screen.contents().contains("servers 3/3")
    });
    let children = session.children();
    session.signal("HUP");
    // The demo is in the program.
    session.wait_for("the answer", |screen| {
        screen.contents().contains("comes from no file")
    });
    session.press("q");
    session.exit();
    session::assert_gone(&children);
}

#[test]
fn ascii_and_no_color_are_honoured() {
    let arguments = [SIMULATED[0], SIMULATED[1], "--ascii"];
    let mut session = Session::start_with(&arguments, &[("NO_COLOR", "1")]);
    session.wait_for("the overview", |screen| {
        screen.contents().contains("Needs attention")
    });
    session.screen(|screen| {
        assert!(screen.contents().is_ascii(), "{}", screen.contents());
        for row in 0..30 {
            for column in 0..100 {
                if let Some(cell) = screen.cell(row, column) {
                    assert_eq!(cell.fgcolor(), vt100::Color::Default);
                }
            }
        }
    });
    session.press("q");
    assert_eq!(session.exit(), 0);
}
