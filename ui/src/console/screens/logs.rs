//! The screen Logs.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::Screen;
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::shared::Shared;

/// The screen Logs.
#[derive(Debug, Default)]
pub(crate) struct Logs {}

impl Logs {
    /// Shows the lines of one source or server alone.
    pub(crate) fn only(&mut self, _of: &str) {}
}

impl Screen for Logs {
    fn refresh(&mut self, _: &Shared, _: Rect) {}

    fn can(&self, _: Action, _: &Shared) -> bool {
        false
    }

    fn act(&mut self, _: Action, _: &mut Shared) {}

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        pane::frame(shared, frame, area, "Logs", true);
    }
}
