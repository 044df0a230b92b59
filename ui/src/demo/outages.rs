//! When the `clock` server dies and for how long it cannot start again. All of it follows from the
//! time since the demo began, so a process that has just been started needs no memory of the
//! one before it.

use std::time::Duration;

/// How long the outages last, in turn. One that lasts no time at all is a crash that the first
/// attempt heals; the others let a few attempts fail, so that the growing delays can be watched.
const LENGTHS: [Duration; 4] = [
    Duration::from_millis(0),
    Duration::from_millis(2000),
    Duration::from_millis(500),
    Duration::from_millis(5000),
];

/// How one process ends, or that it cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Serve, and die after that long with this exit code.
    Dies { after: Duration, code: u8 },
    /// Exit at once with this code.
    CannotStart { code: u8 },
}

/// The fate of a process that starts `since` after the demo began, with an outage every `every`.
///
/// The first outage begins when `every` has passed, so nothing happens before that.
pub(super) fn fate(since: Duration, every: Duration) -> Fate {
    let every = every.max(Duration::from_secs(1));
    let passed = (since.as_nanos() / every.as_nanos()) as u32;
    let into = since - every * passed;
    let length = passed.checked_sub(1).map_or(Duration::ZERO, |outage| {
        LENGTHS[outage as usize % LENGTHS.len()]
    });
    if into < length.min(every / 2) {
        return Fate::CannotStart { code: 3 };
    }
    Fate::Dies {
        after: every - into,
        // In turn killed from outside, as it looks, and given up by itself.
        code: if passed.is_multiple_of(2) { 137 } else { 3 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(75);

    fn at(seconds: f64) -> Fate {
        fate(Duration::from_secs_f64(seconds), EVERY)
    }

    fn dies(after: f64, code: u8) -> Fate {
        Fate::Dies {
            after: Duration::from_secs_f64(after),
            code,
        }
    }

    #[test]
    fn the_first_outage_is_a_crash_that_heals_at_once_and_later_ones_last() {
        for (name, seconds, expected) in [
            ("at the start", 0.0, dies(75.0, 137)),
            ("just before the first", 74.0, dies(1.0, 137)),
            ("the first lasts no time", 75.0, dies(75.0, 3)),
            ("the second begins", 150.0, Fate::CannotStart { code: 3 }),
            ("and fails once more", 151.0, Fate::CannotStart { code: 3 }),
            ("and is over at the third attempt", 153.0, dies(72.0, 137)),
            ("the third is short", 225.0, Fate::CannotStart { code: 3 }),
            ("over", 226.0, dies(74.0, 3)),
            ("the fourth is long", 304.5, Fate::CannotStart { code: 3 }),
            ("over after five seconds", 305.0, dies(70.0, 137)),
            ("and again from the first", 375.0, dies(75.0, 3)),
        ] {
            assert_eq!(at(seconds), expected, "{name}");
        }
    }

    #[test]
    fn however_often_there_is_an_outage_there_is_also_service() {
        for every in [
            Duration::ZERO,
            Duration::from_secs(1),
            Duration::from_secs(4),
        ] {
            let served = (0..400).any(|step| {
                let since = Duration::from_millis(step * 100);
                matches!(fate(since, every), Fate::Dies { .. })
            });
            assert!(served, "{every:?}");
        }
    }
}
