//! The help: the rows of the key table, those that work now first, searchable.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use crate::console::frame::centered;
use crate::console::input::Input;
use crate::console::keymap::{Binding, KEYMAP};
use crate::console::pane;
use crate::console::shared::Shared;
use crate::text;

/// What is searched for, and where the list stands.
#[derive(Debug, Default)]
pub(in crate::console) struct Help {
    pub(in crate::console) input: Input,
    pub(in crate::console) top: usize,
}

impl Help {
    /// The rows that hold every searched word, those that work first.
    pub(in crate::console) fn rows(
        &self,
        works: impl Fn(&Binding) -> bool,
    ) -> Vec<(&'static Binding, bool)> {
        let wanted = self.input.text().to_lowercase();
        let mut rows: Vec<_> = KEYMAP
            .iter()
            .filter(|row| {
                let keys: Vec<_> = row.keys.iter().map(|key| key.label()).collect();
                let text = format!("{} {} {}", keys.join(" "), row.name, row.about).to_lowercase();
                wanted.split_whitespace().all(|word| text.contains(word))
            })
            .map(|row| (row, works(row)))
            .collect();
        rows.sort_by_key(|(_, works)| !works);
        rows
    }

    pub(in crate::console) fn view(
        &self,
        rows: &[(&'static Binding, bool)],
        shared: &Shared,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        let theme = shared.theme;
        let area = centered(area, 110, area.height);
        frame.render_widget(Clear, area);
        let inner = pane::frame_always(shared, frame, area, "Keys of this screen");
        let [search, list] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
        let line = self.input.line(Span::styled("search ", theme.dim()), theme);
        frame.render_widget(line, search);
        if rows.is_empty() {
            frame.render_widget(Line::raw("no key does that; esc closes"), list);
        }
        let top = self.top.min(rows.len().saturating_sub(list.height.into()));
        for (y, (row, works)) in (list.top()..list.bottom()).zip(rows.iter().skip(top)) {
            let keys: Vec<_> = row.keys.iter().map(|key| key.label()).collect();
            let keys = match keys.is_empty() {
                true => ": ".to_owned() + row.name,
                false => keys.join(", "),
            };
            let style = if *works { theme.text() } else { theme.dim() };
            let not_now = if *works { "" } else { " (not here)" };
            let line = Line::from(vec![
                Span::styled(text::fit(&keys, 18, theme.marks), theme.key()),
                Span::styled(format!("{}{not_now}", row.about), style),
            ]);
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
