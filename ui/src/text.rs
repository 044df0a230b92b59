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
    if is_plain(name, Lines::One) && !name.chars().any(is_hidden) {
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

fn is_noncharacter(char: char) -> bool {
    let code = u32::from(char);
    (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe
}
