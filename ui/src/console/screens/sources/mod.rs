//! The sources and their servers: a list, and the evidence of the selected one's health.

mod card;
mod evidence;
mod rows;
mod uptime;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use toolcrib::observe::Subject;
use toolcrib::source::{FailureKind, ServerOrder, ServerState, ServerStatus};

use super::{Copied, Screen};
use crate::console::figures;
use crate::console::grid::{Column, Table};
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::reader::{Reader, plain};
use crate::console::roster::Roster;
use crate::console::shared::{Deed, Request, Shared};
use crate::console::subtabs;
use crate::console::theme::Health;

pub(super) use rows::{Key, Row, arrange, p95, rows};

/// The columns of the list.
const COLUMNS: [Column; 9] = [
    Column {
        fills: false,
        ..Column::words("", 1, 0)
    },
    Column::words("NAME", 14, 0),
    Column::words("STATE", 11, 1),
    Column::number("SINCE", 9, 5),
    Column::number("TOOLS", 6, 2),
    Column::number("CALLS", 7, 3),
    Column::number("ERR", 5, 4),
    Column::number("P95", 8, 6),
    Column::words("HOUR", 12, 7),
];

/// The list of sources as a table; [`cells`] are its rows.
pub(super) fn table<'t>(
    rows: &[Row],
    roster: &Roster<Key>,
    focused: bool,
    sorted: Option<(usize, bool)>,
    empty: &'t str,
) -> Table<'t> {
    Table {
        columns: &COLUMNS,
        sorted,
        empty,
        rows: rows.len(),
        window: roster.window(),
        selected: roster.selected().map(|_| (roster.position(), focused)),
    }
}

/// What the evidence shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Evidence,
    Log,
    Tools,
}

impl Tab {
    const ALL: [Self; 3] = [Self::Evidence, Self::Log, Self::Tools];

    fn title(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::Log => "log",
            Self::Tools => "tools",
        }
    }

    fn step(self, forward: bool) -> Self {
        let count = Self::ALL.len();
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(at + if forward { 1 } else { count - 1 }) % count]
    }
}

/// The screen Sources.
#[derive(Debug)]
pub(crate) struct Sources {
    rows: Vec<Row>,
    roster: Roster<Key>,
    filter: String,
    sort: Option<usize>,
    inverted: bool,
    /// Whether the evidence has the focus.
    inside: bool,
    tab: Tab,
    evidence: Reader,
    log: Reader,
    tools: Reader,
    /// The row that the readers stand in; another one starts at its top.
    read: Option<Key>,
}

impl Default for Sources {
    fn default() -> Self {
        let mut log = Reader::default();
        log.toggle_follow();
        Self {
            rows: Vec::new(),
            roster: Roster::default(),
            filter: String::new(),
            sort: None,
            inverted: false,
            inside: false,
            tab: Tab::Evidence,
            evidence: Reader::wrapping(),
            log,
            tools: Reader::default(),
            read: None,
        }
    }
}

impl Sources {
    fn row(&self) -> Option<&Row> {
        let key = self.roster.selected()?;
        self.rows.iter().find(|row| row.key == *key)
    }

    fn server(&self) -> Option<&Arc<ServerStatus>> {
        self.row()?.server.as_ref()
    }

    fn reader(&self) -> &Reader {
        match self.tab {
            Tab::Evidence => &self.evidence,
            Tab::Log => &self.log,
            Tab::Tools => &self.tools,
        }
    }

    fn reader_mut(&mut self) -> &mut Reader {
        match self.tab {
            Tab::Evidence => &mut self.evidence,
            Tab::Log => &mut self.log,
            Tab::Tools => &mut self.tools,
        }
    }

    fn lines(&self, shared: &Shared, width: u16) -> Vec<Line<'static>> {
        let Some(row) = self.row() else {
            return Vec::new();
        };
        match self.tab {
            Tab::Evidence => evidence::lines(shared, row, width.into()),
            Tab::Log => evidence::log(shared, row),
            Tab::Tools => evidence::tools(shared, row),
        }
    }

    /// The areas of the list and of the evidence's text, inside their frames.
    fn areas(&self, shared: &Shared, area: Rect) -> [Rect; 2] {
        let [list, evidence] = pane::list_and_evidence(shared, area, !self.inside);
        let [_, text] = inside(shared, evidence);
        [pane::inside(shared, list), text]
    }

    fn order(&self, order: ServerOrder, shared: &mut Shared) {
        if let Some(server) = self.server() {
            let (source, name) = (Arc::clone(&server.source), Arc::clone(&server.name));
            let doing = match order {
                ServerOrder::Reconnect => "reconnecting",
                ServerOrder::Probe => "probing",
                ServerOrder::Disable => "disabling",
                ServerOrder::Enable => "enabling",
            };
            shared.say(format!("{doing} {name}"));
            shared.order_server(source, name, order);
        }
    }

    fn toggle(&self, shared: &mut Shared) {
        let Some(server) = self.server() else { return };
        let (source, name) = (Arc::clone(&server.source), Arc::clone(&server.name));
        let (question, order) = if server.state == ServerState::Disabled {
            (
                format!("enable `{name}` of source `{source}`?"),
                ServerOrder::Enable,
            )
        } else {
            (
                format!(
                    "disable `{name}` of source `{source}`? its tools stop working until you enable it again"
                ),
                ServerOrder::Disable,
            )
        };
        shared.request(Request::Ask(question, Deed::Server(source, name, order)));
    }

    fn next_sort(&mut self) {
        self.sort = match self.sort {
            None => rows::SORTS.first().copied(),
            Some(now) => {
                let at = rows::SORTS.iter().position(|sort| *sort == now);
                at.and_then(|at| rows::SORTS.get(at + 1)).copied()
            }
        };
        self.inverted = false;
    }

    fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let title = match self.filter.is_empty() {
            true => format!("Sources {}", self.rows.len()),
            false => format!("Sources matching {:?} {}", self.filter, self.rows.len()),
        };
        let inner = pane::frame(shared, frame, area, &title, !self.inside);
        let empty = match self.filter.is_empty() {
            true => "this deployment has no sources; name one in its file",
            false => "no source matches; esc takes the filter back",
        };
        // The values fall, as those of a fresh sort do.
        let sorted = self.sort.map(|by| (by, !self.inverted));
        let table = table(&self.rows, &self.roster, !self.inside, sorted, empty);
        table.view(shared.theme, frame, inner, |number, _| {
            Some(cells(shared, self.rows.get(number)?))
        });
    }

    fn view_evidence(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let name = self.row().map_or("nothing selected", |row| &row.name);
        pane::frame(shared, frame, area, name, self.inside);
        let [tabs, text] = inside(shared, area);
        if !tabs.is_empty() {
            let mut place = self.reader().place().unwrap_or_default();
            if self.reader().follows() {
                place.push_str(" following");
            }
            let titles = Tab::ALL.map(Tab::title);
            let (selected, width) = (self.tab.title(), tabs.width.into());
            let line = subtabs::line(&titles, selected, Some(place.trim()), width, theme);
            frame.render_widget(line, tabs);
        }
        let lines = self.lines(shared, text.width);
        self.reader().view(&lines, theme, frame, text);
    }
}

/// Whether the server refused us because it does not know who we are.
fn asks_who(server: &ServerStatus) -> bool {
    let kind = server.last_error.as_ref().map(|failure| &failure.kind);
    server.state == ServerState::Rejected
        && matches!(
            kind,
            Some(FailureKind::HttpStatus {
                status: 401 | 403,
                ..
            })
        )
}

/// The areas of the sub-tabs and of the text inside the frame of the evidence.
fn inside(shared: &Shared, evidence: Rect) -> [Rect; 2] {
    let inner = pane::inside(shared, evidence);
    let tabs = u16::from(inner.height > 3 && !shared.zoomed);
    Layout::vertical([Constraint::Length(tabs), Constraint::Min(0)]).areas(inner)
}

/// The cells of a row.
pub(super) fn cells(shared: &Shared, row: &Row) -> Vec<(String, Style)> {
    let theme = shared.theme;
    let health = row.health();
    let style = theme.health(health);
    let now = shared.now().at;
    let none = || theme.none().to_owned();
    let since = row
        .server
        .as_ref()
        .map_or_else(none, |server| figures::age(server.since.age(now)));
    let errors = match row.tally.errors {
        0 => theme.text(),
        _ => theme.health(Health::Warning),
    };
    let hour = row
        .server
        .as_ref()
        .map_or_else(String::new, |server| evidence::bar(theme, server, now, 12));
    vec![
        (theme.mark(health).to_owned(), style),
        (row.name.clone(), theme.text()),
        (row.state(), style),
        (since, theme.text()),
        (figures::count(row.tools as u64), theme.text()),
        (figures::count(row.tally.calls), theme.text()),
        (figures::count(row.tally.errors), errors),
        (p95(row).map_or_else(none, figures::latency), theme.text()),
        (hour, theme.bar()),
    ]
}

/// Asks which of the definitions that are held back are accepted: all, or one of the first nine,
/// which is as many as have a digit. What is left comes into the list with the next question.
fn accept(server: &ServerStatus) -> Request {
    let deed = |tool| Deed::Accept(Arc::clone(&server.source), Arc::clone(&server.name), tool);
    let name = &server.name;
    if let [tool] = &*server.held {
        let tool = tool.definition.shared_name();
        let question = format!("accept the definition of `{tool}`? models will see it");
        return Request::Ask(question, deed(Some(tool)));
    }
    let title = format!("Accept definitions of {name}: models will see them");
    let all = (
        'a',
        format!("all {} that are held back", server.held.len()),
        deed(None),
    );
    let each = ('1'..='9').zip(server.held.iter()).map(|(key, tool)| {
        let what = match tool.accepted {
            Some(_) => "changed",
            None => "new",
        };
        let tool = tool.definition.shared_name();
        (key, format!("{what:<7} {tool}"), deed(Some(tool)))
    });
    Request::Choose(title, std::iter::once(all).chain(each).collect())
}

impl Screen for Sources {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        let mut rows = rows(shared.snapshot());
        arrange(&mut rows, &self.filter, self.sort, self.inverted);
        self.rows = rows;
        self.roster
            .set_keys(self.rows.iter().map(|row| row.key.clone()).collect());
        let [list, text] = self.areas(shared, area);
        self.roster
            .settle(usize::from(list.height).saturating_sub(1));
        if self.read.as_ref() != self.roster.selected() {
            self.read = self.roster.selected().cloned();
            self.evidence.first();
            self.tools.first();
        }
        let lines = self.lines(shared, text.width);
        self.reader_mut().settle(&lines, text, shared.theme);
    }

    fn can(&self, action: Action, _: &Shared) -> bool {
        let any = !self.rows.is_empty();
        match action {
            Action::Down | Action::Up | Action::First | Action::Last => any,
            Action::HalfDown | Action::HalfUp => any,
            Action::Open | Action::Describe => any && !self.inside,
            Action::NextPane | Action::PreviousPane => any,
            Action::NextTab | Action::PreviousTab => any,
            Action::Filter => true,
            Action::NextHit | Action::PreviousHit => self.inside && self.reader().has_hits(),
            Action::Sort | Action::Invert => !self.inside && any,
            Action::Follow => self.tab == Tab::Log && any,
            Action::Wrap => self.inside,
            Action::Copy | Action::Logs => any,
            Action::Reconnect => self
                .server()
                .is_some_and(|server| server.state != ServerState::Disabled),
            Action::Probe => self.server().is_some_and(|server| server.state.is_up()),
            Action::Authorize => self.server().is_some_and(|server| asks_who(server)),
            Action::Accept => self.server().is_some_and(|server| !server.held.is_empty()),
            Action::Toggle => self
                .server()
                .is_some_and(|server| server.state != ServerState::Stopped),
            Action::Back => self.inside,
            _ => false,
        }
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        match action {
            Action::Open | Action::Describe => self.inside = true,
            Action::NextPane | Action::PreviousPane => self.inside = !self.inside,
            Action::Back if !self.reader().search().is_empty() => self.reader_mut().set_search(""),
            Action::Back => self.inside = false,
            Action::NextTab => self.tab = self.tab.step(true),
            Action::PreviousTab => self.tab = self.tab.step(false),
            Action::NextHit => self.reader_mut().step_hit(true),
            Action::PreviousHit => self.reader_mut().step_hit(false),
            Action::Follow => self.reader_mut().toggle_follow(),
            Action::Wrap => self.reader_mut().toggle_wrap(),
            Action::Sort => self.next_sort(),
            Action::Invert => self.inverted = !self.inverted,
            Action::Reconnect => self.order(ServerOrder::Reconnect, shared),
            Action::Probe => self.order(ServerOrder::Probe, shared),
            Action::Authorize => {
                let Some(server) = self.server() else { return };
                let (source, name) = (Arc::clone(&server.source), Arc::clone(&server.name));
                shared.say(format!("asking {name} where it is authorized"));
                shared.order_authorize(&source, &name);
            }
            Action::Accept => {
                if let Some(server) = self.server() {
                    shared.request(accept(server));
                }
            }
            Action::Toggle => self.toggle(shared),
            Action::Logs => {
                if let Some(row) = self.row() {
                    shared.request(Request::Logs(row.key.owner()));
                }
            }
            moving if self.inside => self.reader_mut().move_by(moving),
            moving => self.roster.move_by(moving),
        }
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let [list, evidence] = pane::list_and_evidence(shared, area, !self.inside);
        if !list.is_empty() {
            self.view_list(shared, frame, list);
        }
        if !evidence.is_empty() {
            self.view_evidence(shared, frame, evidence);
        }
    }

    fn wants_attention(&self, shared: &Shared) -> bool {
        let bad = |server: &Arc<ServerStatus>| {
            matches!(rows::health(server.state), Health::Bad | Health::Warning)
        };
        shared.newest().servers.iter().any(bad)
    }

    fn depth(&self) -> usize {
        usize::from(self.inside)
    }

    fn filter(&self) -> &str {
        match self.inside {
            true => self.reader().search(),
            false => &self.filter,
        }
    }

    fn set_filter(&mut self, text: &str, _: &Shared) {
        match self.inside {
            true => self.reader_mut().set_search(text),
            false => text.clone_into(&mut self.filter),
        }
    }

    fn visit(&mut self, subject: &Subject, shared: &Shared) {
        if let Subject::Server(source, name) = subject {
            // A filter may hide what was asked for.
            self.filter.clear();
            let mut rows = rows(shared.snapshot());
            arrange(&mut rows, "", self.sort, self.inverted);
            self.roster
                .set_keys(rows.iter().map(|row| row.key.clone()).collect());
            self.rows = rows;
            self.roster
                .select(&Key::Server(Arc::clone(source), Arc::clone(name)));
            self.tab = Tab::Evidence;
        }
    }

    fn copy(&self, shared: &Shared) -> Option<Copied> {
        let row = self.row()?;
        let failed = row
            .server
            .as_ref()
            .and_then(|server| Some((server, server.last_error.as_ref()?)));
        if self.tab == Tab::Evidence
            && let Some((server, failure)) = failed
        {
            return Some(Copied {
                what: format!("the failure card of {}", row.name),
                text: card::card_text(server, failure, &shared.options.zone),
            });
        }
        let lines = self.lines(shared, 80);
        let lines: Vec<_> = lines.iter().map(plain).collect();
        Some(Copied {
            what: format!("the {} of {}", self.tab.title(), row.name),
            text: lines.join("\n") + "\n",
        })
    }
}
