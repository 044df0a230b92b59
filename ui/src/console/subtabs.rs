//! The line of sub-tabs at the top of a pane.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::text;

/// The titles, the selected one marked, and at the right where in its text the pane stands. Where
/// there is no room for all titles only the selected one is shown.
pub(crate) fn line(
    titles: &[&str],
    selected: &str,
    place: Option<&str>,
    width: usize,
    theme: Theme,
) -> Line<'static> {
    let wanted: usize = titles.iter().map(|title| text::width(title) + 3).sum();
    let mut spans = Vec::new();
    let at = titles.iter().position(|title| *title == selected);
    if wanted > width {
        let number = at.map_or(0, |at| at + 1);
        spans.push(Span::styled(format!("[{selected}]"), theme.title()));
        spans.push(Span::styled(
            format!(" {number} of {}", titles.len()),
            theme.dim(),
        ));
    } else {
        for (number, title) in titles.iter().enumerate() {
            spans.push(match Some(number) == at {
                true => Span::styled(format!("[{title}]"), theme.title()),
                false => Span::styled(format!(" {title} "), theme.dim()),
            });
            spans.push(Span::raw(" "));
        }
    }
    if let Some(place) = place {
        let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
        let cells = text::width(place);
        if used + cells < width {
            spans.push(Span::raw(" ".repeat(width - used - cells)));
            spans.push(Span::styled(place.to_owned(), theme.dim()));
        }
    }
    Line::from(spans)
}

/// What is left of a pane below the line.
pub(crate) fn below(area: Rect) -> Rect {
    let head = area.height.min(1);
    Rect {
        y: area.y + head,
        height: area.height - head,
        ..area
    }
}
