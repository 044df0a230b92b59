//! A document on the screen: scrolls, wraps, finds.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Document, Layout};
use crate::console::figures;
use crate::console::theme::Theme;

/// Where in its document a pane stands.
#[derive(Clone, Debug)]
pub(crate) struct Pager {
    document: Document,
    /// Where the first row in the window begins.
    at: usize,
    height: usize,
    layout: Layout,
    search: String,
    hit: Option<usize>,
}

impl Pager {
    /// A document from its beginning, with long lines wrapped.
    pub(crate) fn new(document: Document) -> Self {
        Self {
            document,
            at: 0,
            height: 1,
            layout: Layout {
                width: 80,
                wrap: true,
                marks: crate::text::Marks::Unicode,
            },
            search: String::new(),
            hit: None,
        }
    }

    /// The document.
    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    /// Takes over the room there is.
    pub(crate) fn settle(&mut self, area: Rect, theme: Theme) {
        self.layout.width = usize::from(area.width).max(1);
        self.layout.marks = theme.marks;
        self.height = usize::from(area.height).max(1);
        self.put(self.at);
    }

    /// Scrolls by so many rows.
    pub(crate) fn scroll(&mut self, rows: isize) {
        // A step further than a page count ever is; going on row by row would take for ever.
        match rows {
            isize::MAX => self.last(),
            isize::MIN => self.at = 0,
            rows => self.put(self.document.step(self.at, rows, self.layout)),
        }
    }

    /// To the end.
    pub(crate) fn last(&mut self) {
        self.at = self.document.last_page(self.height, self.layout);
    }

    /// Half a page.
    pub(crate) fn half_page(&self) -> isize {
        isize::try_from(self.height / 2).unwrap_or(1).max(1)
    }

    /// Wraps long lines, or cuts them.
    pub(crate) fn toggle_wrap(&mut self) {
        self.layout.wrap = !self.layout.wrap;
        self.put(self.at);
    }

    /// Searches for other words, from the window on.
    pub(crate) fn set_search(&mut self, words: &str) {
        words.clone_into(&mut self.search);
        self.hit = None;
        let from = self.at.saturating_sub(1);
        if let Some(hit) = self.document.find(words, from, true) {
            self.show(hit);
        }
    }

    /// To the next or the previous hit, round the ends.
    pub(crate) fn step_hit(&mut self, forward: bool) {
        let from = self.hit.unwrap_or(self.at);
        if let Some(hit) = self.document.find(&self.search, from, forward) {
            self.show(hit);
        }
    }

    /// `12 % of 10.0 MiB`, or nothing when everything fits.
    pub(crate) fn place(&self) -> Option<String> {
        let rows = self.document.rows(self.at, self.height + 1, self.layout);
        let all = self.at == 0 && rows.len() <= self.height;
        let length = self.document.text().len();
        let end = match rows.get(self.height) {
            Some(next) => next.at,
            None => length,
        };
        (!all).then(|| {
            format!(
                "{} % of {}",
                end * 100 / length.max(1),
                figures::bytes(length as u64)
            )
        })
    }

    /// Draws the rows in the window.
    pub(crate) fn view(&self, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
        let rows = self
            .document
            .rows(self.at, usize::from(area.height), self.layout);
        for (y, row) in (area.top()..area.bottom()).zip(rows) {
            let line = marked(&row.text, &self.search, theme);
            frame.render_widget(
                line,
                Rect {
                    y,
                    height: 1,
                    ..area
                },
            );
        }
    }

    fn show(&mut self, hit: usize) {
        self.hit = Some(hit);
        // Where lines are cut, a hit behind the cut could not be seen.
        self.layout.wrap = true;
        let row = self.document.row_start(hit, self.layout);
        let rows = self.document.rows(self.at, self.height, self.layout);
        let in_view = rows.iter().any(|shown| shown.at == row);
        if !in_view {
            let above = isize::try_from(self.height / 3).unwrap_or(0);
            self.put(self.document.step(row, -above, self.layout));
        }
    }

    /// The window begins at the row of this byte, but never so late that it ends behind the text.
    fn put(&mut self, at: usize) {
        let at = self.document.row_start(at, self.layout);
        let short = self.document.rows(at, self.height, self.layout).len() < self.height;
        self.at = match short {
            true => self.document.last_page(self.height, self.layout).min(at),
            false => at,
        };
    }
}

/// The row with every place that holds the words marked.
fn marked(row: &str, words: &str, theme: Theme) -> Line<'static> {
    let (lower, wanted) = (row.to_ascii_lowercase(), words.to_ascii_lowercase());
    if wanted.is_empty() || !lower.contains(&wanted) {
        return Line::raw(row.to_owned());
    }
    let mut spans = Vec::new();
    let mut from = 0;
    for (at, hit) in lower.match_indices(&wanted) {
        spans.push(Span::raw(row[from..at].to_owned()));
        from = at + hit.len();
        spans.push(Span::styled(row[at..from].to_owned(), theme.found()));
    }
    spans.push(Span::raw(row[from..].to_owned()));
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Marks;

    fn pager(text: &str) -> Pager {
        let mut pager = Pager::new(Document::new(text));
        let theme = Theme {
            colour: true,
            marks: Marks::Unicode,
        };
        pager.settle(Rect::new(0, 0, 20, 4), theme);
        pager
    }

    #[test]
    fn scrolling_stops_with_the_last_row_at_the_bottom() {
        let mut pager = pager("1\n2\n3\n4\n5\n6");
        pager.scroll(100);
        assert_eq!(pager.at, 4);
        pager.scroll(isize::MIN);
        assert_eq!(pager.at, 0);
        assert_eq!(pager.place().as_deref(), Some("72 % of 11 B"));
    }

    #[test]
    fn a_short_text_has_no_place_to_go() {
        let mut pager = pager("1\n2");
        pager.scroll(isize::MAX);
        assert_eq!((pager.at, pager.place()), (0, None));
    }

    #[test]
    fn a_hit_comes_into_view_even_where_its_line_was_cut() {
        let mut pager = pager(&format!("{}needle\n\n\n\n\nneedle", "x".repeat(100)));
        pager.toggle_wrap();
        pager.set_search("NEEDLE");
        assert_eq!(pager.hit, Some(100));
        pager.step_hit(true);
        assert_eq!(pager.hit, Some(111));
        pager.step_hit(true);
        assert_eq!(pager.hit, Some(100));
    }
}
