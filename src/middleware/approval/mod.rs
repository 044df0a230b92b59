//! `approval`: an operator decides whether a call may run (rule 9.8). Without a console nobody can
//! decide, and the call is denied at once.

mod desk;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

pub use desk::{Approvals, Console, Decision, PendingApproval};

use self::desk::{Answer, Asked, Question};
use super::counter::Count;
use super::live::Live;
use super::settings::{ApprovalSettings, MiddlewareSettings};
use super::{Counter, Middleware, Next, Request, absent, named, written};
use crate::clock::Stamp;
use crate::secrets::Secrets;
use crate::tool::{ErrorKind, ToolResult};

/// The layer.
pub struct Approval {
    rule: Live<ApprovalSettings>,
    approvals: Approvals,
    secrets: Secrets,
    approved: Count,
    denied: Count,
    expired: Count,
    gave_up: Count,
}

impl Approval {
    /// A layer that asks at this desk.
    pub fn new(settings: ApprovalSettings, approvals: Approvals, secrets: Secrets) -> Self {
        Self {
            rule: Live::new(settings),
            approvals,
            secrets,
            approved: Count::default(),
            denied: Count::default(),
            expired: Count::default(),
            gave_up: Count::default(),
        }
    }

    /// Passes, or says why the call may not run.
    async fn decide(&self, rule: &ApprovalSettings, request: &Request) -> Result<(), ToolResult> {
        let tool = &request.call.tool;
        match self.ask(rule, request) {
            Asked::Standing => {
                self.approved.one();
                Ok(())
            }
            Asked::NoConsole => Err(self.denied(
                tool,
                "it needs the approval of an operator and no console is open",
            )),
            Asked::Full => Err(ToolResult::error(
                ErrorKind::Overloaded,
                format!(
                    "`{tool}` was not called: {} calls wait for an approval already",
                    desk::QUEUE
                ),
            )),
            Asked::Wait(question) => {
                let begin = Instant::now();
                let decided = self.wait(rule, request, question).await;
                request.span().waited(begin.elapsed());
                decided
            }
        }
    }

    fn ask(&self, rule: &ApprovalSettings, request: &Request) -> Asked {
        let call = &request.call;
        let asked = Stamp::now();
        let until_deadline = call
            .deadline
            .map(|deadline| deadline.saturating_duration_since(asked.at));
        let patience = [rule.timeout, until_deadline].into_iter().flatten().min();
        let row = |id| PendingApproval {
            id,
            call_id: call.id.clone(),
            tool: Arc::clone(&call.tool),
            session: call.session.clone(),
            arguments: self.secrets.mask_json(&call.arguments),
            asked,
            patience,
        };
        let key = (call.session.clone(), Arc::clone(&call.tool));
        self.approvals.ask(row, key)
    }

    async fn wait(
        &self,
        rule: &ApprovalSettings,
        request: &Request,
        mut question: Question,
    ) -> Result<(), ToolResult> {
        let tool = &request.call.tool;
        let patience = rule.timeout;
        let answer = async {
            match patience {
                Some(patience) => tokio::time::timeout(patience, question.answer()).await.ok(),
                None => Some(question.answer().await),
            }
        };
        match request.bounded(answer).await {
            Ok(Some(Answer::Given(Decision::Approve | Decision::Always))) => {
                self.approved.one();
                Ok(())
            }
            Ok(Some(Answer::Given(Decision::Deny))) => {
                Err(self.denied(tool, "the operator said no"))
            }
            Ok(Some(Answer::Nobody)) => {
                Err(self.denied(tool, "the console was closed before anybody answered"))
            }
            Ok(None) => {
                self.expired.one();
                let waited = patience.unwrap_or(Duration::ZERO);
                Err(self.denied(tool, &format!("nobody answered within {waited:?}")))
            }
            Err(given_up) => {
                self.gave_up.one();
                Err(given_up)
            }
        }
    }

    fn denied(&self, tool: &str, why: &str) -> ToolResult {
        self.denied.one();
        ToolResult::error(ErrorKind::Denied, format!("`{tool}` was not called: {why}"))
    }
}

impl Middleware for Approval {
    fn name(&self) -> &'static str {
        "approval"
    }

    fn settings(&self) -> Value {
        let rule = self.rule.get();
        json!({
            "tools": rule.tools,
            "timeout": rule.timeout.map(written::duration),
        })
    }

    fn counters(&self) -> Vec<Counter> {
        let now = |name, value: usize| Counter {
            name,
            value: value as u64,
        };
        let pending = self.approvals.pending().borrow().len();
        vec![
            now("pending", pending),
            now("standing", self.approvals.standing()),
            self.approved.shown_as("approved"),
            self.denied.shown_as("denied"),
            self.expired.shown_as("expired"),
            self.gave_up.shown_as("gave_up"),
        ]
    }

    fn change(&self, settings: &MiddlewareSettings) -> Result<(), String> {
        let rule = settings.approval.clone();
        self.rule.set(rule.ok_or_else(|| absent("approval"))?);
        Ok(())
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let rule = self.rule.get();
        if !named(&rule.tools, &request.call.tool) {
            return Box::pin(next.run(request));
        }
        Box::pin(async move {
            match self.decide(&rule, &request).await {
                Ok(()) => next.run(request).await,
                Err(result) => {
                    if result.error_kind == Some(ErrorKind::Denied) {
                        request.span().note("denied");
                    }
                    result
                }
            }
        })
    }
}
