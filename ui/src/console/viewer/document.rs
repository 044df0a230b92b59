//! A text of any size, laid out only where it is looked at: no index, no pass over the whole. A
//! place is the byte where a row begins; rows before and after it are found by looking at a few
//! kilobytes around it.

use std::sync::Arc;

use toolcrib::tool::Part;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::text::{Lines, Marks, clean};

/// A longer line is laid out in pieces of this many bytes, so that a line of a million characters
/// costs no more than a short one. Each piece begins a new row.
const PIECE: usize = 2 * 1024;

/// How rows are made from lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// How many cells a row has.
    pub(crate) width: usize,
    /// Whether long lines go on in the next row; otherwise they are cut.
    pub(crate) wrap: bool,
    /// Which signs stand for what cannot be shown.
    pub(crate) marks: Marks,
}

/// A row as it is shown, cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where it begins in the text.
    pub(crate) at: usize,
    /// What it shows.
    pub(crate) text: String,
}

/// A text.
#[derive(Clone, Debug)]
pub(crate) struct Document(Text);

/// Where a text is; the parts of a result are not copied to be read.
#[derive(Clone, Debug)]
enum Text {
    Own(Arc<str>),
    Part(Arc<[Part]>, usize),
}

impl Document {
    /// A document of this text, as it came.
    pub(crate) fn new(text: impl Into<Arc<str>>) -> Self {
        Self(Text::Own(text.into()))
    }

    /// A text part of a result; empty if it is none.
    pub(crate) fn part(parts: &Arc<[Part]>, number: usize) -> Self {
        Self(Text::Part(Arc::clone(parts), number))
    }

    /// The text as it came.
    pub(crate) fn text(&self) -> &str {
        match &self.0 {
            Text::Own(text) => text,
            Text::Part(parts, number) => match parts.get(*number) {
                Some(Part::Text(text)) => text,
                _ => "",
            },
        }
    }

    /// At most `count` rows from the one that begins at `at` on.
    pub(crate) fn rows(&self, at: usize, count: usize, layout: Layout) -> Vec<Row> {
        let mut rows = Vec::with_capacity(count.min(512));
        let mut at = self.row_start(at, layout);
        while rows.len() < count && at <= self.text().len() {
            let (row, next) = self.row(at, layout);
            rows.push(row);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        rows
    }

    /// Where the row begins that is `by` rows after the one at `at`; before it if negative. Stops
    /// at both ends.
    pub(crate) fn step(&self, at: usize, by: isize, layout: Layout) -> usize {
        let mut left = by.unsigned_abs();
        if by > 0 {
            let mut at = self.row_start(at, layout);
            while left > 0
                && let Some(next) = self.row(at, layout).1
            {
                at = next;
                left -= 1;
            }
            return at;
        }
        let mut at = self.char_at(at.min(self.text().len()));
        loop {
            let starts = self.row_starts(at, layout);
            let shown = starts.len() - 1;
            if left <= shown {
                return starts[shown - left];
            }
            if starts[0] == 0 {
                return 0;
            }
            left -= shown + 1;
            // The character before belongs to the unit before, be it a line break or not.
            at = self.char_at(starts[0] - 1);
        }
    }

    /// Where the row begins with which a page of `height` rows ends the text.
    pub(crate) fn last_page(&self, height: usize, layout: Layout) -> usize {
        let end = self.row_start(self.text().len(), layout);
        let back = isize::try_from(height.saturating_sub(1)).unwrap_or(isize::MAX);
        self.step(end, -back, layout)
    }

    /// Where the next hit begins after `from`, or the last one before it. Upper and lower case are
    /// the same. Goes round at the ends.
    pub(crate) fn find(&self, words: &str, from: usize, forward: bool) -> Option<usize> {
        if words.is_empty() {
            return None;
        }
        let from = self.char_at(from.min(self.text().len()));
        if forward {
            let after = from + self.text()[from..].chars().next().map_or(0, char::len_utf8);
            find_first(self.text(), words, after).or_else(|| find_first(self.text(), words, 0))
        } else {
            find_last(self.text(), words, from)
                .or_else(|| find_last(self.text(), words, self.text().len()))
        }
    }

    /// Where the row begins that shows the byte at `at`.
    pub(crate) fn row_start(&self, at: usize, layout: Layout) -> usize {
        let at = self.char_at(at.min(self.text().len()));
        self.row_starts(at, layout).pop().unwrap_or_default()
    }

    /// Where the rows of a unit begin, up to the row that shows the byte at `at`; never empty.
    fn row_starts(&self, at: usize, layout: Layout) -> Vec<usize> {
        let mut start = self.unit_start(at, layout);
        let mut starts = vec![start];
        if !layout.wrap {
            return starts;
        }
        let end = self.unit_end(start, layout);
        loop {
            let fits = fitting(&self.text()[start..end], layout).0;
            start += fits;
            if start >= end || start > at || self.is_line_end(start, end) {
                return starts;
            }
            starts.push(start);
        }
    }

    /// Whether nothing but the `\r` of a line break is left of the unit.
    fn is_line_end(&self, at: usize, end: usize) -> bool {
        &self.text()[at..end] == "\r" && self.text()[end..].starts_with('\n')
    }

    /// The row that begins at `at`, and where the next one does. `at` has to be the beginning of
    /// a row.
    fn row(&self, at: usize, layout: Layout) -> (Row, Option<usize>) {
        let end = self.unit_end(at, layout);
        let ends_line = self.text()[end..].starts_with('\n');
        let unit = &self.text()[at..end];
        let after = match end {
            end if ends_line => Some(end + 1),
            end if end < self.text().len() => Some(end),
            _ => None,
        };
        let unit = unit
            .strip_suffix('\r')
            .filter(|_| ends_line)
            .unwrap_or(unit);
        let (fits, text) = fitting(unit, layout);
        if fits >= unit.len() {
            return (Row { at, text }, after);
        }
        if layout.wrap {
            return (Row { at, text }, Some(at + fits));
        }
        (Row { at, text }, after)
    }

    /// Where the unit ends in which `at` lies: at a line break, or, where lines wrap, at the next
    /// piece of a long line.
    fn unit_end(&self, at: usize, layout: Layout) -> usize {
        if !layout.wrap {
            let found = self.text()[at..].find('\n');
            return found.map_or(self.text().len(), |found| at + found);
        }
        let mut boundary = (at / PIECE + 1) * PIECE;
        loop {
            let window = self.char_at(boundary.min(self.text().len()));
            if let Some(found) = self.text()[at.min(window)..window].find('\n') {
                return at + found;
            }
            if boundary >= self.text().len() {
                return self.text().len();
            }
            if window > at && self.is_piece(boundary) {
                return window;
            }
            boundary += PIECE;
        }
    }

    /// Where the unit begins in which `at` lies. A line break belongs to the line it ends.
    fn unit_start(&self, at: usize, layout: Layout) -> usize {
        if !layout.wrap {
            return self.text()[..at].rfind('\n').map_or(0, |found| found + 1);
        }
        let mut boundary = at / PIECE * PIECE;
        // A piece begins with a whole character, which may lie before its boundary.
        if boundary + PIECE < self.text().len() && self.char_at(boundary + PIECE) <= at {
            boundary += PIECE;
        }
        let mut upper = at;
        loop {
            let window = self.char_at(boundary.min(upper));
            if let Some(found) = self.text()[window..upper].rfind('\n') {
                return window + found + 1;
            }
            if boundary == 0 {
                return 0;
            }
            if self.is_piece(boundary) {
                return window;
            }
            upper = window;
            boundary -= PIECE;
        }
    }

    /// Whether a piece of a long line begins at this multiple of [`PIECE`]: only where the line
    /// has been going on for a whole piece already, so that short lines are never split.
    fn is_piece(&self, boundary: usize) -> bool {
        if boundary < PIECE {
            return false;
        }
        let (from, to) = (self.char_at(boundary - PIECE), self.char_at(boundary));
        !self.text().as_bytes()[from..to].contains(&b'\n')
    }

    /// The nearest beginning of a character at or before `at`; in a run of combining characters,
    /// of the one that they hang on.
    fn char_at(&self, at: usize) -> usize {
        let mut at = at;
        while !self.text().is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// How many bytes of the text fit into a row, and what that row shows.
fn fitting(text: &str, layout: Layout) -> (usize, String) {
    let width = layout.width.max(1);
    // Reading a byte is all that plain text takes.
    if text
        .bytes()
        .take(width + 1)
        .all(|byte| matches!(byte, b' '..=b'~'))
    {
        let fits = match text.get(..width + 1) {
            Some(head) if layout.wrap => match head.rfind(' ') {
                Some(blank) if blank > width / 2 => (blank + 1).min(width),
                _ => width,
            },
            Some(_) => width,
            None => text.len(),
        };
        return (fits, text[..fits].to_owned());
    }
    let mut shown = String::new();
    let (mut bytes, mut cells) = (0, 0);
    // Where the row could end instead of within a word.
    let mut blank = None;
    for grapheme in text.graphemes(true) {
        let clean = match grapheme {
            // A tab reaches to the next stop of the row, which cleaning it alone cannot know.
            "\t" => " ".repeat(4 - cells % 4).into(),
            _ => clean(grapheme, Lines::One, layout.marks),
        };
        let wide: usize = clean.graphemes(true).map(UnicodeWidthStr::width).sum();
        if cells + wide > width && bytes > 0 {
            if let Some((fits, end)) = blank.filter(|_| layout.wrap) {
                shown.truncate(end);
                return (fits, shown);
            }
            break;
        }
        if cells + wide <= width {
            shown.push_str(&clean);
        }
        cells += wide;
        bytes += grapheme.len();
        if grapheme == " " && cells > width / 2 {
            blank = Some((bytes, shown.len()));
        }
    }
    (bytes, shown)
}

fn find_first(text: &str, words: &str, from: usize) -> Option<usize> {
    let wanted = words.as_bytes();
    let bytes = text.as_bytes();
    let last = bytes.len().checked_sub(wanted.len())?;
    (from..=last).find(|&at| is_hit(bytes, wanted, at))
}

fn find_last(text: &str, words: &str, before: usize) -> Option<usize> {
    let wanted = words.as_bytes();
    let bytes = text.as_bytes();
    let last = bytes.len().checked_sub(wanted.len())?;
    (0..before.min(last + 1))
        .rev()
        .find(|&at| is_hit(bytes, wanted, at))
}

fn is_hit(bytes: &[u8], wanted: &[u8], at: usize) -> bool {
    bytes[at..at + wanted.len()].eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRAPPED: Layout = Layout {
        width: 10,
        wrap: true,
        marks: Marks::Unicode,
    };
    const CUT: Layout = Layout {
        wrap: false,
        ..WRAPPED
    };

    fn texts(document: &Document, layout: Layout) -> Vec<String> {
        document
            .rows(0, 10_000, layout)
            .into_iter()
            .map(|row| row.text)
            .collect()
    }

    #[test]
    fn lines_wrap_or_are_cut() {
        let document = Document::new("0123456789abc\n\nx\r\nlast");
        assert_eq!(
            texts(&document, WRAPPED),
            ["0123456789", "abc", "", "x", "last"]
        );
        assert_eq!(texts(&document, CUT), ["0123456789", "", "x", "last"]);
    }

    #[test]
    fn rows_end_between_words_where_they_can() {
        let document = Document::new("one two three\neins zwölf drei");
        assert_eq!(
            texts(&document, WRAPPED),
            ["one two ", "three", "eins zwölf", " drei"]
        );
    }

    #[test]
    fn wide_characters_tabs_and_controls_keep_to_the_width() {
        let document = Document::new("界界界界界界\ta\tb\u{1b}[31m");
        for row in document.rows(0, 100, WRAPPED) {
            assert!(crate::text::width(&row.text) <= 10, "{row:?}");
            assert!(!row.text.contains(|c: char| c.is_control()), "{row:?}");
        }
    }

    #[test]
    fn stepping_back_meets_every_row_that_stepping_on_has_met() {
        let long = "abc def 界 ".repeat(400);
        for text in [
            String::new(),
            "\n".into(),
            "a\r\nb0123456789\r\n".into(),
            long.clone(),
            format!("x\n{long}\n\n{long}y\n"),
            "é".repeat(2_600),
            format!("{}\n", "0123456789\n".repeat(300)),
        ] {
            // Wider rows than elsewhere: every step back lays out half a piece.
            let wide = |layout| Layout {
                width: 37,
                ..layout
            };
            for layout in [wide(WRAPPED), wide(CUT)] {
                let document = Document::new(text.as_str());
                let rows = document.rows(0, usize::MAX, layout);
                let there: Vec<usize> = rows.iter().map(|row| row.at).collect();
                let mut at = document.row_start(text.len(), layout);
                let mut back = vec![at];
                while at > 0 {
                    let before = document.step(at, -1, layout);
                    assert!(before < at);
                    at = before;
                    back.push(at);
                }
                back.reverse();
                assert!(there == back, "{layout:?} of {} bytes", text.len());
                let last = document.last_page(5, layout);
                assert_eq!(document.rows(last, 10, layout).len(), there.len().min(5));
            }
        }
    }

    #[test]
    fn a_line_of_short_pieces_is_split_nowhere_but_at_its_breaks() {
        let line = "y".repeat(100);
        let text = format!("{line}\n").repeat(200);
        let wide = Layout {
            width: 120,
            ..WRAPPED
        };
        let rows = Document::new(text.as_str()).rows(0, 200, wide);
        assert!(rows.iter().all(|row| row.text == line));
    }

    #[test]
    fn hits_are_found_onwards_and_backwards_and_round_the_ends() {
        let document = Document::new("One two\none TWO");
        assert_eq!(document.find("two", 0, true), Some(4));
        assert_eq!(document.find("two", 4, true), Some(12));
        assert_eq!(document.find("two", 12, true), Some(4));
        assert_eq!(document.find("two", 4, false), Some(12));
        assert_eq!(document.find("three", 0, true), None);
    }

    #[test]
    fn one_page_of_a_huge_text_looks_at_a_few_pieces_only() {
        // Were whole lines or the whole text laid out, this would take minutes in a debug build.
        let document = Document::new("界a".repeat(2_500_000));
        let mut at = document.text().len() / 2;
        for _ in 0..20 {
            at = document.step(at, -20, WRAPPED);
            assert_eq!(document.rows(at, 40, WRAPPED).len(), 40);
        }
        let end = document.last_page(40, WRAPPED);
        assert!(document.text().len() - end < 2 * PIECE);
    }
}
