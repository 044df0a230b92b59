//! The list of calls as a table.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};
use toolcrib::observe::Snapshot;

use super::list::{Seen, Sort};
use super::{Calls, evidence, question_of, underway};
use crate::console::figures;
use crate::console::grid::{self, Column};
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::Health;

/// The columns; [`Sort::ALL`] names them in this order.
const COLUMNS: [Column; 6] = [
    column("TIME", 8, false, 2),
    column("TOOL", 18, false, 0),
    column("OUTCOME", 15, false, 1),
    column("TOOK", 11, true, 3),
    column("BYTES", 9, true, 4),
    column("SESSION", 10, false, 5),
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

impl Calls {
    fn title(&self, snapshot: &Snapshot) -> String {
        let all = snapshot.running.len() + snapshot.history.len();
        let running = match snapshot.running.len() {
            0 => String::new(),
            count => format!(", {count} running"),
        };
        match self.filter.is_empty() {
            true => format!("Calls {}{running}", figures::count(all as u64)),
            false => format!(
                "Calls {} of {} / {}",
                figures::count(self.rows.len() as u64),
                figures::count(all as u64),
                self.filter
            ),
        }
    }

    fn row(seen: Seen<'_>, shared: &Shared, widths: &[usize]) -> Line<'static> {
        let theme = shared.theme;
        let plain = theme.text();
        let zone = &shared.options.zone;
        let clock = |at: toolcrib::clock::Stamp| {
            let at = at.wall.to_zoned(zone.clone());
            at.strftime("%H:%M:%S").to_string()
        };
        let session = seen.session().unwrap_or(theme.none()).to_owned();
        let cells = match seen {
            Seen::Running(row) => {
                let age = row.started.age(shared.now().at);
                let asks = question_of(&row.id, shared.snapshot()).is_some();
                let (sign, word, health) = match (asks, row.cancelling) {
                    (true, false) => (theme.mark(Health::Warning), "asks you", Health::Warning),
                    (_, true) => (underway::spinner(age, theme), "stopping", Health::Busy),
                    _ => (underway::spinner(age, theme), "running", Health::Busy),
                };
                let outcome = format!("{sign} {word}");
                [
                    (clock(row.started), plain),
                    (row.tool.to_string(), theme.strong()),
                    (outcome, theme.health(health)),
                    (figures::age(age), plain),
                    (theme.none().to_owned(), plain),
                    (session, theme.dim()),
                ]
            }
            Seen::Ended(record) => {
                let (health, word) = evidence::outcome(record);
                let cut = if record.truncated {
                    theme.pick("✂", "%")
                } else {
                    ""
                };
                [
                    (clock(record.started), plain),
                    (record.tool.to_string(), theme.strong()),
                    (
                        format!("{} {word}", theme.mark(health)),
                        theme.health(health),
                    ),
                    (figures::latency(record.duration), plain),
                    (
                        format!("{cut}{}", figures::bytes(record.bytes_out as u64)),
                        plain,
                    ),
                    (session, theme.dim()),
                ]
            }
        };
        grid::line(&COLUMNS, widths, cells, theme)
    }

    pub(super) fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let snapshot = shared.snapshot();
        let focused = !self.inside && self.picker.is_none();
        let inner = pane::frame(shared, frame, area, &self.title(snapshot), focused);
        if inner.height == 0 {
            return;
        }
        if self.rows.is_empty() {
            let words = match self.filter.is_empty() {
                true => "Nothing was called yet. c picks a tool and opens the form that calls it.",
                false => "No call fits the filter. esc takes it away.",
            };
            frame.render_widget(Paragraph::new(words).wrap(Wrap { trim: true }), inner);
            return;
        }
        let widths = grid::widths(&COLUMNS, usize::from(inner.width));
        let sorted = Sort::ALL.iter().position(|sort| *sort == self.sort);
        let descending = self.sort.descends() != self.inverted;
        let heads = grid::heads(&COLUMNS, &widths, sorted.map(|at| (at, descending)), theme);
        frame.render_widget(heads, Rect { height: 1, ..inner });
        for (y, number) in (inner.top() + 1..inner.bottom()).zip(self.roster.window()) {
            let Some(seen) = self.rows.get(number).and_then(|at| at.of(snapshot)) else {
                break;
            };
            let mut line = Self::row(seen, shared, &widths);
            if number == self.roster.position() && self.wanted.is_none() {
                line = line.patch_style(match focused {
                    true => theme.selected(),
                    false => theme.selected_elsewhere(),
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
