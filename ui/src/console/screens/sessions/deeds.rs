//! What an operator can order here: open, call, search, let rounds pass, require, play, close.

use std::sync::Arc;
use std::time::Duration;

use toolcrib::control::{Pace, SessionOrder};
use toolcrib::discovery::TOOL_SEARCH;
use toolcrib::scenario::Trace;
use toolcrib::session::{PlayState, SessionId, SessionKind, SessionRow, SessionStatus};

use super::Sessions;
use crate::commands::media;
use crate::console::command::SessionCommand;
use crate::console::keymap::Action;
use crate::console::shared::{Deed, Prompted, Request, Shared};

/// The bounds within which the speed is doubled and halved.
const SHORTEST: Duration = Duration::from_millis(125);
const LONGEST: Duration = Duration::from_secs(32);

impl Sessions {
    /// A session that was opened by order: it is looked at as soon as it is seen.
    pub(crate) fn follow(&mut self, session: SessionId) {
        self.wanted = Some(session);
        self.filter.clear();
        self.seen = None;
    }

    fn row<'s>(&self, shared: &'s Shared) -> Option<&'s Arc<SessionRow>> {
        self.selected(shared.snapshot())
    }

    /// The selected session if its model is the operator and it goes on.
    fn own<'s>(&self, shared: &'s Shared) -> Option<&'s Arc<SessionRow>> {
        self.row(shared)
            .filter(|row| row.kind == SessionKind::Operator && row.status != SessionStatus::Ended)
    }

    /// The tool that is selected in the opened session, by its real name.
    fn selected_tool(&self, shared: &Shared) -> Option<Arc<str>> {
        let looked = self.looked.as_ref().filter(|_| self.is_open())?;
        self.sight(looked, shared).tool.cloned()
    }

    pub(super) fn can_order(&self, action: Action, shared: &Shared) -> bool {
        let own = self.own(shared);
        let waits = own.is_some_and(|row| row.status == SessionStatus::Open);
        let scenario = self
            .row(shared)
            .filter(|row| row.status != SessionStatus::Ended);
        let play = scenario.and_then(|row| row.play.as_ref());
        let goes_on = play
            .is_some_and(|play| !matches!(play.state, PlayState::Over | PlayState::Failed { .. }));
        match action {
            Action::Faster => goes_on && play.is_some_and(|play| play.interval > SHORTEST),
            Action::Slower => goes_on && play.is_some_and(|play| play.interval < LONGEST),
            Action::NextRound => waits || goes_on,
            Action::ManyRounds | Action::RequireName => waits,
            Action::FindTools => {
                waits && own.is_some_and(|row| row.current.visible.contains(TOOL_SEARCH))
            }
            Action::Call => waits && self.is_open() && self.registered_tool(shared).is_some(),
            Action::Require => waits && self.selected_tool(shared).is_some(),
            Action::CloseSession => self.row(shared).is_some_and(|row| {
                row.status == SessionStatus::Ended
                    || matches!(row.kind, SessionKind::Operator | SessionKind::Scenario)
            }),
            _ => false,
        }
    }

    pub(super) fn order(&mut self, action: Action, shared: &mut Shared) {
        if action == Action::NewSession {
            shared.order_session(SessionCommand::Open);
            return;
        }
        let Some(row) = self.row(shared).cloned() else {
            if action == Action::Play {
                shared.request(Request::Palette("play ", action));
            }
            return;
        };
        let id = row.id;
        // Whoever acts wants to see what comes of it.
        self.round = None;
        let tell = |shared: &mut Shared, order: SessionOrder| {
            shared.order_session(SessionCommand::Order(id, order));
        };
        match action {
            Action::Play => match row.play.as_ref().map(|play| &play.state) {
                Some(PlayState::Playing) => tell(shared, SessionOrder::Pace(Pace::Pause)),
                Some(PlayState::Paused | PlayState::Starting)
                    if row.status != SessionStatus::Ended =>
                {
                    tell(shared, SessionOrder::Pace(Pace::Play));
                }
                _ => shared.request(Request::Palette("play ", action)),
            },
            Action::Faster | Action::Slower => {
                if let Some(play) = &row.play {
                    let interval = match action {
                        Action::Faster => play.interval / 2,
                        _ => play.interval * 2,
                    };
                    let interval = interval.clamp(SHORTEST, LONGEST);
                    tell(shared, SessionOrder::Pace(Pace::Every(interval)));
                }
            }
            Action::NextRound => tell(
                shared,
                match row.kind {
                    SessionKind::Scenario => SessionOrder::Pace(Pace::Step),
                    _ => SessionOrder::Advance(1),
                },
            ),
            Action::ManyRounds => shared.request(Request::Prompt(
                format!("Let rounds pass in {}", row.name),
                "how many rounds without calls, up to 1,000",
                String::new(),
                Prompted::Rounds(id),
            )),
            Action::FindTools => self.ask_query(&row, shared),
            Action::Call => self.call(&row, shared),
            Action::Require => {
                if let Some(tool) = self.selected_tool(shared) {
                    let is_required = row.current.required.contains(&tool);
                    tell(
                        shared,
                        match is_required {
                            true => SessionOrder::Release(tool),
                            false => SessionOrder::Require(tool),
                        },
                    );
                }
            }
            Action::RequireName => shared.request(Request::Prompt(
                format!("Require a tool in {}", row.name),
                "its name; it is sent in every round in which it fits",
                String::new(),
                Prompted::Require(id),
            )),
            Action::CloseSession => {
                let question = match row.status {
                    SessionStatus::Ended => format!("forget the record of {}?", row.name),
                    SessionStatus::Running => {
                        format!(
                            "a call runs in {}; cancel it and close the session?",
                            row.name
                        )
                    }
                    SessionStatus::Open => format!("close {}?", row.name),
                };
                let order = SessionCommand::Order(id, SessionOrder::Close);
                shared.request(Request::Ask(question, Deed::Session(order)));
            }
            _ => {}
        }
    }

    /// Writes the record of the session as `toolcrib play --json` prints one.
    pub(super) fn export(&self, shared: &mut Shared) {
        let Some(row) = self.row(shared) else { return };
        let trace = Trace::of(row);
        let json = serde_json::to_string_pretty(&trace).unwrap_or_default();
        let name = format!(
            "toolcrib-session-{}-{}.json",
            media::stem(&row.name),
            shared.file_stamp()
        );
        shared.order_save_files(vec![(name, json + "\n")], None);
    }

    /// The form for the selected tool; for `tool_search` its query is all there is to ask.
    fn call(&self, row: &SessionRow, shared: &mut Shared) {
        let Some(tool) = self.registered_tool(shared) else {
            return;
        };
        if *tool == *TOOL_SEARCH {
            return self.ask_query(row, shared);
        }
        let name = Arc::clone(&row.name);
        shared.request(Request::CallIn(row.id, name, tool));
    }

    fn ask_query(&self, row: &SessionRow, shared: &mut Shared) {
        shared.request(Request::Prompt(
            format!("tool_search in {}", row.name),
            "one capability as verb and object, such as: read file",
            String::new(),
            Prompted::Query(row.id),
        ));
    }
}
