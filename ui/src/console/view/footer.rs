//! The bottom line: what was just said, the line being typed, or the keys that work now.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::keymap::{Action, KEYMAP};
use crate::console::overlay::{ASK_KEYS, Overlay};
use crate::console::state::State;
use crate::console::theme::Health;
use crate::text;

/// Draws it.
pub(super) fn view(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let theme = state.shared.theme;
    let width = usize::from(area.width);
    if let Some(Overlay::Filter { input, .. }) = &state.overlay {
        let mut line = input.line(Span::styled(" / ", theme.key()), theme);
        line.push_span(Span::styled(
            "   enter keeps it, esc takes it back",
            theme.dim(),
        ));
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
    for (key, word) in fitting(keys(state), width) {
        spans.push(Span::styled(format!(" {key}"), theme.key()));
        spans.push(Span::raw(format!(" {word} ")));
    }
    frame.render_widget(Line::from(spans), area);
}

/// The rank of the keys that matter least.
const LAST: u8 = 3;

/// A key and its word.
type Pair = (String, String);

/// The pairs that fit: room is given by rank, the lowest first, and they stand in the order in
/// which they came.
fn fitting(pairs: Vec<(Pair, u8)>, width: usize) -> Vec<Pair> {
    let cells = |(key, word): &Pair| 3 + text::width(key) + text::width(word);
    let mut left = width;
    let mut kept = vec![false; pairs.len()];
    for rank in 0..=LAST {
        for (at, (pair, its_rank)) in pairs.iter().enumerate() {
            if *its_rank != rank {
                continue;
            }
            if cells(pair) > left {
                break;
            }
            left -= cells(pair);
            kept[at] = true;
        }
    }
    let pairs = std::iter::zip(pairs, kept);
    pairs
        .filter(|(_, kept)| *kept)
        .map(|((pair, _), _)| pair)
        .collect()
}

/// The keys that work now, with their words and ranks: first what whoever is lost needs, then the
/// first two of the screen, then the palette, which has all others.
fn keys(state: &State) -> Vec<(Pair, u8)> {
    match &state.overlay {
        Some(Overlay::Confirm(_)) => return pairs(&[("y", "yes"), ("n", "no")]),
        Some(Overlay::Help(_)) => {
            return pairs(&[
                ("type", "to search"),
                ("up/down", "scroll"),
                ("esc", "close"),
            ]);
        }
        Some(Overlay::Ask(_)) => return pairs(ASK_KEYS),
        Some(Overlay::Link(_)) => return pairs(&[("y", "copy"), ("esc", "close")]),
        Some(Overlay::Report(_)) => {
            return pairs(&[("up/down", "scroll"), ("y", "copy"), ("esc", "close")]);
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
        Some(Overlay::Choose(_)) => {
            return pairs(&[("its key", "chooses"), ("esc", "leave it as it is")]);
        }
        Some(Overlay::Prompt(_)) => {
            return pairs(&[("type", "the answer"), ("enter", "do it"), ("esc", "leave")]);
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
    first
        .into_iter()
        .chain(last)
        .enumerate()
        .filter_map(|(at, row)| {
            let word = match row.action {
                Action::Quit if !state.is_top() => "back",
                _ => row.footer?,
            };
            let pair = (row.keys.first()?.label(), word.to_owned());
            let rank = match row.action {
                Action::Help | Action::Quit | Action::Back => 0,
                _ if at < 2 => 1,
                Action::Palette => 2,
                _ => LAST,
            };
            Some((pair, rank))
        })
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(Pair, u8)> {
    pairs
        .iter()
        .map(|(key, word)| (((*key).to_owned(), (*word).to_owned()), 0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_quit_have_room_before_all_others() {
        let pair = |key: &str, word: &str, rank| ((key.to_owned(), word.to_owned()), rank);
        let all = || {
            vec![
                pair("enter", "open", 1),
                pair("r", "reconnect", LAST),
                pair("?", "help", 0),
                pair("q", "quit", 0),
            ]
        };
        let shown = |width| -> Vec<String> {
            let fitting = fitting(all(), width).into_iter();
            fitting.map(|(key, _)| key).collect()
        };
        assert_eq!(shown(41), ["enter", "r", "?", "q"]);
        assert_eq!(shown(40), ["enter", "?", "q"]);
        assert_eq!(shown(16), ["?", "q"]);
        assert_eq!(shown(9), ["?"]);
        assert_eq!(shown(3).len(), 0);
    }
}
