//! `clock`: time and arithmetic.

mod expression;
mod statistics;
mod units;
mod zones;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Unit};
use serde_json::json;
use toolcrib::clock::Stamp;

use super::arguments::Arguments;
use super::server::{Answer, Client, Effect, Outcome, ToolSpec, Toolset};
use expression::written;

/// The longest that `wait` waits, and the most steps it reports.
const LONGEST_WAIT: u32 = 300;
const MOST_STEPS: u32 = 100;

/// The server.
pub(super) struct Clock;

impl Clock {
    async fn wait(&self, arguments: &Arguments, client: &Client) -> Outcome {
        let seconds = arguments.whole("seconds", 5, 1..=LONGEST_WAIT)?;
        let steps = arguments.whole("steps", seconds.min(MOST_STEPS), 1..=MOST_STEPS)?;
        let step = Duration::from_secs(u64::from(seconds)) / steps;
        client.log(&format!("waiting {seconds} s")).await;
        for done in 0..steps {
            client
                .progress(done, steps, format!("{done} of {steps} steps done"))
                .await;
            tokio::select! {
                () = tokio::time::sleep(step) => {}
                () = client.gone().cancelled() => {
                    return Err(format!("cancelled after {done} of {steps} steps"));
                }
            }
        }
        client.progress(steps, steps, "done").await;
        Ok(Answer::text(format!("waited {seconds} s in {steps} steps")))
    }
}

/// All tools but `wait`, at the moment `now`.
fn answer(tool: &str, arguments: &Arguments, now: Timestamp) -> Outcome {
    let zone = |key: &str| match arguments.text(key)? {
        Some(name) => zones::zone(name),
        None => Ok(TimeZone::UTC),
    };
    match tool {
        "now" => {
            let now = now.to_zoned(zone("zone")?);
            let text = now.strftime("%A, %-d %B %Y, %H:%M:%S %Z").to_string();
            let value = json!({
                "time": now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
                "unix": now.timestamp().as_second(),
                "weekday": now.strftime("%A").to_string(),
                "week": now.strftime("%V").to_string(),
            });
            Ok(Answer::data(text, value))
        }
        "convert_time" => {
            let at = zones::moment(arguments.required_text("time")?, &zone("from")?)?;
            let there = at.with_time_zone(zone("to")?);
            Ok(Answer::text(
                there.strftime("%Y-%m-%d %H:%M:%S %:z, %A").to_string(),
            ))
        }
        "add_duration" => {
            let at = zones::moment(arguments.required_text("time")?, &zone("zone")?)?;
            let text = arguments.required_text("duration")?;
            let span: Span = text.parse().map_err(|_| {
                format!("`{text}` is no duration; write it as `3 days`, `-2h 30m` or `P1M`")
            })?;
            let sum = at
                .checked_add(span)
                .map_err(|error| format!("that is out of range: {error}"))?;
            Ok(Answer::text(
                sum.strftime("%Y-%m-%d %H:%M:%S %:z, %A").to_string(),
            ))
        }
        "days_between" => {
            let date = |key: &str| -> Result<_, String> {
                let text = arguments.required_text(key)?;
                Ok(zones::moment(text, &TimeZone::UTC)?.date())
            };
            let (from, to) = (date("from")?, date("to")?);
            let days = from
                .until((Unit::Day, to))
                .map_err(|error| format!("that is out of range: {error}"))?
                .get_days();
            let working = (0..days.unsigned_abs())
                .filter_map(|day| {
                    from.min(to)
                        .checked_add(Span::new().days(i64::from(day)))
                        .ok()
                })
                .filter(|date| date.weekday().to_monday_zero_offset() < 5)
                .count();
            let value = json!({"days": days, "working_days": working});
            Ok(Answer::data(
                format!("{days} days, {working} of them from Monday to Friday"),
                value,
            ))
        }
        "calculate" => {
            let value = expression::evaluate(arguments.required_text("expression")?)?;
            Ok(Answer::data(written(value), json!({"value": value})))
        }
        "statistics" => {
            let (text, value) = statistics::summary(&arguments.numbers("numbers")?)?;
            Ok(Answer::data(text, value))
        }
        "convert_units" => {
            let value = arguments.number("value")?.unwrap_or_default();
            let (from, to) = (
                arguments.required_text("from")?,
                arguments.required_text("to")?,
            );
            let (converted, dimension) = units::convert(value, from, to)?;
            let text = format!("{} {from} = {} {to}", written(value), written(converted));
            Ok(Answer::data(
                text,
                json!({"value": converted, "dimension": dimension}),
            ))
        }
        "random_number" => random(arguments),
        other => Err(format!("`{other}` is listed but not built")),
    }
}

fn random(arguments: &Arguments) -> Outcome {
    let least = arguments.number("min")?.unwrap_or(1.0);
    let most = arguments.number("max")?.unwrap_or(6.0);
    if least.fract() != 0.0 || most.fract() != 0.0 || least > most || most - least > 1e15 {
        return Err("`min` and `max` must be whole numbers, `min` not above `max`".into());
    }
    let count = arguments.whole("count", 1, 1..=1000)?;
    let width = (most - least) as u64 + 1;
    let numbers: Vec<i64> = (0..count)
        // The standard library keys each hasher at random: chance enough for dice.
        .map(|_| RandomState::new().build_hasher().finish() % width)
        .map(|above| least as i64 + above as i64)
        .collect();
    let text: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    Ok(Answer::data(text.join(", "), json!({"numbers": numbers})))
}

impl Toolset for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn instructions(&self) -> &'static str {
        "Dates, times of day in any zone, and arithmetic."
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let text = |what: &str| json!({"type": "string", "description": what});
        let zone = || {
            text(
                "Time zone such as `Europe/Berlin`, or an offset such as `+02:00`; UTC when absent",
            )
        };
        let time = || {
            text("Such as `2026-11-30T14:00`, or with its own offset `2026-11-30T14:00:00+09:00`")
        };
        vec![
            ToolSpec {
                name: "now",
                title: "Current time",
                description: "The current date, weekday and time of day in a time zone.",
                effect: Effect::Reads,
                properties: json!({"zone": zone()}),
                required: &[],
            },
            ToolSpec {
                name: "convert_time",
                title: "Convert time between zones",
                description: "What a date and time in one time zone is in another.",
                effect: Effect::Reads,
                properties: json!({"time": time(), "from": zone(), "to": zone()}),
                required: &["time", "to"],
            },
            ToolSpec {
                name: "add_duration",
                title: "Add a duration",
                description: "The date and time that lies a duration after another, or before it \
                              if the duration is negative.",
                effect: Effect::Reads,
                properties: json!({
                    "time": time(),
                    "duration": text("Such as `3 days`, `-2h 30m` or `P1M`"),
                    "zone": zone(),
                }),
                required: &["time", "duration"],
            },
            ToolSpec {
                name: "days_between",
                title: "Days between dates",
                description: "How many days, and how many working days, lie between two dates.",
                effect: Effect::Reads,
                properties: json!({"from": text("First date, such as `2026-11-30`"), "to": text("Second date")}),
                required: &["from", "to"],
            },
            ToolSpec {
                name: "calculate",
                title: "Calculate",
                description: "Evaluate an arithmetic expression with + - * / % ^, parentheses, \
                              pi, e and functions such as sqrt, round, min, max, ln, sin.",
                effect: Effect::Reads,
                properties: json!({"expression": text("Such as `(3 + 4) * sqrt(2)`")}),
                required: &["expression"],
            },
            ToolSpec {
                name: "statistics",
                title: "Statistics",
                description: "Mean, median, sum, smallest, largest and standard deviation of a \
                              list of numbers.",
                effect: Effect::Reads,
                properties: json!({"numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1, "description": "The numbers"}}),
                required: &["numbers"],
            },
            ToolSpec {
                name: "convert_units",
                title: "Convert units",
                description: "Convert a value between units of length, mass, temperature, volume, \
                              speed, area, time or data.",
                effect: Effect::Reads,
                properties: json!({
                    "value": {"type": "number", "description": "How many of the first unit"},
                    "from": text("Unit such as `km`, `pound` or `°F`"),
                    "to": text("Unit to convert to"),
                }),
                required: &["value", "from", "to"],
            },
            ToolSpec {
                name: "random_number",
                title: "Random number",
                description: "Draw random whole numbers, such as throws of dice.",
                effect: Effect::Reads,
                properties: json!({
                    "min": {"type": "integer", "description": "Smallest, 1 when absent"},
                    "max": {"type": "integer", "description": "Largest, 6 when absent"},
                    "count": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many, 1 when absent"},
                }),
                required: &[],
            },
            ToolSpec {
                name: "wait",
                title: "Wait",
                description: "Wait some seconds and report progress at each step. Can be cancelled.",
                effect: Effect::Reads,
                properties: json!({
                    "seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST_WAIT, "description": "How long, 5 when absent"},
                    "steps": {"type": "integer", "minimum": 1, "maximum": MOST_STEPS, "description": "How many reports; one a second when absent"},
                }),
                required: &[],
            },
        ]
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Arguments,
        client: &'a Client,
    ) -> BoxFuture<'a, Outcome> {
        async move {
            if tool == "wait" {
                self.wait(&arguments, client).await
            } else {
                answer(tool, &arguments, Stamp::now().wall)
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
