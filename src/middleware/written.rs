//! Settings as an operator would write them, so that what is shown can be typed in again.

use std::time::Duration;

/// A duration as the deployment file takes it: `2s`, `250ms`, `1.5s`, `0s`.
pub(super) fn duration(value: Duration) -> String {
    let micros = value.as_micros();
    if micros == 0 {
        return "0s".into();
    }
    if !micros.is_multiple_of(1_000) {
        return format!("{}ms", value.as_secs_f64() * 1_000.0);
    }
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::document::parse_duration;

    #[test]
    fn every_duration_is_written_as_it_can_be_read() {
        for micros in [
            0,
            500,
            1_000,
            1_500,
            250_000,
            1_500_000,
            90_000_000,
            3_600_000_000,
        ] {
            let value = Duration::from_micros(micros);
            let text = duration(value);
            assert_eq!(parse_duration(&text), Ok(value), "{text}");
        }
    }
}
