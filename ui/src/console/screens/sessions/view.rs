//! Draws the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::evidence::Key;
use super::looked::Looked;
use super::{Compare, Pane, Sessions, Tab, diff, evidence, head, list, sent};
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::subtabs;

/// What an operator reads who has no session yet.
const EMPTY: &str = "No session yet. A session is one conversation: what its model is sent, round \
by round, and what tool_search brings into it.\n\n\
  a  opens one in which you are the model: search, call, see what the next round sends\n\
  p  plays a scenario: five lessons are shipped, and a file of yours can be played too\n\n\
Sessions of model loops and of the gateway's clients stand here by themselves.";

/// The same where nothing may be changed.
const EMPTY_READ_ONLY: &str = "No session yet. A session is one conversation: what its model is \
sent, round by round, and what tool_search brings into it.\n\n\
Sessions of model loops and of the gateway's clients stand here by themselves. This console was \
started with --read-only: none can be opened from here.";

impl Sessions {
    pub(super) fn draw(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let areas = self.areas(shared, area);
        if !areas.list.is_empty() {
            self.view_list(shared, frame, areas.list);
        }
        let Some(looked) = &self.looked else { return };
        if !areas.head.is_empty() {
            self.view_head(looked, shared, frame, areas.head);
        }
        if !areas.sent.is_empty() {
            self.view_sent(looked, shared, frame, areas.sent);
        }
        if !areas.evidence.is_empty() {
            self.view_evidence(looked, shared, frame, areas.evidence);
        }
    }

    fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let focused = self.pane == Pane::List;
        let all = shared.snapshot().sessions.len();
        let shown = self.rows.len();
        let mut title = match shown == all {
            true => format!("Sessions {all}"),
            false => format!("Sessions {shown} of {all}"),
        };
        if self.sort != list::Sort::Opened {
            title.push_str(&format!(" by {}", self.sort.word()));
        }
        if !self.filter.is_empty() {
            title.push_str(&format!(" /{}", self.filter));
        }
        let inner = pane::frame(shared, frame, area, &title, focused);
        if self.rows.is_empty() {
            let words = match (self.filter.is_empty(), shared.options.read_only) {
                (true, false) => EMPTY,
                (true, true) => EMPTY_READ_ONLY,
                (false, _) => "No session fits the filter. esc takes it away.",
            };
            frame.render_widget(Paragraph::new(words).wrap(Wrap { trim: false }), inner);
            return;
        }
        let widths = list::widths(usize::from(inner.width));
        let heads = list::heads(&widths, self.sort, self.inverted, theme);
        frame.render_widget(
            heads,
            Rect {
                height: inner.height.min(1),
                ..inner
            },
        );
        for (y, number) in (inner.top() + 1..inner.bottom()).zip(self.roster.window()) {
            let row = self.rows.get(number);
            let Some(row) = row.and_then(|at| shared.snapshot().sessions.get(*at)) else {
                break;
            };
            let mut line = list::line(row, shared, &widths);
            if number == self.roster.position() {
                line = line.patch_style(theme.selection(focused));
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

    /// Which round is shown of how many, and whether the newest is followed.
    fn place(&self, looked: &Looked, shared: &Shared) -> String {
        let theme = shared.theme;
        let (shown, last) = (looked.record().round, looked.row().round());
        let arrows = theme.pick("◂ ▸", "< >");
        let dot = theme.pick(" · ", " - ");
        let oldest = match looked.row().oldest() {
            0 | 1 => String::new(),
            oldest => format!(", from {oldest} on"),
        };
        match (last, self.round) {
            (0, _) => "before its first round".to_owned(),
            (_, None) => format!("round {shown} of {last}{oldest} {arrows}{dot}follows"),
            (_, Some(_)) => {
                format!("round {shown} of {last}{oldest} {arrows}{dot}as it was then, f follows")
            }
        }
    }

    fn view_head(&self, looked: &Looked, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let dot = shared.theme.pick(" · ", " - ");
        let name = &looked.row().name;
        let title = format!("{name}{dot}{}", self.place(looked, shared));
        // Too small for a frame: the pane below tells the rest in its title.
        let inner = match area.height {
            0..=2 => area,
            _ => pane::frame(shared, frame, area, &title, self.is_open()),
        };
        let lines = head::lines(looked, shared, usize::from(inner.width));
        for (y, line) in (inner.top()..inner.bottom()).zip(lines) {
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

    fn view_sent(&self, looked: &Looked, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let focused = self.pane == Pane::Sent;
        let round = looked.record().round;
        let mut title = match (self.compare, self.base(looked)) {
            (Compare::Off, _) => "Sent to the model".to_owned(),
            (_, None) => "No round to compare with".to_owned(),
            (Compare::Before, Some(base)) => format!(
                "Changed from round {} to {round} (D holds {round}, then choose)",
                base.round
            ),
            (Compare::With(_), Some(base)) => {
                format!("Changed from round {} to {round} (D ends)", base.round)
            }
        };
        if area.width < 80 && shared.breadth() == crate::console::shared::Breadth::Small {
            title = format!("{} round {round}: {title}", looked.row().name);
        }
        if !self.tools.is_empty() {
            title.push_str(&format!(" /{}", self.tools));
        }
        let inner = pane::frame(shared, frame, area, &title, focused);
        let room = usize::from(inner.width);
        if self.compare != Compare::Off {
            let line = |_: &Key, at: usize| match self.differences.get(at) {
                Some(difference) => diff::line(difference, room, theme),
                None => Line::default(),
            };
            let empty = "The same was sent, withheld and pooled.";
            self.sent
                .view(None, line, empty, focused, shared, (frame, inner));
            return;
        }
        let widths = sent::widths(room);
        let empty = match (round, self.tools.is_empty()) {
            (0, _) => "Its first round has not begun.",
            (_, true) => "Nothing is sent: there is no tool for it.",
            (_, false) => "No tool fits the filter.",
        };
        self.sent.view(
            Some(sent::heads(&widths, theme)),
            |_, at| sent::line(looked, at, &widths, theme),
            empty,
            focused,
            shared,
            (frame, inner),
        );
    }

    fn view_evidence(&self, looked: &Looked, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let focused = self.pane == Pane::Evidence;
        if let Some(lens) = &self.lens {
            let inner = pane::frame(shared, frame, area, &lens.title(), focused);
            lens.view(focused, shared, frame, inner);
            return;
        }
        let record = looked.record();
        let counts = [
            record.visible.withheld.len(),
            record.pool.entries.len(),
            record.ledger.len(),
            record.searches.len(),
            record.calls.len(),
        ];
        let titles: Vec<String> = Tab::of(looked)
            .iter()
            .map(|tab| match counts.get(*tab as usize) {
                Some(count) if *count > 0 => format!("{} {count}", tab.title()),
                _ => tab.title().to_owned(),
            })
            .collect();
        let room = usize::from(pane::inside(shared, area).width);
        // With too little room for the counts the titles alone are shown.
        let needed: usize = titles.iter().map(|title| title.len() + 3).sum();
        let names: Vec<&str> = match needed > room {
            true => Tab::of(looked).iter().map(|tab| tab.title()).collect(),
            false => titles.iter().map(String::as_str).collect(),
        };
        let selected = Tab::of(looked).iter().position(|tab| *tab == self.tab);
        let selected = selected.and_then(|at| names.get(at)).copied();
        let title = match record.round {
            0 => "Nothing has happened yet".to_owned(),
            round => format!("Up to round {round}"),
        };
        let inner = pane::frame(shared, frame, area, &title, focused);
        let tabs = subtabs::line(&names, selected.unwrap_or_default(), None, room, theme);
        frame.render_widget(
            tabs,
            Rect {
                height: inner.height.min(1),
                ..inner
            },
        );
        let below = subtabs::below(inner);
        let table = &self.tables[self.tab as usize];
        let empty = match self.tools.is_empty() {
            true => self.tab.empty(),
            false => "Nothing fits the filter.",
        };
        table.view(
            evidence::heads(self.tab, room, theme),
            |key, at| evidence::line(self.tab, looked, key, at, room, theme),
            empty,
            focused,
            shared,
            (frame, below),
        );
    }
}
