//! Places inside texts, and texts that do not mean what they look like (skills 1.3).

use super::File;
use crate::deployment::Place;
use crate::deployment::document::{Style, Text, Value};
use crate::source::skills::{Template, TemplateError};

/// Which ` #` behind a plain text is worth a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    /// Each: prose has no comments.
    Any,
    /// Only one that is joined to what follows, as in `fix #12`: hardly meant as a comment.
    IfJoined,
}

impl File<'_, '_, '_> {
    /// A template; what is wrong with it is reported at its place.
    pub(super) fn template(&self, value: &Value<'_>) -> Option<Template> {
        match Template::parse(value.text()?) {
            Ok(template) => Some(template),
            Err(error) => {
                self.template_error(value, &error);
                None
            }
        }
    }

    /// Reports what is wrong with a template, at the braces where it is.
    pub(super) fn template_error(&self, value: &Value<'_>, error: &TemplateError) {
        let place = match value.as_text() {
            Some(text) => within(value.place(), text, error.offset),
            None => value.place(),
        };
        self.reading
            .error_at(place, &value.path, error.message.clone());
    }

    /// Warns of a plain text that a comment cuts short: `text # with a hash`.
    pub(super) fn cut_by_comment(&self, value: &Value<'_>, comment: Comment) {
        let Some(text) = value.as_text().filter(|text| text.style == Style::Plain) else {
            return;
        };
        let place = value.place();
        let line = self.text.lines().nth(place.line as usize - 1);
        let after: String = line
            .unwrap_or_default()
            .chars()
            .skip(place.column as usize - 1)
            .collect();
        let Some(rest) = after.strip_prefix(text.value.as_str()) else {
            return; // over several lines, or an alias
        };
        let Some(words) = rest.trim_start().strip_prefix('#') else {
            return;
        };
        let joined = words.starts_with(|c: char| c.is_alphanumeric());
        if rest.starts_with([' ', '\t']) && (joined || comment == Comment::Any) {
            self.reading.warn(
                value,
                format!(
                    "`{}` ends before ` #`, which starts a comment; put the text in quotes if the \
                     rest belongs to it",
                    value.label()
                ),
            );
        }
    }
}

/// The place of the character `offset` of a text. Exact where one character of the file is one of
/// the text: not behind an escape, nor in a folded block.
fn within(start: Place, text: &Text, offset: usize) -> Place {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let before: String = text.value.chars().take(offset).collect();
    match text.style {
        Style::Block => Place {
            line: start.line + 1 + number(before.matches('\n').count()),
            column: 1,
        },
        Style::Plain => Place {
            column: start.column.saturating_add(number(offset)),
            ..start
        },
        Style::Single | Style::Double => Place {
            column: start.column.saturating_add(number(offset) + 1),
            ..start
        },
    }
}
