//! The messages on the wire: a list of frames and the selected one, and what servers say beside
//! the protocol.

mod detail;
mod export;
mod list;
mod query;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use toolcrib::observe::TrafficFrame;
use toolcrib::source::mcp::FrameKind;

use super::{Copied, Screen};
use crate::console::figures;
use crate::console::grid::Table;
use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::reader::{Reader, plain};
use crate::console::roster::Roster;
use crate::console::shared::{Request, Shared};
use crate::console::subtabs;

use detail::Detail;
pub(crate) use export::{lines, object};
use query::Query;
use words::{Said, Words};

/// How many lines `y` copies at most: terminals refuse long clipboards.
const COPIED: usize = 500;

/// What is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Frames,
    Stderr,
    Messages,
}

impl Tab {
    const ALL: [Self; 3] = [Self::Frames, Self::Stderr, Self::Messages];

    fn title(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Stderr => "stderr",
            Self::Messages => "server logs",
        }
    }

    fn said(self) -> Option<Said> {
        match self {
            Self::Frames => None,
            Self::Stderr => Some(Said::Stderr),
            Self::Messages => Some(Said::Messages),
        }
    }

    fn step(self, forward: bool) -> Self {
        let count = Self::ALL.len();
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(at + if forward { 1 } else { count - 1 }) % count]
    }
}

/// The screen Traffic.
#[derive(Debug)]
pub(crate) struct Traffic {
    tab: Tab,
    filter: String,
    query: Query,
    /// The numbers of the frames that the filter lets through; only new frames are looked at,
    /// unless the filter has changed.
    numbers: Vec<u64>,
    next: u64,
    stale: bool,
    roster: Roster<u64>,
    follow: bool,
    /// Whether the frame has the focus.
    inside: bool,
    detail: Option<Detail>,
    words: Words,
    reader: Reader,
}

impl Default for Traffic {
    fn default() -> Self {
        let mut reader = Reader::default();
        reader.toggle_follow();
        Self {
            tab: Tab::Frames,
            filter: String::new(),
            query: Query::default(),
            numbers: Vec::new(),
            next: 0,
            stale: true,
            roster: Roster::default(),
            follow: true,
            inside: false,
            detail: None,
            words: Words::default(),
            reader,
        }
    }
}

impl Traffic {
    /// Takes over the frames that came since, or chooses all anew.
    fn choose(&mut self, shared: &Shared) {
        let rows = &shared.snapshot().traffic;
        if std::mem::take(&mut self.stale) {
            self.numbers.clear();
            self.next = 0;
        }
        let gone = self
            .numbers
            .partition_point(|number| *number < rows.dropped);
        self.numbers.drain(..gone);
        for number in self.next.max(rows.dropped)..rows.next_number() {
            if rows.get(number).is_some_and(|row| self.query.wants(row)) {
                self.numbers.push(number);
            }
        }
        self.next = self.next.max(rows.next_number());
        if self.roster.keys() != self.numbers {
            self.roster.set_keys(self.numbers.clone());
        }
        if self.follow {
            self.roster.last();
        }
    }

    fn selected<'s>(&self, shared: &'s Shared) -> Option<&'s Arc<TrafficFrame>> {
        shared.snapshot().traffic.get(*self.roster.selected()?)
    }

    /// The other half of the pair that the frame belongs to.
    fn other<'s>(row: &TrafficFrame, shared: &'s Shared) -> Option<&'s Arc<TrafficFrame>> {
        let rows = &shared.snapshot().traffic;
        if let Some(number) = row.answers {
            return rows.get(number);
        }
        if row.frame.kind != FrameKind::Request {
            return None;
        }
        let later = row.number + 1..rows.next_number();
        later
            .filter_map(|number| rows.get(number))
            .find(|answer| answer.answers == Some(row.number))
    }

    /// The areas of list and frame, with their borders.
    fn panes(&self, shared: &Shared, area: Rect) -> [Rect; 2] {
        match self.tab {
            Tab::Frames => pane::list_and_evidence(shared, area, !self.inside),
            _ => [area, Rect::ZERO],
        }
    }

    fn title(&self, shared: &Shared) -> String {
        let mut title = match self.tab {
            Tab::Frames => {
                let all = shared.snapshot().traffic.len();
                match self.query.is_empty() {
                    true => format!("Traffic {}", figures::count(all as u64)),
                    false => format!(
                        "Traffic {} of {} matching {:?}",
                        figures::count(self.numbers.len() as u64),
                        figures::count(all as u64),
                        self.filter
                    ),
                }
            }
            _ if self.query.is_empty() => "Traffic".to_owned(),
            _ => format!("Traffic matching {:?}", self.filter),
        };
        if self.follows() {
            title.push_str(", following");
        }
        let dropped = shared.snapshot().traffic.dropped;
        if self.tab == Tab::Frames && dropped > 0 {
            title.push_str(&format!(" ({} older dropped)", figures::count(dropped)));
        }
        title
    }

    fn follows(&self) -> bool {
        match self.tab {
            Tab::Frames => self.follow,
            _ => self.reader.follows(),
        }
    }

    fn empty(&self, shared: &Shared) -> &'static str {
        let snapshot = shared.snapshot();
        match self.tab {
            Tab::Frames if snapshot.servers.is_empty() => {
                "no source of this deployment has servers: nothing goes over a wire"
            }
            Tab::Frames if snapshot.traffic.is_empty() => "no message has passed yet",
            Tab::Frames => "no frame matches; esc takes the filter back",
            _ if !self.query.is_empty() => "no line matches; esc takes the filter back",
            Tab::Stderr => "no server has written anything to stderr yet",
            Tab::Messages => "no server has sent a log message yet",
        }
    }

    fn view_list(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let inner = pane::frame(shared, frame, area, &self.title(shared), !self.inside);
        let [tabs, body] = below_tabs(shared, inner);
        if !tabs.is_empty() {
            let place = match self.tab {
                Tab::Frames => None,
                _ => self.reader.place(),
            };
            let titles = Tab::ALL.map(Tab::title);
            let width = tabs.width.into();
            let line = subtabs::line(&titles, self.tab.title(), place.as_deref(), width, theme);
            frame.render_widget(line, tabs);
        }
        if self.tab == Tab::Frames {
            self.view_frames(shared, frame, body);
        } else if self.words.lines().is_empty() {
            frame.render_widget(Line::styled(self.empty(shared), theme.dim()), body);
        } else {
            self.reader.view(self.words.lines(), theme, frame, body);
        }
    }

    fn view_frames(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let rows = &shared.snapshot().traffic;
        let table = Table {
            columns: &list::COLUMNS,
            sorted: None,
            empty: self.empty(shared),
            rows: self.numbers.len(),
            window: self.roster.window(),
            selected: Some((self.roster.position(), !self.inside)),
        };
        table.view(shared.theme, frame, area, |at, _| {
            let row = rows.get(*self.roster.keys().get(at)?)?;
            Some(list::cells(shared, row))
        });
    }

    fn view_frame(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let Some(detail) = &self.detail else {
            pane::frame(shared, frame, area, "nothing selected", self.inside);
            return;
        };
        let title = match detail.has_opened() {
            true => format!("Frame {}, one text; esc goes back", detail.row.number),
            false => format!("Frame {}", detail.row.number),
        };
        let inner = pane::frame(shared, frame, area, &title, self.inside);
        let other = Self::other(&detail.row, shared);
        detail.view(other, self.inside, shared, frame, inner);
    }

    fn export(&self, shared: &mut Shared) {
        let rows = &shared.snapshot().traffic;
        let frames: Vec<_> = self
            .numbers
            .iter()
            .filter_map(|number| rows.get(*number).cloned())
            .collect();
        let name = format!("toolcrib-traffic-{}.jsonl", shared.file_stamp());
        shared.order_save_frames(name, frames);
    }
}

/// The line of sub-tabs and what is below it.
fn below_tabs(shared: &Shared, inner: Rect) -> [Rect; 2] {
    if shared.zoomed || inner.height < 4 {
        return [Rect::ZERO, inner];
    }
    [Rect { height: 1, ..inner }, subtabs::below(inner)]
}

impl Screen for Traffic {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        let [list, evidence] = self.panes(shared, area);
        let [_, body] = below_tabs(shared, pane::inside(shared, list));
        if let Some(said) = self.tab.said() {
            self.words.settle(said, &self.query, shared);
            self.reader.settle(self.words.lines(), body, shared.theme);
            return;
        }
        self.choose(shared);
        self.roster
            .settle(usize::from(body.height).saturating_sub(1));
        match self.selected(shared) {
            None => self.detail = None,
            Some(row)
                if self
                    .detail
                    .as_ref()
                    .is_some_and(|known| Arc::ptr_eq(&known.row, row)) => {}
            Some(row) => self.detail = Some(Detail::new(Arc::clone(row), shared.theme)),
        }
        if let Some(detail) = &mut self.detail {
            detail.settle(pane::inside(shared, evidence), shared.theme);
        }
    }

    fn can(&self, action: Action, shared: &Shared) -> bool {
        let frames = self.tab == Tab::Frames;
        let any = match frames {
            true => !self.numbers.is_empty(),
            false => !self.words.lines().is_empty(),
        };
        let detail = self.detail.as_ref().filter(|_| self.inside);
        match action {
            Action::NextTab | Action::PreviousTab => !self.inside,
            Action::Down | Action::Up | Action::First | Action::Last => any,
            Action::HalfDown | Action::HalfUp | Action::Copy => any,
            Action::Open => frames && any && detail.is_none_or(|detail| detail.has_tree()),
            Action::Describe => frames && any && !self.inside,
            Action::NextPane | Action::PreviousPane => frames && any,
            Action::Filter => detail.is_none_or(|detail| detail.has_text()),
            Action::NextHit | Action::PreviousHit => match frames {
                true => detail.is_some_and(|detail| !detail.search().is_empty()),
                false => self.reader.has_hits(),
            },
            Action::Follow => !self.inside,
            Action::Wrap => match frames {
                true => detail.is_some_and(|detail| detail.has_text()),
                false => true,
            },
            Action::Shape => {
                frames
                    && self.detail.as_ref().is_some_and(|detail| {
                        !detail.has_opened() && detail.row.frame.text.starts_with(['{', '['])
                    })
            }
            Action::Export => frames && any,
            Action::Logs => frames && self.selected(shared).is_some(),
            Action::Back => self.inside,
            _ => false,
        }
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        let frames = self.tab == Tab::Frames;
        let opened = self.detail.as_ref().is_some_and(Detail::has_opened);
        match action {
            Action::NextTab => self.tab = self.tab.step(true),
            Action::PreviousTab => self.tab = self.tab.step(false),
            Action::Follow if frames => self.follow = !self.follow,
            Action::Follow => self.reader.toggle_follow(),
            Action::Export => self.export(shared),
            Action::Logs => {
                if let Some(row) = self.selected(shared) {
                    let of = format!("{}/{}", row.frame.source, row.frame.server);
                    shared.request(Request::Logs(of.into()));
                }
            }
            Action::Shape => {
                let theme = shared.theme;
                let shaped = self
                    .detail
                    .as_mut()
                    .is_some_and(|detail| detail.reshape(theme));
                if !shaped {
                    shared.complain(
                        "only the beginning of this message is kept: it is no whole JSON",
                    );
                }
            }
            Action::NextPane | Action::PreviousPane => {
                self.inside = !self.inside;
                self.follow &= !self.inside;
            }
            Action::Open | Action::Describe if !self.inside => {
                // What is read stays.
                self.follow = false;
                self.inside = true;
            }
            Action::Back if opened => {
                if let Some(detail) = &mut self.detail {
                    detail.close();
                }
            }
            Action::Back => self.inside = false,
            action if self.inside => {
                let Some(detail) = &mut self.detail else {
                    return;
                };
                match action {
                    Action::Open => detail.open(),
                    Action::Wrap => detail.toggle_wrap(),
                    Action::NextHit => detail.step_hit(true),
                    Action::PreviousHit => detail.step_hit(false),
                    moving => detail.move_by(moving),
                }
            }
            moving if frames => {
                self.follow = false;
                self.roster.move_by(moving);
            }
            Action::Wrap => self.reader.toggle_wrap(),
            Action::NextHit => self.reader.step_hit(true),
            Action::PreviousHit => self.reader.step_hit(false),
            moving => self.reader.move_by(moving),
        }
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let [list, evidence] = self.panes(shared, area);
        if !list.is_empty() {
            self.view_list(shared, frame, list);
        }
        if !evidence.is_empty() {
            self.view_frame(shared, frame, evidence);
        }
    }

    fn depth(&self) -> usize {
        let opened = self.detail.as_ref().is_some_and(Detail::has_opened);
        usize::from(self.inside) + usize::from(self.inside && opened)
    }

    fn filter(&self) -> &str {
        match &self.detail {
            Some(detail) if self.inside => detail.search(),
            _ => &self.filter,
        }
    }

    fn set_filter(&mut self, text: &str, _: &Shared) {
        match &mut self.detail {
            Some(detail) if self.inside => detail.set_search(text),
            _ => {
                text.clone_into(&mut self.filter);
                self.query = Query::read(text);
                self.stale = true;
            }
        }
    }

    fn copy(&self, shared: &Shared) -> Option<Copied> {
        if self.tab != Tab::Frames {
            let lines = self.words.lines();
            let skip = lines.len().saturating_sub(COPIED);
            let text: Vec<_> = lines.iter().skip(skip).map(plain).collect();
            return Some(Copied {
                what: "the lines".into(),
                text: text.join("\n"),
            });
        }
        if self.inside {
            let (what, text) = self.detail.as_ref()?.copied()?;
            return Some(Copied { what, text });
        }
        let row = self.selected(shared)?;
        Some(Copied {
            what: format!("frame {}", row.number),
            text: row.frame.text.to_string(),
        })
    }
}
