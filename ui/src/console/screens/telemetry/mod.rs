//! The screen Telemetry: the chain and what it does, counts and latencies by tool, source and session,
//! the way of single calls through the layers, and what waits for an approval.

mod approvals;
mod chain;
pub(crate) mod export;
mod keys;
mod named;
mod plot;
mod prompt;
mod waterfall;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use tokio::time::Instant;
use toolcrib::middleware::PendingApproval;
use toolcrib::observe::{CallRecord, Load, MeterMap, Snapshot, Window};
use toolcrib::tool::CallId;

use self::named::Sort;
use self::prompt::{Prompt, Typed};
use super::{Copied, Screen};
use crate::console::figures;
use crate::console::grid::{Column, Table};
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::reader::{Reader, plain};
use crate::console::roster::Roster;
use crate::console::shared::{Breadth, Deed, Request, Shared};
use crate::console::subtabs;
use crate::console::theme::Health;
use crate::text::clean_name;

pub(super) use approvals::sure;
pub(crate) use chain::faults;

/// How long an order of names stands before it is worked out anew, so that a list does not jump.
const STEADY: std::time::Duration = std::time::Duration::from_secs(1);

/// What the list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Chain,
    Tools,
    Sources,
    Sessions,
    Calls,
    Approvals,
}

impl View {
    const ALL: [Self; 6] = [
        Self::Chain,
        Self::Tools,
        Self::Sources,
        Self::Sessions,
        Self::Calls,
        Self::Approvals,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Tools => "tools",
            Self::Sources => "sources",
            Self::Sessions => "sessions",
            Self::Calls => "calls",
            Self::Approvals => "approvals",
        }
    }

    fn number(self) -> usize {
        Self::ALL.iter().position(|view| *view == self).unwrap_or(0)
    }

    fn step(self, forward: bool) -> Self {
        let count = Self::ALL.len();
        Self::ALL[(self.number() + if forward { 1 } else { count - 1 }) % count]
    }

    /// Whether its rows are names that are counted.
    fn is_named(self) -> bool {
        matches!(self, Self::Tools | Self::Sources | Self::Sessions)
    }
}

/// What an order of names depends on.
#[derive(Clone, Debug, PartialEq)]
struct Ordered {
    view: View,
    window: Window,
    sort: Sort,
    inverted: bool,
    filter: String,
}

/// The screen Telemetry.
#[derive(Debug)]
pub(crate) struct Telemetry {
    view: View,
    window: Window,
    sort: Sort,
    inverted: bool,
    filter: String,
    /// Whether the evidence has the focus.
    inside: bool,
    /// The rows of each view by identity.
    rosters: [Roster<Arc<str>>; 6],
    ordered: Option<(Ordered, Instant)>,
    reader: Reader,
    /// The row that the reader stands in; another one starts at its top.
    read: Option<(View, Arc<str>)>,
    prompt: Option<Prompt>,
    /// A call that was asked for and is selected once it is seen.
    wanted: Option<Arc<str>>,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            view: View::default(),
            window: Window::default(),
            sort: Sort::default(),
            inverted: false,
            filter: String::new(),
            inside: false,
            rosters: Default::default(),
            ordered: None,
            reader: Reader::wrapping(),
            read: None,
            prompt: None,
            wanted: None,
        }
    }
}

impl Telemetry {
    /// Shows the way of a call through the layers.
    pub(crate) fn show_call(&mut self, id: &CallId) {
        self.show(View::Calls);
        self.wanted = Some(id.as_str().into());
        self.filter.clear();
    }

    /// Shows what waits for an approval.
    pub(crate) fn show_approvals(&mut self) {
        self.show(View::Approvals);
    }

    fn show(&mut self, view: View) {
        if self.view != view {
            self.filter.clear();
            self.reader.set_search("");
        }
        self.view = view;
        self.inside = false;
    }

    fn roster(&self) -> &Roster<Arc<str>> {
        &self.rosters[self.view.number()]
    }

    fn roster_mut(&mut self) -> &mut Roster<Arc<str>> {
        &mut self.rosters[self.view.number()]
    }

    fn selected(&self) -> Option<&Arc<str>> {
        self.roster().selected()
    }

    /// What is counted for the names of the view, and what of it is under way.
    fn counted<'s>(
        &self,
        snapshot: &'s Snapshot,
    ) -> Option<(&'s MeterMap, &'s BTreeMap<Arc<str>, Load>)> {
        let (meters, busy) = (&snapshot.stats.meters, &snapshot.stats.busy);
        match self.view {
            View::Tools => Some((&meters.tools, &busy.tools)),
            View::Sources => Some((&meters.owners, &busy.owners)),
            View::Sessions => Some((&meters.sessions, &busy.sessions)),
            View::Chain | View::Calls | View::Approvals => None,
        }
    }

    fn record<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Arc<CallRecord>> {
        let id = self.selected().filter(|_| self.view == View::Calls)?;
        let mut history = snapshot.history.iter();
        history.find(|record| record.id.as_str() == &**id)
    }

    /// The selected question; always of the newest snapshot, since an answer to an older one would
    /// come too late.
    fn question<'s>(&self, shared: &'s Shared) -> Option<&'s Arc<PendingApproval>> {
        let id = self.selected().filter(|_| self.view == View::Approvals)?;
        let mut open = shared.newest().approvals.iter();
        open.find(|asked| approvals::key(asked) == *id)
    }

    /// The keys of the view's rows, or `None` when they need not be worked out again.
    fn keys(&mut self, shared: &Shared) -> Option<Vec<Arc<str>>> {
        let snapshot = shared.snapshot();
        if let Some((map, _)) = self.counted(snapshot) {
            let wanted = Ordered {
                view: self.view,
                window: self.window,
                sort: self.sort,
                inverted: self.inverted,
                filter: self.filter.clone(),
            };
            let now = shared.now().at;
            let steady = self.ordered.as_ref().is_some_and(|(ordered, at)| {
                *ordered == wanted && now.saturating_duration_since(*at) < STEADY && *at <= now
            });
            if steady {
                return None;
            }
            let (sort, age) = (self.sort, snapshot.age_at(now));
            let keys = named::order(map, &self.filter, sort, self.inverted, self.window, age);
            self.ordered = Some((wanted, now));
            return Some(keys);
        }
        Some(match self.view {
            View::Chain => chain::rows(snapshot).into_iter().map(Into::into).collect(),
            View::Approvals => shared
                .newest()
                .approvals
                .iter()
                .map(|a| approvals::key(a))
                .collect(),
            _ => {
                let wanted = self.filter.to_lowercase();
                let matches = |record: &&Arc<CallRecord>| {
                    let kind = record.error_kind.map_or("ok", |kind| kind.as_str());
                    wanted.is_empty()
                        || record.tool.to_lowercase().contains(&wanted)
                        || record.id.as_str().contains(&wanted)
                        || kind.contains(&wanted)
                };
                let history = snapshot.history.iter().filter(matches);
                history.map(|record| record.id.as_str().into()).collect()
            }
        })
    }

    fn lines(&self, shared: &Shared, width: u16) -> Vec<Line<'static>> {
        let snapshot = shared.snapshot();
        let width = usize::from(width);
        let Some(name) = self.selected() else {
            return Vec::new();
        };
        if let Some((map, busy)) = self.counted(snapshot) {
            let load = named::load(busy, name);
            return map.get(name).map_or_else(Vec::new, |meter| {
                named::evidence(meter, load, self.window, shared, width)
            });
        }
        match self.view {
            View::Chain => chain::evidence(name, self.window, shared, width),
            View::Calls => self
                .record(snapshot)
                .map_or_else(Vec::new, |record| waterfall::lines(record, shared, width)),
            _ => self
                .question(shared)
                .map_or_else(Vec::new, |asked| approvals::evidence(asked, shared, width)),
        }
    }

    fn columns(&self) -> &'static [Column] {
        match self.view {
            View::Chain => &chain::COLUMNS,
            View::Calls => &approvals::CALL_COLUMNS,
            View::Approvals => &approvals::COLUMNS,
            _ => &named::COLUMNS,
        }
    }

    fn cells(&self, name: &Arc<str>, row: usize, shared: &Shared) -> Vec<(String, Style)> {
        let theme = shared.theme;
        let snapshot = shared.snapshot();
        let age = snapshot.age_at(shared.now().at);
        if let Some((map, busy)) = self.counted(snapshot) {
            let tally = map.get(name).map(|meter| meter.tally(self.window, age));
            let load = named::load(busy, name);
            return named::cells(name, &tally.unwrap_or_default(), load, theme);
        }
        match self.view {
            View::Chain => chain::cells(name, snapshot, self.window, age, theme),
            View::Calls => {
                // Without a filter a row's place is its place in the history.
                let mut history = snapshot.history.iter();
                let at = snapshot
                    .history
                    .get(row)
                    .filter(|record| record.id.as_str() == &**name);
                at.or_else(|| history.find(|record| record.id.as_str() == &**name))
                    .map_or_else(Vec::new, |record| approvals::call_cells(record, shared))
            }
            _ => {
                let mut open = shared.newest().approvals.iter();
                open.find(|asked| approvals::key(asked) == *name)
                    .map_or_else(Vec::new, |asked| approvals::cells(asked, shared))
            }
        }
    }

    /// List and evidence. A chain with its settings needs more room than a list of names, and a
    /// waterfall more than the list of calls.
    fn areas(&self, shared: &Shared, area: Rect) -> [Rect; 2] {
        let wide = shared.breadth() == Breadth::Wide && !shared.zoomed;
        let list = match self.view {
            View::Chain if wide => 62,
            View::Calls if wide => 38,
            _ => return pane::list_and_evidence(shared, area, !self.inside),
        };
        Layout::horizontal([Constraint::Percentage(list), Constraint::Min(0)]).areas(area)
    }

    /// What an empty list says.
    fn nothing(&self, snapshot: &Snapshot) -> &'static str {
        if !self.filter.is_empty() {
            return "nothing matches; esc takes the filter back";
        }
        match self.view {
            View::Chain => {
                "this assembly has no chain; `impl: middleware` with `middlewares` puts one before its tools"
            }
            View::Sessions => "no session is open that has called a tool",
            View::Approvals => match chain::layer(snapshot, "approval") {
                Some(_) => "nothing waits for your approval",
                None => "the chain has no layer `approval`: calls run without being asked about",
            },
            View::Calls => "no call has ended yet; 3 shows the tools, c calls one",
            _ if named::is_idle(snapshot) => {
                "no call has ended yet; 3 shows the tools, c calls one"
            }
            _ => "nothing was counted yet",
        }
    }

    fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let roster = self.roster();
        let count = roster.keys().len();
        let title = match self.filter.is_empty() {
            true => format!("Telemetry: {}", self.view.title()),
            false => format!(
                "Telemetry: {} matching {:?}, {count}",
                self.view.title(),
                self.filter
            ),
        };
        let inner = pane::frame(shared, frame, area, &title, !self.inside);
        let [tabs, rows] = split(inner);
        let titles = View::ALL.map(|view| view.title());
        let place = match self.view {
            View::Calls | View::Approvals => String::new(),
            _ => self.window.as_str().to_owned(),
        };
        let width = usize::from(tabs.width);
        let line = subtabs::line(&titles, self.view.title(), Some(&place), width, theme);
        frame.render_widget(line, tabs);
        let sorted = self
            .view
            .is_named()
            .then(|| (self.sort.column(), self.sort.descends() != self.inverted));
        let table = Table {
            columns: self.columns(),
            sorted,
            empty: self.nothing(shared.snapshot()),
            rows: count,
            window: roster.window(),
            selected: roster.selected().map(|_| (roster.position(), !self.inside)),
        };
        table.view(theme, frame, rows, |at, _| {
            Some(self.cells(roster.keys().get(at)?, at, shared))
        });
    }

    fn view_evidence(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let name = match (self.view, self.selected()) {
            (_, None) => "nothing selected".into(),
            (View::Calls, _) => self
                .record(shared.snapshot())
                .map_or_else(|| "gone".into(), |record| Arc::clone(&record.tool)),
            (View::Approvals, _) => self
                .question(shared)
                .map_or_else(|| "answered".into(), |asked| Arc::clone(&asked.tool)),
            (View::Chain, Some(name)) if **name == *chain::TOOL => "the tool".into(),
            (_, Some(name)) => Arc::clone(name),
        };
        let mut title = clean_name(&name, shared.theme.marks).into_owned();
        if let Some(place) = self.reader.place() {
            title = format!("{title} {place}");
        }
        let inner = pane::frame(shared, frame, area, &title, self.inside);
        let lines = self.lines(shared, inner.width);
        self.reader.view(&lines, shared.theme, frame, inner);
    }
}

/// The line of sub-tabs and the rows below it.
fn split(inner: Rect) -> [Rect; 2] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner)
}

impl Screen for Telemetry {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        if let Some(keys) = self.keys(shared) {
            self.roster_mut().set_keys(keys);
        }
        if let Some(wanted) = self.wanted.take()
            && self.view == View::Calls
            && !self.roster_mut().select(&wanted)
            && shared.newest().history.len() < 1_000
        {
            // It may have ended a moment ago and come with the next snapshot.
            self.wanted = Some(wanted);
        }
        let [list, evidence] = self.areas(shared, area);
        let [_, rows] = split(pane::inside(shared, list));
        self.roster_mut()
            .settle(usize::from(rows.height).saturating_sub(1));
        let now = self.selected().map(|name| (self.view, Arc::clone(name)));
        if self.read != now {
            self.read = now;
            self.reader.first();
        }
        let inner = pane::inside(shared, evidence);
        let lines = self.lines(shared, inner.width);
        self.reader.settle(&lines, inner, shared.theme);
    }

    fn can(&self, action: Action, shared: &Shared) -> bool {
        keys::can(self, action, shared)
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        keys::act(self, action, shared);
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let [list, evidence] = self.areas(shared, area);
        if !list.is_empty() {
            self.view_list(shared, frame, list);
        }
        if !evidence.is_empty() {
            self.view_evidence(shared, frame, evidence);
        }
        if let Some(prompt) = &self.prompt {
            prompt.view(shared, frame, area);
        }
    }

    fn wants_attention(&self, shared: &Shared) -> bool {
        let newest = shared.newest();
        let bad = |layer| chain::state(layer).0 == Health::Bad;
        !newest.approvals.is_empty() || newest.layers.iter().any(bad)
    }

    fn depth(&self) -> usize {
        usize::from(self.inside)
    }

    fn filter(&self) -> &str {
        match self.inside {
            true => self.reader.search(),
            false => &self.filter,
        }
    }

    fn set_filter(&mut self, text: &str, _: &Shared) {
        match self.inside {
            true => self.reader.set_search(text),
            false => text.clone_into(&mut self.filter),
        }
    }

    fn takes_keys(&self) -> bool {
        self.prompt.is_some()
    }

    fn key(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let Some(prompt) = &mut self.prompt else {
            return false;
        };
        match prompt.key(key) {
            Typed::Goes => {}
            Typed::Left => self.prompt = None,
            Typed::Done(wanted) => {
                self.prompt = None;
                let done = format!("`{}` was changed", wanted.layer);
                let deed = Deed::Layer(wanted.layer, wanted.order, done);
                shared.request(Request::Ask(wanted.question, deed));
            }
        }
        true
    }

    fn paste(&mut self, text: &str, _: &mut Shared) {
        if let Some(prompt) = &mut self.prompt {
            prompt.paste(text);
        }
    }

    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        &[("enter", "go on"), ("esc", "leave")]
    }

    fn copy(&self, shared: &Shared) -> Option<Copied> {
        let name = self.selected()?;
        if self.view == View::Chain
            && **name == *"audit"
            && let Some(file) = export::audit_file(shared.snapshot())
        {
            return Some(Copied {
                what: "the path of the audit log".into(),
                text: file.to_owned(),
            });
        }
        let lines = self.lines(shared, 100);
        let text: Vec<_> = lines.iter().map(plain).collect();
        let what = match self.view {
            View::Calls => "the waterfall".to_owned(),
            View::Approvals => "the question".to_owned(),
            _ => format!("the figures of {}", clean_name(name, shared.theme.marks)),
        };
        Some(Copied {
            what,
            text: text.join("\n"),
        })
    }
}

/// The age of something, for a cell.
fn age_cell(at: toolcrib::clock::Stamp, shared: &Shared) -> String {
    figures::age(at.age(shared.now().at))
}
