//! The screen Sessions: which sessions there are, and of each, round by round, what its model was
//! sent and why, what was withheld, and how its pool changed. [`looked`] works out what is shown,
//! [`lens`] is the place for panes that answer questions about it.

mod areas;
mod deeds;
mod diff;
mod evidence;
mod explain;
mod head;
mod lens;
mod list;
mod looked;
mod prose;
mod sent;
mod table;
mod view;
mod what_if;
mod why;

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;
use toolcrib::observe::{Snapshot, Subject};
use toolcrib::session::{SessionId, SessionKind, SessionRow};

use self::diff::Difference;
use self::evidence::{Key, Tab};
use self::lens::{Lens, Sight};
use self::list::Sort;
use self::looked::Looked;
use self::table::Table;
use super::{Copied, Screen};
use crate::console::command::{Answer, OrderId};
use crate::console::keymap::Action;
use crate::console::roster::Roster;
use crate::console::shared::{Request, Shared};

/// What has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pane {
    /// The list of sessions.
    #[default]
    List,
    /// What the round sends, or what changed.
    Sent,
    /// The sub-tabs, or the lens in their place.
    Evidence,
}

/// Which rounds are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Compare {
    /// None.
    #[default]
    Off,
    /// The shown one with the one before it.
    Before,
    /// The shown one with this one.
    With(u32),
}

/// The screen Sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// The shown rows by their place in the snapshot.
    rows: Vec<usize>,
    roster: Roster<SessionId>,
    /// What `rows` was worked out from.
    seen: Option<Arc<[Arc<SessionRow>]>>,
    filter: String,
    sort: Sort,
    inverted: bool,
    pane: Pane,
    /// The round that is shown; without a number the newest is followed.
    round: Option<u32>,
    looked: Option<Looked>,
    sent: Table,
    compare: Compare,
    differences: Vec<Difference>,
    tab: Tab,
    tables: [Table; Tab::ALL.len()],
    /// Part of the names of the tools that are shown.
    tools: String,
    /// Whether the tables have to be made again although nothing else changed.
    stale: bool,
    lens: Option<Box<dyn Lens>>,
    /// The pane that the lens was opened on: what it tells of is selected there.
    asked_in: Pane,
    /// A session that was opened and is to be looked at once it is seen.
    wanted: Option<SessionId>,
}

impl Sessions {
    fn sift(&mut self, snapshot: &Snapshot) {
        self.rows = list::order(snapshot, &self.filter, self.sort, self.inverted);
        let id = |at: &usize| snapshot.sessions[*at].id;
        self.roster.set_keys(self.rows.iter().map(id).collect());
        self.seen = Some(Arc::clone(&snapshot.sessions));
    }

    fn selected<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Arc<SessionRow>> {
        snapshot
            .sessions
            .get(*self.rows.get(self.roster.position())?)
    }

    /// Brings what is looked at in line with the selection.
    fn look(&mut self, snapshot: &Snapshot) {
        let Some(row) = self.selected(snapshot) else {
            self.looked = None;
            self.pane = Pane::List;
            self.lens = None;
            return;
        };
        let before = self.looked.as_ref().map(|looked| looked.row().id);
        if before != Some(row.id) {
            self.forget();
        }
        let known = self.looked.as_ref();
        if self.stale || known.is_none_or(|looked| !looked.is_of(row, self.round)) {
            let looked = Looked::new(row, self.round);
            self.fill(&looked);
            self.looked = Some(looked);
            self.stale = false;
        }
    }

    /// Forgets what was shown of the session before.
    fn forget(&mut self) {
        self.round = None;
        self.compare = Compare::Off;
        self.tools.clear();
        self.lens = None;
        self.sent = Table::default();
        self.tables = Default::default();
    }

    /// Makes the tables of what is looked at.
    fn fill(&mut self, looked: &Looked) {
        let wanted = self.tools.to_lowercase();
        let holds = |name: &str| wanted.is_empty() || name.to_lowercase().contains(&wanted);
        self.differences = match self.base(looked) {
            Some(base) => diff::between(base, looked.record()),
            None => Vec::new(),
        };
        let lines = match self.compare {
            Compare::Off => {
                let sent = looked.record().visible.sent.iter().enumerate();
                sent.filter(|(_, sent)| holds(sent.name()))
                    .map(|(at, sent)| (Key::Tool(sent.definition.shared_name()), at))
                    .collect()
            }
            Compare::Before | Compare::With(_) => {
                let all = self.differences.iter().enumerate();
                all.filter(|(_, difference)| holds(&difference.name))
                    .map(|(at, difference)| {
                        let part = difference.place as usize;
                        (Key::Difference(part, Arc::clone(&difference.name)), at)
                    })
                    .collect()
            }
        };
        self.sent.set(lines);
        if !Tab::of(looked).contains(&self.tab) {
            self.tab = Tab::default();
        }
        let lines = evidence::keys(self.tab, looked, &holds);
        let table = &mut self.tables[self.tab as usize];
        match self.tab {
            Tab::Withheld | Tab::Pool | Tab::Scenario => table.set(lines),
            Tab::Ledger | Tab::Searches | Tab::Calls => table.set_newest_first(lines),
        }
    }

    /// The round that the shown one is compared with.
    fn base<'l>(
        &self,
        looked: &'l Looked,
    ) -> Option<&'l Arc<toolcrib::discovery::session::RoundRecord>> {
        match self.compare {
            Compare::Off => None,
            Compare::Before => looked.before(),
            Compare::With(number) => looked.row().round_at(number),
        }
    }

    /// What a lens may see.
    fn sight<'a>(&'a self, looked: &'a Looked, shared: &'a Shared) -> Sight<'a> {
        let pane = match self.lens {
            Some(_) => self.asked_in,
            None => self.pane,
        };
        self.sight_from(pane, looked, shared)
    }

    /// What a lens may see that was opened on this pane.
    fn sight_from<'a>(&'a self, pane: Pane, looked: &'a Looked, shared: &'a Shared) -> Sight<'a> {
        let in_tab = || {
            let key = self.tables[self.tab as usize].selected()?;
            evidence::tool_of(self.tab, looked, key)
        };
        let in_sent = || match self.sent.selected()? {
            Key::Tool(name) | Key::Difference(_, name) => Some(name),
            _ => None,
        };
        let tool = match pane {
            Pane::Evidence => in_tab().or_else(in_sent),
            Pane::List | Pane::Sent => in_sent(),
        };
        let search = match (self.tab, self.tables[self.tab as usize].selected()) {
            (Tab::Searches, Some(Key::Part(round, at, _))) => Some((*round, *at)),
            _ => looked.last_search(),
        };
        Sight {
            row: looked.row(),
            record: looked.record(),
            tool,
            search,
            shared,
        }
    }

    fn is_open(&self) -> bool {
        self.pane != Pane::List
    }

    fn travel(&mut self, action: Action) {
        match self.pane {
            Pane::List => self.roster.move_by(action),
            Pane::Sent => self.sent.travel(action),
            Pane::Evidence => self.tables[self.tab as usize].travel(action),
        }
    }

    /// Shows another round, as far as there are rounds.
    fn go_by(&mut self, rounds: i64) {
        let Some(looked) = &self.looked else { return };
        let row = looked.row();
        let wanted = i64::from(looked.record().round) + rounds;
        let wanted = wanted.clamp(row.oldest().into(), row.round().into());
        // Whoever comes to the newest round by hand follows from there.
        let wanted = u32::try_from(wanted).unwrap_or(row.round());
        self.round = (wanted != row.round()).then_some(wanted);
    }

    fn next_compare(&self) -> Compare {
        let shown = self.looked.as_ref().map(|looked| looked.record().round);
        match (self.compare, shown) {
            (Compare::Off, _) => Compare::Before,
            (Compare::Before, Some(shown)) => Compare::With(shown),
            _ => Compare::Off,
        }
    }

    fn open_lens(&mut self, action: Action, shared: &Shared) {
        let Some(looked) = &self.looked else { return };
        if let Some(lens) = lens::open(action, &self.sight(looked, shared)) {
            if self.lens.is_none() {
                self.asked_in = self.pane;
            }
            self.lens = Some(lens);
            self.pane = Pane::Evidence;
        }
    }

    /// Tells of a tool by its real name, in the selected session; nothing without one.
    pub(in crate::console) fn ask_why(&mut self, tool: Arc<str>) {
        if self.looked.is_some() {
            self.asked_in = Pane::Sent;
            self.lens = Some(Box::new(why::Why::of(tool)));
            self.pane = Pane::Evidence;
        }
    }

    fn lens_has_focus(&self) -> Option<&dyn Lens> {
        let focused = self.pane == Pane::Evidence;
        self.lens.as_deref().filter(|_| focused)
    }
}

impl Screen for Sessions {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        let snapshot = Arc::clone(shared.snapshot());
        let same = self
            .seen
            .as_ref()
            .is_some_and(|seen| Arc::ptr_eq(seen, &snapshot.sessions));
        if !same {
            self.sift(&snapshot);
        }
        if let Some(wanted) = self.wanted
            && self.roster.select(&wanted)
        {
            self.wanted = None;
            self.pane = Pane::Sent;
            let row = self.selected(&snapshot);
            if row.is_some_and(|row| row.kind == SessionKind::Scenario) {
                self.tab = Tab::Scenario;
            }
        }
        self.look(&snapshot);
        self.settle(shared, area);
    }

    fn can(&self, action: Action, shared: &Shared) -> bool {
        let any = !self.rows.is_empty();
        if let Some(lens) = self.lens_has_focus()
            && lens.can(action)
        {
            return true;
        }
        let open = self.is_open();
        let looked = self.looked.as_ref();
        let rounds = looked.map(|looked| (looked.record().round, looked.row()));
        match action {
            Action::Down | Action::Up | Action::First | Action::Last => any,
            Action::HalfDown | Action::HalfUp => any,
            Action::NextPane | Action::PreviousPane => any,
            Action::Open => any && !open,
            Action::Filter => any || !self.filter.is_empty(),
            Action::Sort | Action::Invert => any && !open,
            Action::NextTab | Action::PreviousTab => {
                any && (self.lens.is_none() || self.pane == Pane::Sent)
            }
            Action::RoundBack => rounds.is_some_and(|(shown, row)| shown > row.oldest()),
            Action::RoundOn => rounds.is_some_and(|(shown, row)| shown < row.round()),
            Action::Follow => self.round.is_some(),
            Action::Diff => rounds.is_some_and(|(_, row)| row.round() > row.oldest()),
            Action::NewSession => true,
            // In an opened session it is that one's scenario that plays.
            Action::Play => !open || rounds.is_some_and(|(_, row)| row.play.is_some()),
            Action::Slower
            | Action::Faster
            | Action::NextRound
            | Action::ManyRounds
            | Action::FindTools
            | Action::Call
            | Action::Require
            | Action::RequireName
            | Action::CloseSession => self.can_order(action, shared),
            Action::Describe => open && self.registered_tool(shared).is_some(),
            Action::Copy => any,
            Action::Export => rounds.is_some_and(|(_, row)| row.rounds().any(|r| r.complete)),
            Action::Why | Action::ExplainSearch | Action::WhatIf => looked.is_some_and(|looked| {
                open && lens::open(action, &self.sight(looked, shared)).is_some()
            }),
            _ => false,
        }
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        if self.lens_has_focus().is_some_and(|lens| lens.can(action))
            && let Some(lens) = &mut self.lens
        {
            lens.act(action, shared);
            return;
        }
        match action {
            Action::Down
            | Action::Up
            | Action::HalfDown
            | Action::HalfUp
            | Action::First
            | Action::Last => self.travel(action),
            Action::Open => self.pane = Pane::Sent,
            Action::NextPane | Action::PreviousPane => {
                self.pane = match self.pane {
                    Pane::List | Pane::Evidence => Pane::Sent,
                    Pane::Sent => Pane::Evidence,
                }
            }
            Action::Back => {
                if self.lens.take().is_some() {
                    return;
                }
                if self.compare != Compare::Off {
                    self.compare = Compare::Off;
                    self.stale = true;
                } else {
                    self.pane = Pane::List;
                }
            }
            Action::NextTab | Action::PreviousTab => {
                if let Some(looked) = &self.looked {
                    self.tab = self.tab.step(looked, action == Action::NextTab);
                    self.lens = None;
                    self.stale = true;
                }
            }
            Action::RoundBack => self.go_by(-1),
            Action::RoundOn => self.go_by(1),
            Action::Follow => self.round = None,
            Action::Diff => {
                self.compare = self.next_compare();
                self.stale = true;
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
            Action::Describe => {
                if let Some(name) = self.registered_tool(shared) {
                    shared.request(Request::Visit(Subject::Tool(name)));
                }
            }
            Action::Why | Action::ExplainSearch | Action::WhatIf => self.open_lens(action, shared),
            Action::Export => self.export(shared),
            other => self.order(other, shared),
        }
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        self.draw(shared, frame, area);
    }

    fn wants_attention(&self, shared: &Shared) -> bool {
        let sessions = shared.snapshot().sessions.iter();
        sessions
            .filter(|row| row.status != toolcrib::session::SessionStatus::Ended)
            .any(|row| !row.warnings.is_empty())
    }

    fn depth(&self) -> usize {
        usize::from(self.is_open())
            + usize::from(self.lens.is_some())
            + usize::from(self.is_open() && self.compare != Compare::Off)
    }

    fn filter(&self) -> &str {
        match self.is_open() {
            true => &self.tools,
            false => &self.filter,
        }
    }

    fn set_filter(&mut self, text: &str, _: &Shared) {
        if self.is_open() {
            text.clone_into(&mut self.tools);
            self.stale = true;
        } else if self.filter != text {
            text.clone_into(&mut self.filter);
            self.seen = None;
        }
    }

    fn takes_keys(&self) -> bool {
        self.lens_has_focus().is_some_and(Lens::takes_keys)
    }

    fn key(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let focused = self.lens_has_focus().is_some();
        match &mut self.lens {
            Some(lens) if focused => lens.key(key, shared),
            _ => false,
        }
    }

    fn answered(&mut self, id: OrderId, answer: &Answer, _: &mut Shared) {
        if let Some(lens) = &mut self.lens {
            lens.answered(id, answer);
        }
    }

    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        self.lens_has_focus().map_or(&[], Lens::form_keys)
    }

    fn visit(&mut self, subject: &Subject, shared: &Shared) {
        let Subject::Session(name) = subject else {
            return;
        };
        if !self.filter.is_empty() {
            self.filter.clear();
            self.sift(shared.snapshot());
        }
        // The newest of that name: what is told of is mostly what goes on.
        let mut rows = shared.snapshot().sessions.iter().rev();
        if let Some(row) = rows.find(|row| row.name == *name) {
            self.roster.select(&row.id);
        }
    }

    fn copy(&self, shared: &Shared) -> Option<Copied> {
        if let Some(copied) = self.lens_has_focus().and_then(|lens| lens.copy(shared)) {
            return Some(copied);
        }
        let looked = self.looked.as_ref()?;
        let tool = self.sight(looked, shared).tool.filter(|_| self.is_open());
        Some(match tool {
            Some(name) => Copied {
                what: "the name".to_owned(),
                text: name.to_string(),
            },
            None => Copied {
                what: "the name of the session".to_owned(),
                text: looked.row().name.to_string(),
            },
        })
    }
}

impl Sessions {
    /// The selected tool by the name that is shown, if the registry has it.
    fn registered_tool(&self, shared: &Shared) -> Option<Arc<str>> {
        let looked = self.looked.as_ref()?;
        let real = self.sight(looked, shared).tool?;
        let tools = &shared.snapshot().tools;
        let shown = crate::text::clean_name(real, shared.theme.marks);
        let at = tools.binary_search_by(|tool| tool.definition.name().cmp(&*shown));
        let found = match at {
            Ok(at) => tools.get(at),
            // Names that had to be cleaned may stand out of order.
            Err(_) => tools.iter().find(|tool| tool.definition.name() == shown),
        };
        found.map(|tool| tool.definition.shared_name())
    }
}

#[cfg(test)]
mod lens_tests;
#[cfg(test)]
mod tests;
