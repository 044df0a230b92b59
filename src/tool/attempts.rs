//! The tries that a tool makes within one call: each with its time, and the pause before it apart
//! from that. Noted by tools that try again, read after the call.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

/// Most tries that are noted of one call; of later ones nothing is.
const MOST: usize = 64;

/// One try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// When the tool turned to it, the pause included; counted from the beginning of the call.
    pub entered: Duration,
    /// How long it took, the pause included.
    pub took: Duration,
    /// How much of that was the pause before it.
    pub waited: Duration,
    /// How it ended, in a few words that hold nothing of the request; absent when the call was given
    /// up before.
    pub outcome: Option<Cow<'static, str>>,
}

/// Where the tries of one call are noted; clones share the notes.
#[derive(Clone, Debug)]
pub struct Attempts(Arc<Notes>);

#[derive(Debug)]
struct Notes {
    begun: Instant,
    noted: Mutex<Vec<Noted>>,
}

#[derive(Debug)]
struct Noted {
    entered: Duration,
    /// Absent while the tool pauses.
    started: Option<Duration>,
    /// Absent while it goes on.
    left: Option<Duration>,
    outcome: Option<Cow<'static, str>>,
}

impl Attempts {
    /// Notes of a call that begins at `begun`.
    pub fn since(begun: Instant) -> Self {
        Self(Arc::new(Notes {
            begun,
            noted: Mutex::default(),
        }))
    }

    /// The tool begins a try at once.
    pub fn begin(&self) -> Attempting {
        self.add(true)
    }

    /// The tool turns to its next try: it pauses until [`Attempting::starts`].
    pub fn pause(&self) -> Attempting {
        self.add(false)
    }

    fn add(&self, at_once: bool) -> Attempting {
        let entered = self.0.begun.elapsed();
        let mut noted = self.0.noted.lock();
        let index = noted.len();
        if index < MOST {
            noted.push(Noted {
                entered,
                started: at_once.then_some(entered),
                left: None,
                outcome: None,
            });
        }
        Attempting {
            attempts: self.clone(),
            index,
        }
    }

    /// The tries of a tool that made more than one; of a single one the call itself tells
    /// everything.
    pub fn several(&self) -> Arc<[Attempt]> {
        let tries = self.0.noted.lock().len();
        match tries {
            0 | 1 => Arc::new([]),
            _ => self.list(),
        }
    }

    /// The tries in their order. One that goes on has no outcome yet.
    pub fn list(&self) -> Arc<[Attempt]> {
        let now = self.0.begun.elapsed();
        let noted = self.0.noted.lock();
        let row = |noted: &Noted| {
            let left = noted.left.unwrap_or(now);
            Attempt {
                entered: noted.entered,
                took: left.saturating_sub(noted.entered),
                waited: noted.started.unwrap_or(left).saturating_sub(noted.entered),
                outcome: noted.outcome.clone(),
            }
        };
        noted.iter().map(row).collect()
    }
}

/// A try that goes on. Dropping it notes that it was given up.
#[derive(Debug)]
pub struct Attempting {
    attempts: Attempts,
    index: usize,
}

impl Attempting {
    fn edit(&self, edit: impl FnOnce(&mut Noted, Duration)) {
        let now = self.attempts.0.begun.elapsed();
        if let Some(noted) = self.attempts.0.noted.lock().get_mut(self.index) {
            edit(noted, now);
        }
    }

    /// The pause is over.
    pub fn starts(&self) {
        self.edit(|noted, now| noted.started = Some(now));
    }

    /// It ended so.
    pub fn ends(self, outcome: impl Into<Cow<'static, str>>) {
        self.edit(|noted, _| noted.outcome = Some(outcome.into()));
    }
}

impl Drop for Attempting {
    fn drop(&mut self) {
        self.edit(|noted, now| noted.left = Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_told_apart_from_the_try_after_it() {
        let ms = Duration::from_millis;
        let attempts = Attempts::since(Instant::now());
        tokio::time::advance(ms(2)).await;
        let first = attempts.begin();
        tokio::time::advance(ms(5)).await;
        first.ends("503");
        let second = attempts.pause();
        tokio::time::advance(ms(100)).await;
        second.starts();
        tokio::time::advance(ms(4)).await;
        second.ends(String::from("200"));
        let third = attempts.pause();
        tokio::time::advance(ms(9)).await;
        drop(third);
        tokio::time::advance(ms(50)).await;
        let row = |entered, took, waited, outcome: Option<&'static str>| Attempt {
            entered: ms(entered),
            took: ms(took),
            waited: ms(waited),
            outcome: outcome.map(Into::into),
        };
        assert_eq!(
            *attempts.list(),
            [
                row(2, 5, 0, Some("503")),
                row(7, 104, 100, Some("200")),
                row(111, 9, 9, None),
            ]
        );
    }

    #[test]
    fn more_tries_than_the_bound_are_not_noted() {
        let attempts = Attempts::since(Instant::now());
        for _ in 0..MOST + 3 {
            attempts.begin().ends("503");
        }
        assert_eq!(attempts.list().len(), MOST);
    }
}
