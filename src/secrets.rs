//! Values that must never be seen: what environment expansion put into a deployment (rule 10.3).
//!
//! Every text that leaves the process by a log, a screen, an error, an audit line or an export
//! passes [`Secrets::mask`]. What a model or a `call` gets as a result does not.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::percent::segment;

/// What stands in place of a secret.
pub const MASK: &str = "••••";

/// Shorter values are not masked: they would blot out innocent text.
const SHORTEST: usize = 6;

/// A shared, growing set of secret values.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Vec<Arc<str>>>>);

impl Secrets {
    /// Adds a value; one of fewer than six characters is ignored.
    pub fn add(&self, value: &str) {
        if value.chars().count() < SHORTEST {
            return;
        }
        // Most values are seen again and again; making the other forms is what costs.
        if self.0.read().iter().any(|known| **known == *value) {
            return;
        }
        let mut values = self.0.write();
        for form in forms(value) {
            if !values.iter().any(|known| **known == *form) {
                values.push(form.into());
            }
        }
        // The longest first, so that a secret inside another does not leave the rest of it.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    }

    /// The text with every secret replaced by [`MASK`].
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in self.0.read().iter() {
            if masked.contains(&**secret) {
                masked = Cow::Owned(masked.replace(&**secret, MASK));
            }
        }
        masked
    }

    /// The value with every string in it masked, keys included.
    pub fn mask_json(&self, value: &serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::String(text) => Value::String(self.mask(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.mask_json(item)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, item)| (self.mask(key).into_owned(), self.mask_json(item)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Whether nothing is secret.
    pub fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} values)", self.0.read().len())
    }
}

/// The value itself and the forms in which it turns up inside JSON text and URLs.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    if let Ok(json) = serde_json::to_string(value) {
        forms.push(json[1..json.len() - 1].to_owned());
    }
    forms.push(segment(value));
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_plain_in_json_and_in_a_url() {
        let secrets = Secrets::default();
        secrets.add("p/ss\"word");
        assert_eq!(secrets.mask("x p/ss\"word y"), "x •••• y");
        assert_eq!(secrets.mask(r#"{"k":"p/ss\"word"}"#), r#"{"k":"••••"}"#);
        assert_eq!(
            secrets.mask("http://h/?k=p%2Fss%22word"),
            "http://h/?k=••••"
        );
    }

    #[test]
    fn short_values_are_left_alone_and_the_longest_secret_goes_first() {
        let secrets = Secrets::default();
        secrets.add("abcde");
        assert!(secrets.is_empty());
        secrets.add("secret");
        secrets.add("secret-and-more");
        assert_eq!(secrets.mask("secret-and-more secret"), "•••• ••••");
    }
}
