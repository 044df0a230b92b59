//! The screen Calls.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::Screen;
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::shared::Shared;

/// The screen Calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {}

impl Calls {
    pub(crate) fn open_form(&mut self, _tool: &std::sync::Arc<str>, _shared: &Shared) {}
}

impl Screen for Calls {
    fn refresh(&mut self, _: &Shared, _: Rect) {}

    fn can(&self, _: Action, _: &Shared) -> bool {
        false
    }

    fn act(&mut self, _: Action, _: &mut Shared) {}

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        pane::frame(shared, frame, area, "Calls", true);
    }
}
