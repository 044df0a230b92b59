//! What a link of the chain knows, as data, and the same in words.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::discovery::session::Cause;
use crate::discovery::tool_search::FailedReason;
use crate::discovery::{DecidedBy, EvictReason, Mode, VisibleSet, Why, WithheldReason};
use crate::registry::Owner;
use crate::source::{ServerState, ServerStatus};

/// A search or a call that brought the tool up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum FoundBy {
    /// A search, at this place of its hits, from 1.
    Search {
        /// When.
        round: u32,
        /// What was asked.
        query: Arc<str>,
        /// The place.
        place: usize,
    },
    /// A call that reached it.
    Call {
        /// When.
        round: u32,
    },
    /// A call of it while it was not exposed (rule 11.4).
    Recovery {
        /// When.
        round: u32,
    },
}

/// A search that did not find the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissedBy {
    /// When.
    pub round: u32,
    /// What was asked.
    pub query: Arc<str>,
    /// How many hits it listed.
    pub hits: usize,
    /// Where the tool would have come, from 1, as it is ranked now; `None` when no word of the
    /// query matches it, or nobody can rank.
    pub place: Option<usize>,
}

/// Why the pool did not take the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RefusedBy {
    /// A reason that the search told.
    Search(FailedReason),
    /// A call reached it, and the pool had no room.
    Call,
}

/// The admission that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When it came in, as far back as is kept.
    pub admitted: Option<u32>,
    /// When it was last found or called.
    pub last_used: u32,
    /// Its rank then, from 0.
    pub rank: u32,
}

/// When and why the tool left the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftBy {
    /// When.
    pub round: u32,
    /// The reason.
    pub reason: EvictReason,
    /// Because of whom.
    pub cause: Cause,
    /// When it was last used before.
    pub last_used: u32,
}

/// What is known at one link.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// The server that brings it.
    Server {
        /// Its name.
        name: Arc<str>,
        /// Its state.
        state: ServerState,
        /// The newest failure, while it is not up.
        error: Option<String>,
        /// What can be done about that.
        advice: Option<String>,
        /// Whether the tool is registered all the same.
        registered: bool,
    },
    /// A source without servers.
    Source(Arc<str>),
    /// The registry has it.
    Registered {
        /// The size of its definition.
        bytes: usize,
        /// Others that offer the same name and were refused.
        refused: Vec<Owner>,
    },
    /// It came after the round.
    NotYet,
    /// It was there up to a round, and is gone.
    Gone {
        /// The last round that saw it.
        last_round: u32,
    },
    /// The pin file of its server keeps it out.
    HeldBack {
        /// The server.
        server: Arc<str>,
    },
    /// Nobody knows it.
    Unknown {
        /// Names that are near.
        nearest: Vec<Arc<str>>,
    },
    /// Its mode.
    Exposed {
        /// The mode.
        mode: Mode,
        /// What decided it.
        decided_by: DecidedBy,
        /// Whether the session requires it.
        required: bool,
        /// Whether dynamic injection is on at all.
        dynamic: bool,
    },
    /// What brought it up, the newest first, and what did not.
    Found {
        /// Searches and calls that did; at most three are listed.
        by: Vec<FoundBy>,
        /// Searches that did not, of those after; at most three are listed.
        missed: Vec<MissedBy>,
        /// How many searches there were in all.
        searches: usize,
        /// The oldest round that is kept: what came before it is not known.
        since: u32,
    },
    /// Found in this very round: visible from the next on.
    FoundNow(FoundBy),
    /// In the pool.
    Admitted(Entry),
    /// The pool did not take it.
    Refused {
        /// When.
        round: u32,
        /// Why.
        by: RefusedBy,
        /// Its size, where the search told.
        bytes: Option<usize>,
        /// The bounds of the pool then: tools and bytes.
        bounds: Option<(usize, usize)>,
    },
    /// It is still in the pool.
    Kept {
        /// After how many further rounds without use it leaves.
        rounds_left: Option<u32>,
    },
    /// It left the pool.
    Left(LeftBy),
    /// The round sends it.
    Sent {
        /// Its place in what is sent, from 1.
        place: usize,
        /// Why it was a candidate.
        why: Why,
        /// Its size.
        bytes: usize,
        /// All bytes of the round, and the bound.
        used: (usize, Option<usize>),
    },
    /// The budget had no room.
    Withheld {
        /// Which bound.
        reason: WithheldReason,
        /// Why it was a candidate.
        why: Why,
        /// Its size.
        bytes: usize,
        /// How many bytes were missing; 0 when only definitions were.
        missing_bytes: usize,
        /// Most definitions and bytes.
        budget: (usize, usize),
    },
    /// It is no candidate although nothing speaks against it: required or exposed after the set was
    /// computed.
    NextRound,
    /// The session has not begun a round.
    NoRound,
}

impl Fact {
    pub(super) fn server(server: &ServerStatus, registered: bool) -> Self {
        let failure = server.last_error.as_ref().filter(|_| !server.state.is_up());
        Self::Server {
            name: Arc::clone(&server.name),
            state: server.state,
            error: failure.map(|failure| failure.message.clone()),
            advice: failure.and_then(|failure| failure.advice.clone()),
            registered,
        }
    }

    /// How it stands with the budget of a round.
    pub(super) fn budget(set: &VisibleSet, tool: &str) -> Self {
        if let Some(place) = set.sent.iter().position(|sent| sent.name() == tool) {
            let sent = &set.sent[place];
            return Self::Sent {
                place: place + 1,
                why: sent.why,
                bytes: sent.bytes(),
                used: (set.bytes, set.budget.map(|budget| budget.max_bytes)),
            };
        }
        match set.withheld.iter().find(|w| &*w.name == tool) {
            Some(withheld) => Self::Withheld {
                reason: withheld.reason,
                why: withheld.why,
                bytes: withheld.bytes,
                missing_bytes: withheld.missing_bytes,
                budget: set
                    .budget
                    .map_or((0, 0), |b| (b.max_definitions, b.max_bytes)),
            },
            None => Self::NextRound,
        }
    }
}

impl fmt::Display for FoundBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Search {
                round,
                query,
                place,
            } => write!(f, "search `{query}` in round {round}, place {place}"),
            Self::Call { round } => write!(f, "a call in round {round}"),
            Self::Recovery { round } => {
                write!(f, "a call in round {round} that found it not exposed")
            }
        }
    }
}

impl fmt::Display for MissedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in round {} did not", self.query, self.round)?;
        match self.place {
            Some(place) if place > self.hits => {
                write!(f, ": place {place}, and it listed {}", self.hits)
            }
            Some(place) => write!(f, ", but would now, at place {place}"),
            None => Ok(()),
        }
    }
}

fn mode_by(mode: Mode, by: &DecidedBy) -> String {
    let mode = mode.as_str();
    match by {
        DecidedBy::Fixed => format!("{mode}, fixed"),
        DecidedBy::Entry(pattern) => format!("{mode}, by the entry `{pattern}`"),
        DecidedBy::Default => format!("{mode}, by `dynamic.default`"),
    }
}

/// `a; b; c`, or nothing.
fn joined<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join("; ")
}

fn left(f: &mut fmt::Formatter<'_>, left: &LeftBy) -> fmt::Result {
    let LeftBy {
        round, last_used, ..
    } = left;
    match (&left.reason, &left.cause) {
        (EvictReason::Idle, _) => write!(
            f,
            "left at the start of round {round}: idle since round {last_used}"
        ),
        (EvictReason::Removed, _) => write!(
            f,
            "left in round {round}: its tool was removed, or became always or hidden"
        ),
        (EvictReason::Crowded, Cause::Search { query, hit }) => {
            write!(
                f,
                "left in round {round} to make room for `{hit}`, found by `{query}`"
            )
        }
        (EvictReason::Crowded, Cause::Call { tool }) => {
            write!(
                f,
                "left in round {round} to make room for `{tool}`, which was called"
            )
        }
        (EvictReason::Crowded, Cause::Recovery { tool }) => {
            write!(
                f,
                "left in round {round} to make room for `{tool}`, which was exposed"
            )
        }
        (EvictReason::Crowded, _) => write!(
            f,
            "left in round {round}: the pool had to be fitted to smaller bounds or larger tools"
        ),
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server {
                name,
                state,
                error,
                registered,
                ..
            } => {
                write!(f, "server `{name}` is {state}")?;
                if let Some(error) = error {
                    write!(f, ": {error}")?;
                }
                match !state.is_up() && *registered {
                    true => f.write_str("; its tools stay registered, calls are not available"),
                    false => Ok(()),
                }
            }
            Self::Source(name) => write!(f, "source `{name}`, which has no servers"),
            Self::Registered { bytes, refused } => {
                write!(f, "registered, {bytes} bytes")?;
                match refused.as_slice() {
                    [] => Ok(()),
                    owners => write!(f, "; the same name of {} is refused", joined(owners)),
                }
            }
            Self::NotYet => f.write_str("registered only after this round"),
            Self::Gone { last_round } => {
                write!(
                    f,
                    "not registered any more; round {last_round} was the last to see it"
                )
            }
            Self::HeldBack { server } => write!(
                f,
                "held back by the pin file of `{server}`: its definition is not accepted"
            ),
            Self::Unknown { nearest } => {
                f.write_str("no tool has this name")?;
                match nearest.as_slice() {
                    [] => Ok(()),
                    names => write!(f, "; the nearest are `{}`", names.join("`, `")),
                }
            }
            Self::Exposed { dynamic: false, .. } => f.write_str("always: dynamic injection is off"),
            Self::Exposed {
                mode,
                decided_by,
                required,
                ..
            } => {
                f.write_str(&mode_by(*mode, decided_by))?;
                match (mode, required) {
                    (Mode::Always, _) => Ok(()),
                    (_, true) => f.write_str("; required by the session"),
                    (Mode::Hidden, false) => f.write_str("; the session does not require it"),
                    _ => Ok(()),
                }
            }
            Self::Found {
                by,
                missed,
                searches,
                since,
            } => {
                let kept = match since {
                    0 | 1 => String::new(),
                    since => format!(" in the rounds that are kept, from {since} on"),
                };
                match (by.as_slice(), missed.as_slice()) {
                    ([], []) if *searches == 0 => {
                        write!(f, "nobody has searched or called it{kept}")
                    }
                    ([], missed) => {
                        let missed = joined(missed);
                        write!(f, "no search of {searches} found it{kept}: {missed}")
                    }
                    (by, _) => write!(f, "found by {}", joined(by)),
                }
            }
            Self::FoundNow(by) => write!(f, "found by {by}: visible from the next round on"),
            Self::Admitted(entry) => {
                match entry.admitted {
                    Some(round) => write!(f, "in the pool since round {round}")?,
                    None => f.write_str("in the pool since before the rounds that are kept")?,
                }
                write!(
                    f,
                    ", last used in round {} at rank {}",
                    entry.last_used, entry.rank
                )
            }
            Self::Refused {
                round,
                by,
                bytes,
                bounds,
            } => refused(f, *round, *by, *bytes, *bounds),
            Self::Kept { rounds_left } => match rounds_left {
                Some(0) => f.write_str("still there, leaves with the next round unless it is used"),
                Some(left) => write!(
                    f,
                    "still there, idle in {left} more rounds unless it is used"
                ),
                None => f.write_str("still there"),
            },
            Self::Left(by) => left(f, by),
            Self::Sent {
                place,
                why,
                bytes,
                used: (used, most),
            } => {
                write!(
                    f,
                    "sent at place {place} as {}, {bytes} bytes",
                    why.as_str()
                )?;
                match most {
                    Some(most) => write!(f, "; the round sends {used} of {most}"),
                    None => write!(f, "; the round sends {used}"),
                }
            }
            Self::Withheld {
                reason,
                why,
                bytes,
                missing_bytes,
                budget: (definitions, most),
            } => {
                let why = why.as_str();
                match reason {
                    WithheldReason::Definitions => write!(
                        f,
                        "withheld ({why}): the round has its {definitions} definitions already"
                    )?,
                    WithheldReason::Bytes => {
                        write!(f, "withheld ({why}): {bytes} bytes do not fit in {most}")?;
                    }
                }
                match missing_bytes {
                    0 => Ok(()),
                    missing => write!(f, ", {missing} are missing"),
                }
            }
            Self::NextRound => f.write_str("counts from the next round on"),
            Self::NoRound => f.write_str("the session has not begun a round yet"),
        }
    }
}

fn refused(
    f: &mut fmt::Formatter<'_>,
    round: u32,
    by: RefusedBy,
    bytes: Option<usize>,
    bounds: Option<(usize, usize)>,
) -> fmt::Result {
    match by {
        RefusedBy::Search(reason) => write!(f, "failed in round {round}: {}", reason.as_str())?,
        RefusedBy::Call => write!(f, "called in round {round}, but over_budget for the pool")?,
    }
    match (by, bytes, bounds) {
        (RefusedBy::Search(FailedReason::LoadFailed), ..) => {
            f.write_str(", its definition could not be loaded")
        }
        (_, Some(bytes), Some((tools, most))) => {
            write!(
                f,
                ", {bytes} bytes; the pool holds {tools} tools and {most} bytes"
            )
        }
        (_, None, Some((tools, most))) => {
            write!(f, "; the pool holds {tools} tools and {most} bytes")
        }
        _ => Ok(()),
    }
}
