//! `fault`: injects latency, errors and silence for drills (rule 9.8). It is the innermost layer,
//! so a call that it stops has not reached its tool (rule 6.4).

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::counter::Count;
use super::live::Live;
use super::settings::{FaultSettings, MiddlewareSettings};
use super::{Counter, Middleware, Next, Request, absent, named};
use crate::tool::{ErrorKind, ToolResult};

/// The layer.
#[derive(Debug)]
pub struct Fault {
    rule: Live<FaultSettings>,
    seed: u64,
    draws: AtomicU64,
    delayed: Count,
    failed: Count,
    dropped: Count,
}

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    Fail,
    Drop,
}

impl Fault {
    /// A layer that draws anew at every start.
    pub fn new(settings: FaultSettings) -> Self {
        Self::seeded(settings, RandomState::new().hash_one("fault"))
    }

    /// A layer whose draws repeat.
    pub fn seeded(settings: FaultSettings, seed: u64) -> Self {
        Self {
            rule: Live::new(settings),
            seed,
            draws: AtomicU64::new(0),
            delayed: Count::default(),
            failed: Count::default(),
            dropped: Count::default(),
        }
    }

    fn fate(&self, rule: &FaultSettings) -> Fate {
        // Both are drawn for every call, so that one share does not shift the other's draws.
        let (drop, error) = (self.draw(), self.draw());
        if drop < rule.drop {
            Fate::Drop
        } else if error < rule.error_rate {
            Fate::Fail
        } else {
            Fate::Pass
        }
    }

    /// The next number of `0.0..1.0` (splitmix64).
    fn draw(&self) -> f64 {
        let number = self.draws.fetch_add(1, Ordering::Relaxed) + 1;
        let mut z = self
            .seed
            .wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // 53 bits are all that a double holds.
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Middleware for Fault {
    fn name(&self) -> &'static str {
        "fault"
    }

    fn settings(&self) -> Value {
        let rule = self.rule.get();
        json!({
            "tools": rule.tools,
            "latency": format!("{:?}", rule.latency),
            "error_rate": rule.error_rate,
            "drop": rule.drop,
        })
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            self.delayed.shown_as("delayed"),
            self.failed.shown_as("failed"),
            self.dropped.shown_as("dropped"),
        ]
    }

    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let rule = settings.fault.clone();
        self.rule.set(rule.ok_or_else(|| absent("fault"))?);
        Ok(())
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let rule = self.rule.get();
        if !named(&rule.tools, &request.call.tool) {
            return Box::pin(next.run(request));
        }
        Box::pin(async move {
            let span = request.span();
            if !rule.latency.is_zero() {
                self.delayed.one();
                span.note("injected latency");
                let latency = tokio::time::sleep(rule.latency);
                if let Err(result) = request.bounded(latency).await {
                    return result;
                }
            }
            match self.fate(&rule) {
                Fate::Pass => next.run(request).await,
                Fate::Fail => {
                    self.failed.one();
                    span.note("injected error");
                    ToolResult::error(
                        ErrorKind::Tool,
                        format!("`{}` failed by an injected fault", request.call.tool),
                    )
                }
                Fate::Drop => {
                    self.dropped.one();
                    span.note("injected silence");
                    match request.bounded(std::future::pending()).await {
                        Ok(result) | Err(result) => result,
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::middleware::{Chain, Endpoint};
    use crate::registry::Catalog;
    use crate::tool::Call;

    struct Works;

    impl Endpoint for Works {
        fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
            request.mark_reached();
            Box::pin(async { ToolResult::text("worked") })
        }
    }

    fn settings(latency: u64, error_rate: f64, drop: f64) -> FaultSettings {
        FaultSettings {
            tools: vec!["sick_*".into()],
            latency: Duration::from_millis(latency),
            error_rate,
            drop,
        }
    }

    fn chain(settings: FaultSettings) -> Chain {
        Chain::new(vec![Arc::new(Fault::seeded(settings, 7))])
    }

    async fn run(chain: &Chain, call: Call) -> (Option<ErrorKind>, bool, Duration) {
        let begin = Instant::now();
        let request = Request::new(call, Arc::new(Catalog::default()));
        let trace = request.trace();
        let result = chain.run(request, &Works).await;
        (result.error_kind, trace.reached(), begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn faults_act_on_the_named_tools_alone_and_stop_a_call_before_its_tool() {
        let ms = Duration::from_millis;
        let call = |tool: &str, deadline: Option<u64>| {
            let mut call = Call::new(tool, json!({}));
            call.deadline = deadline.map(|after| Instant::now() + ms(after));
            call
        };
        let (well, ill, late) = (("well", None), ("sick_a", None), ("sick_a", Some(900)));
        let tool = Some(ErrorKind::Tool);
        let timeout = Some(ErrorKind::Timeout);
        for (claim, settings, (name, deadline), expected) in [
            (
                "other tool",
                settings(50, 1.0, 1.0),
                well,
                (None, true, ms(0)),
            ),
            ("latency", settings(50, 0.0, 0.0), ill, (None, true, ms(50))),
            ("error", settings(0, 1.0, 0.0), ill, (tool, false, ms(0))),
            (
                "late error",
                settings(50, 1.0, 0.0),
                ill,
                (tool, false, ms(50)),
            ),
            (
                "silence",
                settings(50, 1.0, 1.0),
                late,
                (timeout, false, ms(900)),
            ),
            (
                "too late",
                settings(1000, 0.0, 0.0),
                late,
                (timeout, false, ms(900)),
            ),
        ] {
            let outcome = run(&chain(settings), call(name, deadline)).await;
            assert_eq!(outcome, expected, "{claim}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_when_the_caller_gives_up() {
        let chain = chain(settings(0, 0.0, 1.0));
        let call = Call::new("sick_a", json!({}));
        let cancel = call.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            cancel.cancel();
        });
        let outcome = run(&chain, call).await;
        let cancelled = Some(ErrorKind::Cancelled);
        assert_eq!(outcome, (cancelled, false, Duration::from_secs(5)));
        let dropped = &chain.status()[0].counters[2];
        assert_eq!((dropped.name, dropped.value), ("dropped", 1));
    }

    #[tokio::test]
    async fn the_share_of_errors_is_the_one_asked_for_and_can_be_changed() {
        let chain = chain(settings(0, 0.25, 0.0));
        let failures = async || {
            let mut failures = 0;
            for _ in 0..4_000 {
                let (kind, ..) = run(&chain, Call::new("sick_a", json!({}))).await;
                failures += u32::from(kind.is_some());
            }
            failures
        };
        let quarter = failures().await;
        assert!((900..1_100).contains(&quarter), "{quarter}");
        let healed = MiddlewareSettings {
            fault: Some(settings(0, 0.0, 0.0)),
            ..MiddlewareSettings::default()
        };
        chain.change("fault", &healed).unwrap();
        assert_eq!(failures().await, 0);
    }
}
