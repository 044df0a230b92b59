//! A choice between a few deeds, each with a key of its own.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use crate::console::frame::centered;
use crate::console::pane;
use crate::console::shared::{Deed, Shared};

/// The question and the deeds.
#[derive(Debug)]
pub(in crate::console) struct Choose {
    pub(in crate::console) title: String,
    /// Key, words, deed.
    pub(in crate::console) options: Vec<(char, String, Deed)>,
}

impl Choose {
    pub(in crate::console) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let rows = u16::try_from(self.options.len()).unwrap_or(u16::MAX);
        let area = centered(area, 76.min(area.width), rows.saturating_add(2));
        frame.render_widget(Clear, area);
        let inner = pane::frame_always(shared, frame, area, &self.title);
        for (y, (key, words, _)) in (inner.top()..inner.bottom()).zip(&self.options) {
            let line = Line::from(vec![
                Span::styled(format!("{key}  "), theme.key()),
                Span::raw(words.as_str()),
            ]);
            frame.render_widget(
                line,
                Rect {
                    y,
                    height: 1,
                    ..inner
                },
            );
        }
    }
}
