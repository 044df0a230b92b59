//! When the next round of a scenario is played. Pure: time is an argument.

use std::time::Duration;

use tokio::time::Instant;

use crate::control::Pace;

/// The bounds of the pause between two rounds: a shorter one would be nothing to look at, a longer
/// one looks like a standstill.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(60);

/// The pace of a play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tempo {
    playing: bool,
    interval: Duration,
    /// Single rounds that were ordered and not played yet; at most `left`.
    steps: usize,
    /// Rounds that have not been played.
    left: usize,
    due: Option<Instant>,
}

impl Tempo {
    pub(super) fn new(left: usize, interval: Duration) -> Self {
        Self {
            playing: false,
            interval: interval.clamp(SHORTEST, LONGEST),
            steps: 0,
            left,
            due: None,
        }
    }

    /// Takes an order; `false` when there is nothing left that it could be about.
    pub(super) fn take(&mut self, pace: Pace, now: Instant) -> bool {
        match pace {
            Pace::Every(interval) => {
                self.interval = interval.clamp(SHORTEST, LONGEST);
                // What would come later than from now on comes earlier.
                let soonest = now + self.interval;
                self.due = self.due.map(|due| due.min(soonest));
                return true;
            }
            _ if self.left == 0 => return false,
            Pace::Play => {
                self.playing = true;
                self.due = Some(now);
            }
            Pace::Pause => {
                self.playing = false;
                self.steps = 0;
                self.due = None;
            }
            Pace::Step => {
                self.playing = false;
                self.steps = (self.steps + 1).min(self.left);
                self.due = Some(now);
            }
        }
        true
    }

    /// A round has been played.
    pub(super) fn played(&mut self, now: Instant) {
        self.left = self.left.saturating_sub(1);
        self.steps = self.steps.saturating_sub(1).min(self.left);
        self.playing &= self.left > 0;
        self.due = match (self.steps, self.playing) {
            (0, true) => Some(now + self.interval),
            (0, false) => None,
            _ => Some(now),
        };
    }

    /// When the next round is played, if it is.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn is_playing(&self) -> bool {
        self.playing
    }

    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn playing_goes_on_after_each_interval_until_nothing_is_left() {
        let now = Instant::now();
        let mut tempo = Tempo::new(2, SECOND);
        assert_eq!(tempo.due(), None);
        assert!(tempo.take(Pace::Play, now));
        assert_eq!(tempo.due(), Some(now));
        tempo.played(now);
        assert_eq!(tempo.due(), Some(now + SECOND));
        tempo.played(now + SECOND);
        assert_eq!(
            (tempo.due(), tempo.is_playing(), tempo.is_over()),
            (None, false, true)
        );
        assert!(!tempo.take(Pace::Play, now));
        assert!(!tempo.take(Pace::Step, now));
    }

    #[test]
    fn steps_are_counted_and_a_pause_forgets_them() {
        let now = Instant::now();
        let mut tempo = Tempo::new(3, SECOND);
        for _ in 0..9 {
            tempo.take(Pace::Step, now);
        }
        tempo.played(now);
        assert_eq!(tempo.due(), Some(now), "two more were ordered");
        tempo.take(Pace::Pause, now);
        assert_eq!(tempo.due(), None);
        tempo.take(Pace::Step, now);
        tempo.played(now);
        assert_eq!((tempo.due(), tempo.is_over()), (None, false));
    }

    #[test]
    fn a_step_while_it_plays_pauses_behind_it() {
        let now = Instant::now();
        let mut tempo = Tempo::new(3, SECOND);
        tempo.take(Pace::Play, now);
        tempo.take(Pace::Step, now);
        tempo.played(now);
        assert_eq!((tempo.due(), tempo.is_playing()), (None, false));
    }

    #[test]
    fn a_new_interval_counts_at_once_and_is_held_within_bounds() {
        let now = Instant::now();
        let mut tempo = Tempo::new(3, 10 * SECOND);
        tempo.take(Pace::Play, now);
        tempo.played(now);
        tempo.take(Pace::Every(SECOND), now);
        assert_eq!(tempo.due(), Some(now + SECOND));
        tempo.take(Pace::Every(Duration::ZERO), now);
        assert_eq!(tempo.interval(), SHORTEST);
        tempo.take(Pace::Every(Duration::MAX), now);
        assert_eq!(tempo.interval(), LONGEST);
    }
}
