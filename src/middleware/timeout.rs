//! `timeout`: bounds calls that have no deadline yet (rule 9.6).

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::counter::Count;
use super::live::Live;
use super::settings::MiddlewareSettings;
use super::{Counter, Middleware, Next, Request, absent, written};
use crate::registry::GlobMap;
use crate::tool::{ErrorKind, ToolResult};

/// The settings of the layer; a duration of zero lifts the bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeoutRule {
    /// For tools that no glob names.
    pub default: Option<Duration>,
    /// By name or glob.
    pub tools: GlobMap<Duration>,
}

/// The layer.
#[derive(Debug)]
pub struct Timeout {
    rule: Live<TimeoutRule>,
    expired: Count,
}

impl Timeout {
    /// A layer with these bounds.
    pub fn new(rule: TimeoutRule) -> Self {
        Self {
            rule: Live::new(rule),
            expired: Count::default(),
        }
    }

    /// The bound for one call, if it gets one.
    fn bound(&self, request: &Request) -> Option<Duration> {
        if request.call.deadline.is_some() {
            return None;
        }
        let bounds_itself = || {
            request
                .entry()
                .is_some_and(|entry| entry.tool.bounds_own_time())
        };
        let rule = self.rule.get();
        rule.tools
            .get(&request.call.tool)
            .copied()
            .or_else(|| rule.default.filter(|_| !bounds_itself()))
            .filter(|bound| !bound.is_zero())
    }
}

impl Middleware for Timeout {
    fn name(&self) -> &'static str {
        "timeout"
    }

    fn settings(&self) -> Value {
        let rule = self.rule.get();
        let tools: serde_json::Map<String, Value> = rule
            .tools
            .iter()
            .map(|(pattern, bound)| (pattern.to_owned(), json!(written::duration(*bound))))
            .collect();
        json!({
            "default": rule.default.map(written::duration),
            "tools": tools,
        })
    }

    fn counters(&self) -> Vec<Counter> {
        vec![self.expired.shown_as("expired")]
    }

    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let rule = settings.timeout.clone();
        self.rule.set(rule.ok_or_else(|| absent("timeout"))?);
        Ok(())
    }

    fn handle<'a>(&'a self, mut request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let Some(bound) = self.bound(&request) else {
            return Box::pin(next.run(request));
        };
        // A bound too long to be an instant is no bound.
        let Some(deadline) = Instant::now().checked_add(bound) else {
            return Box::pin(next.run(request));
        };
        request.call.deadline = Some(deadline);
        let outer = request.call.cancel.clone();
        let cancel = outer.child_token();
        request.call.cancel = cancel.clone();
        let tool = request.call.tool.clone();
        let span = request.span();
        Box::pin(async move {
            let outcome = tokio::time::timeout_at(deadline, next.run(request)).await;
            match outcome {
                Ok(result) if result.error_kind != Some(ErrorKind::Timeout) => result,
                // A layer that saw that it could not be done in time; it says so better.
                Ok(result) if Instant::now() < deadline => result,
                Ok(_) | Err(_) => {
                    cancel.cancel();
                    self.expired.one();
                    span.note("expired");
                    ToolResult::error(
                        ErrorKind::Timeout,
                        format!("`{tool}` did not answer within {bound:?}"),
                    )
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::middleware::{Chain, Endpoint};
    use crate::registry::Catalog;
    use crate::tool::Call;

    struct Slow(Duration);

    impl Endpoint for Slow {
        fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
            Box::pin(async move {
                match request.bounded(tokio::time::sleep(self.0)).await {
                    Ok(()) => ToolResult::text("done"),
                    Err(result) => result,
                }
            })
        }
    }

    fn chain(default: u64, tools: &[(&str, u64)]) -> Chain {
        let tools = tools
            .iter()
            .map(|(glob, secs)| ((*glob).to_owned(), Duration::from_secs(*secs)));
        Chain::new(vec![Arc::new(Timeout::new(TimeoutRule {
            default: Some(Duration::from_secs(default)),
            tools: GlobMap::new(tools),
        }))])
    }

    async fn run(chain: &Chain, call: Call, work: u64) -> (ToolResult, Duration) {
        let begin = Instant::now();
        let request = Request::new(call, Arc::new(Catalog::default()));
        let result = chain.run(request, &Slow(Duration::from_secs(work))).await;
        (result, begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_deadline_is_cut_at_the_default() {
        let (result, took) = run(&chain(2, &[]), Call::new("t", Value::Null), 60).await;
        assert_eq!(result.error_kind, Some(ErrorKind::Timeout));
        assert_eq!(result.all_text(), "`t` did not answer within 2s");
        assert_eq!(took, Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_with_a_deadline_passes_through_untouched() {
        let mut call = Call::new("t", Value::Null);
        call.deadline = Some(Instant::now() + Duration::from_secs(30));
        let (result, took) = run(&chain(2, &[]), call, 20).await;
        assert!(!result.is_error());
        assert_eq!(took, Duration::from_secs(20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_glob_beats_the_default_and_zero_lifts_it() {
        let chain = chain(2, &[("slow_*", 10), ("slow_ever", 0)]);
        let (_, took) = run(&chain, Call::new("slow_x", Value::Null), 60).await;
        assert_eq!(took, Duration::from_secs(10));
        let (result, _) = run(&chain, Call::new("slow_ever", Value::Null), 60).await;
        assert!(!result.is_error());
    }

    /// A tool that bounds its own time.
    struct Bounded;

    impl crate::tool::Tool for Bounded {
        fn definition(&self) -> crate::tool::Definition {
            crate::tool::Definition::new("bounded", "", json!({"type": "object"})).unwrap()
        }
        fn bounds_own_time(&self) -> bool {
            true
        }
        fn execute(&self, _: crate::tool::Invocation) -> BoxFuture<'_, ToolResult> {
            Box::pin(async { ToolResult::text("done") })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_that_bounds_its_own_time_is_exempt_from_the_default_alone() {
        let registry = crate::registry::Registry::new();
        let owner = crate::registry::Owner::source("s", 0);
        registry.publish(&owner, vec![Arc::new(Bounded)]).await;
        for (claim, tools, expected) in [
            ("the default", &[][..], 60),
            ("a glob", &[("bound*", 5)], 5),
            ("a glob for others", &[("other", 5)], 60),
        ] {
            let begin = Instant::now();
            let request = Request::new(Call::new("bounded", Value::Null), registry.catalog());
            let slow = Slow(Duration::from_secs(60));
            chain(2, tools).run(request, &slow).await;
            assert_eq!(begin.elapsed().as_secs(), expected, "{claim}");
        }
    }
}
