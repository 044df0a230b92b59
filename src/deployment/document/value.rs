//! A value of the tree together with the way to it. What a check has found right is taken out with
//! these accessors; they answer `None` to what is absent or of another type.

use std::time::Duration;

use serde_json::Value as Json;

use super::duration::parse_duration;
use super::node::{Data, Node, Text};
use super::scalar;
use crate::deployment::Place;

/// A value and its path, for example `resources.sim.settings.servers[0].url`.
#[derive(Clone, Debug)]
pub struct Value<'d> {
    /// The value.
    pub node: &'d Node,
    /// Where it is reached.
    pub path: String,
}

/// The path of a key. A key that would be mistaken for more of the path is put in quotes.
pub(super) fn child(path: &str, key: &str) -> String {
    let plain = !key.is_empty()
        && key
            .chars()
            .all(|c| !c.is_whitespace() && !matches!(c, '.' | '[' | ']' | '"'));
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (true, false) => format!("[{key:?}]"),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}[{key:?}]"),
    }
}

impl<'d> Value<'d> {
    /// The root of a tree.
    pub fn root(node: &'d Node) -> Self {
        Self {
            node,
            path: String::new(),
        }
    }

    /// Where it stands.
    pub fn place(&self) -> Place {
        self.node.place
    }

    /// Its key, or its key and position in a list: the last step of the path.
    pub fn label(&self) -> &str {
        if let Some(quoted) = self.path.strip_suffix("\"]") {
            return quoted.rfind("[\"").map_or(quoted, |at| &quoted[at + 2..]);
        }
        let from = self.path.rfind('.').map_or(0, |dot| dot + 1);
        &self.path[from..]
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Value<'d>> {
        self.node.get(key).map(|node| Value {
            node,
            path: child(&self.path, key),
        })
    }

    /// The value at the end of a path such as `behavior.parts[1].text`, or the last one before
    /// the path leaves the tree.
    pub fn at(&self, path: &str) -> Value<'d> {
        let mut value = self.clone();
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let next = match step.strip_suffix(']') {
                Some(index) => index
                    .parse()
                    .ok()
                    .and_then(|index: usize| value.items().into_iter().nth(index)),
                None => value.get(step),
            };
            match next {
                Some(next) => value = next,
                None => break,
            }
        }
        value
    }

    /// Whether it is a map.
    pub fn is_map(&self) -> bool {
        matches!(self.node.data, Data::Map { .. })
    }

    /// Whether it is a map that has the key.
    pub fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// The keys with their places and values, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = (&'d str, Place, Value<'d>)> + use<'d, '_> {
        let entries = match &self.node.data {
            Data::Map { entries, .. } => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|entry| {
            let value = Value {
                node: &entry.value,
                path: child(&self.path, &entry.key),
            };
            (entry.key.as_str(), entry.place, value)
        })
    }

    /// The items of a list; a value that is no list is the only item.
    pub fn items(&self) -> Vec<Value<'d>> {
        match &self.node.data {
            Data::List(items) => items
                .iter()
                .enumerate()
                .map(|(index, node)| Value {
                    node,
                    path: format!("{}[{index}]", self.path),
                })
                .collect(),
            Data::Broken => Vec::new(),
            _ => vec![self.clone()],
        }
    }

    /// The string node.
    pub fn as_text(&self) -> Option<&'d Text> {
        match &self.node.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The string.
    pub fn text(&self) -> Option<&'d str> {
        self.as_text().map(|text| text.value.as_str())
    }

    /// The string, owned.
    pub fn string(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    /// The strings of a list, or of a value that stands for one.
    pub fn strings(&self) -> Vec<String> {
        self.items().iter().filter_map(Value::string).collect()
    }

    /// The strings of a map, in the order of the file.
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.entries()
            .filter_map(|(key, _, value)| Some((key.to_owned(), value.string()?)))
            .collect()
    }

    /// The string that stands in for a value of another type, because expansion made it.
    pub(super) fn expanded(&self) -> Option<&'d str> {
        self.as_text()
            .filter(|text| text.expanded())
            .map(|text| text.value.trim())
    }

    /// The boolean.
    pub fn bool(&self) -> Option<bool> {
        match &self.node.data {
            Data::Bool(value, _) => Some(*value),
            _ => self.expanded().and_then(scalar::boolean),
        }
    }

    /// The number.
    pub fn number(&self) -> Option<f64> {
        match &self.node.data {
            Data::Number(number, _) => number.as_f64(),
            _ => scalar::number(self.expanded()?)?.as_f64(),
        }
    }

    /// The whole number, if it fits.
    pub fn whole(&self) -> Option<i64> {
        match &self.node.data {
            Data::Number(number, _) => number.as_i64(),
            _ => scalar::number(self.expanded()?)?.as_i64(),
        }
    }

    /// The whole number as a size.
    pub fn size(&self) -> Option<usize> {
        self.whole().and_then(|value| usize::try_from(value).ok())
    }

    /// The duration; `None` as well for `off`.
    pub fn duration(&self) -> Option<Duration> {
        match &self.node.data {
            Data::Number(_, written) => parse_duration(written).ok(),
            Data::Text(text) => parse_duration(text.value.trim()).ok(),
            _ => None,
        }
    }

    /// The value as JSON.
    pub fn json(&self) -> Json {
        self.node.to_json()
    }
}
