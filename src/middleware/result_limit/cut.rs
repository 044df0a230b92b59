//! The cut itself: which parts stay, where the text ends, where the marker goes (rules 9.4, 9.5).

use crate::tool::Part;

/// What a result may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds<'b> {
    /// Most Unicode scalar values of all text parts together, the marker included.
    pub(super) max: Option<usize>,
    /// What says that something was cut.
    pub(super) marker: &'b str,
    /// What the JSON of all other parts may take together.
    pub(super) part_budget: Option<usize>,
}

/// A result within its bounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limited {
    pub(super) parts: Vec<Part>,
    /// What stayed: bytes of text, without the marker, and of the JSON of other parts.
    pub(super) kept_bytes: usize,
    /// What was cut, counted likewise.
    pub(super) cut_bytes: usize,
    /// The size of the JSON of all parts before and after, if anything was cut.
    pub(super) resized: Option<(usize, usize)>,
}

/// Brings the parts within the bounds. Parts that fit come back as they are. `at_cut` is told of the
/// text part in which the text ends and of the byte behind the last that is kept.
pub(super) fn limit(parts: Vec<Part>, bounds: Bounds<'_>, at_cut: &dyn Fn(&str, usize)) -> Limited {
    let (dropped, dropped_bytes, others_bytes) = over_budget(&parts, bounds.part_budget);
    let text_bytes: usize = texts(&parts).map(str::len).sum();
    // A scalar value has at least one byte, so that most texts need not be counted.
    let chars = |max: usize| match text_bytes <= max && dropped.is_empty() {
        true => None,
        false => Some(
            texts(&parts)
                .map(|text| text.chars().count())
                .sum::<usize>(),
        ),
    };
    let total = bounds.max.and_then(chars).unwrap_or(0);
    let text_is_over = bounds.max.is_some_and(|max| total > max);
    if !text_is_over && dropped.is_empty() {
        return Limited {
            kept_bytes: text_bytes + others_bytes,
            cut_bytes: 0,
            resized: None,
            parts,
        };
    }
    let before = encoded(&parts);
    let marker = match bounds.max {
        Some(max) => head(bounds.marker, max),
        None => bounds.marker,
    };
    let marker_chars = marker.chars().count();
    // How much text may stay; `None` for all of it, when there is room for the marker beside it.
    let room = bounds
        .max
        .filter(|max| total + marker_chars > *max)
        .map(|max| max - marker_chars);
    let mut out = Out {
        parts: Vec::with_capacity(parts.len() + 1),
        room,
        marker: text_is_over.then_some(marker),
        text_bytes: 0,
        passed: false,
        at_cut,
    };
    for (index, part) in parts.into_iter().enumerate() {
        match part {
            Part::Text(text) => out.text(text),
            _ if dropped.contains(&index) => {}
            other => out.parts.push(other),
        }
    }
    if !text_is_over && !marker.is_empty() {
        out.parts.push(Part::Text(marker.to_owned()));
    }
    if out.parts.is_empty() {
        out.parts.push(Part::Text(String::new()));
    }
    Limited {
        kept_bytes: out.text_bytes + others_bytes,
        cut_bytes: text_bytes - out.text_bytes + dropped_bytes,
        resized: Some((before, encoded(&out.parts))),
        parts: out.parts,
    }
}

/// The result as far as it has been put together.
struct Out<'m> {
    parts: Vec<Part>,
    /// How many scalar values of text may still be kept.
    room: Option<usize>,
    /// Ends the text part in which the count is passed; absent when it goes to the end instead.
    marker: Option<&'m str>,
    text_bytes: usize,
    /// Whether the count has been passed: later text is dropped.
    passed: bool,
    at_cut: &'m dyn Fn(&str, usize),
}

impl Out<'_> {
    fn text(&mut self, mut text: String) {
        if self.passed {
            return;
        }
        if let Some(room) = self.room {
            let kept = head(&text, room);
            self.passed = kept.len() < text.len();
            self.room = Some(room - kept.chars().count());
            if self.passed {
                (self.at_cut)(&text, kept.len());
            }
            text.truncate(kept.len());
        }
        self.text_bytes += text.len();
        if self.passed {
            text.push_str(self.marker.unwrap_or_default());
            // The cut may leave nothing of a part; a part that came empty stays.
            if text.is_empty() {
                return;
            }
        }
        self.parts.push(Part::Text(text));
    }
}

/// The places of the parts that do not fit, their bytes, and the bytes of those that do.
fn over_budget(parts: &[Part], budget: Option<usize>) -> (Vec<usize>, usize, usize) {
    let mut left = budget.unwrap_or(usize::MAX);
    let (mut dropped, mut dropped_bytes, mut kept_bytes) = (Vec::new(), 0, 0);
    for (index, part) in parts.iter().enumerate() {
        if matches!(part, Part::Text(_)) {
            continue;
        }
        let bytes = part.encoded_len();
        if bytes <= left {
            left -= bytes;
            kept_bytes += bytes;
        } else {
            dropped.push(index);
            dropped_bytes += bytes;
        }
    }
    (dropped, dropped_bytes, kept_bytes)
}

fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

fn encoded(parts: &[Part]) -> usize {
    parts.iter().map(Part::encoded_len).sum()
}

/// The first `count` scalar values.
fn head(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
