//! The arguments of a call to a demo server, read with errors that say what to send instead.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::server::ToolSpec;

/// Checked arguments: required ones are there, and there are no unknown ones.
pub(super) struct Arguments(JsonObject);

impl Arguments {
    /// Checks the names against the tool's schema. `null` counts as absent.
    pub(super) fn checked(mut arguments: JsonObject, spec: &ToolSpec) -> Result<Self, String> {
        arguments.retain(|_, value| !value.is_null());
        if let Some(unknown) = arguments
            .keys()
            .find(|key| spec.properties.get(key.as_str()).is_none())
        {
            let known: Vec<&str> = spec
                .properties
                .as_object()
                .map(|known| known.keys().map(String::as_str).collect())
                .unwrap_or_default();
            return Err(format!(
                "`{}` takes no argument `{unknown}`; it takes `{}`",
                spec.name,
                known.join("`, `")
            ));
        }
        match spec
            .required
            .iter()
            .find(|key| !arguments.contains_key(**key))
        {
            Some(missing) => Err(format!("`{}` needs the argument `{missing}`", spec.name)),
            None => Ok(Self(arguments)),
        }
    }

    /// A string; `None` when absent.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, String> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` must be a string")),
        }
    }

    /// A string; empty when absent, which required ones never are.
    pub(super) fn required_text(&self, key: &str) -> Result<&str, String> {
        Ok(self.text(key)?.unwrap_or_default())
    }

    /// A finite number; `None` when absent.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, String> {
        match self.0.get(key).map(Value::as_f64) {
            None => Ok(None),
            Some(Some(number)) if number.is_finite() => Ok(Some(number)),
            Some(_) => Err(format!("`{key}` must be a number")),
        }
    }

    /// A whole number of a range; `default` when absent.
    pub(super) fn whole(
        &self,
        key: &str,
        default: u32,
        range: std::ops::RangeInclusive<u32>,
    ) -> Result<u32, String> {
        let found = match self.0.get(key) {
            None => return Ok(default),
            Some(value) => value.as_u64().and_then(|number| u32::try_from(number).ok()),
        };
        found
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = range.into_inner();
                format!("`{key}` must be a whole number from {least} to {most}")
            })
    }

    /// A list of finite numbers; empty when absent.
    pub(super) fn numbers(&self, key: &str) -> Result<Vec<f64>, String> {
        self.list(key, "numbers", |value| {
            value.as_f64().filter(|n| n.is_finite())
        })
    }

    /// A list of strings; empty when absent.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        self.list(key, "strings", |value| value.as_str().map(str::to_owned))
    }

    /// A boolean; false when absent.
    pub(super) fn flag(&self, key: &str) -> Result<bool, String> {
        match self.0.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(format!("`{key}` must be true or false")),
        }
    }

    fn list<V>(
        &self,
        key: &str,
        what: &str,
        read: impl Fn(&Value) -> Option<V>,
    ) -> Result<Vec<V>, String> {
        let wrong = || format!("`{key}` must be a list of {what}");
        match self.0.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| read(item).ok_or_else(wrong))
                .collect(),
            Some(_) => Err(wrong()),
        }
    }
}
