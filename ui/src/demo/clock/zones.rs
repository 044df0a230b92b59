//! Time zones by name. The system's data is asked first; for machines without any there is a
//! short list of rules.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

/// Rules that hold today, as POSIX writes them.
const RULES: [(&str, &str); 14] = [
    ("America/Chicago", "CST6CDT,M3.2.0,M11.1.0"),
    ("America/Los_Angeles", "PST8PDT,M3.2.0,M11.1.0"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("America/Sao_Paulo", "<-03>3"),
    ("Asia/Dubai", "<+04>-4"),
    ("Asia/Kolkata", "IST-5:30"),
    ("Asia/Shanghai", "CST-8"),
    ("Asia/Singapore", "<+08>-8"),
    ("Asia/Tokyo", "JST-9"),
    ("Australia/Sydney", "AEST-10AEDT,M10.1.0,M4.1.0/3"),
    ("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/London", "GMT0BST,M3.5.0/1,M10.5.0"),
    ("Europe/Paris", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Pacific/Auckland", "NZST-12NZDT,M9.5.0,M4.1.0/3"),
];

/// A zone by its name, or an offset such as `+02:00`.
pub(super) fn zone(name: &str) -> Result<TimeZone, String> {
    let name = name.trim();
    if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("z") {
        return Ok(TimeZone::UTC);
    }
    if let Some(offset) = offset(name) {
        return Ok(TimeZone::fixed(offset));
    }
    if let Ok(zone) = TimeZone::get(name) {
        return Ok(zone);
    }
    listed(name).ok_or_else(|| {
        let advice = toolcrib::registry::nearest_one(name, RULES.map(|(known, _)| known))
            .map_or_else(
                || {
                    "; use a name such as `Europe/Berlin`, an offset such as `+02:00`, or `UTC`"
                        .into()
                },
                |known| format!("; did you mean `{known}`?"),
            );
        format!("`{name}` is no time zone that is known here{advice}")
    })
}

fn listed(name: &str) -> Option<TimeZone> {
    let (_, rule) = RULES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    TimeZone::posix(rule).ok()
}

/// `+02:00`, `-0530` or `+9`.
fn offset(text: &str) -> Option<Offset> {
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' | '−' => -1,
        _ => return None,
    };
    let digits: String = text.chars().skip(1).filter(|sign| *sign != ':').collect();
    let number: i32 = digits.parse().ok()?;
    let (hours, minutes) = match digits.len() {
        1 | 2 => (number, 0),
        4 => (number / 100, number % 100),
        _ => return None,
    };
    if minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

/// A moment: with an offset or zone of its own, or a date and time of day in `zone`.
pub(super) fn moment(text: &str, zone: &TimeZone) -> Result<Zoned, String> {
    let text = text.trim();
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Ok(zoned);
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.to_zoned(zone.clone()));
    }
    match text.parse::<DateTime>() {
        Ok(civil) => civil
            .to_zoned(zone.clone())
            .map_err(|error| format!("`{text}` does not exist there: {error}")),
        Err(_) => Err(format!(
            "`{text}` is no time; write it as `2026-11-30T14:00` or `2026-11-30T14:00:00Z`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_offsets_and_the_short_list_are_zones() {
        let noon: Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
        let hour = |zone: TimeZone| noon.to_zoned(zone).hour();
        for (name, expected) in [
            ("UTC", 12),
            ("+02:00", 14),
            ("-0530", 6),
            ("+9", 21),
            ("Europe/Berlin", 14),
            ("asia/tokyo", 21),
        ] {
            assert_eq!(hour(zone(name).unwrap()), expected, "{name}");
        }
        for (name, _) in RULES {
            assert!(listed(name).is_some(), "{name}");
        }
        assert_eq!(hour(listed("Europe/Berlin").unwrap()), 14, "summer time");
        let error = zone("Europe/Berln").unwrap_err();
        assert!(error.contains("did you mean `Europe/Berlin`?"), "{error}");
        assert!(zone("+25:99").is_err());
    }

    #[test]
    fn a_moment_has_its_own_zone_or_that_of_the_call() {
        let berlin = listed("Europe/Berlin").unwrap();
        for (text, expected) in [
            ("2026-12-01T08:00", "2026-12-01T07:00:00Z"),
            ("2026-12-01 08:00:30", "2026-12-01T07:00:30Z"),
            ("2026-12-01", "2026-11-30T23:00:00Z"),
            ("2026-12-01T08:00:00Z", "2026-12-01T08:00:00Z"),
            ("2026-12-01T08:00:00+09:00", "2026-11-30T23:00:00Z"),
        ] {
            let at = moment(text, &berlin).unwrap().timestamp();
            assert_eq!(at.to_string(), expected, "{text}");
        }
        assert!(moment("tomorrow", &berlin).is_err());
    }
}
