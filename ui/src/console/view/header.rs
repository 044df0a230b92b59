//! The line that answers whether all is well, and the line of tabs.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use toolcrib::observe::{DeploymentState, SecondRow};

use crate::console::figures;
use crate::console::screens::ScreenId;
use crate::console::shared::Shared;
use crate::console::state::State;
use crate::console::theme::Health;
use crate::text;

/// A part of the header. What does not fit goes by rank, the highest first.
struct Part {
    rank: u8,
    spans: Vec<Span<'static>>,
}

impl Part {
    fn width(&self) -> usize {
        self.spans
            .iter()
            .map(|span| text::width(&span.content))
            .sum()
    }
}

/// Draws the header.
pub(super) fn view(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let mut parts = parts(&state.shared);
    let gap = 2;
    let room = usize::from(area.width).saturating_sub(1);
    let full = |parts: &[Part]| -> usize {
        let widths: usize = parts.iter().map(Part::width).sum();
        widths + gap * parts.len().saturating_sub(1)
    };
    while full(&parts) > room && parts.len() > 1 {
        let worst = parts.iter().map(|part| part.rank).max();
        parts.retain(|part| Some(part.rank) != worst);
    }
    let mut spans = vec![Span::raw(" ")];
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::raw(" ".repeat(gap)));
        }
        spans.extend(part.spans);
    }
    frame.render_widget(Line::from(spans), area);
}

fn parts(shared: &Shared) -> Vec<Part> {
    let theme = shared.theme;
    let snapshot = shared.newest();
    let number = |label: &'static str, value: String, health: Option<Health>| {
        let style = health.map_or(theme.strong(), |health| theme.health(health));
        vec![
            Span::styled(label, theme.dim()),
            Span::raw(" "),
            Span::styled(value, style),
        ]
    };
    let (health, word) = match &snapshot.deployment.state {
        DeploymentState::Starting => (Health::Busy, "starting"),
        DeploymentState::Serving => (Health::Good, "serving"),
        DeploymentState::Failed { .. } => (Health::Bad, "failed"),
        DeploymentState::Stopping => (Health::Off, "stopping"),
    };
    let mut parts = vec![
        Part {
            rank: 8,
            spans: vec![Span::styled("toolcrib", theme.title())],
        },
        Part {
            rank: 2,
            spans: vec![Span::styled(
                text::truncate(&snapshot.deployment.name, 24, theme.marks).into_owned(),
                theme.strong(),
            )],
        },
        Part {
            rank: 0,
            spans: vec![Span::styled(
                format!("{} {word}", theme.mark(health)),
                theme.health(health),
            )],
        },
    ];
    let reload = snapshot.deployment.reload.as_deref();
    if reload.is_some_and(|reload| !reload.problems.is_empty()) {
        // What runs is not what the files say; the overview tells the problems.
        parts.push(Part {
            rank: 0,
            spans: vec![Span::styled(
                format!("{} not reloaded", theme.mark(Health::Warning)),
                theme.health(Health::Warning),
            )],
        });
    }
    let servers = &snapshot.servers;
    let ready = servers.iter().filter(|server| server.state.is_up()).count();
    let all = servers.len();
    let health = if ready == all {
        None
    } else {
        Some(Health::Bad)
    };
    let bang = if ready == all { "" } else { "!" };
    parts.push(Part {
        rank: 0,
        spans: number("servers", format!("{ready}/{all}{bang}"), health),
    });
    parts.push(Part {
        rank: 6,
        spans: number("tools", snapshot.tools.len().to_string(), None),
    });
    parts.push(Part {
        rank: 1,
        spans: number("running", snapshot.running.len().to_string(), None),
    });
    let asking = snapshot.questions.len();
    if asking > 0 {
        let bell = theme.pick("◆", "*");
        let words = match asking {
            1 => format!("{bell} a server asks"),
            _ => format!("{bell} {asking} questions of servers"),
        };
        parts.push(Part {
            rank: 0,
            spans: vec![Span::styled(words, theme.health(Health::Warning))],
        });
    }
    let recent = &snapshot.stats.recent;
    parts.push(Part {
        rank: 4,
        spans: number(
            "calls",
            format!("{}/s", figures::rate(per_second(recent))),
            None,
        ),
    });
    let total = &snapshot.stats.total;
    let p95 = match total.calls {
        0 => theme.none().to_owned(),
        _ => figures::latency(total.latency.p95),
    };
    parts.push(Part {
        rank: 5,
        spans: number("p95", p95, None),
    });
    let (calls, errors) = recent
        .iter()
        .fold((0_u64, 0_u64), |(calls, errors), second| {
            (
                calls + u64::from(second.calls),
                errors + u64::from(second.errors),
            )
        });
    let failing = (errors > 0).then_some(Health::Warning);
    parts.push(Part {
        rank: 3,
        spans: number("err", figures::percent(errors, calls, theme), failing),
    });
    let waiting = snapshot.approvals.len();
    if waiting > 0 {
        parts.push(Part {
            rank: 0,
            spans: vec![Span::styled(
                format!("{} {waiting} to approve", theme.pick("⍾", "(!)")),
                theme.health(Health::Warning),
            )],
        });
    }
    parts.push(match &snapshot.worst_budget {
        Some(used) => {
            let percent = used.percent();
            let name = text::truncate(&used.session, 16, theme.marks);
            let full = (percent >= 90).then_some(Health::Warning);
            Part {
                rank: 1,
                spans: number("budget", format!("{name} {percent} %"), full),
            }
        }
        // Without a session there is none to use up.
        None => Part {
            rank: 9,
            spans: number("budget", theme.none().to_owned(), None),
        },
    });
    if shared.options.read_only {
        parts.push(Part {
            rank: 2,
            spans: vec![Span::styled("read-only", theme.health(Health::Warning))],
        });
    }
    if let Some(since) = shared.frozen() {
        let age = figures::age(since.age(shared.real_now().at));
        parts.push(Part {
            rank: 0,
            spans: vec![Span::styled(
                format!("{} frozen {age}", theme.pick("⏸", "||")),
                theme.health(Health::Warning),
            )],
        });
    }
    let up = snapshot.started.age(shared.real_now().at);
    parts.push(Part {
        rank: 7,
        spans: number("up", figures::clock(up), None),
    });
    parts
}

/// Calls per second over the last ten whole seconds; the newest second is not over yet.
fn per_second(recent: &[SecondRow]) -> f64 {
    let whole = recent.split_last().map_or(&[][..], |(_, whole)| whole);
    let last = &whole[whole.len().saturating_sub(10)..];
    if last.is_empty() {
        return 0.0;
    }
    let calls: u32 = last.iter().map(|second| second.calls).sum();
    f64::from(calls) / Duration::from_secs(last.len() as u64).as_secs_f64()
}

/// Draws the tabs.
pub(super) fn view_tabs(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let theme = state.shared.theme;
    let mut spans = Vec::new();
    for (id, text) in tabs(state, area.width) {
        let style = if id == state.screen {
            theme.selected()
        } else if text.contains('!') {
            theme.health(Health::Warning)
        } else {
            theme.text()
        };
        spans.push(Span::styled(text, style));
    }
    frame.render_widget(Line::from(spans), area);
}

/// The tabs as they fit into the width: full titles, or the title of the shown screen alone.
fn tabs(state: &State, width: u16) -> Vec<(ScreenId, String)> {
    let make = |short: bool, titles: usize| {
        ScreenId::ALL.map(|id| {
            let mark = match state.screens.get(id).wants_attention(&state.shared) {
                true => "!",
                false => "",
            };
            let title = id.title();
            let title = if short && id != state.screen {
                title.get(..titles).unwrap_or(title)
            } else {
                title
            };
            let blank = if title.is_empty() { "" } else { " " };
            (id, format!(" {}{blank}{title}{mark} ", id.number()))
        })
    };
    let fits = |tabs: &[(ScreenId, String); 9]| {
        let cells: usize = tabs.iter().map(|(_, text)| text::width(text)).sum();
        cells <= usize::from(width)
    };
    [make(false, 0), make(true, 5), make(true, 4), make(true, 3)]
        .into_iter()
        .find(fits)
        .unwrap_or_else(|| make(true, 0))
        .into()
}

/// The screen whose tab is drawn there.
pub(in crate::console) fn tab_at(state: &State, column: u16, row: u16) -> Option<ScreenId> {
    let area = state.areas().tabs;
    if area.is_empty() || row != area.y {
        return None;
    }
    let mut end = 0;
    tabs(state, area.width).into_iter().find_map(|(id, text)| {
        end += text::width(&text);
        (usize::from(column) < end).then_some(id)
    })
}
