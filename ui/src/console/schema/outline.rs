//! A schema as the nodes of a tree: names, types, what is required, bounds, choices, defaults.

use serde_json::Value;
use toolcrib::tool::Definition;

use super::Look;
use crate::console::tree::{Branches, Children, Node, Piece, Tone};
use crate::text::{Lines, Marks, clean, clean_name, ellipsis, one_line};

/// How much of a default, a choice or a description a row carries.
const CHARS: usize = 160;

/// How many choices a row names.
const CHOICES: usize = 12;

/// The input schema of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    definition: Definition,
    marks: Marks,
}

/// A child: how it is named, whether it is required, and its place.
struct Limb<'s> {
    label: String,
    required: bool,
    look: Look<'s>,
}

impl Outline {
    /// The schema of a definition.
    pub(crate) fn new(definition: Definition, marks: Marks) -> Self {
        Self { definition, marks }
    }

    /// The description at a path, whole, if there is one.
    pub(crate) fn description(&self, path: &[usize]) -> Option<String> {
        let look = self.place(path)?;
        look.text("description")
            .or_else(|| look.text("title"))
            .map(|text| one_line(&clean(text, Lines::Many, self.marks)).into_owned())
    }

    fn place(&self, path: &[usize]) -> Option<Look<'_>> {
        let mut look = Look::root(self.definition.input_schema());
        for &number in path {
            look = limbs(&look, self.marks).into_iter().nth(number)?.look;
        }
        Some(look)
    }
}

impl Branches for Outline {
    fn children(&self, path: &[usize], from: usize, limit: usize) -> Children {
        let Some(look) = self.place(path) else {
            return Children::default();
        };
        let limbs = limbs(&look, self.marks);
        Children {
            total: limbs.len(),
            nodes: limbs
                .iter()
                .skip(from)
                .take(limit)
                .map(|limb| node(limb, self.marks))
                .collect(),
        }
    }
}

/// What lies below a place: properties, items, alternatives, conditions.
fn limbs<'s>(look: &Look<'s>, marks: Marks) -> Vec<Limb<'s>> {
    let (inner, _) = look.without_null();
    let mut limbs: Vec<Limb<'s>> = inner
        .properties()
        .into_iter()
        .map(|(name, below)| Limb {
            label: clean_name(name, marks).into_owned(),
            required: inner.requires(name),
            look: below,
        })
        .collect();
    let mut add = |label: String, schema: &'s Value| {
        limbs.push(Limb {
            label,
            required: false,
            look: inner.within(schema),
        });
    };
    if let Some(patterns) = inner.get("patternProperties").and_then(Value::as_object) {
        for (pattern, schema) in patterns {
            add(
                format!("(names like {})", clean_name(pattern, marks)),
                schema,
            );
        }
    }
    match inner.get("additionalProperties") {
        Some(schema @ Value::Object(_)) => add("(any other name)".into(), schema),
        Some(Value::Bool(false)) | None => {}
        Some(schema) => add("(any other name)".into(), schema),
    }
    for (at, schema) in inner.list("prefixItems").iter().enumerate() {
        add(format!("[{at}]"), schema);
    }
    if let Some(schema) = inner.get("items").filter(|items| items.is_object()) {
        add("[each]".into(), schema);
    }
    if look.reference == inner.reference || inner.get("properties").is_none() {
        for (keyword, words) in [
            ("anyOf", "any of"),
            ("oneOf", "one of"),
            ("allOf", "all of"),
        ] {
            // A sole branch, or the other one beside `null`, is part of the place itself.
            let folded = (keyword == "allOf" && inner.list(keyword).len() == 1)
                || (keyword != "allOf" && look.without_null().1 && inner.list(keyword).len() == 2);
            if !folded {
                for (at, schema) in inner.list(keyword).iter().enumerate() {
                    add(format!("({words} {})", at + 1), schema);
                }
            }
        }
    }
    for (keyword, label) in [
        ("not", "(not)"),
        ("if", "(if)"),
        ("then", "(then)"),
        ("else", "(else)"),
    ] {
        if let Some(schema) = inner.get(keyword) {
            add(label.into(), schema);
        }
    }
    limbs
}

fn node(limb: &Limb<'_>, marks: Marks) -> Node {
    let look = &limb.look;
    let (inner, nullable) = look.without_null();
    let mut pieces = vec![
        Piece::new(Tone::Key, limb.label.clone()),
        Piece::new(Tone::Type, type_of(&inner, nullable, marks)),
    ];
    if limb.required {
        pieces.push(Piece::new(Tone::Mark, "required"));
    }
    let choices = inner.list("enum");
    if !choices.is_empty() {
        let mut names: Vec<String> = choices
            .iter()
            .take(CHOICES)
            .map(|value| short(value, marks))
            .collect();
        if choices.len() > CHOICES {
            names.push(format!(
                "{} {} more",
                ellipsis(marks),
                choices.len() - CHOICES
            ));
        }
        pieces.push(Piece::new(Tone::Value, names.join(" | ")));
    }
    if let Some(only) = inner.get("const") {
        pieces.push(Piece::new(
            Tone::Value,
            format!("always {}", short(only, marks)),
        ));
    }
    if let Some(default) = look.get("default") {
        pieces.push(Piece::new(
            Tone::Dim,
            format!("default {}", short(default, marks)),
        ));
    }
    let bounds = inner.bounds();
    if !bounds.is_empty() {
        pieces.push(Piece::new(Tone::Dim, cut(&bounds.join(", "), marks)));
    }
    if look.get("deprecated") == Some(&Value::Bool(true)) {
        pieces.push(Piece::new(Tone::Mark, "deprecated"));
    }
    if let Some(reference) = look.unresolved.or(inner.unresolved) {
        pieces.push(Piece::new(
            Tone::Mark,
            format!(
                "{} leads nowhere in this schema, it is not fetched",
                cut(reference, marks)
            ),
        ));
    }
    if let Some(text) = look.text("description") {
        let dash = match marks {
            Marks::Unicode => "–",
            Marks::Ascii => "-",
        };
        pieces.push(Piece::new(
            Tone::Dim,
            format!("{dash} {}", cut(text, marks)),
        ));
    }
    Node {
        pieces,
        opens: !limbs(look, marks).is_empty(),
    }
}

/// The type in words: `string`, `integer or null`, `array of string`, `Point` for a reference.
fn type_of(look: &Look<'_>, nullable: bool, marks: Marks) -> String {
    if let Some(allowed) = look.boolean() {
        return if allowed { "anything" } else { "nothing" }.into();
    }
    let mut types: Vec<String> = look
        .types()
        .into_iter()
        .filter(|name| *name != "null" || !nullable)
        .map(|name| cut(name, marks))
        .collect();
    if types == ["array"]
        && let Some(items) = look.get("items").filter(|items| items.is_object())
    {
        let of = type_of(&look.within(items), false, marks);
        // One level is enough in a row; the tree tells the rest.
        let of = of.split(" of ").next().unwrap_or_default().to_owned();
        types = vec![format!("array of {of}")];
    }
    if types.is_empty() {
        types.push(
            match () {
                () if look.get("properties").is_some() => "object",
                () if look.get("items").is_some() => "array",
                () if !look.list("enum").is_empty() || look.get("const").is_some() => "choice",
                () if !look.list("anyOf").is_empty() || !look.list("oneOf").is_empty() => {
                    "alternatives"
                }
                () => "anything",
            }
            .into(),
        );
    }
    if nullable {
        types.push("null".into());
    }
    let words = types.join(" or ");
    match look
        .reference
        .and_then(|reference| reference.rsplit('/').next())
    {
        Some(name) if !name.is_empty() && name != "#" => format!("{words} ({})", cut(name, marks)),
        _ => words,
    }
}

/// A value in few words; text without its quotes.
pub(crate) fn short(value: &Value, marks: Marks) -> String {
    match value {
        Value::String(text) => cut(text, marks),
        other => cut(&other.to_string(), marks),
    }
}

/// The first words of a text, cleaned, on one line.
pub(crate) fn cut(text: &str, marks: Marks) -> String {
    let end = text
        .char_indices()
        .nth(CHARS)
        .map_or(text.len(), |(at, _)| at);
    let short = clean(&text[..end], Lines::Many, marks);
    let mut short = one_line(&short).into_owned();
    if end < text.len() {
        short.push_str(ellipsis(marks));
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::console::tree::Tree;

    fn drawn(schema: Value, rows: usize) -> String {
        let definition = Definition::new("t", "", schema).unwrap();
        let tree = Tree::new(Outline::new(definition, Marks::Unicode), rows);
        tree.rows()
            .iter()
            .map(|row| {
                let pieces: Vec<_> = row.node.pieces.iter().map(|p| p.text.as_str()).collect();
                format!("{}{}\n", "  ".repeat(row.path.len() - 1), pieces.join(" "))
            })
            .collect()
    }

    #[test]
    fn a_schema_is_drawn_with_types_marks_bounds_choices_and_nesting() {
        let schema = json!({
            "type": "object",
            "required": ["path", "where"],
            "additionalProperties": {"type": "string"},
            "properties": {
                "path": {"type": "string", "description": "Where\nit is", "minLength": 1},
                "lines": {"type": ["integer", "null"], "default": 10, "minimum": 1, "maximum": 500},
                "mode": {"enum": ["fast", "slow", null]},
                "where": {"$ref": "#/$defs/Point"},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                "either": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"n": {"const": 1}}}]},
                "maybe": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}], "default": null},
                "far": {"$ref": "https://example.org/x"},
                "any": true,
            },
            "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
        });
        insta::assert_snapshot!(drawn(schema, 100));
    }

    #[test]
    fn a_schema_that_holds_itself_opens_only_as_far_as_asked() {
        let schema = json!({"properties": {"left": {"$ref": "#/$defs/N"}, "right": {"$ref": "#/$defs/N"}},
            "$defs": {"N": {"type": "object", "properties": {"left": {"$ref": "#/$defs/N"}}}}});
        let text = drawn(schema, 20);
        assert!((20..30).contains(&text.lines().count()), "{text}");
    }
}
