//! What a scenario came to, or any other session; its JSON is that of the command `play`.

use std::sync::Arc;

use serde::Serialize;

use super::Miss;
use crate::discovery::session::{CallEnd, CallNote, RoundRecord};
use crate::discovery::tool_search::SearchAnswer;
use crate::discovery::{BudgetSettings, PoolSettings, Why};
use crate::session::{CallReport, RoundReport, SessionRow};
use crate::tool::{CallId, ErrorKind, Part};

/// A played scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// The file as the operator named it; the name of the session where none was played.
    pub scenario: Arc<str>,
    /// The rounds, counted from 1.
    pub rounds: Vec<TraceRound>,
    /// What was expected and did not happen.
    pub missed: Vec<Miss>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceRound {
    /// Its number.
    pub round: u32,
    /// The note of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Arc<str>>,
    /// What was sent, in that order.
    pub visible: Vec<TraceVisible>,
    /// The bytes of that.
    pub visible_bytes: usize,
    /// The bounds of that.
    pub budget: TraceBudget,
    /// What was not sent.
    pub withheld: Vec<TraceWithheld>,
    /// The batch.
    pub calls: Vec<TraceCall>,
    /// The searches of the batch.
    pub searches: Vec<TraceSearch>,
    /// The pool at the end.
    pub pool: TracePool,
    /// Everything that left the pool, in that order.
    pub evicted: Vec<TraceEvicted>,
}

/// A tool that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceVisible {
    /// The tool.
    pub name: Arc<str>,
    /// Its size.
    pub bytes: usize,
    /// Why.
    pub why: Why,
}

/// The bounds of a round; `null` when dynamic injection is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TraceBudget {
    /// Most definitions.
    pub max_definitions: Option<usize>,
    /// Most bytes.
    pub max_bytes: Option<usize>,
}

/// A tool that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceWithheld {
    /// The tool.
    pub name: Arc<str>,
    /// Its size.
    pub bytes: usize,
    /// `definitions` or `bytes`.
    pub reason: &'static str,
    /// How many bytes were missing.
    pub missing_bytes: usize,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceCall {
    /// The tool as called.
    pub tool: Arc<str>,
    /// Identity.
    pub call_id: CallId,
    /// `ok`, `error` or `undefined_tool`.
    pub outcome: &'static str,
    /// Set exactly when the outcome is `error`.
    pub error_kind: Option<ErrorKind>,
    /// What the caller got; absent in the trace of a recorded session, which does not keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Part>>,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceSearch {
    /// The query.
    pub query: Arc<str>,
    /// All hits, the best first.
    pub ranked: Vec<Arc<str>>,
    /// Those that the next round sends.
    pub exposed: Vec<Arc<str>>,
    /// The others.
    pub failed: Vec<TraceFailed>,
    /// What left the pool for them.
    pub evicted: Vec<Arc<str>>,
}

/// A hit that was not exposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceFailed {
    /// The tool.
    pub name: Arc<str>,
    /// Why.
    pub reason: &'static str,
    /// Its size.
    pub bytes: usize,
}

/// The pool; its bounds are `null` when dynamic injection is off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracePool {
    /// The entries in the order of admission.
    pub tools: Vec<TraceEntry>,
    /// Their bytes.
    pub bytes: usize,
    /// Most tools.
    pub max_tools: Option<usize>,
    /// Most bytes.
    pub max_bytes: Option<usize>,
}

/// An entry of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceEntry {
    /// The tool.
    pub name: Arc<str>,
    /// Its size.
    pub bytes: usize,
    /// The round of its last use.
    pub last_used: u32,
    /// Its rank among the hits of its search.
    pub rank: u32,
}

/// A tool that left the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceEvicted {
    /// The tool.
    pub name: Arc<str>,
    /// `idle`, `crowded` or `removed`.
    pub reason: &'static str,
}

impl Trace {
    /// The trace of a session, of any kind: its rounds that are kept and have ended, with secrets
    /// masked as the row has them.
    pub fn of(row: &SessionRow) -> Self {
        let play = row.play.as_deref();
        let mut trace = Self {
            scenario: Arc::clone(play.map_or(&row.name, |play| &play.scenario)),
            rounds: Vec::new(),
            missed: Vec::new(),
        };
        for record in row.rounds().filter(|record| record.complete) {
            let mut played = play.map_or([].as_slice(), |play| &play.played).iter();
            let played = played.find(|played| played.round == record.round);
            let checks = played.map_or([].as_slice(), |played| &played.checks);
            let missed = checks.iter().filter(|check| !check.met);
            trace.missed.extend(missed.map(|check| Miss {
                round: record.round,
                what: check.what,
                expected: check.expected.clone(),
                actual: check.actual.clone(),
            }));
            let note = played.and_then(|played| played.note.clone());
            let calls = record.calls.iter().map(TraceCall::recorded).collect();
            trace.rounds.push(TraceRound::of(record, note, calls));
        }
        trace
    }
}

impl TraceRound {
    pub(super) fn new(report: &RoundReport, note: Option<Arc<str>>) -> Self {
        let calls = report.calls.iter().map(TraceCall::new).collect();
        Self::of(&report.record, note, calls)
    }

    fn of(record: &RoundRecord, note: Option<Arc<str>>, calls: Vec<TraceCall>) -> Self {
        Self {
            round: record.round,
            note,
            visible: visible(record),
            visible_bytes: record.visible.bytes,
            budget: budget(record.visible.budget),
            withheld: withheld(record),
            calls,
            searches: record.searches.iter().map(TraceSearch::new).collect(),
            pool: pool(record),
            evicted: record
                .evicted()
                .map(|(name, reason)| TraceEvicted {
                    name: Arc::clone(name),
                    reason: reason.as_str(),
                })
                .collect(),
        }
    }
}

fn visible(record: &RoundRecord) -> Vec<TraceVisible> {
    let sent = record.visible.sent.iter();
    sent.map(|sent| TraceVisible {
        name: sent.definition.shared_name(),
        bytes: sent.bytes(),
        why: sent.why,
    })
    .collect()
}

fn withheld(record: &RoundRecord) -> Vec<TraceWithheld> {
    let withheld = record.visible.withheld.iter();
    withheld
        .map(|tool| TraceWithheld {
            name: Arc::clone(&tool.name),
            bytes: tool.bytes,
            reason: tool.reason.as_str(),
            missing_bytes: tool.missing_bytes,
        })
        .collect()
}

fn budget(budget: Option<BudgetSettings>) -> TraceBudget {
    TraceBudget {
        max_definitions: budget.map(|budget| budget.max_definitions),
        max_bytes: budget.map(|budget| budget.max_bytes),
    }
}

fn pool(record: &RoundRecord) -> TracePool {
    let bounds: Option<PoolSettings> = record.pool.bounds;
    let entries = record.pool.entries.iter();
    TracePool {
        tools: entries
            .map(|entry| TraceEntry {
                name: Arc::clone(&entry.name),
                bytes: entry.bytes,
                last_used: entry.last_used,
                rank: entry.rank,
            })
            .collect(),
        bytes: record.pool.bytes,
        max_tools: bounds.map(|bounds| bounds.max_tools),
        max_bytes: bounds.map(|bounds| bounds.max_bytes),
    }
}

impl TraceCall {
    fn new(report: &CallReport) -> Self {
        let content = Some(report.result.parts.clone());
        Self::of(&report.tool, &report.id, report.end, content)
    }

    fn recorded(note: &CallNote) -> Self {
        Self::of(&note.tool, &note.id, note.end, None)
    }

    fn of(tool: &Arc<str>, id: &CallId, end: CallEnd, content: Option<Vec<Part>>) -> Self {
        let (outcome, error_kind) = match end {
            CallEnd::Ok => ("ok", None),
            CallEnd::Error(kind) => ("error", Some(kind)),
            CallEnd::UndefinedTool => ("undefined_tool", None),
        };
        Self {
            tool: Arc::clone(tool),
            call_id: id.clone(),
            outcome,
            error_kind,
            content,
        }
    }
}

impl TraceSearch {
    fn new(answer: &SearchAnswer) -> Self {
        let names = answer.exposed.iter().map(|hit| Arc::clone(&hit.name));
        Self {
            query: Arc::clone(&answer.query),
            ranked: answer.ranked.clone(),
            exposed: names.collect(),
            failed: answer
                .failed
                .iter()
                .map(|hit| TraceFailed {
                    name: Arc::clone(&hit.name),
                    reason: hit.reason.as_str(),
                    bytes: hit.bytes,
                })
                .collect(),
            evicted: answer.evicted.clone(),
        }
    }
}
