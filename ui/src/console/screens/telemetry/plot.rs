//! Charts made of text: columns over time, bars, headings. Pure.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::observe::Bin;

use crate::console::figures;
use crate::console::theme::{Health, Theme};
use crate::text;

/// A heading across the pane.
pub(super) fn heading(title: &str, width: usize, theme: Theme) -> Line<'static> {
    let rule = theme.pick("─", "-");
    let used = text::width(title) + 4;
    let rest = rule.repeat(width.saturating_sub(used).min(200));
    Line::from(vec![
        Span::styled(format!("{rule}{rule} "), theme.dim()),
        Span::styled(title.to_owned(), theme.title()),
        Span::styled(format!(" {rest}"), theme.dim()),
    ])
}

/// The cells of the axis on the left.
const AXIS: usize = 7;

/// Columns of calls, the newest at the right, with the number of failures below.
pub(super) fn columns(bins: &[Bin], width: usize, rows: usize, theme: Theme) -> Vec<Line<'static>> {
    let room = width.saturating_sub(AXIS);
    if bins.is_empty() || room < bins.len() {
        return vec![Line::styled("too narrow for a chart", theme.dim())];
    }
    let cells = (room / bins.len()).min(8);
    let most = bins.iter().map(|bin| bin.calls).max().unwrap_or(0).max(1);
    let levels = theme.levels();
    let steps = levels.len() - 1;
    let full = rows * steps;
    let mut lines: Vec<Line<'static>> = (0..rows)
        .map(|row| {
            let foot = (rows - 1 - row) * steps;
            let label = match row {
                0 => figures::count(most),
                _ if row == rows - 1 => "0".to_owned(),
                _ => String::new(),
            };
            let blocks: String = bins
                .iter()
                .map(|bin| {
                    let share = bin.calls as f64 / most as f64;
                    let filled = (share * full as f64).ceil() as usize;
                    let level = levels[filled.saturating_sub(foot).min(steps)];
                    let body = cells.saturating_sub(usize::from(cells > 1));
                    format!("{}{}", level.repeat(body), if cells > 1 { " " } else { "" })
                })
                .collect();
            Line::from(vec![
                Span::styled(format!("{label:>6} "), theme.dim()),
                Span::styled(blocks, theme.bar()),
            ])
        })
        .collect();
    if bins.iter().any(|bin| bin.errors > 0) {
        let failed: String = bins
            .iter()
            .map(|bin| match bin.errors {
                0 => " ".repeat(cells),
                errors => {
                    let shown = format!("{}{}", theme.mark(Health::Bad), figures::count(errors));
                    text::fit(&shown, cells, theme.marks)
                }
            })
            .collect();
        lines.push(Line::from(vec![
            Span::styled(format!("{:>6} ", "failed"), theme.dim()),
            Span::styled(failed, theme.health(Health::Bad)),
        ]));
    }
    lines
}

/// Rows of a histogram with at most so many rows: neighbours are put together where there are more.
pub(super) fn latency_rows(mut rows: Vec<(Duration, u64)>, most: usize) -> Vec<(String, u64)> {
    while rows.len() > most {
        rows = rows
            .chunks(2)
            .map(|pair| {
                let below = pair.last().map_or(Duration::ZERO, |row| row.0);
                (below, pair.iter().map(|row| row.1).sum())
            })
            .collect();
    }
    rows.into_iter()
        .map(|(below, count)| (format!("< {}", figures::latency(below)), count))
        .collect()
}

/// Bars with their label at the left and their count at the right.
pub(super) fn bars(
    rows: &[(String, u64)],
    width: usize,
    style: Style,
    theme: Theme,
) -> Vec<Line<'static>> {
    let total: u64 = rows.iter().map(|row| row.1).sum();
    if total == 0 {
        return vec![Line::styled("none in this window", theme.dim())];
    }
    let most = rows.iter().map(|row| row.1).max().unwrap_or(1);
    let label = rows
        .iter()
        .map(|row| text::width(&row.0))
        .max()
        .unwrap_or(0);
    let room = width.saturating_sub(label + 20).clamp(1, 60);
    let block = theme.pick("█", "#");
    rows.iter()
        .map(|(name, count)| {
            let cells = (*count as f64 / most as f64 * room as f64).ceil() as usize;
            Line::from(vec![
                Span::styled(text::fit_right(name, label, theme.marks), theme.dim()),
                Span::raw(" "),
                Span::styled(text::fit(&block.repeat(cells), room, theme.marks), style),
                Span::raw(format!(
                    " {} {}",
                    figures::count(*count),
                    figures::percent(*count, total, theme)
                )),
            ])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::reader::plain;
    use crate::text::Marks;

    const THEME: Theme = Theme {
        colour: false,
        marks: Marks::Ascii,
    };

    #[test]
    fn columns_scale_to_the_busiest_slot_and_failures_stand_below() {
        let bin = |calls, errors| Bin {
            calls,
            errors,
            slowest: Duration::ZERO,
        };
        let bins = [bin(0, 0), bin(8, 2), bin(4, 0)];
        let lines: Vec<String> = columns(&bins, 16, 2, THEME).iter().map(plain).collect();
        assert_eq!(
            lines,
            ["     8    ##    ", "     0    ## ## ", "failed    x2    "]
        );
        assert_eq!(columns(&bins, 8, 2, THEME).len(), 1, "no room");
    }

    #[test]
    fn a_histogram_is_put_together_until_it_fits_and_loses_nothing() {
        let rows = (0..20)
            .map(|at| (Duration::from_micros(1 << at), at))
            .collect();
        let fitted = latency_rows(rows, 12);
        assert_eq!(fitted.len(), 10);
        assert_eq!(fitted.iter().map(|row| row.1).sum::<u64>(), 190);
        assert_eq!(fitted[0].0, "< 2 us");
    }
}
