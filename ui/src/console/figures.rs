//! How numbers are written: always with their unit. Pure.

use std::time::Duration;

use toolcrib::observe::{Quantiles, Tally};

use super::theme::Theme;

/// A latency: `0.4 ms`, `38 ms`, `1.25 s`, `2 min 05 s`.
pub(crate) fn latency(value: Duration) -> String {
    let micros = value.as_micros();
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..10_000 => format!("{:.1} ms", micros as f64 / 1_000.0),
        10_000..1_000_000 => format!("{} ms", micros / 1_000),
        1_000_000..60_000_000 => format!("{:.2} s", value.as_secs_f64()),
        _ => format!("{} min {:02} s", value.as_secs() / 60, value.as_secs() % 60),
    }
}

/// An age: `0 s`, `59 s`, `12 min`, `3 h 05`, `4 d 02 h`.
pub(crate) fn age(value: Duration) -> String {
    let seconds = value.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02}", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02}", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// A run of time as `hh:mm:ss`.
pub(crate) fn clock(value: Duration) -> String {
    let seconds = value.as_secs();
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// A rate per second.
pub(crate) fn rate(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// A share: `–` where there is nothing to have a share of.
pub(crate) fn percent(part: u64, whole: u64, theme: Theme) -> String {
    if whole == 0 {
        return theme.none().to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

/// Latencies at the usual quantiles.
pub(crate) fn quantiles(of: &Quantiles) -> String {
    format!(
        "p50 {}, p90 {}, p95 {}, p99 {}, max {}",
        latency(of.p50),
        latency(of.p90),
        latency(of.p95),
        latency(of.p99),
        latency(of.max)
    )
}

/// How many failed of all: `3 failed (1.2 %)`.
pub(crate) fn failed(errors: u64, calls: u64, theme: Theme) -> String {
    let share = percent(errors, calls, theme);
    format!("{} failed ({share})", count(errors))
}

/// Bytes that went in and came out.
pub(crate) fn in_and_out(of: &Tally) -> String {
    format!("{} in, {} out", bytes(of.bytes_in), bytes(of.bytes_out))
}

/// How many waited in queues, and how long.
pub(crate) fn waits(of: &Tally) -> String {
    let waits = u32::try_from(of.waits).unwrap_or(u32::MAX);
    let each = of.waited.checked_div(waits).unwrap_or_default();
    format!(
        "{} waited, {} each on average",
        count(of.waits),
        latency(each)
    )
}

/// How many results were cut, and what was left of them.
pub(crate) fn cuts(of: &Tally) -> String {
    format!(
        "{} results: {} kept, {} cut",
        count(of.truncated),
        bytes(of.kept),
        bytes(of.cut)
    )
}

/// A size: `734 B`, `15.1 KiB`, `2.0 MiB`.
pub(crate) fn bytes(value: u64) -> String {
    match value {
        0..1_024 => format!("{value} B"),
        1_024..1_048_576 => format!("{:.1} KiB", value as f64 / 1_024.0),
        _ => format!("{:.1} MiB", value as f64 / 1_048_576.0),
    }
}

/// A count with its thousands apart: `1,204`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_unit() {
        let written = [
            latency(Duration::from_micros(420)),
            latency(Duration::from_micros(3_140)),
            latency(Duration::from_millis(38)),
            latency(Duration::from_millis(1_250)),
            latency(Duration::from_secs(125)),
            age(Duration::from_secs(59)),
            age(Duration::from_secs(734)),
            age(Duration::from_secs(11_100)),
            age(Duration::from_secs(353_000)),
            clock(Duration::from_secs(849)),
            rate(12.44),
            bytes(734),
            bytes(15_462),
            bytes(2_097_152),
            count(999),
            count(1_234_567),
        ];
        assert_eq!(
            written,
            [
                "420 us",
                "3.1 ms",
                "38 ms",
                "1.25 s",
                "2 min 05 s",
                "59 s",
                "12 min 14",
                "3 h 05",
                "4 d 02 h",
                "00:14:09",
                "12.4",
                "734 B",
                "15.1 KiB",
                "2.0 MiB",
                "999",
                "1,234,567",
            ]
        );
    }
}
