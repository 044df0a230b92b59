//! The log: what the program says of itself, what servers write, how states changed and calls
//! ended, in one list; and the same by target.

mod gather;
mod targets;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use toolcrib::observe::Snapshot;
use tracing::Level;

use super::{Copied, Screen};
use crate::console::keymap::Action;
use crate::console::log::LogRecord;
use crate::console::pane;
use crate::console::reader::{Reader, plain};
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text;

use gather::Gathered;
use targets::Targets;

/// How many lines are kept; the oldest go first, and the title says how many went.
const KEPT: usize = 5_000;

/// How many lines `y` copies at most: terminals refuse long clipboards.
const COPIED: usize = 500;

/// The levels from the gravest on.
const LEVELS: [Level; 5] = [
    Level::ERROR,
    Level::WARN,
    Level::INFO,
    Level::DEBUG,
    Level::TRACE,
];

/// The screen Logs.
#[derive(Debug)]
pub(crate) struct Logs {
    records: VecDeque<Arc<LogRecord>>,
    dropped: u64,
    gathered: Gathered,
    level: Level,
    filter: String,
    /// The source or server that alone is shown.
    only: Option<Arc<str>>,
    /// The lines that are shown, each with the number of its record: made once, and all anew
    /// only when what is shown is chosen anew.
    numbers: VecDeque<u64>,
    lines: VecDeque<Line<'static>>,
    /// The number of the first record that has not been looked at. Numbers count from the first
    /// record there ever was.
    next: u64,
    stale: bool,
    reader: Reader,
    targets: Targets,
    by_target: bool,
}

impl Default for Logs {
    fn default() -> Self {
        let mut reader = Reader::default();
        reader.toggle_follow();
        Self {
            records: VecDeque::new(),
            dropped: 0,
            gathered: Gathered::default(),
            level: Level::INFO,
            filter: String::new(),
            only: None,
            numbers: VecDeque::new(),
            lines: VecDeque::new(),
            next: 0,
            stale: true,
            reader,
            targets: Targets::default(),
            by_target: false,
        }
    }
}

impl Logs {
    /// Takes new lines in.
    pub(crate) fn take(&mut self, records: impl IntoIterator<Item = Arc<LogRecord>>) {
        for record in records {
            if self.records.len() == KEPT {
                self.records.pop_front();
                self.dropped += 1;
            }
            self.records.push_back(record);
        }
    }

    /// Takes in what a snapshot tells that was not there before.
    pub(crate) fn gather(&mut self, snapshot: &Snapshot) {
        let new = self.gathered.gather(snapshot);
        self.take(new);
    }

    /// Shows the lines of one source or server alone.
    pub(crate) fn only(&mut self, of: &Arc<str>) {
        self.only = Some(Arc::clone(of));
        self.by_target = false;
        self.stale = true;
    }

    /// Makes the lines of the records that have come since, or of all if what is shown is chosen
    /// anew. A frozen view takes none that is newer than it.
    fn choose(&mut self, shared: &Shared) {
        if std::mem::take(&mut self.stale) {
            self.numbers.clear();
            self.lines.clear();
            self.next = self.dropped;
        }
        self.next = self.next.max(self.dropped);
        let skip = usize::try_from(self.next - self.dropped).unwrap_or(usize::MAX);
        let mut new = Vec::new();
        for record in self.records.iter().skip(skip) {
            if shared
                .frozen()
                .is_some_and(|frozen| record.at.at > frozen.at)
            {
                break;
            }
            if self.shows(record) {
                new.push((self.next, self.line(record, shared)));
            }
            self.next += 1;
        }
        for (number, line) in new {
            self.numbers.push_back(number);
            self.lines.push_back(line);
        }
        if shared.frozen().is_none() {
            while self
                .numbers
                .front()
                .is_some_and(|number| *number < self.dropped)
            {
                self.numbers.pop_front();
                self.lines.pop_front();
            }
        }
    }

    fn shows(&self, record: &LogRecord) -> bool {
        let of_owner = self.only.as_ref().is_none_or(|only| {
            // A source means all of its servers.
            *record.target == **only
                || record
                    .target
                    .strip_prefix(&**only)
                    .is_some_and(|rest| rest.starts_with('/'))
        });
        of_owner && record.level <= self.level && {
            let line = format!("{} {} {}", record.level, record.target, record.text);
            let line = line.to_lowercase();
            let filter = self.filter.to_lowercase();
            line.contains(&filter)
        }
    }

    fn line(&self, record: &LogRecord, shared: &Shared) -> Line<'static> {
        let theme = shared.theme;
        let health = match record.level {
            Level::ERROR => Health::Bad,
            Level::WARN => Health::Warning,
            Level::INFO => Health::Good,
            Level::DEBUG | Level::TRACE => Health::Off,
        };
        let time = record
            .at
            .wall
            .to_zoned(shared.options.zone.clone())
            .strftime("%H:%M:%S%.3f");
        Line::from(vec![
            Span::styled(format!("{time} "), theme.dim()),
            Span::styled(
                format!("{:<5} ", record.level.as_str()),
                theme.health(health),
            ),
            Span::styled(
                format!("{} ", text::fit(&record.target, 18, theme.marks)),
                theme.strong(),
            ),
            Span::raw(record.text.to_string()),
        ])
    }

    fn step_level(&mut self, more: bool) {
        let at = LEVELS
            .iter()
            .position(|level| *level == self.level)
            .unwrap_or(2);
        let at = if more { at + 1 } else { at.saturating_sub(1) };
        if let Some(level) = LEVELS.get(at) {
            self.level = *level;
            self.stale = true;
        }
    }

    fn title(&self) -> String {
        let mut title = format!("Log, {} and graver", self.level.as_str().to_lowercase());
        if let Some(only) = &self.only {
            title.push_str(&format!(", {only} alone"));
        }
        if !self.filter.is_empty() {
            title.push_str(&format!(", with {:?}", self.filter));
        }
        if let Some(place) = self.reader.place() {
            title.push_str(&format!(" {place}"));
        }
        if self.reader.follows() {
            title.push_str(" following");
        }
        if self.dropped > 0 {
            title.push_str(&format!(" ({} older dropped)", self.dropped));
        }
        title
    }
}

impl Screen for Logs {
    fn refresh(&mut self, shared: &Shared, area: Rect) {
        self.choose(shared);
        let inner = pane::inside(shared, area);
        self.reader
            .settle(self.lines.make_contiguous(), inner, shared.theme);
    }

    fn can(&self, action: Action, _: &Shared) -> bool {
        if action == Action::LogTargets {
            return true;
        }
        if self.by_target {
            return action == Action::Back || Targets::can(action);
        }
        match action {
            Action::Down
            | Action::Up
            | Action::First
            | Action::Last
            | Action::HalfDown
            | Action::HalfUp
            | Action::Copy => !self.lines.is_empty(),
            Action::Filter | Action::Follow | Action::Wrap => true,
            Action::NextHit | Action::PreviousHit => self.reader.has_hits(),
            Action::LessLog => self.level > Level::ERROR,
            Action::MoreLog => self.level < Level::TRACE,
            Action::Back => self.only.is_some(),
            _ => false,
        }
    }

    fn act(&mut self, action: Action, _: &mut Shared) {
        if action == Action::LogTargets {
            self.by_target = !self.by_target;
            return;
        }
        if self.by_target {
            match action {
                Action::Back => self.by_target = false,
                other => self.targets.act(other),
            }
            return;
        }
        match action {
            Action::LessLog => self.step_level(false),
            Action::MoreLog => self.step_level(true),
            Action::Follow => self.reader.toggle_follow(),
            Action::Wrap => self.reader.toggle_wrap(),
            Action::NextHit => self.reader.step_hit(true),
            Action::PreviousHit => self.reader.step_hit(false),
            Action::Back => {
                self.only = None;
                self.stale = true;
            }
            moving => self.reader.move_by(moving),
        }
    }

    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        if self.by_target {
            self.targets.view(shared, frame, area);
            return;
        }
        let inner = pane::frame(shared, frame, area, &self.title(), true);
        if self.lines.is_empty() {
            let text = if self.records.is_empty() {
                "nothing has been logged yet"
            } else {
                "no line matches: + shows more levels, / filters, esc takes filters back"
            };
            frame.render_widget(Line::raw(text), inner);
            return;
        }
        // `refresh` has made them contiguous.
        let (lines, _) = self.lines.as_slices();
        self.reader.view(lines, shared.theme, frame, inner);
    }

    fn depth(&self) -> usize {
        usize::from(self.by_target)
    }

    fn filter(&self) -> &str {
        &self.filter
    }

    fn set_filter(&mut self, text: &str, _: &Shared) {
        text.clone_into(&mut self.filter);
        self.reader.set_marked(text);
        self.stale = true;
    }

    fn copy(&self, _: &Shared) -> Option<Copied> {
        let skip = self.lines.len().saturating_sub(COPIED);
        let lines: Vec<_> = self.lines.iter().skip(skip).map(plain).collect();
        (!lines.is_empty()).then(|| Copied {
            what: "the newest shown lines of the log".into(),
            text: lines.join("\n") + "\n",
        })
    }
}
