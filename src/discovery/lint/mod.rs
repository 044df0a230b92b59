//! Lint: what in a catalog and its sessions makes tools hard to find or crowds the budget, each
//! with its numbers and with advice. Pure over exposures and recorded rounds.

mod names;
mod rounds;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::session::RoundRecord;
use super::{BudgetSettings, Exposures, Mode, TOOL_SEARCH};
use crate::tool::Definition;

/// From this share of a bound on, in percent, a visible set counts as full.
pub const FULL: usize = 90;

/// A set that was full for at least so many rounds in a row is told.
pub const FULL_ROUNDS: usize = 3;

/// Always tools that take more than this share of a bound, in percent, are told.
pub const ALWAYS_SHARE: usize = 50;

/// A tool that was sent in at least so many rounds without being called is told.
pub const UNUSED_ROUNDS: usize = 20;

/// How many findings of one kind are listed; the heaviest come first.
pub const MOST: usize = 20;

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The settings.
    Settings,
    /// A tool.
    Tool(Arc<str>),
    /// A session.
    Session(Arc<str>),
}

/// Something that could be better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Finding {
    /// The visible set is full, or withholds tools, in the newest rounds.
    BudgetFull {
        /// The session.
        session: Arc<str>,
        /// For how many rounds in a row, the newest included.
        rounds: usize,
        /// In how many of them a bound was nearly reached; in the others there was room, but not
        /// for what was withheld.
        full: usize,
        /// Definitions and bytes of the newest round.
        used: (usize, usize),
        /// Most definitions and bytes.
        budget: (usize, usize),
        /// How many tools the newest round withheld.
        withheld: usize,
    },
    /// Always tools leave little room for what is discovered.
    AlwaysHeavy {
        /// How many there are, `tool_search` included.
        tools: usize,
        /// Their bytes.
        bytes: usize,
        /// Most definitions and bytes.
        budget: (usize, usize),
        /// The largest of them besides `tool_search`.
        largest: Option<(Arc<str>, usize)>,
    },
    /// A definition that no round can send.
    NeverFits {
        /// The tool.
        tool: Arc<str>,
        /// Its size.
        bytes: usize,
        /// The room there is: the budget without `tool_search`.
        room: usize,
    },
    /// A definition that no pool can hold.
    NeverPooled {
        /// The tool.
        tool: Arc<str>,
        /// Its size.
        bytes: usize,
        /// The bound of the pool.
        max_bytes: usize,
    },
    /// Sent round after round, and never called.
    Unused {
        /// The session.
        session: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// In how many rounds since it was last called, or since the first that is kept.
        rounds: usize,
        /// Its size.
        bytes: usize,
    },
    /// Names that a model can hardly tell apart.
    AlikeNames {
        /// The names, sorted.
        names: Vec<Arc<str>>,
        /// Whether they differ in more than writing, and their descriptions are alike.
        same_job: bool,
    },
    /// A search that found nothing.
    EmptySearch {
        /// The session.
        session: Arc<str>,
        /// What was asked.
        query: Arc<str>,
        /// How often.
        times: usize,
        /// When last.
        round: u32,
    },
}

impl Finding {
    /// What it is about.
    pub fn about(&self) -> About {
        match self {
            Self::AlwaysHeavy { .. } => About::Settings,
            Self::NeverFits { tool, .. } | Self::NeverPooled { tool, .. } => {
                About::Tool(Arc::clone(tool))
            }
            Self::AlikeNames { names, .. } => names
                .first()
                .map_or(About::Settings, |name| About::Tool(Arc::clone(name))),
            Self::BudgetFull { session, .. }
            | Self::Unused { session, .. }
            | Self::EmptySearch { session, .. } => About::Session(Arc::clone(session)),
        }
    }

    /// What to do about it, in a few words.
    pub fn advice(&self) -> String {
        match self {
            Self::BudgetFull { full: 0, .. } => {
                "raise `budget.max_bytes`, or shorten the definitions that are withheld".into()
            }
            Self::BudgetFull { .. } => {
                "raise `dynamic.budget`, or make fewer tools always or required".into()
            }
            Self::AlwaysHeavy {
                largest: Some((tool, bytes)),
                ..
            } => format!("make some of them direct; the largest is `{tool}`, {bytes} bytes"),
            Self::AlwaysHeavy { largest: None, .. } => "raise `dynamic.budget`".into(),
            Self::NeverFits { bytes, room, .. } => format!(
                "shorten it, or raise `budget.max_bytes` by at least {}",
                bytes - room
            ),
            Self::NeverPooled { bytes, .. } => {
                format!("shorten it, or raise `discovery.max_bytes` to {bytes} or more")
            }
            Self::Unused { .. } => "make it deferred, so that it is sent when it is found".into(),
            Self::AlikeNames { same_job: true, .. } => {
                "hide all but one, or say in their descriptions what differs".into()
            }
            Self::AlikeNames { .. } => "rename one, or hide it".into(),
            Self::EmptySearch { .. } => {
                "say the words of the query in the description of the tool that should be found"
                    .into()
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BudgetFull {
                session,
                rounds,
                full,
                used: (definitions, bytes),
                budget: (most, most_bytes),
                withheld,
            } => {
                write!(f, "`{session}`: ")?;
                match *full {
                    0 => write!(f, "tools are withheld in the last {rounds} rounds")?,
                    full if full < *rounds => write!(
                        f,
                        "the visible set is full or withholds tools in the last {rounds} rounds"
                    )?,
                    _ => write!(f, "the visible set is full for {rounds} rounds")?,
                }
                write!(
                    f,
                    ": {definitions} of {most} definitions, {bytes} of {most_bytes} bytes"
                )?;
                match withheld {
                    0 => Ok(()),
                    1 => f.write_str(", 1 tool withheld"),
                    count => write!(f, ", {count} tools withheld"),
                }
            }
            Self::AlwaysHeavy {
                tools,
                bytes,
                budget: (most, most_bytes),
                ..
            } => write!(
                f,
                "always tools take {tools} of {most} definitions and {bytes} of {most_bytes} bytes \
                 of every round"
            ),
            Self::NeverFits { tool, bytes, room } => write!(
                f,
                "`{tool}` can never be sent: it has {bytes} bytes, and the budget leaves {room}"
            ),
            Self::NeverPooled {
                tool,
                bytes,
                max_bytes,
            } => write!(
                f,
                "`{tool}` can never be discovered: it has {bytes} bytes, and the pool holds {max_bytes}"
            ),
            Self::Unused {
                session,
                tool,
                rounds,
                bytes,
            } => write!(
                f,
                "`{session}`: `{tool}` was sent in {rounds} rounds and not called, {bytes} bytes each"
            ),
            Self::AlikeNames { names, same_job } => {
                let names = names.join("`, `");
                match same_job {
                    true => write!(f, "`{names}` have the same name and do the same"),
                    false => write!(f, "`{names}` differ in their writing alone"),
                }
            }
            Self::EmptySearch {
                session,
                query,
                times,
                round,
            } => {
                write!(f, "`{session}`: `{query}` found nothing in round {round}")?;
                match times {
                    1 => Ok(()),
                    times => write!(f, ", {times} times in all"),
                }
            }
        }
    }
}

/// One session, for [`lint`].
#[derive(Clone, Copy, Debug)]
pub struct SessionRounds<'a> {
    /// Its name.
    pub name: &'a Arc<str>,
    /// The rounds before the current one, the oldest first.
    pub history: &'a [Arc<RoundRecord>],
    /// The round under way, or the last one.
    pub current: &'a Arc<RoundRecord>,
}

impl<'a> SessionRounds<'a> {
    /// All rounds that have begun, the newest first.
    fn newest_first(&self) -> impl Iterator<Item = &'a RoundRecord> + use<'a> {
        let (history, current) = (self.history, self.current);
        let all = std::iter::once(current).chain(history.iter().rev());
        all.map(|record| &**record)
            .filter(|record| record.round > 0)
    }
}

/// Everything that can be said of a catalog and its sessions.
pub fn lint<'a>(
    exposures: &Exposures,
    sessions: impl IntoIterator<Item = SessionRounds<'a>>,
) -> Vec<Finding> {
    let mut findings = of_catalog(exposures);
    for session in sessions {
        findings.extend(of_session(&session));
    }
    findings
}

/// What can be said of one session. Looks at no tool that it was not sent.
pub fn of_session(session: &SessionRounds<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(rounds::full(session));
    findings.extend(rounds::unused(session));
    findings.extend(rounds::empty_searches(session));
    findings
}

/// What can be said of a catalog without any session. Looks at every tool: once per version.
pub fn of_catalog(exposures: &Exposures) -> Vec<Finding> {
    let Some(settings) = exposures.settings() else {
        return names::alike(exposures);
    };
    let mut findings = Vec::new();
    findings.extend(always(exposures, settings.budget));
    let search = exposures.get(TOOL_SEARCH);
    let search = search.map_or(0, |tool| tool.definition.bytes());
    let room = settings.budget.max_bytes.saturating_sub(search);
    let pool = settings.discovery.max_bytes;
    let mut tools: Vec<_> = exposures.tools().collect();
    tools.sort_unstable_by_key(|tool| tool.definition.name());
    let mut large = Vec::new();
    for tool in tools {
        let (name, bytes) = (tool.definition.shared_name(), tool.definition.bytes());
        if *name == *TOOL_SEARCH {
            continue;
        }
        if bytes > room && tool.mode != Mode::Hidden {
            large.push((
                bytes,
                Finding::NeverFits {
                    tool: name,
                    bytes,
                    room,
                },
            ));
        } else if bytes > pool && tool.is_searchable() {
            let finding = Finding::NeverPooled {
                tool: name,
                bytes,
                max_bytes: pool,
            };
            large.push((bytes, finding));
        }
    }
    large.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes)); // stable
    findings.extend(large.into_iter().take(MOST).map(|(_, finding)| finding));
    findings.extend(names::alike(exposures));
    findings
}

/// Always tools that use most of the budget.
fn always(exposures: &Exposures, budget: BudgetSettings) -> Option<Finding> {
    let always: Vec<&Definition> = exposures
        .always()
        .iter()
        .filter_map(|name| Some(&exposures.get(name)?.definition))
        .collect();
    let bytes: usize = always.iter().map(|definition| definition.bytes()).sum();
    let above = |part: usize, whole: usize| part * 100 > whole * ALWAYS_SHARE;
    if !above(always.len(), budget.max_definitions) && !above(bytes, budget.max_bytes) {
        return None;
    }
    let others = always
        .iter()
        .filter(|definition| definition.name() != TOOL_SEARCH);
    let largest = others.max_by_key(|definition| definition.bytes());
    Some(Finding::AlwaysHeavy {
        tools: always.len(),
        bytes,
        budget: (budget.max_definitions, budget.max_bytes),
        largest: largest.map(|definition| (definition.shared_name(), definition.bytes())),
    })
}

#[cfg(test)]
mod tests;
