//! Latencies as a histogram whose cost is what it holds: steps of under 1.6 %, eight bytes for each
//! step that was seen. A dense one of the same resolution would take 16 KiB, which a ring of them
//! for each of ten thousand tools cannot. Pure.

use std::time::Duration;

/// The longest latency that is told apart from longer ones, in microseconds: one day.
const LONGEST_US: u64 = 86_400_000_000;

/// Steps per doubling, as a power of two.
const FINE: u32 = 6;

/// Up to here every microsecond is its own step.
const EXACT: u64 = 2 << FINE;

/// How often which latency was seen. At most 2,000 steps exist, so that nothing grows beyond
/// 16 KiB however many calls are added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Step and count, ascending.
    steps: Vec<(u16, u32)>,
    count: u64,
    sum_us: u64,
    max_us: u64,
}

fn step_of(micros: u64) -> u16 {
    let micros = micros.min(LONGEST_US);
    let step = if micros < EXACT {
        micros
    } else {
        let shift = micros.ilog2() - FINE;
        (u64::from(shift) << FINE) + (micros >> shift)
    };
    // The longest gives 1,987.
    u16::try_from(step).unwrap_or(u16::MAX)
}

/// The longest latency of a step.
fn end_of(step: u16) -> u64 {
    let step = u64::from(step);
    if step < EXACT {
        return step;
    }
    let shift = (step >> FINE) - 1;
    ((step - (shift << FINE) + 1) << shift) - 1
}

impl Latencies {
    /// Counts one.
    pub fn add(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let step = step_of(micros);
        match self.steps.binary_search_by_key(&step, |(known, _)| *known) {
            Ok(at) => self.steps[at].1 = self.steps[at].1.saturating_add(1),
            Err(at) => self.steps.insert(at, (step, 1)),
        }
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(micros);
        self.max_us = self.max_us.max(micros);
    }

    /// Counts all of another.
    pub fn merge(&mut self, other: &Self) {
        if self.steps.is_empty() {
            self.steps.clone_from(&other.steps);
        } else {
            let mut merged = Vec::with_capacity(self.steps.len() + other.steps.len());
            let (mut ours, mut theirs) =
                (self.steps.iter().peekable(), other.steps.iter().peekable());
            loop {
                match (ours.peek(), theirs.peek()) {
                    (Some(a), Some(b)) if a.0 == b.0 => {
                        merged.push((a.0, a.1.saturating_add(b.1)));
                        ours.next();
                        theirs.next();
                    }
                    (Some(a), Some(b)) if a.0 < b.0 => merged.extend(ours.next()),
                    (Some(_) | None, Some(_)) => merged.extend(theirs.next()),
                    (Some(_), None) => merged.extend(ours.next()),
                    (None, None) => break,
                }
            }
            self.steps = merged;
        }
        self.count += other.count;
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.max_us = self.max_us.max(other.max_us);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.sum_us)
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.max_us)
    }

    /// The latency that this share of them did not exceed, off by less than 1.6 %; zero without any.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = ((share * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (step, count) in &self.steps {
            seen += u64::from(*count);
            if seen >= wanted {
                return Duration::from_micros(end_of(*step).min(self.max_us));
            }
        }
        self.max()
    }

    /// How many did not exceed each of these bounds, which ascend; a latency in the step of a bound
    /// counts as below it.
    pub fn at_most(&self, bounds: &[Duration]) -> Vec<u64> {
        let mut steps = self.steps.iter().peekable();
        let mut seen = 0;
        bounds
            .iter()
            .map(|bound| {
                let last = step_of(u64::try_from(bound.as_micros()).unwrap_or(u64::MAX));
                while let Some((_, count)) = steps.next_if(|(step, _)| *step <= last) {
                    seen += u64::from(*count);
                }
                seen
            })
            .collect()
    }

    /// The counts by doublings, without a gap from the shortest to the longest: below how much, and
    /// how many.
    pub fn doublings(&self) -> Vec<(Duration, u64)> {
        let doubling = |step: u16| end_of(step).checked_ilog2().map_or(0, |log| log + 1);
        let mut rows: Vec<(Duration, u64)> = Vec::new();
        let mut next = self.steps.first().map_or(0, |(step, _)| doubling(*step));
        for (step, count) in &self.steps {
            while next <= doubling(*step) {
                rows.push((Duration::from_micros(1 << next), 0));
                next += 1;
            }
            if let Some(row) = rows.last_mut() {
                row.1 += u64::from(*count);
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(micros: &[u64]) -> Latencies {
        let mut all = Latencies::default();
        for micros in micros {
            all.add(Duration::from_micros(*micros));
        }
        all
    }

    #[test]
    fn steps_follow_each_other_without_gap_and_end_where_the_next_begins() {
        for step in 0..step_of(LONGEST_US) {
            let end = end_of(step);
            assert_eq!((step_of(end), step_of(end + 1)), (step, step + 1));
            let begin = if step == 0 { 0 } else { end_of(step - 1) + 1 };
            assert!((end - begin) as f64 <= end as f64 / 64.0, "step {step}");
        }
    }

    #[test]
    fn quantiles_bounds_and_doublings_count_every_latency_once() {
        let all = of(&[1, 3, 3, 900, 5_000]);
        let micros = |latency: Duration| latency.as_micros();
        assert_eq!(micros(all.quantile(0.5)), 3);
        assert_eq!(micros(all.quantile(1.0)), 5_000);
        assert_eq!(
            (all.count(), micros(all.sum()), micros(all.max())),
            (5, 5_907, 5_000)
        );
        let bounds = [2, 1_000, 1_000_000].map(Duration::from_micros);
        assert_eq!(all.at_most(&bounds), [1, 4, 5]);
        let rows: Vec<_> = all
            .doublings()
            .iter()
            .map(|(at, n)| (micros(*at), *n))
            .collect();
        assert_eq!(rows.first(), Some(&(2, 1)));
        assert_eq!(rows.last(), Some(&(8_192, 1)));
        assert_eq!(rows.len(), 13, "no doubling is left out: {rows:?}");
        assert_eq!(rows.iter().map(|(_, count)| count).sum::<u64>(), 5);
        assert_eq!(of(&[]).quantile(0.99), Duration::ZERO);
        assert_eq!(of(&[]).doublings(), []);
    }

    proptest! {
        #[test]
        fn merging_is_the_same_as_adding(
            a in prop::collection::vec(0_u64..200_000_000, 0..60),
            b in prop::collection::vec(0_u64..200_000_000, 0..60),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn a_quantile_is_off_by_less_than_a_step(
            mut all in prop::collection::vec(1_u64..200_000_000, 1..80),
            share in 0.01_f64..1.0,
        ) {
            let got = of(&all).quantile(share).as_micros() as f64;
            all.sort_unstable();
            let at = ((share * all.len() as f64).ceil() as usize).max(1) - 1;
            let exact = all[at] as f64;
            prop_assert!(got >= exact && got <= exact * 1.016 + 1.0, "{} for {}", got, exact);
        }
    }
}
