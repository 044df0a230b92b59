//! A JSON value as the nodes of a tree.

use std::sync::Arc;

use serde_json::Value;
use toolcrib::observe::CallRecord;
use toolcrib::tool::Part;

use crate::console::schema::cut;
use crate::console::tree::{Branches, Children, Node, Piece, Tone};
use crate::text::{Marks, clean_name};

/// A value, part of a result or the whole of it.
#[derive(Clone, Debug)]
pub(crate) struct Json {
    root: Root,
    marks: Marks,
}

/// Where the value is; results and records are not copied to be looked at.
#[derive(Clone, Debug)]
enum Root {
    Own(Arc<Value>),
    Part(Arc<[Part]>, usize),
    Arguments(Arc<CallRecord>),
}

impl Json {
    /// The nodes of this value.
    pub(crate) fn new(value: impl Into<Arc<Value>>, marks: Marks) -> Self {
        Self {
            root: Root::Own(value.into()),
            marks,
        }
    }

    /// A data part of a result; `null` if it is none.
    pub(crate) fn part(parts: &Arc<[Part]>, number: usize, marks: Marks) -> Self {
        Self {
            root: Root::Part(Arc::clone(parts), number),
            marks,
        }
    }

    /// The arguments of a call.
    pub(crate) fn arguments(record: &Arc<CallRecord>, marks: Marks) -> Self {
        Self {
            root: Root::Arguments(Arc::clone(record)),
            marks,
        }
    }

    /// The whole value.
    pub(crate) fn whole(&self) -> &Value {
        match &self.root {
            Root::Own(value) => value,
            Root::Part(parts, number) => match parts.get(*number) {
                Some(Part::Data { value, .. }) => value,
                _ => &Value::Null,
            },
            Root::Arguments(record) => &record.arguments,
        }
    }

    /// The value at a path of child numbers. The path `[0]` is the value itself.
    pub(crate) fn at(&self, path: &[usize]) -> Option<&Value> {
        let mut value = self.whole();
        for &number in path.get(1..)? {
            value = match value {
                Value::Array(items) => items.get(number)?,
                Value::Object(map) => map.values().nth(number)?,
                _ => return None,
            };
        }
        Some(value)
    }

    fn node(&self, key: Option<Piece>, value: &Value) -> Node {
        let mut pieces: Vec<Piece> = key.into_iter().collect();
        let (tone, words) = match value {
            Value::String(text) => (Tone::Text, format!("\"{}\"", cut(text, self.marks))),
            Value::Array(items) => (Tone::Dim, counted("[", items.len(), "item", "]")),
            Value::Object(map) => (Tone::Dim, counted("{", map.len(), "key", "}")),
            other => (Tone::Value, other.to_string()),
        };
        pieces.push(Piece::new(tone, words));
        if let Value::String(text) = value
            && text.len() > 120
        {
            pieces.push(Piece::new(
                Tone::Dim,
                format!("{} bytes, enter shows", text.len()),
            ));
        }
        Node {
            pieces,
            opens: match value {
                Value::Array(items) => !items.is_empty(),
                Value::Object(map) => !map.is_empty(),
                _ => false,
            },
        }
    }
}

fn counted(open: &str, count: usize, what: &str, close: &str) -> String {
    match count {
        0 => format!("{open}{close}"),
        1 => format!("{open} 1 {what} {close}"),
        _ => format!("{open} {count} {what}s {close}"),
    }
}

impl Branches for Json {
    fn children(&self, path: &[usize], from: usize, limit: usize) -> Children {
        if path.is_empty() {
            return Children {
                nodes: vec![self.node(None, self.whole())].split_off(from.min(1)),
                total: 1,
            };
        }
        match self.at(path) {
            Some(Value::Array(items)) => Children {
                total: items.len(),
                nodes: items
                    .iter()
                    .enumerate()
                    .skip(from)
                    .take(limit)
                    .map(|(at, item)| {
                        self.node(Some(Piece::new(Tone::Dim, format!("{at}:"))), item)
                    })
                    .collect(),
            },
            Some(Value::Object(map)) => Children {
                total: map.len(),
                nodes: map
                    .iter()
                    .skip(from)
                    .take(limit)
                    .map(|(key, item)| {
                        let key = clean_name(key, self.marks);
                        self.node(Some(Piece::new(Tone::Key, format!("{key}:"))), item)
                    })
                    .collect(),
            },
            _ => Children::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::console::tree::Tree;

    #[test]
    fn a_value_is_drawn_as_a_tree_and_found_again_by_its_path() {
        let value = json!({"a": [1, "x\u{1b}"], "b": {}, "c": null, "long": "y".repeat(200)});
        let tree = Tree::new(Json::new(value.clone(), Marks::Unicode), 100);
        let rows: Vec<String> = tree
            .rows()
            .iter()
            .map(|row| {
                let pieces: Vec<_> = row.node.pieces.iter().map(|p| p.text.as_str()).collect();
                pieces.join(" ")
            })
            .collect();
        let long = format!("long: \"{}…\" 200 bytes, enter shows", "y".repeat(160));
        assert_eq!(
            rows,
            [
                "{ 4 keys }",
                "a: [ 2 items ]",
                "0: 1",
                "1: \"x␛\"",
                "b: {}",
                "c: null",
                &long
            ]
        );
        for row in tree.rows() {
            assert!(tree.branches().at(&row.path).is_some());
        }
        assert_eq!(tree.branches().at(&[0, 0, 1]), Some(&json!("x\u{1b}")));
        assert_eq!(tree.branches().at(&[0]), Some(&value));
    }
}
