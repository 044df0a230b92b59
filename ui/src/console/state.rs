//! The state of the console and what works in it now.

use std::sync::Arc;

use ratatui::layout::{Constraint, Layout, Rect};
use toolcrib::observe::Snapshot;

use super::keymap::{Action, Binding};
use super::overlay::Overlay;
use super::screens::{Screen, ScreenId, Screens};
use super::shared::{Options, Shared};

/// Everything the console knows.
#[derive(Debug)]
pub(crate) struct State {
    /// What every screen may read.
    pub(crate) shared: Shared,
    pub(super) screen: ScreenId,
    /// The screens that a jump left, for `esc`. Bounded by how often one can jump without going
    /// anywhere by number, which empties it; the oldest is forgotten beyond [`MOST_BACK`].
    pub(super) back: Vec<ScreenId>,
    pub(super) screens: Screens,
    pub(super) overlay: Option<Overlay>,
    /// The first half of a double press.
    pub(super) half: Option<char>,
    pub(super) mouse: bool,
}

/// How many jumps `esc` can take back.
pub(super) const MOST_BACK: usize = 16;

/// The areas of the shell.
pub(super) struct Areas {
    pub(super) header: Rect,
    pub(super) tabs: Rect,
    /// The band that tells of injected faults; empty while there are none.
    pub(super) band: Rect,
    pub(super) body: Rect,
    pub(super) footer: Rect,
}

impl State {
    /// The state at the start.
    pub(crate) fn new(options: Options, snapshot: &Arc<Snapshot>, size: (u16, u16)) -> Self {
        let screen = options.screen;
        let mut state = Self {
            shared: Shared::new(options, snapshot, size),
            screen,
            back: Vec::new(),
            screens: Screens::default(),
            overlay: None,
            half: None,
            mouse: false,
        };
        state.screens.logs.gather(state.shared.newest());
        state.refresh();
        state
    }

    /// The screen that is shown.
    pub(crate) fn screen(&self) -> &dyn Screen {
        self.screens.get(self.screen)
    }

    /// Puts the shown screen right after something changed.
    pub(super) fn refresh(&mut self) {
        let body = self.areas().body;
        self.screens
            .get_mut(self.screen)
            .refresh(&self.shared, body);
    }

    /// The areas of the shell at the present size.
    pub(super) fn areas(&self) -> Areas {
        let (width, height) = self.shared.size;
        let area = Rect::new(0, 0, width, height);
        let band = u16::from(super::view::injects(&self.shared) && height >= 5);
        if self.shared.zoomed {
            let none = Rect { height: 0, ..area };
            let [band, body] =
                Layout::vertical([Constraint::Length(band), Constraint::Min(0)]).areas(area);
            return Areas {
                header: none,
                tabs: none,
                band,
                body,
                footer: none,
            };
        }
        // The header goes last: it answers whether all is well.
        let tabs = u16::from(height >= 6);
        let footer = u16::from(height >= 4);
        let [header, tabs, band, body, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(tabs),
            Constraint::Length(band),
            Constraint::Min(0),
            Constraint::Length(footer),
        ])
        .areas(area);
        Areas {
            header,
            tabs,
            band,
            body,
            footer,
        }
    }

    /// Whether the action would do something now.
    pub(crate) fn can(&self, action: Action) -> bool {
        let screen = self.screen();
        match action {
            Action::AnswerServer => !self.shared.newest().questions.is_empty(),
            Action::Go(id) => id != self.screen,
            Action::Back => {
                self.shared.zoomed
                    || screen.depth() > 0
                    || !screen.filter().is_empty()
                    || !self.back.is_empty()
            }
            Action::Approvals => !self.shared.newest().approvals.is_empty(),
            Action::Freeze
            | Action::Zoom
            | Action::Save
            | Action::Mouse
            | Action::Help
            | Action::Reload
            | Action::Report
            | Action::Palette
            | Action::Quit
            | Action::QuitNow => true,
            // Wherever one is: they lead to the screen Sessions.
            Action::PlayShipped(_) | Action::PlayFile => true,
            other => screen.can(other, &self.shared),
        }
    }

    /// Whether nothing is open that a step back would close.
    pub(super) fn is_top(&self) -> bool {
        !self.shared.zoomed && self.screen().depth() == 0
    }

    /// Whether the row works now: it does something, and `--read-only` does not refuse it.
    pub(super) fn works(&self, row: &Binding) -> bool {
        self.can(row.action) && !(row.changes && self.shared.options.read_only)
    }
}
