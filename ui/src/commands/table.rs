//! Tables of text: columns line up whatever script the cells are in.

use std::borrow::Cow;

use super::output::{Look, Tone};
use crate::text::{truncate, width};

/// The space between two columns.
const GAP: usize = 2;

/// The last column keeps at least this much room on a narrow terminal; the line wraps instead.
const NARROWEST: usize = 16;

/// A cell: one line of clean text with a tone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
    right: bool,
}

impl Cell {
    /// A text at the left of its column.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Plain,
            right: false,
        }
    }

    /// A number at the right of its column.
    pub(crate) fn number(number: impl ToString) -> Self {
        Self {
            text: number.to_string(),
            tone: Tone::Plain,
            right: true,
        }
    }

    /// The cell in a tone.
    pub(crate) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// Rows under headings.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these headings. A heading stands over numbers at the right, like them.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        let headings = headings.map(|heading| Cell::new(heading).tone(Tone::Strong));
        Self {
            rows: vec![headings.to_vec()],
        }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        if let Some(headings) = self.rows.first_mut() {
            for (heading, cell) in headings.iter_mut().zip(&cells) {
                heading.right |= cell.right;
            }
        }
        self.rows.push(cells.to_vec());
    }

    /// The lines. On a terminal the last column is cut at its edge.
    pub(crate) fn lines(&self, look: &Look) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| width(&cell.text)).max().unwrap_or(0)
            })
            .collect();
        let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP).sum();
        let last = look.size.map(|(columns, _)| {
            let room = usize::from(columns).saturating_sub(before);
            room.max(NARROWEST)
        });
        self.rows
            .iter()
            .map(|row| line(row, &widths, last, look))
            .collect()
    }
}

fn line(row: &[Cell], widths: &[usize], last: Option<usize>, look: &Look) -> String {
    let mut line = String::new();
    for (column, (cell, wide)) in row.iter().zip(widths).enumerate() {
        let is_last = column + 1 == widths.len();
        let text = match last {
            Some(room) if is_last => truncate(&cell.text, room, look.marks()),
            _ => Cow::Borrowed(&*cell.text),
        };
        let missing = wide.saturating_sub(width(&text));
        if cell.right {
            line.extend(std::iter::repeat_n(' ', missing));
        }
        line.push_str(&look.paint(cell.tone, &text));
        if !is_last {
            let after = if cell.right { 0 } else { missing };
            line.extend(std::iter::repeat_n(' ', after + GAP));
        }
    }
    // Cells at the end may be empty, and a pipe should not see the padding before them.
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Look = Look {
        terminal: false,
        colour: false,
        ascii: false,
        size: None,
    };

    fn table() -> Table {
        let mut table = Table::new(["NAME", "BYTES", "WHAT"]);
        table.row([
            Cell::new("日本語"),
            Cell::number(7),
            Cell::new("wide letters"),
        ]);
        table.row([Cell::new("👩‍🚀 a"), Cell::number(1204), Cell::new("")]);
        table
    }

    #[test]
    fn columns_line_up_whatever_script_they_hold_and_lines_end_with_their_text() {
        assert_eq!(
            table().lines(&PIPE),
            [
                "NAME    BYTES  WHAT",
                "日本語      7  wide letters",
                "👩‍🚀 a     1204",
            ]
        );
    }

    #[test]
    fn the_last_column_is_cut_at_the_edge_of_a_terminal_alone() {
        let mut table = Table::new(["N", "WHAT"]);
        table.row([Cell::new("a"), Cell::new("twenty-two columns, ok")]);
        let line = |columns: Option<u16>, ascii| {
            let look = Look {
                size: columns.map(|columns| (columns, 24)),
                ascii,
                ..PIPE
            };
            table.lines(&look)[1].clone()
        };
        assert_eq!(line(None, false), "a  twenty-two columns, ok");
        assert_eq!(line(Some(20), false), "a  twenty-two colum…");
        assert_eq!(line(Some(20), true), "a  twenty-two colum~");
        assert_eq!(line(Some(4), false), "a  twenty-two colu…");
    }
}
