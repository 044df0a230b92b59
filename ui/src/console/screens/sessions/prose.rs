//! Lines of words that are cut at blanks to the width of their pane, and scroll.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::console::keymap::Action;
use crate::text;

/// A text before it is cut: what stands in front of its first line, and the text. Further lines
/// are indented as far as the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Item {
    /// What stands in front, of any style.
    pub(super) head: Vec<Span<'static>>,
    /// The text; clean.
    pub(super) text: String,
    /// Its style.
    pub(super) style: Style,
}

impl Item {
    pub(super) fn new(head: Vec<Span<'static>>, text: impl Into<String>, style: Style) -> Self {
        Self {
            head,
            text: text.into(),
            style,
        }
    }

    /// A line of its own.
    pub(super) fn plain(text: impl Into<String>, style: Style) -> Self {
        Self::new(Vec::new(), text, style)
    }
}

/// Cut lines with a window on them.
#[derive(Clone, Debug, Default)]
pub(super) struct Prose {
    lines: Vec<Line<'static>>,
    top: usize,
    height: usize,
}

impl Prose {
    /// Takes other words over; the window stays where it is, as far as there are lines.
    pub(super) fn set(&mut self, items: &[Item], area: Rect) {
        self.height = usize::from(area.height);
        self.lines.clear();
        for item in items {
            cut(item, usize::from(area.width), &mut self.lines);
        }
        self.put(self.top);
    }

    /// Back to the first line.
    pub(super) fn rewind(&mut self) {
        self.top = 0;
    }

    /// Whether the action moves the window: it does if there is more than it shows.
    pub(super) fn can(&self, action: Action) -> bool {
        let moves = matches!(
            action,
            Action::Down
                | Action::Up
                | Action::First
                | Action::Last
                | Action::HalfDown
                | Action::HalfUp
        );
        moves && self.lines.len() > self.height
    }

    pub(super) fn travel(&mut self, action: Action) {
        let half = (self.height / 2).max(1);
        self.put(match action {
            Action::Down => self.top + 1,
            Action::Up => self.top.saturating_sub(1),
            Action::HalfDown => self.top + half,
            Action::HalfUp => self.top.saturating_sub(half),
            Action::First => 0,
            Action::Last => usize::MAX,
            _ => self.top,
        });
    }

    fn put(&mut self, top: usize) {
        self.top = top.min(self.lines.len().saturating_sub(self.height));
    }

    pub(super) fn view(&self, frame: &mut Frame<'_>, area: Rect) {
        let shown = self.lines.iter().skip(self.top);
        for (y, line) in (area.top()..area.bottom()).zip(shown) {
            let row = Rect {
                y,
                height: 1,
                ..area
            };
            frame.render_widget(line, row);
        }
    }
}

/// Cuts an item at blanks; a word that is too long for a line is cut where it ends.
fn cut(item: &Item, width: usize, lines: &mut Vec<Line<'static>>) {
    let indent: usize = item.head.iter().map(Span::width).sum();
    let indent = if indent + 8 > width { 0 } else { indent };
    let room = width.saturating_sub(indent).max(1);
    let mut spans = item.head.clone();
    let mut line = String::new();
    let mut push = |line: &mut String| {
        let mut all = std::mem::take(&mut spans);
        all.push(Span::styled(std::mem::take(line), item.style));
        lines.push(Line::from(all));
        spans = vec![Span::raw(" ".repeat(indent))];
    };
    for word in item.text.split(' ') {
        let mut word = word;
        let used = text::width(&line);
        let blank = usize::from(!line.is_empty());
        if used + blank + text::width(word) <= room {
            if blank == 1 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            push(&mut line);
        }
        while text::width(word) > room {
            let mut end = 0;
            for (at, char) in word.char_indices() {
                let next = at + char.len_utf8();
                if text::width(&word[..next]) > room && end > 0 {
                    break;
                }
                end = next;
            }
            line.push_str(&word[..end]);
            word = &word[end..];
            push(&mut line);
        }
        line.push_str(word);
    }
    push(&mut line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(head: &str, text: &str, width: usize) -> Vec<String> {
        let item = Item::new(vec![Span::raw(head.to_owned())], text, Style::new());
        let mut lines = Vec::new();
        cut(&item, width, &mut lines);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_are_cut_at_blanks_and_stand_below_each_other() {
        for (claim, head, text, width, expected) in [
            ("fits", "a ", "one two", 20, vec!["a one two"]),
            (
                "is cut",
                "ab ",
                "one two three",
                11,
                vec!["ab one two", "   three"],
            ),
            (
                "a long word",
                "",
                "abcdefghij",
                4,
                vec!["abcd", "efgh", "ij"],
            ),
            (
                "no room for the head",
                "abcdef ",
                "one two",
                8,
                vec!["abcdef one two"],
            ),
            ("nothing", "a", "", 10, vec!["a"]),
        ] {
            assert_eq!(lines(head, text, width), expected, "{claim}");
        }
    }
}
