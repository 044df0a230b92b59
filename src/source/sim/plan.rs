//! Decides what one call does, before any of it happens.

use std::time::Duration;

use serde_json::{Map, Value};

use super::draws::Draws;
use super::png;
use super::settings::{Behavior, Outcome};
use crate::tool::Part;

/// One thing that a call does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Lets time pass.
    Wait(Duration),
    /// Adds a part to the result.
    Give(Part),
    /// Adds a text part and makes the result an error.
    Fail(String),
    /// Panics.
    Panic(String),
    /// Never ends.
    Hang,
}

/// The steps of one call. The same draws give the same steps.
pub(super) fn steps(
    tool: &str,
    behavior: &Behavior,
    arguments: &Map<String, Value>,
    draws: &mut Draws,
) -> Vec<Step> {
    let mut steps = Vec::new();
    extend(&mut steps, tool, behavior, arguments, draws);
    steps
}

fn extend(
    steps: &mut Vec<Step>,
    tool: &str,
    behavior: &Behavior,
    arguments: &Map<String, Value>,
    draws: &mut Draws,
) {
    // Both are drawn always, so that a changed `error_rate` leaves the latencies as they were.
    let (luck, share) = (draws.next(), draws.next());
    let wait = behavior
        .latency
        .saturating_add(behavior.jitter.mul_f64(share));
    if !wait.is_zero() {
        steps.push(Step::Wait(wait));
    }
    if luck < behavior.error_rate {
        steps.push(Step::Fail(format!(
            "simulated failure of `{tool}` (`error_rate` {})",
            behavior.error_rate
        )));
        return;
    }
    match &behavior.outcome {
        Outcome::Echo => {
            // An object of JSON values has no key that is not a string and cannot fail.
            let text = serde_json::to_string(arguments).unwrap_or_default();
            steps.push(Step::Give(Part::Text(text)));
        }
        Outcome::Text { text, repeat } => {
            steps.push(Step::Give(Part::Text(text.repeat(*repeat))));
        }
        Outcome::Data(value) => steps.push(Step::Give(Part::json(value.clone()))),
        Outcome::Image(bytes) => steps.push(Step::Give(Part::Image {
            bytes: png::of_size(*bytes).into(),
            media_type: "image/png".into(),
        })),
        Outcome::Error(message) => steps.push(Step::Fail(message.clone())),
        Outcome::Panic(message) => steps.push(Step::Panic(message.clone())),
        Outcome::Hang => steps.push(Step::Hang),
        Outcome::Parts(parts) => {
            for part in parts {
                extend(steps, tool, part, arguments, draws);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::draws::Seed;
    use super::*;

    fn planned(behavior: &Behavior, call: u64) -> Vec<Step> {
        let arguments = json!({"b": 1, "a": "ü"});
        let mut draws = Seed::new(Some(7)).draws("t", call);
        steps("t", behavior, arguments.as_object().unwrap(), &mut draws)
    }

    fn of(outcome: Outcome) -> Behavior {
        Behavior {
            outcome,
            ..Behavior::default()
        }
    }

    #[test]
    fn every_outcome_has_its_steps() {
        let text = |text: &str| Step::Give(Part::Text(text.into()));
        let x3 = Outcome::Text {
            text: "xy".into(),
            repeat: 3,
        };
        for (name, outcome, expected) in [
            (
                "echo is compact JSON",
                Outcome::Echo,
                vec![text(r#"{"b":1,"a":"ü"}"#)],
            ),
            ("text", x3.clone(), vec![text("xyxyxy")]),
            (
                "data",
                Outcome::Data(json!([1])),
                vec![Step::Give(Part::json(json!([1])))],
            ),
            (
                "error",
                Outcome::Error("no".into()),
                vec![Step::Fail("no".into())],
            ),
            (
                "panic",
                Outcome::Panic("oh".into()),
                vec![Step::Panic("oh".into())],
            ),
            ("hang", Outcome::Hang, vec![Step::Hang]),
            (
                "parts in order, errors among them",
                Outcome::Parts(vec![
                    of(Outcome::Error("no".into())),
                    Behavior {
                        latency: Duration::from_millis(5),
                        ..of(x3)
                    },
                ]),
                vec![
                    Step::Fail("no".into()),
                    Step::Wait(Duration::from_millis(5)),
                    text("xyxyxy"),
                ],
            ),
            ("no parts", Outcome::Parts(vec![]), vec![]),
        ] {
            assert_eq!(planned(&of(outcome), 0), expected, "{name}");
        }
    }

    #[test]
    fn jitter_lengthens_the_latency_and_never_by_more_than_itself() {
        let behavior = Behavior {
            latency: Duration::from_secs(1),
            jitter: Duration::from_secs(2),
            ..Behavior::default()
        };
        let mut waits: Vec<Duration> = (0..200)
            .map(|call| match &planned(&behavior, call)[0] {
                Step::Wait(wait) => *wait,
                other => panic!("{other:?}"),
            })
            .collect();
        waits.sort();
        assert!(waits[0] >= Duration::from_secs(1) && waits[199] <= Duration::from_secs(3));
        assert!(waits[199] - waits[0] > Duration::from_millis(1800));
    }

    #[test]
    fn the_error_rate_is_the_share_of_calls_that_fail() {
        let failing = |rate: f64| {
            let behavior = Behavior {
                error_rate: rate,
                ..Behavior::default()
            };
            (0..1000)
                .filter(|call| matches!(planned(&behavior, *call)[0], Step::Fail(_)))
                .count()
        };
        assert_eq!((failing(0.0), failing(1.0)), (0, 1000));
        let some = failing(0.3);
        assert!((250..350).contains(&some), "{some}");
    }

    #[test]
    fn the_same_seed_tool_and_call_draw_the_same_and_any_other_differ() {
        let first = |seed: u64, tool: &str, call: u64| {
            Seed::new(Some(seed)).draws(tool, call).next().to_bits()
        };
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        for (name, other) in [
            ("seed", first(2, "a", 0)),
            ("tool", first(1, "b", 0)),
            ("call", first(1, "a", 1)),
        ] {
            assert_ne!(first(1, "a", 0), other, "{name}");
        }
    }
}
