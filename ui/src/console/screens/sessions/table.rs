//! Lines with a selection by identity, for the panes of a session.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::evidence::Key;
use crate::console::keymap::Action;
use crate::console::roster::Roster;
use crate::console::shared::Shared;

/// The lines of a pane: who they are, and where their facts stand.
#[derive(Debug, Default)]
pub(super) struct Table {
    roster: Roster<Key>,
    places: Vec<usize>,
}

impl Table {
    /// Takes the lines over.
    pub(super) fn set(&mut self, lines: Vec<(Key, usize)>) {
        let (keys, places) = lines.into_iter().unzip();
        self.places = places;
        self.roster.set_keys(keys);
    }

    /// Takes lines over of which the newest stands at the top: who stands there stays there, and
    /// sees what comes.
    pub(super) fn set_newest_first(&mut self, lines: Vec<(Key, usize)>) {
        let at_top = self.roster.position() == 0;
        self.set(lines);
        if at_top {
            self.roster.first();
        }
    }

    /// Takes over how many lines fit.
    pub(super) fn settle(&mut self, height: usize) {
        self.roster.settle(height);
    }

    pub(super) fn travel(&mut self, action: Action) {
        self.roster.move_by(action);
    }

    pub(super) fn selected(&self) -> Option<&Key> {
        self.roster.selected()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.roster.keys().is_empty()
    }

    /// Draws heads, if there are any, and the lines in the window; `empty` where there is none.
    pub(super) fn view(
        &self,
        heads: Option<Line<'_>>,
        line: impl Fn(&Key, usize) -> Line<'static>,
        empty: &str,
        focused: bool,
        shared: &Shared,
        (frame, area): (&mut Frame<'_>, Rect),
    ) {
        let theme = shared.theme;
        if self.is_empty() {
            let words = Paragraph::new(empty).wrap(Wrap { trim: true });
            frame.render_widget(words, area);
            return;
        }
        let mut top = area.top();
        if let Some(heads) = heads {
            frame.render_widget(
                heads,
                Rect {
                    height: area.height.min(1),
                    ..area
                },
            );
            top += 1;
        }
        for (y, number) in (top..area.bottom()).zip(self.roster.window()) {
            let Some(key) = self.roster.keys().get(number) else {
                break;
            };
            let place = self.places.get(number).copied().unwrap_or_default();
            let mut line = line(key, place);
            if number == self.roster.position() {
                line = line.patch_style(theme.selection(focused));
            }
            frame.render_widget(
                line,
                Rect {
                    y,
                    height: 1,
                    ..area
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stands_at_the_top_of_the_newest_sees_what_comes_and_who_went_down_stays() {
        let lines = |rounds: &[u32]| {
            rounds
                .iter()
                .map(|round| (Key::Line(*round, 0), 0))
                .collect()
        };
        let mut table = Table::default();
        table.settle(10);
        table.set_newest_first(lines(&[1]));
        table.set_newest_first(lines(&[2, 1]));
        assert_eq!(table.selected(), Some(&Key::Line(2, 0)));
        table.travel(Action::Down);
        table.set_newest_first(lines(&[3, 2, 1]));
        assert_eq!(table.selected(), Some(&Key::Line(1, 0)));
    }
}
