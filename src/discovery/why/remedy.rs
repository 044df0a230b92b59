//! The one thing that would make the tool visible, read off the broken link.

use super::{Case, Fact, LeftBy, Link, RefusedBy, Verdict};
use crate::discovery::search::tokens;
use crate::discovery::tool_search::FailedReason;
use crate::discovery::{EvictReason, Why};
use crate::source::ServerState;

/// What helps where a round has touched too much.
const CROWDED: &str = "search again with fewer hits, or raise `discovery.max_tools` or \
    `discovery.max_bytes`: what a round has touched makes no room in it";

impl Case<'_> {
    /// In one sentence.
    pub(super) fn remedy(&self, links: &[Link]) -> String {
        let broken = links.iter().find(|link| link.verdict == Verdict::Broken);
        let Some(broken) = broken else {
            return "begin the next round: it counts from then on".into();
        };
        match &broken.fact {
            Fact::Server { .. } => server(&broken.fact),
            Fact::NotYet => "look at a later round: it is registered now".into(),
            Fact::Gone { .. } => "bring it back: its source does not offer it any more".into(),
            Fact::HeldBack { server } => {
                format!("review its definition and accept it, with `A` on server `{server}`")
            }
            Fact::Unknown { nearest } => match nearest.first() {
                Some(name) => format!("use the name `{name}`, if that is what you mean"),
                None => "add a source that brings it, or check the name on the Tools screen".into(),
            },
            Fact::Exposed { .. } => {
                "require it in the session, or give it another mode under `dynamic.exposures`"
                    .into()
            }
            Fact::Found { .. } => format!("search for `{}`", self.query()),
            Fact::FoundNow(_) | Fact::NextRound => {
                "begin the next round: it is visible then".into()
            }
            Fact::Refused {
                by, bytes, bounds, ..
            } => self.admit(*by, *bytes, *bounds),
            Fact::Left(left) => self.come_back(left),
            Fact::Withheld { .. } => self.make_room(),
            Fact::NoRound => "begin a round of the session".into(),
            _ => "nothing: it is as it should be".into(),
        }
    }

    /// Words that find it: those of its name.
    fn query(&self) -> String {
        let name = self
            .tool
            .split_once("__")
            .map_or(self.tool, |(_, rest)| rest);
        let mut words: Vec<String> = Vec::new();
        tokens(name, &mut |word| words.push(word.to_owned()));
        words.join(" ")
    }

    /// What keeps it out of the visible set.
    fn make_room(&self) -> String {
        let set = self.record.map(|record| &record.visible);
        let withheld = set.and_then(|set| set.withheld.iter().find(|w| &*w.name == self.tool));
        let budget = set.and_then(|set| set.budget).unwrap_or_default();
        let Some(withheld) = withheld else {
            return "raise the bounds of `budget`".into();
        };
        let needed = withheld.needed;
        let bounds = [
            (
                "max_definitions",
                budget.max_definitions,
                needed.max_definitions,
            ),
            ("max_bytes", budget.max_bytes, needed.max_bytes),
        ];
        let short = bounds.iter().filter(|(_, most, needed)| most < needed);
        let raise: Vec<String> = short
            .map(|(key, _, needed)| format!("`budget.{key}` to {needed}"))
            .collect();
        let raise = format!("raise {}", raise.join(" and "));
        match withheld.why {
            Why::Pooled => format!("{raise}, or use it: what was used last goes first"),
            Why::Always | Why::Required => raise,
        }
    }

    /// What keeps it out of the pool.
    fn admit(&self, by: RefusedBy, bytes: Option<usize>, bounds: Option<(usize, usize)>) -> String {
        if by == RefusedBy::Search(FailedReason::LoadFailed) {
            return "search again once its definition can be loaded".into();
        }
        let (Some(bytes), Some((_, most))) = (bytes, bounds) else {
            return CROWDED.into();
        };
        if bytes <= most {
            return CROWDED.into();
        }
        let raise = format!("raise `discovery.max_bytes` to {bytes} or more");
        let visible = self.record.map(|record| &record.visible);
        let Some((set, budget)) = visible.and_then(|set| Some((set, set.budget?))) else {
            return raise;
        };
        // What goes before anything of the pool.
        let sent = set.sent.iter().map(|sent| (sent.why, sent.bytes()));
        let withheld = set.withheld.iter().map(|w| (w.why, w.bytes));
        let first = sent.chain(withheld).filter(|(why, _)| *why != Why::Pooled);
        let needed = bytes + first.map(|(_, bytes)| bytes).sum::<usize>();
        match needed > budget.max_bytes {
            true => format!("{raise}, and `budget.max_bytes` to {needed}"),
            false => raise,
        }
    }

    fn come_back(&self, left: &LeftBy) -> String {
        let query = self.query();
        match left.reason {
            EvictReason::Idle => {
                let asked = self.record.map_or(left.round, |record| record.round);
                let unused = asked.saturating_sub(left.last_used);
                format!(
                    "search for `{query}` again, or raise `discovery.idle_rounds` to {unused} or more"
                )
            }
            EvictReason::Crowded => format!(
                "search for `{query}` again, or raise `discovery.max_tools` or `discovery.max_bytes`"
            ),
            EvictReason::Removed => format!("search for `{query}`: it can be found again"),
        }
    }
}

fn server(fact: &Fact) -> String {
    let Fact::Server {
        name,
        state,
        advice,
        ..
    } = fact
    else {
        return String::new();
    };
    match (state, advice) {
        (ServerState::Disabled, _) => format!("enable server `{name}`"),
        (ServerState::Stopped, _) => format!("start the source of server `{name}` again"),
        (_, Some(advice)) => format!("{advice}; then reconnect `{name}`"),
        (ServerState::Connecting, None) => format!("wait until server `{name}` is ready"),
        (_, None) => format!("repair server `{name}` and reconnect it"),
    }
}
