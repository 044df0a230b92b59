//! What stands in a field, and the JSON that it is.

use serde_json::Value;

use super::{Edit, Field, Kind};

/// What stands in a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// Nothing: the argument is left out.
    Absent,
    /// `null`.
    Null,
    /// True or false.
    Bool(bool),
    /// The choice of that number.
    Choice(usize),
    /// What was typed: text, or a number.
    Typed(Edit),
    /// Something written as JSON, in any field: what the field's own kind cannot say.
    Json(Edit),
}

impl Entry {
    /// What a fresh field begins with: nothing, except where the argument is required and has a
    /// default.
    pub(crate) fn first(field: &Field) -> Self {
        match &field.default {
            Some(default) if field.required => Self::of(field, default),
            _ => Self::Absent,
        }
    }

    /// The entry that stands for a value: in the words of the field's kind if they say exactly
    /// that, else as JSON.
    pub(crate) fn of(field: &Field, value: &Value) -> Self {
        let own = match (&field.kind, value) {
            (Kind::Choice(choices), value) => choices
                .iter()
                .position(|(choice, _)| choice == value)
                .map(Self::Choice),
            (Kind::Bool, Value::Bool(value)) => Some(Self::Bool(*value)),
            (Kind::Text | Kind::Integer | Kind::Number, Value::String(text)) => {
                Some(Self::Typed(Edit::with(text)))
            }
            (Kind::Integer | Kind::Number, Value::Number(number)) => {
                Some(Self::Typed(Edit::with(&number.to_string())))
            }
            _ => None,
        };
        let own = own.or_else(|| (value.is_null() && field.nullable).then_some(Self::Null));
        own.filter(|entry| entry.value(field).as_ref() == Some(value))
            .unwrap_or_else(|| Self::Json(Edit::with(&value.to_string())))
    }

    /// The value that is sent; `None` when the argument is left out. What cannot be read as the
    /// kind asks goes as text, so that how a tool answers to it can be tried.
    pub(crate) fn value(&self, field: &Field) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Bool(value) => Some(Value::Bool(*value)),
            Self::Choice(number) => match &field.kind {
                Kind::Choice(choices) => choices.get(*number).map(|(value, _)| value.clone()),
                _ => None,
            },
            Self::Typed(edit) => Some(match field.kind {
                Kind::Text => Value::String(edit.text().to_owned()),
                _ => number(edit.text()).unwrap_or_else(|| Value::String(edit.text().to_owned())),
            }),
            Self::Json(edit) => Some(
                serde_json::from_str(edit.text())
                    .unwrap_or_else(|_| Value::String(edit.text().to_owned())),
            ),
        }
    }

    /// What is wrong with what was typed.
    pub(crate) fn trouble(&self, field: &Field) -> Option<String> {
        match self {
            Self::Absent if field.required => Some("is required".into()),
            Self::Typed(edit) => {
                let number = number(edit.text());
                match field.kind {
                    Kind::Number if number.is_none() => {
                        Some("not a number: it would be sent as text".into())
                    }
                    Kind::Integer if !number.as_ref().is_some_and(is_whole) => Some(match number {
                        Some(_) => "not a whole number".into(),
                        None => "not a whole number: it would be sent as text".into(),
                    }),
                    _ => None,
                }
            }
            Self::Json(edit) => {
                let error = serde_json::from_str::<serde::de::IgnoredAny>(edit.text()).err()?;
                Some(format!(
                    "no JSON at column {}: it would be sent as text",
                    error.column()
                ))
            }
            _ => None,
        }
    }

    /// Takes the next of the states that the field has: for a choice and a boolean its values, for
    /// typed fields nothing; `left out` is among them unless the argument is required.
    pub(crate) fn turn(&mut self, field: &Field, forward: bool) {
        let count = match &field.kind {
            Kind::Bool => 2,
            Kind::Choice(choices) => choices.len(),
            _ => return,
        };
        let mut states: Vec<Self> = (0..count)
            .map(|number| match field.kind {
                Kind::Bool => Self::Bool(number == 0),
                _ => Self::Choice(number),
            })
            .collect();
        if field.nullable
            && !states
                .iter()
                .any(|state| state.value(field) == Some(Value::Null))
        {
            states.push(Self::Null);
        }
        if !field.required {
            states.push(Self::Absent);
        }
        let at = states.iter().position(|state| state == self);
        let next = match (at, forward) {
            (Some(at), true) => (at + 1) % states.len(),
            (Some(at), false) => (at + states.len() - 1) % states.len(),
            (None, true) => 0,
            (None, false) => states.len() - 1,
        };
        if let Some(next) = states.into_iter().nth(next) {
            *self = next;
        }
    }

    /// Takes the next value whose label begins with this character; whether there is one.
    pub(crate) fn jump(&mut self, field: &Field, first: char) -> bool {
        let labels: Vec<(Self, &str)> = match &field.kind {
            Kind::Bool => vec![(Self::Bool(true), "true"), (Self::Bool(false), "false")],
            Kind::Choice(choices) => choices
                .iter()
                .enumerate()
                .map(|(number, (_, label))| (Self::Choice(number), label.as_str()))
                .collect(),
            _ => return false,
        };
        let at = labels.iter().position(|(entry, _)| entry == self);
        let from = at.map_or(0, |at| at + 1);
        let begins = |label: &str| {
            label
                .chars()
                .next()
                .is_some_and(|own| own.to_lowercase().eq(first.to_lowercase()))
        };
        let (before, after) = labels.split_at(from);
        let found = after.iter().chain(before).find(|(_, label)| begins(label));
        if let Some((entry, _)) = found {
            *self = entry.clone();
        }
        found.is_some()
    }

    /// Goes on among the things that no key types: left out, empty, `null`, JSON.
    pub(crate) fn switch(&mut self, field: &Field) {
        let as_json = |entry: &Self| {
            let text = entry.value(field).map(|value| value.to_string());
            Self::Json(Edit::with(text.as_deref().unwrap_or_default()))
        };
        let next = match self {
            Self::Absent if field.kind == Kind::Text => Self::Typed(Edit::default()),
            Self::Json(_) => Self::Absent,
            Self::Null => as_json(self),
            _ if field.nullable && field.kind != Kind::Json => Self::Null,
            _ => as_json(self),
        };
        *self = next;
    }

    /// What is typed in, made where there was nothing to type into yet. `None` for a field whose
    /// values are chosen.
    pub(crate) fn typing(&mut self, field: &Field) -> Option<&mut Edit> {
        if !matches!(self, Self::Typed(_) | Self::Json(_)) {
            *self = match field.kind {
                Kind::Text | Kind::Integer | Kind::Number => Self::Typed(Edit::default()),
                Kind::Json => Self::Json(Edit::default()),
                Kind::Bool | Kind::Choice(_) => return None,
            };
        }
        match self {
            Self::Typed(edit) | Self::Json(edit) => Some(edit),
            _ => None,
        }
    }
}

/// Text that is a JSON number.
fn number(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text.trim())
        .ok()
        .filter(Value::is_number)
}

/// Whether a number has no fraction; JSON Schema calls `1.0` an integer as well.
fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::console::schema::Look;
    use crate::text::Marks;

    fn field(schema: Value, required: bool) -> Field {
        let schema = json!({"properties": {"p": schema}});
        let look = Look::root(&schema);
        Field::new("p", &look.properties()[0].1, required, Marks::Unicode)
    }

    #[test]
    fn what_is_typed_becomes_the_json_that_the_kind_asks_for() {
        let text = || field(json!({"type": "string"}), false);
        let whole = || field(json!({"type": "integer"}), false);
        let number = || field(json!({"type": "number"}), false);
        let list = || field(json!({"type": "array"}), false);
        let table = [
            ("text", text(), "5", json!("5"), None),
            ("empty text", text(), "", json!(""), None),
            ("whole number", whole(), " 5 ", json!(5), None),
            (
                "huge whole number",
                whole(),
                "18446744073709551615",
                json!(u64::MAX),
                None,
            ),
            ("a fraction of nothing", whole(), "5.0", json!(5.0), None),
            (
                "fraction",
                whole(),
                "5.5",
                json!(5.5),
                Some("not a whole number"),
            ),
            (
                "letters",
                whole(),
                "five",
                json!("five"),
                Some("not a whole number: it would be sent as text"),
            ),
            ("exponent", number(), "1e3", json!(1000.0), None),
            (
                "hexadecimal",
                number(),
                "0x1f",
                json!("0x1f"),
                Some("not a number: it would be sent as text"),
            ),
            ("list", list(), "[1, 2]", json!([1, 2]), None),
            (
                "broken list",
                list(),
                "[1, ",
                json!("[1, "),
                Some("no JSON at column 4: it would be sent as text"),
            ),
        ];
        for (name, field, typed, value, trouble) in table {
            let mut entry = Entry::Absent;
            for char in typed.chars() {
                if let Some(edit) = entry.typing(&field) {
                    edit.insert(&char.to_string());
                }
            }
            if typed.is_empty() {
                entry.switch(&field);
            }
            assert_eq!(entry.value(&field), Some(value), "{name}");
            assert_eq!(entry.trouble(&field).as_deref(), trouble, "{name}");
        }
    }

    #[test]
    fn a_boolean_turns_through_its_values_and_back_to_left_out() {
        let field = field(json!({"type": ["boolean", "null"]}), false);
        let mut entry = Entry::Absent;
        let mut seen = Vec::new();
        for _ in 0..5 {
            entry.turn(&field, true);
            seen.push(entry.value(&field));
        }
        assert_eq!(
            seen,
            [
                Some(json!(true)),
                Some(json!(false)),
                Some(Value::Null),
                None,
                Some(json!(true))
            ]
        );
        entry.turn(&field, false);
        assert_eq!(entry, Entry::Absent);
    }

    #[test]
    fn a_required_choice_is_never_turned_to_left_out() {
        let field = field(json!({"enum": ["a", "b"]}), true);
        let mut entry = Entry::first(&field);
        assert_eq!(entry.trouble(&field).as_deref(), Some("is required"));
        for expected in ["a", "b", "a"] {
            entry.turn(&field, true);
            assert_eq!(entry.value(&field), Some(json!(expected)));
        }
    }

    #[test]
    fn switching_reaches_left_out_empty_null_and_json() {
        let field = field(json!({"type": ["string", "null"]}), false);
        let mut entry = Entry::Absent;
        let mut seen = Vec::new();
        for _ in 0..4 {
            entry.switch(&field);
            seen.push(entry.clone());
        }
        assert_eq!(
            seen,
            [
                Entry::Typed(Edit::default()),
                Entry::Null,
                Entry::Json(Edit::with("null")),
                Entry::Absent
            ]
        );
    }
}
