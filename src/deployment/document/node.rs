//! The tree of a file. Every value and every key knows where it stands.

use serde_json::{Map, Number, Value as Json};

use crate::deployment::Place;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it starts.
    pub place: Place,
    /// What it is.
    pub data: Data,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`, with the spelling of the file.
    Bool(bool, Box<str>),
    /// A number, with the spelling of the file.
    Number(Number, Box<str>),
    /// A string.
    Text(Text),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file; the first of two equal keys counts.
    Map {
        /// The entries.
        entries: Vec<Entry>,
        /// Repeated keys: the key, where it stands again, where it stood first.
        repeated: Vec<(String, Place, Place)>,
    },
    /// A value that has been reported already and must not cause a second problem.
    Broken,
}

/// A string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The string, after expansion if that has been done.
    pub value: String,
    /// How it was written.
    pub style: Style,
    /// The string before expansion, where that changed it.
    pub written: Option<String>,
    /// The secret values that expansion put in.
    pub secrets: Vec<String>,
    /// Whether it is a plain value that starts with `{{`, which strict YAML would refuse.
    pub template: bool,
}

impl Text {
    /// A string as it stands in the file.
    pub fn new(value: String, style: Style) -> Self {
        Self {
            value,
            style,
            written: None,
            secrets: Vec::new(),
            template: false,
        }
    }

    /// Whether expansion made it.
    pub fn expanded(&self) -> bool {
        self.written.is_some()
    }

    /// What may be shown of it: the string as it was written.
    pub fn shown(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.value)
    }
}

/// How a string was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// As a block, `|` or `>`.
    Block,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Place,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.data {
            Data::Map { entries, .. } => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The entry of a key, to change it.
    pub fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        match &mut self.data {
            Data::Map { entries, .. } => entries.iter_mut().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// How many values and how many bytes of text it holds, itself included.
    pub(super) fn weight(&self) -> (usize, usize) {
        let sum = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        match &self.data {
            Data::Null | Data::Broken => (1, 0),
            Data::Bool(_, written) | Data::Number(_, written) => (1, written.len()),
            Data::Text(text) => (1, text.value.len()),
            Data::List(items) => items.iter().map(Node::weight).fold((1, 0), sum),
            Data::Map { entries, .. } => entries
                .iter()
                .map(|entry| sum((1, entry.key.len()), entry.value.weight()))
                .fold((1, 0), sum),
        }
    }

    /// What it is, for a sentence: `a string`, `the number 5`, `nothing`.
    pub fn describe(&self) -> String {
        match &self.data {
            Data::Null => "nothing".into(),
            Data::Bool(_, written) => format!("the boolean {written}"),
            Data::Number(_, written) => format!("the number {written}"),
            Data::Text(text) => {
                let shown = text.shown();
                let first = shown.lines().next().unwrap_or_default();
                let short: String = first.chars().take(40).collect();
                if short.len() == shown.len() {
                    format!("the string `{short}`")
                } else {
                    format!("the string `{short}…`")
                }
            }
            Data::List(_) => "a list".into(),
            Data::Map { .. } => "a map".into(),
            Data::Broken => "a broken value".into(),
        }
    }

    /// The value as JSON. Broken values are `null`; they stop the build anyway.
    pub fn to_json(&self) -> Json {
        match &self.data {
            Data::Null | Data::Broken => Json::Null,
            Data::Bool(value, _) => Json::Bool(*value),
            Data::Number(value, _) => Json::Number(value.clone()),
            Data::Text(text) => Json::String(text.value.clone()),
            Data::List(items) => items.iter().map(Node::to_json).collect(),
            Data::Map { entries, .. } => Json::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}
