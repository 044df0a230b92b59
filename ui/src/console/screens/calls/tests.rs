use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib::middleware::{Decision, PendingApproval};
use toolcrib::observe::{CallRecord, Snapshot};
use toolcrib::tool::{Call, Definition, ErrorKind, Part, Progress};

use crate::console::command::{Answer, Command, OrderId};
use crate::console::event::Event;
use crate::console::fixture::{self, console, picture, press, take};
use crate::console::screens::ScreenId;
use crate::console::shared::Options;
use crate::console::state::State;
use crate::console::update::update;

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (140, 42);

fn calls(snapshot: &Arc<Snapshot>, size: (u16, u16)) -> State {
    console(snapshot, ScreenId::Calls, size)
}

/// One tool with every kind of field, one without arguments, one of alternatives.
fn varied() -> Arc<Snapshot> {
    let mut all = Snapshot::clone(&fixture::normal());
    let mut rows = all.tools.to_vec();
    let put = |row: &mut toolcrib::observe::ToolRow, name: &str, schema| {
        let definition = Definition::new(name, format!("Does {name}."), schema).unwrap();
        row.definition = definition;
    };
    put(
        &mut rows[0],
        "a__rich",
        json!({"type": "object", "required": ["path", "mode"], "additionalProperties": false, "properties": {
            "path": {"type": "string", "minLength": 2, "description": "which file to read, from the root on"},
            "lines": {"type": ["integer", "null"], "minimum": 1, "maximum": 500, "default": 100},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "mode": {"enum": ["text", "binary"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        }}),
    );
    rows[0].hints.destructive = Some(true);
    put(&mut rows[1], "b__plain", json!({"type": "object"}));
    put(
        &mut rows[2],
        "c__either",
        json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    );
    rows.sort_by(|a, b| a.definition.name().cmp(b.definition.name()));
    all.tools = rows.into();
    // Fresh calls are numbered from 1 as well.
    all.history = Arc::new([]);
    Arc::new(all)
}

fn with(snapshot: &Arc<Snapshot>, edit: impl FnOnce(&mut Snapshot)) -> Arc<Snapshot> {
    let mut all = Snapshot::clone(snapshot);
    edit(&mut all);
    Arc::new(all)
}

fn ended(number: usize, tool: &str, parts: Vec<Part>) -> CallRecord {
    CallRecord {
        bytes_out: parts.iter().map(Part::encoded_len).sum(),
        parts: Some(parts.into()),
        ..fixture::call(number, tool, 1, None)
    }
}

fn with_result(parts: Vec<Part>) -> Arc<Snapshot> {
    with(&fixture::normal(), |all| {
        all.running = Arc::new([]);
        all.history = vec![Arc::new(ended(1, "files__read_file", parts))].into();
    })
}

fn fired(commands: &[Command]) -> (OrderId, &Call) {
    match commands {
        [Command::Call { id, call }] => (*id, call),
        other => panic!("{other:?}"),
    }
}

/// What is on the screen below the header and the tabs, which are others' to picture.
fn body(state: &State) -> String {
    let picture = picture(state);
    let lines: Vec<&str> = picture.lines().skip(2).collect();
    lines.join("\n")
}

#[test]
fn pictures_of_every_state_at_both_sizes() {
    let states = [
        ("empty", fixture::empty()),
        ("normal", fixture::normal()),
        ("failing", fixture::failing()),
        ("overfull", fixture::overfull()),
    ];
    for (name, snapshot) in states {
        for size in [SMALL, WIDE] {
            let body = body(&calls(&snapshot, size));
            insta::assert_snapshot!(format!("{name}-{}x{}", size.0, size.1), body);
        }
    }
}

#[test]
fn pictures_of_a_form_from_empty_to_faulty_to_json() {
    for size in [SMALL, WIDE] {
        let name = |step: &str| format!("form-{step}-{}x{}", size.0, size.1);
        let mut state = calls(&varied(), size);
        press(&mut state, "c");
        insta::assert_snapshot!(name("1-picker"), body(&state));
        press(&mut state, "rich enter");
        insta::assert_snapshot!(name("2-empty"), body(&state));
        press(&mut state, "x tab 900 tab a tab space tab");
        insta::assert_snapshot!(name("3-typing"), body(&state));
        press(&mut state, "tab [1, tab");
        insta::assert_snapshot!(name("4-faulty"), body(&state));
        press(&mut state, "ctrl-o");
        insta::assert_snapshot!(name("5-json"), body(&state));
    }
}

#[test]
fn pictures_of_results_by_their_kind() {
    let parts = vec![
        Part::Text(
            "The first line.\nThe second one is long enough that it has to wrap somewhere in \
                    the pane, wherever that is, and so it does."
                .into(),
        ),
        Part::json(
            json!({"rows": [{"id": 1, "name": "one"}, {"id": 2, "name": null}], "total": 2}),
        ),
        Part::Image {
            bytes: vec![0; 2_048].into(),
            media_type: "image/png".into(),
        },
        Part::File {
            uri: "file:///srv/a.txt".into(),
            media_type: Some("text/plain".into()),
            name: Some("a.txt".into()),
        },
    ];
    let mut state = calls(&with_result(parts), WIDE);
    press(&mut state, "enter");
    for kind in ["text", "data", "image", "file", "arguments"] {
        insta::assert_snapshot!(format!("result-{kind}"), body(&state));
        press(&mut state, "]");
    }
}

#[test]
fn picture_of_an_error_and_of_a_call_under_way() {
    let snapshot = with(&fixture::normal(), |all| {
        let mut record = fixture::call(2, "files__read_file", 3, Some(ErrorKind::Timeout));
        record.truncated = true;
        record.reached_tool = false;
        all.history = vec![Arc::new(record)].into();
        let mut running = all.running.to_vec();
        running[0].progress = Some(Progress {
            done: 3.0,
            total: Some(8.0),
            message: Some("copying".into()),
        });
        all.running = running.into();
    });
    let mut state = calls(&snapshot, WIDE);
    insta::assert_snapshot!("error", body(&state));
    press(&mut state, "j enter");
    insta::assert_snapshot!("underway", body(&state));
}

#[test]
fn enter_on_the_call_button_fires_and_the_result_is_followed() {
    let snapshot = varied();
    let mut state = calls(&snapshot, WIDE);
    press(&mut state, "c plain enter");
    let commands = press(&mut state, "enter");
    let (_, call) = fired(&commands);
    assert_eq!((&*call.tool, &call.arguments), ("b__plain", &json!({})));
    assert!(picture(&state).contains("sent"));
    let id = call.id.clone();
    let running = with(&snapshot, |all| {
        let mut row = fixture::running(id.as_str(), "b__plain", 2);
        row.arguments = json!({});
        all.running = all.running.iter().cloned().chain([row]).collect();
    });
    take(&mut state, &running);
    assert!(
        picture(&state).contains("runs for 2 s"),
        "{}",
        picture(&state)
    );
    let done = with(&snapshot, |all| {
        let mut record = ended(5, "b__plain", vec![Part::Text("all done".into())]);
        record.id = id;
        all.history = std::iter::once(Arc::new(record))
            .chain(all.history.iter().cloned())
            .collect();
    });
    take(&mut state, &done);
    assert!(picture(&state).contains("all done"));
}

#[test]
fn wrong_arguments_are_sent_only_after_a_yes() {
    let mut state = calls(&varied(), WIDE);
    press(&mut state, "c rich enter x shift-tab");
    assert!(press(&mut state, "enter").is_empty());
    assert!(picture(&state).contains("anyway?"));
    assert!(press(&mut state, "n").is_empty());
    assert!(
        picture(&state).contains("[ Call ]"),
        "the form is still there"
    );
    press(&mut state, "enter");
    let commands = press(&mut state, "y");
    assert_eq!(fired(&commands).1.arguments, json!({"path": "x"}));
    assert!(picture(&state).contains("sent"));
}

#[test]
fn a_slow_call_delays_no_key_and_several_run_at_once() {
    let mut state = calls(&varied(), WIDE);
    let mut ids = Vec::new();
    for _ in 0..3 {
        press(&mut state, "c plain enter");
        let commands = press(&mut state, "enter");
        ids.push(fired(&commands).0);
    }
    press(&mut state, "3 6 j k");
    assert_eq!(state.shared.own_calls().count(), 3);
    // `q` asks while they run.
    assert!(press(&mut state, "q").is_empty());
    assert!(picture(&state).contains("3 calls that you fired still run"));
    press(&mut state, "n");
    for id in ids {
        let closed = Answer::Called(Box::new(Err(toolcrib::control::ControlError::Closed)));
        update(&mut state, Event::Answered(id, closed));
    }
    assert!(matches!(press(&mut state, "q")[..], [Command::Quit]));
}

#[test]
fn a_stale_answer_is_ignored() {
    let mut state = calls(&varied(), WIDE);
    press(&mut state, "c plain enter");
    let commands = press(&mut state, "enter");
    let id = fired(&commands).0;
    let closed = || Answer::Called(Box::new(Err(toolcrib::control::ControlError::Closed)));
    update(&mut state, Event::Answered(id, closed()));
    press(&mut state, "j");
    press(&mut state, "c plain enter");
    let before = picture(&state);
    // The same answer again, and one that nobody asked for.
    update(&mut state, Event::Answered(id, closed()));
    assert_eq!(picture(&state), before);
}

#[test]
fn repeating_fills_the_form_with_the_arguments_as_they_came() {
    let raw = "a\u{202e}b";
    let snapshot = with(&varied(), |all| {
        let mut record = ended(9, "a__rich", vec![Part::Text("x".into())]);
        record.arguments = json!({"path": raw, "mode": "text", "lines": 3});
        all.history = vec![Arc::new(record)].into();
        all.running = Arc::new([]);
    });
    let mut state = calls(&snapshot, WIDE);
    press(&mut state, "r");
    assert!(!picture(&state).contains('\u{202e}'));
    let commands = press(&mut state, "enter");
    assert_eq!(
        fired(&commands).1.arguments,
        json!({"path": raw, "mode": "text", "lines": 3})
    );
}

#[test]
fn a_draft_that_was_left_is_there_again() {
    let mut state = calls(&varied(), WIDE);
    press(&mut state, "c rich enter remember esc");
    assert!(!picture(&state).contains("remember"));
    press(&mut state, "c rich enter");
    assert!(picture(&state).contains("remember"));
}

#[test]
fn c_on_a_tool_opens_its_form_and_esc_goes_back() {
    let mut state = console(&varied(), ScreenId::Tools, WIDE);
    press(&mut state, "j c");
    assert!(picture(&state).contains("Call b__plain"));
    press(&mut state, "esc esc");
    assert!(picture(&state).contains("b__plain"));
    assert_eq!(state.screen, ScreenId::Tools);
}

#[test]
fn cancelling_asks_and_names_the_call() {
    let mut state = calls(&fixture::normal(), WIDE);
    press(&mut state, "/ is:running enter X");
    assert!(picture(&state).contains("cancel call-901 of `sim__slow`?"));
    let commands = press(&mut state, "y");
    assert!(
        matches!(&commands[..], [Command::Cancel { call, .. }] if call.as_str() == "call-901"),
        "{commands:?}"
    );
}

/// A call that waits for an approval, with 50 seconds left.
fn asking() -> Arc<Snapshot> {
    with(&fixture::normal(), |all| {
        all.history = Arc::new([]);
        all.approvals = vec![Arc::new(PendingApproval {
            id: 7,
            call_id: "call-901".into(),
            tool: "sim__slow".into(),
            session: Some("agent-7".into()),
            arguments: json!({"path": "/srv/slow.txt"}),
            asked: fixture::ago(10),
            patience: Some(Duration::from_secs(60)),
        })]
        .into();
    })
}

#[test]
fn picture_of_a_call_that_waits_for_an_approval() {
    insta::assert_snapshot!("asking", body(&calls(&asking(), WIDE)));
}

#[test]
fn a_call_that_waits_is_approved_or_denied_and_always_only_after_a_yes() {
    let decided = |keys: &str| {
        let mut state = calls(&asking(), WIDE);
        let commands = press(&mut state, keys);
        match &commands[..] {
            [
                Command::Decide {
                    question, decision, ..
                },
            ] => Some((*question, *decision)),
            [] => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(decided("a"), None);
    assert_eq!(decided("a n"), None);
    assert_eq!(decided("a y"), Some((7, Decision::Approve)));
    assert_eq!(decided("x"), Some((7, Decision::Deny)));
    assert_eq!(decided("A"), None);
    assert_eq!(decided("A n"), None);
    assert_eq!(decided("A y"), Some((7, Decision::Always)));
    let mut state = calls(&fixture::normal(), WIDE);
    assert!(
        press(&mut state, "a x A y")
            .iter()
            .all(|command| matches!(command, Command::Copy(_)))
    );
}

#[test]
fn the_tab_wears_a_mark_while_a_call_waits_for_an_approval() {
    let tabs = |snapshot: &Arc<Snapshot>| picture(&calls(snapshot, WIDE));
    assert!(tabs(&asking()).contains("6 Calls!"));
    assert!(!tabs(&fixture::normal()).contains("6 Calls!"));
}

#[test]
fn read_only_refuses_calls() {
    let options = Options {
        read_only: true,
        ..fixture::options(ScreenId::Calls)
    };
    let mut state = State::new(options, &varied(), WIDE);
    for keys in ["c", "r", "3 c"] {
        assert!(press(&mut state, keys).is_empty());
        assert!(picture(&state).contains("--read-only"), "{keys}");
    }
}

#[test]
fn parts_are_saved_and_copied() {
    let parts = vec![Part::Text("one".into()), Part::json(json!({"a": [1, 2]}))];
    let mut state = calls(&with_result(parts), WIDE);
    let copied = |commands: Vec<Command>| match &commands[..] {
        [Command::Copy(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(copied(press(&mut state, "y")), "one");
    let commands = press(&mut state, "S");
    assert!(
        matches!(&commands[..], [Command::SaveParts { tool, parts, .. }]
            if &**tool == "files__read_file" && parts.len() == 2),
        "{commands:?}"
    );
    assert_eq!(copied(press(&mut state, "enter ] j y")), "[\n  1,\n  2\n]");
    assert_eq!(
        copied(press(&mut state, "v y")),
        "{\n  \"a\": [\n    1,\n    2\n  ]\n}"
    );
}

#[test]
fn json_in_a_text_is_shown_as_a_tree_on_demand() {
    let parts = vec![Part::Text("{\"deep\": {\"er\": true}}".into())];
    let mut state = calls(&with_result(parts), WIDE);
    press(&mut state, "enter v");
    assert!(picture(&state).contains("er: true"));
    press(&mut state, "v");
    assert!(picture(&state).contains("\"er\": true"));
}

#[test]
fn a_huge_result_costs_one_page_per_frame() {
    // Laying all of it out would take minutes in a debug build.
    let parts = vec![
        Part::Text("x\u{e9}".repeat(3_400_000)),
        Part::Text("short line\n".repeat(900_000)),
        Part::json(
            json!({"list": (0..200_000).collect::<Vec<_>>(), "text": "y".repeat(1_000_000)}),
        ),
    ];
    let mut state = calls(&with_result(parts), WIDE);
    for keys in [
        "enter",
        "j ctrl-d ctrl-d",
        "G",
        "k ctrl-u",
        "] G ctrl-u",
        "]",
        "j j G enter",
        "v",
    ] {
        press(&mut state, keys);
        picture(&state);
    }
}

#[test]
fn a_search_in_a_result_goes_round() {
    let parts = vec![Part::Text(format!("needle{}needle", "\nhay".repeat(200)))];
    let mut state = calls(&with_result(parts), WIDE);
    press(&mut state, "enter / needle enter");
    let first = picture(&state);
    press(&mut state, "n");
    assert_ne!(picture(&state), first);
    press(&mut state, "n");
    assert_eq!(picture(&state), first);
}

#[test]
fn a_result_that_the_history_let_go_of_is_said_to_be_gone() {
    let snapshot = with(&fixture::normal(), |all| {
        let mut record = ended(1, "files__list", Vec::new());
        record.parts = None;
        all.history = vec![Arc::new(record)].into();
        all.running = Arc::new([]);
    });
    assert!(picture(&calls(&snapshot, WIDE)).contains("has let go of this result"));
}

#[test]
fn what_a_hostile_call_holds_never_reaches_the_terminal_raw() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}evil\u{9b}31m\0\r\nline\u{2028}two";
    let snapshot = with(&varied(), |all| {
        let parts = vec![
            Part::Text(hostile.into()),
            Part::json(json!({hostile: [hostile]})),
            Part::Image {
                bytes: vec![1].into(),
                media_type: hostile.into(),
            },
            Part::File {
                uri: hostile.into(),
                media_type: Some(hostile.into()),
                name: Some(hostile.into()),
            },
        ];
        let mut record = ended(1, "a__rich", parts);
        record.arguments = json!({"path": hostile, hostile: hostile});
        record.session = Some(hostile.into());
        record.owner = Some(hostile.into());
        record.error_kind = Some(ErrorKind::Tool);
        record.error = Some(hostile.into());
        let mut running = fixture::running(hostile, hostile, 3);
        running.arguments = json!({hostile: hostile});
        running.progress = Some(Progress {
            done: 1.0,
            total: None,
            message: Some(hostile.into()),
        });
        all.history = vec![Arc::new(record)].into();
        all.running = vec![running].into();
    });
    let mut state = calls(&snapshot, WIDE);
    for keys in [
        "enter", "]", "v", "v", "]", "]", "]", "esc r", "ctrl-o", "esc", "j enter",
    ] {
        press(&mut state, keys);
        let picture = picture(&state);
        let raw = picture.chars().find(|char| {
            (char.is_control() && *char != '\n') || matches!(*char, '\u{202e}' | '\u{2028}')
        });
        assert_eq!(raw, None, "after {keys}: {picture}");
    }
}

#[test]
fn every_size_is_survived() {
    let mut state = calls(&varied(), SMALL);
    for size in [(1, 1), (5, 2), (20, 6), (40, 12), (79, 23), (300, 80)] {
        state.shared.size = size;
        for keys in [
            "j",
            "enter",
            "] ]",
            "esc",
            "c",
            "rich enter",
            "tab tab",
            "ctrl-o",
            "esc esc",
        ] {
            press(&mut state, keys);
            picture(&state);
        }
    }
}

/// The form of a tool that can tell what it sends, and the question about that.
fn with_question(size: (u16, u16)) -> (State, OrderId) {
    let mut state = calls(&fixture::with_skills(), size);
    let commands = press(&mut state, "c skills__tides enter");
    let [Command::Preview { id, tool, .. }] = &commands[..] else {
        panic!("{commands:?}");
    };
    assert_eq!(&**tool, "skills__tides");
    (state, *id)
}

fn tell(state: &mut State, id: OrderId, preview: Result<&str, &str>) {
    let preview = preview.map(str::to_owned).map_err(str::to_owned);
    update(
        state,
        Event::Answered(id, Answer::Previewed(Ok(Some(preview)))),
    );
}

#[test]
fn pictures_of_a_form_that_shows_what_would_be_sent() {
    let request = "POST http://h/••••/tides/QUAY?days=3\nx-key: ••••\ncontent-type: \
                   application/json\n\n{\n  \"vessel\": \"Möwe\",\n  \"length\": 9.5,\n  \
                   \"nights\": 2,\n  \"remarks\": \"none\"\n}\n";
    for size in [SMALL, (100, 30), WIDE] {
        let (mut state, id) = with_question(size);
        tell(
            &mut state,
            id,
            Err("the argument `path` is missing; the URL path needs it"),
        );
        insta::assert_snapshot!(format!("sends-nothing-{}x{}", size.0, size.1), body(&state));
        let commands = press(&mut state, "Q");
        let [Command::Preview { id, .. }] = &commands[..] else {
            panic!("{commands:?}");
        };
        tell(&mut state, *id, Ok(request));
        insta::assert_snapshot!(format!("sends-{}x{}", size.0, size.1), body(&state));
    }
}

#[test]
fn an_answer_about_older_arguments_is_ignored_and_equal_ones_are_asked_about_once() {
    let (mut state, first) = with_question(WIDE);
    let commands = press(&mut state, "Q");
    assert_eq!(commands.len(), 1, "{commands:?}");
    tell(&mut state, first, Ok("GET http://h/stale"));
    assert!(!picture(&state).contains("stale"));
    assert_eq!(
        press(&mut state, "left right").len(),
        0,
        "nothing has changed"
    );
}

#[test]
fn a_tool_that_cannot_tell_is_not_asked() {
    let mut state = calls(&fixture::normal(), WIDE);
    assert_eq!(press(&mut state, "c files__list enter x").len(), 0);
}

#[test]
fn picture_of_a_result_that_is_a_replay_and_of_one_that_could_not_be_written() {
    let snapshot = with(&fixture::normal(), |all| {
        all.running = Arc::new([]);
        let mut replay = ended(2, "files__list", vec![Part::Text("kept".into())]);
        replay.replayed = true;
        let mut unwritten = ended(1, "files__list", vec![Part::Text("kept".into())]);
        unwritten.warnings = Arc::new([
            "the result of `files__list` could not be written to `out/a.txt`: Permission denied"
                .into(),
            "another\u{1b}[2J".into(),
        ]);
        all.history = vec![Arc::new(replay), Arc::new(unwritten)].into();
    });
    let mut state = calls(&snapshot, WIDE);
    insta::assert_snapshot!("replay", body(&state));
    press(&mut state, "j");
    insta::assert_snapshot!("warnings", body(&state));
}
