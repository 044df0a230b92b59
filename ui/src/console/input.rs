//! A line of text being typed: the filter, the palette, the help's search. An [`Edit`] of one line,
//! and not a long one.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::form::Edit;
use super::theme::Theme;
use crate::text::{Lines, clean};

/// How many characters a line takes; more are ignored.
const LONGEST: usize = 256;

/// The text and where the cursor stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Input(Edit);

impl Input {
    /// An input that holds this text, with the cursor at its end.
    pub(crate) fn with(text: &str) -> Self {
        Self(Edit::with(text))
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        self.0.text()
    }

    /// The text with its cursor, behind a prompt.
    pub(crate) fn line<'t>(&'t self, prompt: Span<'t>, theme: Theme) -> Line<'t> {
        let (before, after) = self.0.split();
        Line::from(vec![
            prompt,
            Span::raw(clean(before, Lines::One, theme.marks)),
            Span::styled(theme.pick("▏", "|"), theme.key()),
            Span::raw(clean(after, Lines::One, theme.marks)),
        ])
    }

    /// Takes text in where the cursor stands; control characters and what is too long are left out.
    pub(crate) fn insert(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.text().chars().count());
        let kept = text.chars().filter(|char| !char.is_control()).take(room);
        self.0.insert(&kept.collect::<String>());
    }

    /// Takes a key in; `false` when it means nothing here.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Char(char) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.insert(char.encode_utf8(&mut [0; 4]));
                true
            }
            _ => self.0.key(key),
        }
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
        assert_eq!(input.0.split(), ("a", "👨‍👩‍👧"));
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
