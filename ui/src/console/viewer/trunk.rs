//! A tree on the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::theme::Theme;
use crate::console::tree::{Branches, Tone, Tree, TreeRow};
use crate::text;

/// A tree and the window onto it.
#[derive(Clone, Debug)]
pub(crate) struct Trunk<B> {
    /// The tree.
    pub(crate) tree: Tree<B>,
    top: usize,
    height: usize,
}

impl<B: Branches> Trunk<B> {
    /// A tree seen from its top.
    pub(crate) fn new(tree: Tree<B>) -> Self {
        Self {
            tree,
            top: 0,
            height: 1,
        }
    }

    /// Takes over how many rows fit, and keeps the cursor in the window.
    pub(crate) fn settle(&mut self, height: usize) {
        self.height = height.max(1);
        let cursor = self.tree.cursor();
        let lowest = (cursor + 1).saturating_sub(self.height);
        self.top = self.top.clamp(lowest, cursor.max(lowest));
    }

    /// Half a page.
    pub(crate) fn half_page(&self) -> isize {
        isize::try_from(self.height / 2).unwrap_or(1).max(1)
    }

    /// Draws the rows in the window.
    pub(crate) fn view(&self, focused: bool, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
        let window = self.tree.rows().iter().enumerate().skip(self.top);
        for (y, (at, row)) in (area.top()..area.bottom()).zip(window) {
            let mut line = drawn(row, usize::from(area.width), theme);
            if at == self.tree.cursor() {
                line = line.patch_style(theme.selection(focused));
            }
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
}

fn drawn(row: &TreeRow, width: usize, theme: Theme) -> Line<'static> {
    // Deep trees keep half of the room for what they hold.
    let indent = (2 * row.path.len().saturating_sub(1)).min(width / 2);
    let sign = match (row.node.opens, row.open) {
        (true, true) => theme.pick("▾ ", "- "),
        (true, false) => theme.pick("▸ ", "+ "),
        (false, _) => "  ",
    };
    let mut spans = vec![Span::styled(
        format!("{}{sign}", " ".repeat(indent)),
        theme.dim(),
    )];
    let mut left = width.saturating_sub(indent + 2);
    for piece in &row.node.pieces {
        if left < 2 {
            break;
        }
        let shown = text::truncate(&piece.text, left, theme.marks).into_owned();
        left = left.saturating_sub(text::width(&shown) + 1);
        let style = match piece.tone {
            Tone::Key => theme.strong(),
            Tone::Text => theme.text(),
            Tone::Value => theme.bar(),
            Tone::Type => theme.title(),
            Tone::Mark => theme.health(crate::console::theme::Health::Warning),
            Tone::Dim => theme.dim(),
        };
        spans.push(Span::styled(shown, style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}
