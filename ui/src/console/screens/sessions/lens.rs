//! The place for panes that answer a question about what is looked at: why a tool is sent or is
//! not, how a search ranked, what other settings would have sent. [`open`] says which pane a key
//! opens. It takes the place of the evidence, is refreshed with what is looked at whenever that
//! changes, has the keys while it has the focus, and `esc` closes it.

use std::fmt::Debug;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;
use toolcrib::discovery::session::RoundRecord;
use toolcrib::session::SessionRow;

use super::explain::Explain;
use super::what_if::WhatIf;
use super::why::Why;
use crate::console::command::{Answer, OrderId};
use crate::console::keymap::Action;
use crate::console::screens::Copied;
use crate::console::shared::Shared;

/// What is looked at. Names, queries and all other texts of records are as they came: whoever
/// draws one cleans it (`text::clean_name`, `text::clean`).
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each pane reads what its question is about")]
pub(super) struct Sight<'a> {
    /// The session with all rounds that are kept.
    pub(super) row: &'a Arc<SessionRow>,
    /// The round that is shown; not the last one while the operator goes back in time.
    pub(super) record: &'a Arc<RoundRecord>,
    /// The tool that is selected in the pane that has or last had the focus.
    pub(super) tool: Option<&'a Arc<str>>,
    /// The search that is selected on the sub-tab Searches, else the last one of the shown round:
    /// the number of its round and its place among the searches of that.
    pub(super) search: Option<(u32, usize)>,
    /// Snapshot, theme, time.
    pub(super) shared: &'a Shared,
}

/// A pane that answers a question.
pub(super) trait Lens: Debug {
    /// What stands in its frame.
    fn title(&self) -> String;

    /// Takes over what is looked at, and the area inside its frame. Called after every event; it
    /// is the lens that notices whether anything changed.
    fn refresh(&mut self, sight: &Sight<'_>, area: Rect);

    /// Whether the action would do something now.
    fn can(&self, action: Action) -> bool;

    /// Does it.
    fn act(&mut self, action: Action, shared: &mut Shared);

    /// Draws it inside its frame.
    fn view(&self, focused: bool, shared: &Shared, frame: &mut Frame<'_>, area: Rect);

    /// Whether keys go to a form of the lens before the table of keys sees them.
    fn takes_keys(&self) -> bool {
        false
    }

    /// A key for that form; `false` passes it on to the table of keys.
    fn key(&mut self, _key: KeyEvent, _shared: &mut Shared) -> bool {
        false
    }

    /// Which keys the form takes, for the footer.
    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        &[]
    }

    /// An answer that was still waited for.
    fn answered(&mut self, _id: OrderId, _answer: &Answer) {}

    /// What `y` copies.
    fn copy(&self, _shared: &Shared) -> Option<Copied> {
        None
    }
}

/// The pane that an action opens, if there is something to tell about what is looked at. Asked
/// whenever the footer is drawn, so that making one has to be cheap: work belongs in `refresh`.
pub(super) fn open(action: Action, sight: &Sight<'_>) -> Option<Box<dyn Lens>> {
    match action {
        Action::Why => Some(Box::new(Why::default())),
        Action::ExplainSearch => Some(Box::new(Explain::new(sight))),
        Action::WhatIf => Some(Box::new(WhatIf::new(sight))),
        _ => None,
    }
}
