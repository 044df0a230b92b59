//! A line of any text being typed, line breaks and all: what is in it is sent as it is and only
//! shown clean.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use crate::text::{Lines, Marks, clean, width};

/// How many bytes a field takes; more belongs into the JSON editor, or a file.
const LONGEST: usize = 64 * 1024;

/// The text and where the cursor stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    text: String,
    /// Byte offset, always at the start of a character as people see it.
    cursor: usize,
}

impl Edit {
    /// This text, with the cursor at its end.
    pub(crate) fn with(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            cursor: text.len(),
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What stands before the cursor and what from it on.
    pub(crate) fn split(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Takes text in where the cursor stands; whether there was room for it.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        if self.text.len() + text.len() > LONGEST {
            return false;
        }
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        true
    }

    /// Takes a key in; `false` when it means nothing here.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        if key.modifiers.contains(KeyModifiers::ALT) {
            return false;
        }
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, ctrl) {
            (KeyCode::Char('a'), true) | (KeyCode::Home, _) => self.cursor = 0,
            (KeyCode::Char('e'), true) | (KeyCode::End, _) => self.cursor = self.text.len(),
            (KeyCode::Char('u'), true) => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            (KeyCode::Char('k'), true) => self.text.truncate(self.cursor),
            (KeyCode::Char('w'), true) => {
                let kept = self.before_word();
                self.text.drain(kept..self.cursor);
                self.cursor = kept;
            }
            (KeyCode::Backspace, _) => {
                let before = self.before();
                self.text.drain(before..self.cursor);
                self.cursor = before;
            }
            (KeyCode::Delete, _) => {
                let after = self.after();
                self.text.drain(self.cursor..after);
            }
            (KeyCode::Left, _) => self.cursor = self.before(),
            (KeyCode::Right, _) => self.cursor = self.after(),
            (KeyCode::Char(char), false) => {
                self.insert(char.encode_utf8(&mut [0; 4]));
            }
            _ => return false,
        }
        true
    }

    /// What is shown of it in so many cells, as what stands before the cursor, under it, and
    /// behind it; scrolled so that the cursor is among it.
    pub(crate) fn window(&self, cells: usize, marks: Marks) -> (String, String, String) {
        let (before, after) = self.split();
        let mut rest = after.graphemes(true);
        let under = rest.next().map_or_else(
            || " ".to_owned(),
            |grapheme| clean(grapheme, Lines::One, marks).into_owned(),
        );
        let mut room = cells.saturating_sub(width(&under));
        let mut left = Vec::new();
        for grapheme in before.graphemes(true).rev() {
            let shown = clean(grapheme, Lines::One, marks);
            match room.checked_sub(width(&shown)) {
                Some(less) => room = less,
                None => break,
            }
            left.push(shown);
        }
        let before: String = left.into_iter().rev().collect();
        let mut right = String::new();
        for grapheme in rest {
            let shown = clean(grapheme, Lines::One, marks);
            match room.checked_sub(width(&shown)) {
                Some(less) => room = less,
                None => break,
            }
            right.push_str(&shown);
        }
        (before, under, right)
    }

    fn before(&self) -> usize {
        self.text[..self.cursor]
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn before_word(&self) -> usize {
        let kept = self.text[..self.cursor].trim_end();
        kept.char_indices()
            .rev()
            .find(|(_, char)| char.is_whitespace())
            .map_or(0, |(at, char)| at + char.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(edit: &mut Edit, code: KeyCode) {
        edit.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn line_breaks_and_controls_are_kept_and_shown_as_signs() {
        let mut edit = Edit::default();
        edit.insert("a\nb\u{1b}");
        assert_eq!(edit.text(), "a\nb\u{1b}");
        let (before, under, after) = edit.window(20, Marks::Unicode);
        assert_eq!(
            (before.as_str(), under.as_str(), after.as_str()),
            ("a⏎b␛", " ", "")
        );
    }

    #[test]
    fn the_window_follows_the_cursor_and_keeps_to_its_cells() {
        let mut edit = Edit::with(&"界".repeat(50));
        let (before, under, _) = edit.window(10, Marks::Unicode);
        assert_eq!((before.as_str(), under.as_str()), ("界界界界", " "));
        press(&mut edit, KeyCode::Home);
        let (before, under, after) = edit.window(10, Marks::Unicode);
        assert_eq!(
            (before.as_str(), under.as_str(), after.as_str()),
            ("", "界", "界界界界")
        );
    }

    #[test]
    fn what_has_no_room_is_refused_whole() {
        let mut edit = Edit::with("x");
        assert!(!edit.insert(&"y".repeat(LONGEST)));
        assert_eq!(edit.text(), "x");
    }
}
