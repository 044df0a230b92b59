//! `fault`: injects latency, errors and silence for drills (rule 9.8). It is the innermost layer,
//! so a call that it stops has not reached its tool (rule 6.4).
//!
//! What it injects comes from the deployment file, or from a drill that an operator has begun for a
//! stretch of time. A drill stands in place of the file's rule and ends by itself. In a chain whose
//! file names no faults the layer sleeps: calls go past it and it is not shown, until a drill begins.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::counter::Count;
use super::live::Live;
use super::settings::{FaultSettings, MiddlewareSettings};
use super::{Counter, Middleware, Next, Request, absent, named, written};
use crate::clock::Stamp;
use crate::tool::{ErrorKind, ToolResult};

/// A drill as it is ordered.
#[derive(Clone, Debug, PartialEq)]
pub struct Drill {
    /// Which tools suffer, and how.
    pub faults: FaultSettings,
    /// How long.
    pub lasts: Duration,
}

/// A drill that goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillStatus {
    /// Globs of the tools that suffer.
    pub tools: Vec<String>,
    /// Added before each call.
    pub latency: Duration,
    /// The share of calls that fail, from 0 to 1.
    pub error_rate: f64,
    /// The share of calls that are not answered, from 0 to 1.
    pub drop: f64,
    /// When it began.
    pub began: Stamp,
    /// How long it lasts from then on.
    pub lasts: Duration,
}

impl DrillStatus {
    /// How much of it is left.
    pub fn left_at(&self, now: Instant) -> Duration {
        self.lasts.saturating_sub(self.began.age(now))
    }
}

/// A drill as it is carried out.
#[derive(Debug)]
struct Begun {
    faults: FaultSettings,
    began: Stamp,
    lasts: Duration,
    /// Absent for one so long that its end is no instant.
    until: Option<Instant>,
    /// Fires when an operator ends it before its time.
    ended: CancellationToken,
}

impl Begun {
    fn is_over_at(&self, now: Instant) -> bool {
        self.ended.is_cancelled() || self.until.is_some_and(|until| until <= now)
    }

    /// Waits for its end.
    async fn over(&self) {
        let time = async {
            match self.until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.ended.cancelled() => {}
            () = time => {}
        }
    }
}

/// The layer.
#[derive(Debug)]
pub struct Fault {
    /// Absent when the file names no faults.
    rule: Live<Option<FaultSettings>>,
    drill: Live<Option<Begun>>,
    /// Whether either was ever there: a layer that sleeps costs a call one load.
    woken: AtomicBool,
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
        Self::with(Some(settings), RandomState::new().hash_one("fault"))
    }

    /// A layer that sleeps until a drill begins.
    pub fn asleep() -> Self {
        Self::with(None, RandomState::new().hash_one("fault"))
    }

    /// A layer whose draws repeat.
    pub fn seeded(settings: FaultSettings, seed: u64) -> Self {
        Self::with(Some(settings), seed)
    }

    fn with(settings: Option<FaultSettings>, seed: u64) -> Self {
        Self {
            woken: AtomicBool::new(settings.is_some()),
            rule: Live::new(settings),
            drill: Live::new(None),
            seed,
            draws: AtomicU64::new(0),
            delayed: Count::default(),
            failed: Count::default(),
            dropped: Count::default(),
        }
    }

    /// The drill that goes on.
    fn begun(&self) -> Option<Arc<Option<Begun>>> {
        let drill = self.drill.get();
        let over = drill
            .as_ref()
            .as_ref()
            .is_none_or(|begun| begun.is_over_at(Instant::now()));
        (!over).then_some(drill)
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
        match self.rule.get().as_ref() {
            Some(rule) => json!({
                "tools": rule.tools,
                "latency": written::duration(rule.latency),
                "error_rate": rule.error_rate,
                "drop": rule.drop,
            }),
            None => json!({}),
        }
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
        self.rule.set(Some(rule.ok_or_else(|| absent("fault"))?));
        self.woken.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn acts(&self) -> bool {
        self.woken.load(Ordering::Relaxed) && (self.rule.get().is_some() || self.begun().is_some())
    }

    fn drill(&self) -> Option<DrillStatus> {
        let begun = self.begun()?;
        let begun = begun.as_ref().as_ref()?;
        Some(DrillStatus {
            tools: begun.faults.tools.clone(),
            latency: begun.faults.latency,
            error_rate: begun.faults.error_rate,
            drop: begun.faults.drop,
            began: begun.began,
            lasts: begun.lasts,
        })
    }

    fn set_drill(&self, drill: Option<Drill>) -> Result<(), String> {
        let before = self.begun();
        if drill.is_none() && before.is_none() {
            return Err("no drill is on".into());
        }
        self.drill.set(drill.map(|drill| {
            let began = Stamp::now();
            Begun {
                faults: drill.faults,
                began,
                lasts: drill.lasts,
                until: began.at.checked_add(drill.lasts),
                ended: CancellationToken::new(),
            }
        }));
        self.woken.store(true, Ordering::Relaxed);
        if let Some(Some(begun)) = before.as_deref() {
            begun.ended.cancel();
        }
        Ok(())
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let (drill, file) = (self.begun(), self.rule.get());
        let begun = drill.as_deref().and_then(Option::as_ref);
        let rule = begun.map(|begun| &begun.faults).or(file.as_ref().as_ref());
        let Some(rule) = rule
            .filter(|rule| named(&rule.tools, &request.call.tool))
            .cloned()
        else {
            return Box::pin(next.run(request));
        };
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
                    let silence = async {
                        match drill.as_deref().and_then(Option::as_ref) {
                            // Nobody is to wait for the end of a drill that is over.
                            Some(begun) => begun.over().await,
                            None => std::future::pending().await,
                        }
                        ToolResult::error(
                            ErrorKind::Tool,
                            format!(
                                "`{}` was not answered, by an injected fault, until the drill ended",
                                request.call.tool
                            ),
                        )
                    };
                    match request.bounded(silence).await {
                        Ok(result) | Err(result) => result,
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
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
    async fn a_drill_stands_in_place_of_the_file_ends_by_itself_and_lets_go_of_what_it_held() {
        let seconds = Duration::from_secs;
        let drill = |error_rate, drop| Drill {
            faults: settings(0, error_rate, drop),
            lasts: seconds(60),
        };
        let sick = || Call::new("sick_a", json!({}));
        let failed = Some(ErrorKind::Tool);
        let asleep = Chain::new(vec![Arc::new(Fault::asleep())]);
        assert_eq!(asleep.status(), [], "a layer that sleeps is not shown");
        assert!(asleep.set_drill(None).is_err(), "there is nothing to end");
        asleep.set_drill(Some(drill(1.0, 0.0))).unwrap();
        assert_eq!(run(&asleep, sick()).await, (failed, false, seconds(0)));
        let shown = asleep.status().remove(0).drill.unwrap();
        assert_eq!(shown.left_at(Instant::now() + seconds(20)), seconds(40));
        let well = run(&asleep, Call::new("well", json!({}))).await;
        assert_eq!(well, (None, true, seconds(0)));
        tokio::time::advance(seconds(60)).await;
        assert_eq!(run(&asleep, sick()).await, (None, true, seconds(0)));
        assert_eq!(asleep.status(), []);
        // The file says errors; the drill says silence, and for as long as it lasts alone.
        let filed = chain(settings(0, 1.0, 0.0));
        filed.set_drill(Some(drill(0.0, 1.0))).unwrap();
        assert_eq!(run(&filed, sick()).await, (failed, false, seconds(60)));
        assert_eq!(run(&filed, sick()).await, (failed, false, seconds(0)));
        // An operator ends it before its time.
        filed.set_drill(Some(drill(0.0, 1.0))).unwrap();
        let (held, ()) = tokio::join!(run(&filed, sick()), async {
            tokio::time::sleep(seconds(5)).await;
            filed.set_drill(None).unwrap();
        });
        assert_eq!(held, (failed, false, seconds(5)));
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
