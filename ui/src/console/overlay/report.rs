//! Everything there is to say of the deployment: what became of the last reload with each problem
//! and its place, what it did, and what was noticed when it was read.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use toolcrib::observe::DeploymentState;

use crate::console::figures;
use crate::console::frame::centered;
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::Health;

/// Where the report stands.
#[derive(Debug, Default)]
pub(in crate::console) struct Report {
    pub(in crate::console) top: usize,
}

impl Report {
    pub(in crate::console) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let area = centered(area, 110, area.height);
        frame.render_widget(Clear, area);
        let inner = pane::frame_always(shared, frame, area, "The deployment");
        let lines: Vec<_> = lines(shared).into_iter().skip(self.top).collect();
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
    }
}

/// Its lines. The newest state counts even while the view is frozen.
pub(in crate::console) fn lines(shared: &Shared) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let snapshot = shared.newest();
    let row = &snapshot.deployment;
    let mut lines = vec![Line::from(vec![
        Span::styled(row.name.to_string(), theme.strong()),
        Span::raw(format!(", {}", row.state.as_str())),
    ])];
    if let DeploymentState::Failed { cause } = &row.state {
        lines.push(Line::styled(cause.clone(), theme.health(Health::Bad)));
    }
    let each = |texts: &[String], health: Health| -> Vec<Line<'static>> {
        let line = |text: &String| {
            Line::from(vec![
                Span::styled(format!("{} ", theme.mark(health)), theme.health(health)),
                Span::raw(text.clone()),
            ])
        };
        texts.iter().map(line).collect()
    };
    lines.push(Line::default());
    match &row.reload {
        None => lines.push(Line::styled(
            "it has not been read again since the start",
            theme.dim(),
        )),
        Some(reload) => {
            let age = figures::age(reload.at.age(shared.real_now().at));
            let (title, texts, health) = match reload.problems.is_empty() {
                false => (
                    format!("not reloaded {age} ago: the old deployment keeps serving"),
                    &reload.problems,
                    Health::Bad,
                ),
                true if reload.done.is_empty() => (
                    format!("reloaded {age} ago: nothing had changed"),
                    &reload.done,
                    Health::Good,
                ),
                true => (format!("reloaded {age} ago"), &reload.done, Health::Good),
            };
            lines.push(Line::styled(title, theme.title()));
            lines.extend(each(texts, health));
        }
    }
    if !row.warnings.is_empty() {
        lines.push(Line::default());
        lines.push(Line::styled("noticed when it was read", theme.title()));
        lines.extend(each(&row.warnings, Health::Warning));
    }
    lines
}
