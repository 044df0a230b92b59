//! Everything there is to say of the deployment: what became of the last reload with each problem
//! and its place, what it did, and what was noticed when it was read. Or the same of a scenario
//! that cannot be played.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use toolcrib::deployment::{Problems, Severity};
use toolcrib::observe::DeploymentState;

use crate::console::figures;
use crate::console::frame::centered;
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text::{self, Lines};

/// What is reported, and where the report stands.
#[derive(Debug, Default)]
pub(in crate::console) struct Report {
    pub(in crate::console) top: usize,
    /// The problems of a scenario; the report is of the deployment without them.
    pub(in crate::console) scenario: Option<Problems>,
}

impl Report {
    pub(in crate::console) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let area = centered(area, 110, area.height);
        frame.render_widget(Clear, area);
        let title = match self.scenario {
            None => "The deployment",
            Some(_) => "The scenario",
        };
        let inner = pane::frame_always(shared, frame, area, title);
        let lines: Vec<_> = self.lines(shared).into_iter().skip(self.top).collect();
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
    }

    /// Its lines.
    pub(in crate::console) fn lines(&self, shared: &Shared) -> Vec<Line<'static>> {
        match &self.scenario {
            None => of_deployment(shared),
            Some(problems) => of_scenario(problems, shared),
        }
    }
}

/// Each problem with its place.
fn of_scenario(problems: &Problems, shared: &Shared) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let title = match problems.0.len() {
        1 => "not played: its file has 1 problem".to_owned(),
        count => format!("not played: its file has {count} problems"),
    };
    let mut lines = vec![Line::styled(title, theme.title()), Line::default()];
    lines.extend(problems.iter().map(|problem| {
        let health = match problem.severity {
            Severity::Error => Health::Bad,
            Severity::Warning => Health::Warning,
        };
        let words = text::clean(&problem.to_string(), Lines::One, theme.marks).into_owned();
        Line::from(vec![
            Span::styled(format!("{} ", theme.mark(health)), theme.health(health)),
            Span::raw(words),
        ])
    }));
    lines
}

/// The newest state counts even while the view is frozen.
fn of_deployment(shared: &Shared) -> Vec<Line<'static>> {
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
