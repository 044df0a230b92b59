//! A line of text being typed: the filter, the palette, the help's search. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

/// How many characters a line takes; more are ignored.
const LONGEST: usize = 256;

/// The text and where the cursor stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Input {
    text: String,
    /// Byte offset, always at the start of a character as people see it.
    cursor: usize,
}

impl Input {
    /// An input that holds this text, with the cursor at its end.
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

    /// Takes text in where the cursor stands; control characters and what is too long are left out.
    pub(crate) fn insert(&mut self, text: &str) {
        for char in text.chars().filter(|char| !char.is_control()) {
            if self.text.chars().count() < LONGEST {
                self.text.insert(self.cursor, char);
                self.cursor += char.len_utf8();
            }
        }
    }

    /// Takes a key in; `false` when it means nothing here.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, ctrl) {
            (KeyCode::Char('a'), true) | (KeyCode::Home, _) => self.cursor = 0,
            (KeyCode::Char('e'), true) | (KeyCode::End, _) => self.cursor = self.text.len(),
            (KeyCode::Char('u'), true) => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
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
            (KeyCode::Char(char), false) => self.insert(char.encode_utf8(&mut [0; 4])),
            _ => return false,
        }
        true
    }

    fn before(&self) -> usize {
        let (before, _) = self.split();
        before
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let (_, after) = self.split();
        self.cursor + after.graphemes(true).next().map_or(0, str::len)
    }

    fn before_word(&self) -> usize {
        let (before, _) = self.split();
        let kept = before.trim_end();
        kept.rfind(char::is_whitespace).map_or(0, |at| {
            at + kept[at..].chars().next().map_or(0, char::len_utf8)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut Input, code: KeyCode, ctrl: bool) {
        let modifiers = if ctrl {
            KeyModifiers::CONTROL
        } else {
            KeyModifiers::NONE
        };
        input.key(KeyEvent::new(code, modifiers));
    }

    #[test]
    fn the_cursor_moves_by_characters_as_people_see_them() {
        let mut input = Input::with("a👨‍👩‍👧e\u{301}");
        press(&mut input, KeyCode::Backspace, false);
        assert_eq!(input.text(), "a👨‍👩‍👧");
        press(&mut input, KeyCode::Left, false);
        assert_eq!(input.split(), ("a", "👨‍👩‍👧"));
        press(&mut input, KeyCode::Delete, false);
        assert_eq!(input.text(), "a");
    }

    #[test]
    fn ctrl_w_takes_a_word_and_ctrl_u_everything_before_the_cursor() {
        let mut input = Input::with("one two  ");
        press(&mut input, KeyCode::Char('w'), true);
        assert_eq!(input.text(), "one ");
        press(&mut input, KeyCode::Char('u'), true);
        assert_eq!(input.text(), "");
    }

    #[test]
    fn pasted_control_characters_and_what_is_too_long_are_left_out() {
        let mut input = Input::default();
        input.insert("a\n\x1b[31mb");
        assert_eq!(input.text(), "a[31mb");
        input.insert(&"x".repeat(1_000));
        assert_eq!(input.text().len(), LONGEST);
    }
}
