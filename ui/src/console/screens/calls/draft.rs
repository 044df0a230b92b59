//! A call being put together: the form or the JSON editor, with what is wrong with it so far.

use std::collections::BTreeSet;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::TextArea;
use serde_json::{Map, Value};
use toolcrib::control::Preview;
use toolcrib::observe::ToolRow;
use toolcrib::secrets::MASK;
use toolcrib::session::SessionId;
use toolcrib::tool::Call;

use crate::console::command::OrderId;
use crate::console::form::{Entry, Focus, Form, Kind};
use crate::console::schema::{Checker, Fault};
use crate::console::shared::Shared;
use crate::text::{Lines, Marks, clean};

/// How many bytes the JSON editor takes; they are parsed and checked at every key.
const LONGEST: usize = 256 * 1024;

/// How the arguments are written.
#[derive(Debug)]
pub(in crate::console) enum Editor {
    /// In fields.
    Form,
    /// As JSON; whether the Call button has the focus instead.
    Json(Box<TextArea<'static>>, bool),
}

/// What a key did.
#[derive(Debug)]
pub(in crate::console) enum Pressed {
    /// It was taken.
    Taken,
    /// It means nothing here.
    Passed,
    /// The Call button was pressed.
    Fire,
    /// The form is to be left.
    Leave,
    /// It could not be done, for this reason.
    Refused(String),
}

/// A call being put together.
#[derive(Debug)]
pub(in crate::console) struct Draft {
    /// The tool as it is shown.
    pub(in crate::console) shown: ToolRow,
    /// The tool as it came: its name and its schema count.
    came: ToolRow,
    pub(in crate::console) form: Form,
    pub(in crate::console) editor: Editor,
    checker: Checker,
    /// Fields that were left once: what is wrong with them is told.
    touched: BTreeSet<usize>,
    /// Whether the Call button was reached: then everything wrong is told.
    tried: bool,
    arguments: Value,
    faults: Vec<Fault>,
    marks: Marks,
    /// The word on the button.
    pub(in crate::console) button: &'static str,
    /// The session in which the call is to run, with the name that is shown.
    pub(super) session: Option<(SessionId, Arc<str>)>,
    pub(in crate::console) sends: Sends,
}

/// What the call would send, where the tool can tell.
#[derive(Debug, Default)]
pub(in crate::console) struct Sends {
    /// The arguments that were asked about last, and the order that asked.
    asked: Option<(Value, OrderId)>,
    /// The newest answer; none came yet, or the tool cannot tell.
    told: Option<Result<String, String>>,
    /// The tool has answered that it cannot tell.
    cannot: bool,
}

impl Sends {
    /// What is known, by the newest arguments that could be asked about.
    pub(in crate::console) fn told(&self) -> Option<&Result<String, String>> {
        self.told.as_ref()
    }
}

impl Draft {
    /// An empty call of a tool.
    pub(in crate::console) fn new(shown: ToolRow, came: ToolRow, marks: Marks) -> Self {
        let schema = came.definition.input_schema();
        let mut draft = Self {
            form: Form::new(schema, marks),
            checker: Checker::new(schema),
            editor: Editor::Form,
            touched: BTreeSet::new(),
            tried: false,
            arguments: Value::Null,
            faults: Vec::new(),
            marks,
            button: "Call",
            sends: Sends::default(),
            shown,
            came,
            session: None,
        };
        if !Form::suits(draft.came.definition.input_schema()) {
            let arguments = draft.form.arguments();
            draft.editor = draft.json_editor(&arguments);
        }
        draft.check();
        draft
    }

    /// With another word on the button.
    pub(in crate::console) fn with_button(self, button: &'static str) -> Self {
        Self { button, ..self }
    }

    /// Whether it still is about the tool as it is now.
    pub(in crate::console) fn is_of(&self, came: &ToolRow) -> bool {
        self.came.definition == came.definition
    }

    /// The name of the tool as it came.
    pub(in crate::console) fn tool(&self) -> Arc<str> {
        self.came.definition.shared_name()
    }

    /// Takes arguments over. Says what the operator has to know about them.
    pub(in crate::console) fn fill(&mut self, arguments: &Value) -> Result<Option<String>, String> {
        let text = arguments.to_string();
        if text.len() > LONGEST {
            return Err(format!(
                "the arguments have {} bytes, too many to edit here; \
                 `toolcrib call` takes them from a file",
                text.len()
            ));
        }
        let masked = text.contains(MASK);
        match arguments {
            Value::Object(map) => {
                self.form.fill(map);
                if matches!(self.editor, Editor::Json(..)) {
                    self.editor = self.json_editor(map);
                }
            }
            Value::Null => {}
            other => {
                let text = json_text(&other.to_string(), self.marks);
                self.editor = Editor::Json(Box::new(text_area(&text)), false);
            }
        }
        self.check();
        Ok(masked.then(|| {
            format!(
                "a secret in the arguments was masked as {MASK}: put it in again before you call"
            )
        }))
    }

    /// The arguments as they would be sent.
    #[cfg(test)]
    pub(in crate::console) fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Everything wrong with them.
    pub(in crate::console) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Why they cannot be checked, if that is so.
    pub(in crate::console) fn unchecked(&self) -> Option<&str> {
        self.checker.trouble()
    }

    /// What is wrong with a field, once that is worth telling.
    pub(in crate::console) fn fault_of(&self, number: usize) -> Option<&Fault> {
        if !self.tried && !self.touched.contains(&number) {
            return None;
        }
        let (field, _) = self.form.fields().get(number)?;
        self.faults
            .iter()
            .find(|fault| fault.argument().as_deref() == Some(&field.name))
    }

    /// Whether the Call button has the focus.
    pub(in crate::console) fn on_button(&self) -> bool {
        match &self.editor {
            Editor::Form => self.form.focus() == Focus::Button,
            Editor::Json(_, on_button) => *on_button,
        }
    }

    /// Whether everything wrong is told, not only what was touched.
    pub(in crate::console) fn tells_all(&self) -> bool {
        self.tried || matches!(self.editor, Editor::Json(..))
    }

    /// The call.
    pub(in crate::console) fn call(&self) -> Call {
        Call::new(self.tool(), self.arguments.clone())
    }

    /// Asks what would be sent, if that is not known yet and can be.
    pub(super) fn ask_what_is_sent(&mut self, shared: &mut Shared) {
        let Value::Object(arguments) = &self.arguments else {
            return;
        };
        let asked = self.sends.asked.as_ref();
        // Only tools that come from files can tell.
        if self.shown.defined_at.is_none()
            || self.sends.cannot
            || asked.is_some_and(|(known, _)| *known == self.arguments)
        {
            return;
        }
        let id = shared.order_preview(self.tool(), arguments.clone());
        self.sends.asked = Some((self.arguments.clone(), id));
    }

    /// Takes the answer to that in; one to an older question is of no use any more.
    pub(super) fn previewed(&mut self, id: OrderId, preview: &Preview) {
        if self
            .sends
            .asked
            .as_ref()
            .is_some_and(|(_, asked)| *asked == id)
        {
            self.sends.cannot = preview.is_none();
            self.sends.told = preview.clone();
        }
    }

    /// Takes a key in.
    pub(in crate::console) fn key(&mut self, key: KeyEvent) -> Pressed {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let pressed = match (key.code, ctrl) {
            (KeyCode::Esc, _) => return Pressed::Leave,
            (KeyCode::Char('o'), true) => self.toggle(),
            (KeyCode::Char('s' | 'p'), true) => return Pressed::Passed,
            (KeyCode::Enter, _) if self.on_button() => {
                self.tried = true;
                return Pressed::Fire;
            }
            _ => match &mut self.editor {
                Editor::Form => self.form_key(key, ctrl),
                Editor::Json(area, on_button) => json_key(area, on_button, key),
            },
        };
        self.check();
        if self.on_button() {
            self.tried = true;
        }
        pressed
    }

    fn form_key(&mut self, key: KeyEvent, ctrl: bool) -> Pressed {
        let step = match key.code {
            KeyCode::Tab | KeyCode::Down | KeyCode::Enter => Some(true),
            KeyCode::BackTab | KeyCode::Up => Some(false),
            _ => None,
        };
        if let Some(forward) = step {
            if let Focus::Field(number) = self.form.focus() {
                self.touched.insert(number);
            }
            self.form.step(forward);
            return Pressed::Taken;
        }
        let Some((field, entry)) = self.form.focused() else {
            return Pressed::Passed;
        };
        if ctrl && key.code == KeyCode::Char('t') {
            entry.switch(field);
            return Pressed::Taken;
        }
        let typed = matches!(entry, Entry::Typed(_) | Entry::Json(_));
        let turns = matches!(field.kind, Kind::Bool | Kind::Choice(_)) && !typed;
        if turns {
            let taken = match key.code {
                KeyCode::Right | KeyCode::Char(' ') => {
                    entry.turn(field, true);
                    true
                }
                KeyCode::Left => {
                    entry.turn(field, false);
                    true
                }
                KeyCode::Backspace | KeyCode::Delete => {
                    *entry = Entry::Absent;
                    true
                }
                KeyCode::Char(first) if !ctrl => entry.jump(field, first),
                _ => false,
            };
            return match taken {
                true => Pressed::Taken,
                false => Pressed::Passed,
            };
        }
        // A key that takes away has nothing to take where nothing stands.
        let only_takes = matches!(key.code, KeyCode::Backspace | KeyCode::Delete);
        if only_takes && !typed {
            *entry = Entry::Absent;
            return Pressed::Taken;
        }
        let before = (!typed).then(|| entry.clone());
        let taken = entry.typing(field).is_some_and(|edit| edit.key(key));
        let is_empty = entry
            .typing(field)
            .is_some_and(|edit| edit.text().is_empty());
        match (taken, before) {
            // A key that typed nothing leaves a field as it was.
            (_, Some(before)) if is_empty => *entry = before,
            // What was typed and taken back is left out again, unless it is text, which may be empty.
            (true, None) if is_empty && only_takes && field.kind != Kind::Text => {
                *entry = Entry::Absent;
            }
            _ => {}
        }
        match taken {
            true => Pressed::Taken,
            false => Pressed::Passed,
        }
    }

    /// Takes pasted text in.
    pub(in crate::console) fn paste(&mut self, text: &str) -> Result<(), String> {
        let fits = match &mut self.editor {
            Editor::Form => match self.form.focused() {
                Some((field, entry)) => entry.typing(field).is_none_or(|edit| edit.insert(text)),
                None => true,
            },
            Editor::Json(area, false) => {
                let size: usize = area.lines().iter().map(|line| line.len() + 1).sum();
                let fits = size + text.len() <= LONGEST;
                if fits {
                    area.insert_str(json_text(text, self.marks));
                }
                fits
            }
            Editor::Json(..) => true,
        };
        self.check();
        match fits {
            true => Ok(()),
            false => Err(
                "that is too long to be edited here; `toolcrib call` takes it from a file".into(),
            ),
        }
    }

    /// From the form to the JSON editor, or back.
    fn toggle(&mut self) -> Pressed {
        match &self.editor {
            Editor::Form => {
                let arguments = self.form.arguments();
                self.editor = self.json_editor(&arguments);
            }
            Editor::Json(area, _) => match serde_json::from_str(&joined(area)) {
                Ok(Value::Object(map)) => {
                    self.form.fill(&map);
                    self.editor = Editor::Form;
                    self.tried = true;
                }
                Ok(_) => {
                    return Pressed::Refused(
                        "a form needs an object: put the arguments in { }".into(),
                    );
                }
                Err(error) => {
                    return Pressed::Refused(format!("repair the JSON first: {error}"));
                }
            },
        }
        Pressed::Taken
    }

    fn json_editor(&self, arguments: &Map<String, Value>) -> Editor {
        let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
        Editor::Json(Box::new(text_area(&json_text(&text, self.marks))), false)
    }

    /// Works out the arguments and what is wrong with them.
    fn check(&mut self) {
        let mut faults = Vec::new();
        match &self.editor {
            Editor::Form => {
                self.arguments = Value::Object(self.form.arguments());
                faults = self.form.faults();
            }
            Editor::Json(area, _) => {
                let text = joined(area);
                self.arguments = match serde_json::from_str(&text) {
                    Ok(value) => value,
                    Err(error) if !text.trim().is_empty() => {
                        faults.push(Fault::new("", format!("no JSON: {error}")));
                        Value::String(text)
                    }
                    Err(_) => Value::Object(Map::new()),
                };
                if faults.is_empty() && !self.arguments.is_object() {
                    faults.push(Fault::new("", "arguments are an object: { … }"));
                }
            }
        }
        if self.arguments.is_object() {
            let found = self.checker.faults(&self.arguments);
            // What a field says of itself is said better than what the schema makes of it.
            let new: Vec<Fault> = found
                .into_iter()
                .filter(|fault| faults.iter().all(|known| known.pointer != fault.pointer))
                .collect();
            faults.extend(new);
        }
        for fault in &mut faults {
            fault.message = clean(&fault.message, Lines::One, self.marks).into_owned();
        }
        self.faults = faults;
    }
}

fn json_key(area: &mut TextArea<'static>, on_button: &mut bool, key: KeyEvent) -> Pressed {
    match key.code {
        KeyCode::Tab | KeyCode::BackTab => *on_button = !*on_button,
        KeyCode::Up if *on_button => *on_button = false,
        _ if *on_button => return Pressed::Passed,
        KeyCode::Char(_) | KeyCode::Enter => {
            let size: usize = area.lines().iter().map(|line| line.len() + 1).sum();
            if size >= LONGEST {
                return Pressed::Refused("that is too long to be edited here".into());
            }
            area.input(key);
        }
        _ => {
            area.input(key);
        }
    }
    Pressed::Taken
}

fn joined(area: &TextArea<'_>) -> String {
    area.lines().join("\n")
}

fn text_area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_cursor_line_style(ratatui::style::Style::new());
    area.set_tab_length(2);
    area
}

/// JSON in which every character that a terminal would act on, or hide, is written as an escape:
/// the same value, but safe to show while it is edited.
fn json_text(text: &str, marks: Marks) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        let as_text = char.to_string();
        let shown = clean(&as_text, Lines::Many, marks);
        match char {
            '\n' => out.push('\n'),
            '\t' => out.push_str("  "),
            '\r' => {}
            // A lone mark is drawn on a circle when it is shown; within a text it hangs on a letter.
            _ if shown == as_text || shown.starts_with('◌') => out.push(char),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
