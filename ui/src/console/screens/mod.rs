//! The screens. The shell knows them by [`Screen`] alone.

pub(in crate::console) mod calls;
mod later;
mod logs;
mod overview;
mod sessions;
mod sources;
pub(crate) mod telemetry;
mod tools;
pub(crate) mod traffic;

pub(super) use calls::{Draft, Pressed, view_draft};

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;
use toolcrib::observe::Subject;

use super::command::{Answer, OrderId};
use super::keymap::Action;
use super::shared::Shared;

pub(crate) use telemetry::faults;

/// The screens in the order of their number keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ScreenId {
    Overview,
    Sources,
    Tools,
    Sessions,
    Telemetry,
    Calls,
    Traffic,
    Logs,
    Chat,
}

impl ScreenId {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Overview,
        Self::Sources,
        Self::Tools,
        Self::Sessions,
        Self::Telemetry,
        Self::Calls,
        Self::Traffic,
        Self::Logs,
        Self::Chat,
    ];

    /// The title on the tab.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Sources => "Sources",
            Self::Tools => "Tools",
            Self::Sessions => "Sessions",
            Self::Telemetry => "Telemetry",
            Self::Calls => "Calls",
            Self::Traffic => "Traffic",
            Self::Logs => "Logs",
            Self::Chat => "Chat",
        }
    }

    /// The number key.
    pub(crate) fn number(self) -> usize {
        Self::ALL
            .iter()
            .position(|id| *id == self)
            .map_or(0, |at| at + 1)
    }

    /// The screen of that name, as `view SCREEN` takes it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|id| id.title().eq_ignore_ascii_case(name))
    }
}

/// Text for the clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// What it is, for the notice: `the failure card of clock`.
    pub(crate) what: String,
    /// The text.
    pub(crate) text: String,
}

/// One screen. Everything but `view` is called by `update`; `view` is a function of the state.
pub(crate) trait Screen {
    /// Takes over what changed: what is shown, the size, the time. Called after every event that
    /// changed something, before the next `view`; selections and windows are put right here.
    fn refresh(&mut self, shared: &Shared, area: Rect);

    /// Whether the action would do something now. What would not is neither in the footer nor
    /// passed to `act`.
    fn can(&self, action: Action, shared: &Shared) -> bool;

    /// Does it.
    fn act(&mut self, action: Action, shared: &mut Shared);

    /// Draws it.
    fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect);

    /// Whether its tab wears the mark.
    fn wants_attention(&self, _shared: &Shared) -> bool {
        false
    }

    /// How many levels `esc` can go back within the screen; 0 at its top.
    fn depth(&self) -> usize {
        0
    }

    /// The text that `/` edits now: the filter of the list or the search of the text pane.
    fn filter(&self) -> &str {
        ""
    }

    /// Takes over what was typed after `/`.
    fn set_filter(&mut self, _text: &str, _shared: &Shared) {}

    /// Whether keys go to a form of the screen before the table of keys sees them.
    fn takes_keys(&self) -> bool {
        false
    }

    /// A key for the screen's form; `false` passes it on to the table of keys.
    fn key(&mut self, _key: KeyEvent, _shared: &mut Shared) -> bool {
        false
    }

    /// Text pasted into the screen's form.
    fn paste(&mut self, _text: &str, _shared: &mut Shared) {}

    /// Which keys the form takes, as pairs of key and word, for the footer while it is open.
    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        &[]
    }

    /// An answer that was still waited for.
    fn answered(&mut self, _id: OrderId, _answer: &Answer, _shared: &mut Shared) {}

    /// Selects what the subject is about.
    fn visit(&mut self, _subject: &Subject, _shared: &Shared) {}

    /// What `y` copies.
    fn copy(&self, _shared: &Shared) -> Option<Copied> {
        None
    }
}

/// All screens.
#[derive(Debug)]
pub(crate) struct Screens {
    pub(super) overview: overview::Overview,
    pub(super) sources: sources::Sources,
    pub(super) tools: tools::Tools,
    pub(super) sessions: sessions::Sessions,
    pub(super) telemetry: telemetry::Telemetry,
    pub(super) calls: calls::Calls,
    pub(super) traffic: traffic::Traffic,
    pub(super) logs: logs::Logs,
    pub(super) chat: later::Later,
}

impl Default for Screens {
    fn default() -> Self {
        Self {
            overview: overview::Overview::default(),
            sources: sources::Sources::default(),
            tools: tools::Tools::default(),
            sessions: sessions::Sessions::default(),
            telemetry: telemetry::Telemetry::default(),
            calls: calls::Calls::default(),
            traffic: traffic::Traffic::default(),
            logs: logs::Logs::default(),
            chat: later::CHAT,
        }
    }
}

impl Screens {
    /// A screen.
    pub(crate) fn get(&self, id: ScreenId) -> &dyn Screen {
        match id {
            ScreenId::Overview => &self.overview,
            ScreenId::Sources => &self.sources,
            ScreenId::Tools => &self.tools,
            ScreenId::Sessions => &self.sessions,
            ScreenId::Telemetry => &self.telemetry,
            ScreenId::Calls => &self.calls,
            ScreenId::Traffic => &self.traffic,
            ScreenId::Logs => &self.logs,
            ScreenId::Chat => &self.chat,
        }
    }

    /// A screen, to change it.
    pub(crate) fn get_mut(&mut self, id: ScreenId) -> &mut dyn Screen {
        match id {
            ScreenId::Overview => &mut self.overview,
            ScreenId::Sources => &mut self.sources,
            ScreenId::Tools => &mut self.tools,
            ScreenId::Sessions => &mut self.sessions,
            ScreenId::Telemetry => &mut self.telemetry,
            ScreenId::Calls => &mut self.calls,
            ScreenId::Traffic => &mut self.traffic,
            ScreenId::Logs => &mut self.logs,
            ScreenId::Chat => &mut self.chat,
        }
    }
}
