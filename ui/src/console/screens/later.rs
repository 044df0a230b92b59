//! Screens that are not built yet: they say what will be in them.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Paragraph, Wrap};

use super::Screen;
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::shared::Shared;

/// A screen with a single sentence.
#[derive(Debug)]
pub(crate) struct Later {
    title: &'static str,
    sentence: &'static str,
}

pub(super) const CHAT: Later = Later {
    title: "Chat",
    sentence: "Here you will talk to a model that uses the tools, and see each of its rounds and calls.",
};

impl Screen for Later {
    fn refresh(&mut self, _: &Shared, _: Rect) {}

    fn can(&self, _: Action, _: &Shared) -> bool {
        false
    }

    fn act(&mut self, _: Action, _: &mut Shared) {}

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let inner = pane::frame(shared, frame, area, self.title, true);
        let text = Paragraph::new(self.sentence).wrap(Wrap { trim: true });
        frame.render_widget(text, inner);
    }
}
