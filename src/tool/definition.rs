//! A tool's definition, its size and its hash.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::secrets::Secrets;

/// Name, description and input schema of a tool: what a model is sent. Cheap to clone; size and
/// hash are computed once, when it is made (rule 4.7).
#[derive(Clone)]
pub struct Definition(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    title: Option<String>,
    description: String,
    input_schema: Value,
    bytes: usize,
    hash: String,
}

/// Why a definition cannot be used (rule 1.1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDefinition {
    /// The name is empty.
    #[error("a tool needs a name that is not empty")]
    EmptyName,
    /// The schema is something else than a JSON object.
    #[error("the input schema of `{name}` must be a JSON object, not {found}")]
    SchemaNotObject {
        /// The tool.
        name: String,
        /// The JSON type that stands there.
        found: &'static str,
    },
}

/// The wire form whose length is the size of a definition.
#[derive(serde::Serialize)]
struct Wire<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(rename = "inputSchema")]
    input_schema: &'a Value,
}

/// The longest name that every provider takes (rule 8.9).
const LONGEST_NAME: usize = 64;

/// What to say of a name that stays as written although a provider would refuse it (rule 8.9).
pub(crate) fn doubtful_name(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let reason = if let Some(odd) = name.chars().find(|c| !plain(*c)) {
        format!("`{odd}` is not one of `A-Z a-z 0-9 _ -`")
    } else if name.len() > LONGEST_NAME {
        format!("it has {} characters, more than {LONGEST_NAME}", name.len())
    } else {
        return None;
    };
    Some(format!(
        "a model's provider may refuse the name `{name}`: {reason}"
    ))
}

impl Definition {
    /// Makes a definition.
    ///
    /// # Errors
    /// When the name is empty or the schema is no JSON object (rule 1.1).
    pub fn new(
        name: impl Into<Arc<str>>,
        description: impl Into<String>,
        input_schema: Value,
    ) -> Result<Self, InvalidDefinition> {
        Self::with_title(name, None, description, input_schema)
    }

    /// Makes a definition that also has a display title. The title takes part in ranking and is
    /// shown, but is not sent to the model and does not count.
    ///
    /// # Errors
    /// As [`Definition::new`].
    pub fn with_title(
        name: impl Into<Arc<str>>,
        title: Option<String>,
        description: impl Into<String>,
        input_schema: Value,
    ) -> Result<Self, InvalidDefinition> {
        let (name, description) = (name.into(), description.into());
        if name.is_empty() {
            return Err(InvalidDefinition::EmptyName);
        }
        if !input_schema.is_object() {
            return Err(InvalidDefinition::SchemaNotObject {
                name: name.to_string(),
                found: json_type(&input_schema),
            });
        }
        let bytes = wire_json(&name, &description, &input_schema).len();
        let hash = hash_of(&name, &description, &input_schema);
        Ok(Self(Arc::new(Inner {
            name,
            title,
            description,
            input_schema,
            bytes,
            hash,
        })))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The name, shared.
    pub fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.0.name)
    }

    /// The display title, if there is one.
    pub fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// The description; empty when the tool has none.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// The input schema, always a JSON object.
    pub fn input_schema(&self) -> &Value {
        &self.0.input_schema
    }

    /// Size in bytes: the UTF-8 length of [`Definition::wire_json`] (rule 4.7).
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Hex SHA-256 over the wire form with all object keys sorted, so that a server that merely
    /// reorders keys has not changed its tool.
    pub fn hash(&self) -> &str {
        &self.0.hash
    }

    /// The compact JSON `{"name":…,"description":…,"inputSchema":…}` as the model sees it.
    pub fn wire_json(&self) -> String {
        wire_json(&self.0.name, &self.0.description, &self.0.input_schema)
    }

    /// The definition as it may be shown: with the secrets masked in title, description and schema.
    /// Name, size and hash stay those of what the tool came with.
    pub(crate) fn masked(&self, secrets: &Secrets) -> Self {
        let title = self.title().map(|title| secrets.mask(title));
        let description = secrets.mask(self.description());
        let input_schema = secrets.mask_changed(self.input_schema());
        let is_clean = matches!(title, None | Some(Cow::Borrowed(_)))
            && matches!(description, Cow::Borrowed(_))
            && input_schema.is_none();
        if is_clean {
            return self.clone();
        }
        Self(Arc::new(Inner {
            name: self.shared_name(),
            title: title.map(Cow::into_owned),
            description: description.into_owned(),
            input_schema: input_schema.unwrap_or_else(|| self.input_schema().clone()),
            bytes: self.bytes(),
            hash: self.hash().to_owned(),
        }))
    }

    /// The same definition under another name.
    pub fn renamed(&self, name: impl Into<Arc<str>>) -> Result<Self, InvalidDefinition> {
        Self::with_title(
            name,
            self.0.title.clone(),
            self.0.description.clone(),
            self.0.input_schema.clone(),
        )
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash && self.0.title == other.0.title)
    }
}

impl Eq for Definition {}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Definition({}, {} bytes)", self.0.name, self.0.bytes)
    }
}

impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Definition", 3)?;
        out.serialize_field("name", self.name())?;
        out.serialize_field("description", self.description())?;
        out.serialize_field("input_schema", self.input_schema())?;
        out.end()
    }
}

fn wire_json(name: &str, description: &str, input_schema: &Value) -> String {
    let wire = Wire {
        name,
        description,
        input_schema,
    };
    // A struct of strings and a `Value` has no key that is not a string and cannot fail.
    serde_json::to_string(&wire).unwrap_or_default()
}

fn hash_of(name: &str, description: &str, input_schema: &Value) -> String {
    let text = wire_json(name, description, &sorted(input_schema));
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value with the keys of every object sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            Value::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// The JSON type of a value, for error messages.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_is_the_length_of_the_compact_json_and_a_missing_description_counts_as_empty() {
        let definition = Definition::new("a", "", json!({"type": "object"})).unwrap();
        assert_eq!(
            definition.wire_json(),
            r#"{"name":"a","description":"","inputSchema":{"type":"object"}}"#
        );
        assert_eq!(definition.bytes(), definition.wire_json().len());
    }

    #[test]
    fn reordered_schema_keys_are_the_same_definition_and_changed_text_is_not() {
        let one = Definition::new("a", "d", json!({"type": "object", "x": {"a": 1, "b": 2}}));
        let two = Definition::new("a", "d", json!({"x": {"b": 2, "a": 1}, "type": "object"}));
        assert_eq!(one, two);
        assert_ne!(
            one,
            Definition::new("a", "e", json!({"type": "object", "x": {"a": 1, "b": 2}}))
        );
    }

    #[test]
    fn a_shown_definition_has_no_secret_and_keeps_its_size_and_hash() {
        let secrets = Secrets::default();
        secrets.add("hunter22");
        let schema = json!({"type": "object", "properties": {"k": {"default": "hunter22"}}});
        let came = Definition::with_title(
            "a",
            Some("as hunter22".into()),
            "logged in as hunter22",
            schema,
        )
        .unwrap();
        let shown = came.masked(&secrets);
        assert_eq!(
            shown.wire_json(),
            r#"{"name":"a","description":"logged in as ••••","inputSchema":{"type":"object","properties":{"k":{"default":"••••"}}}}"#
        );
        assert_eq!(shown.title(), Some("as ••••"));
        assert_eq!((shown.bytes(), shown.hash()), (came.bytes(), came.hash()));
        let clean = Definition::new("b", "nothing", json!({})).unwrap();
        assert!(Arc::ptr_eq(&clean.0, &clean.masked(&secrets).0));
    }

    #[test]
    fn an_empty_name_or_a_schema_that_is_no_object_is_refused() {
        assert_eq!(
            Definition::new("", "", json!({})).unwrap_err(),
            InvalidDefinition::EmptyName
        );
        let error = Definition::new("a", "", json!([])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the input schema of `a` must be a JSON object, not an array"
        );
    }
}
