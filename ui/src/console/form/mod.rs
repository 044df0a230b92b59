//! The arguments of a call as a form: one field per property of a schema, what does not fit a
//! simple field as JSON in its field. Whatever JSON object goes in comes out again unchanged.

mod edit;
mod field;
mod value;

use serde_json::{Map, Value};

pub(crate) use edit::Edit;
pub(crate) use field::{Field, Kind};
pub(crate) use value::Entry;

use super::schema::{Fault, Look};
use crate::text::Marks;

/// How many fields a form has at most; further properties are left to the JSON editor.
const FIELDS: usize = 200;

/// Where the focus is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    /// On a field.
    Field(usize),
    /// On the Call button.
    Button,
}

/// A form.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    fields: Vec<(Field, Entry)>,
    /// Arguments that no field stands for.
    rest: Map<String, Value>,
    focus: usize,
}

impl Form {
    /// An empty form for a schema: what is required and has a default begins with it.
    pub(crate) fn new(schema: &Value, marks: Marks) -> Self {
        let look = Look::root(schema);
        let fields = look
            .properties()
            .into_iter()
            .take(FIELDS)
            .map(|(name, place)| Field::new(name, &place, look.requires(name), marks))
            .map(|field| {
                let entry = Entry::first(&field);
                (field, entry)
            })
            .collect();
        Self {
            fields,
            rest: Map::new(),
            focus: 0,
        }
    }

    /// Whether a form can say what the schema asks for. Otherwise the JSON editor is the place to
    /// begin: a schema of alternatives, or one whose arguments have free names.
    pub(crate) fn suits(schema: &Value) -> bool {
        let look = Look::root(schema);
        let alternatives = ["anyOf", "oneOf", "allOf"]
            .iter()
            .any(|keyword| look.list(keyword).len() > 1);
        let count = look.properties().len();
        let free_names = look.get("patternProperties").is_some()
            || look
                .get("additionalProperties")
                .is_some_and(|more| more.is_object());
        !alternatives && count <= FIELDS && (count > 0 || !free_names) && look.unresolved.is_none()
    }

    /// The fields with what stands in them.
    pub(crate) fn fields(&self) -> &[(Field, Entry)] {
        &self.fields
    }

    /// Names of arguments that no field stands for.
    pub(crate) fn rest(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rest.keys().map(String::as_str)
    }

    /// Where the focus is: on the button when there is nothing to fill in.
    pub(crate) fn focus(&self) -> Focus {
        match self.focus {
            at if at < self.fields.len() => Focus::Field(at),
            _ => Focus::Button,
        }
    }

    /// Moves the focus, the button after the last field, round the ends.
    pub(crate) fn step(&mut self, forward: bool) {
        let stops = self.fields.len() + 1;
        let by = if forward { 1 } else { stops - 1 };
        self.focus = (self.focus.min(self.fields.len()) + by) % stops;
    }

    /// Puts the focus on a field or the button.
    pub(crate) fn focus_on(&mut self, focus: Focus) {
        self.focus = match focus {
            Focus::Field(at) => at.min(self.fields.len()),
            Focus::Button => self.fields.len(),
        };
    }

    /// The field that has the focus, to change what stands in it.
    pub(crate) fn focused(&mut self) -> Option<(&Field, &mut Entry)> {
        self.fields
            .get_mut(self.focus)
            .map(|(field, entry)| (&*field, entry))
    }

    /// The arguments as they would be sent.
    pub(crate) fn arguments(&self) -> Map<String, Value> {
        let mut arguments: Map<String, Value> = self
            .fields
            .iter()
            .filter_map(|(field, entry)| Some((field.name.clone(), entry.value(field)?)))
            .collect();
        arguments.extend(self.rest.clone());
        arguments
    }

    /// Fills the form: what is not among the arguments is left out of the call.
    pub(crate) fn fill(&mut self, arguments: &Map<String, Value>) {
        let mut rest = arguments.clone();
        for (field, entry) in &mut self.fields {
            *entry = match rest.shift_remove(&field.name) {
                Some(value) => Entry::of(field, &value),
                None => Entry::Absent,
            };
        }
        self.rest = rest;
    }

    /// What the fields themselves know to be wrong, before any schema is asked.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        self.fields
            .iter()
            .filter_map(|(field, entry)| {
                let message = entry.trouble(field)?;
                let name = field.name.replace('~', "~0").replace('/', "~1");
                Some(Fault::new(format!("/{name}"), message))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "required": ["path", "mode"], "properties": {
            "path": {"type": "string"},
            "lines": {"type": "integer", "default": 10},
            "ratio": {"type": ["number", "null"]},
            "deep": {"type": "boolean"},
            "mode": {"enum": ["fast", "slow", 3, null], "default": "slow"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "a/b": {"type": "object"},
        }})
    }

    fn form() -> Form {
        Form::new(&schema(), Marks::Unicode)
    }

    #[test]
    fn a_fresh_form_sends_nothing_but_required_defaults() {
        assert_eq!(Value::from(form().arguments()), json!({"mode": "slow"}));
    }

    #[test]
    fn the_focus_walks_over_the_fields_and_the_button_and_round() {
        let mut form = form();
        assert_eq!(form.focus(), Focus::Field(0));
        form.step(false);
        assert_eq!(form.focus(), Focus::Button);
        form.step(true);
        assert_eq!(form.focus(), Focus::Field(0));
    }

    #[test]
    fn with_nothing_to_fill_in_the_button_has_the_focus() {
        let form = Form::new(&json!({"type": "object"}), Marks::Unicode);
        assert_eq!(form.focus(), Focus::Button);
        assert!(Form::suits(&json!({"type": "object"})));
    }

    #[test]
    fn alternatives_and_free_names_are_for_the_json_editor() {
        for schema in [
            json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "patternProperties": {"^x": {}}}),
            json!({"$ref": "https://example.org/x"}),
        ] {
            assert!(!Form::suits(&schema), "{schema}");
        }
        assert!(Form::suits(&schema()));
    }

    #[test]
    fn arguments_without_a_field_stay_in_the_call() {
        let mut form = form();
        let arguments = json!({"path": "a", "other": [1], "lines": "many", "mode": 3});
        form.fill(arguments.as_object().unwrap());
        assert_eq!(form.rest().collect::<Vec<_>>(), ["other"]);
        assert_eq!(Value::from(form.arguments()), arguments);
        let faults = form.faults();
        assert_eq!(
            faults,
            [Fault::new(
                "/lines",
                "not a whole number: it would be sent as text"
            )]
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9f64).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[0-9]{1,3}|true|null|fast|\\{\\}|\"x\"| 5".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a-z/~]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_argument_that_goes_in_comes_out_again(values in prop::collection::vec((
            prop::sample::select(vec!["path", "lines", "ratio", "deep", "mode", "tags", "a/b", "other"]),
            any_json(),
        ), 0..8)) {
            let arguments: Map<String, Value> =
                values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let mut first = form();
            first.fill(&arguments);
            prop_assert_eq!(&first.arguments(), &arguments);
            let mut second = form();
            second.fill(&first.arguments());
            prop_assert_eq!(second.arguments(), arguments);
        }
    }
}
