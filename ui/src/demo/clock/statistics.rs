//! Summary of a list of numbers.

use serde_json::{Value, json};

use super::expression::written;

/// Count, sum, mean, median, smallest, largest and sample standard deviation, as text and as data.
pub(super) fn summary(numbers: &[f64]) -> Result<(String, Value), String> {
    if numbers.is_empty() {
        return Err("`numbers` must hold at least one number".into());
    }
    let count = numbers.len();
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let sum: f64 = numbers.iter().sum();
    let mean = sum / count as f64;
    let middle = sorted[count / 2];
    let median = if count.is_multiple_of(2) {
        f64::midpoint(sorted[count / 2 - 1], middle)
    } else {
        middle
    };
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    // One number has no spread that could be estimated.
    let deviation = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
    let (least, most) = (sorted[0], sorted[count - 1]);
    let text = format!(
        "{count} numbers from {} to {}, mean {}, median {}{}",
        written(least),
        written(most),
        written(mean),
        written(median),
        deviation.map_or_else(String::new, |d| format!(
            ", standard deviation {}",
            written(d)
        ))
    );
    let value = json!({
        "count": count, "sum": sum, "mean": mean, "median": median,
        "min": least, "max": most, "standard_deviation": deviation,
    });
    Ok((text, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_even_and_single_lists_have_their_summaries() {
        let value = |numbers: &[f64]| summary(numbers).unwrap().1;
        let even = value(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((&even["median"], &even["mean"]), (&json!(2.5), &json!(2.5)));
        assert_eq!(value(&[5.0, 1.0, 9.0])["median"], json!(5.0));
        assert_eq!(
            value(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0])["sum"],
            json!(31.0)
        );
        assert_eq!(value(&[1.0, 3.0])["standard_deviation"], json!(2f64.sqrt()));
        assert_eq!(value(&[7.0])["standard_deviation"], Value::Null);
        assert!(summary(&[]).is_err());
    }
}
