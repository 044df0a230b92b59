//! Looks at one place of a schema with its local references followed.

use serde_json::{Map, Value};

/// How many references in a row are followed; a longer chain is a circle or an attack.
const HOPS: usize = 16;

/// One place of a schema. Keywords beside a `$ref` win over those of its target, and a sole
/// `allOf` branch counts as part of the place (generators write it to hang a default on a `$ref`).
#[derive(Clone, Debug)]
pub(crate) struct Look<'s> {
    root: &'s Value,
    layers: Vec<&'s Map<String, Value>>,
    /// What `true` and `false` as a schema say.
    boolean: Option<bool>,
    /// The name of the first reference, for showing.
    pub(crate) reference: Option<&'s str>,
    /// A reference that leads nowhere in this document. It is never fetched.
    pub(crate) unresolved: Option<&'s str>,
}

impl<'s> Look<'s> {
    /// The whole schema.
    pub(crate) fn root(root: &'s Value) -> Self {
        Self::at(root, root)
    }

    fn at(root: &'s Value, schema: &'s Value) -> Self {
        let mut look = Self {
            root,
            layers: Vec::new(),
            boolean: schema.as_bool(),
            reference: None,
            unresolved: None,
        };
        let mut next = Some(schema);
        while let Some(schema) = next.take() {
            let Some(map) = schema.as_object() else { break };
            if look.layers.len() == HOPS {
                look.unresolved = look.reference;
                break;
            }
            look.layers.push(map);
            if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
                look.reference = look.reference.or(Some(reference));
                next = local(root, reference);
                if next.is_none() {
                    look.unresolved = Some(reference);
                }
            } else if let Some([only]) = map
                .get("allOf")
                .and_then(Value::as_array)
                .map(|all| &all[..])
            {
                next = Some(only);
            }
        }
        look
    }

    /// Another place of the same document.
    pub(crate) fn within(&self, schema: &'s Value) -> Self {
        Self::at(self.root, schema)
    }

    /// A keyword.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.layers.iter().find_map(|layer| layer.get(keyword))
    }

    /// A keyword that holds text.
    pub(crate) fn text(&self, keyword: &str) -> Option<&'s str> {
        self.get(keyword).and_then(Value::as_str)
    }

    /// A keyword that holds a list.
    pub(crate) fn list(&self, keyword: &str) -> &'s [Value] {
        self.get(keyword)
            .and_then(Value::as_array)
            .map_or(&[], |list| list)
    }

    /// The names in `type`, in their order.
    pub(crate) fn types(&self) -> Vec<&'s str> {
        match self.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// The properties with their places, in the order of the schema.
    pub(crate) fn properties(&self) -> Vec<(&'s str, Look<'s>)> {
        self.get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), self.within(schema)))
            .collect()
    }

    /// Whether a property has to be there.
    pub(crate) fn requires(&self, name: &str) -> bool {
        self.list("required").iter().any(|item| item == name)
    }

    /// The place without its `null` alternative, and whether it had one: `type: [T, "null"]`,
    /// `anyOf: [T, {type: null}]` and the same with `oneOf`.
    pub(crate) fn without_null(&self) -> (Look<'s>, bool) {
        for keyword in ["anyOf", "oneOf"] {
            let [one, two] = self.list(keyword) else {
                continue;
            };
            let (one, two) = (self.within(one), self.within(two));
            let inner = match (one.is_null(), two.is_null()) {
                (false, true) => one,
                (true, false) => two,
                _ => continue,
            };
            let mut look = inner;
            // Title, description and default stand beside the alternatives.
            look.layers.splice(0..0, self.layers.iter().copied());
            return (look, true);
        }
        let types = self.types();
        (self.clone(), types.len() > 1 && types.contains(&"null"))
    }

    fn is_null(&self) -> bool {
        self.types() == ["null"] || self.get("const").is_some_and(Value::is_null)
    }

    /// What the place says of a value in general when it is `true` or `false`.
    pub(crate) fn boolean(&self) -> Option<bool> {
        self.boolean
    }

    /// The value's bounds and shape in words, for example `1..100`, `pattern ^a`.
    pub(crate) fn bounds(&self) -> Vec<String> {
        let mut bounds = Vec::new();
        let number = |keyword| self.get(keyword).filter(|value| value.is_number());
        let range = |low: Option<&Value>, high: Option<&Value>, unit: &str| match (low, high) {
            (Some(low), Some(high)) if low == high => {
                Some(format!("exactly {}", counted(low, unit)))
            }
            (Some(low), Some(high)) => Some(format!("{low}..{}", counted(high, unit))),
            (Some(low), None) => Some(format!("at least {}", counted(low, unit))),
            (None, Some(high)) => Some(format!("at most {}", counted(high, unit))),
            (None, None) => None,
        };
        bounds.extend(range(number("minimum"), number("maximum"), ""));
        bounds.extend(number("exclusiveMinimum").map(|low| format!("above {low}")));
        bounds.extend(number("exclusiveMaximum").map(|high| format!("below {high}")));
        bounds.extend(number("multipleOf").map(|step| format!("a multiple of {step}")));
        bounds.extend(range(number("minLength"), number("maxLength"), "character"));
        bounds.extend(range(number("minItems"), number("maxItems"), "item"));
        if self.get("uniqueItems") == Some(&Value::Bool(true)) {
            bounds.push("no item twice".into());
        }
        bounds.extend(self.text("format").map(|format| format!("format {format}")));
        bounds.extend(
            self.text("pattern")
                .map(|pattern| format!("pattern {pattern}")),
        );
        bounds
    }
}

/// `1 item`, `2 items`, or the number alone where there is no unit.
fn counted(number: &Value, unit: &str) -> String {
    match (unit, number.as_u64()) {
        ("", _) => number.to_string(),
        (_, Some(1)) => format!("1 {unit}"),
        _ => format!("{number} {unit}s"),
    }
}

/// The place that a reference within the document names: `#` or `#/a/b`.
fn local<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(pointer)
        .or_else(|| root.pointer(&percent_decoded(pointer)?))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keywords_beside_a_reference_win_over_its_target() {
        let schema = json!({
            "properties": {"a": {"$ref": "#/$defs/x%20y", "description": "near"}},
            "$defs": {"x y": {"type": "string", "description": "far"}},
        });
        let properties = Look::root(&schema).properties();
        let look = &properties[0].1;
        assert_eq!(look.text("description"), Some("near"));
        assert_eq!(look.types(), ["string"]);
        assert_eq!(look.reference, Some("#/$defs/x%20y"));
    }

    #[test]
    fn a_circle_and_a_foreign_reference_end_as_unresolved() {
        let circle = json!({"$ref": "#"});
        assert_eq!(Look::root(&circle).unresolved, Some("#"));
        let foreign = json!({"$ref": "https://example.org/s.json"});
        assert_eq!(
            Look::root(&foreign).unresolved,
            Some("https://example.org/s.json")
        );
    }

    #[test]
    fn a_null_alternative_is_taken_off_in_each_of_its_spellings() {
        for schema in [
            json!({"type": ["integer", "null"]}),
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 1}),
            json!({"oneOf": [{"const": null}, {"type": "integer"}]}),
        ] {
            let (look, nullable) = Look::root(&schema).without_null();
            assert!(nullable, "{schema}");
            assert!(look.types().contains(&"integer"), "{schema}");
        }
        let union = json!({"anyOf": [{"type": "integer"}, {"type": "string"}]});
        assert!(!Look::root(&union).without_null().1);
    }

    #[test]
    fn bounds_are_told_in_words() {
        let schema = json!({"minimum": 1, "maximum": 9, "minLength": 2, "maxLength": 2,
            "minItems": 3, "exclusiveMaximum": 8, "format": "uri", "pattern": "^a", "uniqueItems": true});
        assert_eq!(
            Look::root(&schema).bounds(),
            [
                "1..9",
                "below 8",
                "exactly 2 characters",
                "at least 3 items",
                "no item twice",
                "format uri",
                "pattern ^a"
            ]
        );
    }
}
