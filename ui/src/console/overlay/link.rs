//! An address that the operator has to open, whole and copyable.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Wrap};

use crate::console::frame::centered;
use crate::console::pane;
use crate::console::shared::Shared;
use crate::text::{self, Lines, clean};

/// The address.
#[derive(Debug)]
pub(in crate::console) struct Link {
    pub(in crate::console) url: String,
}

impl Link {
    pub(in crate::console) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let width = area.width.min(100);
        let url = clean(&self.url, Lines::One, theme.marks).into_owned();
        let room = usize::from(width.saturating_sub(2)).max(1);
        // Broken by hand: words of an address are not broken between.
        let mut rest = url.as_str();
        let mut lines = vec![
            Line::from(
                "Open this in a browser and agree there; the server connects by itself then.",
            ),
            Line::styled(
                "y copies it. Over ssh the browser has to run where this program runs, or the port be forwarded.",
                theme.dim(),
            ),
            Line::default(),
        ];
        while !rest.is_empty() {
            let end = rest
                .char_indices()
                .map(|(at, char)| at + char.len_utf8())
                .take_while(|end| text::width(&rest[..*end]) <= room)
                .last()
                .unwrap_or(rest.len());
            lines.push(Line::styled(rest[..end].to_owned(), theme.strong()));
            rest = &rest[end..];
        }
        let height = u16::try_from(lines.len() + 4).unwrap_or(area.height);
        let area = centered(area, width, height);
        frame.render_widget(Clear, area);
        let inner = pane::frame_always(shared, frame, area, "Authorize");
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
    }
}
