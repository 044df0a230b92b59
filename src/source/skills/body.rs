//! Templates of request bodies: any JSON shape, in which a value that is exactly one placeholder
//! keeps its JSON type (skills 5.3). Pure.

use serde_json::{Map, Value};

use super::template::{
    Piece, Template, TemplateError, UnsetVariable, Variables, argument, variable,
};

/// A body with placeholders.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyTemplate {
    /// A value without strings.
    Fixed(Value),
    /// A string.
    Text(Template),
    /// A list.
    List(Vec<BodyTemplate>),
    /// A map, in the order of the file.
    Map(Vec<(String, BodyTemplate)>),
}

impl BodyTemplate {
    /// Parses every string of a value. What is no template is handed to `report` with the path of
    /// keys and indices that leads to it, and stands in the body as nothing.
    pub fn parse(value: &Value, report: &mut dyn FnMut(&[String], TemplateError)) -> Self {
        Self::parse_at(value, &mut Vec::new(), report)
    }

    fn parse_at(
        value: &Value,
        path: &mut Vec<String>,
        report: &mut dyn FnMut(&[String], TemplateError),
    ) -> Self {
        let mut below = |step: String, item: &Value| {
            path.push(step);
            let item = Self::parse_at(item, path, report);
            path.pop();
            item
        };
        match value {
            Value::String(text) => match Template::parse(text) {
                Ok(template) => Self::Text(template),
                Err(error) => {
                    report(path, error);
                    Self::Fixed(Value::Null)
                }
            },
            Value::Array(items) => Self::List(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| below(index.to_string(), item))
                    .collect(),
            ),
            Value::Object(map) => Self::Map(
                map.iter()
                    .map(|(key, item)| (key.clone(), below(key.clone(), item)))
                    .collect(),
            ),
            other => Self::Fixed(other.clone()),
        }
    }

    /// The value that it was read from.
    pub fn as_written(&self) -> Value {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(template) => Value::String(template.to_string()),
            Self::List(items) => items.iter().map(Self::as_written).collect(),
            Self::Map(entries) => {
                let entries = entries.iter();
                let written = entries.map(|(key, item)| (key.clone(), item.as_written()));
                Value::Object(written.collect())
            }
        }
    }

    /// Every template in it.
    pub fn templates(&self) -> Box<dyn Iterator<Item = &Template> + '_> {
        match self {
            Self::Fixed(_) => Box::new(std::iter::empty()),
            Self::Text(template) => Box::new(std::iter::once(template)),
            Self::List(items) => Box::new(items.iter().flat_map(Self::templates)),
            Self::Map(entries) => Box::new(entries.iter().flat_map(|(_, item)| item.templates())),
        }
    }

    /// The body; `None` when all of it is one missing argument. Below that a missing argument
    /// drops its key and is null in a list.
    ///
    /// # Errors
    /// When a variable is not set.
    pub fn expand(
        &self,
        arguments: &Map<String, Value>,
        variables: Variables<'_>,
    ) -> Result<Option<Value>, UnsetVariable> {
        Ok(Some(match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(template) => match template.single() {
                Some(Piece::Argument(path)) => return Ok(argument(arguments, path).cloned()),
                Some(Piece::Env(name)) => Value::String(variable(variables, name)?),
                _ => Value::String(template.expand(arguments, variables)?),
            },
            Self::List(items) => items
                .iter()
                .map(|item| Ok(item.expand(arguments, variables)?.unwrap_or_default()))
                .collect::<Result<_, UnsetVariable>>()?,
            Self::Map(entries) => {
                let mut map = Map::new();
                for (key, item) in entries {
                    if let Some(value) = item.expand(arguments, variables)? {
                        map.insert(key.clone(), value);
                    }
                }
                Value::Object(map)
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: Value) -> BodyTemplate {
        BodyTemplate::parse(&value, &mut |path, error| panic!("{path:?}: {error}"))
    }

    #[test]
    fn a_value_that_is_one_placeholder_keeps_its_type() {
        let body = parse(json!({
            "n": "{{.n}}", "b": "{{ .b }}", "o": "{{.o}}", "text": "n={{.n}}", "fixed": [1, true],
            "null": "{{.null}}", "gone": "{{.gone}}", "list": ["{{.gone}}", "{{.n}}"],
            "deep": {"gone": "{{.gone}}"}, "env": "{{env:TOK}}",
        }));
        let arguments = json!({"n": 5, "b": false, "o": {"k": [1]}, "null": null});
        let arguments = arguments.as_object().cloned().unwrap();
        let variables = |_: &str| Some("sekret".to_owned());
        assert_eq!(
            body.expand(&arguments, &variables).unwrap(),
            Some(json!({
                "n": 5, "b": false, "o": {"k": [1]}, "text": "n=5", "fixed": [1, true],
                "null": null, "list": [null, 5], "deep": {}, "env": "sekret",
            }))
        );
    }

    #[test]
    fn every_wrong_template_is_found_with_its_path() {
        let body = json!({"a": [{"b": "x {{y}}"}], "c": "{{"});
        let mut found = Vec::new();
        BodyTemplate::parse(&body, &mut |path, error| {
            found.push((path.join("/"), error.offset));
        });
        assert_eq!(found, [("a/0/b".to_owned(), 2), ("c".to_owned(), 0)]);
    }

    #[test]
    fn a_body_that_is_one_missing_argument_is_no_body() {
        let body = parse(json!("{{.all}}"));
        assert_eq!(body.expand(&Map::new(), &|_| None).unwrap(), None);
    }
}
