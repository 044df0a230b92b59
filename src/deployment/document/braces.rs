//! The concessions to what people write without quotes: `${env:NAME}` inside a flow collection
//! (rule 10.3), and in skills a value that starts with `{{`.
//!
//! Before the text is parsed, the braces of each such form are swapped for two characters that
//! occur nowhere in it, and in everything that comes out of the parser they are swapped back. One
//! character stands for one, so every place stays as written; and because inside quotes, comments
//! and block scalars the swap undoes itself, nothing has to know where those begin or end.

use std::borrow::Cow;

/// The swap for one text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Braces {
    open: char,
    close: char,
    backslash: char,
}

impl Braces {
    /// The swap for a text, or `None` if no three characters are free, and then there is no
    /// concession: it would take a file with all 6,400 characters of the private use area.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut free = ('\u{E000}'..='\u{F8FF}').filter(|candidate| !text.contains(*candidate));
        Some(Self {
            open: free.next()?,
            close: free.next()?,
            backslash: free.next()?,
        })
    }

    /// The text with the braces of `${…}`, and of `{{…}}` if asked for, swapped.
    pub(super) fn swap<'t>(self, text: &'t str, templates: bool) -> Cow<'t, str> {
        let worth_it = text.contains("${") || (templates && text.contains("{{"));
        if !worth_it {
            return Cow::Borrowed(text);
        }
        let mut swapped = String::with_capacity(text.len() + 64);
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{']) {
            let (before, from) = rest.split_at(at);
            swapped.push_str(before);
            let length = match variable(from) {
                Some(length) => length,
                None => templates.then(|| template(from)).flatten().unwrap_or(0),
            };
            if length == 0 {
                // Only one character is passed over: `{{{` and `$${` hold a form further on.
                swapped.push_str(&from[..1]);
                rest = &from[1..];
                continue;
            }
            let (form, after) = from.split_at(length);
            swapped.extend(form.chars().map(|c| match c {
                '{' => self.open,
                '}' => self.close,
                c => c,
            }));
            rest = after;
        }
        swapped.push_str(rest);
        Cow::Owned(swapped)
    }

    /// The text with the backslash at byte `at` swapped, so that it starts no escape.
    pub(super) fn keep_backslash(self, text: &str, at: usize) -> String {
        let (before, from) = text.split_at(at);
        let mut kept = String::with_capacity(text.len() + 2);
        kept.push_str(before);
        kept.push(self.backslash);
        kept.push_str(&from['\\'.len_utf8()..]);
        kept
    }

    /// The text with the swap undone.
    pub(super) fn restore(self, text: Cow<'_, str>) -> String {
        if text.contains([self.open, self.close, self.backslash]) {
            text.chars()
                .map(|c| match c {
                    c if c == self.open => '{',
                    c if c == self.close => '}',
                    c if c == self.backslash => '\\',
                    c => c,
                })
                .collect()
        } else {
            text.into_owned()
        }
    }

    /// Whether a plain scalar, before the swap is undone, starts with a template.
    pub(super) fn starts_template(self, text: &str) -> bool {
        text.starts_with(self.open)
    }
}

/// The length of `${…}` at the start of the text. What is inside is judged by expansion; it only
/// must not hold anything that has a meaning in a flow collection.
fn variable(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("${")?;
    let end = inner.find(['}', '{', '[', ']', ',', '#', '"', '\'', '\n', '\r'])?;
    inner[end..].starts_with('}').then_some(2 + end + 1)
}

/// The length of `{{…}}` at the start of the text.
fn template(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("{{")?;
    let end = inner.find(['}', '{', '\n', '\r'])?;
    inner[end..].starts_with("}}").then_some(2 + end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_swap_keeps_every_place_and_undoes_itself() {
        for (name, text, templates, swapped) in [
            ("nothing to do", "a: {b: c}", false, "a: {b: c}"),
            ("in a flow map", "{a: ${env:A}}", false, "{a: $(env:A)}"),
            ("twice", "[${env:A}${x}, b]", false, "[$(env:A)$(x), b]"),
            (
                "unclosed",
                "{a: ${env:A, b: 1}",
                false,
                "{a: ${env:A, b: 1}",
            ),
            ("doubled dollar", "$${env:A}", false, "$$(env:A)"),
            (
                "a template is left alone",
                "{a: {{.b}}}",
                false,
                "{a: {{.b}}}",
            ),
            ("a template", "{a: {{.b}}}", true, "{a: ((.b))}"),
            ("a template after a brace", "{{{.b}}}", true, "{((.b))}"),
            (
                "nested maps are none",
                "{a: {b: {c: d}}}",
                true,
                "{a: {b: {c: d}}}",
            ),
        ] {
            let braces = Braces::of(text).unwrap();
            let result = braces.swap(text, templates);
            let visible = result.replace(braces.open, "(").replace(braces.close, ")");
            assert_eq!(visible, swapped, "{name}");
            assert_eq!(result.chars().count(), text.chars().count(), "{name}");
            assert_eq!(braces.restore(result), text, "{name}");
        }
    }

    #[test]
    fn characters_of_the_text_are_never_taken_for_the_swap() {
        let text = "\u{E000}\u{E001}${env:A}";
        let braces = Braces::of(text).unwrap();
        assert_eq!(braces.restore(braces.swap(text, true)), text);
        let every: String = ('\u{E000}'..='\u{F8FF}').collect();
        assert!(Braces::of(&every).is_none());
    }
}
