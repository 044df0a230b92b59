//! Conversion of units: each has a dimension, a factor and an offset to the base of its dimension.

use super::expression::written;

struct Unit {
    names: &'static [&'static str],
    dimension: &'static str,
    factor: f64,
    offset: f64,
}

const fn unit(names: &'static [&'static str], dimension: &'static str, factor: f64) -> Unit {
    Unit {
        names,
        dimension,
        factor,
        offset: 0.0,
    }
}

const fn degree(names: &'static [&'static str], factor: f64, offset: f64) -> Unit {
    Unit {
        names,
        dimension: "temperature",
        factor,
        offset,
    }
}

const UNITS: &[Unit] = &[
    unit(&["m", "metre", "meter", "metres", "meters"], "length", 1.0),
    unit(
        &["km", "kilometre", "kilometer", "kilometres", "kilometers"],
        "length",
        1000.0,
    ),
    unit(&["cm", "centimetre", "centimeter"], "length", 0.01),
    unit(&["mm", "millimetre", "millimeter"], "length", 0.001),
    unit(&["in", "inch", "inches"], "length", 0.0254),
    unit(&["ft", "foot", "feet"], "length", 0.3048),
    unit(&["yd", "yard", "yards"], "length", 0.9144),
    unit(&["mi", "mile", "miles"], "length", 1609.344),
    unit(
        &["nmi", "nautical mile", "nautical miles"],
        "length",
        1852.0,
    ),
    unit(&["kg", "kilogram", "kilograms"], "mass", 1.0),
    unit(&["g", "gram", "grams"], "mass", 0.001),
    unit(&["t", "tonne", "tonnes"], "mass", 1000.0),
    unit(&["lb", "pound", "pounds"], "mass", 0.453_592_37),
    unit(&["oz", "ounce", "ounces"], "mass", 0.028_349_523_125),
    unit(&["l", "litre", "liter", "litres", "liters"], "volume", 1.0),
    unit(&["ml", "millilitre", "milliliter"], "volume", 0.001),
    unit(&["m3", "m³"], "volume", 1000.0),
    unit(&["gal", "gallon", "gallons"], "volume", 3.785_411_784),
    unit(&["cup", "cups"], "volume", 0.236_588_236_5),
    unit(&["m/s"], "speed", 1.0),
    unit(&["km/h", "kph"], "speed", 1.0 / 3.6),
    unit(&["mph"], "speed", 0.447_04),
    unit(&["kn", "knot", "knots"], "speed", 1852.0 / 3600.0),
    unit(&["m2", "m²"], "area", 1.0),
    unit(&["ha", "hectare", "hectares"], "area", 10_000.0),
    unit(&["km2", "km²"], "area", 1e6),
    unit(&["acre", "acres"], "area", 4_046.856_422_4),
    unit(&["s", "second", "seconds"], "time", 1.0),
    unit(&["min", "minute", "minutes"], "time", 60.0),
    unit(&["h", "hour", "hours"], "time", 3600.0),
    unit(&["d", "day", "days"], "time", 86_400.0),
    unit(&["week", "weeks"], "time", 604_800.0),
    unit(&["b", "byte", "bytes"], "data", 1.0),
    unit(&["kb"], "data", 1e3),
    unit(&["mb"], "data", 1e6),
    unit(&["gb"], "data", 1e9),
    unit(&["kib"], "data", 1024.0),
    unit(&["mib"], "data", 1_048_576.0),
    unit(&["gib"], "data", 1_073_741_824.0),
    degree(&["k", "kelvin"], 1.0, 0.0),
    degree(&["c", "°c", "celsius"], 1.0, 273.15),
    degree(&["f", "°f", "fahrenheit"], 5.0 / 9.0, 459.67 * 5.0 / 9.0),
];

/// `value` in another unit of the same dimension, with the dimension.
pub(super) fn convert(value: f64, from: &str, to: &str) -> Result<(f64, &'static str), String> {
    let (source, target) = (find(from)?, find(to)?);
    if source.dimension != target.dimension {
        return Err(format!(
            "`{from}` is a unit of {}, `{to}` of {}",
            source.dimension, target.dimension
        ));
    }
    let base = value * source.factor + source.offset;
    let converted = (base - target.offset) / target.factor;
    // Through the written form, so that a temperature is 32 and not 31.999999999999943.
    let rounded = written(converted).parse().unwrap_or(converted);
    Ok((rounded, source.dimension))
}

fn find(name: &str) -> Result<&'static Unit, String> {
    let wanted = name.trim().to_lowercase();
    let all = || {
        UNITS
            .iter()
            .flat_map(|unit| unit.names.iter().map(move |n| (*n, unit)))
    };
    if let Some((_, unit)) = all().find(|(known, _)| *known == wanted) {
        return Ok(unit);
    }
    let advice = toolcrib::registry::nearest_one(&wanted, all().map(|(known, _)| known))
        .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
    Err(format!("`{name}` is no unit that is known here{advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_convert_within_a_dimension() {
        for (value, from, to, expected) in [
            (1.0, "mile", "km", 1.609344),
            (100.0, "C", "F", 212.0),
            (32.0, "°F", "celsius", 0.0),
            (-40.0, "fahrenheit", "c", -40.0),
            (1.0, "GiB", "MB", 1073.741824),
            (10.0, "knots", "km/h", 18.52),
            (2.0, "weeks", "days", 14.0),
        ] {
            let (found, _) = convert(value, from, to).unwrap();
            assert!((found - expected).abs() < 1e-9, "{value} {from}: {found}");
        }
    }

    #[test]
    fn unknown_units_and_other_dimensions_are_refused() {
        assert_eq!(
            convert(1.0, "kg", "km").unwrap_err(),
            "`kg` is a unit of mass, `km` of length"
        );
        assert_eq!(
            convert(1.0, "kilometer", "milles").unwrap_err(),
            "`milles` is no unit that is known here; did you mean `miles`?"
        );
    }

    #[test]
    fn no_name_stands_for_two_units() {
        let mut names: Vec<&str> = UNITS.iter().flat_map(|u| u.names.iter().copied()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
