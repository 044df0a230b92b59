//! The bottom line: what was just said, the line being typed, or the keys that work now.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::keymap::{Action, KEYMAP};
use crate::console::overlay::Overlay;
use crate::console::state::State;
use crate::console::theme::Health;
use crate::text;

/// Draws it.
pub(super) fn view(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let theme = state.shared.theme;
    let width = usize::from(area.width);
    if let Some(Overlay::Filter { input, .. }) = &state.overlay {
        let (before, after) = input.split();
        let line = Line::from(vec![
            Span::styled(" / ", theme.key()),
            Span::raw(before),
            Span::styled(theme.pick("▏", "|"), theme.key()),
            Span::raw(after),
            Span::styled("   enter keeps it, esc takes it back", theme.dim()),
        ]);
        frame.render_widget(line, area);
        return;
    }
    if let Some(notice) = &state.shared.notice {
        let health = match notice.failed {
            true => Health::Bad,
            false => Health::Good,
        };
        let room = width.saturating_sub(4);
        let line = Line::from(vec![
            Span::raw(" "),
            Span::styled(theme.mark(health), theme.health(health)),
            Span::raw(" "),
            Span::raw(text::truncate(&notice.text, room, theme.marks)),
        ]);
        frame.render_widget(line, area);
        return;
    }
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, word) in keys(state) {
        let cells = 3 + text::width(&key) + text::width(&word);
        if used + cells > width {
            break;
        }
        used += cells;
        spans.push(Span::styled(format!(" {key}"), theme.key()));
        spans.push(Span::raw(format!(" {word} ")));
    }
    frame.render_widget(Line::from(spans), area);
}

/// The keys that work now, with their words. Those that always work come in time to be seen.
fn keys(state: &State) -> Vec<(String, String)> {
    match &state.overlay {
        Some(Overlay::Confirm(_)) => return pairs(&[("y", "yes"), ("n", "no")]),
        Some(Overlay::Help(_)) => {
            return pairs(&[
                ("type", "to search"),
                ("up/down", "scroll"),
                ("esc", "close"),
            ]);
        }
        Some(Overlay::Palette(_)) => {
            return pairs(&[
                ("type", "a name"),
                ("tab", "complete"),
                ("up/down", "select"),
                ("enter", "do it"),
                ("esc", "close"),
            ]);
        }
        Some(Overlay::Filter { .. }) | None => {}
    }
    let screen = state.screen();
    if screen.takes_keys() {
        return pairs(screen.form_keys());
    }
    let works = KEYMAP
        .iter()
        .filter(|row| row.footer.is_some() && state.works(row));
    let always = [Action::Help, Action::Palette, Action::Quit];
    let (last, first): (Vec<_>, Vec<_>) = works.partition(|row| always.contains(&row.action));
    // The four that matter most to whoever is lost stand behind the first few of the screen.
    let early = first.len().min(5);
    let (head, tail) = first.split_at(early);
    head.iter()
        .chain(&last)
        .chain(tail)
        .filter_map(|row| {
            let key = row.keys.first()?.label();
            Some((key, row.footer?.to_owned()))
        })
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, word)| ((*key).to_owned(), (*word).to_owned()))
        .collect()
}
