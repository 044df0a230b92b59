//! Prints a tree as YAML that reads back as the same tree.

use crate::deployment::document::{Data, Node, resolve};

/// The text of a map or list, in block style.
pub(super) fn yaml(node: &Node) -> String {
    let mut out = String::new();
    block(node, 0, &mut out);
    out
}

fn block(node: &Node, indent: usize, out: &mut String) {
    match &node.data {
        Data::Map { entries, .. } => {
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str(&word(&entry.key));
                out.push(':');
                value(&entry.value, indent, out);
            }
        }
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str("- ");
                if is_short(item) {
                    out.push_str(&flow(item));
                    out.push('\n');
                } else {
                    block(item, indent + 2, out);
                }
            }
        }
        _ => {
            out.push_str(&flow(node));
            out.push('\n');
        }
    }
}

/// What follows a key: on the same line if it is short, else as a block below.
fn value(node: &Node, indent: usize, out: &mut String) {
    if is_short(node) {
        out.push(' ');
        out.push_str(&flow(node));
        out.push('\n');
    } else {
        out.push('\n');
        out.push_str(&" ".repeat(indent + 2));
        block(node, indent + 2, out);
    }
}

/// Whether a value fits on the line: a scalar, something empty, or a list of scalars.
fn is_short(node: &Node) -> bool {
    match &node.data {
        Data::Map { entries, .. } => entries.is_empty(),
        Data::List(items) => items
            .iter()
            .all(|item| !matches!(item.data, Data::Map { .. } | Data::List(_))),
        _ => true,
    }
}

fn flow(node: &Node) -> String {
    match &node.data {
        Data::Null | Data::Broken => "null".into(),
        Data::Bool(_, written) | Data::Number(_, written) => written.to_string(),
        Data::Text(text) => word(&text.value),
        Data::List(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Data::Map { entries, .. } => {
            let entries: Vec<_> = entries
                .iter()
                .map(|entry| format!("{}: {}", word(&entry.key), flow(&entry.value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A string: plain where nobody could take it for anything else, quoted elsewhere.
fn word(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && matches!(resolve(text), Data::Text(_));
    if plain { text.to_owned() } else { quoted(text) }
}

/// In double quotes. What YAML does not take as it is gets an escape.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tree;
    use super::*;
    use crate::deployment::Place;
    use crate::deployment::document::{Budget, Syntax, parse};

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".*".prop_map(Into::into),
            "[-~.0-9a-zA-Z/_${}:# ]{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec((".{0,6}", inner), 0..4).prop_map(|entries| {
                    serde_json::Value::Object(entries.into_iter().collect())
                }),
            ]
        })
    }

    fn node(value: &serde_json::Value) -> Node {
        parse(&value.to_string(), Syntax::Json, Budget::default())
            .unwrap()
            .unwrap()
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_as_the_same(value in json()) {
            let root = tree::map(Place::START, vec![("root", Place::START, node(&value))]);
            let text = yaml(&root);
            let read = parse(&text, Syntax::Yaml, Budget::default());
            let read = read.map_err(|error| TestCaseError::fail(format!("{error:?}\n{text}")))?;
            prop_assert_eq!(read.unwrap().to_json(), root.to_json(), "{}", text);
        }
    }
}
