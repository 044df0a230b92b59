//! Expectations of a round and what came instead.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::TraceRound;
use crate::discovery::TOOL_SEARCH;
use crate::session::CheckRow;

/// Sets of names, or of names with their reason. Only those that are there are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Each check with its set, in the order of the file.
    pub checks: Vec<(Check, BTreeSet<Fact>)>,
}

/// A name, with a reason or kind where the check has one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// The tool.
    pub name: String,
    /// The reason or the kind of error.
    pub reason: Option<String>,
}

/// What can be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// The names sent.
    Visible,
    /// The names withheld, with the reason.
    Withheld,
    /// What the searches exposed.
    Exposed,
    /// What they could not, with the reason.
    Failed,
    /// What left the pool, with the reason.
    Evicted,
    /// The tools of calls that succeeded.
    Ok,
    /// The tools of calls that failed, with the kind of error.
    Errors,
    /// The tools of calls that were not in the set of the round.
    Undefined,
    /// The names in the pool at the end.
    Pool,
}

impl Check {
    /// Every check.
    pub const ALL: [Self; 9] = [
        Self::Visible,
        Self::Withheld,
        Self::Exposed,
        Self::Failed,
        Self::Evicted,
        Self::Ok,
        Self::Errors,
        Self::Undefined,
        Self::Pool,
    ];

    /// The key in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::Withheld => "withheld",
            Self::Exposed => "exposed",
            Self::Failed => "failed",
            Self::Evicted => "evicted",
            Self::Ok => "ok",
            Self::Errors => "errors",
            Self::Undefined => "undefined",
            Self::Pool => "pool",
        }
    }

    /// What really was.
    fn actual(self, round: &TraceRound) -> BTreeSet<Fact> {
        let searches = round.searches.iter();
        let ended = |outcome: &'static str| {
            let calls = round.calls.iter();
            calls.filter(move |call| call.outcome == outcome)
        };
        match self {
            Self::Visible => names(round.visible.iter().map(|tool| &*tool.name)),
            Self::Withheld => facts(round.withheld.iter().map(|tool| (&*tool.name, tool.reason))),
            Self::Exposed => names(searches.flat_map(|s| &s.exposed).map(|name| &**name)),
            Self::Failed => facts(
                searches
                    .flat_map(|search| &search.failed)
                    .map(|hit| (&*hit.name, hit.reason)),
            ),
            Self::Evicted => facts(round.evicted.iter().map(|tool| (&*tool.name, tool.reason))),
            Self::Ok => names(ended("ok").map(|call| &*call.tool)),
            Self::Errors => facts(
                ended("error").filter_map(|call| Some((&*call.tool, call.error_kind?.as_str()))),
            ),
            Self::Undefined => names(ended("undefined_tool").map(|call| &*call.tool)),
            Self::Pool => names(round.pool.tools.iter().map(|tool| &*tool.name)),
        }
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<Fact> {
    names
        .map(|name| Fact {
            name: name.to_owned(),
            reason: None,
        })
        .collect()
}

fn facts<'a>(facts: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeSet<Fact> {
    facts
        .map(|(name, reason)| Fact {
            name: name.to_owned(),
            reason: Some(reason.to_owned()),
        })
        .collect()
}

/// Something expected that did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// The round.
    pub round: u32,
    /// What was looked at: a key of `expect`.
    pub what: &'static str,
    /// What should have been, sorted; `name: reason` where there is a reason.
    pub expected: Vec<String>,
    /// What was.
    pub actual: Vec<String>,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "round {}: {}: expected [{}], actual [{}]",
            self.round,
            self.what,
            self.expected.join(", "),
            self.actual.join(", ")
        )
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{}: {reason}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Expectation {
    /// Compares with what a round came to, check by check.
    pub fn compare(&self, round: &TraceRound) -> Vec<CheckRow> {
        let texts = |facts: &BTreeSet<Fact>| facts.iter().map(Fact::to_string).collect();
        self.checks
            .iter()
            .map(|(check, expected)| {
                let mut actual = check.actual(round);
                // Searches are told by what they exposed: whoever expects calls need not name them.
                let is_search = |fact: &Fact| fact.name == TOOL_SEARCH;
                if *check == Check::Ok && !expected.iter().any(is_search) {
                    actual.retain(|fact| !is_search(fact));
                }
                CheckRow {
                    what: check.as_str(),
                    expected: texts(expected),
                    actual: texts(&actual),
                    met: actual == *expected,
                }
            })
            .collect()
    }

    /// What was expected of a round and did not happen.
    pub fn misses(&self, round: &TraceRound) -> Vec<Miss> {
        let checks = self.compare(round).into_iter();
        checks
            .filter(|check| !check.met)
            .map(|check| Miss {
                round: round.round,
                what: check.what,
                expected: check.expected,
                actual: check.actual,
            })
            .collect()
    }
}
