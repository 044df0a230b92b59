//! A question that wants a yes.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use crate::console::frame::centered;
use crate::console::pane;
use crate::console::shared::{Deed, Shared};
use crate::text;

/// The question and what a yes does.
#[derive(Debug)]
pub(in crate::console) struct Confirm {
    pub(in crate::console) question: String,
    pub(in crate::console) deed: Deed,
}

impl Confirm {
    pub(in crate::console) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let widest = area.width.saturating_sub(4).clamp(1, 72);
        let wanted = u16::try_from(text::width(&self.question) + 6).unwrap_or(u16::MAX);
        let width = wanted.clamp(30.min(widest), widest);
        let room = usize::from(width.saturating_sub(4)).max(1);
        let rows = u16::try_from(text::width(&self.question).div_ceil(room)).unwrap_or(1);
        let area = centered(area, width, rows + 5);
        frame.render_widget(Clear, area);
        let inner = pane::frame_always(shared, frame, area, "Sure?");
        let answers = Line::from(vec![
            Span::styled("y", theme.key()),
            Span::raw(" yes   "),
            Span::styled("n", theme.key()),
            Span::raw(" no"),
        ]);
        let lines = vec![Line::from(self.question.as_str()), Line::default(), answers];
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), inner);
    }
}
