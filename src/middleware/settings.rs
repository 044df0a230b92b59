//! The settings of the layers, as the deployment file gives them under `middlewares` (section 9).
//! Plain data: every value has been checked when it gets here (rule 9.9).

use std::path::PathBuf;
use std::time::Duration;

use super::TimeoutRule;

/// What bounds non-text parts where the file says nothing (rule 9.5).
pub const DEFAULT_PART_BUDGET: usize = 1024 * 1024;

/// What ends a text that was cut (rule 9.4).
pub const DEFAULT_MARKER: &str = "…[result truncated]";

/// The layers of one assembly; absent means that the layer is skipped.
#[derive(Clone, Debug, PartialEq)]
pub struct MiddlewareSettings {
    /// `recover.enabled`.
    pub recover: bool,
    /// `telemetry.enabled`.
    pub telemetry: bool,
    /// One JSON line per call.
    pub audit: Option<AuditSettings>,
    /// The bound of a result.
    pub result_limit: Option<ResultLimitSettings>,
    /// Bounds non-text parts even without `result_limit`; zero means no cap (rule 9.5).
    pub result_part_budget_bytes: usize,
    /// What is replaced in results.
    pub redact: Option<RedactSettings>,
    /// `validate.enabled`.
    pub validate: bool,
    /// Which calls wait for the operator.
    pub approval: Option<ApprovalSettings>,
    /// How long a call may take.
    pub timeout: Option<TimeoutRule>,
    /// How many calls start per second.
    pub rate_limit: Option<RateLimitSettings>,
    /// How many calls run at once.
    pub concurrency: Option<ConcurrencySettings>,
    /// Injected faults.
    pub fault: Option<FaultSettings>,
}

impl Default for MiddlewareSettings {
    fn default() -> Self {
        Self {
            recover: false,
            telemetry: false,
            audit: None,
            result_limit: None,
            result_part_budget_bytes: DEFAULT_PART_BUDGET,
            redact: None,
            validate: false,
            approval: None,
            timeout: None,
            rate_limit: None,
            concurrency: None,
            fault: None,
        }
    }
}

impl MiddlewareSettings {
    /// The part budget in force, `None` for no cap: the one inside `result_limit` wins (rule 9.5).
    pub fn part_budget(&self) -> Option<usize> {
        let declared = self
            .result_limit
            .as_ref()
            .and_then(|limit| limit.part_budget_bytes);
        Some(declared.unwrap_or(self.result_part_budget_bytes)).filter(|bytes| *bytes > 0)
    }
}

/// `audit` (rule 9.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// The file that is appended to, already made absolute.
    pub file: PathBuf,
}

/// `result_limit` (rule 9.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultLimitSettings {
    /// Most Unicode scalar values of all text parts together; at least 1.
    pub max: usize,
    /// What ends a text that was cut.
    pub marker: String,
    /// The bound of non-text parts as declared here: absent means rule 9.5, zero no cap.
    pub part_budget_bytes: Option<usize>,
}

/// `redact` (rule 9.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactSettings {
    /// Regular expressions; each of them compiles.
    pub patterns: Vec<String>,
    /// What stands in place of a match.
    pub replacement: String,
}

/// `approval` (rule 9.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// Globs of the tools that need an approval; absent in the file means `*`.
    pub tools: Vec<String>,
    /// How long the operator is waited for; absent means until the call's own deadline.
    pub timeout: Option<Duration>,
}

/// `rate_limit` (rule 9.8).
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimitSettings {
    /// Calls per second; absent means that only the rates of the tools themselves count.
    pub per_second: Option<f64>,
    /// How many calls may start at once after a pause; at least 1.
    pub burst: u32,
    /// Globs of the tools that `per_second` is for, counted together; absent in the file means `*`.
    pub tools: Vec<String>,
}

/// `concurrency` (rule 9.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcurrencySettings {
    /// Most calls at once; at least 1.
    pub limit: Option<usize>,
    /// Most calls at once by source, in the order of the file; at least 1 each.
    pub per_source: Vec<(String, usize)>,
}

/// `fault` (rule 9.8).
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSettings {
    /// Globs of the tools that suffer; absent in the file means `*`.
    pub tools: Vec<String>,
    /// Added before each call.
    pub latency: Duration,
    /// The share of calls that fail, from 0 to 1.
    pub error_rate: f64,
    /// The share of calls that are never answered, from 0 to 1; they end by their deadline.
    pub drop: f64,
}
