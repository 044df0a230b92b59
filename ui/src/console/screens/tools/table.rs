//! The list of tools as a table.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::list::{At, Sort};
use super::{Tools, detail};
use crate::console::figures;
use crate::console::grid::{Column, Table};
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::Health;

/// The columns; [`Sort::ALL`] names them in this order, but for the tokens, which are the bytes
/// once more.
const COLUMNS: [Column; 9] = [
    Column::words("NAME", 20, 0),
    Column::words("OWNER", 14, 6),
    Column::words("EXPOSURE", 8, 5),
    Column::number("BYTES", 7, 2),
    Column::number("~TOKENS", 8, 7),
    Column::number("CALLS", 6, 1),
    Column::number("ERR", 4, 3),
    Column::number("P95", 8, 4),
    Column::words("MARKS", 7, 2),
];

impl Tools {
    fn title(&self, shared: &Shared) -> String {
        let snapshot = shared.snapshot();
        let all = snapshot.tools.len() + snapshot.refusals.len();
        let refused = match snapshot.refusals.len() {
            0 => String::new(),
            count => format!(", {count} refused"),
        };
        match self.filter.is_empty() {
            true => format!(
                "Tools {}{refused}",
                figures::count(snapshot.tools.len() as u64)
            ),
            false => format!(
                "Tools {} of {} / {}",
                figures::count(self.rows.len() as u64),
                figures::count(all as u64),
                self.filter
            ),
        }
    }

    fn cells(at: At, shared: &Shared, widths: &[usize]) -> Option<[(String, Style); 9]> {
        let theme = shared.theme;
        let snapshot = shared.snapshot();
        let plain = theme.text();
        match at {
            At::Refusal(number) => {
                let refusal = snapshot.refusals.get(number)?;
                let bad = theme.health(Health::Bad);
                let none = theme.none();
                Some([
                    (format!("{} {}", theme.mark(Health::Bad), refusal.name), bad),
                    (refusal.refused.to_string(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    ("refused".to_owned(), bad),
                ])
            }
            At::Tool(number) => {
                let tool = snapshot.tools.get(number)?;
                let tally = snapshot.stats.tools.get(tool.definition.name());
                let tally = tally.filter(|tally| tally.calls > 0);
                let none = || theme.none().to_owned();
                let errors = tally.map_or(0, |tally| tally.errors);
                let trouble = match errors {
                    0 => plain,
                    _ => theme.health(Health::Bad),
                };
                let marks = match tool.changed {
                    true => theme.health(Health::Warning),
                    false => theme.dim(),
                };
                Some([
                    (tool.definition.name().to_owned(), theme.strong()),
                    (tool.owner.to_string(), plain),
                    match tool.exposure_overruled {
                        // Changed for this process.
                        Some(_) => (
                            tool.exposure.as_str().to_owned(),
                            theme.health(Health::Warning),
                        ),
                        None => (tool.exposure.as_str().to_owned(), plain),
                    },
                    (figures::count(tool.bytes as u64), plain),
                    (
                        format!("~{}", figures::count((tool.bytes / 4) as u64)),
                        theme.dim(),
                    ),
                    (
                        tally.map_or_else(none, |tally| figures::count(tally.calls)),
                        plain,
                    ),
                    (
                        tally.map_or_else(none, |tally| figures::count(tally.errors)),
                        trouble,
                    ),
                    (
                        tally.map_or_else(none, |tally| figures::latency(tally.latency.p95)),
                        plain,
                    ),
                    (detail::mark_words(tool, widths[8]), marks),
                ])
            }
        }
    }

    pub(super) fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let title = match self.on_shelves() {
            true => "Skill files".to_owned(),
            false => self.title(shared),
        };
        let inner = pane::frame(shared, frame, area, &title, !self.inside);
        self.view_tabs(shared, frame, inner);
        let inner = Self::below_tabs(shared, inner);
        if self.on_shelves() {
            self.shelves.view_list(!self.inside, theme, frame, inner);
            return;
        }
        let empty = match self.filter.is_empty() {
            true => {
                "No tool is registered. Tools come with their servers: the screen Sources (2) \
                 tells which are not ready and why."
            }
            false => "No tool fits the filter. esc takes it away.",
        };
        let sorted = Sort::ALL.iter().position(|sort| *sort == self.sort);
        // The tokens stand between the bytes and the calls and are no order of their own.
        let sorted = sorted.map(|at| if at > 3 { at + 1 } else { at });
        let descending = self.sort.descends() != self.inverted;
        let table = Table {
            columns: &COLUMNS,
            sorted: sorted.map(|at| (at, descending)),
            empty,
            rows: self.rows.len(),
            window: self.roster.window(),
            selected: Some((self.roster.position(), !self.inside)),
        };
        table.view(theme, frame, inner, |number, widths| {
            Self::cells(*self.rows.get(number)?, shared, widths)
        });
    }
}
