//! From a tool or an earlier call to the form, and from the form to a call.

use std::sync::Arc;

use toolcrib::control::SessionOrder;
use toolcrib::observe::ToolRow;
use toolcrib::session::SessionId;
use toolcrib::tool::{Call, CallId};

use super::draft::Draft;
use super::list::Seen;
use super::{Calls, DRAFTS};
use crate::console::command::SessionCommand;
use crate::console::form::Focus;
use crate::console::shared::{Breadth, Deed, Request, Shared};

/// The order that runs a call as the batch of a session's round.
fn in_session(session: SessionId, call: Call) -> SessionCommand {
    SessionCommand::Order(session, SessionOrder::Batch(vec![call]))
}

impl Calls {
    /// Opens the form that calls a tool, by the name that is shown.
    pub(crate) fn open_form(&mut self, tool: &Arc<str>, shared: &mut Shared) {
        let tools = Arc::clone(&shared.snapshot().tools);
        let Some(row) = tools.iter().find(|row| row.definition.name() == &**tool) else {
            return;
        };
        self.picker = None;
        self.open(row, shared);
    }

    /// Opens the form for a call in a session. What it came to is told there.
    pub(crate) fn open_form_in(
        &mut self,
        session: SessionId,
        name: &Arc<str>,
        tool: &Arc<str>,
        shared: &mut Shared,
    ) {
        self.open_form(tool, shared);
        if let Some(draft) = &mut self.draft {
            draft.session = Some((session, Arc::clone(name)));
        }
    }

    /// Opens the form with what was left in it, if the tool is still the same.
    pub(super) fn open(&mut self, row: &ToolRow, shared: &mut Shared) {
        self.leave();
        let came = shared.tool_as_it_came(row);
        let kept = self.left.iter().position(|draft| draft.is_of(&came));
        let mut draft = kept
            .and_then(|at| self.left.remove(at))
            .unwrap_or_else(|| Draft::new(row.clone(), came, shared.theme.marks));
        draft.session = None;
        draft.ask_what_is_sent(shared);
        self.draft = Some(draft);
        self.inside = true;
    }

    /// Puts the draft aside.
    pub(super) fn leave(&mut self) {
        if let Some(draft) = self.draft.take() {
            if self.left.len() == DRAFTS {
                self.left.pop_front();
            }
            self.left.push_back(draft);
        }
        self.inside = false;
    }

    /// Opens the form with the arguments of the selected call.
    pub(super) fn repeat(&mut self, shared: &mut Shared) {
        let Some((tool, arguments)) = self.selected(shared.snapshot()).map(|row| match row {
            Seen::Running(row) => (Arc::clone(&row.tool), row.arguments.clone()),
            Seen::Ended(record) => {
                let came = shared.record_as_it_came(record);
                (Arc::clone(&record.tool), came.arguments.clone())
            }
        }) else {
            return;
        };
        let snapshot = Arc::clone(shared.snapshot());
        let found = snapshot
            .tools
            .iter()
            .find(|row| row.definition.name() == &*tool);
        let Some(row) = found else {
            shared.complain(format!("`{tool}` is not registered any more"));
            return;
        };
        self.leave();
        let came = shared.tool_as_it_came(row);
        let mut draft = Draft::new(row.clone(), came, shared.theme.marks);
        match draft.fill(&arguments) {
            Ok(said) => {
                if let Some(said) = said {
                    shared.complain(said);
                }
                draft.form.focus_on(Focus::Button);
                draft.ask_what_is_sent(shared);
                self.draft = Some(draft);
                self.inside = true;
            }
            Err(why) => shared.complain(why),
        }
    }

    /// Fires the draft, or asks first where its arguments are wrong.
    pub(super) fn fire(&mut self, shared: &mut Shared) {
        let Some(draft) = &self.draft else { return };
        if shared.options.read_only {
            shared.complain("calls are refused: this console was started with --read-only");
            return;
        }
        let call = draft.call();
        let faults = draft.faults();
        if let Some(first) = faults.first() {
            let place = match first.pointer.as_str() {
                "" => "the arguments",
                pointer => pointer,
            };
            let others = match faults.len() {
                1 => String::new(),
                count => format!(", and {} more", count - 1),
            };
            let question = format!(
                "{place}: {}{others}. Call {} anyway?",
                first.message,
                draft.shown.definition.name()
            );
            let question =
                crate::text::clean(&question, crate::text::Lines::One, shared.theme.marks);
            self.asked = Some(call.id.clone());
            let deed = match &draft.session {
                Some((session, _)) => Deed::Session(in_session(*session, call)),
                None => Deed::Call(Box::new(call)),
            };
            shared.request(Request::Ask(question.into_owned(), deed));
            return;
        }
        if let Some((session, _)) = &draft.session {
            let order = in_session(*session, call);
            shared.order_session(order);
            self.leave();
            shared.request(Request::Return);
            return;
        }
        self.send(call, shared);
    }

    fn send(&mut self, call: Call, shared: &mut Shared) {
        let id = call.id.clone();
        shared.order_call(call);
        self.fired(id, shared);
    }

    /// The call is on its way: the list follows it.
    pub(super) fn fired(&mut self, id: CallId, shared: &Shared) {
        self.leave();
        self.inside = shared.breadth() == Breadth::Small;
        self.asked = None;
        self.wanted = Some(id);
        // What was filtered out could not be followed.
        self.filter.clear();
        self.seen = None;
    }
}
