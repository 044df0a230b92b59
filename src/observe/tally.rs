//! Statistics of calls with bounded memory: counts by kind, latency as a histogram, calls per
//! second over the last hour.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::time::Instant;

use super::CallRecord;
use crate::clock::Stamp;
use crate::tool::ErrorKind;

/// Seconds that the series of calls per second reaches back: one hour.
const SECONDS: usize = 3_600;

/// How many seconds of the series a snapshot carries.
const SHOWN_SECONDS: usize = 300;

/// Names of unknown tools are counted together under this one (rule 9.3), so that a model that
/// invents names cannot grow the table.
const UNKNOWN: &str = "_unknown";

/// The longest latency that the histogram tells apart, in microseconds: one day.
const LONGEST_US: u64 = 86_400_000_000;

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

/// How often one kind of failure was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorCount {
    /// The kind.
    pub kind: ErrorKind,
    /// How often.
    pub count: u64,
}

/// What was counted for one tool, one owner, or all together, since start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Calls that ended.
    pub calls: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// The failures by kind, in the order of [`ErrorKind::ALL`]; kinds never seen are absent.
    pub by_kind: Vec<ErrorCount>,
    /// Latency, to two significant digits.
    pub latency: Quantiles,
    /// Bytes of arguments.
    pub bytes_in: u64,
    /// Bytes of results.
    pub bytes_out: u64,
    /// Results that a limit cut.
    pub truncated: u64,
    /// When the last call ended.
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

struct Meter {
    tally: Tally,
    by_kind: BTreeMap<ErrorKind, u64>,
    /// `None` when the histogram could not be made, which its constants rule out.
    latency: Option<Histogram<u32>>,
}

impl Meter {
    fn new() -> Self {
        Self {
            tally: Tally::default(),
            by_kind: BTreeMap::new(),
            latency: Histogram::new_with_bounds(1, LONGEST_US, 2).ok(),
        }
    }

    fn add(&mut self, record: &CallRecord, ended: Stamp) {
        let tally = &mut self.tally;
        tally.calls += 1;
        tally.bytes_in += record.bytes_in as u64;
        tally.bytes_out += record.bytes_out as u64;
        tally.truncated += u64::from(record.truncated);
        tally.last = Some(ended);
        if let Some(kind) = record.error_kind {
            tally.errors += 1;
            *self.by_kind.entry(kind).or_default() += 1;
        }
        if let Some(latency) = &mut self.latency {
            let micros = u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX);
            latency.saturating_record(micros.clamp(1, LONGEST_US));
        }
    }

    fn row(&self) -> Tally {
        let at = |quantile: f64| {
            let micros = self
                .latency
                .as_ref()
                .map_or(0, |latency| latency.value_at_quantile(quantile));
            Duration::from_micros(micros)
        };
        Tally {
            by_kind: self
                .by_kind
                .iter()
                .map(|(kind, count)| ErrorCount {
                    kind: *kind,
                    count: *count,
                })
                .collect(),
            latency: Quantiles {
                p50: at(0.5),
                p90: at(0.9),
                p95: at(0.95),
                p99: at(0.99),
                max: at(1.0),
            },
            ..self.tally.clone()
        }
    }
}

/// Counts calls. Rows are made anew only for what changed since they were last asked for.
pub struct Statistics {
    start: Instant,
    total: Meter,
    tools: BTreeMap<Arc<str>, Meter>,
    owners: BTreeMap<Arc<str>, Meter>,
    tool_rows: Arc<BTreeMap<Arc<str>, Tally>>,
    owner_rows: Arc<BTreeMap<Arc<str>, Tally>>,
    dirty_tools: HashSet<Arc<str>>,
    dirty_owners: HashSet<Arc<str>>,
    /// The newest second is the last; `newest` is its number since `start`.
    series: VecDeque<SecondRow>,
    newest: u64,
}

impl Statistics {
    /// Nothing counted yet; seconds are counted from `start`.
    pub fn new(start: Instant) -> Self {
        Self {
            start,
            total: Meter::new(),
            tools: BTreeMap::new(),
            owners: BTreeMap::new(),
            tool_rows: Arc::default(),
            owner_rows: Arc::default(),
            dirty_tools: HashSet::new(),
            dirty_owners: HashSet::new(),
            series: VecDeque::from([SecondRow::default()]),
            newest: 0,
        }
    }

    /// Counts a call that ended at `ended`.
    pub fn add(&mut self, record: &CallRecord, ended: Stamp) {
        self.total.add(record, ended);
        let tool = if record.owner.is_some() {
            Arc::clone(&record.tool)
        } else {
            UNKNOWN.into()
        };
        self.tools
            .entry(Arc::clone(&tool))
            .or_insert_with(Meter::new)
            .add(record, ended);
        self.dirty_tools.insert(tool);
        if let Some(owner) = &record.owner {
            self.owners
                .entry(Arc::clone(owner))
                .or_insert_with(Meter::new)
                .add(record, ended);
            self.dirty_owners.insert(Arc::clone(owner));
        }
        self.advance(ended.at);
        if let Some(second) = self.series.back_mut() {
            second.calls += 1;
            second.errors += u32::from(record.error_kind.is_some());
        }
    }

    /// The tally of everything.
    pub fn total(&self) -> Tally {
        self.total.row()
    }

    /// The tallies by tool.
    pub fn by_tool(&mut self) -> Arc<BTreeMap<Arc<str>, Tally>> {
        refresh(&mut self.tool_rows, &self.tools, &mut self.dirty_tools)
    }

    /// The tallies by owner.
    pub fn by_owner(&mut self) -> Arc<BTreeMap<Arc<str>, Tally>> {
        refresh(&mut self.owner_rows, &self.owners, &mut self.dirty_owners)
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

fn refresh(
    rows: &mut Arc<BTreeMap<Arc<str>, Tally>>,
    meters: &BTreeMap<Arc<str>, Meter>,
    dirty: &mut HashSet<Arc<str>>,
) -> Arc<BTreeMap<Arc<str>, Tally>> {
    if !dirty.is_empty() {
        let changed = Arc::make_mut(rows);
        for name in dirty.drain() {
            if let Some(meter) = meters.get(&name) {
                changed.insert(name, meter.row());
            }
        }
    }
    Arc::clone(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
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
