//! The screen Calls: what runs, what ran, and the form that calls a tool.

mod draft;
mod evidence;
pub(in crate::console) mod facts;
mod firing;
mod list;
mod picker;
mod sheet;
mod table;
mod underway;

use std::collections::VecDeque;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use toolcrib::discovery::session::CallEnd;
use toolcrib::middleware::{Decision, PendingApproval};
use toolcrib::observe::{CallRecord, Snapshot};
use toolcrib::tool::CallId;

pub(in crate::console) use self::draft::{Draft, Pressed};
use self::evidence::Evidence;
use self::list::{At, Seen, Sort};
use self::picker::{Picked, Picker};
pub(in crate::console) use self::sheet::view as view_draft;
use self::underway::Underway;
use super::telemetry::sure;
use super::{Copied, Screen};
use crate::console::command::{Answer, OrderId, SessionDone};
use crate::console::form::{Focus, Kind};
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::roster::Roster;
use crate::console::shared::{Breadth, Deed, Request, Shared};

/// How many drafts are kept while others are looked at; the oldest is forgotten beyond that.
const DRAFTS: usize = 20;

/// How much is put on the clipboard at most; terminals drop much less than a large result.
const CLIPBOARD: usize = 1024 * 1024;

/// What the evidence side shows.
#[derive(Debug, Default)]
enum Shown {
    /// Nothing is selected.
    #[default]
    Nothing,
    /// A call that runs.
    Underway(Underway),
    /// A call that ended.
    Ended(Box<Evidence>),
}

/// The screen Calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    rows: Vec<At>,
    roster: Roster<CallId>,
    seen: Option<SeenRows>,
    filter: String,
    sort: Sort,
    inverted: bool,
    /// Whether the evidence has the focus.
    inside: bool,
    shown: Shown,
    /// The call being put together; while it is open it stands in place of the evidence.
    draft: Option<Draft>,
    /// Drafts that were left, the newest last.
    left: VecDeque<Draft>,
    picker: Option<Picker>,
    /// A call that was fired and is to be selected once it is seen.
    wanted: Option<CallId>,
    /// A call that is fired if the operator says yes.
    asked: Option<CallId>,
}

/// The parts of a snapshot that the rows depend on.
#[derive(Debug)]
struct SeenRows {
    running: Vec<CallId>,
    history: Arc<[Arc<CallRecord>]>,
}

impl Calls {
    fn selected<'s>(&self, snapshot: &'s Snapshot) -> Option<Seen<'s>> {
        if self.wanted.is_some() {
            return None;
        }
        self.rows.get(self.roster.position())?.of(snapshot)
    }

    /// The question that the selected call waits with.
    fn question<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s PendingApproval> {
        let Some(Seen::Running(row)) = self.selected(snapshot) else {
            return None;
        };
        question_of(&row.id, snapshot)
    }

    fn is_stale(&self, snapshot: &Snapshot) -> bool {
        self.seen.as_ref().is_none_or(|seen| {
            let running = snapshot.running.iter().map(|row| &row.id);
            !Arc::ptr_eq(&seen.history, &snapshot.history) || !running.eq(&seen.running)
        })
    }

    fn sift(&mut self, snapshot: &Snapshot) {
        let rows = list::order(snapshot, &self.filter, self.sort, self.inverted);
        let (keys, rows) = rows.into_iter().unzip();
        self.rows = rows;
        self.roster.set_keys(keys);
        self.seen = Some(SeenRows {
            running: snapshot.running.iter().map(|row| row.id.clone()).collect(),
            history: Arc::clone(&snapshot.history),
        });
        if let Some(wanted) = &self.wanted
            && self.roster.select(wanted)
        {
            self.wanted = None;
        }
    }

    /// Brings the evidence in line with the selection.
    fn look(&mut self, shared: &Shared) {
        let theme = shared.theme;
        let snapshot = shared.snapshot();
        let shown = match self.selected(snapshot) {
            None => Some(Shown::Nothing),
            Some(Seen::Running(row)) => match &self.shown {
                Shown::Underway(known) if known.is_of(&row.id) => None,
                _ => Some(Shown::Underway(Underway::new(row, theme))),
            },
            Some(Seen::Ended(record)) => {
                let came = shared.record_as_it_came(record);
                match &self.shown {
                    Shown::Ended(known) if known.is_of(&came) => None,
                    _ => Some(Shown::Ended(Box::new(Evidence::new(came, theme)))),
                }
            }
        };
        if let Some(shown) = shown {
            self.shown = shown;
        }
    }

    fn areas(&self, shared: &Shared, area: Rect) -> [Rect; 2] {
        // A form needs the room; in the stacked layout the list keeps a few rows.
        if self.draft.is_some() && shared.breadth() == Breadth::Stacked && !shared.zoomed {
            let list = Rect {
                height: 6.min(area.height),
                ..area
            };
            let form = Rect {
                y: list.bottom(),
                height: area.height - list.height,
                ..area
            };
            return [list, form];
        }
        pane::list_and_evidence(shared, area, !self.inside)
    }

    fn travel(&mut self, action: Action) {
        if self.inside {
            let (half, ended) = match &self.shown {
                Shown::Ended(evidence) => (evidence.half_page(), true),
                Shown::Underway(_) | Shown::Nothing => (5, false),
            };
            let rows = match action {
                Action::Down => 1,
                Action::Up => -1,
                Action::HalfDown => half,
                Action::HalfUp => -half,
                Action::First => isize::MIN,
                _ => isize::MAX,
            };
            match &mut self.shown {
                Shown::Ended(evidence) if ended => evidence.scroll(rows),
                Shown::Underway(underway) => underway.scroll(rows),
                _ => {}
            }
            return;
        }
        self.wanted = None;
        self.roster.move_by(action);
    }

    fn evidence(&self) -> Option<&Evidence> {
        match &self.shown {
            Shown::Ended(evidence) if self.draft.is_none() => Some(evidence),
            _ => None,
        }
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        match &mut self.shown {
            Shown::Ended(evidence) if self.draft.is_none() => Some(evidence),
            _ => None,
        }
    }

    /// Whether `/` edits the search of the result instead of the filter of the list.
    fn searches(&self) -> bool {
        self.inside
            && self
                .evidence()
                .is_some_and(|evidence| evidence.pager().is_some())
    }

    fn view_evidence(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let focused = self.inside && self.picker.is_none();
        if let Some(draft) = &self.draft {
            let tool = draft.shown.definition.name();
            let title = match &draft.session {
                Some((_, session)) => format!("Call {tool} in {session}"),
                None => format!("Call {tool}"),
            };
            let inner = pane::frame(shared, frame, area, &title, focused);
            sheet::view(draft, focused, shared, frame, inner);
            return;
        }
        let snapshot = shared.snapshot();
        let title = match (self.selected(snapshot), &self.wanted) {
            (Some(seen), _) => seen.tool().to_string(),
            (None, Some(id)) => id.to_string(),
            (None, None) => "no call".to_owned(),
        };
        let inner = pane::frame(shared, frame, area, &title, focused);
        match (&self.shown, self.selected(snapshot)) {
            (Shown::Ended(evidence), Some(Seen::Ended(_))) => {
                evidence.view(focused, shared, frame, inner);
            }
            (Shown::Underway(underway), Some(Seen::Running(row))) => {
                underway.view(row, focused, shared, frame, inner);
            }
            _ if self.wanted.is_some() => {
                let words = match shared.frozen() {
                    Some(_) => "sent; the view is frozen, space lets it move on",
                    None => "sent",
                };
                frame.render_widget(Line::styled(words, theme.dim()), inner);
            }
            _ => {}
        }
    }
}

impl Screen for Calls {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        // The operator said yes to a call with wrong arguments.
        if let Some(asked) = self.asked.clone()
            && shared.own_calls().any(|(_, call)| *call == asked)
        {
            self.fired(asked, shared);
        }
        let snapshot = Arc::clone(shared.snapshot());
        if self.is_stale(&snapshot) {
            self.sift(&snapshot);
        }
        let [list, evidence] = self.areas(shared, area);
        let rows = pane::inside(shared, list).height.saturating_sub(1);
        self.roster.settle(usize::from(rows));
        if let Some(picker) = &mut self.picker {
            picker.refresh(shared, area);
        }
        self.look(shared);
        let inner = pane::inside(shared, evidence);
        match &mut self.shown {
            Shown::Ended(evidence) => evidence.settle(inner, shared.theme),
            Shown::Underway(underway) => underway.settle(inner),
            Shown::Nothing => {}
        }
    }

    fn can(&self, action: Action, shared: &Shared) -> bool {
        let snapshot = shared.snapshot();
        let row = self.selected(snapshot);
        let any = !self.rows.is_empty() || self.wanted.is_some();
        let evidence = self.evidence();
        let reads = self.inside && evidence.is_some_and(|evidence| evidence.pager().is_some());
        match action {
            Action::Down | Action::Up | Action::First | Action::Last => any,
            Action::HalfDown | Action::HalfUp => any,
            Action::NextPane | Action::PreviousPane => any || self.draft.is_some(),
            Action::Open | Action::Describe => {
                row.is_some()
                    && (!self.inside || evidence.is_none_or(|evidence| evidence.has_tree()))
            }
            Action::Filter => true,
            Action::Sort | Action::Invert => any && !self.inside,
            Action::Call => !snapshot.tools.is_empty(),
            Action::Repeat => row.is_some(),
            Action::Approve | Action::Deny | Action::ApproveAlways => {
                self.question(snapshot).is_some()
            }
            Action::Cancel => matches!(row, Some(Seen::Running(row)) if !row.cancelling),
            Action::NextTab | Action::PreviousTab => {
                evidence.is_some_and(|evidence| evidence.has_tabs())
            }
            Action::Wrap => reads,
            Action::NextHit | Action::PreviousHit => {
                reads && evidence.is_some_and(|evidence| !evidence.search().is_empty())
            }
            Action::Shape => evidence.is_some_and(|evidence| evidence.has_shapes()),
            Action::SaveParts => evidence.is_some_and(|evidence| evidence.parts().is_some()),
            Action::Trace => matches!(row, Some(Seen::Ended(_))),
            Action::Copy => evidence.is_some(),
            Action::Logs => matches!(row, Some(Seen::Ended(record)) if record.owner.is_some()),
            _ => false,
        }
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        match action {
            Action::Down
            | Action::Up
            | Action::HalfDown
            | Action::HalfUp
            | Action::First
            | Action::Last => self.travel(action),
            Action::NextPane | Action::PreviousPane => self.inside = !self.inside,
            Action::Open | Action::Describe if !self.inside => {
                self.leave();
                self.inside = true;
            }
            Action::Open | Action::Describe => match &mut self.shown {
                Shown::Ended(evidence) => evidence.open(),
                Shown::Underway(underway) => underway.open(),
                Shown::Nothing => {}
            },
            Action::Back => {
                if let Some(evidence) = self.evidence_mut()
                    && evidence.has_opened()
                {
                    evidence.close();
                } else if self.inside {
                    self.inside = false;
                } else {
                    self.leave();
                }
            }
            Action::Sort => {
                self.sort = self.sort.next();
                self.inverted = false;
                self.seen = None;
            }
            Action::Invert => {
                self.inverted = !self.inverted;
                self.seen = None;
            }
            Action::Call => {
                let begin = self.selected(shared.snapshot()).map(Seen::tool);
                self.picker = Some(Picker::new(begin, shared));
            }
            Action::Repeat => self.repeat(shared),
            Action::Cancel => {
                if let Some(Seen::Running(row)) = self.selected(shared.snapshot()) {
                    let id = crate::text::clean_name(row.id.as_str(), shared.theme.marks);
                    let question = format!("cancel {id} of `{}`?", row.tool);
                    let deed = Deed::Cancel(row.id.clone());
                    shared.request(Request::Ask(question, deed));
                }
            }
            Action::Trace => {
                if let Some(Seen::Ended(record)) = self.selected(shared.snapshot()) {
                    shared.request(Request::Trace(record.id.clone()));
                }
            }
            // A yes asks again: a key pressed by mistake must not let anything run.
            Action::Approve => {
                if let Some(asked) = self.question(shared.snapshot()) {
                    let question = sure(asked, shared);
                    let deed = Deed::Decide(asked.id, Decision::Approve);
                    shared.request(Request::Ask(question, deed));
                }
            }
            Action::Deny => {
                if let Some(question) = self.question(shared.snapshot()).map(|asked| asked.id) {
                    shared.order_decide(question, Decision::Deny);
                }
            }
            Action::ApproveAlways => {
                if let Some(asked) = self.question(shared.snapshot()) {
                    let session = match &asked.session {
                        Some(session) => format!("session `{session}`"),
                        None => "the calls outside of sessions".to_owned(),
                    };
                    let question = format!(
                        "let this call and every later one of `{}` run in {session} without asking?",
                        asked.tool
                    );
                    let deed = Deed::Decide(asked.id, Decision::Always);
                    shared.request(Request::Ask(question, deed));
                }
            }
            Action::NextTab | Action::PreviousTab => {
                if let Some(evidence) = self.evidence_mut() {
                    evidence.step_tab(action == Action::NextTab);
                }
            }
            Action::Wrap => {
                if let Some(pager) = self.evidence_mut().and_then(Evidence::pager_mut) {
                    pager.toggle_wrap();
                }
            }
            Action::NextHit | Action::PreviousHit => {
                if let Some(pager) = self.evidence_mut().and_then(Evidence::pager_mut) {
                    pager.step_hit(action == Action::NextHit);
                }
            }
            Action::Shape => {
                let theme = shared.theme;
                if let Some(evidence) = self.evidence_mut()
                    && !evidence.reshape(theme)
                {
                    shared.complain("the text begins like JSON and is none");
                }
            }
            Action::SaveParts => {
                if let Some(evidence) = self.evidence()
                    && let Some(parts) = evidence.parts()
                {
                    let tool = Arc::clone(&evidence.record().tool);
                    shared.order_save_parts(tool, Arc::clone(parts));
                }
            }
            Action::Logs => {
                if let Some(Seen::Ended(record)) = self.selected(shared.snapshot())
                    && let Some(owner) = record.owner.clone()
                {
                    shared.request(Request::Logs(owner));
                }
            }
            _ => {}
        }
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let [list, evidence] = self.areas(shared, area);
        if !list.is_empty() {
            self.view_list(shared, frame, list);
        }
        if !evidence.is_empty() {
            self.view_evidence(shared, frame, evidence);
        }
        if let Some(picker) = &self.picker {
            picker.view(shared, frame, area);
        }
    }

    fn wants_attention(&self, shared: &Shared) -> bool {
        !shared.newest().approvals.is_empty()
    }

    fn depth(&self) -> usize {
        let opened = self.evidence().is_some_and(Evidence::has_opened);
        usize::from(self.inside) + usize::from(self.draft.is_some()) + usize::from(opened)
    }

    fn filter(&self) -> &str {
        match self.evidence() {
            Some(evidence) if self.searches() => evidence.search(),
            _ => &self.filter,
        }
    }

    fn set_filter(&mut self, text: &str, _: &Shared) {
        if self.searches() {
            if let Some(evidence) = self.evidence_mut() {
                evidence.set_search(text);
            }
        } else if self.filter != text {
            text.clone_into(&mut self.filter);
            self.seen = None;
        }
    }

    fn takes_keys(&self) -> bool {
        self.picker.is_some() || (self.draft.is_some() && self.inside)
    }

    fn key(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        if let Some(picker) = &mut self.picker {
            match picker.key(key, shared) {
                Picked::Goes => {}
                Picked::Closed => self.picker = None,
                Picked::Passed => return false,
                Picked::Tool(name) => self.open_form(&name, shared),
            }
            return true;
        }
        let Some(draft) = &mut self.draft else {
            return false;
        };
        shared.notice = None;
        let pressed = draft.key(key);
        draft.ask_what_is_sent(shared);
        match pressed {
            Pressed::Taken => {}
            Pressed::Passed => return false,
            Pressed::Fire => self.fire(shared),
            Pressed::Leave => self.leave(),
            Pressed::Refused(why) => shared.complain(why),
        }
        true
    }

    fn paste(&mut self, text: &str, shared: &mut Shared) {
        if let Some(picker) = &mut self.picker {
            picker.paste(text, shared);
        } else if let Some(draft) = self.draft.as_mut().filter(|_| self.inside) {
            if let Err(why) = draft.paste(text) {
                shared.complain(why);
            }
            draft.ask_what_is_sent(shared);
        }
    }

    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        const PICKER: &[(&str, &str)] = &[
            ("type", "some letters"),
            ("up/down", "select"),
            ("enter", "open the form"),
            ("esc", "close"),
        ];
        match &self.draft {
            _ if self.picker.is_some() => PICKER,
            Some(draft) if draft.on_button() => sheet::BUTTON_KEYS,
            Some(draft) => match (&draft.editor, draft.form.focus()) {
                (draft::Editor::Json(..), _) => sheet::JSON_KEYS,
                (draft::Editor::Form, Focus::Field(number)) => {
                    let field = draft
                        .form
                        .fields()
                        .get(number)
                        .map(|(field, _)| &field.kind);
                    match field {
                        Some(Kind::Bool | Kind::Choice(_)) => sheet::CHOICE_KEYS,
                        _ => sheet::FORM_KEYS,
                    }
                }
                (draft::Editor::Form, Focus::Button) => sheet::BUTTON_KEYS,
            },
            None => &[],
        }
    }

    fn answered(&mut self, id: OrderId, answer: &Answer, _: &mut Shared) {
        if let Answer::Previewed(Ok(preview)) = answer
            && let Some(draft) = &mut self.draft
        {
            draft.previewed(id, preview);
        }
        // What a call came to is read from the history; only one that was never taken up is told
        // of here.
        let is_lost = match answer {
            Answer::Called(outcome) => outcome.is_err(),
            // A call that its session does not know has never begun.
            Answer::Session(Ok(SessionDone::Ran(report))) => {
                let mut calls = report.calls.iter();
                calls.any(|call| call.end == CallEnd::UndefinedTool)
            }
            Answer::Session(answer) => answer.is_err(),
            _ => false,
        };
        if is_lost {
            self.wanted = None;
        }
    }

    fn copy(&self, shared: &Shared) -> Option<Copied> {
        let evidence = self.evidence()?;
        let (what, mut text) = evidence.copied().or_else(|| {
            let record = evidence.record();
            let pretty = serde_json::to_string_pretty(&record.arguments).ok()?;
            Some(("the arguments".into(), pretty))
        })?;
        let _ = shared;
        if text.len() <= CLIPBOARD {
            return Some(Copied { what, text });
        }
        let end = (0..=CLIPBOARD).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        Some(Copied {
            what: format!("the first 1 MiB of {what}; S writes all of it to files"),
            text,
        })
    }
}

/// The question that a call waits with, if it does.
fn question_of<'s>(id: &CallId, snapshot: &'s Snapshot) -> Option<&'s PendingApproval> {
    let mut asked = snapshot.approvals.iter();
    asked
        .find(|asked| asked.call_id == *id)
        .map(|asked| &**asked)
}

#[cfg(test)]
mod tests;
