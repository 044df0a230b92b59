//! What is counted by name: tools, sources, sessions. Which rows there are and in which order, their
//! cells, and the evidence of one. Pure.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::sync::Arc;
use toolcrib::observe::{Load, Meter, MeterMap, Snapshot, Tally, Window};

use super::plot;
use crate::console::figures;
use crate::console::grid::Column;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text::clean_name;

/// What a list of names can be sorted by; the number is that of its column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Calls,
    Errors,
    P95,
    Name,
}

impl Sort {
    const ALL: [Self; 4] = [Self::Calls, Self::Errors, Self::P95, Self::Name];

    /// The next one, round the end.
    pub(super) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// Its column in [`COLUMNS`].
    pub(super) fn column(self) -> usize {
        match self {
            Self::Name => 0,
            Self::Calls => 1,
            Self::Errors => 2,
            Self::P95 => 4,
        }
    }

    /// Whether large values come first until the operator inverts it.
    pub(super) fn descends(self) -> bool {
        self != Self::Name
    }
}

/// The columns of the list.
pub(super) const COLUMNS: [Column; 10] = [
    Column::words("NAME", 16, 0),
    Column::number("CALLS", 8, 1),
    Column::number("ERR", 6, 2),
    Column::number("P50", 8, 5),
    Column::number("P95", 8, 3),
    Column::number("MAX", 8, 7),
    Column::number("NOW", 4, 4),
    Column::number("WAIT", 5, 6),
    Column::number("OUT", 9, 8),
    Column::number("CUT", 9, 9),
];

/// The names that the filter lets through, in order. A quantile is only worked out where the list
/// is sorted by it.
pub(super) fn order(
    map: &MeterMap,
    filter: &str,
    sort: Sort,
    inverted: bool,
    window: Window,
    age: Duration,
) -> Vec<Arc<str>> {
    let wanted = filter.to_lowercase();
    let mut rows: Vec<(u64, &Arc<str>)> = map
        .iter()
        .filter(|(name, _)| wanted.is_empty() || name.to_lowercase().contains(&wanted))
        .map(|(name, meter)| {
            let (calls, errors) = meter.counts(window, age);
            let value = match sort {
                Sort::Calls => calls,
                Sort::Errors => errors,
                Sort::P95 => {
                    let p95 = meter.latencies(window, age).quantile(0.95);
                    u64::try_from(p95.as_micros()).unwrap_or(u64::MAX)
                }
                Sort::Name => 0,
            };
            (value, name)
        })
        .collect();
    // The names are in order already, and equal values keep it.
    rows.sort_by_key(|(value, _)| std::cmp::Reverse(*value));
    if inverted {
        rows.reverse();
    }
    rows.into_iter().map(|(_, name)| Arc::clone(name)).collect()
}

/// The cells of a row.
pub(super) fn cells(name: &str, tally: &Tally, load: Load, theme: Theme) -> Vec<(String, Style)> {
    let none = || theme.none().to_owned();
    let some = |value: u64| match value {
        0 => none(),
        value => figures::count(value),
    };
    let latency = |value: Duration| match tally.calls {
        0 => none(),
        _ => figures::latency(value),
    };
    let failing = match tally.errors {
        0 => theme.text(),
        _ => theme.health(Health::Warning),
    };
    let waiting = match load.waiting {
        0 => theme.text(),
        _ => theme.health(Health::Warning),
    };
    let cut = match tally.cut {
        0 => none(),
        cut => figures::bytes(cut),
    };
    let shown = clean_name(name, theme.marks).into_owned();
    vec![
        (shown, theme.text()),
        (some(tally.calls), theme.text()),
        (some(tally.errors), failing),
        (latency(tally.latency.p50), theme.text()),
        (latency(tally.latency.p95), theme.text()),
        (latency(tally.latency.max), theme.text()),
        (some(load.in_flight), theme.text()),
        (some(load.waiting), waiting),
        (figures::bytes(tally.bytes_out), theme.text()),
        (cut, theme.text()),
    ]
}

/// The evidence of one name: what was counted, over time, by latency and by kind of error.
pub(super) fn evidence(
    meter: &Meter,
    load: Load,
    window: Window,
    shared: &Shared,
    width: usize,
) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let age = shared.snapshot().age_at(shared.now().at);
    let tally = meter.tally(window, age);
    let mut lines = facts(&tally, load, window, shared);
    let (slot, bins) = meter.series(window, age);
    let span = match window {
        Window::Start => "1 h",
        window => window.as_str(),
    };
    let title = format!(
        "calls over the last {span}, a column is {}",
        figures::age(slot)
    );
    lines.push(plot::heading(&title, width, theme));
    lines.extend(plot::columns(&bins, width, 5, theme));
    lines.push(plot::heading("latency, all calls", width, theme));
    let rows = meter.latencies(window, age).doublings();
    lines.extend(plot::bars(
        &plot::latency_rows(rows, 12),
        width,
        theme.bar(),
        theme,
    ));
    lines.push(plot::heading("errors by kind", width, theme));
    lines.extend(kinds(&tally, width, theme));
    lines
}

/// The failures by kind with their share.
pub(super) fn kinds(tally: &Tally, width: usize, theme: Theme) -> Vec<Line<'static>> {
    if tally.by_kind.is_empty() {
        return vec![Line::styled("none in this window", theme.dim())];
    }
    let rows: Vec<(String, u64)> = tally
        .by_kind
        .iter()
        .map(|row| (row.kind.as_str().to_owned(), row.count))
        .collect();
    plot::bars(&rows, width, theme.health(Health::Bad), theme)
}

fn fact(label: &str, value: String, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{label:<9}"), theme.dim()),
        Span::raw(value),
    ])
}

fn facts(tally: &Tally, load: Load, window: Window, shared: &Shared) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let mut lines = vec![
        fact(
            "calls",
            format!(
                "{} in {}, {}",
                figures::count(tally.calls),
                window.as_str(),
                figures::failed(tally.errors, tally.calls, theme)
            ),
            theme,
        ),
        fact(
            "now",
            format!(
                "{} in flight, {} of them waiting",
                load.in_flight, load.waiting
            ),
            theme,
        ),
    ];
    if tally.calls > 0 {
        lines.push(fact("latency", figures::quantiles(&tally.latency), theme));
        let mut queued = fact(
            "queues",
            match tally.waits {
                0 => "no call waited".to_owned(),
                _ => figures::waits(tally),
            },
            theme,
        );
        if tally.waits == 0 {
            queued = queued.style(theme.dim());
        }
        lines.push(queued);
        lines.push(fact("bytes", figures::in_and_out(tally), theme));
    }
    if tally.truncated > 0 {
        lines.push(fact("cut", figures::cuts(tally), theme));
    }
    if let Some(last) = tally.last {
        let age = figures::age(last.age(shared.now().at));
        lines.push(fact("last", format!("ended {age} ago"), theme));
    }
    lines
}

/// The map of a view, and what of it is under way.
pub(super) fn load(map: &std::collections::BTreeMap<Arc<str>, Load>, name: &str) -> Load {
    map.get(name).copied().unwrap_or_default()
}

/// Whether the snapshot has seen any call at all.
pub(super) fn is_idle(snapshot: &Snapshot) -> bool {
    snapshot.stats.total.calls == 0
}
