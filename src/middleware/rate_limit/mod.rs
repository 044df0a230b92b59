//! `rate_limit`: lets calls start at a given rate; the others wait in order, within their deadline
//! (rule 9.8). A call whose turn lies behind its deadline is refused at once, as `timeout`: it could
//! only wait in vain.

mod schedule;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::schedule::Schedule;
use super::counter::Count;
use super::live::Live;
use super::settings::{MiddlewareSettings, RateLimitSettings};
use super::{Counter, Middleware, Next, Request, absent, named};
use crate::tool::{ErrorKind, ToolResult};

/// Most calls that wait at one bucket; the next is refused as `overloaded`.
const QUEUE: usize = 1_000;

/// Most tools whose own bucket is kept; past that, buckets that nobody uses are let go of.
const BUCKETS: usize = 4_096;

/// Buckets of tools that declare a rate, with that rate.
type OwnBuckets = HashMap<Arc<str>, (f64, Arc<Bucket>)>;

/// The layer.
pub struct RateLimit {
    rule: Live<Rule>,
    tools: Mutex<OwnBuckets>,
    waiting: Arc<AtomicUsize>,
    waited: Count,
    late: Count,
    gave_up: Count,
    overloaded: Count,
}

struct Rule {
    settings: RateLimitSettings,
    /// What `per_second` is for; absent without it.
    shared: Option<Arc<Bucket>>,
}

impl Rule {
    fn new(settings: RateLimitSettings) -> Self {
        let now = Instant::now();
        let shared = settings
            .per_second
            .and_then(|rate| Schedule::new(rate, settings.burst, now))
            .map(Bucket::new);
        Self { settings, shared }
    }
}

/// A bucket with the queue before it.
struct Bucket {
    schedule: Mutex<Schedule>,
    /// Whoever holds it is the next to start. It is fair, so that the queue is in order, and a
    /// waiter that is dropped leaves it.
    turn: tokio::sync::Mutex<()>,
    waiting: AtomicUsize,
}

impl Bucket {
    fn new(schedule: Schedule) -> Arc<Self> {
        Arc::new(Self {
            schedule: Mutex::new(schedule),
            turn: tokio::sync::Mutex::new(()),
            waiting: AtomicUsize::new(0),
        })
    }
}

/// A token, given back when the call does not start after all.
struct Token {
    bucket: Arc<Bucket>,
    spent: bool,
}

impl Drop for Token {
    fn drop(&mut self) {
        if !self.spent {
            self.bucket.schedule.lock().give_back();
        }
    }
}

/// Counts a waiting call as long as it waits.
struct InQueue<'w>([&'w AtomicUsize; 2]);

impl<'w> InQueue<'w> {
    fn new(counters: [&'w AtomicUsize; 2]) -> Self {
        for counter in counters {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Self(counters)
    }
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        for counter in self.0 {
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl RateLimit {
    /// A layer with these settings and full buckets.
    pub fn new(settings: RateLimitSettings) -> Self {
        Self {
            rule: Live::new(Rule::new(settings)),
            tools: Mutex::default(),
            waiting: Arc::default(),
            waited: Count::default(),
            late: Count::default(),
            gave_up: Count::default(),
            overloaded: Count::default(),
        }
    }

    /// The buckets that a call has to pass: the tool's own first, so that a token of the shared
    /// one is not held by a call that still waits for a slow tool.
    fn buckets(&self, rule: &Rule, request: &Request) -> [Option<Arc<Bucket>>; 2] {
        let tool = &request.call.tool;
        let own = request
            .entry()
            .and_then(|entry| entry.tool.rate())
            .and_then(|rate| self.own(tool, rate, rule.settings.burst));
        let shared = rule
            .shared
            .clone()
            .filter(|_| named(&rule.settings.tools, tool));
        [own, shared]
    }

    fn own(&self, tool: &Arc<str>, rate: f64, burst: u32) -> Option<Arc<Bucket>> {
        let mut tools = self.tools.lock();
        match tools.get(tool) {
            Some((known, bucket)) if known.total_cmp(&rate).is_eq() => Some(Arc::clone(bucket)),
            _ => {
                let bucket = Bucket::new(Schedule::new(rate, burst, Instant::now())?);
                if tools.len() >= BUCKETS {
                    tools.retain(|_, (_, bucket)| Arc::strong_count(bucket) > 1);
                }
                tools.insert(Arc::clone(tool), (rate, Arc::clone(&bucket)));
                Some(bucket)
            }
        }
    }

    /// Waits for a token of one bucket.
    async fn token(&self, bucket: Arc<Bucket>, request: &Request) -> Result<Token, ToolResult> {
        let since = Instant::now();
        let ahead = bucket.waiting.load(Ordering::Relaxed);
        if ahead >= QUEUE {
            self.overloaded.one();
            return Err(overloaded(&request.call.tool));
        }
        let turn = bucket.schedule.lock().start_at(since, ahead);
        if let Some(deadline) = request.call.deadline.filter(|deadline| turn > *deadline) {
            self.late.one();
            return Err(too_late(&request.call.tool, turn, deadline, since));
        }
        let wait = async {
            let _counted = InQueue::new([&bucket.waiting, &self.waiting]);
            let (_turn, queued) = match bucket.turn.try_lock() {
                Ok(turn) => (turn, false),
                Err(_) => (bucket.turn.lock().await, true),
            };
            // Counted from the arrival, so that waking late does not slow the pace.
            let at = bucket.schedule.lock().start_at(since, 0);
            let early = at > Instant::now();
            if early {
                self.waited.one();
                tokio::time::sleep_until(at).await;
            }
            bucket.schedule.lock().take(at);
            queued || early
        };
        let outcome = request.bounded(wait).await;
        // Getting a token that lies ready takes its time too, but is no wait.
        if !matches!(outcome, Ok(false)) {
            request.span().waited(since.elapsed());
        }
        match outcome {
            Ok(_) => Ok(Token {
                bucket,
                spent: false,
            }),
            Err(result) => {
                self.gave_up.one();
                Err(result)
            }
        }
    }
}

fn overloaded(tool: &str) -> ToolResult {
    ToolResult::error(
        ErrorKind::Overloaded,
        format!(
            "`{tool}` was not called: {QUEUE} calls wait for its rate limit already; try again later"
        ),
    )
}

fn too_late(tool: &str, turn: Instant, deadline: Instant, now: Instant) -> ToolResult {
    let ms = |at: Instant| at.saturating_duration_since(now).as_millis();
    ToolResult::error(
        ErrorKind::Timeout,
        format!(
            "`{tool}` was not called: the rate limit would let it start in {} ms, but its deadline is in {} ms",
            ms(turn),
            ms(deadline)
        ),
    )
}

impl Middleware for RateLimit {
    fn name(&self) -> &'static str {
        "rate_limit"
    }

    fn settings(&self) -> Value {
        let rule = self.rule.get();
        json!({
            "per_second": rule.settings.per_second,
            "burst": rule.settings.burst,
            "tools": rule.settings.tools,
        })
    }

    fn counters(&self) -> Vec<Counter> {
        let waiting = Counter {
            name: "waiting",
            value: self.waiting.load(Ordering::Relaxed) as u64,
        };
        vec![
            waiting,
            self.waited.shown_as("waited"),
            self.late.shown_as("late"),
            self.gave_up.shown_as("gave_up"),
            self.overloaded.shown_as("overloaded"),
        ]
    }

    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let settings = settings.rate_limit.clone();
        let rule = Rule::new(settings.ok_or_else(|| absent("rate_limit"))?);
        // The burst may have changed for them as well.
        self.tools.lock().clear();
        self.rule.set(rule);
        Ok(())
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let buckets = self.buckets(&self.rule.get(), &request);
            let mut tokens = [const { None::<Token> }; 2];
            for (bucket, token) in buckets.into_iter().zip(&mut tokens) {
                let Some(bucket) = bucket else { continue };
                match self.token(bucket, &request).await {
                    Ok(taken) => *token = Some(taken),
                    Err(result) => return result,
                }
            }
            for token in tokens.iter_mut().flatten() {
                token.spent = true;
            }
            drop(tokens);
            next.run(request).await
        })
    }
}
