//! The list of calls as a table.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use toolcrib::observe::Snapshot;

use super::list::{Seen, Sort};
use super::{Calls, facts, question_of, underway};
use crate::console::figures;
use crate::console::grid::{Column, Table};
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::Health;

/// The columns; [`Sort::ALL`] names them in this order.
const COLUMNS: [Column; 6] = [
    Column::words("TIME", 8, 2),
    Column::words("TOOL", 18, 0),
    Column::words("OUTCOME", 15, 1),
    Column::number("TOOK", 11, 3),
    Column::number("BYTES", 9, 4),
    Column::words("SESSION", 10, 5),
];

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

    fn cells(seen: Seen<'_>, shared: &Shared) -> [(String, Style); 6] {
        let theme = shared.theme;
        let plain = theme.text();
        let zone = &shared.options.zone;
        let clock = |at: toolcrib::clock::Stamp| {
            let at = at.wall.to_zoned(zone.clone());
            at.strftime("%H:%M:%S").to_string()
        };
        let session = seen.session().unwrap_or(theme.none()).to_owned();
        match seen {
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
                let (health, word) = facts::outcome(record);
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
        }
    }

    pub(super) fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let snapshot = shared.snapshot();
        let focused = !self.inside && self.picker.is_none();
        let inner = pane::frame(shared, frame, area, &self.title(snapshot), focused);
        let empty = match self.filter.is_empty() {
            true => "Nothing was called yet. c picks a tool and opens the form that calls it.",
            false => "No call fits the filter. esc takes it away.",
        };
        let sorted = Sort::ALL.iter().position(|sort| *sort == self.sort);
        let descending = self.sort.descends() != self.inverted;
        let position = self.roster.position();
        let table = Table {
            columns: &COLUMNS,
            sorted: sorted.map(|at| (at, descending)),
            empty,
            rows: self.rows.len(),
            window: self.roster.window(),
            selected: self.wanted.is_none().then_some((position, focused)),
        };
        table.view(theme, frame, inner, |number, _| {
            let seen = self.rows.get(number)?.of(snapshot)?;
            Some(Self::cells(seen, shared))
        });
    }
}
