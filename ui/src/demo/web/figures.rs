//! Made-up weather and fixed exchange rates. Nothing here is true outside the demo.

use jiff::civil::Date;

/// City, mean temperature in °C and how much it varies over the year.
const CITIES: [(&str, f64, f64); 6] = [
    ("Saltmere", 10.5, 6.0),
    ("Nordhollow", 6.0, 9.0),
    ("Kiyokawa", 15.0, 11.0),
    ("Port Amaranth", 24.0, 4.0),
    ("Höhenfels", 4.5, 10.0),
    ("Dunmarsh", 11.5, 7.0),
];

const SKIES: [&str; 6] = ["sunny", "cloudy", "light rain", "fog", "showers", "windy"];

/// How many of each currency one crown buys. Real names, invented rates.
const RATES: [(&str, f64); 7] = [
    ("CROWN", 1.0),
    ("EUR", 0.8),
    ("USD", 0.9),
    ("GBP", 0.7),
    ("JPY", 130.0),
    ("CHF", 0.75),
    ("INR", 75.0),
];

/// The weather of one day.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Day {
    pub date: String,
    pub low: f64,
    pub high: f64,
    pub sky: &'static str,
    pub wind_kmh: u32,
}

/// The days from `first` on. The same city and date always have the same weather.
pub(super) fn forecast(
    city: &str,
    first: Date,
    days: u32,
) -> Result<(&'static str, Vec<Day>), String> {
    let wanted = city.trim().to_lowercase();
    let found = CITIES
        .iter()
        .find(|(name, ..)| name.to_lowercase() == wanted);
    let Some((name, mean, swing)) = found else {
        let names = CITIES.map(|(name, ..)| name);
        return Err(format!(
            "the weather of `{city}` is not known; the cities of this demo are `{}`",
            names.join("`, `")
        ));
    };
    let day = |ahead: u32| -> Option<Day> {
        let date = first
            .checked_add(jiff::Span::new().days(i64::from(ahead)))
            .ok()?;
        let chance = chance(name, date);
        // The coldest day is in the middle of January.
        let season = (f64::from(date.day_of_year() - 15) / 365.0 * std::f64::consts::TAU).cos();
        let high = mean - swing * season + f64::from(chance % 60) / 10.0 - 1.0;
        let tenths = |value: f64| (value * 10.0).round() / 10.0;
        Some(Day {
            date: date.to_string(),
            low: tenths(high - 4.0 - f64::from(chance / 7 % 40) / 10.0),
            high: tenths(high),
            sky: SKIES[(chance / 31 % 6) as usize],
            wind_kmh: 4 + chance / 97 % 45,
        })
    };
    Ok((name, (0..days).filter_map(day).collect()))
}

/// A number that looks random and depends on city and date alone.
fn chance(city: &str, date: Date) -> u32 {
    let text = format!("{city} {date}");
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d) >> 8
}

/// An amount in another currency, rounded to cents, with the rate.
pub(super) fn exchange(amount: f64, from: &str, to: &str) -> Result<(f64, f64), String> {
    let rate = |code: &str| {
        let wanted = code.trim().to_uppercase();
        RATES
            .iter()
            .find(|(known, _)| *known == wanted)
            .map(|(_, rate)| *rate)
            .ok_or_else(|| {
                let codes = RATES.map(|(known, _)| known);
                format!(
                    "no rate for `{code}`; the currencies of this demo are `{}`",
                    codes.join("`, `")
                )
            })
    };
    let rate = rate(to)? / rate(from)?;
    Ok(((amount * rate * 100.0).round() / 100.0, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_city_and_date_have_the_same_weather_and_summers_are_warm() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        let (name, winter) = forecast("saltmere", date("2026-01-10"), 3).unwrap();
        let (_, again) = forecast("Saltmere", date("2026-01-11"), 2).unwrap();
        assert_eq!((name, &winter[1..]), ("Saltmere", &again[..]));
        let (_, summer) = forecast("Saltmere", date("2026-07-10"), 1).unwrap();
        assert!(summer[0].low > winter[0].high);
        assert!(winter.iter().all(|day| day.low < day.high));
        assert!(
            forecast("Paris", date("2026-01-01"), 1)
                .unwrap_err()
                .contains("Saltmere")
        );
    }

    #[test]
    fn money_goes_there_and_back() {
        let (yen, rate) = exchange(10.0, "eur", "JPY").unwrap();
        assert_eq!((yen, rate), (1625.0, 162.5));
        assert_eq!(exchange(yen, "JPY", "EUR").unwrap().0, 10.0);
        assert!(exchange(1.0, "EUR", "XXX").unwrap_err().contains("CROWN"));
    }
}
