use serde_json::json;
use toolcrib::tool::Definition;

use super::*;
use crate::console::fixture;

pub(super) fn draft(schema: Value) -> Draft {
    let mut row = fixture::tool("files", "mcp", "read");
    row.definition = Definition::new("files__read", "Reads.", schema).unwrap();
    Draft::new(row.clone(), row, Marks::Unicode)
}

fn flat() -> Value {
    json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
        "path": {"type": "string", "minLength": 2},
        "lines": {"type": "integer", "maximum": 9},
        "deep": {"type": "boolean"},
    }})
}

fn press(draft: &mut Draft, code: KeyCode) -> Pressed {
    draft.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn ctrl(draft: &mut Draft, char: char) -> Pressed {
    draft.key(KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL))
}

fn type_in(draft: &mut Draft, text: &str) {
    for char in text.chars() {
        press(draft, KeyCode::Char(char));
    }
}

#[test]
fn a_form_is_filled_with_the_keyboard_alone() {
    let mut draft = draft(flat());
    type_in(&mut draft, "/a b");
    press(&mut draft, KeyCode::Enter);
    type_in(&mut draft, "7");
    press(&mut draft, KeyCode::Tab);
    press(&mut draft, KeyCode::Char(' '));
    assert_eq!(
        draft.arguments(),
        &json!({"path": "/a b", "lines": 7, "deep": true})
    );
    assert_eq!(draft.faults(), []);
    press(&mut draft, KeyCode::Down);
    assert!(draft.on_button());
    assert!(matches!(press(&mut draft, KeyCode::Enter), Pressed::Fire));
    assert_eq!(
        draft.call().arguments,
        json!({"path": "/a b", "lines": 7, "deep": true})
    );
}

#[test]
fn what_is_wrong_is_told_at_its_field_once_that_was_left() {
    let mut draft = draft(flat());
    type_in(&mut draft, "x");
    assert_eq!(draft.fault_of(0), None);
    press(&mut draft, KeyCode::Tab);
    assert_eq!(
        draft.fault_of(0).map(|fault| fault.pointer.as_str()),
        Some("/path")
    );
    type_in(&mut draft, "70");
    assert_eq!(draft.fault_of(1), None);
    press(&mut draft, KeyCode::Tab);
    press(&mut draft, KeyCode::Tab);
    assert!(draft.fault_of(1).is_some());
    assert_eq!(draft.faults().len(), 2);
}

#[test]
fn a_field_that_is_emptied_again_is_left_out_but_text_may_be_empty() {
    let mut draft = draft(flat());
    type_in(&mut draft, "a");
    press(&mut draft, KeyCode::Backspace);
    assert_eq!(draft.arguments(), &json!({"path": ""}));
    press(&mut draft, KeyCode::Tab);
    type_in(&mut draft, "7");
    press(&mut draft, KeyCode::Backspace);
    assert_eq!(draft.arguments(), &json!({"path": ""}));
}

#[test]
fn the_json_editor_takes_over_from_the_form_and_gives_back() {
    let mut draft = draft(flat());
    type_in(&mut draft, "abc");
    ctrl(&mut draft, 'o');
    assert!(matches!(draft.editor, Editor::Json(..)));
    assert_eq!(draft.arguments(), &json!({"path": "abc"}));
    // Every key is checked: an unknown name is a fault at once.
    press(&mut draft, KeyCode::Up);
    press(&mut draft, KeyCode::Home);
    draft.paste("{\"x\":\u{202e}1,").unwrap();
    assert!(
        draft.faults()[0].message.starts_with("no JSON: "),
        "{:?}",
        draft.faults()
    );
    assert!(matches!(ctrl(&mut draft, 'o'), Pressed::Refused(_)));
}

#[test]
fn a_form_keeps_arguments_that_only_json_can_say() {
    let mut draft = draft(flat());
    draft
        .fill(&json!({"path": "ok", "lines": [1], "more": {"a": 1}}))
        .unwrap();
    assert_eq!(
        draft.arguments(),
        &json!({"path": "ok", "lines": [1], "more": {"a": 1}})
    );
    let pointers: Vec<_> = draft
        .faults()
        .iter()
        .map(|fault| fault.pointer.as_str())
        .collect();
    assert!(pointers.contains(&"/lines"), "{pointers:?}");
    ctrl(&mut draft, 'o');
    ctrl(&mut draft, 'o');
    assert!(matches!(draft.editor, Editor::Form));
    assert_eq!(
        draft.arguments(),
        &json!({"path": "ok", "lines": [1], "more": {"a": 1}})
    );
}

#[test]
fn masked_secrets_are_pointed_out() {
    let mut draft = draft(flat());
    let said = draft.fill(&json!({"path": format!("x{MASK}")})).unwrap();
    assert!(said.is_some_and(|text| text.contains("put it in again")));
    assert_eq!(draft.fill(&json!({"path": "xyz"})), Ok(None));
}

#[test]
fn a_schema_of_alternatives_begins_with_json_and_one_without_arguments_on_the_button() {
    let alternatives = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert!(matches!(draft(alternatives).editor, Editor::Json(..)));
    assert!(draft(json!({"type": "object"})).on_button());
}

#[test]
fn a_schema_that_cannot_be_used_hinders_nothing() {
    let draft = draft(json!({"type": "object", "required": 7}));
    assert!(draft.unchecked().is_some());
    assert_eq!(draft.faults(), []);
}

#[test]
fn hidden_characters_become_escapes_of_the_same_value() {
    let value = json!({"a\u{202e}": "e\u{301}\u{9b}\u{e0041}\u{2028}"});
    let text = json_text(
        &serde_json::to_string_pretty(&value).unwrap(),
        Marks::Unicode,
    );
    assert!(text.chars().all(|char| char == '\n' || !char.is_control()));
    assert!(!text.contains(['\u{202e}', '\u{e0041}', '\u{2028}']));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
}
