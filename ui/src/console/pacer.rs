//! Decides when to draw: at most thirty frames a second, none without a change. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// Collects reasons to draw and spaces the frames.
#[derive(Debug, Default)]
pub(super) struct FramePacer {
    dirty: bool,
    last: Option<Instant>,
}

impl FramePacer {
    /// Something changed that a frame would show.
    pub(super) fn request(&mut self) {
        self.dirty = true;
    }

    /// When the next frame is due; `None` while nothing has changed.
    pub(super) fn deadline(&self, now: Instant) -> Option<Instant> {
        self.dirty
            .then(|| self.last.map_or(now, |last| (last + FRAME).max(now)))
    }

    /// Whether to draw now; if so, the frame counts as drawn.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let due = self.deadline(now).is_some_and(|deadline| deadline <= now);
        if due {
            self.dirty = false;
            self.last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_drawn_without_a_change() {
        let mut pacer = FramePacer::default();
        let now = Instant::now();
        assert_eq!(pacer.deadline(now), None);
        assert!(!pacer.take(now));
        pacer.request();
        assert!(pacer.take(now));
        assert!(!pacer.take(now + Duration::from_secs(9)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_change_is_drawn_at_once_and_a_storm_thirty_times_a_second() {
        let mut pacer = FramePacer::default();
        let start = Instant::now();
        let mut frames = 0;
        while start.elapsed() < Duration::from_secs(1) {
            pacer.request();
            frames += u32::from(pacer.take(Instant::now()));
            tokio::time::advance(Duration::from_micros(500)).await;
        }
        assert_eq!(frames, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_right_after_a_frame_waits_for_the_next_slot_and_is_not_lost() {
        let mut pacer = FramePacer::default();
        let start = Instant::now();
        pacer.request();
        assert!(pacer.take(start));
        pacer.request();
        let soon = start + Duration::from_millis(1);
        assert!(!pacer.take(soon));
        assert_eq!(pacer.deadline(soon), Some(start + FRAME));
        assert!(pacer.take(start + FRAME));
    }
}
