//! What is known of a call that runs.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use toolcrib::observe::RunningRow;
use toolcrib::tool::CallId;

use crate::console::figures;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::console::tree::Tree;
use crate::console::viewer::{Json, Trunk};
use crate::text::{Lines, clean};

/// How many rows of the arguments are open at first.
const OPEN: usize = 40;

/// The evidence of a call that runs.
#[derive(Debug)]
pub(super) struct Underway {
    id: CallId,
    arguments: Trunk<Json>,
}

impl Underway {
    pub(super) fn new(row: &RunningRow, theme: Theme) -> Self {
        let json = Json::new(row.arguments.clone(), theme.marks);
        Self {
            id: row.id.clone(),
            arguments: Trunk::new(Tree::new(json, OPEN)),
        }
    }

    pub(super) fn is_of(&self, id: &CallId) -> bool {
        self.id == *id
    }

    pub(super) fn scroll(&mut self, rows: isize) {
        self.arguments.tree.step(rows);
    }

    pub(super) fn open(&mut self) {
        self.arguments.tree.toggle();
    }

    pub(super) fn settle(&mut self, area: Rect) {
        self.arguments
            .settle(usize::from(area.height.saturating_sub(6)));
    }

    pub(super) fn view(
        &self,
        row: &RunningRow,
        focused: bool,
        shared: &Shared,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        let theme = shared.theme;
        let age = row.started.age(shared.now().at);
        let asked = super::question_of(&row.id, shared.snapshot());
        let (health, words) = match (row.cancelling, asked) {
            (true, _) => (Health::Warning, "is asked to stop"),
            (false, Some(_)) => (Health::Warning, "waits for your approval"),
            (false, None) => (Health::Busy, "runs"),
        };
        let sign = match asked {
            Some(_) => theme.mark(Health::Warning),
            None => spinner(age, theme),
        };
        let mut first = vec![
            Span::styled(format!("{sign} {words}"), theme.health(health)),
            Span::raw(format!(" for {}", figures::age(age))),
        ];
        if let Some(left) = asked.and_then(|asked| asked.left_at(shared.now().at)) {
            let left = figures::age(left);
            first.push(Span::raw(format!(", denied in {left} without an answer")));
        }
        let mut lines = vec![Line::from(first)];
        lines.push(match &row.progress {
            Some(progress) => {
                let share = progress.total.filter(|total| *total > 0.0);
                let share = share.map(|total| (progress.done / total).clamp(0.0, 1.0));
                let mut spans = Vec::new();
                if let Some(share) = share {
                    let cells = usize::from(area.width / 3).clamp(4, 30);
                    spans.push(Span::styled(bar(share, cells, theme), theme.bar()));
                    spans.push(Span::raw(format!(" {:.0} %", share * 100.0)));
                } else {
                    spans.push(Span::raw(format!("{} done", progress.done)));
                }
                if let Some(message) = &progress.message {
                    spans.push(Span::raw(format!("  {message}")));
                }
                Line::from(spans)
            }
            None if asked.is_some() => Line::styled(
                "a approves it, x denies it, A approves its tool from now on",
                theme.dim(),
            ),
            None => Line::styled("no progress is reported", theme.dim()),
        });
        let session = row.session.as_ref().map(|name| format!(", session {name}"));
        lines.push(Line::styled(
            format!(
                "{}{}; X cancels",
                clean(row.id.as_str(), Lines::One, theme.marks),
                session.unwrap_or_default()
            ),
            theme.dim(),
        ));
        lines.push(Line::default());
        lines.push(Line::styled("arguments", theme.title()));
        let count = u16::try_from(lines.len()).unwrap_or(5).min(area.height);
        frame.render_widget(
            Paragraph::new(lines),
            Rect {
                height: count,
                ..area
            },
        );
        let rest = Rect {
            y: area.y + count,
            height: area.height - count,
            ..area
        };
        self.arguments.view(focused, theme, frame, rest);
    }
}

/// A sign that moves while something runs.
pub(super) fn spinner(age: std::time::Duration, theme: Theme) -> &'static str {
    let frames = match theme.ascii() {
        false => ["◐", "◓", "◑", "◒"],
        true => ["|", "/", "-", "\\"],
    };
    let at = usize::try_from(age.as_secs()).unwrap_or(0) % frames.len();
    frames[at]
}

fn bar(share: f64, cells: usize, theme: Theme) -> String {
    let full = (share * cells as f64).round() as usize;
    let (on, off) = (theme.pick("▓", "#"), theme.pick("░", "."));
    format!("{}{}", on.repeat(full), off.repeat(cells - full.min(cells)))
}
