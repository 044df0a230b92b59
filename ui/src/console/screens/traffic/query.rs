//! What `/` filters frames by: `server:`, `method:`, `status:`, `tool:`, `dir:`, and free words.
//! All of it has to hold. Pure.

use toolcrib::observe::TrafficFrame;
use toolcrib::source::mcp::{Direction, FrameKind};

/// A filter, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Server(String),
    Method(String),
    Tool(String),
    Status(String),
    Direction(Option<Direction>),
    Words(String),
}

impl Query {
    /// Reads what was typed. A key without a value, as it stands there while somebody types, asks
    /// for nothing.
    pub(super) fn read(text: &str) -> Self {
        let term = |word: &str| {
            let word = word.to_lowercase();
            let Some((key, value)) = word.split_once(':') else {
                return Some(Term::Words(word));
            };
            let make: fn(String) -> Term = match key {
                "server" => Term::Server,
                "method" => Term::Method,
                "tool" => Term::Tool,
                "status" => Term::Status,
                "dir" => |value| Term::Direction(direction(&value)),
                _ => return Some(Term::Words(word)),
            };
            (!value.is_empty()).then(|| make(value.to_owned()))
        };
        Self(text.split_whitespace().filter_map(term).collect())
    }

    /// Whether everything is shown.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the frame is asked for.
    pub(super) fn wants(&self, row: &TrafficFrame) -> bool {
        let frame = &row.frame;
        let holds = |name: &Option<std::sync::Arc<str>>, wanted: &str| {
            name.as_deref().is_some_and(|name| contains(name, wanted))
        };
        self.0.iter().all(|term| match term {
            Term::Server(wanted) => is_server(&frame.source, &frame.server, wanted),
            Term::Method(wanted) => holds(&frame.method, wanted),
            Term::Tool(wanted) => holds(&frame.tool, wanted),
            Term::Status(wanted) => has_status(row, wanted),
            Term::Direction(wanted) => *wanted == Some(frame.direction),
            Term::Words(wanted) => {
                contains(&frame.text, wanted)
                    || holds(&frame.method, wanted)
                    || holds(&frame.tool, wanted)
                    || contains(&frame.server, wanted)
            }
        })
    }

    /// Whether a line of a server's log is asked for: keys that only frames have ask for none.
    pub(super) fn wants_line(&self, source: &str, server: &str, text: &str) -> bool {
        self.0.iter().all(|term| match term {
            Term::Server(wanted) => is_server(source, server, wanted),
            Term::Words(wanted) => contains(text, wanted) || contains(server, wanted),
            _ => false,
        })
    }
}

fn is_server(source: &str, server: &str, wanted: &str) -> bool {
    contains(server, wanted) || contains(&format!("{source}/{server}"), wanted)
}

fn direction(value: &str) -> Option<Direction> {
    match value {
        "in" | "from" | "<-" | "←" | "from_server" => Some(Direction::FromServer),
        "out" | "to" | "->" | "→" | "to_server" => Some(Direction::ToServer),
        _ => None,
    }
}

/// `ok`, `error`, a kind of frame, or a status of HTTP such as `401` or `4xx`.
fn has_status(row: &TrafficFrame, wanted: &str) -> bool {
    let frame = &row.frame;
    let refused = frame.status.is_some_and(|status| status >= 400);
    match wanted {
        "ok" => {
            !refused
                && (frame.kind == FrameKind::Answer
                    || (frame.kind == FrameKind::Status && frame.status.is_some()))
        }
        "error" => refused || frame.kind == FrameKind::Error,
        kind if kind == frame.kind.as_str() => true,
        number => frame.status.is_some_and(|status| {
            let status = status.to_string();
            let same = |(wanted, has): (char, char)| wanted == 'x' || wanted == has;
            number.len() == status.len() && std::iter::zip(number.chars(), status.chars()).all(same)
        }),
    }
}

/// Whether the text holds the words, which are in lower case already. Nothing is copied: frames
/// are long and many.
fn contains(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let Some(first) = wanted.first() else {
        return true;
    };
    let Some(last) = text.len().checked_sub(wanted.len()) else {
        return false;
    };
    (0..=last).any(|at| {
        text[at].eq_ignore_ascii_case(first)
            && text[at..at + wanted.len()].eq_ignore_ascii_case(wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::fixture::traffic;

    #[test]
    fn each_key_asks_for_its_own_part_and_all_of_it_has_to_hold() {
        let rows = traffic();
        let numbers = |text: &str| -> Vec<u64> {
            let query = Query::read(text);
            let wanted = rows.iter().filter(|row| query.wants(row));
            wanted.map(|row| row.number).collect()
        };
        let all: Vec<u64> = (0..9).collect();
        let table: [(&str, &[u64]); 17] = [
            ("", &all),
            ("server:web", &[4, 5, 6]),
            ("server:files/files", &[0, 1, 2, 3, 7, 8]),
            ("method:tools/call", &[2, 3]),
            ("tool:READ", &[2, 3]),
            ("dir:out", &[0, 2, 4]),
            ("dir:in server:web", &[5, 6]),
            ("dir:sideways", &[]),
            ("dir:", &all),
            ("status:error", &[6, 8]),
            ("status:ok", &[1, 3, 5]),
            ("status:4xx", &[6]),
            ("status:202", &[5]),
            ("status:stray", &[7]),
            ("status:notification", &[4]),
            ("readme", &[2]),
            ("nothing like it", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(numbers(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_of_logs_are_chosen_by_server_and_words_alone() {
        let wants = |text: &str| Query::read(text).wants_line("s", "clock", "Cannot open zone.tab");
        assert!(wants("") && wants("server:clo zone") && wants("cannot"));
        assert!(!wants("server:web") && !wants("tool:clock") && !wants("absent"));
    }
}
