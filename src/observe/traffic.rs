//! The newest messages of all servers, bounded in number and bytes, and published without being
//! copied: full pages are shared with the snapshots, and only the page that is being written is
//! taken along anew.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

use super::Hub;
use crate::source::mcp::{Direction, Frame, FrameKind, FrameSink};

/// How many messages a page holds; a publication takes along at most so many handles.
const PAGE: usize = 256;

/// How many pages are kept; the oldest goes first, as a whole.
const PAGES: usize = 40;

/// How many bytes of text are kept over all pages; beyond that the oldest page goes.
const BYTES: usize = 16 * 1024 * 1024;

/// How many requests may wait for their answers. When there are more, all of them are forgotten,
/// and their answers stand without a latency.
const OPEN: usize = 4_096;

/// A message with its number and what it answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficFrame {
    /// Counts all messages from 0 on, those that were dropped too.
    pub number: u64,
    /// The message; the answer to a request bears the request's method and tool.
    #[serde(flatten)]
    pub frame: Frame,
    /// The number of the request that it answers.
    pub answers: Option<u64>,
    /// The time between the request and this answer.
    pub latency: Option<Duration>,
}

/// Messages, the oldest first.
pub type TrafficPage = Arc<[Arc<TrafficFrame>]>;

/// The traffic as a snapshot shows it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrafficRows {
    /// The pages, the oldest first. Those that did not change are shared between versions.
    pub pages: Arc<[TrafficPage]>,
    /// How many messages there were before the first one.
    pub dropped: u64,
}

impl TrafficRows {
    /// The messages, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<TrafficFrame>> {
        self.pages.iter().flat_map(|page| page.iter())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pages.iter().map(|page| page.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The message of that number, if it is still there.
    pub fn get(&self, number: u64) -> Option<&Arc<TrafficFrame>> {
        let first = |page: &TrafficPage| page.first().map_or(0, |frame| frame.number);
        let at = self.pages.partition_point(|page| first(page) <= number);
        let page = self.pages.get(at.checked_sub(1)?)?;
        let place = usize::try_from(number - first(page)).ok()?;
        page.get(place)
    }

    /// The number that the next message will have.
    pub fn next_number(&self) -> u64 {
        let last = self.pages.last().and_then(|page| page.last());
        last.map_or(self.dropped, |frame| frame.number + 1)
    }
}

/// Keeps what passes the taps. Writing never waits for a reader.
pub struct Traffic {
    state: Mutex<State>,
    hub: Arc<Hub>,
}

#[derive(Default)]
struct State {
    full: VecDeque<Full>,
    page: Vec<Arc<TrafficFrame>>,
    page_bytes: usize,
    full_bytes: usize,
    next: u64,
    dropped: u64,
    open: HashMap<Question, Asked>,
    /// What was published last, and up to which number.
    shown: TrafficRows,
}

struct Full {
    frames: TrafficPage,
    bytes: usize,
}

/// What an answer has in common with its request.
#[derive(Hash, PartialEq, Eq)]
struct Question {
    source: Arc<str>,
    server: Arc<str>,
    epoch: u64,
    /// The way of the request.
    direction: Direction,
    id: Arc<str>,
}

struct Asked {
    number: u64,
    at: Instant,
    method: Option<Arc<str>>,
    tool: Option<Arc<str>>,
}

impl Traffic {
    /// Nothing yet. The hub is told that there is something to publish.
    pub fn new(hub: Arc<Hub>) -> Self {
        Self {
            state: Mutex::default(),
            hub,
        }
    }

    /// What is kept now.
    pub fn rows(&self) -> TrafficRows {
        self.state.lock().rows()
    }
}

impl FrameSink for Traffic {
    fn frame(&self, frame: Frame) {
        self.state.lock().push(frame);
        self.hub.touch();
    }
}

impl State {
    fn push(&mut self, mut frame: Frame) {
        let number = self.next;
        self.next += 1;
        let asked = self.pair(number, &frame);
        let (mut answers, mut latency) = (None, None);
        if let Some(asked) = asked {
            answers = Some(asked.number);
            latency = Some(frame.at.at.saturating_duration_since(asked.at));
            frame.method = asked.method;
            frame.tool = asked.tool;
        }
        self.page_bytes += frame.text.len();
        self.page.push(Arc::new(TrafficFrame {
            number,
            frame,
            answers,
            latency,
        }));
        // A page of long messages is closed early, so that one page is never most of what is kept.
        if self.page.len() == PAGE || self.page_bytes > BYTES / 16 {
            let bytes = std::mem::take(&mut self.page_bytes);
            self.full_bytes += bytes;
            self.full.push_back(Full {
                frames: std::mem::take(&mut self.page).into(),
                bytes,
            });
        }
        while self.full.len() > PAGES || self.full_bytes + self.page_bytes > BYTES {
            let Some(oldest) = self.full.pop_front() else {
                break;
            };
            self.full_bytes -= oldest.bytes;
            self.dropped += oldest.frames.len() as u64;
        }
    }

    /// Remembers a request, or finds the one that is answered.
    fn pair(&mut self, number: u64, frame: &Frame) -> Option<Asked> {
        let id = frame.id.clone()?;
        let answered = match frame.direction {
            Direction::ToServer => Direction::FromServer,
            Direction::FromServer => Direction::ToServer,
        };
        let question = |direction| Question {
            source: Arc::clone(&frame.source),
            server: Arc::clone(&frame.server),
            epoch: frame.epoch,
            direction,
            id,
        };
        match frame.kind {
            FrameKind::Request => {
                if self.open.len() == OPEN {
                    self.open.clear();
                }
                let asked = Asked {
                    number,
                    at: frame.at.at,
                    method: frame.method.clone(),
                    tool: frame.tool.clone(),
                };
                self.open.insert(question(frame.direction), asked);
                None
            }
            FrameKind::Answer | FrameKind::Error => self.open.remove(&question(answered)),
            _ => None,
        }
    }

    fn rows(&mut self) -> TrafficRows {
        if self.shown.next_number() != self.next || self.shown.dropped != self.dropped {
            let full = self.full.iter().map(|full| Arc::clone(&full.frames));
            let open = (!self.page.is_empty()).then(|| self.page.iter().cloned().collect());
            self.shown = TrafficRows {
                pages: full.chain(open).collect(),
                dropped: self.dropped,
            };
        }
        self.shown.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stamp;

    fn frame(direction: Direction, kind: FrameKind, id: Option<&str>, text: &str) -> Frame {
        Frame {
            source: "s".into(),
            server: "x".into(),
            epoch: 1,
            direction,
            kind,
            method: (kind == FrameKind::Request).then(|| "tools/call".into()),
            id: id.map(Into::into),
            tool: (kind == FrameKind::Request).then(|| "x__t".into()),
            status: None,
            at: Stamp::now(),
            bytes: text.len(),
            text: text.into(),
        }
    }

    fn ask(id: &str) -> Frame {
        frame(Direction::ToServer, FrameKind::Request, Some(id), "{}")
    }

    fn answer(id: &str) -> Frame {
        frame(Direction::FromServer, FrameKind::Answer, Some(id), "{}")
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_finds_its_request_and_takes_its_name_and_the_time_between_them() {
        let mut state = State::default();
        state.push(ask("1"));
        state.push(ask("2"));
        tokio::time::advance(Duration::from_millis(30)).await;
        state.push(answer("1"));
        // The same id the other way round is another question.
        state.push(frame(
            Direction::FromServer,
            FrameKind::Request,
            Some("2"),
            "{}",
        ));
        state.push(answer("2"));
        state.push(answer("2"));
        let rows = state.rows();
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.answers, row.latency.map(|took| took.as_millis())))
            .collect();
        assert_eq!(
            told,
            [
                (None, None),
                (None, None),
                (Some(0), Some(30)),
                (None, None),
                (Some(1), Some(30)),
                (None, None),
            ]
        );
        let first = rows.get(2).unwrap();
        assert_eq!(first.frame.tool.as_deref(), Some("x__t"));
    }

    #[test]
    fn another_connection_answers_no_request_of_an_older_one() {
        let mut state = State::default();
        state.push(ask("1"));
        state.push(Frame {
            epoch: 2,
            ..answer("1")
        });
        assert_eq!(state.rows().get(1).unwrap().answers, None);
    }

    #[test]
    fn a_flood_keeps_the_newest_and_counts_the_rest() {
        let mut state = State::default();
        for number in 0..50_000_u64 {
            state.push(ask(&number.to_string()));
        }
        let rows = state.rows();
        assert!(rows.len() <= (PAGES + 1) * PAGE && rows.len() > (PAGES - 1) * PAGE);
        assert_eq!(rows.dropped + rows.len() as u64, 50_000);
        assert_eq!(rows.next_number(), 50_000);
        assert!(state.open.len() <= OPEN);
        let numbers: Vec<u64> = rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, (rows.dropped..50_000).collect::<Vec<_>>());
        assert_eq!(rows.get(49_999).unwrap().number, 49_999);
        assert_eq!(rows.get(rows.dropped).unwrap().number, rows.dropped);
        assert!(rows.get(rows.dropped - 1).is_none() && rows.get(50_000).is_none());
    }

    #[test]
    fn long_messages_are_bounded_by_their_bytes() {
        let mut state = State::default();
        let long = "x".repeat(60 * 1024);
        for _ in 0..2_000 {
            let kind = FrameKind::Notification;
            state.push(frame(Direction::FromServer, kind, None, &long));
        }
        let bytes: usize = state.rows().iter().map(|row| row.frame.text.len()).sum();
        assert!(bytes <= BYTES && bytes > BYTES / 2, "{bytes}");
    }

    #[test]
    fn a_publication_shares_the_full_pages_and_nothing_new_costs_nothing() {
        let mut state = State::default();
        for number in 0..600 {
            state.push(ask(&number.to_string()));
        }
        let first = state.rows();
        assert!(Arc::ptr_eq(&first.pages, &state.rows().pages));
        state.push(ask("one more"));
        let second = state.rows();
        assert_eq!(first.pages.len(), 3);
        assert!(Arc::ptr_eq(&first.pages[0], &second.pages[0]));
        assert!(Arc::ptr_eq(&first.pages[1], &second.pages[1]));
        assert_eq!(second.pages[2].len(), first.pages[2].len() + 1);
    }
}
