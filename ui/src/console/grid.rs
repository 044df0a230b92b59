//! Rows of columns: what does not fit is left out from the least important column on, so that the
//! rest stays where it is. [`Table`] draws the rows of a window, and only those.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::theme::Theme;
use crate::text;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Its head.
    pub(crate) head: &'static str,
    /// How many cells it needs.
    pub(crate) width: usize,
    /// Whether it takes what is left over; only the first such column does.
    pub(crate) fills: bool,
    /// Whether its values stand at the right.
    pub(crate) right: bool,
    /// The higher, the earlier it is left out.
    pub(crate) rank: u8,
}

impl Column {
    /// A column of words. That of rank 0 takes what is left over.
    pub(crate) const fn words(head: &'static str, width: usize, rank: u8) -> Self {
        Self {
            head,
            width,
            fills: rank == 0,
            right: false,
            rank,
        }
    }

    /// A column of numbers, which stand at the right and need no more room than they take.
    pub(crate) const fn number(head: &'static str, width: usize, rank: u8) -> Self {
        Self {
            fills: false,
            right: true,
            ..Self::words(head, width, rank)
        }
    }
}

/// How a list of rows is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Table<'t> {
    /// The columns.
    pub(crate) columns: &'t [Column],
    /// Which column the rows are sorted by, and whether large values come first.
    pub(crate) sorted: Option<(usize, bool)>,
    /// Said in place of heads and rows when there are none.
    pub(crate) empty: &'t str,
    /// How many rows there are.
    pub(crate) rows: usize,
    /// Those in the window.
    pub(crate) window: Range<usize>,
    /// The row that is selected, and whether the pane has the focus.
    pub(crate) selected: Option<(usize, bool)>,
}

impl Table<'_> {
    /// Draws the heads and the rows of the window. `cells` gives a row's cells, and the width of
    /// each column, 0 for one that is left out.
    pub(crate) fn view<C: IntoIterator<Item = (String, Style)>>(
        &self,
        theme: Theme,
        frame: &mut Frame<'_>,
        area: Rect,
        cells: impl Fn(usize, &[usize]) -> Option<C>,
    ) {
        if area.is_empty() {
            return;
        }
        if self.rows == 0 {
            frame.render_widget(Paragraph::new(self.empty).wrap(Wrap { trim: true }), area);
            return;
        }
        let widths = widths(self.columns, usize::from(area.width));
        let row = |y| Rect {
            y,
            height: 1,
            ..area
        };
        frame.render_widget(
            heads(self.columns, &widths, self.sorted, theme),
            row(area.y),
        );
        for (y, number) in (area.top() + 1..area.bottom()).zip(self.window.clone()) {
            let Some(cells) = cells(number, &widths) else {
                break;
            };
            frame.render_widget(line(self.columns, &widths, cells, theme), row(y));
            if let Some((_, focused)) = self.selected.filter(|(at, _)| *at == number) {
                // Over the whole width, so that a selected row is one bar.
                frame
                    .buffer_mut()
                    .set_style(row(y), theme.selection(focused));
            }
        }
    }
}

/// The cells that each column gets in so much room; 0 for one that is left out.
pub(crate) fn widths(columns: &[Column], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.width).collect();
    loop {
        let shown = widths.iter().filter(|width| **width > 0).count();
        let used = widths.iter().sum::<usize>() + shown.saturating_sub(1);
        if used <= room || shown <= 1 {
            let fills = columns.iter().position(|column| column.fills);
            if let Some(at) = fills.filter(|at| widths[*at] > 0) {
                widths[at] = (widths[at] + room).saturating_sub(used);
            }
            return widths;
        }
        let last = (0..columns.len())
            .filter(|at| widths[*at] > 0)
            .max_by_key(|at| columns[*at].rank);
        if let Some(at) = last {
            widths[at] = 0;
        }
    }
}

/// The line of the heads, the sorted one with its direction.
pub(crate) fn heads(
    columns: &[Column],
    widths: &[usize],
    sorted: Option<(usize, bool)>,
    theme: Theme,
) -> Line<'static> {
    let cells = columns.iter().enumerate().map(|(at, column)| {
        let head = match sorted {
            Some((by, descending)) if by == at => {
                let sign = match descending {
                    true => theme.pick("▾", "v"),
                    false => theme.pick("▴", "^"),
                };
                format!("{}{sign}", column.head)
            }
            _ => column.head.to_owned(),
        };
        (head, theme.title())
    });
    line(columns, widths, cells, theme)
}

/// A row.
pub(crate) fn line<T: AsRef<str>>(
    columns: &[Column],
    widths: &[usize],
    cells: impl IntoIterator<Item = (T, Style)>,
    theme: Theme,
) -> Line<'static> {
    let mut spans = Vec::with_capacity(columns.len() * 2);
    for ((column, width), (cell, style)) in columns.iter().zip(widths).zip(cells) {
        if *width == 0 {
            continue;
        }
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        let cell = match column.right {
            true => text::fit_right(cell.as_ref(), *width, theme.marks),
            false => text::fit(cell.as_ref(), *width, theme.marks),
        };
        spans.push(Span::styled(cell, style));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn column(width: usize, fills: bool, rank: u8) -> Column {
        Column {
            head: "X",
            width,
            fills,
            right: false,
            rank,
        }
    }

    #[test]
    fn the_least_important_column_goes_first_and_the_filling_one_takes_the_rest() {
        let columns = [
            column(10, true, 0),
            column(5, false, 2),
            column(6, false, 1),
        ];
        assert_eq!(widths(&columns, 30), [17, 5, 6]);
        assert_eq!(widths(&columns, 20), [13, 0, 6]);
        assert_eq!(widths(&columns, 12), [12, 0, 0]);
        assert_eq!(widths(&columns, 4), [4, 0, 0]);
    }
}
