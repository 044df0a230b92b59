//! What is counted for one name, over four windows of time. Pure: the age since the start of the
//! counting is an argument.
//!
//! Each window is a ring of slots, and a slot exists only when something was counted in it. A meter
//! costs some 300 bytes when idle, and per slot some 200 bytes and eight for each step of latency
//! that was seen in it: a tool that is called every five seconds for an hour holds about 10 KiB.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use super::latencies::Latencies;
use super::tally::{ErrorCount, Quantiles, Tally};
use crate::clock::Stamp;
use crate::tool::ErrorKind;

/// How far back is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// The last minute, in 12 slots of 5 s.
    Minute,
    /// The last five minutes, in 10 slots of 30 s.
    #[default]
    FiveMinutes,
    /// The last hour, in 12 slots of 5 min.
    Hour,
    /// Everything since the start.
    Start,
}

impl Window {
    /// All of them, the shortest first.
    pub const ALL: [Self; 4] = [Self::Minute, Self::FiveMinutes, Self::Hour, Self::Start];

    /// Its name for people and in exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "1 min",
            Self::FiveMinutes => "5 min",
            Self::Hour => "1 h",
            Self::Start => "since start",
        }
    }

    /// The seconds of a slot and the number of slots; `None` for what is not a ring.
    fn ring(self) -> Option<(u64, u64)> {
        match self {
            Self::Minute => Some((5, 12)),
            Self::FiveMinutes => Some((30, 10)),
            Self::Hour => Some((300, 12)),
            Self::Start => None,
        }
    }
}

/// One thing that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counted {
    pub(super) latency: Duration,
    pub(super) error: Option<ErrorKind>,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) truncated: bool,
    /// Bytes of a truncated result that were kept, and those that were cut.
    pub(super) kept: u64,
    pub(super) cut: u64,
    /// How long it waited in queues; zero when it did not.
    pub(super) waited: Duration,
}

/// What ended in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cell {
    calls: u64,
    errors: u64,
    /// By kind, in the order in which they were first seen.
    kinds: Vec<(ErrorKind, u64)>,
    bytes_in: u64,
    bytes_out: u64,
    truncated: u64,
    kept: u64,
    cut: u64,
    waits: u64,
    waited: Duration,
    latency: Latencies,
}

impl Cell {
    fn count_kind(&mut self, kind: ErrorKind, count: u64) {
        self.errors += count;
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, so_far)) => *so_far += count,
            None => self.kinds.push((kind, count)),
        }
    }

    fn add(&mut self, counted: &Counted) {
        self.calls += 1;
        if let Some(kind) = counted.error {
            self.count_kind(kind, 1);
        }
        self.bytes_in += counted.bytes_in;
        self.bytes_out += counted.bytes_out;
        self.truncated += u64::from(counted.truncated);
        self.kept += counted.kept;
        self.cut += counted.cut;
        self.waits += u64::from(!counted.waited.is_zero());
        self.waited += counted.waited;
        self.latency.add(counted.latency);
    }

    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        for (kind, count) in &other.kinds {
            self.count_kind(*kind, *count);
        }
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.truncated += other.truncated;
        self.kept += other.kept;
        self.cut += other.cut;
        self.waits += other.waits;
        self.waited += other.waited;
        self.latency.merge(&other.latency);
    }

    fn tally(&self, last: Option<Stamp>) -> Tally {
        let kinds = ErrorKind::ALL.into_iter().filter_map(|kind| {
            let (_, count) = self.kinds.iter().find(|(known, _)| *known == kind)?;
            Some(ErrorCount {
                kind,
                count: *count,
            })
        });
        Tally {
            calls: self.calls,
            errors: self.errors,
            by_kind: kinds.collect(),
            latency: Quantiles::of(&self.latency),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            truncated: self.truncated,
            kept: self.kept,
            cut: self.cut,
            waits: self.waits,
            waited: self.waited,
            last,
        }
    }
}

/// The slots of a window by number since the start, the newest last. At the bound the oldest goes.
type Ring = VecDeque<(u64, Cell)>;

/// One column of a chart over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Calls that ended in it.
    pub calls: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// The slowest of them.
    pub slowest: Duration,
}

/// What was counted for one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meter {
    total: Cell,
    rings: [Ring; 3],
    last: Option<Stamp>,
}

/// The windows that are rings, in the order in which a meter holds them.
const RINGS: [Window; 3] = [Window::Minute, Window::FiveMinutes, Window::Hour];

impl Meter {
    /// Counts something that ended `age` after the start.
    pub(super) fn add(&mut self, counted: &Counted, ended: Stamp, age: Duration) {
        self.total.add(counted);
        self.last = Some(ended);
        for (window, ring) in RINGS.into_iter().zip(&mut self.rings) {
            let Some((seconds, slots)) = window.ring() else {
                continue;
            };
            // Time does not go back; if it seems to, it counts for the newest slot.
            let newest = ring.back().map_or(0, |(number, _)| *number);
            let number = (age.as_secs() / seconds).max(newest);
            if ring.back().is_none_or(|(newest, _)| *newest != number) {
                while ring.front().is_some_and(|(old, _)| old + slots <= number) {
                    ring.pop_front();
                }
                ring.push_back((number, Cell::default()));
            }
            if let Some((_, cell)) = ring.back_mut() {
                cell.add(counted);
            }
        }
    }

    /// The slots of the window that are not too old, `age` after the start.
    fn slots(&self, window: Window, age: Duration) -> impl Iterator<Item = &(u64, Cell)> {
        let at = RINGS.iter().position(|known| *known == window);
        let ring = at.and_then(|at| self.rings.get(at));
        let now = window
            .ring()
            .map(|(seconds, slots)| (age.as_secs() / seconds, slots));
        ring.into_iter()
            .flatten()
            .filter(move |(number, _)| now.is_some_and(|(now, slots)| number + slots > now))
    }

    fn cell(&self, window: Window, age: Duration) -> Cell {
        let mut all = Cell::default();
        self.slots(window, age)
            .for_each(|(_, cell)| all.merge(cell));
        all
    }

    /// What ended within the window, `age` after the start. A window ends with the slot that is not
    /// over yet, so that it is shorter than its name by at most one slot.
    pub fn tally(&self, window: Window, age: Duration) -> Tally {
        match window {
            Window::Start => self.total.tally(self.last),
            ring => self.cell(ring, age).tally(self.last),
        }
    }

    /// Calls and failures within the window: what a list is sorted by, without any quantile.
    pub fn counts(&self, window: Window, age: Duration) -> (u64, u64) {
        match window {
            Window::Start => (self.total.calls, self.total.errors),
            ring => self
                .slots(ring, age)
                .fold((0, 0), |(calls, errors), (_, cell)| {
                    (calls + cell.calls, errors + cell.errors)
                }),
        }
    }

    /// The latencies within the window.
    pub fn latencies(&self, window: Window, age: Duration) -> Latencies {
        match window {
            Window::Start => self.total.latency.clone(),
            ring => self.cell(ring, age).latency,
        }
    }

    /// The latencies since the start.
    pub(crate) fn latencies_since_start(&self) -> &Latencies {
        &self.total.latency
    }

    /// The window slot by slot, the newest last, and how long a slot is; since the start, that is
    /// the last hour.
    pub fn series(&self, window: Window, age: Duration) -> (Duration, Vec<Bin>) {
        let ring = match window {
            Window::Start => Window::Hour,
            ring => ring,
        };
        let (seconds, slots) = ring.ring().unwrap_or((1, 0));
        let now = age.as_secs() / seconds;
        let mut bins = vec![Bin::default(); usize::try_from(slots).unwrap_or(0)];
        for (number, cell) in self.slots(ring, age) {
            let back = now.saturating_sub(*number);
            let at = slots
                .checked_sub(back + 1)
                .and_then(|at| usize::try_from(at).ok());
            if let Some(bin) = at.and_then(|at| bins.get_mut(at)) {
                *bin = Bin {
                    calls: cell.calls,
                    errors: cell.errors,
                    slowest: cell.latency.max(),
                };
            }
        }
        (Duration::from_secs(seconds), bins)
    }

    /// When the last one ended.
    pub fn last(&self) -> Option<Stamp> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> Stamp {
        Stamp {
            at: tokio::time::Instant::now(),
            wall: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    fn counted(millis: u64, error: Option<ErrorKind>) -> Counted {
        Counted {
            latency: Duration::from_millis(millis),
            error,
            bytes_in: 2,
            bytes_out: 10,
            ..Counted::default()
        }
    }

    #[test]
    fn a_call_leaves_each_window_when_its_slot_is_too_old_and_never_the_whole() {
        let mut meter = Meter::default();
        meter.add(&counted(3, None), stamp(), at(7));
        let calls = |second| Window::ALL.map(|window| meter.counts(window, at(second)).0);
        assert_eq!(calls(7), [1, 1, 1, 1]);
        // The slot of second 7 is that from 5 to 10: the minute ends with that from 60 to 65.
        assert_eq!(calls(64), [1, 1, 1, 1]);
        assert_eq!(calls(65), [0, 1, 1, 1]);
        assert_eq!(calls(299), [0, 1, 1, 1]);
        assert_eq!(calls(300), [0, 0, 1, 1]);
        assert_eq!(calls(3_599), [0, 0, 1, 1]);
        assert_eq!(calls(3_600), [0, 0, 0, 1]);
    }

    #[test]
    fn windows_tell_their_own_errors_latencies_and_bytes() {
        let mut meter = Meter::default();
        meter.add(&counted(900, Some(ErrorKind::Timeout)), stamp(), at(0));
        for second in 100..104 {
            meter.add(&counted(10, None), stamp(), at(second));
        }
        let cut = Counted {
            truncated: true,
            kept: 100,
            cut: 800,
            waited: Duration::from_millis(5),
            ..counted(20, Some(ErrorKind::Tool))
        };
        meter.add(&cut, stamp(), at(104));
        let minute = meter.tally(Window::Minute, at(104));
        assert_eq!((minute.calls, minute.errors, minute.bytes_out), (5, 1, 50));
        assert_eq!((minute.truncated, minute.kept, minute.cut), (1, 100, 800));
        assert_eq!((minute.waits, minute.waited), (1, Duration::from_millis(5)));
        assert_eq!(minute.latency.max, Duration::from_millis(20));
        let all = meter.tally(Window::Start, at(104));
        let kinds: Vec<_> = all
            .by_kind
            .iter()
            .map(|row| (row.kind, row.count))
            .collect();
        assert_eq!(kinds, [(ErrorKind::Timeout, 1), (ErrorKind::Tool, 1)]);
        assert_eq!(all.latency.max, Duration::from_millis(900));
        assert_eq!(all, meter.tally(Window::FiveMinutes, at(104)));
    }

    #[test]
    fn a_series_has_a_column_for_every_slot_and_the_newest_is_the_last() {
        let mut meter = Meter::default();
        meter.add(&counted(1, None), stamp(), at(61));
        meter.add(&counted(4, Some(ErrorKind::Tool)), stamp(), at(119));
        let (slot, bins) = meter.series(Window::Minute, at(119));
        assert_eq!((slot, bins.len()), (at(5), 12));
        let calls: Vec<_> = bins.iter().map(|bin| bin.calls).collect();
        assert_eq!(calls, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bins[11].errors, 1);
        assert_eq!(bins[11].slowest, Duration::from_millis(4));
    }

    #[test]
    fn a_meter_holds_no_more_slots_than_its_windows_have() {
        let mut meter = Meter::default();
        for second in 0..20_000 {
            meter.add(&counted(1, None), stamp(), at(second));
        }
        let held: Vec<_> = meter.rings.iter().map(VecDeque::len).collect();
        assert_eq!(held, [12, 10, 12]);
        let (calls, _) = meter.counts(Window::Hour, at(19_999));
        assert!((3_300..=3_600).contains(&calls), "{calls}");
        // A clock that went back does not open an older slot.
        meter.add(&counted(1, None), stamp(), at(3));
        assert_eq!(meter.counts(Window::Minute, at(19_999)).0, 61);
    }
}
