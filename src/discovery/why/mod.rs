//! Why a tool is shown in a round, or why not: one chain of facts, from its source to the budget.
//! The first link that is broken is the answer. Pure over what is published of a runtime.

mod before;
mod fact;
mod remedy;

use std::sync::Arc;

use serde::{Serialize, Serializer};

pub use fact::{Entry, Fact, FoundBy, LeftBy, MissedBy, RefusedBy};

use super::search::Ranker;
use super::session::RoundRecord;
use super::{Exposures, Mode, Why};
use crate::registry::{Owner, Refusal, nearest};
use crate::source::ServerStatus;
use before::Before;

/// A step on the way from a server to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Its server, or its source.
    Source,
    /// Whether the registry has it.
    Registered,
    /// Its mode, and what decided it.
    Exposure,
    /// The searches and calls that brought it up.
    Found,
    /// Whether the pool took it.
    Admitted,
    /// Whether it is still there.
    Kept,
    /// Whether the budget of the round had room.
    Budget,
}

impl Stage {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Registered => "registered",
            Self::Exposure => "exposure",
            Self::Found => "found",
            Self::Admitted => "admitted",
            Self::Kept => "kept",
            Self::Budget => "budget",
        }
    }
}

/// Whether a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Ok,
    /// It holds, but an operator should know something.
    Noted,
    /// It is broken.
    Broken,
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Which.
    pub stage: Stage,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What is known.
    #[serde(serialize_with = "in_words")]
    pub fact: Fact,
}

fn in_words<S: Serializer>(fact: &Fact, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(fact)
}

/// The chain of one tool in one round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chain {
    /// The name that was asked for.
    pub tool: Arc<str>,
    /// The round; 0 before the first.
    pub round: u32,
    /// Whether the round sends it.
    pub visible: bool,
    /// The links in causal order, up to the first broken one.
    pub links: Vec<Link>,
    /// The one thing that would make it visible; `None` when it is.
    pub remedy: Option<String>,
}

impl Chain {
    /// The broken link, which is the answer.
    pub fn broken(&self) -> Option<&Link> {
        self.links
            .iter()
            .find(|link| link.verdict == Verdict::Broken)
    }
}

/// What a chain is made from. What is not known is left empty.
pub struct Evidence<'a> {
    /// Who brought the tool, if the registry has it now and the session runs over it.
    pub owner: Option<&'a Owner>,
    /// What was refused because its name is taken.
    pub refusals: &'a [Refusal],
    /// The name of the tool whose name at its origin was asked for (rule 8.9).
    pub mapped: Option<&'a str>,
    /// Exposures as they are now.
    pub exposures: &'a Exposures,
    /// The servers as they are now.
    pub servers: &'a [Arc<ServerStatus>],
    /// The session's rounds, the oldest first.
    pub rounds: &'a [Arc<RoundRecord>],
    /// Ranks the tools that a search may find, to tell how near a search came.
    pub ranker: Option<&'a dyn Ranker>,
}

/// Explains a tool in a round. A round that is not kept is explained as far as can be told.
pub fn why(tool: &str, round: u32, evidence: &Evidence<'_>) -> Chain {
    let at = evidence.rounds.iter().rposition(|r| r.round <= round);
    let record = at.and_then(|at| evidence.rounds.get(at));
    let seen = record.and_then(|record| record.seen.as_ref());
    let case = Case {
        tool,
        evidence,
        record: record.map(|record| &**record),
        earlier: &evidence.rounds[..at.unwrap_or_default()],
        exposures: seen.map_or(evidence.exposures, |seen| &seen.opened),
    };
    let links = case.links();
    let visible = case.is_visible();
    Chain {
        tool: tool.into(),
        round: record.map_or(0, |record| record.round),
        visible,
        remedy: (!visible).then(|| case.remedy(&links)),
        links,
    }
}

/// One question, with the evidence at hand.
struct Case<'a> {
    tool: &'a str,
    evidence: &'a Evidence<'a>,
    record: Option<&'a RoundRecord>,
    earlier: &'a [Arc<RoundRecord>],
    /// As the round saw them.
    exposures: &'a Exposures,
}

impl<'a> Case<'a> {
    fn is_visible(&self) -> bool {
        self.record.is_some_and(|r| r.visible.contains(self.tool))
    }

    /// Whether the round wanted to send it, and as what.
    fn candidate(&self) -> Option<Why> {
        let set = &self.record?.visible;
        let sent = set.sent.iter().find(|sent| sent.name() == self.tool);
        let withheld = set.withheld.iter().find(|w| &*w.name == self.tool);
        sent.map(|sent| sent.why).or(withheld.map(|w| w.why))
    }

    fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        let steps: [&dyn Fn(&mut Vec<Link>); 6] = [
            &|links| links.extend(self.source()),
            &|links| links.push(self.registered()),
            &|links| links.push(self.exposure()),
            &|links| self.found_and_admitted(links),
            &|links| links.extend(self.kept()),
            &|links| links.push(self.budget()),
        ];
        for step in steps {
            step(&mut links);
            let broken = links.iter().position(|l| l.verdict == Verdict::Broken);
            if let Some(broken) = broken {
                links.truncate(broken + 1);
                break;
            }
        }
        links
    }

    /// The server that brought it, or that its name points to.
    fn server(&self) -> Option<&'a ServerStatus> {
        let servers = self.evidence.servers;
        if let Some(owner) = self.evidence.owner {
            let name = owner.server.as_ref()?;
            return servers
                .iter()
                .find(|s| s.name == *name && s.source == owner.source)
                .map(|server| &**server);
        }
        let held = |server: &&Arc<ServerStatus>| holds_back(server, self.tool);
        // The default prefix (rule 8.1); other prefixes cannot be read off a name.
        let named = |server: &&Arc<ServerStatus>| {
            let rest = self.tool.strip_prefix(&*server.name);
            rest.is_some_and(|rest| rest.starts_with("__"))
        };
        let found = servers.iter().find(held);
        found
            .or_else(|| servers.iter().find(named))
            .map(|server| &**server)
    }

    fn source(&self) -> Option<Link> {
        let link = |verdict, fact| Link {
            stage: Stage::Source,
            verdict,
            fact,
        };
        let is_known = self.exposures.get(self.tool).is_some();
        if let Some(server) = self.server() {
            let verdict = match (server.state.is_up(), is_known) {
                (true, _) => Verdict::Ok,
                (false, true) => Verdict::Noted, // it stays registered (rule 8.5)
                (false, false) => Verdict::Broken,
            };
            return Some(link(verdict, Fact::server(server, is_known)));
        }
        let owner = self.evidence.owner?;
        Some(link(Verdict::Ok, Fact::Source(Arc::clone(&owner.source))))
    }

    fn registered(&self) -> Link {
        let (verdict, fact) = match self.exposures.get(self.tool) {
            Some(tool) => (
                Verdict::Ok,
                Fact::Registered {
                    bytes: tool.definition.bytes(),
                    refused: self.refusals().map(|r| r.refused.clone()).collect(),
                },
            ),
            None => (Verdict::Broken, self.absent()),
        };
        Link {
            stage: Stage::Registered,
            verdict,
            fact,
        }
    }

    fn refusals(&self) -> impl Iterator<Item = &'a Refusal> {
        let refusals = self.evidence.refusals;
        refusals.iter().filter(|r| *r.name == *self.tool)
    }

    /// Why the registry of the round did not have it.
    fn absent(&self) -> Fact {
        if self.evidence.exposures.get(self.tool).is_some() {
            return Fact::NotYet;
        }
        let mut servers = self.evidence.servers.iter();
        if let Some(server) = servers.find(|server| holds_back(server, self.tool)) {
            return Fact::HeldBack {
                server: Arc::clone(&server.name),
            };
        }
        let has = |record: &&Arc<RoundRecord>| {
            let seen = record.seen.as_ref();
            seen.is_some_and(|seen| seen.opened.get(self.tool).is_some())
        };
        if let Some(last) = self.earlier.iter().rev().find(has) {
            return Fact::Gone {
                last_round: last.round,
            };
        }
        let mut names: Vec<Arc<str>> = self.evidence.mapped.map(Into::into).into_iter().collect();
        let known = self.exposures.tools().map(|tool| tool.definition.name());
        for name in nearest(self.tool, known) {
            if names.iter().all(|known| **known != *name) {
                names.push(name.into());
            }
        }
        Fact::Unknown { nearest: names }
    }

    fn exposure(&self) -> Link {
        let (mode, decided_by) = match self.exposures.get(self.tool) {
            Some(tool) => (tool.mode, tool.decided_by.clone()),
            None => (Mode::Always, super::DecidedBy::Fixed),
        };
        let required = self
            .record
            .is_some_and(|record| record.required.iter().any(|name| **name == *self.tool));
        let verdict = match (mode, required) {
            (Mode::Hidden, false) => Verdict::Broken,
            _ => Verdict::Ok,
        };
        Link {
            stage: Stage::Exposure,
            verdict,
            fact: Fact::Exposed {
                mode,
                decided_by,
                required,
                dynamic: self.exposures.settings().is_some(),
            },
        }
    }

    /// Whether the pool plays a part: always and required tools need none.
    fn needs_pool(&self) -> bool {
        let searchable = self
            .exposures
            .get(self.tool)
            .is_some_and(|t| t.is_searchable());
        searchable && !matches!(self.candidate(), Some(Why::Always | Why::Required))
    }

    fn found_and_admitted(&self, links: &mut Vec<Link>) {
        if self.needs_pool() {
            let pooled = self.candidate() == Some(Why::Pooled);
            links.extend(self.before().found_and_admitted(pooled));
        }
    }

    fn kept(&self) -> Option<Link> {
        if !self.needs_pool() {
            return None;
        }
        let pooled = self.candidate() == Some(Why::Pooled);
        Some(self.before().kept(pooled))
    }

    fn before(&self) -> Before<'a> {
        Before {
            tool: self.tool,
            earlier: self.earlier,
            record: self.record,
            ranker: self.evidence.ranker,
        }
    }

    fn budget(&self) -> Link {
        let fact = match self.record.filter(|record| record.round > 0) {
            Some(record) => Fact::budget(&record.visible, self.tool),
            None => Fact::NoRound,
        };
        let verdict = match fact {
            Fact::Sent { .. } => Verdict::Ok,
            _ => Verdict::Broken,
        };
        Link {
            stage: Stage::Budget,
            verdict,
            fact,
        }
    }
}

/// Whether the pin file of a server keeps a tool out.
fn holds_back(server: &ServerStatus, tool: &str) -> bool {
    server
        .held
        .iter()
        .any(|held| held.definition.name() == tool)
}

#[cfg(test)]
mod tests;
