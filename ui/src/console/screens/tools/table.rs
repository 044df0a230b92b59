//! The list of tools as a table.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::list::{At, Sort};
use super::{Tools, detail};
use crate::console::figures;
use crate::console::grid::{self, Column};
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::Health;

/// The columns; [`Sort::ALL`] names them in this order, but for the tokens, which are the bytes
/// once more.
const COLUMNS: [Column; 9] = [
    column("NAME", 20, false, 0),
    column("OWNER", 14, false, 6),
    column("EXPOSURE", 8, false, 5),
    column("BYTES", 7, true, 2),
    column("~TOKENS", 8, true, 7),
    column("CALLS", 6, true, 1),
    column("ERR", 4, true, 3),
    column("P95", 8, true, 4),
    column("MARKS", 7, false, 2),
];

const fn column(head: &'static str, width: usize, right: bool, rank: u8) -> Column {
    Column {
        head,
        width,
        fills: rank == 0,
        right,
        rank,
    }
}

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

    fn row(at: At, shared: &Shared, widths: &[usize]) -> Line<'static> {
        let theme = shared.theme;
        let snapshot = shared.snapshot();
        let plain = theme.text();
        match at {
            At::Refusal(number) => {
                let Some(refusal) = snapshot.refusals.get(number) else {
                    return Line::default();
                };
                let bad = theme.health(Health::Bad);
                let none = theme.none();
                let cells = [
                    (format!("{} {}", theme.mark(Health::Bad), refusal.name), bad),
                    (refusal.refused.to_string(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    (none.to_owned(), plain),
                    ("refused".to_owned(), bad),
                ];
                grid::line(&COLUMNS, widths, cells, theme)
            }
            At::Tool(number) => {
                let Some(tool) = snapshot.tools.get(number) else {
                    return Line::default();
                };
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
                let cells = [
                    (tool.definition.name().to_owned(), theme.strong()),
                    (tool.owner.to_string(), plain),
                    (tool.exposure.as_str().to_owned(), plain),
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
                ];
                grid::line(&COLUMNS, widths, cells, theme)
            }
        }
    }

    pub(super) fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let inner = pane::frame(shared, frame, area, &self.title(shared), !self.inside);
        if inner.height == 0 {
            return;
        }
        if self.rows.is_empty() {
            let words = match self.filter.is_empty() {
                true => {
                    "No tool is registered. Tools come with their servers: the screen Sources (2) \
                     tells which are not ready and why."
                }
                false => "No tool fits the filter. esc takes it away.",
            };
            frame.render_widget(Paragraph::new(words).wrap(Wrap { trim: true }), inner);
            return;
        }
        let widths = grid::widths(&COLUMNS, usize::from(inner.width));
        let sorted = Sort::ALL.iter().position(|sort| *sort == self.sort);
        // The tokens stand between the bytes and the calls and are no order of their own.
        let sorted = sorted.map(|at| if at > 3 { at + 1 } else { at });
        let descending = self.sort.descends() != self.inverted;
        let heads = grid::heads(&COLUMNS, &widths, sorted.map(|at| (at, descending)), theme);
        frame.render_widget(heads, Rect { height: 1, ..inner });
        for (y, number) in (inner.top() + 1..inner.bottom()).zip(self.roster.window()) {
            let Some(at) = self.rows.get(number) else {
                break;
            };
            let mut line = Self::row(*at, shared, &widths);
            if number == self.roster.position() {
                line = line.patch_style(match self.inside {
                    false => theme.selected(),
                    true => theme.selected_elsewhere(),
                });
            }
            frame.render_widget(
                line,
                Rect {
                    y,
                    height: 1,
                    ..inner
                },
            );
        }
    }
}
