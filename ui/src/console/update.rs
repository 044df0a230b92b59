//! Takes events in: `update(&mut State, Event) -> Vec<Command>`. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};
use serde_json::json;
use toolcrib::control::SessionOrder;
use toolcrib::discovery::TOOL_SEARCH;
use toolcrib::discovery::session::CallEnd;
use toolcrib::observe::Subject;
use toolcrib::session::RoundReport;
use toolcrib::tool::Call;

use super::command::{Answer, Command, NotDone, OrderId, SessionCommand, SessionDone};
use super::event::Event;
use super::input::Input;
use super::keymap::{Action, Binding, Meaning, Press, look_up};
use super::overlay::{Ask, Asked, Choose, Confirm, Help, Link, Overlay, Palette, Prompt, Report};
use super::reader::plain;
use super::screens::ScreenId;
use super::shared::{Deed, Pending, Prompted, Request};
use super::state::{MOST_BACK, State};
use super::view::screen_text;
use crate::scenarios::Script;

/// Takes an event in and says what is to be done about it.
pub(crate) fn update(state: &mut State, event: Event) -> Vec<Command> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => on_key(state, key),
        Event::Key(_) => return Vec::new(),
        Event::Paste(text) => on_paste(state, &text),
        Event::Mouse(mouse) => on_mouse(state, mouse),
        Event::Resize(columns, rows) => state.shared.size = (columns, rows),
        Event::Snapshot(snapshot) => {
            state.shared.take_snapshot(&snapshot);
            drop_old_question(state);
            state.screens.logs.gather(state.shared.newest());
        }
        Event::Logs(lines) => state.screens.logs.take(lines),
        Event::HangUp => state.shared.order_reload(),
        Event::Tick(now) => state.shared.take_time(now),
        Event::Answered(id, answer) => on_answer(state, id, &answer),
    }
    for request in state.shared.take_requests() {
        serve(state, request);
    }
    state.refresh();
    state.shared.take_commands()
}

fn on_key(state: &mut State, key: KeyEvent) {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    if ctrl && key.code == KeyCode::Char('c') {
        state.shared.command(Command::Quit);
        return;
    }
    if let Some(overlay) = state.overlay.take() {
        state.overlay = on_overlay_key(state, overlay, key);
        return;
    }
    if state.screens.get(state.screen).takes_keys() {
        let screen = state.screens.get_mut(state.screen);
        if screen.key(key, &mut state.shared) {
            return;
        }
    }
    let half = state.half.take();
    let Some(press) = Press::of(key) else { return };
    match look_up(press, half, |action| state.can(action)) {
        Meaning::Half(char) => state.half = Some(char),
        Meaning::Bound(row) => run(state, row),
        Meaning::Nothing => {}
    }
}

/// Does what a row of the table says, or says why not.
fn run(state: &mut State, row: &Binding) {
    state.shared.notice = None;
    if row.changes && state.shared.options.read_only {
        state.shared.complain(format!(
            "{} is refused: this console was started with --read-only",
            row.name
        ));
        return;
    }
    if !state.can(row.action) {
        return;
    }
    match row.action {
        Action::Go(id) => go(state, id),
        Action::Back => back(state),
        Action::Quit => quit(state),
        Action::QuitNow => state.shared.command(Command::Quit),
        Action::Help => state.overlay = Some(Overlay::Help(Help::default())),
        Action::AnswerServer => open_question(state, None),
        Action::Reload => state.shared.order_reload(),
        Action::Report => state.overlay = Some(Overlay::Report(Report::default())),
        Action::Palette => state.overlay = Some(Overlay::Palette(Palette::default())),
        Action::Freeze => state.shared.toggle_freeze(),
        Action::Zoom => state.shared.zoomed = !state.shared.zoomed,
        Action::Mouse => {
            state.mouse = !state.mouse;
            state.shared.command(Command::Mouse(state.mouse));
            state.shared.say(match state.mouse {
                true => "mouse on: the wheel scrolls, a click selects a tab; m switches it off",
                false => "mouse off: selecting text is the terminal's again",
            });
        }
        Action::Save => {
            let text = screen_text(state);
            let title = state.screen.title().to_lowercase();
            let name = format!("toolcrib-{title}-{}.txt", state.shared.file_stamp());
            state.shared.order_save(name, text);
        }
        Action::Approvals => state.shared.request(Request::Approvals),
        Action::Copy => copy(state),
        Action::PlayShipped(number) => {
            let order = SessionCommand::Play(Script::Shipped(number));
            state.shared.order_session(order);
        }
        Action::PlayFile => {
            state.overlay = Some(Overlay::Prompt(Prompt {
                title: "Play a scenario".to_owned(),
                hint: "its file; a deployment in it starts beside this one",
                input: Input::default(),
                wanted: Prompted::Scenario,
            }))
        }
        Action::Filter => {
            let before = state.screen().filter().to_owned();
            state.overlay = Some(Overlay::Filter {
                input: Input::with(&before),
                before,
            });
        }
        other => state
            .screens
            .get_mut(state.screen)
            .act(other, &mut state.shared),
    }
}

fn go(state: &mut State, id: ScreenId) {
    state.back.clear();
    state.screen = id;
}

fn jump(state: &mut State, id: ScreenId) {
    if id != state.screen {
        if state.back.len() == MOST_BACK {
            state.back.remove(0);
        }
        state.back.push(state.screen);
        state.screen = id;
    }
}

/// One level back: zoom, what is opened, the filter, the jump.
fn back(state: &mut State) {
    let screen = state.screens.get_mut(state.screen);
    if state.shared.zoomed {
        state.shared.zoomed = false;
    } else if screen.depth() > 0 {
        screen.act(Action::Back, &mut state.shared);
    } else if !screen.filter().is_empty() {
        screen.set_filter("", &state.shared);
    } else if let Some(id) = state.back.pop() {
        state.screen = id;
    }
}

/// Quits from the top level; below it goes back, as `esc` does.
fn quit(state: &mut State) {
    if !state.is_top() {
        back(state);
        return;
    }
    match state.shared.own_calls().count() {
        0 => state.shared.command(Command::Quit),
        1 => ask(
            state,
            "a call that you fired still runs; quit and cancel it?".into(),
            Deed::Quit,
        ),
        many => ask(
            state,
            format!("{many} calls that you fired still run; quit and cancel them?"),
            Deed::Quit,
        ),
    }
}

fn ask(state: &mut State, question: String, deed: Deed) {
    state.overlay = Some(Overlay::Confirm(Confirm { question, deed }));
}

fn copy(state: &mut State) {
    if let Some(copied) = state.screen().copy(&state.shared) {
        let lines = copied.text.lines().count();
        let size = match lines {
            0 | 1 => String::new(),
            _ => format!(" ({lines} lines)"),
        };
        state.shared.command(Command::Copy(copied.text));
        state.shared.say(format!("copied {}{size}", copied.what));
    }
}

fn serve(state: &mut State, request: Request) {
    match request {
        Request::Go(id) => jump(state, id),
        Request::Visit(subject) => {
            let id = match subject {
                Subject::Question(id) => return open_question(state, Some(id)),
                Subject::Deployment => {
                    state.overlay = Some(Overlay::Report(Report::default()));
                    return;
                }
                Subject::Server(..) => ScreenId::Sources,
                Subject::Tool(_) => ScreenId::Tools,
                Subject::Session(_) => ScreenId::Sessions,
            };
            jump(state, id);
            state.refresh();
            state.screens.get_mut(id).visit(&subject, &state.shared);
        }
        Request::Logs(of) => {
            jump(state, ScreenId::Logs);
            state.refresh();
            state.screens.logs.only(&of);
        }
        Request::Why(tool) => {
            let tool = state.shared.real_tool_name(&tool);
            jump(state, ScreenId::Sessions);
            state.refresh();
            state.screens.sessions.ask_why(tool);
        }
        Request::Call(tool) => {
            jump(state, ScreenId::Calls);
            state.refresh();
            state.screens.calls.open_form(&tool, &mut state.shared);
        }
        Request::Trace(call) => {
            jump(state, ScreenId::Telemetry);
            state.screens.telemetry.show_call(&call);
        }
        Request::Approvals => {
            jump(state, ScreenId::Telemetry);
            state.screens.telemetry.show_approvals();
        }
        Request::CallIn(session, name, tool) => {
            jump(state, ScreenId::Calls);
            state.refresh();
            let calls = &mut state.screens.calls;
            calls.open_form_in(session, &name, &tool, &mut state.shared);
        }
        Request::Return => {
            if let Some(id) = state.back.pop() {
                state.screen = id;
            }
        }
        Request::Palette(typed, asked_by) => {
            state.overlay = Some(Overlay::Palette(Palette {
                input: Input::with(typed),
                selected: 0,
                without: Some(asked_by),
            }));
        }
        Request::Prompt(title, hint, typed, wanted) => {
            state.overlay = Some(Overlay::Prompt(Prompt {
                title,
                hint,
                input: Input::with(&typed),
                wanted,
            }));
        }
        Request::Choose(title, options) => {
            state.overlay = Some(Overlay::Choose(Choose { title, options }));
        }
        Request::Ask(question, deed) => ask(state, question, deed),
    }
}

fn perform(state: &mut State, deed: Deed) {
    match deed {
        Deed::Server(source, server, order) => state.shared.order_server(source, server, order),
        Deed::Accept(source, server, tool) => {
            let shared = &mut state.shared;
            shared.order_accept(&source, &server, tool.as_ref());
        }
        Deed::Decide(question, decision) => state.shared.order_decide(question, decision),
        Deed::Layer(layer, order, done) => state.shared.order_layer(layer, order, done),
        Deed::Cancel(call) => {
            state.shared.order_cancel(call);
        }
        Deed::Call(call) => {
            state.shared.order_call(*call);
        }
        Deed::Session(order) => {
            state.shared.order_session(order);
        }
        Deed::Quit => state.shared.command(Command::Quit),
    }
}

/// Opens a question of a server; without a number the oldest.
fn open_question(state: &mut State, id: Option<u64>) {
    if state.shared.options.read_only {
        return state
            .shared
            .complain("answering is refused: this console was started with --read-only");
    }
    let questions = &state.shared.newest().questions;
    let found = questions
        .iter()
        .find(|question| id.is_none_or(|id| question.id == id));
    let ask = found.and_then(|question| Ask::new(question, state.shared.theme.marks));
    match ask {
        Some(ask) => state.overlay = Some(Overlay::Ask(Box::new(ask))),
        None => state.shared.complain("the question is not open any more"),
    }
}

/// Puts an opened question away that nobody waits for any more.
fn drop_old_question(state: &mut State) {
    let Some(Overlay::Ask(ask)) = &state.overlay else {
        return;
    };
    let id = ask.id();
    let questions = &state.shared.newest().questions;
    if !questions.iter().any(|question| question.id == id) {
        state.overlay = None;
        state
            .shared
            .complain("the server does not wait for that answer any more");
    }
}

/// A key for what lies over the screen; gives back what lies there afterwards.
fn on_overlay_key(state: &mut State, overlay: Overlay, key: KeyEvent) -> Option<Overlay> {
    match overlay {
        Overlay::Confirm(confirm) => match key.code {
            KeyCode::Char('y' | 'Y') => {
                perform(state, confirm.deed);
                None
            }
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => None,
            _ => Some(Overlay::Confirm(confirm)),
        },
        Overlay::Choose(Choose { title, options }) => match key.code {
            KeyCode::Esc | KeyCode::Char('q') => None,
            KeyCode::Char(char) if options.iter().any(|(key, ..)| *key == char) => {
                let mut options = options.into_iter();
                if let Some((.., deed)) = options.find(|(key, ..)| *key == char) {
                    perform(state, deed);
                }
                None
            }
            _ => Some(Overlay::Choose(Choose { title, options })),
        },
        Overlay::Prompt(mut prompt) => match key.code {
            KeyCode::Esc => None,
            KeyCode::Enter => match answer_prompt(state, &prompt) {
                true => None,
                false => Some(Overlay::Prompt(prompt)),
            },
            _ => {
                prompt.input.key(key);
                Some(Overlay::Prompt(prompt))
            }
        },
        Overlay::Filter { mut input, before } => match key.code {
            KeyCode::Enter => None,
            KeyCode::Esc => {
                set_filter(state, &before);
                None
            }
            _ => {
                input.key(key);
                set_filter(state, input.text());
                Some(Overlay::Filter { input, before })
            }
        },
        Overlay::Help(mut help) => {
            let rows = help.rows(|row| state.works(row)).len();
            match Press::of(key) {
                Some(Press::Named(KeyCode::Esc | KeyCode::Enter)) => return None,
                Some(Press::Char('q' | '?')) if help.input.text().is_empty() => return None,
                Some(Press::Named(KeyCode::Down)) => help.top += 1,
                Some(Press::Named(KeyCode::Up)) => help.top = help.top.saturating_sub(1),
                Some(Press::Named(KeyCode::PageDown) | Press::Ctrl('d')) => help.top += 8,
                Some(Press::Named(KeyCode::PageUp)) => help.top = help.top.saturating_sub(8),
                _ => {
                    help.input.key(key);
                    help.top = 0;
                }
            }
            help.top = help.top.min(rows.saturating_sub(1));
            Some(Overlay::Help(help))
        }
        Overlay::Ask(mut ask) => match ask.key(key) {
            Asked::Open => Some(Overlay::Ask(ask)),
            Asked::Refused(why) => {
                state.shared.complain(why);
                Some(Overlay::Ask(ask))
            }
            Asked::Later => {
                state
                    .shared
                    .say("it waits for your answer; b comes back to it");
                None
            }
            Asked::Answer(answer) => {
                state.shared.order_reply(ask.id(), answer);
                None
            }
        },
        Overlay::Link(link) => match key.code {
            KeyCode::Char('y') => {
                state.shared.command(Command::Copy(link.url.clone()));
                state.shared.say("copied the address");
                Some(Overlay::Link(link))
            }
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => None,
            _ => Some(Overlay::Link(link)),
        },
        Overlay::Report(mut report) => {
            let last = report.lines(&state.shared).len().saturating_sub(1);
            match Press::of(key) {
                Some(Press::Named(KeyCode::Esc | KeyCode::Enter) | Press::Char('q' | '!')) => {
                    return None;
                }
                Some(Press::Named(KeyCode::Down) | Press::Char('j')) => report.top += 1,
                Some(Press::Named(KeyCode::Up) | Press::Char('k')) => {
                    report.top = report.top.saturating_sub(1);
                }
                Some(Press::Char('y')) => {
                    let lines = report.lines(&state.shared);
                    let text: Vec<_> = lines.iter().map(plain).collect();
                    state.shared.command(Command::Copy(text.join("\n")));
                    state.shared.say(match report.scenario {
                        None => "copied what there is to say of the deployment",
                        Some(_) => "copied the problems of the scenario",
                    });
                }
                _ => {}
            }
            report.top = report.top.min(last);
            Some(Overlay::Report(report))
        }
        Overlay::Palette(palette) => on_palette_key(state, palette, key),
    }
}

/// Does what a line was asked for; `false` when it cannot be meant.
fn answer_prompt(state: &mut State, prompt: &Prompt) -> bool {
    let text = prompt.input.text().trim();
    if text.is_empty() {
        return false;
    }
    let order = match prompt.wanted {
        Prompted::Query(session) => {
            let call = Call::new(TOOL_SEARCH, json!({"query": text}));
            SessionCommand::Order(session, SessionOrder::Batch(vec![call]))
        }
        Prompted::Rounds(session) => {
            let Ok(rounds) = text.parse() else {
                state
                    .shared
                    .complain(format!("`{text}` is no number of rounds"));
                return false;
            };
            SessionCommand::Order(session, SessionOrder::Advance(rounds))
        }
        Prompted::Require(session) => {
            SessionCommand::Order(session, SessionOrder::Require(text.into()))
        }
        Prompted::Scenario => SessionCommand::Play(Script::File(text.into())),
    };
    state.shared.order_session(order);
    true
}

fn on_palette_key(state: &mut State, mut palette: Palette, key: KeyEvent) -> Option<Overlay> {
    let rows = palette.rows(|row| state.works(row));
    let last = rows.len().saturating_sub(1);
    match Press::of(key) {
        Some(Press::Named(KeyCode::Esc)) => return None,
        Some(Press::Named(KeyCode::Enter)) => {
            return match rows.get(palette.selected) {
                Some((row, true)) => {
                    run(state, row);
                    // The action may have laid something else over the screen.
                    state.overlay.take()
                }
                Some((row, false)) => {
                    let readonly = row.changes && state.shared.options.read_only;
                    let why = if readonly {
                        "is refused: this console was started with --read-only"
                    } else {
                        "does nothing here"
                    };
                    state.shared.complain(format!("{} {why}", row.name));
                    None
                }
                None => Some(Overlay::Palette(palette)),
            };
        }
        Some(Press::Named(KeyCode::Tab)) => {
            // Completion: what is selected becomes what is typed.
            if let Some((row, _)) = rows.get(palette.selected) {
                palette.input = Input::with(row.name);
                palette.selected = 0;
            }
        }
        Some(Press::Named(KeyCode::Down) | Press::Ctrl('n')) => {
            palette.selected = (palette.selected + 1).min(last);
        }
        Some(Press::Named(KeyCode::Up) | Press::Ctrl('p')) => {
            palette.selected = palette.selected.saturating_sub(1);
        }
        _ => {
            palette.input.key(key);
            palette.selected = 0;
        }
    }
    Some(Overlay::Palette(palette))
}

fn set_filter(state: &mut State, text: &str) {
    state
        .screens
        .get_mut(state.screen)
        .set_filter(text, &state.shared);
}

fn on_paste(state: &mut State, text: &str) {
    match &mut state.overlay {
        Some(Overlay::Filter { input, .. }) => {
            input.insert(text);
            let text = input.text().to_owned();
            set_filter(state, &text);
        }
        Some(Overlay::Ask(ask)) => {
            if let Err(why) = ask.paste(text) {
                state.shared.complain(why);
            }
        }
        Some(Overlay::Help(help)) => help.input.insert(text),
        Some(Overlay::Palette(palette)) => palette.input.insert(text),
        Some(Overlay::Prompt(prompt)) => prompt.input.insert(text),
        Some(Overlay::Confirm(_) | Overlay::Choose(_) | Overlay::Link(_) | Overlay::Report(_)) => {}
        None => state
            .screens
            .get_mut(state.screen)
            .paste(text, &mut state.shared),
    }
}

/// The wheel scrolls what has the focus; a click on a tab shows its screen.
fn on_mouse(state: &mut State, mouse: MouseEvent) {
    let press = match mouse.kind {
        MouseEventKind::ScrollDown => KeyCode::Down,
        MouseEventKind::ScrollUp => KeyCode::Up,
        MouseEventKind::Down(_) => {
            if state.overlay.is_none()
                && let Some(id) = super::view::tab_at(state, mouse.column, mouse.row)
            {
                go(state, id);
            }
            return;
        }
        _ => return,
    };
    on_key(state, KeyEvent::new(press, KeyModifiers::NONE));
}

fn on_answer(state: &mut State, id: OrderId, answer: &Answer) {
    let Some(pending) = state.shared.answered(id) else {
        return;
    };
    match answer {
        Answer::Server(Ok(done)) => {
            let done = clean(state, done);
            state.shared.say(done);
        }
        Answer::Server(Err(error)) => {
            let error = clean(state, &error.to_string());
            state.shared.complain(error);
        }
        Answer::Authorize(Ok(url)) => {
            state.shared.command(Command::Copy(url.clone()));
            state.overlay = Some(Overlay::Link(Link { url: url.clone() }));
        }
        Answer::Layer(Ok(())) => {
            if let Pending::Layer(done) = &pending {
                let done = clean(state, done);
                state.shared.say(done);
            }
        }
        Answer::Authorize(Err(error)) => {
            let error = clean(state, &error.to_string());
            state.shared.complain(error);
        }
        Answer::Layer(Err(error)) => {
            let error = clean(state, &error.to_string());
            state.shared.complain(error);
        }
        Answer::Saved(Ok(place)) => {
            let more = match &pending {
                Pending::Save(more) => more,
                _ => "",
            };
            let place = clean(state, &format!("{place}{more}"));
            state.shared.say(format!("wrote {place}"));
        }
        Answer::Saved(Err(error)) => {
            let error = clean(state, error);
            state
                .shared
                .complain(format!("cannot write the file: {error}"));
        }
        Answer::Decided(Ok(true)) => state.shared.say("answered"),
        Answer::Decided(Ok(false)) => state.shared.say("the question is not open any more"),
        Answer::Decided(Err(error)) => state.shared.complain(error.to_string()),
        Answer::Cancelled(Ok(true)) => state.shared.say("the call was asked to stop"),
        Answer::Cancelled(Ok(false)) => state.shared.say("the call has ended already"),
        Answer::Cancelled(Err(error)) => state.shared.complain(error.to_string()),
        Answer::Session(Ok(SessionDone::Opened(session))) => {
            state.screens.sessions.follow(*session);
            go(state, ScreenId::Sessions);
        }
        Answer::Session(Ok(SessionDone::Said(done))) => {
            let done = clean(state, done);
            state.shared.say(done);
        }
        Answer::Session(Ok(SessionDone::Ran(report))) => {
            let (failed, told) = batch_words(report);
            let told = clean(state, &told);
            match failed {
                true => state.shared.complain(told),
                false => state.shared.say(told),
            }
        }
        Answer::Session(Err(NotDone::Unreadable(problems))) => {
            let count = problems.0.len();
            state.shared.complain(match count {
                1 => "the scenario is not played: its file has 1 problem".to_owned(),
                count => format!("the scenario is not played: its file has {count} problems"),
            });
            // What the operator does meanwhile is not pushed aside.
            if state.overlay.is_none() {
                state.overlay = Some(Overlay::Report(Report {
                    scenario: Some(problems.clone()),
                    ..Report::default()
                }));
            }
        }
        Answer::Session(Err(NotDone::Said(error))) => {
            let error = clean(state, error);
            state.shared.complain(error);
        }
        // A form without a preview is as good; that the runtime is gone is told elsewhere.
        Answer::Previewed(_) => {}
        // The pane that asked tells of it.
        Answer::WhatIf(_) => {}
        Answer::Called(outcome) => {
            if let Err(error) = &**outcome {
                state.shared.complain(error.to_string());
            }
        }
    }
    let screen = match pending {
        Pending::Call(_) | Pending::Cancel(_) => [ScreenId::Tools, ScreenId::Calls].as_slice(),
        Pending::Preview => &[ScreenId::Calls],
        Pending::Server(..) => &[ScreenId::Sources],
        Pending::Session
        | Pending::Save(_)
        | Pending::Decide(_)
        | Pending::Reload
        | Pending::Layer(_) => &[],
        Pending::WhatIf => &[ScreenId::Sessions],
    };
    for id_of_screen in screen {
        state
            .screens
            .get_mut(*id_of_screen)
            .answered(id, answer, &mut state.shared);
    }
}

/// What a batch of one call came to, and whether it failed.
fn batch_words(report: &RoundReport) -> (bool, String) {
    let round = report.record.round;
    let Some(call) = report.calls.first() else {
        return (false, format!("round {round} had no call"));
    };
    let (tool, next) = (&call.tool, round + 1);
    match call.end {
        CallEnd::Ok if **tool == *TOOL_SEARCH => match report.record.searches.last() {
            Some(search) => {
                let names: Vec<&str> = search.exposed.iter().map(|hit| &*hit.name).collect();
                let failed = search.failed.iter();
                let failed: Vec<String> = failed
                    .map(|hit| format!("{} ({})", hit.name, hit.reason.as_str()))
                    .collect();
                let found = format!(
                    "{} exposed, from round {next} on: {}",
                    names.len(),
                    names.join(", ")
                );
                let missing = format!("not exposed: {}", failed.join(", "));
                let told = match (names.is_empty(), failed.is_empty()) {
                    (true, true) => "nothing is exposed".to_owned(),
                    (true, false) => missing,
                    (false, true) => found,
                    (false, false) => format!("{found}; {missing}"),
                };
                (names.is_empty(), told)
            }
            None => (true, "the search told nothing".to_owned()),
        },
        CallEnd::Ok => (
            false,
            format!("`{tool}` answered, 6 shows the result; now it is round {next}"),
        ),
        CallEnd::Error(kind) => (
            true,
            format!("`{tool}`: {}: {}", kind.as_str(), call.result.all_text()),
        ),
        CallEnd::UndefinedTool => (
            true,
            format!("undefined_tool, it did not run: {}", call.result.all_text()),
        ),
    }
}

fn clean(state: &State, text: &str) -> String {
    crate::text::clean(text, crate::text::Lines::One, state.shared.theme.marks).into_owned()
}
