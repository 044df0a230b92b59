//! What a server's transitions say about the last hour. Pure.

use std::time::Duration;

use tokio::time::Instant;
use toolcrib::source::{ServerState, Transition};

/// The span that is looked back over.
const HOUR: Duration = Duration::from_secs(3_600);

/// How much of each slice of the last hour the server was up: 0 to 1, or nothing where its state
/// is not known. The newest slice is the last.
pub(super) fn slices(history: &[Transition], now: Instant, cells: usize) -> Vec<Option<f64>> {
    let cells = cells.max(1);
    let slice = HOUR / u32::try_from(cells).unwrap_or(u32::MAX);
    (0..cells)
        .map(|cell| {
            let end = slice * u32::try_from(cells - 1 - cell).unwrap_or(0);
            let begin = end + slice;
            share(history, now, begin, end)
        })
        .collect()
}

/// The share of the known part of the last hour in which the server was up, and how long that
/// part is.
pub(super) fn availability(history: &[Transition], now: Instant) -> Option<(f64, Duration)> {
    let first = history.first()?;
    let known = first.at.age(now).min(HOUR);
    let share = share(history, now, known, Duration::ZERO)?;
    Some((share, known))
}

/// How long it took on average from a loss until the server was up again; nothing when it was
/// never lost and came back.
pub(super) fn time_to_recover(history: &[Transition]) -> Option<Duration> {
    let mut lost = None;
    let mut spans = Vec::new();
    for transition in history {
        if transition.from.is_up() && is_loss(transition.to) {
            lost = Some(transition.at);
        } else if transition.to.is_up()
            && let Some(lost) = lost.take()
        {
            spans.push(lost.age(transition.at.at));
        }
    }
    let count = u32::try_from(spans.len()).ok().filter(|count| *count > 0)?;
    Some(spans.iter().sum::<Duration>() / count)
}

/// Switching off on purpose is no loss.
fn is_loss(state: ServerState) -> bool {
    matches!(
        state,
        ServerState::Backoff | ServerState::Connecting | ServerState::Rejected
    )
}

/// The share up between two ages, of the part that is known.
fn share(history: &[Transition], now: Instant, begin: Duration, end: Duration) -> Option<f64> {
    let mut known = Duration::ZERO;
    let mut up = Duration::ZERO;
    for (at, transition) in history.iter().enumerate() {
        // The state holds from its transition until the next, or until now.
        let from = transition.at.age(now).min(begin);
        let until = history
            .get(at + 1)
            .map_or(Duration::ZERO, |next| next.at.age(now))
            .max(end);
        let span = from.saturating_sub(until);
        known += span;
        if transition.to.is_up() {
            up += span;
        }
    }
    (!known.is_zero()).then(|| up.as_secs_f64() / known.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::fixture::{ago, now, server_backoff, server_ready};

    #[test]
    fn the_hour_is_unknown_before_the_first_transition_and_full_while_up() {
        let server = server_ready("a", "a", 0);
        let slices = slices(&server.history, now().at, 6);
        assert_eq!(slices, [None, None, None, None, Some(1.0), Some(1.0)]);
        assert_eq!(
            availability(&server.history, now().at),
            Some((1.0, Duration::from_secs(848)))
        );
    }

    #[test]
    fn downtime_counts_where_it_was() {
        let at = |seconds, from, to| Transition {
            at: ago(seconds),
            from,
            to,
            reason: String::new(),
            attempt: 0,
        };
        use ServerState::{Backoff, Connecting, Ready};
        let history = [
            at(3_600, Connecting, Ready),
            at(1_800, Ready, Backoff),
            at(900, Connecting, Ready),
        ];
        let up = slices(&history, now().at, 4);
        assert_eq!(up, [Some(1.0), Some(1.0), Some(0.0), Some(1.0)]);
        let (share, known) = availability(&history, now().at).unwrap();
        assert_eq!((share, known), (0.75, Duration::from_secs(3_600)));
    }

    #[test]
    fn the_time_to_recover_counts_only_losses_that_healed() {
        let server = server_backoff("a", "a");
        assert_eq!(
            time_to_recover(&server.history),
            Some(Duration::from_secs(6))
        );
        assert_eq!(time_to_recover(&server_ready("a", "a", 0).history), None);
    }
}
