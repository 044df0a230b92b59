//! Durations as people write them: `250ms`, `30s`, `2m`, `1h`, `1m30s`, `1.5s`.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// A bare number.
    #[error("`{0}` has no unit; write `{0}s` for seconds or `{0}ms` for milliseconds")]
    NoUnit(String),
    /// Less than zero.
    #[error("`{0}` is negative")]
    Negative(String),
    /// Anything else.
    #[error("`{0}` is no duration; write it like `250ms`, `30s`, `2m` or `1h`")]
    Malformed(String),
    /// Longer than can be counted.
    #[error("`{0}` is too long")]
    TooLong(String),
}

/// Longer than any wait that makes sense, and short enough for all arithmetic on instants.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Reads a duration. A bare `0` needs no unit.
///
/// # Errors
/// When the text is something else.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let malformed = || DurationError::Malformed(text.to_owned());
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(if text.starts_with('-') {
            DurationError::Negative(text.to_owned())
        } else {
            DurationError::NoUnit(text.to_owned())
        });
    }
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if rest.is_empty() {
        return Err(malformed());
    }
    let mut seconds = 0.0;
    let mut last = f64::INFINITY;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !matches!(c, '0'..='9' | '.'))
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(malformed()),
        };
        if !number.starts_with(|c: char| c.is_ascii_digit()) || unit >= last {
            return Err(malformed());
        }
        last = unit;
        seconds += number.parse::<f64>().map_err(|_| malformed())? * unit;
        rest = after;
    }
    if negative {
        return Err(DurationError::Negative(text.to_owned()));
    }
    match Duration::try_from_secs_f64(seconds) {
        // A float holds 0.1 s not exactly; nobody writes below a microsecond.
        Ok(value) if value <= LONGEST => Ok(Duration::from_micros(
            u64::try_from((value.as_nanos() + 500) / 1000).unwrap_or(u64::MAX),
        )),
        _ => Err(DurationError::TooLong(text.to_owned())),
    }
}

/// The shortest way to write a duration that [`parse_duration`] reads back.
pub fn show_duration(value: Duration) -> String {
    let micros = value.as_micros();
    match micros {
        0 => "0s".into(),
        _ if micros.is_multiple_of(3_600_000_000) => format!("{}h", micros / 3_600_000_000),
        _ if micros.is_multiple_of(60_000_000) => format!("{}m", micros / 60_000_000),
        _ if micros.is_multiple_of(1_000_000) => format!("{}s", micros / 1_000_000),
        _ if micros.is_multiple_of(1_000) => format!("{}ms", micros / 1_000),
        _ => format!("{}ms", value.as_secs_f64() * 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_they_are_written() {
        for (text, millis) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("1m30s", 90_000),
            ("1.5s", 1500),
            ("0.1s", 100),
            ("0", 0),
            ("0s", 0),
        ] {
            let read = parse_duration(text).unwrap();
            assert_eq!(read, Duration::from_millis(millis), "{text}");
            assert_eq!(parse_duration(&show_duration(read)), Ok(read), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_way_out() {
        for (text, message) in [
            (
                "30",
                "`30` has no unit; write `30s` for seconds or `30ms` for milliseconds",
            ),
            ("-5s", "`-5s` is negative"),
            ("-5", "`-5` is negative"),
            (
                "",
                "`` is no duration; write it like `250ms`, `30s`, `2m` or `1h`",
            ),
            (
                "30 s",
                "`30 s` is no duration; write it like `250ms`, `30s`, `2m` or `1h`",
            ),
            (
                "s",
                "`s` is no duration; write it like `250ms`, `30s`, `2m` or `1h`",
            ),
            (
                ".s",
                "`.s` is no duration; write it like `250ms`, `30s`, `2m` or `1h`",
            ),
            (
                "1s1m",
                "`1s1m` is no duration; write it like `250ms`, `30s`, `2m` or `1h`",
            ),
            (
                "1d",
                "`1d` is no duration; write it like `250ms`, `30s`, `2m` or `1h`",
            ),
            ("99999999999h", "`99999999999h` is too long"),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), message);
        }
    }
}
