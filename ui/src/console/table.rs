//! A table whose columns keep their place: widths are fixed, one column takes the rest, and where
//! the room does not suffice whole columns go, the least important first. Pure.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::text;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Its head.
    pub(crate) title: &'static str,
    /// Its width in cells; for the one that takes the rest, its least width.
    pub(crate) width: usize,
    /// Whether it takes the rest.
    pub(crate) rest: bool,
    /// Whether its values stand at its right edge.
    pub(crate) right: bool,
    /// The highest rank goes first where there is no room; 0 never goes.
    pub(crate) rank: u8,
}

impl Column {
    /// A column of fixed width.
    pub(crate) const fn new(title: &'static str, width: usize, rank: u8) -> Self {
        Self {
            title,
            width,
            rest: false,
            right: false,
            rank,
        }
    }

    /// With its values at the right edge.
    pub(crate) const fn right(mut self) -> Self {
        self.right = true;
        self
    }

    /// Takes the rest of the width.
    pub(crate) const fn rest(mut self) -> Self {
        self.rest = true;
        self
    }
}

/// A row: a value and its style for each column.
pub(crate) struct Row {
    /// The values, in the order of all columns.
    pub(crate) cells: Vec<(String, Style)>,
    /// The style of the whole row.
    pub(crate) style: Style,
}

/// Which columns fit, with the widths they get.
fn fit(columns: &[Column], width: usize) -> Vec<(usize, usize)> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let needs = |kept: &[usize]| -> usize {
        let widths: usize = kept.iter().map(|at| columns[*at].width).sum();
        widths + kept.len().saturating_sub(1)
    };
    while needs(&kept) > width {
        let worst = kept.iter().map(|at| columns[*at].rank).max();
        match worst {
            Some(worst) if worst > 0 => kept.retain(|at| columns[*at].rank != worst),
            _ => break,
        }
    }
    let left = width.saturating_sub(needs(&kept));
    kept.into_iter()
        .map(|at| {
            let column = columns[at];
            let more = if column.rest { left } else { 0 };
            (at, column.width + more)
        })
        .collect()
}

/// Draws the heads in the first line and the rows below. `sorted` names the column that the rows
/// are sorted by, and whether the order is inverted.
pub(crate) fn view(
    columns: &[Column],
    sorted: Option<(usize, bool)>,
    rows: impl Iterator<Item = Row>,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    if area.is_empty() {
        return;
    }
    let fitted = fit(columns, area.width.into());
    let place = |text: &str, column: &Column, width: usize| match column.right {
        true => text::fit_right(text, width, theme.marks),
        false => text::fit(text, width, theme.marks),
    };
    let mut heads = Vec::new();
    for (at, width) in &fitted {
        let column = &columns[*at];
        let arrow = match sorted {
            Some((by, false)) if by == *at => theme.pick("▾", "v"),
            Some((by, true)) if by == *at => theme.pick("▴", "^"),
            _ => "",
        };
        let title = place(&format!("{}{arrow}", column.title), column, *width);
        heads.push(Span::styled(title, theme.title()));
        heads.push(Span::raw(" "));
    }
    frame.render_widget(Line::from(heads), Rect { height: 1, ..area });
    for (y, row) in (area.top() + 1..area.bottom()).zip(rows) {
        let mut spans = Vec::new();
        for (at, width) in &fitted {
            if let Some((text, style)) = row.cells.get(*at) {
                spans.push(Span::styled(place(text, &columns[*at], *width), *style));
                spans.push(Span::raw(" "));
            }
        }
        let area = Rect {
            y,
            height: 1,
            ..area
        };
        frame.render_widget(Line::from(spans), area);
        // Over the whole width, so that a selected row is one bar.
        frame.buffer_mut().set_style(area, row.style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_by_rank_and_the_rest_goes_to_one_of_them() {
        let columns = [
            Column::new("NAME", 6, 0).rest(),
            Column::new("STATE", 5, 1),
            Column::new("P95", 4, 2),
        ];
        assert_eq!(fit(&columns, 20), [(0, 9), (1, 5), (2, 4)]);
        assert_eq!(fit(&columns, 17), [(0, 6), (1, 5), (2, 4)]);
        assert_eq!(fit(&columns, 16), [(0, 10), (1, 5)]);
        assert_eq!(fit(&columns, 11), [(0, 11)]);
        assert_eq!(fit(&columns, 3), [(0, 6)]);
    }
}
