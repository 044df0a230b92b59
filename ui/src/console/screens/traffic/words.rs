//! What servers say beside the protocol, of all servers in one list: stderr with stray lines of
//! stdout, and their log messages.

use std::sync::Arc;

use ratatui::text::{Line, Span};
use toolcrib::source::{LogLine, LogOrigin, ServerStatus};

use super::query::Query;
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text;

/// Which of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Stderr,
    Messages,
}

impl Said {
    fn holds(self, origin: LogOrigin) -> bool {
        match self {
            Self::Stderr => matches!(origin, LogOrigin::Stderr | LogOrigin::Stdout),
            Self::Messages => origin == LogOrigin::Message,
        }
    }
}

/// The lines, made anew only when a log or the filter has changed.
#[derive(Debug, Default)]
pub(super) struct Words {
    lines: Vec<Line<'static>>,
    /// The logs that they were made from. Held, so that no other log can take their place.
    made_from: Vec<Arc<[LogLine]>>,
    made_for: Option<(Said, Query)>,
}

impl Words {
    pub(super) fn lines(&self) -> &[Line<'static>] {
        &self.lines
    }

    /// Takes over what the servers have said.
    pub(super) fn settle(&mut self, said: Said, query: &Query, shared: &Shared) {
        let servers = &shared.snapshot().servers;
        let same = self.made_from.len() == servers.len()
            && std::iter::zip(&self.made_from, servers.iter())
                .all(|(made, server)| Arc::ptr_eq(made, &server.log));
        let made_for = Some((said, query.clone()));
        if same && self.made_for == made_for {
            return;
        }
        self.made_from = servers
            .iter()
            .map(|server| Arc::clone(&server.log))
            .collect();
        self.made_for = made_for;
        let mut all: Vec<(&ServerStatus, &LogLine)> = servers
            .iter()
            .flat_map(|server| server.log.iter().map(move |line| (&**server, line)))
            .filter(|(server, line)| {
                said.holds(line.origin)
                    && query.wants_line(&server.source, &server.name, &line.text)
            })
            .collect();
        all.sort_by_key(|(_, line)| line.at.at);
        self.lines = all
            .into_iter()
            .map(|(server, line)| drawn(server, line, shared))
            .collect();
    }
}

fn drawn(server: &ServerStatus, line: &LogLine, shared: &Shared) -> Line<'static> {
    let theme = shared.theme;
    let zoned = line.at.wall.to_zoned(shared.options.zone.clone());
    let time = zoned.strftime("%H:%M:%S%.3f");
    let (health, origin) = match (line.origin, line.level.as_deref()) {
        (LogOrigin::Stderr, _) => (Health::Off, "stderr"),
        (LogOrigin::Stdout, _) => (Health::Warning, "stdout!"),
        (LogOrigin::Message, Some(level @ ("error" | "critical" | "alert" | "emergency"))) => {
            (Health::Bad, level)
        }
        (LogOrigin::Message, Some(level @ "warning")) => (Health::Warning, level),
        (LogOrigin::Message, level) => (Health::Off, level.unwrap_or("message")),
    };
    Line::from(vec![
        Span::styled(format!("{time} "), theme.dim()),
        Span::styled(
            format!("{} ", text::fit(&server.name, 12, theme.marks)),
            theme.strong(),
        ),
        Span::styled(
            format!("{} ", text::fit(origin, 9, theme.marks)),
            theme.health(health),
        ),
        Span::raw(line.text.to_string()),
    ])
}
