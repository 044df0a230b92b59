//! The screen Tools: every tool of the registry, those refused among them, with what there is to
//! know about the selected one.

mod changes;
mod detail;
mod list;
mod shelves;
mod table;

pub(super) use changes::compared;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Paragraph, Wrap};
use toolcrib::discovery::{Mode, TOOL_SEARCH};
use toolcrib::observe::{Snapshot, Subject, Table, Tally, ToolRow};

use self::detail::{Detail, Tab};
use self::list::{At, Key, Sort};
use self::shelves::{List, Shelves};
use super::{Copied, Screen};
use crate::console::command::SessionCommand;
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::roster::Roster;
use crate::console::shared::{Breadth, Deed, Request, Shared};
use crate::console::subtabs;

/// The screen Tools.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    rows: Vec<At>,
    roster: Roster<Key>,
    /// What `rows` was worked out from.
    seen: Option<Seen>,
    filter: String,
    sort: Sort,
    inverted: bool,
    /// Which of the lists is shown.
    which: List,
    shelves: Shelves,
    tab: Tab,
    /// Whether the evidence has the focus.
    inside: bool,
    detail: Option<Detail>,
    /// The search of the evidence.
    search: String,
    /// How often the rows were worked out, for a test.
    sifted: usize,
}

/// The parts of a snapshot that the order of the rows depends on.
#[derive(Debug)]
struct Seen {
    tools: Arc<[ToolRow]>,
    refusals: Arc<[toolcrib::registry::Refusal]>,
    stats: Table<Tally>,
}

impl Tools {
    /// Works the rows out again.
    fn sift(&mut self, snapshot: &Snapshot) {
        let rows = list::order(snapshot, &self.filter, self.sort, self.inverted);
        let (keys, rows) = rows.into_iter().unzip();
        self.rows = rows;
        self.sifted += 1;
        self.roster.set_keys(keys);
        self.seen = Some(Seen {
            tools: Arc::clone(&snapshot.tools),
            refusals: Arc::clone(&snapshot.refusals),
            stats: snapshot.stats.tools.clone(),
        });
    }

    fn is_stale(&self, snapshot: &Snapshot) -> bool {
        self.seen.as_ref().is_none_or(|seen| {
            !Arc::ptr_eq(&seen.tools, &snapshot.tools)
                || !Arc::ptr_eq(&seen.refusals, &snapshot.refusals)
                || (self.sort.counts() && !seen.stats.is(&snapshot.stats.tools))
        })
    }

    /// What is left of the list's pane below the names of the lists, where there are several.
    fn below_tabs(shared: &Shared, inner: Rect) -> Rect {
        match shared.snapshot().shelves.is_empty() {
            true => inner,
            false => subtabs::below(inner),
        }
    }

    /// Names the lists, where there are several.
    fn view_tabs(&self, shared: &Shared, frame: &mut Frame<'_>, inner: Rect) {
        let snapshot = shared.snapshot();
        if snapshot.shelves.is_empty() {
            return;
        }
        let width = usize::from(inner.width);
        let line = shelves::tabs(self.which, snapshot, width, shared.theme);
        let first = Rect {
            height: inner.height.min(1),
            ..inner
        };
        frame.render_widget(line, first);
    }

    /// Whether one of the lists of skill files is shown.
    fn on_shelves(&self) -> bool {
        self.which != List::Tools
    }

    /// As [`Screen::act`], on a list of skill files.
    fn act_on_shelves(&mut self, action: Action, shared: &mut Shared) {
        match action {
            Action::NextPane | Action::PreviousPane => self.inside = !self.inside,
            Action::Open | Action::Describe => self.inside = true,
            Action::Back => self.inside = false,
            Action::NextTab | Action::PreviousTab => {
                self.which = self.which.step(action == Action::NextTab);
                self.inside = false;
            }
            Action::Wrap => self.shelves.reader().toggle_wrap(),
            Action::NextHit | Action::PreviousHit => {
                self.shelves.reader().step_hit(action == Action::NextHit);
            }
            Action::Logs => {
                if let Some(owner) = self.shelves.owner() {
                    shared.request(Request::Logs(owner));
                }
            }
            other if self.inside => self.shelves.reader().move_by(other),
            other => self.shelves.roster().move_by(other),
        }
    }

    /// As [`Screen::can`], on a list of skill files.
    fn can_on_shelves(&self, action: Action) -> bool {
        let any = !self.shelves.is_empty();
        match action {
            Action::Down
            | Action::Up
            | Action::First
            | Action::Last
            | Action::HalfDown
            | Action::HalfUp
            | Action::NextPane
            | Action::PreviousPane
            | Action::Copy
            | Action::Logs => any,
            Action::Open | Action::Describe => any && !self.inside,
            Action::Filter | Action::NextTab | Action::PreviousTab => true,
            Action::Wrap => any && self.inside,
            Action::NextHit | Action::PreviousHit => {
                self.inside && !self.shelves.search().is_empty()
            }
            _ => false,
        }
    }

    fn selected(&self) -> Option<At> {
        self.rows.get(self.roster.position()).copied()
    }

    fn selected_tool<'s>(&self, shared: &'s Shared) -> Option<&'s ToolRow> {
        match self.selected()? {
            At::Tool(number) => shared.snapshot().tools.get(number),
            At::Refusal(_) => None,
        }
    }

    fn areas(&self, shared: &Shared, area: Rect) -> [Rect; 2] {
        let [list, evidence] = pane::list_and_evidence(shared, area, !self.inside);
        if shared.breadth() != Breadth::Wide || list.is_empty() || evidence.is_empty() {
            return [list, evidence];
        }
        // The list has more columns than others.
        let halves = [Constraint::Percentage(50), Constraint::Percentage(50)];
        Layout::horizontal(halves).areas(area)
    }

    fn view_detail(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        if self.on_shelves() {
            let title = self.shelves.title(theme);
            let inner = pane::frame(shared, frame, area, &title, self.inside);
            if let Some(place) = self.shelves.place() {
                let first = Rect {
                    height: inner.height.min(1),
                    ..inner
                };
                let place = ratatui::text::Line::styled(place, theme.dim()).right_aligned();
                frame.render_widget(place, first);
            }
            let below = subtabs::below(inner);
            self.shelves.view_evidence(theme, frame, below);
            return;
        }
        let title = match self.roster.selected() {
            Some(Key::Tool(name) | Key::Refused(name, _)) => name.to_string(),
            None => "no tool".to_owned(),
        };
        let inner = pane::frame(shared, frame, area, &title, self.inside);
        match self.selected() {
            Some(At::Refusal(number)) => {
                if let Some(refusal) = shared.snapshot().refusals.get(number) {
                    let lines = detail::refused(refusal, theme);
                    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), inner);
                }
            }
            Some(At::Tool(_)) => {
                if let Some(detail) = &self.detail {
                    let tabs = Tab::all(detail.has_request());
                    let titles: Vec<&str> = tabs.into_iter().map(Tab::title).collect();
                    let place = match self.tab {
                        Tab::About | Tab::Request | Tab::Changes => detail.reader.place(),
                        Tab::Wire => detail.wire.place(),
                        Tab::Schema => None,
                    };
                    let tabs = subtabs::line(
                        &titles,
                        self.tab.title(),
                        place.as_deref(),
                        usize::from(inner.width),
                        theme,
                    );
                    frame.render_widget(
                        tabs,
                        Rect {
                            height: inner.height.min(1),
                            ..inner
                        },
                    );
                    detail.view(self.tab, self.inside, theme, frame, subtabs::below(inner));
                }
            }
            None => {}
        }
    }

    /// Lets the operator choose how the selected tool comes into view.
    fn choose_exposure(&self, shared: &mut Shared) {
        let Some(tool) = self.selected_tool(shared) else {
            return;
        };
        let shown = tool.definition.shared_name();
        let name = shared.real_tool_name(&shown);
        let (now, stated) = (tool.exposure, tool.exposure_overruled);
        let modes = [
            ('a', Mode::Always, "always: in every round that it fits"),
            (
                'd',
                Mode::Direct,
                "direct: by search or when required; wins ties",
            ),
            ('f', Mode::Deferred, "deferred: by search or when required"),
            ('h', Mode::Hidden, "hidden: only when required"),
        ];
        let deed = |mode| Deed::Session(SessionCommand::Expose(Arc::clone(&name), mode));
        let mut options: Vec<(char, String, Deed)> = modes
            .into_iter()
            .map(|(key, mode, words)| {
                let is = if mode == now { "  (now)" } else { "" };
                (key, format!("{words}{is}"), deed(Some(mode)))
            })
            .collect();
        if let Some(stated) = stated {
            let words = format!("as the deployment says: {}", stated.as_str());
            options.push(('r', words, deed(None)));
        }
        let title = format!("Exposure of {shown}, in this process only");
        shared.request(Request::Choose(title, options));
    }

    /// Moves what has the focus.
    fn travel(&mut self, action: Action) {
        let Some(detail) = self.detail.as_mut().filter(|_| self.inside) else {
            self.roster.move_by(action);
            return;
        };
        let half = match self.tab {
            Tab::About | Tab::Request | Tab::Changes => detail.reader.half_page(),
            Tab::Schema => detail.schema.half_page(),
            Tab::Wire => detail.wire.half_page(),
        };
        let rows = match action {
            Action::Down => 1,
            Action::Up => -1,
            Action::HalfDown => half,
            Action::HalfUp => -half,
            Action::First => isize::MIN,
            _ => isize::MAX,
        };
        match self.tab {
            Tab::About | Tab::Request | Tab::Changes => detail.reader.scroll(rows),
            Tab::Schema => detail.schema.tree.step(rows),
            Tab::Wire => detail.wire.scroll(rows),
        }
    }

    /// Whether `/` edits the search of the evidence instead of the filter of the list.
    fn searches(&self) -> bool {
        self.inside && self.detail.is_some() && self.tab != Tab::Schema
    }

    fn search_again(&mut self) {
        let Some(detail) = &mut self.detail else {
            return;
        };
        match self.tab {
            Tab::Wire => detail.wire.set_search(&self.search),
            Tab::About | Tab::Request | Tab::Changes => {
                detail.reader.set_search(&self.search);
                detail.reader.show_hit();
            }
            Tab::Schema => {}
        }
    }
}

impl Screen for Tools {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        let snapshot = Arc::clone(shared.snapshot());
        if self.is_stale(&snapshot) {
            self.sift(&snapshot);
        }
        let [list, evidence] = self.areas(shared, area);
        let below = Self::below_tabs(shared, pane::inside(shared, list));
        let rows = below.height.saturating_sub(1);
        self.roster.settle(usize::from(rows));
        if snapshot.shelves.is_empty() {
            self.which = List::Tools;
        }
        if self.on_shelves() {
            let inner = subtabs::below(pane::inside(shared, evidence));
            self.shelves.refresh(self.which, shared, rows, inner);
        }
        let Some(shown) = self.selected_tool(shared) else {
            self.detail = None;
            return;
        };
        let came = shared.tool_as_it_came(shown);
        let is_same = self
            .detail
            .as_ref()
            .is_some_and(|detail| detail.is_of(&came));
        if !is_same {
            self.detail = Some(Detail::new(came, shared));
            self.search.clear();
        }
        if let Some(detail) = &mut self.detail {
            let inner = pane::inside(shared, evidence);
            if self.tab == Tab::Request && !detail.has_request() {
                self.tab = Tab::About;
            }
            detail.settle(shown, self.tab, shared, subtabs::below(inner));
        }
    }

    fn can(&self, action: Action, shared: &Shared) -> bool {
        if self.on_shelves() {
            return self.can_on_shelves(action);
        }
        let lists = !shared.snapshot().shelves.is_empty() && !self.inside;
        let any = !self.rows.is_empty();
        let in_text = self.inside && self.detail.is_some() && self.tab != Tab::Schema;
        match action {
            Action::Down | Action::Up | Action::First | Action::Last => any,
            Action::HalfDown | Action::HalfUp | Action::NextPane | Action::PreviousPane => any,
            Action::Open | Action::Describe => {
                any && (!self.inside || (self.tab == Tab::Schema && self.detail.is_some()))
            }
            Action::Filter => true,
            Action::Sort | Action::Invert => any && !self.inside,
            Action::NextTab | Action::PreviousTab => lists || self.detail.is_some(),
            Action::Call => self.selected_tool(shared).is_some(),
            Action::Exposure => {
                let tool = self.selected_tool(shared);
                shared.snapshot().assembly.dynamic
                    && tool.is_some_and(|tool| tool.definition.name() != TOOL_SEARCH)
            }
            Action::Why => {
                !shared.snapshot().sessions.is_empty() && self.selected_tool(shared).is_some()
            }
            Action::Copy | Action::Logs => any,
            Action::Wrap => in_text,
            Action::NextHit | Action::PreviousHit => in_text && !self.search.is_empty(),
            _ => false,
        }
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        if self.on_shelves() {
            return self.act_on_shelves(action, shared);
        }
        let lists = !shared.snapshot().shelves.is_empty() && !self.inside;
        match action {
            Action::Down
            | Action::Up
            | Action::HalfDown
            | Action::HalfUp
            | Action::First
            | Action::Last => self.travel(action),
            Action::NextPane | Action::PreviousPane => self.inside = !self.inside,
            Action::Open | Action::Describe if !self.inside => {
                self.inside = true;
                if action == Action::Describe {
                    self.tab = Tab::About;
                }
            }
            Action::Open => {
                if let Some(detail) = &mut self.detail {
                    detail.schema.tree.toggle();
                }
            }
            Action::Back => self.inside = false,
            // Where there are several lists, the keys act on what has the focus.
            Action::NextTab | Action::PreviousTab if lists => {
                self.which = self.which.step(action == Action::NextTab);
            }
            Action::NextTab | Action::PreviousTab => {
                let has_request = self.detail.as_ref().is_some_and(Detail::has_request);
                self.tab = self.tab.step(action == Action::NextTab, has_request);
            }
            Action::Sort => {
                self.sort = self.sort.next();
                self.inverted = false;
                self.seen = None;
            }
            Action::Invert => {
                self.inverted = !self.inverted;
                self.seen = None;
            }
            Action::Wrap => {
                if let Some(detail) = &mut self.detail {
                    match self.tab {
                        Tab::Wire => detail.wire.toggle_wrap(),
                        _ => detail.reader.toggle_wrap(),
                    }
                }
            }
            Action::NextHit | Action::PreviousHit => {
                let forward = action == Action::NextHit;
                if let Some(detail) = &mut self.detail {
                    match self.tab {
                        Tab::Wire => detail.wire.step_hit(forward),
                        _ => detail.reader.step_hit(forward),
                    }
                }
            }
            Action::Why => {
                if let Some(tool) = self.selected_tool(shared) {
                    let name = tool.definition.shared_name();
                    shared.request(Request::Why(name));
                }
            }
            Action::Call => {
                if let Some(tool) = self.selected_tool(shared) {
                    let name = tool.definition.shared_name();
                    shared.request(Request::Call(name));
                }
            }
            Action::Exposure => self.choose_exposure(shared),
            Action::Logs => {
                let owner = match self.selected() {
                    Some(At::Tool(number)) => shared
                        .snapshot()
                        .tools
                        .get(number)
                        .map(|tool| tool.owner.to_string()),
                    Some(At::Refusal(number)) => shared
                        .snapshot()
                        .refusals
                        .get(number)
                        .map(|refusal| refusal.refused.to_string()),
                    None => None,
                };
                if let Some(owner) = owner {
                    shared.request(Request::Logs(owner.into()));
                }
            }
            _ => {}
        }
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let [list, evidence] = self.areas(shared, area);
        if !list.is_empty() {
            self.view_list(shared, frame, list);
        }
        if !evidence.is_empty() {
            self.view_detail(shared, frame, evidence);
        }
    }

    fn wants_attention(&self, shared: &Shared) -> bool {
        let snapshot = shared.snapshot();
        !snapshot.refusals.is_empty() || snapshot.tools.iter().any(|tool| tool.changed)
    }

    fn depth(&self) -> usize {
        usize::from(self.inside)
    }

    fn filter(&self) -> &str {
        match (self.on_shelves(), self.inside) {
            (true, true) => self.shelves.search(),
            (true, false) => self.shelves.filter(),
            (false, _) if self.searches() => &self.search,
            (false, _) => &self.filter,
        }
    }

    fn set_filter(&mut self, text: &str, _: &Shared) {
        if self.on_shelves() {
            match self.inside {
                true => self.shelves.reader().set_search(text),
                false => self.shelves.set_filter(text),
            }
        } else if self.searches() {
            text.clone_into(&mut self.search);
            self.search_again();
        } else if self.filter != text {
            text.clone_into(&mut self.filter);
            self.seen = None;
        }
    }

    fn visit(&mut self, subject: &Subject, shared: &Shared) {
        let Subject::Tool(name) = subject else { return };
        self.which = List::Tools;
        if !self.filter.is_empty() {
            self.filter.clear();
            self.sift(shared.snapshot());
        }
        let keys = self.roster.keys();
        // What is told of a tool is mostly that another of its name was refused.
        let refused = keys
            .iter()
            .find(|key| matches!(key, Key::Refused(of, _) if of == name));
        let key = refused
            .cloned()
            .unwrap_or_else(|| Key::Tool(Arc::clone(name)));
        self.roster.select(&key);
    }

    fn copy(&self, shared: &Shared) -> Option<Copied> {
        if self.on_shelves() {
            let (what, text) = self.shelves.copied(self.inside)?;
            return Some(Copied { what, text });
        }
        let name = match self.roster.selected()? {
            Key::Tool(name) | Key::Refused(name, _) => shared.real_tool_name(name),
        };
        match &self.detail {
            Some(detail) if self.inside => Some(Copied {
                what: format!("the definition of {}", detail.tool().definition.name()),
                text: detail.wire_json().to_owned(),
            }),
            _ => Some(Copied {
                what: "the name".to_owned(),
                text: name.to_string(),
            }),
        }
    }
}

#[cfg(test)]
impl Tools {
    fn copy_name(&self, shared: &Shared) -> String {
        self.copy(shared).unwrap().text
    }

    fn visit_for_test(&mut self, subject: &Subject, shared: &Shared) {
        self.visit(subject, shared);
    }

    /// How often the rows were worked out.
    fn sifted(&self) -> usize {
        self.sifted
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod shelves_tests;
