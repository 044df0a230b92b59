//! Calls per second over the last two minutes, as columns of blocks. Pure.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use toolcrib::observe::SecondRow;

use crate::console::theme::{Health, Theme};

/// How far back the chart goes at least, in seconds; the width decides how much more.
const BACK: usize = 120;

/// The cells of the axis on the left.
const AXIS: u16 = 5;

/// One column: calls per second on average, and whether any call failed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    calls: f64,
    failed: bool,
}

/// How many columns an area has room for.
pub(super) fn room(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(AXIS))
}

/// How many seconds one column stands for.
fn per_column(columns: usize) -> usize {
    BACK.div_ceil(columns.max(1))
}

/// How many seconds so many columns show.
pub(super) fn seconds(columns: usize) -> usize {
    columns * per_column(columns)
}

/// The columns that fit, the newest last. The second that is not over yet is left out: it would
/// always look like a drop. Columns are cut at whole multiples of their length since the start
/// (`elapsed` seconds ago), so that a column keeps its seconds while it moves to the left.
fn bars(recent: &[SecondRow], elapsed: u64, columns: usize) -> Vec<Bar> {
    let whole = recent.split_last().map_or(&[][..], |(_, whole)| whole);
    let length = per_column(columns);
    let begun = usize::try_from(elapsed % length as u64).unwrap_or(0);
    let (full, newest) = whole.split_at(whole.len().saturating_sub(begun));
    let newest = (!newest.is_empty()).then_some(newest);
    let mut bars: Vec<_> = newest
        .into_iter()
        .chain(full.rchunks(length))
        .take(columns)
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
pub(super) fn view(
    recent: &[SecondRow],
    elapsed: u64,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    if area.width <= AXIS || area.height == 0 {
        return;
    }
    let width = room(area);
    let bars = bars(recent, elapsed, width);
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

    fn seconds_of(calls: &[u32]) -> Vec<SecondRow> {
        calls
            .iter()
            .map(|calls| SecondRow {
                calls: *calls,
                errors: u32::from(*calls == 9),
            })
            .collect()
    }

    #[test]
    fn the_running_second_is_left_out_and_columns_are_averages_that_keep_their_seconds() {
        let shown = |calls: &[u32], elapsed| -> Vec<(f64, bool)> {
            let bars = bars(&seconds_of(calls), elapsed, 60);
            bars.iter().map(|bar| (bar.calls, bar.failed)).collect()
        };
        assert_eq!(shown(&[1, 3, 9, 5, 100], 4), [(2.0, false), (7.0, true)]);
        assert_eq!(
            shown(&[1, 3, 9, 5, 4, 100], 5),
            [(2.0, false), (7.0, true), (4.0, false)]
        );
        assert_eq!(shown(&[], 0), []);
        assert_eq!(bars(&seconds_of(&[7]), 0, 0), []);
    }

    #[test]
    fn the_columns_fill_the_width_and_reach_back_two_minutes_at_least() {
        let recent = seconds_of(&[1; 300]);
        for width in [1, 7, 52, 60, 119, 120, 140] {
            assert!(seconds(width) >= BACK);
            assert!(bars(&recent, 0, width).len() <= width);
        }
        assert_eq!((seconds(52), bars(&recent, 0, 52).len()), (156, 52));
        assert_eq!((seconds(140), bars(&recent, 0, 140).len()), (140, 140));
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
