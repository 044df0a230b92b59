//! Calls per second over the last two minutes, as columns of blocks. Pure.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use toolcrib::observe::SecondRow;

use crate::console::theme::{Health, Theme};

/// How far back the chart goes, in seconds.
const BACK: usize = 120;

/// The cells of the axis on the left.
const AXIS: u16 = 5;

/// One column: calls per second on average, and whether any call failed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    calls: f64,
    failed: bool,
}

/// The columns that fit, the newest last. The second that is not over yet is left out: it would
/// always look like a drop.
fn bars(recent: &[SecondRow], width: usize) -> Vec<Bar> {
    let whole = recent.split_last().map_or(&[][..], |(_, whole)| whole);
    let last = &whole[whole.len().saturating_sub(BACK)..];
    let per_cell = BACK.div_ceil(width.max(1)).max(1);
    // Cells are cut from the newest end, so that a cell keeps its seconds for as long as it can.
    let mut bars: Vec<_> = last
        .rchunks(per_cell)
        .map(|chunk| Bar {
            calls: f64::from(chunk.iter().map(|second| second.calls).sum::<u32>())
                / chunk.len() as f64,
            failed: chunk.iter().any(|second| second.errors > 0),
        })
        .collect();
    bars.reverse();
    bars
}

/// A round number that is at least the highest column.
fn top(bars: &[Bar]) -> f64 {
    let highest = bars.iter().map(|bar| bar.calls).fold(0.0, f64::max);
    let mut top = 1.0;
    for factor in [2.0, 2.5, 2.0].into_iter().cycle() {
        if top >= highest {
            break;
        }
        top *= factor;
    }
    top
}

/// Draws it. With room, the bottom line marks where calls failed.
pub(super) fn view(recent: &[SecondRow], theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    if area.width <= AXIS || area.height == 0 {
        return;
    }
    let width = usize::from(area.width - AXIS);
    let bars = bars(recent, width);
    let top = top(&bars);
    let marks = area.height >= 4;
    let rows = usize::from(area.height - u16::from(marks));
    let levels = theme.levels();
    let steps = levels.len() - 1;
    let full = (rows * steps) as f64;
    for row in 0..rows {
        // The row's foot and head in steps of a level.
        let foot = (rows - 1 - row) * steps;
        let label = match row {
            0 => format!("{top:>4.0} "),
            _ if row == rows - 1 => "   0 ".to_owned(),
            _ => "     ".to_owned(),
        };
        let blocks: String = bars
            .iter()
            .map(|bar| {
                let filled = (bar.calls / top * full).ceil() as usize;
                levels[filled.saturating_sub(foot).min(steps)]
            })
            .collect();
        // Always at the right: now is where it was.
        let gap = width - bars.len().min(width);
        let line = Line::from(vec![
            Span::styled(label, theme.dim()),
            Span::raw(" ".repeat(gap)),
            Span::styled(blocks, theme.bar()),
        ]);
        let y = area.y + u16::try_from(row).unwrap_or(0);
        frame.render_widget(
            line,
            Rect {
                y,
                height: 1,
                ..area
            },
        );
    }
    if marks {
        let failed: String = bars
            .iter()
            .map(|bar| {
                if bar.failed {
                    theme.mark(Health::Bad)
                } else {
                    " "
                }
            })
            .collect();
        let gap = width - bars.len().min(width);
        let line = Line::from(vec![
            Span::styled(" err ", theme.dim()),
            Span::raw(" ".repeat(gap)),
            Span::styled(failed, theme.health(Health::Bad)),
        ]);
        let y = area.bottom() - 1;
        frame.render_widget(
            line,
            Rect {
                y,
                height: 1,
                ..area
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(calls: &[u32]) -> Vec<SecondRow> {
        calls
            .iter()
            .map(|calls| SecondRow {
                calls: *calls,
                errors: u32::from(*calls == 9),
            })
            .collect()
    }

    #[test]
    fn the_running_second_is_left_out_and_cells_are_averages() {
        let calls: Vec<_> = bars(&seconds(&[1, 3, 9, 5, 100]), 60)
            .iter()
            .map(|bar| (bar.calls, bar.failed))
            .collect();
        assert_eq!(calls, [(2.0, false), (7.0, true)]);
        assert_eq!(bars(&[], 60), []);
        assert_eq!(bars(&seconds(&[7]), 0), []);
    }

    #[test]
    fn the_axis_ends_at_a_round_number() {
        let top = |calls| {
            top(&[Bar {
                calls,
                failed: false,
            }])
        };
        assert_eq!(
            [
                top(0.0),
                top(1.5),
                top(2.1),
                top(12.4),
                top(99.0),
                top(101.0)
            ],
            [1.0, 2.0, 5.0, 20.0, 100.0, 200.0]
        );
    }
}
