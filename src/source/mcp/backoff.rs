//! The delays between attempts to connect, as a pure series (rule 8.3).

use std::time::Duration;

use super::Backoff;

impl Backoff {
    /// The delay before an attempt, counted from 1. `roll` lies between -1 and 1 and is the share
    /// of the jitter that is taken; it is applied last, so a delay may pass `max` by the jitter.
    pub(super) fn delay(&self, attempt: u32, roll: f64) -> Duration {
        let Some(doublings) = attempt.checked_sub(2) else {
            return Duration::ZERO;
        };
        let base = 2u32
            .checked_pow(doublings)
            .and_then(|factor| self.initial.checked_mul(factor))
            .map_or(self.max, |delay| delay.min(self.max));
        base.mul_f64((1.0 + self.jitter * roll.clamp(-1.0, 1.0)).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(backoff: &Backoff, attempts: u32, roll: f64) -> Vec<f64> {
        (1..=attempts)
            .map(|attempt| backoff.delay(attempt, roll).as_secs_f64())
            .collect()
    }

    #[test]
    fn the_series_is_zero_one_and_doubles_to_thirty() {
        assert_eq!(
            seconds(&Backoff::default(), 9, 0.0),
            [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
        );
    }

    #[test]
    fn jitter_is_a_fifth_either_way_and_comes_last() {
        let backoff = Backoff::default();
        assert_eq!(seconds(&backoff, 3, 1.0), [0.0, 1.2, 2.4]);
        assert_eq!(seconds(&backoff, 3, -1.0), [0.0, 0.8, 1.6]);
        assert_eq!(backoff.delay(40, 1.0), Duration::from_secs(36));
    }

    #[test]
    fn an_attempt_number_beyond_any_power_of_two_waits_the_longest() {
        assert_eq!(
            Backoff::default().delay(u32::MAX, 0.0),
            Duration::from_secs(30)
        );
    }
}
