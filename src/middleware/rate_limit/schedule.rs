//! When calls may start: a token bucket kept as one instant (the generic cell rate algorithm), so
//! that no rounding adds up.

use std::time::Duration;

use tokio::time::Instant;

/// Stands for a rate so low that its pause is longer than any program runs.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The bucket. It holds up to `burst` tokens and gains one per `interval`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    interval: Duration,
    /// How far ahead of an even pace calls may run.
    tolerance: Duration,
    /// When the next call would start at an even pace.
    even: Instant,
}

impl Schedule {
    /// A full bucket. `None` for a rate that is none.
    pub(super) fn new(per_second: f64, burst: u32, now: Instant) -> Option<Self> {
        if !(per_second.is_finite() && per_second > 0.0) {
            return None;
        }
        let interval = Duration::try_from_secs_f64(per_second.recip())
            .map_or(LONGEST, |interval| interval.min(LONGEST));
        Some(Self {
            interval,
            tolerance: interval
                .saturating_mul(burst.saturating_sub(1))
                .min(LONGEST),
            even: now,
        })
    }

    /// When a call that has waited since `since` may start after `ahead` others.
    pub(super) fn start_at(&self, since: Instant, ahead: usize) -> Instant {
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let turn = self.even.max(since) + self.interval.saturating_mul(ahead).min(LONGEST);
        turn.checked_sub(self.tolerance)
            .map_or(since, |earliest| earliest.max(since))
    }

    /// A call starts at that instant, which [`Schedule::start_at`] gave.
    pub(super) fn take(&mut self, at: Instant) {
        self.even = self.even.max(at) + self.interval;
    }

    /// A call that took a token did not start after all.
    pub(super) fn give_back(&mut self) {
        if let Some(even) = self.even.checked_sub(self.interval) {
            self.even = even;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(schedule: &mut Schedule, arrivals: &[u64], zero: Instant) -> Vec<u64> {
        let start = |ms: &u64| {
            let at = schedule.start_at(zero + Duration::from_millis(*ms), 0);
            schedule.take(at);
            u64::try_from((at - zero).as_millis()).unwrap()
        };
        arrivals.iter().map(start).collect()
    }

    #[test]
    fn a_burst_then_an_even_pace_and_a_pause_fills_the_bucket_again() {
        let zero = Instant::now();
        for (claim, burst, arrivals, expected) in [
            ("no burst", 1, [0, 0, 0, 50], [0, 100, 200, 300]),
            ("a burst of two", 2, [0, 0, 0, 0], [0, 0, 100, 200]),
            (
                "a pause of one token",
                2,
                [0, 0, 100, 100],
                [0, 0, 100, 200],
            ),
            ("a long pause", 2, [0, 0, 900, 900], [0, 0, 900, 900]),
            (
                "half a token is none",
                1,
                [0, 150, 200, 200],
                [0, 150, 250, 350],
            ),
        ] {
            let mut schedule = Schedule::new(10.0, burst, zero).unwrap();
            assert_eq!(starts(&mut schedule, &arrivals, zero), expected, "{claim}");
        }
    }

    #[test]
    fn the_turn_behind_others_is_known_and_a_token_can_be_given_back() {
        let zero = Instant::now();
        let ms = Duration::from_millis;
        let mut schedule = Schedule::new(10.0, 2, zero).unwrap();
        let turns: Vec<_> = (0..4).map(|n| schedule.start_at(zero, n) - zero).collect();
        assert_eq!(turns, [ms(0), ms(0), ms(100), ms(200)]);
        schedule.take(zero);
        schedule.take(zero);
        schedule.give_back();
        assert_eq!(schedule.start_at(zero, 0), zero);
    }

    #[test]
    fn rates_that_are_none_are_refused_and_tiny_ones_do_not_overflow() {
        let zero = Instant::now();
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Schedule::new(rate, 1, zero).is_none(), "{rate}");
        }
        for rate in [f64::MIN_POSITIVE, 1e-300, f64::MAX] {
            let mut schedule = Schedule::new(rate, u32::MAX, zero).unwrap();
            (0..3).for_each(|_| schedule.take(schedule.start_at(zero, usize::MAX)));
        }
    }
}
