//! The log by target, shown by `tui-logger`: levels can be set for each target. Its widgets read a
//! global store and keep their scroll position themselves, so this is the one pane that is not a
//! function of the state alone.

use std::fmt;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use tui_logger::{
    ExtLogRecord, LogFormatter, TuiLoggerTargetWidget, TuiLoggerWidget, TuiWidgetEvent,
    TuiWidgetState,
};

use crate::console::keymap::Action;
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text;

/// Where the widgets stand.
pub(super) struct Targets(TuiWidgetState);

impl Default for Targets {
    fn default() -> Self {
        Self(TuiWidgetState::new().set_default_display_level(log::LevelFilter::Info))
    }
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Targets")
    }
}

impl Targets {
    /// The event that an action is to the widgets.
    fn event(action: Action) -> Option<TuiWidgetEvent> {
        match action {
            Action::Down => Some(TuiWidgetEvent::DownKey),
            Action::Up => Some(TuiWidgetEvent::UpKey),
            Action::MoreLog => Some(TuiWidgetEvent::RightKey),
            Action::LessLog => Some(TuiWidgetEvent::LeftKey),
            Action::Open => Some(TuiWidgetEvent::FocusKey),
            Action::HalfUp => Some(TuiWidgetEvent::PrevPageKey),
            Action::HalfDown => Some(TuiWidgetEvent::NextPageKey),
            Action::Follow => Some(TuiWidgetEvent::EscapeKey),
            _ => None,
        }
    }

    pub(super) fn can(action: Action) -> bool {
        Self::event(action).is_some()
    }

    pub(super) fn act(&self, action: Action) {
        if let Some(event) = Self::event(action) {
            self.0.transition(event);
        }
    }

    pub(super) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let [list, lines] =
            Layout::horizontal([Constraint::Percentage(30), Constraint::Percentage(70)])
                .areas(area);
        let list = pane::frame(shared, frame, list, "Targets, shown levels inverted", true);
        let lines = pane::frame(shared, frame, lines, "Log by target", false);
        let targets = TuiLoggerTargetWidget::default()
            .style_show(theme.selected())
            .style_hide(theme.dim())
            .style_off(theme.dim())
            .highlight_style(theme.strong().patch(theme.selected_elsewhere()))
            .state(&self.0);
        frame.render_widget(targets, list);
        let log = TuiLoggerWidget::default()
            .formatter(Box::new(Format(theme)))
            .state(&self.0);
        frame.render_widget(log, lines);
    }
}

/// One line per record: the widget cannot show a record as none.
struct Format(Theme);

impl LogFormatter for Format {
    fn min_width(&self) -> u16 {
        4
    }

    fn format(&self, width: usize, record: &ExtLogRecord) -> Vec<Line<'_>> {
        let theme = self.0;
        let health = match record.level {
            log::Level::Error => Health::Bad,
            log::Level::Warn => Health::Warning,
            log::Level::Info => Health::Good,
            log::Level::Debug | log::Level::Trace => Health::Off,
        };
        let time = record.timestamp.strftime("%H:%M:%S").to_string();
        let rest = width.saturating_sub(text::width(&time) + 7);
        let words = format!("{}: {}", record.target(), record.msg());
        vec![Line::from(vec![
            Span::styled(format!("{time} "), theme.dim()),
            Span::styled(
                format!("{:<5} ", record.level.as_str()),
                theme.health(health),
            ),
            Span::raw(text::truncate(&words, rest, theme.marks).into_owned()),
        ])]
    }
}
