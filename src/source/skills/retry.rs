//! When an HTTP call is tried again, and after which pause (skills 5.7). Pure.

use std::time::Duration;

use ::http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;

use super::model::Retry;

/// The longest pause that a server can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The pause after a rate limit that names none.
const UNNAMED_WAIT: Duration = Duration::from_secs(1);

/// The share by which a pause of the `retry` series may be longer or shorter.
const JITTER: f64 = 0.2;

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attempt<'a> {
    /// The server answered.
    Answered {
        /// The status.
        status: StatusCode,
        /// The headers.
        headers: &'a HeaderMap,
    },
    /// The connection could not be made or broke.
    Broken {
        /// Whether the request may have arrived.
        maybe_sent: bool,
    },
}

/// The pause before the next attempt; `None` when this one is final.
///
/// `attempt` counts from 1; `chance` is evenly distributed over 0 to 1.
pub(super) fn pause(
    retry: Option<Retry>,
    method: &Method,
    attempt: u32,
    end: Attempt<'_>,
    now: Timestamp,
    chance: f64,
) -> Option<Duration> {
    // Without `retry` a rate limit is waited for exactly once.
    let most = retry.map_or(2, |retry| retry.max_attempts);
    if attempt >= most {
        return None;
    }
    match end {
        Attempt::Answered { status, headers } if is_rate_limit(status, headers) => {
            let asked = asked_for(headers, now);
            Some(asked.unwrap_or(UNNAMED_WAIT).min(LONGEST_WAIT))
        }
        Attempt::Answered { status, headers } => {
            let retry = retry?;
            let heals = matches!(status.as_u16(), 500 | 502 | 503 | 504);
            let safe = status == StatusCode::SERVICE_UNAVAILABLE || !changes_twice(method);
            (heals && safe).then(|| {
                // What the server asks for may make the series slower, never quicker.
                let asked = asked_for(headers, now).unwrap_or_default();
                delay(retry, attempt, chance).max(asked.min(LONGEST_WAIT))
            })
        }
        Attempt::Broken { maybe_sent } => {
            let retry = retry?;
            let safe = !maybe_sent || !changes_twice(method);
            safe.then(|| delay(retry, attempt, chance))
        }
    }
}

/// A 429, or a 403 that says that nothing remains.
fn is_rate_limit(status: StatusCode, headers: &HeaderMap) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::FORBIDDEN && text(headers, "x-ratelimit-remaining") == Some("0"))
}

/// Whether sending it again could do a thing twice (RFC 9110, 9.2.2 names the idempotent ones).
fn changes_twice(method: &Method) -> bool {
    *method == Method::POST || *method == Method::PATCH
}

/// What the server asks for: `Retry-After` as seconds or date, else `X-RateLimit-Reset`.
fn asked_for(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let until = |second: i64| {
        let seconds = second.saturating_sub(now.as_second());
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    };
    if let Some(value) = text(headers, "retry-after") {
        if let Ok(seconds) = value.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        if let Ok(date) = httpdate::parse_http_date(value) {
            let since = date.duration_since(std::time::UNIX_EPOCH).ok()?;
            return Some(until(i64::try_from(since.as_secs()).ok()?));
        }
    }
    let reset: i64 = text(headers, "x-ratelimit-reset")?.parse().ok()?;
    // Some servers give the second of the reset, others the seconds until then; no reset lies in
    // the first thirty years after 1970.
    Some(if reset < 1_000_000_000 {
        Duration::from_secs(u64::try_from(reset).unwrap_or(0))
    } else {
        until(reset)
    })
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The pause of the `retry` series: doubling, capped, jitter last.
fn delay(retry: Retry, attempt: u32, chance: f64) -> Duration {
    let doublings = attempt.saturating_sub(1).min(31);
    let base = retry.base_delay.saturating_mul(1 << doublings);
    let factor = 1.0 - JITTER + 2.0 * JITTER * chance;
    base.min(retry.max_delay).mul_f64(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    ::http::HeaderName::from_static(name),
                    value.parse().unwrap(),
                )
            })
            .collect()
    }

    fn wait(
        retry: Option<Retry>,
        method: Method,
        attempt: u32,
        status: u16,
        pairs: &[(&'static str, &str)],
    ) -> Option<u64> {
        let headers = headers(pairs);
        let end = match StatusCode::from_u16(status) {
            Ok(status) => Attempt::Answered {
                status,
                headers: &headers,
            },
            Err(_) => Attempt::Broken {
                maybe_sent: status == 1,
            },
        };
        let now = Timestamp::from_second(NOW).unwrap();
        pause(retry, &method, attempt, end, now, 0.5).map(|wait| wait.as_millis() as u64)
    }

    #[test]
    fn a_rate_limit_is_waited_for_exactly_once() {
        let in_ten = (NOW + 10).to_string();
        for (claim, status, pairs, expected) in [
            ("unnamed", 429, &[][..], Some(1_000)),
            ("seconds", 429, &[("retry-after", "3")], Some(3_000)),
            ("zero", 429, &[("retry-after", "0")], Some(0)),
            (
                "at most a minute",
                429,
                &[("retry-after", "3600")],
                Some(60_000),
            ),
            (
                "a date",
                429,
                &[("retry-after", "Fri, 15 Jan 2027 08:00:05 GMT")],
                Some(5_000),
            ),
            (
                "a past date",
                429,
                &[("retry-after", "Fri, 15 Jan 2027 07:00:00 GMT")],
                Some(0),
            ),
            (
                "reset",
                429,
                &[("x-ratelimit-reset", &in_ten)],
                Some(10_000),
            ),
            (
                "reset as span",
                429,
                &[("x-ratelimit-reset", "7")],
                Some(7_000),
            ),
            ("nonsense", 429, &[("retry-after", "soon")], Some(1_000)),
            (
                "403, none left",
                403,
                &[("x-ratelimit-remaining", "0")],
                Some(1_000),
            ),
            (
                "403, some left",
                403,
                &[("x-ratelimit-remaining", "1")],
                None,
            ),
            ("403", 403, &[], None),
            ("500 without retry", 500, &[], None),
            ("404", 404, &[], None),
        ] {
            assert_eq!(
                wait(None, Method::POST, 1, status, pairs),
                expected,
                "{claim}"
            );
            assert_eq!(
                wait(None, Method::POST, 2, status, pairs),
                None,
                "{claim}, again"
            );
        }
    }

    #[test]
    fn retry_counts_all_attempts_and_repeats_only_what_is_safe() {
        let retry = |max_attempts| {
            Some(Retry {
                max_attempts,
                base_delay: Duration::from_millis(100),
                max_delay: Duration::from_millis(300),
            })
        };
        let three = retry(3);
        for (claim, setting, method, attempt, status, expected) in [
            ("first pause", three, Method::GET, 1, 503, Some(100)),
            ("doubles", three, Method::GET, 2, 503, Some(200)),
            ("capped", retry(9), Method::GET, 4, 503, Some(300)),
            ("all attempts", three, Method::GET, 3, 503, None),
            ("one attempt", retry(1), Method::GET, 1, 429, None),
            (
                "a rate limit more than once, which names no wait",
                three,
                Method::GET,
                2,
                429,
                Some(1_000),
            ),
            ("500", three, Method::GET, 1, 500, Some(100)),
            ("501", three, Method::GET, 1, 501, None),
            ("POST, 500", three, Method::POST, 1, 500, None),
            ("POST, 503", three, Method::POST, 1, 503, Some(100)),
            ("PATCH, 502", three, Method::PATCH, 1, 502, None),
            ("PUT, 502", three, Method::PUT, 1, 502, Some(100)),
            ("POST, nothing sent", three, Method::POST, 1, 0, Some(100)),
            ("POST, maybe sent", three, Method::POST, 1, 1, None),
            ("GET, maybe sent", three, Method::GET, 1, 1, Some(100)),
            ("no retry, nothing sent", None, Method::GET, 1, 0, None),
        ] {
            assert_eq!(
                wait(setting, method, attempt, status, &[]),
                expected,
                "{claim}"
            );
        }
        let asked = |header| wait(three, Method::GET, 1, 503, &[("retry-after", header)]);
        assert_eq!(asked("2"), Some(2_000));
        assert_eq!(asked("0"), Some(100), "the series is kept to");
        assert_eq!(asked("3600"), Some(60_000));
    }
}
