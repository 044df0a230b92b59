//! What a plain scalar means: the core schema of YAML 1.2, and nothing of 1.1. `.inf` and `.nan`
//! stay strings, since no setting and no JSON value can hold them.

use serde_json::Number;

use super::node::{Data, Style, Text};

/// The value of a plain scalar.
pub(in crate::deployment) fn resolve(written: &str) -> Data {
    match written {
        "" | "~" | "null" | "Null" | "NULL" => return Data::Null,
        _ => {}
    }
    if let Some(value) = boolean(written) {
        return Data::Bool(value, written.into());
    }
    match number(written) {
        Some(number) => Data::Number(number, written.into()),
        None => Data::Text(Text::new(written.to_owned(), Style::Plain)),
    }
}

/// The boolean that a text spells.
pub(super) fn boolean(written: &str) -> Option<bool> {
    match written {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The number that a text spells.
pub(super) fn number(written: &str) -> Option<Number> {
    if let Some(digits) = written.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = written.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let unsigned = written.strip_prefix(['-', '+']).unwrap_or(written);
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let signed = written.strip_prefix('+').unwrap_or(written);
        if let Ok(value) = signed.parse::<i64>() {
            return Some(value.into());
        }
        if let Ok(value) = signed.parse::<u64>() {
            return Some(value.into());
        }
        return signed.parse::<f64>().ok().and_then(Number::from_f64);
    }
    if !is_float(unsigned) {
        return None;
    }
    written.parse::<f64>().ok().and_then(Number::from_f64)
}

fn radix(digits: &str, radix: u32) -> Option<Number> {
    let plain = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    plain
        .then(|| u64::from_str_radix(digits, radix).ok())
        .flatten()
        .map(Number::from)
}

/// `(\.[0-9]+ | [0-9]+(\.[0-9]*)?) ([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    mantissa_fits
        && exponent.is_none_or(|text| digits(text.strip_prefix(['-', '+']).unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_yaml_1_2_says_and_nothing_of_1_1() {
        for written in [
            "y",
            "no",
            "on",
            "off",
            "yes",
            "Y",
            "12:30",
            "1_000",
            "0x",
            ".",
            "-",
            "+",
            "e3",
            "1e",
            ".inf",
            ".nan",
            "0b1",
            "1.2.3",
            "2026-07-28",
            "-0x1",
        ] {
            assert!(matches!(resolve(written), Data::Text(_)), "{written}");
        }
        for (written, expected) in [
            ("0", "0"),
            ("-5", "-5"),
            ("+7", "7"),
            ("007", "7"),
            ("0x1F", "31"),
            ("0o14", "12"),
            ("18446744073709551615", "18446744073709551615"),
            ("1.5", "1.5"),
            ("-.5", "-0.5"),
            ("3.", "3.0"),
            ("1e3", "1000.0"),
            ("+1.5E-1", "0.15"),
        ] {
            match resolve(written) {
                Data::Number(number, _) => assert_eq!(number.to_string(), expected, "{written}"),
                other => panic!("{written}: {other:?}"),
            }
        }
        assert!(matches!(resolve("True"), Data::Bool(true, _)));
        assert!(matches!(resolve("~"), Data::Null));
        assert!(matches!(resolve(""), Data::Null));
    }
}
