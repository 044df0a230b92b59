//! A server asks: what is shown, and what becomes of each answer.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::observe::Snapshot;
use toolcrib::source::mcp::{Answer, PendingQuestion, QuestionKind};

use crate::console::command::Command;
use crate::console::fixture::{ago, console, normal, picture, press, take};
use crate::console::screens::ScreenId;
use crate::console::state::State;

fn asking(kind: QuestionKind, params: Value) -> Arc<Snapshot> {
    Arc::new(Snapshot {
        questions: vec![Arc::new(PendingQuestion {
            id: 7,
            source: "web".into(),
            server: "web".into(),
            kind,
            params,
            asked: ago(12),
        })]
        .into(),
        ..Snapshot::clone(&normal())
    })
}

fn elicitation() -> Arc<Snapshot> {
    let params = json!({
        "message": "Which account?\u{1b}[31m",
        "requestedSchema": {"type": "object", "required": ["account"], "properties": {
            "account": {"type": "string", "description": "its name"},
            "keep": {"type": "boolean"},
        }},
    });
    asking(QuestionKind::Elicitation, params)
}

fn open(snapshot: &Arc<Snapshot>, size: (u16, u16)) -> State {
    let mut state = console(snapshot, ScreenId::Overview, size);
    press(&mut state, "b");
    state
}

fn answer(commands: &[Command]) -> Option<(u64, &Answer)> {
    match commands {
        [
            Command::Reply {
                question, answer, ..
            },
        ] => Some((*question, answer)),
        _ => None,
    }
}

#[test]
fn pictures() {
    let mut state = open(&elicitation(), (100, 30));
    press(&mut state, "me");
    insta::assert_snapshot!("elicitation_100x30", picture(&state));
    let params = json!({"systemPrompt": "be brief", "messages": [
        {"role": "user", "content": {"type": "text", "text": "name a colour"}},
    ]});
    let state = open(&asking(QuestionKind::Sampling, params), (80, 24));
    insta::assert_snapshot!("sampling_80x24", picture(&state));
}

#[test]
fn what_fits_is_sent_and_what_does_not_is_not() {
    let mut state = open(&elicitation(), (100, 30));
    assert!(press(&mut state, "tab tab enter").is_empty());
    assert!(picture(&state).contains("does not fit what is asked for"));
    let commands = press(&mut state, "tab me tab right tab enter");
    let content = Answer::Accept(json!({"account": "me", "keep": true}));
    assert_eq!(answer(&commands), Some((7, &content)));
    assert!(!picture(&state).contains("Which account"));
}

#[test]
fn it_can_be_declined_or_left_and_a_model_is_answered_for_in_words() {
    let mut state = open(&elicitation(), (100, 30));
    assert!(press(&mut state, "esc").is_empty());
    let commands = press(&mut state, "b ctrl-x");
    assert_eq!(answer(&commands), Some((7, &Answer::Decline)));
    let params = json!({"messages": []});
    let mut state = open(&asking(QuestionKind::Sampling, params), (100, 30));
    let commands = press(&mut state, "blue tab enter");
    let result = Answer::Accept(json!({
        "role": "assistant", "content": {"type": "text", "text": "blue"},
        "model": "operator", "stopReason": "endTurn",
    }));
    assert_eq!(answer(&commands), Some((7, &result)));
}

#[test]
fn a_question_that_nobody_waits_for_any_more_goes_away_and_read_only_answers_none() {
    let mut state = open(&elicitation(), (100, 30));
    take(&mut state, &normal());
    assert!(picture(&state).contains("does not wait for that answer any more"));
    assert!(!picture(&state).contains("a server asks"));
    let options = crate::console::Options {
        read_only: true,
        ..crate::console::fixture::options(ScreenId::Overview)
    };
    let mut state = State::new(options, &elicitation(), (100, 30));
    press(&mut state, "b");
    assert!(picture(&state).contains("is refused"));
}
