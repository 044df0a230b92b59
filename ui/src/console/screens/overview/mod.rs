//! The first screen: what needs attention, how the servers are, how calls fare.

mod chart;
mod failures;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::observe::{Attention, CallRecord, Severity, Subject, attention};
use toolcrib::source::{ServerOrder, ServerState, ServerStatus};

use super::sources::{self, Key, Row};
use super::{Copied, Screen};
use crate::console::figures;
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::roster::Roster;
use crate::console::shared::{Breadth, Request, Shared};
use crate::console::theme::Health;
use crate::text::{self, Lines};

use failures::Cause;

/// Which list has the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Focus {
    Attention,
    Sources,
}

/// An item by what it is about, and which of several about the same it is: its text may change
/// while it stays the same item.
type Item = (Subject, usize);

/// The screen Overview.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    /// Which list the operator has chosen; until then it is what needs attention, if anything.
    chosen: Option<Focus>,
    items: Vec<Attention>,
    attention: Roster<Item>,
    rows: Vec<Row>,
    sources: Roster<Key>,
    causes: Vec<Cause>,
    /// The history that the causes were taken from.
    read: Option<Arc<[Arc<CallRecord>]>>,
    hint_dismissed: bool,
}

/// The areas of the panes, with their frames. An empty one is not shown.
struct Panes {
    hint: Rect,
    attention: Rect,
    sources: Rect,
    rate: Rect,
    latency: Rect,
    failures: Rect,
}

impl Overview {
    fn panes(&self, shared: &Shared, area: Rect) -> Panes {
        let none = Rect::ZERO;
        let mut panes = Panes {
            hint: none,
            attention: none,
            sources: none,
            rate: none,
            latency: none,
            failures: none,
        };
        if shared.zoomed {
            match self.focus() {
                Focus::Attention => panes.attention = area,
                Focus::Sources => panes.sources = area,
            }
            return panes;
        }
        let hint = match shared.breadth() {
            _ if self.hint_dismissed => 0,
            Breadth::Small => 0,
            // The sentence takes 133 cells.
            _ if area.width < 133 => 2,
            _ => 1,
        };
        let [hint, area] =
            Layout::vertical([Constraint::Length(hint), Constraint::Min(0)]).areas(area);
        panes.hint = hint;
        let wanted = u16::try_from(self.items.len()).unwrap_or(u16::MAX).max(1);
        match shared.breadth() {
            Breadth::Wide => {
                let [left, right] =
                    Layout::horizontal([Constraint::Percentage(58), Constraint::Percentage(42)])
                        .areas(area);
                let most = (area.height / 3).max(4);
                [panes.attention, panes.sources] = Layout::vertical([
                    Constraint::Length(wanted.saturating_add(2).clamp(4, most)),
                    Constraint::Min(5),
                ])
                .areas(left);
                [panes.rate, panes.latency, panes.failures] = Layout::vertical([
                    Constraint::Percentage(36),
                    Constraint::Length(7),
                    Constraint::Min(4),
                ])
                .areas(right);
            }
            Breadth::Stacked => {
                let most = (area.height / 4).max(4);
                let bottom;
                [panes.attention, panes.sources, bottom] = Layout::vertical([
                    Constraint::Length(wanted.saturating_add(2).clamp(3, most)),
                    Constraint::Min(5),
                    Constraint::Length(7),
                ])
                .areas(area);
                [panes.rate, panes.latency] =
                    Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)])
                        .areas(bottom);
                // Beside the chart there is room for one of the two.
                if !self.causes.is_empty() {
                    panes.failures = panes.latency;
                    panes.latency = none;
                }
            }
            Breadth::Small => {
                // A pane of fewer than three rows has no frame.
                let most = (area.height / 2).max(1);
                let framed = if most < 3 { 0 } else { 2 };
                [panes.attention, panes.sources] = Layout::vertical([
                    Constraint::Length(wanted.saturating_add(framed).min(most)),
                    Constraint::Min(0),
                ])
                .areas(area);
            }
        }
        panes
    }

    /// The list that has the focus: never an empty one while the other has rows.
    fn focus(&self) -> Focus {
        match self.chosen {
            _ if self.items.is_empty() => Focus::Sources,
            Some(chosen) => chosen,
            None => Focus::Attention,
        }
    }

    fn item(&self) -> Option<&Attention> {
        self.items.get(self.attention.position())
    }

    /// The server that actions on a server mean.
    fn server<'s>(&'s self, shared: &'s Shared) -> Option<&'s Arc<ServerStatus>> {
        match self.focus() {
            Focus::Attention => match &self.item()?.subject {
                Subject::Server(source, name) => shared
                    .snapshot()
                    .servers
                    .iter()
                    .find(|server| server.source == *source && server.name == *name),
                _ => None,
            },
            Focus::Sources => self.rows.get(self.sources.position())?.server.as_ref(),
        }
    }

    fn order(&self, order: ServerOrder, shared: &mut Shared) {
        let found = self
            .server(shared)
            .map(|server| (Arc::clone(&server.source), Arc::clone(&server.name)));
        if let Some((source, name)) = found {
            let doing = match order {
                ServerOrder::Probe => "probing",
                _ => "reconnecting",
            };
            shared.say(format!("{doing} {name}"));
            shared.order_server(source, name, order);
        }
    }

    fn open(&self, shared: &mut Shared) {
        match self.focus() {
            Focus::Attention => {
                if let Some(item) = self.item() {
                    shared.request(Request::Visit(item.subject.clone()));
                }
            }
            Focus::Sources => match self.sources.selected() {
                Some(Key::Server(source, name)) => {
                    let subject = Subject::Server(Arc::clone(source), Arc::clone(name));
                    shared.request(Request::Visit(subject));
                }
                Some(Key::Source(_)) => shared.request(Request::Go(super::ScreenId::Sources)),
                None => {}
            },
        }
    }

    fn selected_style(&self, shared: &Shared, of: Focus) -> Style {
        match self.focus() == of {
            true => shared.theme.selected(),
            false => shared.theme.text(),
        }
    }

    fn view_hint(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let key = |key: &'static str| Span::styled(key, theme.key());
        let first = vec![
            Span::styled(" New here? ", theme.title()),
            Span::raw("Servers bring tools; here you see how they are. "),
            key("3"),
            Span::raw(" then "),
            key("c"),
            Span::raw(" calls a tool,"),
        ];
        let second = vec![
            Span::raw(" "),
            key("2"),
            Span::raw(" tells why one is down, "),
            key("?"),
            Span::raw(" all keys, "),
            key("x"),
            Span::raw(" hides this"),
        ];
        if area.height >= 2 {
            let (top, bottom) = (
                Rect { height: 1, ..area },
                Rect {
                    y: area.y + 1,
                    height: 1,
                    ..area
                },
            );
            frame.render_widget(Line::from(first), top);
            frame.render_widget(Line::from(second), bottom);
        } else {
            let spans: Vec<_> = first.into_iter().chain(second).collect();
            frame.render_widget(Line::from(spans), area);
        }
    }

    fn view_attention(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let title = match self.items.len() {
            0 => "Needs attention".to_owned(),
            many => format!("Needs attention {many}"),
        };
        let focused = self.focus() == Focus::Attention;
        let inner = pane::frame(shared, frame, area, &title, focused);
        if self.items.is_empty() {
            let line = Line::from(vec![
                Span::styled(theme.mark(Health::Good), theme.health(Health::Good)),
                Span::raw(" nothing: every server that should answer does"),
            ]);
            frame.render_widget(line, inner);
            return;
        }
        let window = self.attention.window();
        let items = self.items.iter().enumerate();
        let items = items.skip(window.start).take(window.len());
        for (y, (at, item)) in (inner.top()..inner.bottom()).zip(items) {
            let line = Rect {
                y,
                height: 1,
                ..inner
            };
            frame.render_widget(attention_line(shared, item, inner.width.into()), line);
            if at == self.attention.position() {
                let style = self.selected_style(shared, Focus::Attention);
                frame.buffer_mut().set_style(line, style);
            }
        }
    }

    fn view_sources(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let title = format!("Sources {}", self.rows.len());
        let focused = self.focus() == Focus::Sources;
        let inner = pane::frame(shared, frame, area, &title, focused);
        let empty = "no sources: name one in the deployment file, or start with --mcp FILE";
        let table = sources::table(&self.rows, &self.sources, focused, None, empty);
        table.view(shared.theme, frame, inner, |number, _| {
            Some(sources::cells(shared, self.rows.get(number)?))
        });
    }

    fn view_rate(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let snapshot = shared.snapshot();
        let room = chart::room(pane::inside(shared, area));
        let title = format!("Calls per second, last {} s", chart::seconds(room));
        let inner = pane::frame(shared, frame, area, &title, false);
        if snapshot.stats.total.calls == 0 {
            let lines = [
                "no call yet: press 3, choose a tool,",
                "press c, then enter",
            ];
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
            return;
        }
        let elapsed = snapshot.started.age(snapshot.taken.at).as_secs();
        chart::view(&snapshot.stats.recent, elapsed, shared.theme, frame, inner);
    }

    fn view_latency(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let total = &shared.snapshot().stats.total;
        let title = match total.calls {
            0 => "Latency".to_owned(),
            calls => format!("Latency of {} calls", figures::count(calls)),
        };
        let inner = pane::frame(shared, frame, area, &title, false);
        if total.calls == 0 {
            frame.render_widget(Line::raw("no call yet"), inner);
            return;
        }
        let latency = &total.latency;
        let rows = [
            ("p50", latency.p50),
            ("p90", latency.p90),
            ("p95", latency.p95),
            ("p99", latency.p99),
            ("max", latency.max),
        ];
        // The slowest call would flatten all others: bars are measured against p99.
        let most = latency.p99.as_secs_f64().max(1e-6);
        let room = usize::from(inner.width).saturating_sub(16);
        for (y, (label, value)) in (inner.top()..inner.bottom()).zip(rows) {
            let share = (value.as_secs_f64() / most).min(1.0);
            let cells = ((share * room as f64).round() as usize).clamp(1, room.max(1));
            let bar = match label {
                "max" => String::new(),
                _ => theme.pick("█", "#").repeat(cells.min(room)),
            };
            let line = Line::from(vec![
                Span::styled(format!("{label} "), theme.dim()),
                Span::styled(
                    text::fit_right(&figures::latency(value), 11, theme.marks),
                    theme.strong(),
                ),
                Span::raw(" "),
                Span::styled(bar, theme.bar()),
            ]);
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

    fn view_failures(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let total = &shared.snapshot().stats.total;
        let title = match total.errors {
            0 => "Failures".to_owned(),
            errors => format!(
                "Failures {} of {}",
                figures::count(errors),
                figures::count(total.calls)
            ),
        };
        let inner = pane::frame(shared, frame, area, &title, false);
        if self.causes.is_empty() {
            let text = match total.errors {
                0 => "no call has failed",
                _ => "the failed calls are no longer in the history",
            };
            frame.render_widget(Line::raw(text), inner);
            return;
        }
        // The tool is what is looked for; the words take what is left.
        let room = usize::from(inner.width);
        let kind = if room < 50 { 10 } else { 14 };
        let tool = room.saturating_sub(kind + 7).min(24);
        for (y, cause) in (inner.top()..inner.bottom()).zip(&self.causes) {
            let line = Line::from(vec![
                Span::styled(
                    text::fit_right(&figures::count(cause.count as u64), 5, theme.marks),
                    theme.strong(),
                ),
                Span::raw(" "),
                Span::styled(
                    text::fit(cause.kind.as_str(), kind, theme.marks),
                    theme.health(Health::Warning),
                ),
                Span::raw(" "),
                Span::styled(text::fit(&cause.tool, tool, theme.marks), theme.text()),
                Span::styled(format!(" {}", cause.newest), theme.dim()),
            ]);
            let line_area = Rect {
                y,
                height: 1,
                ..inner
            };
            frame.render_widget(line, line_area);
        }
    }
}

/// Mark, subject, what it is, since when.
fn attention_line(shared: &Shared, item: &Attention, width: usize) -> Line<'static> {
    let theme = shared.theme;
    let health = match item.severity {
        Severity::Bad => Health::Bad,
        Severity::Warning => Health::Warning,
    };
    let subject = match &item.subject {
        Subject::Deployment => "deployment".to_owned(),
        Subject::Question(_) => "asks".to_owned(),
        Subject::Server(source, name) if source == name => name.to_string(),
        Subject::Server(source, name) => format!("{source}/{name}"),
        Subject::Tool(name) | Subject::Session(name) => {
            text::clean_name(name, theme.marks).into_owned()
        }
    };
    let mut after = String::new();
    if let Some(since) = item.since {
        after = format!("  {}", figures::age(since.age(shared.now().at)));
    }
    if let Subject::Server(source, name) = &item.subject {
        let server = shared
            .snapshot()
            .servers
            .iter()
            .find(|server| server.source == *source && server.name == *name);
        if let Some(server) = server
            && server.state == ServerState::Backoff
            && let Some(retry) = server.next_retry
        {
            let left = retry.at.saturating_duration_since(shared.now().at);
            after.push_str(&format!(
                " {} retry in {} s",
                theme.pick("·", "|"),
                left.as_millis().div_ceil(1_000)
            ));
        }
    }
    let room = width.saturating_sub(2 + 15 + text::width(&after));
    Line::from(vec![
        Span::styled(format!("{} ", theme.mark(health)), theme.health(health)),
        Span::styled(text::fit(&subject, 14, theme.marks), theme.strong()),
        Span::raw(" "),
        // What lint found names tools and queries as they came.
        Span::raw(text::fit(
            &text::clean(&text::one_line(&item.text), Lines::One, theme.marks),
            room,
            theme.marks,
        )),
        Span::styled(after, theme.dim()),
    ])
}

impl Screen for Overview {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        let snapshot = shared.snapshot();
        self.items = attention(snapshot);
        let mut keys: Vec<Item> = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let before = keys.iter().filter(|(subject, _)| *subject == item.subject);
            keys.push((item.subject.clone(), before.count()));
        }
        self.attention.set_keys(keys);
        self.rows = sources::rows(snapshot);
        self.sources
            .set_keys(self.rows.iter().map(|row| row.key.clone()).collect());
        let unchanged = self
            .read
            .as_ref()
            .is_some_and(|read| Arc::ptr_eq(read, &snapshot.history));
        if !unchanged {
            self.causes = failures::causes(&snapshot.history);
            self.read = Some(Arc::clone(&snapshot.history));
        }
        let panes = self.panes(shared, area);
        let rows = |area: Rect| usize::from(pane::inside(shared, area).height);
        self.attention.settle(rows(panes.attention));
        self.sources.settle(rows(panes.sources).saturating_sub(1));
    }

    fn can(&self, action: Action, shared: &Shared) -> bool {
        match action {
            Action::Down
            | Action::Up
            | Action::First
            | Action::Last
            | Action::HalfDown
            | Action::HalfUp
            | Action::Open
            | Action::Describe
            | Action::Copy => match self.focus() {
                Focus::Attention => !self.items.is_empty(),
                Focus::Sources => !self.rows.is_empty(),
            },
            Action::NextPane | Action::PreviousPane => !self.items.is_empty(),
            Action::DismissHint => !self.hint_dismissed,
            Action::Logs => self.server(shared).is_some(),
            Action::Reconnect => self
                .server(shared)
                .is_some_and(|server| server.state != ServerState::Disabled),
            Action::Probe => self
                .server(shared)
                .is_some_and(|server| server.state.is_up()),
            _ => false,
        }
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        match action {
            Action::Open | Action::Describe => self.open(shared),
            Action::NextPane | Action::PreviousPane => {
                self.chosen = Some(match self.focus() {
                    Focus::Attention => Focus::Sources,
                    Focus::Sources => Focus::Attention,
                });
            }
            Action::DismissHint => self.hint_dismissed = true,
            Action::Reconnect => self.order(ServerOrder::Reconnect, shared),
            Action::Probe => self.order(ServerOrder::Probe, shared),
            Action::Logs => {
                let owner = self
                    .server(shared)
                    .map(|server| format!("{}/{}", server.source, server.name));
                if let Some(owner) = owner {
                    shared.request(Request::Logs(owner.into()));
                }
            }
            moving => {
                // Whoever moves has chosen: something new that needs attention must not take the
                // focus away under the fingers.
                let focus = self.focus();
                self.chosen = Some(focus);
                match focus {
                    Focus::Attention => self.attention.move_by(moving),
                    Focus::Sources => self.sources.move_by(moving),
                }
            }
        }
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let panes = self.panes(shared, area);
        type View = fn(&Overview, &Shared, &mut Frame<'_>, Rect);
        let views: [(Rect, View); 6] = [
            (panes.hint, Self::view_hint),
            (panes.attention, Self::view_attention),
            (panes.sources, Self::view_sources),
            (panes.rate, Self::view_rate),
            (panes.latency, Self::view_latency),
            (panes.failures, Self::view_failures),
        ];
        for (area, view) in views {
            if !area.is_empty() {
                view(self, shared, frame, area);
            }
        }
    }

    fn wants_attention(&self, shared: &Shared) -> bool {
        use toolcrib::observe::DeploymentState;
        matches!(
            shared.newest().deployment.state,
            DeploymentState::Failed { .. }
        )
    }

    fn copy(&self, shared: &Shared) -> Option<Copied> {
        match self.focus() {
            Focus::Attention => self.item().map(|item| Copied {
                what: "what needs attention".into(),
                text: text::one_line(&item.text).into_owned() + "\n",
            }),
            Focus::Sources => {
                let row = self.rows.get(self.sources.position())?;
                let cells = sources::cells(shared, row);
                let cells: Vec<_> = cells.into_iter().map(|(text, _)| text).collect();
                Some(Copied {
                    what: format!("the line of {}", row.name),
                    text: cells.join("\t") + "\n",
                })
            }
        }
    }
}
