//! YAML into a tree, event by event, under a budget.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use super::braces::Braces;
use super::node::{Data, Entry, Node, Style, Text};
use super::scalar::resolve;
use super::{Budget, SyntaxError};
use crate::deployment::Place;

/// How many backslashes that strict YAML refuses are taken as they are; past that the text is
/// refused like any other.
const MOST_ESCAPES: usize = 200;

/// The tree of a text. With `templates` (skills) a backslash in double quotes that starts no
/// escape, as in `"\d+"`, is taken as it is, and its place is added to `escapes`.
pub(super) fn parse(
    text: &str,
    templates: bool,
    budget: Budget,
    escapes: &mut Vec<Place>,
) -> Result<Option<Node>, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let braces = Braces::of(text);
    let mut swapped = match braces {
        Some(braces) => braces.swap(text, templates),
        None => Cow::Borrowed(text),
    };
    loop {
        let refused = match parse_swapped(&swapped, braces, budget) {
            Err(Refused::Escape(at)) if templates && escapes.len() < MOST_ESCAPES => at,
            Err(Refused::Escape(at)) => return Err(unknown_escape(place(at))),
            Err(Refused::Text(error)) => return Err(error),
            Ok(root) => return Ok(root),
        };
        let wrong = wrong_escape(&swapped, refused);
        match (braces, wrong) {
            (Some(braces), Some((at, wrong))) => {
                escapes.push(wrong);
                swapped = Cow::Owned(braces.keep_backslash(&swapped, at));
            }
            _ => return Err(unknown_escape(place(refused))),
        }
    }
}

/// The first backslash that starts no escape (YAML 1.2.2, 5.7) in the double-quoted scalar that
/// starts at `quote`: its byte and its place.
fn wrong_escape(text: &str, quote: Marker) -> Option<(usize, Place)> {
    const ESCAPES: &str = "0abt\tnvfre \"/\\N_LPxuU\n\r";
    let mut at = place(quote);
    let mut chars = text.char_indices().skip(quote.index() + 1).peekable();
    at.column += 1;
    while let Some((byte, c)) = chars.next() {
        match c {
            '"' => return None,
            '\n' => (at.line, at.column) = (at.line + 1, 0),
            '\\' => {
                let (_, next) = *chars.peek()?;
                if !ESCAPES.contains(next) {
                    return Some((byte, at));
                }
                if next != '\n' {
                    chars.next();
                    at.column += 1;
                }
            }
            _ => {}
        }
        at.column += 1;
    }
    None
}

/// Why the parser refused a text.
enum Refused {
    /// A backslash that starts no escape; the mark of the quote before it.
    Escape(Marker),
    /// Anything else.
    Text(SyntaxError),
}

fn parse_swapped(
    swapped: &str,
    braces: Option<Braces>,
    budget: Budget,
) -> Result<Option<Node>, Refused> {
    let mut builder = Builder {
        braces,
        budget,
        nodes: 0,
        text: 0,
        open: Vec::new(),
        root: None,
        anchors: HashMap::new(),
    };
    for event in Parser::new_from_str(swapped) {
        let (event, span) = event.map_err(|error| {
            // The parser tells this one apart by its words alone.
            if error.info().contains("unknown escape character") {
                return Refused::Escape(*error.marker());
            }
            let info = Cow::Borrowed(error.info());
            let info = match braces {
                Some(braces) => braces.restore(info),
                None => info.into_owned(),
            };
            Refused::Text(SyntaxError::new(place(*error.marker()), explain(&info)))
        })?;
        builder.take(event, span).map_err(Refused::Text)?;
    }
    Ok(builder.root)
}

fn unknown_escape(at: Place) -> SyntaxError {
    SyntaxError::new(
        at,
        "not valid YAML: while parsing a quoted scalar, found unknown escape character; in double \
         quotes a backslash is written `\\\\`, single quotes take it as it is",
    )
}

/// The parser's sentence, with a way out where people are known to get lost.
fn explain(info: &str) -> String {
    let hint = match info {
        _ if info.contains("mapping values are not allowed") => {
            "; a text that holds `: ` needs quotes"
        }
        _ if info.starts_with("unexpected character") => {
            "; a text that starts with it needs quotes"
        }
        _ => "",
    };
    format!("not valid YAML: {info}{hint}")
}

fn place(marker: Marker) -> Place {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Place {
        line: number(marker.line()).max(1),
        column: number(marker.col()).saturating_add(1),
    }
}

/// A collection that is not closed yet.
struct Open {
    place: Place,
    anchor: usize,
    kind: Kind,
}

enum Kind {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        repeated: Vec<(String, Place, Place)>,
        seen: HashMap<String, Place>,
        key: Option<(String, Place)>,
    },
}

struct Builder {
    braces: Option<Braces>,
    budget: Budget,
    nodes: usize,
    text: usize,
    open: Vec<Open>,
    root: Option<Node>,
    /// Finished nodes by anchor, with their weight.
    anchors: HashMap<usize, (Node, (usize, usize))>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let at = place(span.start);
        match event {
            Event::DocumentStart(_) if self.root.is_some() => Err(SyntaxError::new(
                at,
                "a second document starts here; a file is one document",
            )),
            Event::Scalar(value, style, anchor, tag) => {
                let node = self.scalar(value, style, tag, at)?;
                self.finish(node, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.start(at, anchor, tag, Kind::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                let kind = Kind::Map {
                    entries: Vec::new(),
                    repeated: Vec::new(),
                    seen: HashMap::new(),
                    key: None,
                };
                self.start(at, anchor, tag, kind)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, at),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn scalar(
        &self,
        value: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<Cow<'_, Tag>>,
        at: Place,
    ) -> Result<Node, SyntaxError> {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => Style::Double,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        let forced = match tag.as_deref() {
            None => false,
            Some(tag) if is_string_tag(tag) => true,
            Some(tag) => return Err(refused(tag, at)),
        };
        let template = style == Style::Plain
            && self
                .braces
                .is_some_and(|braces| braces.starts_template(&value));
        let value = match self.braces {
            Some(braces) => braces.restore(value),
            None => value.into_owned(),
        };
        let data = if style == Style::Plain && !forced && !template {
            resolve(&value)
        } else {
            let mut text = Text::new(value, style);
            text.template = template;
            Data::Text(text)
        };
        Ok(Node { place: at, data })
    }

    fn start(
        &mut self,
        at: Place,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        kind: Kind,
    ) -> Result<(), SyntaxError> {
        if let Some(tag) = tag {
            return Err(refused(&tag, at));
        }
        if let Some(Open {
            kind: Kind::Map { key: None, .. },
            ..
        }) = self.open.last()
        {
            return Err(key_must_be_text(at));
        }
        if self.open.len() >= self.budget.depth {
            return Err(SyntaxError::new(
                at,
                format!("nested more than {} levels deep", self.budget.depth),
            ));
        }
        self.open.push(Open {
            place: at,
            anchor,
            kind,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        // The parser closes only what it opened.
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let data = match open.kind {
            Kind::List(items) => Data::List(items),
            Kind::Map {
                entries, repeated, ..
            } => Data::Map { entries, repeated },
        };
        let node = Node {
            place: open.place,
            data,
        };
        self.finish(node, open.anchor)
    }

    fn alias(&mut self, anchor: usize, at: Place) -> Result<(), SyntaxError> {
        let Some((node, (nodes, text))) = self.anchors.get(&anchor) else {
            return Err(SyntaxError::new(
                at,
                "this alias stands inside the value that it names",
            ));
        };
        let deep = self.open.len() + depth(node);
        let (nodes, text) = (self.nodes + nodes, self.text + text);
        self.within(nodes, text, at)?;
        if deep > self.budget.depth {
            return Err(SyntaxError::new(
                at,
                format!("nested more than {} levels deep", self.budget.depth),
            ));
        }
        let node = node.clone();
        (self.nodes, self.text) = (nodes, text);
        self.place_node(node)
    }

    fn within(&self, nodes: usize, text: usize, at: Place) -> Result<(), SyntaxError> {
        if nodes > self.budget.nodes {
            return Err(SyntaxError::new(
                at,
                format!(
                    "more than {} values, aliases counted in full",
                    self.budget.nodes
                ),
            ));
        }
        if text > self.budget.text {
            return Err(SyntaxError::new(
                at,
                format!(
                    "more than {} bytes of text, aliases counted in full",
                    self.budget.text
                ),
            ));
        }
        Ok(())
    }

    /// A node that stands in the file itself.
    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), SyntaxError> {
        let text = match &node.data {
            Data::Text(text) => text.value.len(),
            Data::Bool(_, written) | Data::Number(_, written) => written.len(),
            _ => 0,
        };
        self.nodes += 1;
        self.text += text;
        self.within(self.nodes, self.text, node.place)?;
        if anchor > 0 {
            let weight = node.weight();
            // The copy that the alias is made from counts as well: anchors upon anchors must not
            // hold more than the tree may.
            self.nodes += weight.0;
            self.text += weight.1;
            self.within(self.nodes, self.text, node.place)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        self.place_node(node)
    }

    /// Puts a node where the parser stands: into a list, as a key, as the value of a key.
    fn place_node(&mut self, node: Node) -> Result<(), SyntaxError> {
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(Kind::List(items)) => items.push(node),
            Some(Kind::Map {
                entries,
                repeated,
                seen,
                key,
            }) => match key.take() {
                None => {
                    let at = node.place;
                    let text = key_text(node).ok_or_else(|| key_must_be_text(at))?;
                    if text == "<<" {
                        return Err(SyntaxError::new(
                            at,
                            "merge keys (`<<`) are not part of YAML 1.2; write the keys out, or \
                             use an alias for a whole value",
                        ));
                    }
                    *key = Some((text, at));
                }
                Some((text, at)) => match seen.get(&text) {
                    Some(first) => repeated.push((text, at, *first)),
                    None => {
                        seen.insert(text.clone(), at);
                        entries.push(Entry {
                            key: text,
                            place: at,
                            value: node,
                        });
                    }
                },
            },
        }
        Ok(())
    }
}

/// A key as it is written: `5` and `true` are the texts of that spelling.
fn key_text(node: Node) -> Option<String> {
    match node.data {
        Data::Text(text) => Some(text.value),
        Data::Bool(_, written) | Data::Number(_, written) => Some(written.into()),
        Data::Null | Data::Broken | Data::List(_) | Data::Map { .. } => None,
    }
}

fn key_must_be_text(at: Place) -> SyntaxError {
    SyntaxError::new(at, "a key must be a plain text")
}

fn is_string_tag(tag: &Tag) -> bool {
    (tag.is_yaml_core_schema() && tag.suffix == "str")
        || (tag.handle.is_empty() && tag.suffix == "!")
}

fn refused(tag: &Tag, at: Place) -> SyntaxError {
    let written = if tag.is_yaml_core_schema() {
        format!("!!{}", tag.suffix)
    } else {
        format!("{}{}", tag.handle, tag.suffix)
    };
    SyntaxError::new(
        at,
        format!("the tag `{written}` has no meaning here; only `!!str` has"),
    )
}

fn depth(node: &Node) -> usize {
    match &node.data {
        Data::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Data::Map { entries, .. } => {
            1 + entries
                .iter()
                .map(|entry| depth(&entry.value))
                .max()
                .unwrap_or(0)
        }
        _ => 0,
    }
}
