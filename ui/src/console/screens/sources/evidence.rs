//! The evidence of a row, as lines: what was proved and when, what happened, how it was started,
//! what it said last. Pure.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::clock::Stamp;
use toolcrib::observe::ToolRow;
use toolcrib::source::{
    FailureKind, Launch, LogLine, LogOrigin, ServerState, ServerStatus, Transition,
};

use super::super::tools::compared;
use super::card::{card, quoted, time};
use super::rows::{Row, health};
use super::uptime;
use crate::console::figures;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text;

/// How many transitions and log lines stand in the evidence; the rest is in the log's sub-tab.
const RECENT: usize = 12;

/// The cells of a label.
const LABEL: usize = 14;

/// Everything about a row.
pub(super) fn lines(shared: &Shared, row: &Row, width: usize) -> Vec<Line<'static>> {
    match &row.server {
        Some(server) => of_server(shared, row, server, width),
        None => of_source(shared, row),
    }
}

fn of_source(shared: &Shared, row: &Row) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let what = match row.kind {
        "sim" => "simulated: its tools run inside this process, there is no connection to lose",
        "skills" => "skills: its tools come from files and run inside this process",
        _ => "no server of this source is known",
    };
    let mut lines = vec![
        field(theme, "kind", what),
        field(theme, "tools", &row.tools.to_string()),
    ];
    lines.push(calls(theme, row));
    if row.tools == 0 {
        lines.push(advice(
            theme,
            "it brings no tools; look at its settings in the deployment file",
        ));
    }
    lines
}

fn of_server(
    shared: &Shared,
    row: &Row,
    server: &ServerStatus,
    width: usize,
) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let mut lines = lights(shared, server);
    lines.push(state(shared, server));
    lines.push(losses(theme, server));
    lines.extend(pings(theme, server));
    lines.extend(hour(shared, server, width));
    lines.push(calls(theme, row));
    for warning in server.warnings.iter() {
        lines.push(Line::from(vec![
            Span::styled(
                format!("{} ", theme.mark(Health::Warning)),
                theme.health(Health::Warning),
            ),
            Span::raw(warning.clone()),
        ]));
    }
    if !server.state.is_up() {
        lines.extend(failure(shared, server, width));
    }
    lines.extend(held(shared, server, width));
    lines.extend(happened(shared, server, width));
    lines.extend(start(theme, server, width));
    lines.extend(identity(theme, server, width));
    if server.state.is_up() {
        lines.extend(failure(shared, server, width));
    }
    if !server.log.is_empty() {
        lines.push(section(theme, "last words", width));
        let skip = server.log.len().saturating_sub(RECENT);
        let last = server.log.iter().skip(skip);
        lines.extend(last.map(|line| log_line(shared, line)));
    }
    lines
}

/// The four lights, each with its age. What was proved before the newest failure is out of date.
fn lights(shared: &Shared, server: &ServerStatus) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let proofs = &server.proofs;
    let protocol = server.protocol.as_deref().unwrap_or("agreed");
    let tools = format!("{} listed", server.tools);
    let lights = [
        ("reachable", proofs.reachable, "answered"),
        ("authenticated", proofs.authenticated, "accepted"),
        ("protocol", proofs.protocol, protocol),
        ("tools", proofs.tools, tools.as_str()),
    ];
    lights
        .iter()
        .map(|(label, proof, word)| {
            let (health, text) = match proof {
                None => (None, format!("{} never proved", theme.none())),
                Some(at) => {
                    let age = figures::age(at.age(shared.now().at));
                    let health = light(server, *at);
                    (
                        Some(health),
                        format!("{} {word}, {age} ago", theme.mark(health)),
                    )
                }
            };
            let text = match *label {
                // Nobody can tell whether a server would ask for it.
                "authenticated" if proof.is_none() && server.state.is_up() => {
                    format!("{} nothing asked for it", theme.none())
                }
                _ => text,
            };
            let style = health.map_or(theme.dim(), |health| theme.health(health));
            Line::from(vec![
                Span::styled(text::fit(label, LABEL, theme.marks), theme.dim()),
                Span::styled(text, style),
            ])
        })
        .collect()
}

fn light(server: &ServerStatus, proof: Stamp) -> Health {
    let refuted = server
        .last_error
        .as_ref()
        .is_some_and(|failure| failure.at.at > proof.at);
    match server.state {
        ServerState::Ready => Health::Good,
        ServerState::Degraded => Health::Warning,
        ServerState::Disabled | ServerState::Stopped => Health::Off,
        _ if refuted => Health::Bad,
        // The failure itself proved it, as a `401` proves that somebody answers.
        _ if server
            .last_error
            .as_ref()
            .is_some_and(|failure| answered(&failure.kind)) =>
        {
            Health::Good
        }
        ServerState::Connecting => Health::Busy,
        _ => Health::Bad,
    }
}

fn answered(kind: &FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::HttpStatus { .. }
            | FailureKind::NotMcp { .. }
            | FailureKind::RpcError { .. }
            | FailureKind::UnsupportedProtocol { .. }
    )
}

fn state(shared: &Shared, server: &ServerStatus) -> Line<'static> {
    let theme = shared.theme;
    let health = health(server.state);
    let now = shared.now().at;
    let mut spans = vec![
        Span::styled(text::fit("state", LABEL, theme.marks), theme.dim()),
        Span::styled(
            format!("{} {}", theme.mark(health), server.state),
            theme.health(health),
        ),
        Span::raw(format!(
            " for {} (since {})",
            figures::age(server.since.age(now)),
            time(server.since, &shared.options.zone)
        )),
    ];
    if matches!(server.state, ServerState::Backoff | ServerState::Connecting) {
        spans.push(Span::raw(format!(", attempt {}", server.attempts)));
    }
    if let Some(retry) = server.next_retry
        && server.state == ServerState::Backoff
    {
        let left = retry.at.saturating_duration_since(now);
        // Rounded up, so that it ends at the moment it says `0 s`.
        let seconds = left.as_millis().div_ceil(1_000);
        spans.push(Span::styled(
            format!(", next in {seconds} s"),
            theme.strong(),
        ));
    }
    if server.required {
        spans.push(Span::raw(", required"));
    }
    Line::from(spans)
}

/// The round trips of the newest probes as a chart, with their span.
fn pings(theme: Theme, server: &ServerStatus) -> Option<Line<'static>> {
    let (least, most) = (server.pings.iter().min()?, server.pings.iter().max()?);
    let levels = theme.levels();
    // The tallest cell is the slowest; a cell is never empty, since there was an answer.
    let top = levels.len() - 1;
    let cell = |ping: &std::time::Duration| {
        let share = ping.as_secs_f64() / most.as_secs_f64().max(f64::EPSILON);
        levels[((share * top as f64).ceil() as usize).clamp(1, top)]
    };
    let chart: String = server.pings.iter().map(cell).collect();
    Some(Line::from(vec![
        Span::styled(text::fit("probes", LABEL, theme.marks), theme.dim()),
        Span::styled(chart, theme.bar()),
        Span::raw(format!(
            " {} to {}, the newest at the right",
            figures::latency(*least),
            figures::latency(*most)
        )),
    ]))
}

/// What the pin file holds back, with what is different as far as that is known.
fn held(shared: &Shared, server: &ServerStatus, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    if server.held.is_empty() {
        return Vec::new();
    }
    let title = "held back until you accept it (A)";
    let mut lines = vec![section(theme, title, width)];
    for tool in server.held.iter() {
        let name = tool.definition.name().to_owned();
        let Some(before) = &tool.accepted else {
            lines.push(field(theme, "new", &name));
            let about = tool.definition.description().lines().next().unwrap_or("");
            lines.push(field(theme, "", about));
            continue;
        };
        lines.push(field(theme, "changed", &name));
        let (old, new) = (before.description(), tool.definition.description());
        lines.extend(compared(old, new, shared));
        let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default();
        let (old, new) = (before.input_schema(), tool.definition.input_schema());
        lines.extend(compared(&pretty(old), &pretty(new), shared));
    }
    lines
}

fn losses(theme: Theme, server: &ServerStatus) -> Line<'static> {
    let mut text = match server.losses {
        0 => "never lost".to_owned(),
        1 => "lost once".to_owned(),
        many => format!("lost {many} times"),
    };
    match server.reconnects {
        0 => {}
        1 => text.push_str(", came back once"),
        many => text.push_str(&format!(", came back {many} times")),
    }
    if let Some(mean) = uptime::time_to_recover(&server.history) {
        text.push_str(&format!(", after {} on average", figures::latency(mean)));
    }
    if let Some(ping) = server.ping {
        text.push_str(&format!("; last probe took {}", figures::latency(ping)));
    }
    field(theme, "connection", &text)
}

/// The last hour as a bar, and its availability as a number.
fn hour(shared: &Shared, server: &ServerStatus, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let now = shared.now().at;
    let cells = width.saturating_sub(LABEL).clamp(6, 60);
    let bar = bar(theme, server, now, cells);
    let mut lines = vec![Line::from(vec![
        Span::styled(text::fit("last hour", LABEL, theme.marks), theme.dim()),
        Span::styled(bar, theme.bar()),
    ])];
    if let Some((share, known)) = uptime::availability(&server.history, now) {
        let text = format!(
            "up {:.1} % of the {} that are known; {} is not known",
            share * 100.0,
            figures::age(known),
            unknown(theme)
        );
        lines.push(Line::from(vec![
            Span::raw(" ".repeat(LABEL)),
            Span::styled(text, theme.dim()),
        ]));
    }
    lines
}

fn unknown(theme: Theme) -> &'static str {
    theme.pick("·", "?")
}

/// The last hour in so many cells.
pub(super) fn bar(
    theme: Theme,
    server: &ServerStatus,
    now: tokio::time::Instant,
    cells: usize,
) -> String {
    let levels = theme.levels();
    uptime::slices(&server.history, now, cells)
        .into_iter()
        .map(|share| match share {
            None => unknown(theme),
            // A cell that was down throughout still shows a foot, so that it is no gap.
            Some(share) => {
                let top = levels.len() - 1;
                let level = (share * top as f64).floor() as usize;
                levels[level.clamp(1, top)]
            }
        })
        .collect()
}

fn calls(theme: Theme, row: &Row) -> Line<'static> {
    let tally = &row.tally;
    let text = if tally.calls == 0 {
        "none yet".to_owned()
    } else {
        format!(
            "{}, {} failed ({}), p95 {}",
            figures::count(tally.calls),
            figures::count(tally.errors),
            figures::percent(tally.errors, tally.calls, theme),
            figures::latency(tally.latency.p95)
        )
    };
    field(theme, "calls", &text)
}

fn failure(shared: &Shared, server: &ServerStatus, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let Some(failure) = &server.last_error else {
        return Vec::new();
    };
    let age = figures::age(failure.at.age(shared.now().at));
    let mut lines = vec![section(theme, &format!("last failure, {age} ago"), width)];
    let mut before = "";
    for (label, value) in card(server, failure, &shared.options.zone) {
        let style = match label {
            "what" => theme.health(Health::Bad),
            "do next" => theme.strong(),
            _ => theme.text(),
        };
        if label == "do next" {
            lines.push(Line::from(vec![
                Span::styled(
                    text::fit(theme.pick("→ do next", "> do next"), LABEL, theme.marks),
                    theme.health(Health::Warning),
                ),
                Span::styled(value, style),
            ]));
            continue;
        }
        // A label that repeats is written once.
        let shown = if before == label { "" } else { label };
        before = label;
        lines.push(labelled(theme, shown, value, style));
    }
    lines
}

fn happened(shared: &Shared, server: &ServerStatus, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let mut lines = vec![section(theme, "what happened, newest first", width)];
    let history = &server.history;
    if history.is_empty() {
        lines.push(Line::styled("nothing yet", theme.dim()));
    }
    for at in (0..history.len()).rev().take(RECENT) {
        let before = at.checked_sub(1).and_then(|at| history.get(at));
        lines.push(event(shared, &history[at], before));
    }
    if history.len() > RECENT {
        let rest = history.len() - RECENT;
        lines.push(Line::styled(format!("and {rest} earlier"), theme.dim()));
    }
    lines
}

fn event(shared: &Shared, change: &Transition, before: Option<&Transition>) -> Line<'static> {
    let theme = shared.theme;
    let health = health(change.to);
    let attempt = match change.attempt {
        0 => String::new(),
        number => format!("#{number}"),
    };
    let lasted = before.map_or_else(String::new, |before| {
        let lasted = before.at.age(change.at.at);
        match lasted.as_millis() {
            0 => String::new(),
            _ => format!("; {} for {}", change.from, figures::latency(lasted)),
        }
    });
    Line::from(vec![
        Span::styled(
            format!("{}  ", time(change.at, &shared.options.zone)),
            theme.dim(),
        ),
        Span::styled(
            text::fit(
                &format!("{} {}", theme.mark(health), change.to),
                13,
                theme.marks,
            ),
            theme.health(health),
        ),
        Span::styled(text::fit(&attempt, 4, theme.marks), theme.dim()),
        Span::raw(change.reason.clone()),
        Span::styled(lasted, theme.dim()),
    ])
}

fn start(theme: Theme, server: &ServerStatus, width: usize) -> Vec<Line<'static>> {
    let list = |names: &[String]| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    match &server.launch {
        Launch::Stdio {
            command,
            args,
            resolved,
            cwd,
            env,
            pid,
        } => {
            let words: Vec<_> = std::iter::once(command)
                .chain(args)
                .map(|arg| quoted(arg))
                .collect();
            let resolved = resolved
                .as_deref()
                .unwrap_or("no executable file of that name was found");
            let pid = pid.map_or_else(
                || "not running".to_owned(),
                |pid| format!("running as {pid}"),
            );
            vec![
                section(theme, "how it is started", width),
                field(theme, "command", &words.join(" ")),
                field(theme, "resolves to", resolved),
                field(theme, "in", cwd),
                field(theme, "environment", &format!("added: {}", list(env))),
                field(theme, "process", &pid),
            ]
        }
        Launch::Http { url, headers } => vec![
            section(theme, "how it is reached", width),
            field(theme, "url", url),
            field(theme, "headers", &format!("configured: {}", list(headers))),
        ],
    }
}

fn identity(theme: Theme, server: &ServerStatus, width: usize) -> Vec<Line<'static>> {
    let Some(info) = &server.server_info else {
        return Vec::new();
    };
    let none = theme.none().to_owned();
    let mut lines = vec![
        section(theme, "what it says of itself", width),
        field(theme, "server", &format!("{} {}", info.name, info.version)),
        field(theme, "protocol", server.protocol.as_ref().unwrap_or(&none)),
        field(
            theme,
            "capabilities",
            &match server.capabilities.is_empty() {
                true => none.clone(),
                false => server.capabilities.join(", "),
            },
        ),
    ];
    if let Some(instructions) = &server.instructions {
        for (at, line) in instructions.lines().enumerate() {
            let label = if at == 0 { "instructions" } else { "" };
            lines.push(labelled(theme, label, line.to_owned(), theme.text()));
        }
    }
    lines
}

/// The lines of the log's sub-tab.
pub(super) fn log(shared: &Shared, row: &Row) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let Some(server) = &row.server else {
        let text = "a source inside this process has no log of its own; press 8 for the log";
        return vec![Line::styled(text, theme.dim())];
    };
    if server.log.is_empty() {
        let text = "it has not said anything yet, on stderr or by log messages";
        return vec![Line::styled(text, theme.dim())];
    }
    let dropped = (server.log_dropped > 0).then(|| {
        let text = format!(
            "{} older lines were dropped; the newest {} are kept",
            figures::count(server.log_dropped),
            server.log.len()
        );
        Line::styled(text, theme.dim())
    });
    let lines = server.log.iter().map(|line| log_line(shared, line));
    dropped.into_iter().chain(lines).collect()
}

fn log_line(shared: &Shared, line: &LogLine) -> Line<'static> {
    let theme = shared.theme;
    let origin = match line.origin {
        LogOrigin::Stderr => "stderr",
        LogOrigin::Stdout => "stdout!",
        LogOrigin::Message => line.level.as_deref().unwrap_or("message"),
    };
    Line::from(vec![
        Span::styled(
            format!("{}  ", time(line.at, &shared.options.zone)),
            theme.dim(),
        ),
        Span::styled(text::fit(origin, 9, theme.marks), theme.dim()),
        Span::raw(line.text.to_string()),
    ])
}

/// The lines of the tools' sub-tab.
pub(super) fn tools(shared: &Shared, row: &Row) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let snapshot = shared.snapshot();
    let owner = row.key.owner();
    let owned = |tool: &&ToolRow| match &row.server {
        Some(_) => *tool.owner.to_string() == *owner,
        None => tool.owner.source == owner,
    };
    let lines: Vec<_> = snapshot
        .tools
        .iter()
        .filter(owned)
        .map(|tool| {
            let name = tool.definition.name();
            let counts = snapshot.stats.tools.get(name).map_or_else(
                || "no call".to_owned(),
                |tally| format!("{} calls", figures::count(tally.calls)),
            );
            let first = tool.definition.description().lines().next().unwrap_or("");
            Line::from(vec![
                Span::styled(
                    format!("{}  ", text::fit(name, 32, theme.marks)),
                    theme.strong(),
                ),
                Span::styled(text::fit(&counts, 12, theme.marks), theme.dim()),
                Span::raw(first.to_owned()),
            ])
        })
        .collect();
    if lines.is_empty() {
        return vec![Line::styled("none of its tools is registered", theme.dim())];
    }
    lines
}

fn section(theme: Theme, title: &str, width: usize) -> Line<'static> {
    let dash = theme.pick("─", "-");
    let used = text::width(title) + 4;
    let rest = width.saturating_sub(used).min(80);
    Line::styled(
        format!("{dash}{dash} {title} {}", dash.repeat(rest)),
        theme.title(),
    )
}

fn field(theme: Theme, label: &str, value: &str) -> Line<'static> {
    labelled(theme, label, value.to_owned(), theme.text())
}

fn labelled(theme: Theme, label: &str, value: String, style: Style) -> Line<'static> {
    Line::from(vec![
        Span::styled(text::fit(label, LABEL, theme.marks), theme.dim()),
        Span::styled(value, style),
    ])
}

fn advice(theme: Theme, value: &str) -> Line<'static> {
    Line::from(vec![
        Span::styled(theme.pick("→ ", "> "), theme.health(Health::Warning)),
        Span::styled(value.to_owned(), theme.strong()),
    ])
}
