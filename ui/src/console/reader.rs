//! A pane of text: scrolls, wraps, follows its end and finds words. The lines are made by whoever
//! owns the pane; the reader only knows where in them it stands. Pure.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::keymap::Action;
use super::theme::Theme;
use crate::text;

/// Where in its text a pane stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    top: usize,
    height: usize,
    rows: usize,
    wrap: bool,
    follow: bool,
    search: String,
    /// The rows that hold the search, as shown now.
    hits: Vec<usize>,
    hit: usize,
}

impl Reader {
    /// A reader that wraps long lines from the start.
    pub(crate) fn wrapping() -> Self {
        Self {
            wrap: true,
            ..Self::default()
        }
    }

    /// Takes over the text and the room there is.
    pub(crate) fn settle(&mut self, lines: &[Line<'_>], area: Rect, theme: Theme) {
        self.height = usize::from(area.height);
        let wanted = self.search.to_lowercase();
        let hits = |rows: &mut dyn Iterator<Item = String>| -> Vec<usize> {
            if wanted.is_empty() {
                return Vec::new();
            }
            rows.enumerate()
                .filter(|(_, row)| row.to_lowercase().contains(&wanted))
                .map(|(at, _)| at)
                .collect()
        };
        if self.wrap {
            let rows = self.layout(lines, usize::from(area.width), theme);
            self.hits = hits(&mut rows.iter().map(plain));
            self.rows = rows.len();
        } else {
            // One row per line: nothing has to be laid out to know where it stands.
            self.hits = hits(&mut lines.iter().map(plain));
            self.rows = lines.len();
        }
        self.hit = self.hit.min(self.hits.len().saturating_sub(1));
        let last = self.rows.saturating_sub(self.height);
        self.top = if self.follow {
            last
        } else {
            self.top.min(last)
        };
    }

    /// Draws the rows in the window.
    pub(crate) fn view(&self, lines: &[Line<'_>], theme: Theme, frame: &mut Frame<'_>, area: Rect) {
        let height = usize::from(area.height);
        let rows: Vec<_> = if self.wrap {
            let rows = self.layout(lines, usize::from(area.width), theme);
            rows.into_iter().skip(self.top).take(height).collect()
        } else {
            let window = lines.iter().skip(self.top).take(height);
            window
                .map(|line| cut(line, area.width.into(), theme))
                .collect()
        };
        for (y, row) in (area.top()..area.bottom()).zip(rows) {
            let row = match self.search.is_empty() {
                true => row,
                false => mark_hits(row, &self.search, theme),
            };
            frame.render_widget(
                row,
                Rect {
                    y,
                    height: 1,
                    ..area
                },
            );
        }
    }

    /// Scrolls by so many rows and stops following.
    pub(crate) fn scroll(&mut self, rows: isize) {
        let last = self.rows.saturating_sub(self.height);
        self.follow = false;
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// Scrolls as the action says, if it is one that moves.
    pub(crate) fn move_by(&mut self, action: Action) {
        match action {
            Action::Down => self.scroll(1),
            Action::Up => self.scroll(-1),
            Action::First => self.first(),
            Action::Last => self.last(),
            Action::HalfDown => self.scroll(self.half_page()),
            Action::HalfUp => self.scroll(-self.half_page()),
            _ => {}
        }
    }

    /// To the first row.
    pub(crate) fn first(&mut self) {
        self.scroll(isize::MIN);
    }

    /// To the last row.
    pub(crate) fn last(&mut self) {
        self.scroll(isize::MAX);
    }

    /// Half a page.
    pub(crate) fn half_page(&self) -> isize {
        isize::try_from(self.height / 2).unwrap_or(1).max(1)
    }

    /// Wraps long lines, or cuts them.
    pub(crate) fn toggle_wrap(&mut self) {
        self.wrap = !self.wrap;
    }

    /// Follows the end of the text, or stays.
    pub(crate) fn toggle_follow(&mut self) {
        self.follow = !self.follow;
    }

    /// Whether the end of the text is followed.
    pub(crate) fn follows(&self) -> bool {
        self.follow
    }

    /// The searched text.
    pub(crate) fn search(&self) -> &str {
        &self.search
    }

    /// Searches for another text.
    pub(crate) fn set_search(&mut self, text: &str) {
        text.clone_into(&mut self.search);
        self.hit = 0;
    }

    /// Whether there is a hit to go to.
    pub(crate) fn has_hits(&self) -> bool {
        !self.hits.is_empty()
    }

    /// To the next or the previous hit, round the end.
    pub(crate) fn step_hit(&mut self, forward: bool) {
        let count = self.hits.len();
        if count > 0 {
            self.hit = (self.hit + if forward { 1 } else { count - 1 }) % count;
            self.show_hit();
        }
    }

    /// Scrolls to the hit that the search stands on, unless it is on the screen.
    pub(crate) fn show_hit(&mut self) {
        if let Some(row) = self.hits.get(self.hit)
            && !(self.top..self.top + self.height).contains(row)
        {
            let last = self.rows.saturating_sub(self.height);
            self.follow = false;
            self.top = row.saturating_sub(self.height / 3).min(last);
        }
    }

    /// `12-30 of 88`, or nothing when everything fits.
    pub(crate) fn place(&self) -> Option<String> {
        (self.rows > self.height && self.height > 0).then(|| {
            let end = self.rows.min(self.top + self.height);
            format!("{}-{end} of {}", self.top + 1, self.rows)
        })
    }

    fn layout<'l>(&self, lines: &'l [Line<'_>], width: usize, theme: Theme) -> Vec<Line<'l>> {
        if self.wrap {
            lines.iter().flat_map(|line| wrap(line, width)).collect()
        } else {
            lines.iter().map(|line| cut(line, width, theme)).collect()
        }
    }
}

/// The text of a line.
pub(crate) fn plain(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| &*span.content).collect()
}

/// The line cut to `width` cells.
fn cut<'l>(line: &'l Line<'_>, width: usize, theme: Theme) -> Line<'l> {
    let mut left = width;
    let mut spans = Vec::with_capacity(line.spans.len());
    let full: usize = line
        .spans
        .iter()
        .map(|span| text::width(&span.content))
        .sum();
    for span in &line.spans {
        let wanted = text::width(&span.content);
        // Where the line goes on behind this span, the last cell is for the sign.
        if wanted >= left && full > width {
            let rest = if wanted > left {
                text::truncate(&span.content, left, theme.marks)
            } else {
                // Fits to the cell, but more follows.
                let cut = text::truncate(&span.content, left.saturating_sub(1), theme.marks);
                format!("{cut}{}", text::ellipsis(theme.marks)).into()
            };
            spans.push(Span::styled(rest, span.style));
            break;
        }
        spans.push(Span::styled(&*span.content, span.style));
        left -= wanted.min(left);
    }
    Line::from(spans).style(line.style)
}

/// The line broken into rows of at most `width` cells, between words where it can be.
fn wrap<'l>(line: &'l Line<'_>, width: usize) -> Vec<Line<'l>> {
    use unicode_segmentation::UnicodeSegmentation;
    let mut rows: Vec<Vec<Span<'l>>> = vec![Vec::new()];
    let mut used = 0;
    for span in &line.spans {
        for word in span.content.split_word_bounds() {
            let mut wanted = text::width(word);
            if used + wanted > width && used > 0 {
                rows.push(Vec::new());
                used = 0;
                if word.trim().is_empty() {
                    continue;
                }
            }
            let mut rest = word;
            // A word longer than a row is broken where the row ends.
            while wanted > width.max(1) {
                let (head, tail) = split_at_cells(rest, width.max(1));
                if let Some(row) = rows.last_mut() {
                    row.push(Span::styled(head, span.style));
                }
                rows.push(Vec::new());
                rest = tail;
                wanted = text::width(rest);
            }
            if let Some(row) = rows.last_mut() {
                row.push(Span::styled(rest, span.style));
            }
            used += wanted;
        }
    }
    rows.into_iter()
        .map(|spans| Line::from(spans).style(line.style))
        .collect()
}

/// Splits so that the head takes at most `cells`, but at least one character, so that every split
/// makes the rest shorter.
fn split_at_cells(word: &str, cells: usize) -> (&str, &str) {
    use unicode_segmentation::UnicodeSegmentation;
    let mut used = 0;
    for (at, grapheme) in word.grapheme_indices(true) {
        used += text::width(grapheme);
        if used > cells && at > 0 {
            return word.split_at(at);
        }
    }
    (word, "")
}

/// The line with every place that holds the search marked.
fn mark_hits<'l>(line: Line<'l>, wanted: &str, theme: Theme) -> Line<'l> {
    let text = plain(&line);
    let lower = text.to_lowercase();
    let wanted = wanted.to_lowercase();
    // Lower case may be longer in bytes for a few letters; such a line is left unmarked.
    if lower.len() != text.len() || !lower.contains(&wanted) {
        return line;
    }
    let hits: Vec<_> = lower
        .match_indices(&wanted)
        .map(|(at, hit)| at..at + hit.len())
        .collect();
    let mut spans = Vec::new();
    let mut base = 0;
    for span in &line.spans {
        let end = base + span.content.len();
        let mut at = base;
        for hit in hits.iter().filter(|hit| hit.start < end && hit.end > base) {
            let (from, to) = (hit.start.max(at), hit.end.min(end));
            if let Some(before) = text.get(at..from)
                && !before.is_empty()
            {
                spans.push(Span::styled(before.to_owned(), span.style));
            }
            if let Some(found) = text.get(from..to) {
                spans.push(Span::styled(found.to_owned(), theme.found()));
            }
            at = to;
        }
        if let Some(after) = text.get(at..end)
            && !after.is_empty()
        {
            spans.push(Span::styled(after.to_owned(), span.style));
        }
        base = end;
    }
    Line::from(spans).style(line.style)
}
