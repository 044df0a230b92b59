//! `${env:NAME}` inside string values (rule 10.3): once, never recursively, never in keys.

use super::node::{Data, Node, Text};
use super::reading::Reading;

/// A piece of a string.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Literal(&'t str),
    Variable(&'t str),
    /// The sentence about a form that is not allowed.
    Fault(String),
}

/// Takes a string apart. `\${` is a literal `${`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('\\') {
            pieces.push(Piece::Literal(before));
            pieces.push(Piece::Literal("${"));
            rest = &rest[at + 2..];
            continue;
        }
        pieces.push(Piece::Literal(&rest[..at]));
        let form = &rest[at + 2..];
        let Some(end) = form.find('}') else {
            pieces.push(Piece::Fault(
                "`${` is not closed; write `\\${` for the characters themselves".into(),
            ));
            return pieces;
        };
        let inner = &form[..end];
        pieces.push(match inner.strip_prefix("env:") {
            Some(name) if is_name(name) => Piece::Variable(name),
            Some(name) => Piece::Fault(format!("`${{env:{name}}}` does not name a variable")),
            None => Piece::Fault(format!(
                "`${{{inner}}}` is not known; only `${{env:NAME}}` is, and `\\${{` is a literal `${{`"
            )),
        });
        rest = &form[end + 1..];
    }
    pieces.push(Piece::Literal(rest));
    pieces
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| {
            !c.is_whitespace() && !c.is_control() && !matches!(c, '$' | '{' | '=' | '"' | '\'')
        })
}

/// Expands every string under a node, and reports every variable that is not set.
pub(super) fn expand(reading: &Reading<'_>, node: &mut Node, path: &str, left: &mut usize) {
    let place = node.place;
    match &mut node.data {
        Data::Text(text) if text.value.contains("${") => match expand_text(reading, text, left) {
            Ok(expanded) => *text = expanded,
            Err(faults) => {
                for fault in faults {
                    reading.error_at(place, path, fault);
                }
                node.data = Data::Broken;
            }
        },
        Data::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                expand(reading, item, &format!("{path}[{index}]"), left);
            }
        }
        Data::Map { entries, .. } => {
            for entry in entries {
                let path = super::value::child(path, &entry.key);
                expand(reading, &mut entry.value, &path, left);
            }
        }
        _ => {}
    }
}

fn expand_text(reading: &Reading<'_>, text: &Text, left: &mut usize) -> Result<Text, Vec<String>> {
    let mut value = String::new();
    let mut secrets = Vec::new();
    let mut faults = Vec::new();
    let mut expanded = false;
    for piece in pieces(&text.value) {
        match piece {
            Piece::Literal(literal) => value.push_str(literal),
            Piece::Fault(fault) => faults.push(fault),
            Piece::Variable(name) => match reading.variable(name) {
                None => faults.push(format!("the environment variable `{name}` is not set")),
                Some(found) => {
                    // What the budget of the tree does not cover: a large variable used often.
                    match left.checked_sub(found.value.len()) {
                        Some(rest) => *left = rest,
                        None => {
                            faults.push("expanded variables make the file too large".into());
                            continue;
                        }
                    }
                    expanded = true;
                    value.push_str(&found.value);
                    if found.secret {
                        secrets.push(found.value);
                    }
                }
            },
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Text {
        value,
        written: expanded.then(|| text.value.clone()),
        secrets,
        ..text.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_taken_apart_once_and_only_env_is_known() {
        use Piece::{Fault, Literal, Variable};
        for (text, expected) in [
            ("plain $x {y}", vec![Literal("plain $x {y}")]),
            (
                "a${env:A}b${env:B}",
                vec![
                    Literal("a"),
                    Variable("A"),
                    Literal("b"),
                    Variable("B"),
                    Literal(""),
                ],
            ),
            (
                r"\${env:A}",
                vec![Literal(""), Literal("${"), Literal("env:A}")],
            ),
            (
                "${env:}",
                vec![
                    Literal(""),
                    Fault("`${env:}` does not name a variable".into()),
                    Literal(""),
                ],
            ),
            (
                "${HOME}",
                vec![
                    Literal(""),
                    Fault(
                        "`${HOME}` is not known; only `${env:NAME}` is, and `\\${` is a literal `${`"
                            .into(),
                    ),
                    Literal(""),
                ],
            ),
            (
                "x ${env:A",
                vec![
                    Literal("x "),
                    Fault("`${` is not closed; write `\\${` for the characters themselves".into()),
                ],
            ),
        ] {
            assert_eq!(pieces(text), expected, "{text}");
        }
    }
}
