//! A session in which the operator is the model: orders one after the other.

use tokio::sync::mpsc;

use super::Ask;
use crate::control::{SessionAnswer, SessionError, SessionOrder};
use crate::registry::nearest;
use crate::session::{Gate, SessionDriver};

/// Most calls in one batch of an operator.
const CALLS: usize = 64;

/// Most rounds that pass at once.
const ROUNDS: u32 = 1_000;

/// How many idle rounds pass before others get their turn.
const TURN: u32 = 16;

/// Takes orders until the last sender is gone. The first round has been begun.
pub(super) async fn run(mut driver: SessionDriver, mut asks: mpsc::Receiver<Ask>) {
    while let Some(ask) = asks.recv().await {
        match ask {
            Ask::See => driver.see(),
            Ask::Order(SessionOrder::Batch(calls), mut reply) => {
                if calls.is_empty() || calls.len() > CALLS {
                    let _ = reply.send(Err(SessionError::OutOfRange {
                        what: "calls",
                        most: CALLS,
                        asked: calls.len(),
                    }));
                    continue;
                }
                // Whoever gave the order has gone: dropping the batch cancels its calls, and the
                // round stays open.
                let report = tokio::select! {
                    report = driver.run(calls, Gate::Visible) => report,
                    () = reply.closed() => continue,
                };
                driver.begin_round();
                let _ = reply.send(Ok(SessionAnswer::Ran(Box::new(report))));
            }
            Ask::Order(order, reply) => {
                let answer = obey(&mut driver, order).await;
                let _ = reply.send(answer.map(SessionAnswer::Done));
            }
        }
    }
}

async fn obey(driver: &mut SessionDriver, order: SessionOrder) -> Result<String, SessionError> {
    match order {
        SessionOrder::Advance(rounds) => {
            if !(1..=ROUNDS).contains(&rounds) {
                return Err(SessionError::OutOfRange {
                    what: "rounds",
                    most: ROUNDS as usize,
                    asked: rounds as usize,
                });
            }
            for nth in 1..=rounds {
                driver.run(Vec::new(), Gate::Visible).await;
                driver.begin_round();
                if nth % TURN == 0 {
                    tokio::task::yield_now().await;
                }
            }
            let (now, passed) = (driver.session().round(), rounds);
            Ok(match passed {
                1 => format!("one round passed without calls; now it is round {now}"),
                _ => format!("{passed} rounds passed without calls; now it is round {now}"),
            })
        }
        SessionOrder::Require(name) => {
            driver.require(std::sync::Arc::clone(&name));
            driver.open();
            Ok(required(driver, &name))
        }
        SessionOrder::Release(name) => {
            let was = driver.session().required().contains(&name);
            driver.release(&name);
            driver.open();
            Ok(match was {
                true => format!("`{name}` is not required any more"),
                false => format!("`{name}` was not required"),
            })
        }
        SessionOrder::Pace(_) => Err(SessionError::NoPlay),
        // The service and the loop above have those.
        SessionOrder::Close | SessionOrder::Batch(_) => Err(SessionError::Closed),
    }
}

/// What became of a name that is required from now on.
fn required(driver: &SessionDriver, name: &str) -> String {
    let session = driver.session();
    let visible = session.visible();
    if visible.contains(name) {
        return format!("`{name}` is required and sent");
    }
    if let Some(tool) = visible.withheld.iter().find(|tool| *tool.name == *name) {
        let reason = tool.reason.as_str();
        return format!("`{name}` is required, but withheld: {reason}");
    }
    let tools = session.exposures().tools();
    let nearest = nearest(name, tools.map(|tool| tool.definition.name()));
    let advice = match nearest.is_empty() {
        true => String::new(),
        false => format!("; the nearest are `{}`", nearest.join("`, `")),
    };
    format!("`{name}` is required and will be sent once a tool has that name{advice}")
}
