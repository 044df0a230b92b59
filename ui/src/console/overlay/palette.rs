//! The palette: every action by its name, the best match first.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use crate::console::frame::centered;
use crate::console::input::Input;
use crate::console::keymap::{Action, Binding, KEYMAP};
use crate::console::pane;
use crate::console::shared::Shared;
use crate::text;

/// What is typed, and which of the matches is selected.
#[derive(Debug, Default)]
pub(in crate::console) struct Palette {
    pub(in crate::console) input: Input,
    pub(in crate::console) selected: usize,
    /// An action that is not offered: the one that opened it.
    pub(in crate::console) without: Option<Action>,
}

impl Palette {
    /// The actions whose names match, the best first; of equals, those that work now.
    pub(in crate::console) fn rows(
        &self,
        works: impl Fn(&Binding) -> bool,
    ) -> Vec<(&'static Binding, bool)> {
        let pattern = Pattern::parse(
            self.input.text(),
            CaseMatching::Ignore,
            Normalization::Smart,
        );
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut rows: Vec<_> = KEYMAP
            .iter()
            .filter(|row| self.without != Some(row.action))
            .filter_map(|row| {
                let name = Utf32Str::new(row.name, &mut buffer);
                let score = pattern.score(name, &mut matcher)?;
                Some((score, works(row), row))
            })
            .collect();
        rows.sort_by_key(|(score, works, _)| (!works, std::cmp::Reverse(*score)));
        rows.into_iter()
            .map(|(_, works, row)| (row, works))
            .collect()
    }

    pub(in crate::console) fn view(
        &self,
        rows: &[(&'static Binding, bool)],
        shared: &Shared,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        let theme = shared.theme;
        let area = centered(area, 110, area.height.min(18));
        frame.render_widget(Clear, area);
        let inner = pane::frame_always(shared, frame, area, "Actions");
        let [typed, list] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
        let line = self.input.line(Span::styled(": ", theme.key()), theme);
        frame.render_widget(line, typed);
        if rows.is_empty() {
            frame.render_widget(Line::raw("no action has such a name; esc closes"), list);
        }
        let height = usize::from(list.height).max(1);
        let top = (self.selected + 1).saturating_sub(height);
        let window = rows.iter().enumerate().skip(top);
        for (y, (at, (row, works))) in (list.top()..list.bottom()).zip(window) {
            let style = if *works { theme.text() } else { theme.dim() };
            let key = row.keys.first().map_or_else(String::new, |key| key.label());
            let not_now = if *works { "" } else { " (not here)" };
            let mut line = Line::from(vec![
                Span::styled(text::fit(row.name, 22, theme.marks), style),
                Span::styled(text::fit(&key, 10, theme.marks), theme.key()),
                Span::styled(format!("{}{not_now}", row.about), theme.dim()),
            ]);
            if at == self.selected {
                line = line.style(theme.selected());
            }
            frame.render_widget(
                line,
                Rect {
                    y,
                    height: 1,
                    ..list
                },
            );
        }
    }
}
