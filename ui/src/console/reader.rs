//! A pane of text: scrolls, wraps, follows its end and finds words. The lines are made by whoever
//! owns the pane; the reader only knows where in them it stands. Pure.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

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
    /// A new search was typed: its first hit is to be shown once it is known.
    searched: bool,
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
        if std::mem::take(&mut self.searched) {
            self.show_hit();
        }
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
        self.searched = true;
    }

    /// Marks a text wherever it stands, without going there.
    pub(crate) fn set_marked(&mut self, text: &str) {
        self.set_search(text);
        self.searched = false;
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
            && !(self.top..self.top + self.height.max(1)).contains(row)
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
                let room = left.saturating_sub(1);
                let head = if room == 0 {
                    ""
                } else {
                    split_at_cells(&span.content, room).0
                };
                match left {
                    0 => "".into(),
                    _ => format!("{head}{}", text::ellipsis(theme.marks)).into(),
                }
            };
            spans.push(Span::styled(rest, span.style));
            break;
        }
        spans.push(Span::styled(&*span.content, span.style));
        left -= wanted.min(left);
    }
    Line::from(spans).style(line.style)
}

/// How wide the first span of a line may be to count as a label.
const WIDEST_LABEL: usize = 16;

/// The line broken into rows of at most `width` cells, between words where it can be. Where the
/// line begins with a label, its further rows stand below what follows the label.
fn wrap<'l>(line: &'l Line<'_>, width: usize) -> Vec<Line<'l>> {
    let label = match line.spans.as_slice() {
        [first, _, ..] => text::width(&first.content),
        _ => 0,
    };
    let indent = match label <= WIDEST_LABEL && label * 3 <= width {
        true => label,
        false => 0,
    };
    let mut rows: Vec<Vec<Span<'l>>> = vec![Vec::new()];
    let mut used = 0;
    let push = |rows: &mut Vec<Vec<Span<'l>>>, piece: &'l str, style| {
        if let Some(row) = rows.last_mut() {
            row.push(Span::styled(piece, style));
        }
    };
    let begin = |rows: &mut Vec<Vec<Span<'l>>>| {
        rows.push(match indent {
            0 => Vec::new(),
            cells => vec![Span::raw(" ".repeat(cells))],
        });
        indent
    };
    for span in &line.spans {
        for word in span.content.split_word_bounds() {
            let mut rest = word;
            let mut wanted = text::width(rest);
            if used + wanted > width && used > indent {
                used = begin(&mut rows);
                if word.trim().is_empty() {
                    continue;
                }
            }
            // A word longer than a row is broken where the row ends.
            let room = width.saturating_sub(indent).max(1);
            while used + wanted > width.max(1) && wanted > 1 {
                let (head, tail) = split_at_cells(rest, room);
                push(&mut rows, head, span.style);
                if tail.is_empty() {
                    // One character that is wider than the pane.
                    used += wanted;
                    wanted = 0;
                    break;
                }
                used = begin(&mut rows);
                rest = tail;
                wanted = text::width(rest);
            }
            if wanted > 0 || rest.is_empty() {
                push(&mut rows, rest, span.style);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Marks;

    const THEME: Theme = Theme {
        colour: false,
        marks: Marks::Unicode,
    };

    fn rows(line: &Line<'_>, width: usize) -> Vec<String> {
        wrap(line, width).iter().map(plain).collect()
    }

    #[test]
    fn lines_break_between_words_and_long_words_where_the_row_ends() {
        let line = Line::from("a bc defghij 漢字漢字 k");
        assert_eq!(rows(&line, 5), ["a bc ", "defgh", "ij 漢", "字漢", "字 k"]);
        assert_eq!(rows(&Line::default(), 5), [""]);
        assert_eq!(rows(&Line::from("abc"), 1), ["a", "b", "c"]);
        assert_eq!(rows(&Line::from("漢字"), 1), ["漢", "字"]);
    }

    #[test]
    fn further_rows_stand_below_what_follows_the_label() {
        let line = Line::from(vec![Span::raw("in   "), Span::raw("one two three fourth")]);
        assert_eq!(
            rows(&line, 15),
            ["in   one two ", "     three ", "     fourth"]
        );
        assert_eq!(rows(&line, 8), ["in   one", "two ", "three ", "fourth"]);
    }

    #[test]
    fn no_row_is_wider_than_the_pane() {
        let label = Span::raw("label  ");
        let long = Span::raw("x".repeat(50) + " y " + &"漢".repeat(20));
        let line = Line::from(vec![label, long]);
        for width in 2..40 {
            for row in wrap(&line, width) {
                assert!(text::width(&plain(&row)) <= width, "{width}: {row:?}");
            }
        }
    }

    #[test]
    fn what_is_cut_says_so_even_where_a_span_ends_at_the_edge() {
        let line = Line::from(vec![Span::raw("abc"), Span::raw("def")]);
        assert_eq!(plain(&cut(&line, 6, THEME)), "abcdef");
        assert_eq!(plain(&cut(&line, 5, THEME)), "abcd…");
        assert_eq!(plain(&cut(&line, 3, THEME)), "ab…");
        assert_eq!(plain(&cut(&line, 0, THEME)), "");
    }

    #[test]
    fn hits_are_stepped_through_round_the_end_and_shown() {
        let lines: Vec<_> = (0..100)
            .map(|number| {
                Line::from(format!(
                    "line {number}{}",
                    if number % 40 == 7 { " hit" } else { "" }
                ))
            })
            .collect();
        let mut reader = Reader::default();
        let area = Rect::new(0, 0, 20, 10);
        reader.set_search("HIT");
        reader.settle(&lines, area, THEME);
        let mut places = Vec::new();
        for _ in 0..4 {
            reader.step_hit(true);
            places.push(reader.place().unwrap());
        }
        assert_eq!(
            places,
            [
                "45-54 of 100",
                "85-94 of 100",
                "5-14 of 100",
                "45-54 of 100"
            ]
        );
    }
}
