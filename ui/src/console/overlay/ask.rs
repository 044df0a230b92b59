//! What a server asks, and the answer being put together: the form of an elicitation's own schema,
//! or the words that a model would have said.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Wrap};
use serde_json::{Value, json};
use toolcrib::discovery::Mode;
use toolcrib::observe::ToolRow;
use toolcrib::registry::Owner;
use toolcrib::source::mcp::{Answer, PendingQuestion, QuestionKind};
use toolcrib::tool::{Definition, Hints};

use crate::console::figures;
use crate::console::frame::centered;
use crate::console::pane;
use crate::console::screens::{Draft, Pressed, view_draft};
use crate::console::shared::Shared;
use crate::text::{Lines, Marks, clean, clean_name};

/// How many lines of the question are shown above the form.
const LINES: u16 = 8;

/// The keys while it is open.
pub(in crate::console) const KEYS: &[(&str, &str)] = &[
    ("tab", "next"),
    ("enter", "send, on the button"),
    ("ctrl-x", "decline"),
    ("esc", "answer later"),
    ("ctrl-o", "form/JSON"),
];

/// A question with the answer so far.
#[derive(Debug)]
pub(in crate::console) struct Ask {
    question: Arc<PendingQuestion>,
    draft: Draft,
}

/// What a key led to.
#[derive(Debug)]
pub(in crate::console) enum Asked {
    /// It stays open.
    Open,
    /// It was answered.
    Answer(Answer),
    /// It is put away, and waits.
    Later,
    /// It stays open, for this reason.
    Refused(String),
}

impl Ask {
    pub(in crate::console) fn new(question: &Arc<PendingQuestion>, marks: Marks) -> Option<Self> {
        let schema = match question.kind {
            QuestionKind::Elicitation => question
                .params
                .get("requestedSchema")
                .filter(|schema| schema.is_object())
                .cloned()
                .unwrap_or_else(|| json!({"type": "object"})),
            QuestionKind::Sampling => json!({
                "type": "object",
                "required": ["text"],
                "properties": {"text": {
                    "type": "string",
                    "description": "what you answer in place of a model",
                }},
            }),
        };
        let definition = Definition::new("answer", String::new(), schema).ok()?;
        let row = ToolRow {
            bytes: definition.bytes(),
            definition_hash: definition.hash().into(),
            definition,
            owner: Owner::source("", 0),
            exposure: Mode::Always,
            exposure_overruled: None,
            hints: Hints::default(),
            title: None,
            original_name: None,
            defined_at: None,
            placeholder: false,
            changed: false,
        };
        Some(Self {
            question: Arc::clone(question),
            draft: Draft::new(row.clone(), row, marks).with_button("Send"),
        })
    }

    pub(in crate::console) fn id(&self) -> u64 {
        self.question.id
    }

    pub(in crate::console) fn key(&mut self, key: KeyEvent) -> Asked {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        if ctrl && key.code == KeyCode::Char('x') {
            return Asked::Answer(Answer::Decline);
        }
        match self.draft.key(key) {
            Pressed::Taken | Pressed::Passed => Asked::Open,
            Pressed::Leave => Asked::Later,
            Pressed::Refused(why) => Asked::Refused(why),
            Pressed::Fire => match self.draft.faults().len() {
                0 => Asked::Answer(Answer::Accept(self.content())),
                1 => Asked::Refused("1 problem: the answer does not fit what is asked for".into()),
                count => Asked::Refused(format!(
                    "{count} problems: the answer does not fit what is asked for"
                )),
            },
        }
    }

    pub(in crate::console) fn paste(&mut self, text: &str) -> Result<(), String> {
        self.draft.paste(text)
    }

    fn content(&self) -> Value {
        let given = self.draft.call().arguments;
        match self.question.kind {
            QuestionKind::Elicitation => given,
            QuestionKind::Sampling => json!({
                "role": "assistant",
                "content": {"type": "text", "text": given.get("text").cloned().unwrap_or_default()},
                "model": "operator",
                "stopReason": "endTurn",
            }),
        }
    }

    pub(in crate::console) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let question = &self.question;
        let area = centered(area, 100, area.height.min(34));
        frame.render_widget(Clear, area);
        let name = format!("{}/{}", question.source, question.server);
        let what = match question.kind {
            QuestionKind::Elicitation => "asks for your input",
            QuestionKind::Sampling => "asks what a model would answer",
        };
        let age = figures::age(question.asked.age(shared.real_now().at));
        let title = format!("{} {what}, {age} ago", clean_name(&name, theme.marks));
        let inner = pane::frame_always(shared, frame, area, &title);
        let words = clean(&words(question), Lines::Many, theme.marks).into_owned();
        let rows: usize = words
            .lines()
            .map(|line| {
                crate::text::width(line)
                    .div_ceil(usize::from(inner.width.max(1)))
                    .max(1)
            })
            .sum();
        let height = u16::try_from(rows).unwrap_or(LINES).clamp(1, LINES);
        let [top, form] =
            Layout::vertical([Constraint::Length(height + 1), Constraint::Min(3)]).areas(inner);
        let lines: Vec<Line<'_>> = words.lines().map(Line::from).collect();
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), top);
        view_draft(&self.draft, true, shared, frame, form);
    }
}

/// The server's own words.
fn words(question: &PendingQuestion) -> String {
    let params = &question.params;
    let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
    match question.kind {
        QuestionKind::Elicitation => text("message").unwrap_or_else(|| "(no words)".into()),
        QuestionKind::Sampling => {
            let mut lines: Vec<String> = text("systemPrompt")
                .map(|prompt| format!("system: {prompt}"))
                .into_iter()
                .collect();
            let messages = params.get("messages").and_then(Value::as_array);
            for message in messages.into_iter().flatten() {
                let role = message.get("role").and_then(Value::as_str).unwrap_or("?");
                let content = message.get("content").cloned().unwrap_or_default();
                let said = match content.get("text").and_then(Value::as_str) {
                    Some(text) => text.to_owned(),
                    None => content.to_string(),
                };
                lines.push(format!("{role}: {said}"));
            }
            lines.join("\n")
        }
    }
}
