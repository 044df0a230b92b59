//! Draws a call that is put together.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::draft::{Draft, Editor};
use crate::console::form::{Entry, Field, Focus, Kind};
use crate::console::schema::short;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text;

/// How many faults are told below the fields.
const FAULTS: usize = 4;

/// The keys of the form, for the footer: what a narrow one leaves out comes last.
pub(super) const FORM_KEYS: &[(&str, &str)] = &[
    ("tab", "next"),
    ("shift-tab", "previous"),
    ("ctrl-o", "JSON"),
    ("esc", "leave"),
    ("ctrl-t", "omit/empty/null"),
];

/// The keys on a boolean or a choice.
pub(super) const CHOICE_KEYS: &[(&str, &str)] = &[
    ("left/right", "choose"),
    ("tab", "next"),
    ("shift-tab", "previous"),
    ("ctrl-o", "JSON"),
    ("esc", "leave"),
    ("ctrl-t", "omit/null"),
];

/// The keys in the JSON editor.
pub(super) const JSON_KEYS: &[(&str, &str)] = &[
    ("tab", "to the Call button"),
    ("ctrl-o", "form"),
    ("esc", "leave"),
];

/// The keys on the Call button.
pub(super) const BUTTON_KEYS: &[(&str, &str)] = &[
    ("enter", "call"),
    ("shift-tab", "back to the arguments"),
    ("ctrl-o", "form/JSON"),
    ("esc", "leave"),
];

/// Draws the draft.
pub(in crate::console) fn view(
    draft: &Draft,
    focused: bool,
    shared: &Shared,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    if area.is_empty() {
        return;
    }
    let theme = shared.theme;
    let head = head(draft, theme);
    let foot = foot(draft, focused, theme);
    let head_height = u16::try_from(head.len()).unwrap_or(2).min(area.height / 4);
    let foot_height = u16::try_from(foot.len())
        .unwrap_or(1)
        .min(area.height - head_height);
    let top = Rect {
        height: head_height,
        ..area
    };
    let middle = Rect {
        y: area.y + head_height,
        height: area.height - head_height - foot_height,
        ..area
    };
    let bottom = Rect {
        y: middle.bottom(),
        height: foot_height,
        ..area
    };
    let sent = sent(draft, theme);
    // The fields keep what they need, and half of the room at least.
    let wanted = u16::try_from(sent.len()).unwrap_or(u16::MAX);
    let needed = match &draft.editor {
        Editor::Form => u16::try_from(draft.form.fields().len() + 4).unwrap_or(u16::MAX),
        Editor::Json(..) => middle.height / 2,
    };
    let spare = middle.height.saturating_sub(needed).max(middle.height / 2);
    let preview = Rect {
        height: wanted.min(spare),
        y: middle.bottom() - wanted.min(spare),
        ..middle
    };
    let middle = Rect {
        height: middle.height - preview.height,
        ..middle
    };
    draw_sent(sent, theme, frame, preview);
    frame.render_widget(Paragraph::new(head), top);
    frame.render_widget(Paragraph::new(foot), bottom);
    match &draft.editor {
        Editor::Form => fields(draft, focused, theme, frame, middle),
        Editor::Json(editor, on_button) => {
            let mut editor = editor.clone();
            if !focused || *on_button {
                editor.set_cursor_style(Style::new());
            } else {
                editor.set_cursor_style(Style::new().add_modifier(Modifier::REVERSED));
            }
            frame.render_widget(&*editor, middle);
        }
    }
}

/// What the call would send, under a heading; nothing for tools that cannot tell.
fn sent(draft: &Draft, theme: Theme) -> Vec<Line<'static>> {
    let shown = |text: &str| -> Vec<Line<'static>> {
        let text = text::clean(text, text::Lines::Many, theme.marks);
        text.lines()
            .map(|line| Line::raw(line.to_owned()))
            .collect()
    };
    let heading = |words: &'static str| [Line::default(), Line::styled(words, theme.dim())];
    match draft.sends.told() {
        None => Vec::new(),
        Some(Ok(request)) => {
            let mut lines = Vec::from(heading("sends, with secrets masked:"));
            lines.extend(shown(request));
            lines
        }
        Some(Err(why)) => {
            let mut lines = Vec::from(heading("sends nothing:"));
            lines.extend(shown(why));
            lines
        }
    }
}

/// Draws as much of it as fits, and says how much does not.
fn draw_sent(mut lines: Vec<Line<'static>>, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height);
    if height == 0 {
        return;
    }
    if lines.len() > height {
        // Room for a line of the request is worth more than room above the heading.
        lines.remove(0);
    }
    if lines.len() > height {
        let left = lines.len() - height + 1;
        lines.truncate(height - 1);
        lines.push(Line::styled(format!("and {left} more lines"), theme.dim()));
    }
    let lines: Vec<Line<'static>> = lines
        .into_iter()
        .map(|line| {
            let words = crate::console::reader::plain(&line);
            let cut = text::truncate(&words, usize::from(area.width), theme.marks);
            let style = line.style;
            Line::styled(cut.into_owned(), style)
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn head(draft: &Draft, theme: Theme) -> Vec<Line<'static>> {
    let about = draft.shown.definition.description();
    let about = about.lines().next().unwrap_or_default().to_owned();
    let mut lines = vec![Line::styled(about, theme.dim())];
    if draft.shown.hints.destructive == Some(true) {
        let mark = theme.mark(Health::Warning);
        lines.push(Line::styled(
            format!("{mark} it declares that it may destroy something"),
            theme.health(Health::Warning),
        ));
    }
    lines.push(Line::default());
    lines
}

/// What is wrong, and the button.
fn foot(draft: &Draft, focused: bool, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    if let Some(why) = draft.unchecked() {
        let why = text::clean(why, text::Lines::One, theme.marks).into_owned();
        lines.push(Line::styled(
            format!("cannot validate: the schema of this tool is of no use ({why})"),
            theme.dim(),
        ));
    }
    let told = draft.tells_all();
    if told {
        // In the form most stand at their fields.
        let in_form = matches!(draft.editor, Editor::Form);
        let at_field = |name: &str| {
            let mut fields = draft.form.fields().iter();
            in_form && fields.any(|(field, _)| field.name == name)
        };
        let faults: Vec<_> = draft
            .faults()
            .iter()
            .filter(|fault| !fault.argument().is_some_and(|name| at_field(&name)))
            .collect();
        for fault in faults.iter().take(FAULTS) {
            let place = match fault.pointer.as_str() {
                "" => String::new(),
                pointer => format!("{} ", text::clean_name(pointer, theme.marks)),
            };
            lines.push(Line::from(vec![
                Span::styled(theme.mark(Health::Bad), theme.health(Health::Bad)),
                Span::raw(" "),
                Span::styled(place, theme.strong()),
                Span::raw(fault.message.clone()),
            ]));
        }
        if faults.len() > FAULTS {
            let more = format!("  and {} more", faults.len() - FAULTS);
            lines.push(Line::styled(more, theme.dim()));
        }
    }
    let on_button = draft.on_button();
    let style = match on_button && focused {
        true => theme.selected(),
        false => theme.strong(),
    };
    let note = match (draft.faults().len(), told, draft.unchecked()) {
        (0, _, None) if draft.button == "Call" => "  the arguments fit the schema".to_owned(),
        (0, _, None) => "  it fits what is asked for".to_owned(),
        (count, true, _) if count > 0 && draft.button != "Call" => {
            format!("  problems: {count}; it is not sent as it is")
        }
        (0, _, Some(_)) | (_, false, _) => String::new(),
        (1, true, _) => "  1 problem; calling anyway asks first".to_owned(),
        (count, true, _) => format!("  {count} problems; calling anyway asks first"),
    };
    lines.push(Line::from(vec![
        Span::styled(format!("[ {} ]", draft.button), style),
        Span::styled(note, theme.dim()),
    ]));
    lines
}

fn fields(draft: &Draft, focused: bool, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let fields = draft.form.fields();
    let mut lines: Vec<Line<'static>> = Vec::new();
    if fields.is_empty() {
        let words =
            "Nothing to fill in: the schema names no arguments. ctrl-o writes some as JSON.";
        frame.render_widget(
            Paragraph::new(words)
                .style(theme.dim())
                .wrap(Wrap { trim: true }),
            area,
        );
        return;
    }
    let labels = fields
        .iter()
        .map(|(field, _)| text::width(&field.label) + usize::from(field.required))
        .max()
        .unwrap_or(0);
    let width = usize::from(area.width);
    let labels = labels.clamp(4, 24.min(width / 3).max(4));
    let room = width.saturating_sub(labels + 2);
    // What has to stay in view: the focused field with what belongs to it.
    let mut keep = 0..1;
    for (number, (field, entry)) in fields.iter().enumerate() {
        let here = focused && draft.form.focus() == Focus::Field(number);
        let begin = lines.len();
        let mut spans = vec![
            Span::styled(
                label(field, labels, theme),
                if here { theme.title() } else { theme.text() },
            ),
            Span::raw("  "),
        ];
        spans.extend(value(field, entry, here, room, theme));
        lines.push(Line::from(spans));
        let indent = " ".repeat(labels + 2);
        if here {
            let takes = text::truncate(&field.takes, room, theme.marks);
            lines.push(Line::styled(format!("{indent}{takes}"), theme.dim()));
            for words in wrapped(&field.help, room).into_iter().take(3) {
                lines.push(Line::styled(format!("{indent}{words}"), theme.dim()));
            }
        }
        if let Some(fault) = draft.fault_of(number) {
            let words = format!("{} {}", theme.mark(Health::Bad), fault.message);
            let words = text::truncate(&words, room, theme.marks).into_owned();
            lines.push(Line::styled(
                format!("{indent}{words}"),
                theme.health(Health::Bad),
            ));
        }
        if here {
            keep = begin..lines.len();
        }
    }
    let rest: Vec<String> = draft
        .form
        .rest()
        .map(|name| text::clean_name(name, theme.marks).into_owned())
        .collect();
    if !rest.is_empty() {
        let words = format!("and as JSON (ctrl-o): {}", rest.join(", "));
        lines.push(Line::styled(words, theme.dim()));
    }
    if draft.on_button() {
        keep = lines.len().saturating_sub(1)..lines.len();
    }
    let height = usize::from(area.height);
    let top = keep.end.saturating_sub(height).min(keep.start);
    let shown: Vec<Line<'static>> = lines.into_iter().skip(top).take(height).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

fn label(field: &Field, cells: usize, theme: Theme) -> String {
    let sign = if field.required { "*" } else { "" };
    let room = cells.saturating_sub(sign.len());
    let name = text::truncate(&field.label, room, theme.marks);
    text::fit(&format!("{name}{sign}"), cells, theme.marks)
}

fn value(
    field: &Field,
    entry: &Entry,
    here: bool,
    room: usize,
    theme: Theme,
) -> Vec<Span<'static>> {
    let chosen = |words: &str| {
        let words = match here {
            true => format!("{} {words} {}", theme.pick("◂", "<"), theme.pick("▸", ">")),
            false => words.to_owned(),
        };
        let style = if here { theme.selected() } else { theme.text() };
        Span::styled(
            text::truncate(&words, room, theme.marks).into_owned(),
            style,
        )
    };
    match entry {
        Entry::Absent => {
            let words = match &field.default {
                Some(default) => format!("left out (default {})", short(default, theme.marks)),
                None => "left out".to_owned(),
            };
            let words = text::truncate(&words, room.saturating_sub(1), theme.marks).into_owned();
            let typed = !matches!(field.kind, Kind::Bool | Kind::Choice(_));
            match (here, typed) {
                (true, true) => {
                    // The cursor lies on the words that stand there until something is typed.
                    let first = words.chars().next().map_or(0, char::len_utf8);
                    let (under, rest) = words.split_at(first);
                    vec![
                        Span::styled(under.to_owned(), theme.selected()),
                        Span::styled(rest.to_owned(), theme.dim()),
                    ]
                }
                (true, false) => vec![chosen(&words)],
                (false, _) => vec![Span::styled(words, theme.dim())],
            }
        }
        Entry::Null => vec![chosen("null")],
        Entry::Bool(value) => vec![chosen(&value.to_string())],
        Entry::Choice(number) => match &field.kind {
            Kind::Choice(choices) => {
                let label = choices.get(*number).map_or("", |(_, label)| label.as_str());
                vec![
                    chosen(label),
                    Span::styled(
                        format!("  {} of {}", number + 1, choices.len()),
                        theme.dim(),
                    ),
                ]
            }
            _ => Vec::new(),
        },
        Entry::Typed(edit) | Entry::Json(edit) => {
            let as_json = matches!(entry, Entry::Json(_)) && field.kind != Kind::Json;
            let mut spans = Vec::new();
            let mut room = room;
            if as_json {
                spans.push(Span::styled("JSON ", theme.dim()));
                room = room.saturating_sub(5);
            }
            let (before, under, after) = edit.window(room, theme.marks);
            if edit.text().is_empty() && !here {
                spans.push(Span::styled("empty", theme.dim()));
                return spans;
            }
            spans.push(Span::raw(before));
            match here {
                true => spans.push(Span::styled(under, theme.selected())),
                false => spans.push(Span::raw(under)),
            }
            spans.push(Span::raw(after));
            spans
        }
    }
}

/// The text in rows of at most so many cells, broken between words.
fn wrapped(words: &str, cells: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match rows.last_mut() {
            Some(row) if text::width(row) + 1 + text::width(word) <= cells => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
        if rows.len() > 8 {
            break;
        }
    }
    rows
}
