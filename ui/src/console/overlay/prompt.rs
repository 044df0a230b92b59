//! A line that is asked for: a query, a number of rounds, a name, a file.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use crate::console::frame::centered;
use crate::console::input::Input;
use crate::console::pane;
use crate::console::shared::{Prompted, Shared};

/// What is asked, and what is typed.
#[derive(Debug)]
pub(in crate::console) struct Prompt {
    pub(in crate::console) title: String,
    /// What is good to know before one types.
    pub(in crate::console) hint: &'static str,
    pub(in crate::console) input: Input,
    /// What the answer is for.
    pub(in crate::console) wanted: Prompted,
}

impl Prompt {
    pub(in crate::console) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let area = centered(area, 76.min(area.width), 5);
        frame.render_widget(Clear, area);
        let inner = pane::frame_always(shared, frame, area, &self.title);
        let lines = [
            Line::styled(self.hint, theme.dim()),
            Line::default(),
            self.input.line(Span::styled("> ", theme.key()), theme),
        ];
        let rows = inner.height.min(3);
        // With too little room the line that is typed is what counts.
        let shown = lines.into_iter().skip(3 - usize::from(rows));
        for (y, line) in (inner.top()..inner.bottom()).zip(shown) {
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
