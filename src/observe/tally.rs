//! Statistics of calls with bounded memory: what is counted by tool, owner, session and layer, and
//! calls per second over the last hour.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::CallRecord;
use super::latencies::Latencies;
use super::meter::{Counted, Meter};
use super::table::Table;
use crate::clock::Stamp;
use crate::tool::ErrorKind;

/// Seconds that the series of calls per second reaches back: one hour.
const SECONDS: usize = 3_600;

/// How many seconds of the series a snapshot carries.
const SHOWN_SECONDS: usize = 300;

/// Names of unknown tools are counted together under this one (rule 9.3), so that a model that
/// invents names cannot grow the table.
pub const UNKNOWN: &str = "_unknown";

/// What is counted for names beyond the bound of a table stands under this one, so that servers
/// that rename their tools for ever cannot grow it either.
pub const OTHER: &str = "_other";

/// Most tools and most owners that are told apart; later ones share [`OTHER`].
const NAMES: usize = 16_384;

/// Most sessions that are told apart; beyond that the one whose last call is the oldest leaves.
const SESSIONS: usize = 256;

/// Latencies at the usual quantiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// Half of the calls were at most this slow.
    pub p50: Duration,
    /// Nine in ten.
    pub p90: Duration,
    /// Nineteen in twenty.
    pub p95: Duration,
    /// Ninety-nine in a hundred.
    pub p99: Duration,
    /// The slowest call.
    pub max: Duration,
}

impl Quantiles {
    /// Those of a histogram.
    pub fn of(latencies: &Latencies) -> Self {
        Self {
            p50: latencies.quantile(0.5),
            p90: latencies.quantile(0.9),
            p95: latencies.quantile(0.95),
            p99: latencies.quantile(0.99),
            max: latencies.max(),
        }
    }
}

/// How often one kind of failure was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorCount {
    /// The kind.
    pub kind: ErrorKind,
    /// How often.
    pub count: u64,
}

/// What was counted for one tool, owner, session or layer, or all together, in a window of time.
///
/// Of a layer, `calls` are those that went through it, `errors` those that it answered itself with
/// an error, `latency` is its own time without its queue and without what lies inside it, and
/// `bytes_in` and `bytes_out` are the results as they came and as they were given away.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Calls that ended.
    pub calls: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// The failures by kind, in the order of [`ErrorKind::ALL`]; kinds never seen are absent.
    pub by_kind: Vec<ErrorCount>,
    /// Latency, to within 1.6 %.
    pub latency: Quantiles,
    /// Bytes of arguments.
    pub bytes_in: u64,
    /// Bytes of results.
    pub bytes_out: u64,
    /// Results that a limit cut.
    pub truncated: u64,
    /// Bytes of them that were kept.
    pub kept: u64,
    /// Bytes of them that were cut.
    pub cut: u64,
    /// Calls that waited in a queue.
    pub waits: u64,
    /// How long they waited, all together.
    pub waited: Duration,
    /// When the last call ended, whatever the window.
    pub last: Option<Stamp>,
}

/// What ended within one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SecondRow {
    /// Calls.
    pub calls: u32,
    /// Failures among them.
    pub errors: u32,
}

/// Meters by name. Shared with whoever was given it; a later change is made to a copy of the few
/// that stand beside the changed one.
pub type MeterMap = Table<Arc<Meter>>;

/// Everything that is counted, at one moment. Cheap to clone: a meter in it is not changed any more,
/// and what a window holds is worked out when it is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meters {
    /// Everything together.
    pub total: Arc<Meter>,
    /// By tool; `_unknown` holds the names that no tool has.
    pub tools: MeterMap,
    /// By `source`, and by `source/server` where a source has servers.
    pub owners: MeterMap,
    /// By session, those that are open.
    pub sessions: MeterMap,
    /// By layer, and `tool` for what lies behind the last.
    pub layers: MeterMap,
}

/// Since-start rows of a table, made anew only for what changed since they were last asked for.
#[derive(Default)]
struct Rows {
    rows: Table<Tally>,
    dirty: HashSet<Arc<str>>,
}

impl Rows {
    fn refresh(&mut self, meters: &MeterMap) -> Table<Tally> {
        for name in self.dirty.drain() {
            if let Some(meter) = meters.get(&name) {
                let tally = meter.tally(super::Window::Start, Duration::ZERO);
                self.rows.edit(&name, |row| *row = tally);
            }
        }
        self.rows.clone()
    }
}

/// Counts calls.
pub struct Statistics {
    start: Instant,
    meters: Meters,
    tools: Rows,
    owners: Rows,
    /// The newest second is the last; `newest` is its number since `start`.
    series: VecDeque<SecondRow>,
    newest: u64,
}

impl Statistics {
    /// Nothing counted yet; time is counted from `start`.
    pub fn new(start: Instant) -> Self {
        Self {
            start,
            meters: Meters::default(),
            tools: Rows::default(),
            owners: Rows::default(),
            series: VecDeque::from([SecondRow::default()]),
            newest: 0,
        }
    }

    /// Counts a call that ended at `ended`.
    pub fn add(&mut self, record: &CallRecord, ended: Stamp) {
        let age = ended.at.saturating_duration_since(self.start);
        let counted = of_call(record);
        let add = |map: &mut MeterMap, name: &Arc<str>| {
            map.edit(name, |meter| {
                Arc::make_mut(meter).add(&counted, ended, age);
            });
        };
        Arc::make_mut(&mut self.meters.total).add(&counted, ended, age);
        let tool = match &record.owner {
            Some(_) => bounded(&self.meters.tools, &record.tool),
            None => UNKNOWN.into(),
        };
        add(&mut self.meters.tools, &tool);
        self.tools.dirty.insert(tool);
        if let Some(owner) = &record.owner {
            let source = owner.split_once('/').map(|(source, _)| Arc::from(source));
            if let Some(source) = source {
                let source = bounded(&self.meters.owners, &source);
                add(&mut self.meters.owners, &source);
            }
            let owner = bounded(&self.meters.owners, owner);
            add(&mut self.meters.owners, &owner);
            self.owners.dirty.insert(owner);
        }
        if let Some(session) = &record.session {
            self.make_room_for(session);
            add(&mut self.meters.sessions, session);
        }
        self.add_layers(record, ended, age);
        self.advance(ended.at);
        if let Some(second) = self.series.back_mut() {
            second.calls += 1;
            second.errors += u32::from(record.error_kind.is_some());
        }
    }

    fn add_layers(&mut self, record: &CallRecord, ended: Stamp, age: Duration) {
        let layers = &mut self.meters.layers;
        for (at, span) in record.layers.iter().enumerate() {
            let counted = of_span(record, at);
            // Layers are few and their names fixed: nothing bounds this table but the chain.
            layers.edit(&span.layer.into(), |meter| {
                Arc::make_mut(meter).add(&counted, ended, age);
            });
        }
    }

    /// Lets the session go whose last call is the oldest, where a new one finds no place.
    fn make_room_for(&mut self, session: &Arc<str>) {
        let sessions = &mut self.meters.sessions;
        if sessions.len() < SESSIONS || sessions.contains_key(session) {
            return;
        }
        let oldest = sessions
            .iter()
            .min_by_key(|(_, meter)| meter.last().map(|last| last.at))
            .map(|(name, _)| Arc::clone(name));
        if let Some(oldest) = oldest {
            sessions.retain(|name| *name != *oldest);
        }
    }

    /// Forgets the sessions of which `open` says no.
    pub fn keep_sessions(&mut self, open: impl Fn(&str) -> bool) {
        self.meters.sessions.retain(open);
    }

    /// Everything that is counted, as it is now.
    pub fn meters(&self) -> Meters {
        self.meters.clone()
    }

    /// The tally of everything since the start.
    pub fn total(&self) -> Tally {
        let total = &self.meters.total;
        total.tally(super::Window::Start, Duration::ZERO)
    }

    /// The tallies by tool since the start.
    pub fn by_tool(&mut self) -> Table<Tally> {
        self.tools.refresh(&self.meters.tools)
    }

    /// The tallies by owner since the start.
    pub fn by_owner(&mut self) -> Table<Tally> {
        self.owners.refresh(&self.meters.owners)
    }

    /// The last five minutes second by second, the newest last; the newest second is not over yet.
    pub fn recent(&mut self, now: Instant) -> Arc<[SecondRow]> {
        self.advance(now);
        let skip = self.series.len().saturating_sub(SHOWN_SECONDS);
        self.series.iter().skip(skip).copied().collect()
    }

    fn advance(&mut self, now: Instant) {
        let second = now.saturating_duration_since(self.start).as_secs();
        let gap = second.saturating_sub(self.newest);
        if gap as usize >= SECONDS {
            self.series.clear();
            self.series.push_back(SecondRow::default());
        } else {
            for _ in 0..gap {
                self.series.push_back(SecondRow::default());
                if self.series.len() > SECONDS {
                    self.series.pop_front();
                }
            }
        }
        self.newest = self.newest.max(second);
    }
}

/// The name, or [`OTHER`] where the table has no room for it.
fn bounded(map: &MeterMap, name: &Arc<str>) -> Arc<str> {
    match map.len() < NAMES || map.contains_key(name) {
        true => Arc::clone(name),
        false => OTHER.into(),
    }
}

fn of_call(record: &CallRecord) -> Counted {
    let cuts = || record.layers.iter().filter_map(|span| span.cut);
    Counted {
        latency: record.duration,
        error: record.error_kind,
        bytes_in: record.bytes_in as u64,
        bytes_out: record.bytes_out as u64,
        truncated: record.truncated,
        kept: cuts().map(|cut| cut.kept as u64).sum(),
        cut: cuts().map(|cut| cut.cut as u64).sum(),
        waited: record.layers.iter().map(|span| span.waited).sum(),
    }
}

/// What one layer did with the call.
fn of_span(record: &CallRecord, at: usize) -> Counted {
    let span = &record.layers[at];
    let inner = record.layers.get(at + 1);
    // The answer was made by the innermost layer from which it came all the way out.
    let mut outer = record.layers.iter().take(at);
    let made_here = span.completed
        && outer.all(|span| span.completed)
        && inner.is_none_or(|inner| !inner.completed);
    let inside = inner.map_or(Duration::ZERO, |inner| inner.took);
    Counted {
        latency: span.took.saturating_sub(inside + span.waited),
        error: record.error_kind.filter(|_| made_here),
        bytes_in: span.bytes_before.unwrap_or(0) as u64,
        bytes_out: span.bytes_after.unwrap_or(0) as u64,
        truncated: span.cut.is_some(),
        kept: span.cut.map_or(0, |cut| cut.kept as u64),
        cut: span.cut.map_or(0, |cut| cut.cut as u64),
        waited: span.waited,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::middleware::{Cut, LayerSpan};
    use crate::observe::Window;
    use crate::tool::CallId;

    fn record(tool: &str, known: bool, millis: u64, error: Option<ErrorKind>) -> CallRecord {
        CallRecord {
            id: CallId::fresh(),
            tool: tool.into(),
            owner: known.then(|| "src/server".into()),
            session: None,
            arguments: Value::Null,
            started: Stamp::now(),
            duration: Duration::from_millis(millis),
            error_kind: error,
            error: None,
            bytes_in: 2,
            bytes_out: 10,
            truncated: false,
            warnings: Arc::new([]),
            replayed: false,
            reached_tool: true,
            layers: Arc::new([]),
            attempts: Arc::new([]),
            parts: None,
        }
    }

    fn stamp(start: Instant, seconds: u64) -> Stamp {
        Stamp {
            at: start + Duration::from_secs(seconds),
            wall: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn calls_are_counted_by_tool_owner_kind_and_latency() {
        let start = Instant::now();
        let mut stats = Statistics::new(start);
        for millis in 1..=100 {
            let error = (millis > 98).then_some(ErrorKind::Tool);
            stats.add(&record("t", true, millis, error), stamp(start, 0));
        }
        let tally = stats.by_tool()["t"].clone();
        assert_eq!(
            (tally.calls, tally.errors, tally.bytes_out),
            (100, 2, 1_000)
        );
        let by_kind = [ErrorCount {
            kind: ErrorKind::Tool,
            count: 2,
        }];
        assert_eq!(tally.by_kind, by_kind);
        let near =
            |got: Duration, millis: f64| (got.as_secs_f64() * 1e3 - millis).abs() <= millis * 0.02;
        assert!(near(tally.latency.p50, 50.0), "{:?}", tally.latency);
        assert!(near(tally.latency.p95, 95.0), "{:?}", tally.latency);
        assert!(near(tally.latency.max, 100.0), "{:?}", tally.latency);
        assert_eq!(stats.by_owner()["src/server"].calls, 100);
        assert_eq!(stats.total(), tally);
    }

    #[test]
    fn the_layer_that_made_an_answer_is_the_one_that_stopped_the_call() {
        let ms = Duration::from_millis;
        let span = |layer, took, waited, completed, bytes: [Option<usize>; 2]| LayerSpan {
            layer,
            entered: Duration::ZERO,
            took: ms(took),
            waited: ms(waited),
            completed,
            note: None,
            bytes_before: bytes[0],
            bytes_after: bytes[1],
            // The marker is part of what it gives away.
            cut: (layer == "result_limit").then_some(Cut { kept: 80, cut: 800 }),
        };
        let start = Instant::now();
        let mut stats = Statistics::new(start);
        let timed_out = CallRecord {
            layers: Arc::new([
                span("result_limit", 110, 0, true, [Some(900), Some(100)]),
                span("timeout", 105, 0, true, [None, Some(900)]),
                span("concurrency", 100, 60, false, [None, None]),
                span("tool", 39, 0, false, [None, None]),
            ]),
            truncated: true,
            ..record("t", true, 110, Some(ErrorKind::Timeout))
        };
        stats.add(&timed_out, stamp(start, 0));
        let meters = stats.meters();
        let row = |layer: &str| {
            let tally = meters.layers[layer].tally(Window::Start, Duration::ZERO);
            let own = tally.latency.max.as_millis();
            (tally.calls, tally.errors, own, tally.waited.as_millis())
        };
        assert_eq!(row("result_limit"), (1, 0, 5, 0));
        assert_eq!(row("timeout"), (1, 1, 5, 0));
        assert_eq!(row("concurrency"), (1, 0, 1, 60));
        assert_eq!(row("tool"), (1, 0, 39, 0));
        let tool = stats.by_tool()["t"].clone();
        assert_eq!((tool.truncated, tool.kept, tool.cut), (1, 80, 800));
        let limit = meters.layers["result_limit"].tally(Window::Start, Duration::ZERO);
        assert_eq!((limit.truncated, limit.kept, limit.cut), (1, 80, 800));
        assert_eq!((tool.waits, tool.waited), (1, ms(60)));
    }

    #[test]
    fn a_source_is_counted_beside_its_servers() {
        let start = Instant::now();
        let mut stats = Statistics::new(start);
        for owner in ["mcp/files", "mcp/clock", "sim"] {
            let mut record = record("t", true, 1, None);
            record.owner = Some(owner.into());
            stats.add(&record, stamp(start, 0));
        }
        let owners = stats.meters().owners;
        let calls: Vec<_> = owners
            .iter()
            .map(|(name, meter)| (&**name, meter.counts(Window::Minute, Duration::ZERO).0))
            .collect();
        let expected = [("mcp", 2), ("mcp/clock", 1), ("mcp/files", 1), ("sim", 1)];
        assert_eq!(calls, expected);
    }

    #[test]
    fn names_and_sessions_are_bounded_and_sessions_that_ended_leave() {
        let start = Instant::now();
        let mut stats = Statistics::new(start);
        for number in 0..NAMES + 5 {
            let mut record = record(&format!("t{number}"), true, 1, None);
            record.session = Some(format!("s{number}").into());
            stats.add(&record, stamp(start, number as u64));
        }
        let meters = stats.meters();
        assert_eq!(meters.tools.len(), NAMES + 1);
        let other = &meters.tools[OTHER];
        assert_eq!(other.counts(Window::Start, Duration::ZERO).0, 5);
        assert_eq!(meters.sessions.len(), SESSIONS);
        let newest = format!("s{}", NAMES + 4);
        assert!(meters.sessions.contains_key(newest.as_str()));
        stats.keep_sessions(|name| name == newest);
        assert_eq!(stats.meters().sessions.len(), 1);
        // What was handed out before is not touched.
        assert_eq!(meters.sessions.len(), SESSIONS);
    }

    #[test]
    fn unknown_names_share_one_row() {
        let start = Instant::now();
        let mut stats = Statistics::new(start);
        for name in ["a", "b", "c"] {
            let not_found = Some(ErrorKind::NotFound);
            stats.add(&record(name, false, 1, not_found), stamp(start, 0));
        }
        let rows = stats.by_tool();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[UNKNOWN].calls, 3);
    }

    #[test]
    fn the_series_has_a_row_for_every_second_and_forgets_after_an_hour() {
        let start = Instant::now();
        let mut stats = Statistics::new(start);
        stats.add(&record("t", true, 1, None), stamp(start, 0));
        stats.add(&record("t", true, 1, None), stamp(start, 2));
        let calls = |rows: &[SecondRow]| rows.iter().map(|row| row.calls).collect::<Vec<_>>();
        assert_eq!(calls(&stats.recent(stamp(start, 3).at)), [1, 0, 1, 0]);
        assert_eq!(calls(&stats.recent(stamp(start, 100_000).at)), [0]);
    }
}
