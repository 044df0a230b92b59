use std::sync::Arc;

use serde_json::json;
use toolcrib::clock::Stamp;
use toolcrib::observe::{CatalogChange, Snapshot, Subject};
use toolcrib::registry::{CatalogDiff, DefinitionChange, Owner, Refusal};
use toolcrib::tool::Definition;

use crate::console::command::Command;
use crate::console::fixture::{self, console, picture, press, take};
use crate::console::screens::ScreenId;
use crate::console::state::State;

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (140, 42);

fn tools(snapshot: &Arc<Snapshot>, size: (u16, u16)) -> State {
    console(snapshot, ScreenId::Tools, size)
}

/// A deployment with a changed, a destructive, a lazy and a refused tool, and one with a rich
/// schema.
fn varied() -> Arc<Snapshot> {
    let mut all = Snapshot::clone(&fixture::normal());
    let mut rows = all.tools.to_vec();
    let before = rows[0].definition.clone();
    let schema = json!({
        "type": "object",
        "required": ["path", "mode"],
        "properties": {
            "path": {"type": "string", "description": "which file to read, from the root on"},
            "lines": {"type": ["integer", "null"], "minimum": 1, "maximum": 500, "default": 100},
            "mode": {"enum": ["text", "binary"]},
            "range": {"$ref": "#/$defs/Range"},
        },
        "$defs": {"Range": {"type": "object", "required": ["from"], "properties": {
            "from": {"type": "integer"}, "to": {"type": "integer"}}}},
    });
    let after = Definition::new(
        before.name(),
        "Lists what is in a directory.\n\nIgnores what is hidden; ask for it with `mode`.",
        schema,
    )
    .unwrap();
    rows[0].bytes = after.bytes();
    rows[0].definition_hash = after.hash().into();
    rows[0].definition = after.clone();
    rows[0].changed = true;
    rows[1].hints.read_only = Some(false);
    rows[1].hints.destructive = Some(true);
    rows[2].placeholder = true;
    all.tools = rows.into();
    let owner = all.tools[0].owner.clone();
    all.refusals = vec![Refusal {
        name: before.shared_name(),
        refused: Owner::source("late", 9),
        holder: owner.clone(),
    }]
    .into();
    let at: Stamp = fixture::ago(75);
    all.changes = vec![Arc::new(CatalogChange {
        at,
        diff: Arc::new(CatalogDiff {
            version: 2,
            owner,
            added: Vec::new(),
            removed: Vec::new(),
            changed: vec![DefinitionChange {
                name: before.shared_name(),
                before,
                after,
            }],
            refused: Vec::new(),
        }),
    })]
    .into();
    Arc::new(all)
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
        ("varied", varied()),
        ("failing", fixture::failing()),
        ("overfull", fixture::overfull()),
    ];
    for (name, snapshot) in states {
        for size in [SMALL, WIDE] {
            let body = body(&tools(&snapshot, size));
            insta::assert_snapshot!(format!("{name}-{}x{}", size.0, size.1), body);
        }
    }
}

#[test]
fn pictures_of_each_sub_tab() {
    let mut state = tools(&varied(), WIDE);
    press(&mut state, "enter");
    for name in ["about", "schema", "wire", "changes"] {
        insta::assert_snapshot!(format!("tab-{name}"), body(&state));
        press(&mut state, "]");
    }
}

#[test]
fn picture_of_a_refused_tool_that_says_who_holds_its_name() {
    let mut state = tools(&varied(), SMALL);
    press(&mut state, "j enter");
    insta::assert_snapshot!(body(&state));
}

#[test]
fn below_the_smallest_size_one_pane_is_shown_and_it_recovers() {
    let snapshot = varied();
    let mut state = tools(&snapshot, SMALL);
    let before = picture(&state);
    for size in [(40, 10), (10, 4), (1, 1), (79, 23)] {
        state.shared.size = size;
        take(&mut state, &snapshot);
        press(&mut state, "enter ] ] ] ] esc G");
        picture(&state);
    }
    state.shared.size = SMALL;
    press(&mut state, "g g");
    assert_eq!(picture(&state), before);
}

#[test]
fn the_selection_stays_with_its_tool_while_others_come() {
    let normal = fixture::normal();
    let mut state = tools(&normal, WIDE);
    press(&mut state, "j j");
    let selected = |state: &State| state.screens.tools.copy_name(&state.shared);
    assert_eq!(selected(&state), "files__write_file");
    take(&mut state, &fixture::failing());
    assert_eq!(selected(&state), "files__write_file");
}

#[test]
fn the_filter_works_in_place_and_esc_takes_it_back() {
    let mut state = tools(&varied(), WIDE);
    press(&mut state, "/ source:web");
    assert!(picture(&state).contains("Tools 2 of 8 / source:web"));
    press(&mut state, "enter esc");
    assert!(picture(&state).contains("Tools 7, 1 refused"));
}

#[test]
fn sorting_by_calls_follows_the_counts() {
    let mut state = tools(&fixture::normal(), WIDE);
    press(&mut state, "s s s s g g");
    assert_eq!(state.screens.tools.copy_name(&state.shared), "web__search");
    press(&mut state, "i g g");
    assert_eq!(state.screens.tools.copy_name(&state.shared), "files__list");
}

#[test]
fn y_copies_the_name_in_the_list_and_the_definition_in_the_evidence() {
    let mut state = tools(&varied(), WIDE);
    let copied = |commands: Vec<Command>| match &commands[..] {
        [Command::Copy(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(copied(press(&mut state, "y")), "files__list");
    let json = copied(press(&mut state, "enter y"));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["name"], "files__list");
}

#[test]
fn a_visit_goes_to_the_refusal_even_behind_a_filter() {
    let mut state = tools(&varied(), WIDE);
    press(&mut state, "/ web enter");
    let shared = &state.shared;
    state
        .screens
        .tools
        .visit_for_test(&Subject::Tool("files__list".into()), shared);
    press(&mut state, "enter");
    assert!(picture(&state).contains("held by"));
}

#[test]
fn what_a_hostile_tool_says_never_reaches_the_terminal_raw() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}evil\u{9b}31m\0\r\nline\u{2028}two";
    let mut all = Snapshot::clone(&fixture::normal());
    let mut rows = all.tools.to_vec();
    let definition = Definition::new(
        format!("a{hostile}"),
        hostile,
        json!({"type": hostile, "properties": {hostile: {"type": hostile, "description": hostile,
            "enum": [hostile], "default": hostile, "pattern": hostile}}, "required": [hostile]}),
    )
    .unwrap();
    rows[0].definition = definition.clone();
    rows[0].title = Some(hostile.into());
    rows[0].original_name = Some(hostile.into());
    rows[0].defined_at = Some(hostile.into());
    all.tools = rows.into();
    all.refusals = vec![Refusal {
        name: format!("b{hostile}").as_str().into(),
        refused: Owner::source(hostile, 1),
        holder: Owner::server(hostile, hostile, (0, 0)),
    }]
    .into();
    let mut state = tools(&Arc::new(all), WIDE);
    for keys in ["enter", "]", "j", "]", "]", "esc j enter"] {
        press(&mut state, keys);
        let picture = picture(&state);
        let raw = picture.chars().find(|char| {
            (char.is_control() && *char != '\n') || matches!(*char, '\u{202e}' | '\u{2028}')
        });
        assert_eq!(raw, None, "{picture}");
    }
    let commands = press(&mut state, "esc k y");
    match &commands[..] {
        [Command::Copy(text)] => assert_eq!(text, definition.name(), "the name as it came"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn ten_thousand_tools_are_sorted_and_filtered_once_not_per_frame() {
    let mut all = Snapshot::clone(&fixture::normal());
    let one = all.tools[0].clone();
    all.tools = (0..10_000)
        .map(|number| {
            let mut row = one.clone();
            row.definition = one.definition.renamed(format!("tool_{number:05}")).unwrap();
            row
        })
        .collect();
    let mut state = tools(&Arc::new(all), WIDE);
    let rows = state.screens.tools.sifted();
    press(&mut state, "j j j ctrl-d ctrl-d G g g");
    picture(&state);
    assert_eq!(state.screens.tools.sifted(), rows, "moving sorts nothing");
    press(&mut state, "/ 0999");
    assert!(picture(&state).contains("Tools 11 of 10,000"));
}
