//! Frames around panes, and how a screen's area is split.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;

use super::shared::{Breadth, Shared};
use crate::text;

/// The area inside the frame of a pane. While zoomed there is no frame, so that what a mouse marks
/// is text alone.
pub(crate) fn inside(shared: &Shared, area: Rect) -> Rect {
    if shared.zoomed || area.width < 3 || area.height < 3 {
        return area;
    }
    Block::bordered().inner(area)
}

/// Draws the frame of a pane and gives the area inside it; the same as [`inside`].
pub(crate) fn frame(
    shared: &Shared,
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    focused: bool,
) -> Rect {
    let inner = inside(shared, area);
    if inner != area {
        let theme = shared.theme;
        let room = usize::from(area.width).saturating_sub(4);
        let title = text::truncate(title, room, theme.marks);
        let style = if focused { theme.title() } else { theme.dim() };
        let title = Line::from(vec![Span::styled(format!(" {title} "), style)]);
        let block = Block::bordered()
            .border_set(theme.border_set())
            .border_style(theme.border(focused))
            .title_top(title);
        frame.render_widget(block, area);
    }
    inner
}

/// List and evidence side by side or one above the other; with too little room, or zoomed, the
/// focused one alone (the other is empty then).
pub(crate) fn list_and_evidence(shared: &Shared, area: Rect, list_focused: bool) -> [Rect; 2] {
    let alone = shared.zoomed || shared.breadth() == Breadth::Small;
    if alone {
        let none = Rect::ZERO;
        return match list_focused {
            true => [area, none],
            false => [none, area],
        };
    }
    match shared.breadth() {
        Breadth::Wide => {
            Layout::horizontal([Constraint::Percentage(45), Constraint::Percentage(55)]).areas(area)
        }
        _ => Layout::vertical([Constraint::Percentage(38), Constraint::Percentage(62)]).areas(area),
    }
}

/// As [`frame`], but also while zoomed: for what lies over a screen.
pub(crate) fn frame_always(
    shared: &Shared,
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
) -> Rect {
    if area.width < 3 || area.height < 3 {
        return area;
    }
    let theme = shared.theme;
    let room = usize::from(area.width).saturating_sub(4);
    let title = text::truncate(title, room, theme.marks);
    let block = Block::bordered()
        .border_set(theme.border_set())
        .border_style(theme.border(true))
        .title_top(Line::styled(format!(" {title} "), theme.title()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}
