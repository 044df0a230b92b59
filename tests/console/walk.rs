//! One visit from beginning to end: every screen, every size, a call, and nothing left behind.

use crate::session::{self, Session};

const TABS: [&str; 9] = [
    "Overview",
    "Sources",
    "Tools",
    "Sessions",
    "Telemetry",
    "Calls",
    "Traffic",
    "Logs",
    "Chat",
];

/// How a text on the first rows is drawn, at its first cell.
fn look(screen: &vt100::Screen, text: &str) -> Option<(vt100::Color, vt100::Color, bool, bool)> {
    let columns = screen.size().1.get();
    let rows: Vec<String> = screen.rows(0, columns).take(4).collect();
    let mut rows = rows.iter().enumerate();
    let (row, line) = rows.find(|(_, line)| line.contains(text))?;
    let column = line[..line.find(text)?].chars().count();
    let cell = screen.cell(row.try_into().ok()?, column.try_into().ok()?)?;
    Some((cell.fgcolor(), cell.bgcolor(), cell.bold(), cell.inverse()))
}

#[test]
fn a_visit_to_the_demo_sees_every_screen_calls_a_tool_and_leaves_nothing_behind() {
    let mut session = Session::start(&[]);
    let before = session.echoes();
    session.resize(200, 60);
    session.wait_for("the servers", |screen| {
        screen.contents().contains("servers 3/3")
    });
    let children = session.children();
    for (index, tab) in TABS.iter().enumerate() {
        let key = index + 1;
        session.press(&key.to_string());
        let tab = format!("{key} {tab}");
        let other = TABS[(index + 4) % TABS.len()];
        session.wait_for(&format!("the screen {tab}"), |screen| {
            let shown = look(screen, &tab);
            shown.is_some() && shown != look(screen, other)
        });
    }
    session.press("3");
    session.wait_for("the tools", |screen| {
        screen.contents().contains("files__read_file")
    });
    for (columns, rows) in [(100, 30), (79, 23), (30, 8), (120, 40), (200, 60)] {
        session.resize(columns, rows);
    }
    session.wait_for("the tools again", |screen| {
        screen.contents().contains("files__read_file")
    });
    session.press("/clock__now\r");
    session.wait_for("the one tool", |screen| {
        let text = screen.contents();
        text.contains("clock__now") && !text.contains("files__read_file")
    });
    session.press("c");
    session.wait_for("the form", |screen| {
        screen.contents().contains("Call clock__now")
    });
    // From the field to the button, which calls.
    session.press("\t\r");
    session.wait_for("the result", |screen| {
        let text = screen.contents();
        text.contains("● ok in") && text.contains("owner servers/clock")
    });
    session.press("1");
    session.wait_for("the overview", |screen| {
        screen.contents().contains("Needs attention")
    });
    session.press("q");
    assert_eq!(session.exit(), 0);
    session.is_given_back();
    assert_eq!(session.echoes(), before);
    session::assert_gone(&children);
}

/// Closing the window, which is more than the hang-up: nothing can be written any more.
#[test]
fn a_terminal_that_is_closed_ends_the_console_and_leaves_no_child() {
    let mut session = Session::start_until(&[], "servers 3/3");
    session.wait_for("the servers", |screen| {
        screen.contents().contains("servers 3/3")
    });
    let children = session.children();
    assert!(children.len() >= 2, "{children:?}");
    session.close();
    session.exit();
    session::assert_gone(&children);
}

#[test]
fn commands_at_a_terminal_are_coloured_and_clean_and_no_color_is_honoured() {
    let tools = ["tools", "-c", "config/examples/simulated.yaml"];
    for (no_color, bold) in [("", true), ("1", false)] {
        let mut session = Session::start_with(&tools, &[("NO_COLOR", no_color)]);
        assert_eq!(session.exit(), 0);
        session.wait_for("the list", |screen| {
            screen.contents().contains("send_message")
        });
        let heading = session.screen(|screen| screen.cell(0, 0).unwrap().bold());
        assert_eq!(heading, bold, "NO_COLOR={no_color}");
        // Cut at the edge instead of wrapped: one row for each tool below the heading.
        let rows =
            session.screen(|screen| screen.rows(0, 100).filter(|row| !row.is_empty()).count());
        assert_eq!(rows, 9);
    }
}
