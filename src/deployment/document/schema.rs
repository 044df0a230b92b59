//! JSON Schema from the tables, for editors.

use serde_json::{Map, Value as Json, json};

use super::shape::{Shape, Table};

/// Collects the schemas of tables under `$defs`.
#[derive(Default)]
pub(in crate::deployment) struct Schemas {
    defs: Map<String, Json>,
}

/// What expansion may turn into another type.
const EXPANDED: &str = r"\$\{env:[^}]+\}";

/// Durations as they are written.
const DURATION: &str = r"^(0|([0-9]+(\.[0-9]*)?(ms|s|m|h))+)$";

impl Schemas {
    /// The schema of a shape.
    pub(in crate::deployment) fn of(&mut self, shape: &Shape) -> Json {
        match shape {
            Shape::Elsewhere | Shape::Any | Shape::AnyTemplate => json!({}),
            Shape::Object => json!({"type": "object"}),
            Shape::Text | Shape::Template | Shape::Pattern => json!({"type": "string"}),
            Shape::Name | Shape::File | Shape::Glob => json!({"type": "string", "minLength": 1}),
            Shape::Bool => or_expanded(json!({"type": "boolean"})),
            Shape::Flag => json!({"enum": [null, {}, true]}),
            Shape::Chance => or_expanded(json!({"anyOf": [
                {"type": "boolean"},
                {"type": "number", "minimum": 0, "maximum": 1},
            ]})),
            Shape::Whole(least, most) => {
                let mut schema = json!({"type": "integer", "minimum": least});
                if *most != i64::MAX {
                    schema["maximum"] = json!(most);
                }
                or_expanded(schema)
            }
            Shape::Share => or_expanded(json!({"type": "number", "minimum": 0, "maximum": 1})),
            Shape::Positive => or_expanded(json!({"type": "number", "exclusiveMinimum": 0})),
            Shape::Duration { zero: true } => or_expanded(json!({"anyOf": [
                {"type": "string", "pattern": DURATION},
                {"const": 0},
            ]})),
            Shape::Duration { zero: false } => {
                or_expanded(json!({"type": "string", "pattern": DURATION}))
            }
            Shape::DurationOrOff => or_expanded(json!({"anyOf": [
                {"const": "off"},
                {"type": "string", "pattern": DURATION},
            ]})),
            Shape::Choice(choices) => or_expanded(json!({"enum": choices})),
            Shape::Url => {
                or_expanded(json!({"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://."}))
            }
            Shape::List(shape) => json!({"type": "array", "items": self.of(shape)}),
            Shape::OneOrMany(shape) => {
                let one = self.of(shape);
                json!({"anyOf": [one, {"type": "array", "items": one}]})
            }
            Shape::Map(shape) => {
                json!({"type": "object", "additionalProperties": self.of(shape)})
            }
            Shape::Fields(table) => self.reference(table),
        }
    }

    /// A reference to the schema of a table, which is added where it is not there yet.
    pub(in crate::deployment) fn reference(&mut self, table: &Table) -> Json {
        if !self.defs.contains_key(table.name) {
            // Tables may hold themselves; the name has to be there before its fields are visited.
            self.defs.insert(table.name.into(), Json::Null);
            let schema = self.table(table);
            self.defs.insert(table.name.into(), schema);
        }
        json!({"$ref": format!("#/$defs/{}", table.name)})
    }

    /// The schema of a table.
    pub(in crate::deployment) fn table(&mut self, table: &Table) -> Json {
        let mut properties = Map::new();
        for field in table.fields {
            let mut schema = self.of(&field.shape);
            if let Json::Object(schema) = &mut schema {
                schema.insert("description".into(), field.doc.into());
            }
            properties.insert(field.key.into(), schema);
        }
        let required: Vec<&str> = table
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.key)
            .collect();
        let mut schema = json!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    /// The schema of a table, to be changed before it goes under `$defs`.
    pub(in crate::deployment) fn define(&mut self, name: &str, schema: Json) {
        self.defs.insert(name.into(), schema);
    }

    /// Everything that was collected.
    pub(in crate::deployment) fn into_defs(self) -> Json {
        Json::Object(self.defs)
    }
}

fn or_expanded(schema: Json) -> Json {
    json!({"anyOf": [schema, {"type": "string", "pattern": EXPANDED}]})
}
