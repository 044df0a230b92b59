//! Draws the state: `view(&State, &mut Frame)`. A function of the state and nothing else.

mod band;
mod footer;
mod header;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use toolcrib::observe::Snapshot;

use super::overlay::Overlay;
use super::shared::Options;
use super::state::State;

pub(super) use band::injects;
pub(super) use header::tab_at;

/// Draws everything.
pub(crate) fn view(state: &State, frame: &mut Frame<'_>) {
    let areas = state.areas();
    // Between a resize and its event the frame may be smaller than the state believes.
    let whole = frame.area();
    let fits = |area: Rect| area.intersection(whole);
    let (header, tabs) = (fits(areas.header), fits(areas.tabs));
    let (body, footer) = (fits(areas.body), fits(areas.footer));
    header::view(state, frame, header);
    header::view_tabs(state, frame, tabs);
    band::view(&state.shared, frame, fits(areas.band));
    if !body.is_empty() {
        state.screen().view(&state.shared, frame, body);
    }
    footer::view(state, frame, footer);
    match &state.overlay {
        None | Some(Overlay::Filter { .. }) => {}
        Some(Overlay::Confirm(confirm)) => confirm.view(&state.shared, frame, whole),
        Some(Overlay::Choose(choose)) => choose.view(&state.shared, frame, whole),
        Some(Overlay::Prompt(prompt)) => prompt.view(&state.shared, frame, whole),
        Some(Overlay::Help(help)) => {
            let rows = help.rows(|row| state.works(row));
            help.view(&rows, &state.shared, frame, body);
        }
        Some(Overlay::Ask(ask)) => ask.view(&state.shared, frame, body),
        Some(Overlay::Link(link)) => link.view(&state.shared, frame, body),
        Some(Overlay::Report(report)) => report.view(&state.shared, frame, body),
        Some(Overlay::Palette(palette)) => {
            let rows = palette.rows(|row| state.works(row));
            palette.view(&rows, &state.shared, frame, body);
        }
    }
}

/// The whole screen as text, without anything over it.
pub(super) fn screen_text(state: &State) -> String {
    let (width, height) = state.shared.size;
    draw(width, height, |frame| {
        let areas = state.areas();
        header::view(state, frame, areas.header);
        header::view_tabs(state, frame, areas.tabs);
        band::view(&state.shared, frame, areas.band);
        if !areas.body.is_empty() {
            state.screen().view(&state.shared, frame, areas.body);
        }
    })
}

/// One screen of a snapshot as text, for `view SCREEN`.
pub(crate) fn render_once(
    snapshot: &Arc<Snapshot>,
    options: Options,
    width: u16,
    height: u16,
) -> String {
    let state = State::new(options, snapshot, (width, height));
    screen_text(&state)
}

fn draw(width: u16, height: u16, view: impl FnOnce(&mut Frame<'_>)) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(drawn) = terminal.draw(view);
    text_of(drawn.buffer)
}

/// The text of a buffer, without the blanks at the ends of lines.
pub(super) fn text_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut text = String::new();
    for y in area.top()..area.bottom() {
        let mut line = String::new();
        let mut hidden = 0;
        for x in area.left()..area.right() {
            let Some(cell) = buffer.cell((x, y)) else {
                continue;
            };
            // The cell behind a wide character is not there to be seen.
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            hidden = crate::text::width(cell.symbol()).saturating_sub(1);
            line.push_str(cell.symbol());
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let kept = text.trim_end_matches('\n').len();
    text.truncate(kept);
    text.push('\n');
    text
}
