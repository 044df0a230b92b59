//! The screen Sources.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::Screen;
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::shared::Shared;

/// The screen Sources.
#[derive(Debug, Default)]
pub(crate) struct Sources {}

impl Screen for Sources {
    fn refresh(&mut self, _: &Shared, _: Rect) {}

    fn can(&self, _: Action, _: &Shared) -> bool {
        false
    }

    fn act(&mut self, _: Action, _: &mut Shared) {}

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        pane::frame(shared, frame, area, "Sources", true);
    }
}
