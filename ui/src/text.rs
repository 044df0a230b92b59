//! Makes text from elsewhere safe to print: servers, tools and files may say anything, a terminal
//! must obey none of it. Also measures and cuts text by cells. Pure.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How many combining marks one character keeps; more of them only overflow into other lines.
const MOST_MARKS: usize = 4;

/// How many cells a tab reaches to at most.
const TAB: usize = 4;

/// How many lines a text may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Line breaks become a visible sign.
    One,
    /// Line breaks stay, as `\n`.
    Many,
}

/// Which characters stand for what cannot be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Marks {
    /// One sign per control character, such as `␛`.
    #[default]
    Unicode,
    /// Escapes, such as `\x1b`.
    Ascii,
}

/// The text with everything a terminal would act on made visible, and everything that hides or
/// reorders characters taken out. Cheap for plain text: it is only read.
pub(crate) fn clean(text: &str, lines: Lines, marks: Marks) -> Cow<'_, str> {
    if is_plain(text, lines) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut column = 0;
    for grapheme in text.graphemes(true) {
        let before = out.len();
        match grapheme {
            "\n" | "\r\n" => match lines {
                Lines::Many => {
                    out.push('\n');
                    column = 0;
                    continue;
                }
                Lines::One => out.push_str(line_break(marks)),
            },
            "\t" => {
                let cells = TAB - column % TAB;
                out.extend(std::iter::repeat_n(' ', cells));
            }
            _ => push_grapheme(&mut out, grapheme, marks),
        }
        column += out.get(before..).map_or(0, width);
    }
    Cow::Owned(out)
}

/// The text on one line: what [`clean`] left with line breaks is joined.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains('\n') {
        Cow::Owned(
            text.split('\n')
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" "),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// A name on one line in which every hidden character shows: two names that differ look different.
pub(crate) fn clean_name(name: &str, marks: Marks) -> Cow<'_, str> {
    if is_plain(name, Lines::One) {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len() + 16);
    for char in name.chars() {
        if is_hidden(char) || matches!(char, '\u{2028}' | '\u{2029}') {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(char)));
        } else if char.is_control() {
            push_control(&mut out, char, marks);
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// How many cells the text takes on one line.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// The text cut to `cells`, with a sign at the end where something was cut.
pub(crate) fn truncate(text: &str, cells: usize, marks: Marks) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    if cells == 0 {
        return Cow::Borrowed("");
    }
    let mut out = String::with_capacity(cells * 2);
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let next = used + UnicodeWidthStr::width(grapheme);
        if next > cells - 1 {
            break;
        }
        out.push_str(grapheme);
        used = next;
    }
    out.push_str(ellipsis(marks));
    Cow::Owned(out)
}

/// The text cut or filled with blanks to exactly `cells`.
pub(crate) fn fit(text: &str, cells: usize, marks: Marks) -> String {
    let mut out = truncate(text, cells, marks).into_owned();
    let used = width(&out);
    out.extend(std::iter::repeat_n(' ', cells.saturating_sub(used)));
    out
}

/// As [`fit`], with the blanks in front.
pub(crate) fn fit_right(text: &str, cells: usize, marks: Marks) -> String {
    let cut = truncate(text, cells, marks);
    let blanks = cells.saturating_sub(width(&cut));
    format!("{}{cut}", " ".repeat(blanks))
}

/// The sign that something was cut.
pub(crate) fn ellipsis(marks: Marks) -> &'static str {
    match marks {
        Marks::Unicode => "…",
        Marks::Ascii => "~",
    }
}

fn line_break(marks: Marks) -> &'static str {
    match marks {
        Marks::Unicode => "⏎",
        Marks::Ascii => "\\n",
    }
}

/// Whether [`clean`] would change nothing. Only ASCII is decided here: it is what nearly all text
/// is, and reading bytes is all it takes.
fn is_plain(text: &str, lines: Lines) -> bool {
    text.bytes().all(|byte| match byte {
        b' '..=b'~' => true,
        b'\n' => lines == Lines::Many,
        _ => false,
    })
}

fn push_grapheme(out: &mut String, grapheme: &str, marks: Marks) {
    let mut chars = grapheme.chars().peekable();
    let mut base = None;
    let mut kept_marks = 0;
    let mut held_joiner = false;
    while let Some(char) = chars.next() {
        if char.is_control() {
            push_control(out, char, marks);
            continue;
        }
        if matches!(char, '\u{2028}' | '\u{2029}') {
            out.push_str(line_break(marks));
            continue;
        }
        if char == JOINER {
            // Kept only between two visible characters of one cluster: an emoji sequence.
            held_joiner = base.is_some() && chars.peek().is_some();
            continue;
        }
        if is_hidden(char) {
            continue;
        }
        if is_noncharacter(char) {
            out.push(char::REPLACEMENT_CHARACTER);
            continue;
        }
        let is_mark = unicode_width::UnicodeWidthChar::width(char) == Some(0);
        if is_mark {
            kept_marks += 1;
            if kept_marks > MOST_MARKS {
                continue;
            }
            if base.is_none() {
                // A mark without a base would sit on whatever stands before it on the screen.
                out.push_str(match marks {
                    Marks::Unicode => "◌",
                    Marks::Ascii => "?",
                });
            }
        } else if std::mem::take(&mut held_joiner) {
            out.push(JOINER);
        }
        base = Some(char);
        out.push(char);
    }
}

const JOINER: char = '\u{200d}';

fn push_control(out: &mut String, char: char, marks: Marks) {
    let code = u32::from(char);
    let picture = match (marks, code) {
        (Marks::Ascii, _) => None,
        (Marks::Unicode, 0..=0x1f) => char::from_u32(0x2400 + code),
        (Marks::Unicode, 0x7f) => Some('\u{2421}'),
        (Marks::Unicode, _) => None,
    };
    match picture {
        Some(picture) => out.push(picture),
        None => out.push_str(&format!("\\x{code:02x}")),
    }
}

/// Characters that take no cell and hide, reorder or join others. Variation selectors are among
/// them because terminals disagree about the width that follows from them.
fn is_hidden(char: char) -> bool {
    matches!(char,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character shows where it stands: it is no format character and stands for something.
pub(crate) fn shows(char: char) -> bool {
    !is_hidden(char) && !is_noncharacter(char)
}

fn is_noncharacter(char: char) -> bool {
    let code = u32::from(char);
    (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        clean(text, Lines::One, Marks::Unicode).into_owned()
    }

    #[test]
    fn hostile_text_becomes_harmless() {
        let table = [
            ("plain", "read a file", "read a file"),
            ("colour", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
            ("title and bell", "\x1b]0;gone\x07", "␛]0;gone␇"),
            (
                "clipboard",
                "\x1b]52;c;cm0gLXJm\x1b\\",
                "␛]52;c;cm0gLXJm␛\\",
            ),
            (
                "link",
                "\x1b]8;;http://x/\x1b\\here\x1b]8;;\x1b\\",
                "␛]8;;http://x/␛\\here␛]8;;␛\\",
            ),
            ("c1 csi", "a\u{9b}31mb", "a\\x9b31mb"),
            ("next line", "a\u{85}b", "a\\x85b"),
            ("nul and delete", "a\0b\x7fc", "a␀b␡c"),
            ("carriage return", "real\rfake", "real␍fake"),
            ("backspace", "ok\x08\x08no", "ok␈␈no"),
            ("line break", "a\nb\r\nc", "a⏎b⏎c"),
            ("separators", "a\u{2028}b\u{2029}c", "a⏎b⏎c"),
            ("tab", "a\tb", "a   b"),
            ("bidi override", "abc\u{202e}fed\u{202c}", "abcfed"),
            ("bidi isolate", "\u{2066}x\u{2069}\u{200f}", "x"),
            (
                "zero width",
                "pay\u{200b}pal\u{feff}\u{2060}\u{ad}",
                "paypal",
            ),
            ("joiner between letters", "a\u{200d}b", "ab"),
            ("joiner at the end", "x\u{200d}", "x"),
            ("tags", "hi\u{e0001}\u{e0068}\u{e0069}\u{e007f}", "hi"),
            ("variation selector", "a\u{fe0f}\u{e0100}", "a"),
            (
                "family",
                "👨\u{200d}👩\u{200d}👧 x",
                "👨\u{200d}👩\u{200d}👧 x",
            ),
            ("heart on fire", "❤\u{fe0f}\u{200d}🔥", "❤\u{200d}🔥"),
            ("skin tone", "👍🏽", "👍🏽"),
            ("flag", "🇩🇪", "🇩🇪"),
            ("accent", "e\u{301}", "e\u{301}"),
            ("mark without base", "\u{301}x", "◌\u{301}x"),
            ("filler", "a\u{3164}b\u{115f}", "ab"),
            ("noncharacter", "a\u{fffe}\u{10ffff}b", "a\u{fffd}\u{fffd}b"),
            ("wide", "漢字かな", "漢字かな"),
        ];
        for (name, text, wanted) in table {
            assert_eq!(one(text), wanted, "{name}");
        }
    }

    #[test]
    fn ascii_escapes_instead_of_pictures() {
        let text = clean("\x1b[1m\x07a\nb\u{301}", Lines::One, Marks::Ascii);
        assert_eq!(text, "\\x1b[1m\\x07a\\nb\u{301}");
        assert_eq!(truncate("abcdef", 4, Marks::Ascii), "abc~");
    }

    #[test]
    fn a_stack_of_marks_is_bounded() {
        let zalgo = format!("a{}b", "\u{30d}".repeat(500));
        assert_eq!(one(&zalgo), format!("a{}b", "\u{30d}".repeat(MOST_MARKS)));
    }

    #[test]
    fn several_lines_keep_their_breaks_and_tabs_reach_the_next_stop() {
        let text = clean("a\tb\r\n\tc\n\x07", Lines::Many, Marks::Unicode);
        assert_eq!(text, "a   b\n    c\n␇");
    }

    #[test]
    fn nothing_that_a_terminal_obeys_survives_whatever_comes() {
        let every = (0..=0x2fff_u32)
            .chain(0xe0000..=0xe01ff)
            .chain(0xfe00..=0xffff)
            .filter_map(char::from_u32);
        let text: String = every.flat_map(|char| ['x', char]).collect();
        for lines in [Lines::One, Lines::Many] {
            for marks in [Marks::Unicode, Marks::Ascii] {
                let clean = clean(&text, lines, marks);
                let bad = |char: &char| {
                    (char.is_control() && (*char != '\n' || lines == Lines::One))
                        || is_hidden(*char)
                };
                assert_eq!(clean.chars().find(bad), None);
            }
        }
    }

    #[test]
    fn cleaning_twice_changes_nothing_more() {
        let text = "a\x1b[31m\u{202e}\t👨\u{200d}👩\u{200d}👧\u{301}\u{301}漢\u{feff}\nb";
        for marks in [Marks::Unicode, Marks::Ascii] {
            let once = clean(text, Lines::Many, marks).into_owned();
            assert_eq!(clean(&once, Lines::Many, marks), once);
        }
    }

    #[test]
    fn plain_text_is_lent_and_not_copied() {
        assert!(matches!(
            clean("a b\nc", Lines::Many, Marks::Unicode),
            Cow::Borrowed(_)
        ));
        assert!(matches!(
            clean_name("fs__read", Marks::Unicode),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn names_that_differ_look_different() {
        let names = [
            "pay",
            "p\u{200b}ay",
            "pay\u{202e}",
            "pay\x1b",
            "pay\u{2028}",
        ];
        let shown: Vec<_> = names
            .iter()
            .map(|name| clean_name(name, Marks::Unicode).into_owned())
            .collect();
        assert_eq!(
            shown,
            [
                "pay",
                "p\\u{200b}ay",
                "pay\\u{202e}",
                "pay␛",
                "pay\\u{2028}"
            ]
        );
    }

    #[test]
    fn widths_are_cells() {
        let table = [
            ("abc", 3),
            ("漢字", 4),
            ("e\u{301}", 1),
            ("👨\u{200d}👩\u{200d}👧", 2),
            ("🇩🇪", 2),
            ("", 0),
        ];
        for (text, cells) in table {
            assert_eq!(width(text), cells, "{text}");
        }
    }

    #[test]
    fn cutting_and_filling_keep_to_the_cells_even_between_wide_characters() {
        let table = [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("漢字", 3, "漢…"),
            ("漢字", 2, "… "),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("a", 3, "a  "),
            ("a", 0, ""),
        ];
        for (text, cells, wanted) in table {
            let cut = fit(text, cells, Marks::Unicode);
            assert_eq!(cut, wanted, "{text} in {cells}");
            assert_eq!(width(&cut), cells, "{text} in {cells}");
        }
        assert_eq!(fit_right("ab", 4, Marks::Unicode), "  ab");
    }
}
