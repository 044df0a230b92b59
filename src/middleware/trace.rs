//! What each layer did with one call: when it was entered and left, how much of that was waiting,
//! and what it did to the size of the result. One allocation per call, read after the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

use crate::tool::Attempts;

/// Most spans of one call. The chain has eleven layers and a tool; a layer that goes on more than
/// once adds to that. Past the bound nothing more is noted.
const SPANS: usize = 64;

/// What a limit did to a result, in bytes of text and of the JSON of other parts; what marks the cut
/// counts for neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// What stayed.
    pub kept: usize,
    /// What went.
    pub cut: usize,
}

/// The way of one call through one layer, or through the tool behind the last (`tool`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LayerSpan {
    /// The name of the layer, or `tool`.
    pub layer: &'static str,
    /// When it was entered, counted from the beginning of the call.
    pub entered: Duration,
    /// How long it took, everything inside it included.
    pub took: Duration,
    /// How much of that the call waited in a queue of this layer.
    pub waited: Duration,
    /// Whether it gave a result; `false` when the call was given up while it ran.
    pub completed: bool,
    /// What the layer did beside passing the call on.
    pub note: Option<&'static str>,
    /// Bytes of the result as it came from inside; absent when nothing came.
    pub bytes_before: Option<usize>,
    /// Bytes of the result as the layer gave it away; absent when it gave none.
    pub bytes_after: Option<usize>,
    /// What the layer cut of the result, if it did.
    pub cut: Option<Cut>,
}

/// The notes of one call, shared by everybody who deals with it.
#[derive(Debug)]
pub struct Trace {
    begun: Instant,
    reached: AtomicBool,
    spans: Mutex<Vec<Noted>>,
    attempts: Attempts,
}

#[derive(Clone, Copy, Debug)]
struct Noted {
    layer: &'static str,
    entered: Duration,
    /// Absent while the call is inside.
    left: Option<Duration>,
    waited: Duration,
    completed: bool,
    note: Option<&'static str>,
    resized: Option<(usize, usize)>,
    cut: Option<Cut>,
}

impl Trace {
    pub(super) fn new() -> Arc<Self> {
        let begun = Instant::now();
        Arc::new(Self {
            begun,
            reached: AtomicBool::new(false),
            spans: Mutex::new(Vec::with_capacity(super::ORDER.len() + 1)),
            attempts: Attempts::since(begun),
        })
    }

    /// Whether the call got as far as its tool (rule 6.4).
    pub fn reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    pub(super) fn mark_reached(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    /// Where the tool notes its tries, if it makes several.
    pub fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    /// The innermost layer that the call is inside of now, or `tool`; `None` outside of all.
    pub fn inside(&self) -> Option<&'static str> {
        let spans = self.spans.lock();
        let open = spans.iter().rev().find(|noted| noted.left.is_none());
        open.map(|noted| noted.layer)
    }

    pub(super) fn enter(self: &Arc<Self>, layer: &'static str) -> Span {
        let entered = self.begun.elapsed();
        let mut spans = self.spans.lock();
        let index = spans.len();
        if index < SPANS {
            spans.push(Noted {
                layer,
                entered,
                left: None,
                waited: Duration::ZERO,
                completed: false,
                note: None,
                resized: None,
                cut: None,
            });
        }
        Span {
            trace: Arc::clone(self),
            index,
        }
    }

    /// The last span of that name, if the call went through one.
    pub(super) fn passed(self: &Arc<Self>, layer: &str) -> Option<Span> {
        let spans = self.spans.lock();
        let index = spans.iter().rposition(|noted| noted.layer == layer)?;
        Some(Span {
            trace: Arc::clone(self),
            index,
        })
    }

    /// The spans in the order in which they were entered. `bytes` is the size of the result of the
    /// call; what each layer got and gave follows from it.
    pub fn spans(&self, bytes: usize) -> Arc<[LayerSpan]> {
        let now = self.begun.elapsed();
        let mut size = Some(bytes);
        let spans = self.spans.lock();
        let row = |(index, noted): (usize, &Noted)| {
            let after = size.filter(|_| noted.completed);
            // Nothing came from inside when nothing lies there or it was given up.
            let answered = spans.get(index + 1).is_some_and(|inner| inner.completed);
            let before = match noted.resized {
                Some((before, _)) => Some(before),
                None => after.filter(|_| answered),
            };
            size = before;
            LayerSpan {
                layer: noted.layer,
                entered: noted.entered,
                took: noted.left.unwrap_or(now).saturating_sub(noted.entered),
                waited: noted.waited,
                completed: noted.completed,
                note: noted.note,
                bytes_before: before,
                bytes_after: after,
                cut: noted.cut,
            }
        };
        spans.iter().enumerate().map(row).collect()
    }
}

/// Where one layer notes what it does with one call.
#[derive(Clone, Debug)]
pub struct Span {
    trace: Arc<Trace>,
    index: usize,
}

impl Span {
    fn edit(&self, edit: impl FnOnce(&mut Noted)) {
        if let Some(noted) = self.trace.spans.lock().get_mut(self.index) {
            edit(noted);
        }
    }

    /// The call waited that long in a queue of this layer.
    pub fn waited(&self, time: Duration) {
        self.edit(|noted| noted.waited += time);
    }

    /// What the layer did beside passing the call on, in one or two words.
    pub fn note(&self, what: &'static str) {
        self.edit(|noted| noted.note = Some(what));
    }

    /// The layer changed the size of the result. Nobody else needs to say anything.
    pub fn resized(&self, before: usize, after: usize) {
        self.edit(|noted| noted.resized = Some((before, after)));
    }

    /// The layer cut the result.
    pub fn cut(&self, cut: Cut) {
        self.edit(|noted| noted.cut = Some(cut));
    }

    fn leave(&self, completed: bool) {
        let now = self.trace.begun.elapsed();
        self.edit(|noted| {
            noted.left = Some(now);
            noted.completed = completed;
        });
    }
}

/// Closes a span, also when the work inside is dropped or panics.
#[derive(Debug)]
pub(super) struct Entered(Option<Span>);

impl Entered {
    pub(super) fn new(span: Span) -> Self {
        Self(Some(span))
    }

    pub(super) fn complete(&mut self) {
        if let Some(span) = self.0.take() {
            span.leave(true);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            span.leave(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_span_keeps_time_waiting_and_size_of_its_layer() {
        let trace = Trace::new();
        let ms = Duration::from_millis;
        let limit = trace.enter("result_limit");
        let mut outer = Entered::new(limit.clone());
        let queue = trace.enter("concurrency");
        let mut inner = Entered::new(queue.clone());
        tokio::time::advance(ms(3)).await;
        queue.waited(ms(3));
        let mut tool = Entered::new(trace.enter("tool"));
        tokio::time::advance(ms(4)).await;
        tool.complete();
        inner.complete();
        limit.resized(900, 100);
        limit.cut(Cut { kept: 80, cut: 800 });
        limit.note("cut");
        outer.complete();
        let row = |layer, entered, took, waited, bytes: [Option<usize>; 2]| LayerSpan {
            layer,
            entered: ms(entered),
            took: ms(took),
            waited: ms(waited),
            completed: true,
            note: (layer == "result_limit").then_some("cut"),
            bytes_before: bytes[0],
            bytes_after: bytes[1],
            cut: (layer == "result_limit").then_some(Cut { kept: 80, cut: 800 }),
        };
        assert_eq!(
            *trace.spans(100),
            [
                row("result_limit", 0, 7, 0, [Some(900), Some(100)]),
                row("concurrency", 0, 7, 3, [Some(900), Some(900)]),
                row("tool", 3, 4, 0, [None, Some(900)]),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_lies_inside_a_layer_that_gave_up_has_no_size() {
        let trace = Trace::new();
        let mut timeout = Entered::new(trace.enter("timeout"));
        drop(Entered::new(trace.enter("tool")));
        timeout.complete();
        let sizes: Vec<_> = trace
            .spans(40)
            .iter()
            .map(|span| (span.completed, span.bytes_before, span.bytes_after))
            .collect();
        assert_eq!(sizes, [(true, None, Some(40)), (false, None, None)]);
    }

    #[test]
    fn more_spans_than_the_bound_are_not_noted() {
        let trace = Trace::new();
        (0..SPANS + 9).for_each(|_| Entered::new(trace.enter("again")).complete());
        assert_eq!(trace.spans(0).len(), SPANS);
    }
}
