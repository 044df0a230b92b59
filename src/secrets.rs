//! Values that must never be seen: what environment expansion put into a deployment (rule 10.3).
//!
//! Every text that leaves the process by a log, a screen, an error, an audit line or an export
//! passes [`Secrets::mask`]. What a model or a `call` gets as a result does not.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::percent::{form, path, segment};

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

    /// A text is cut at byte `at`: what that leaves of a secret is one too, from six characters on.
    pub fn add_rest(&self, text: &str, at: usize) {
        let mut rests: Vec<&str> = Vec::new();
        for secret in self.0.read().iter() {
            // Where a secret would have to begin for the cut to go through it.
            let begins = at.saturating_sub(secret.len().saturating_sub(1))..at;
            let split = begins
                .filter_map(|begin| Some((begin, text.get(begin..)?)))
                .find(|(begin, rest)| begin + secret.len() > at && rest.starts_with(&**secret));
            rests.extend(split.and_then(|(begin, _)| text.get(begin..at)));
        }
        for rest in rests {
            self.add(rest);
        }
    }

    /// Takes the values of another set over.
    pub fn absorb(&self, other: &Self) {
        if Arc::ptr_eq(&self.0, &other.0) {
            return;
        }
        let values: Vec<Arc<str>> = other.0.read().clone();
        for value in values {
            self.add(&value);
        }
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

    /// As [`Secrets::mask_json`]; `None` if there is no secret in it.
    pub(crate) fn mask_changed(&self, value: &serde_json::Value) -> Option<serde_json::Value> {
        self.is_in(value).then(|| self.mask_json(value))
    }

    fn is_in(&self, value: &serde_json::Value) -> bool {
        use serde_json::Value;
        let has = |text: &str| matches!(self.mask(text), Cow::Owned(_));
        match value {
            Value::String(text) => has(text),
            Value::Array(items) => items.iter().any(|item| self.is_in(item)),
            Value::Object(map) => map.iter().any(|(key, item)| has(key) || self.is_in(item)),
            _ => false,
        }
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

/// The value itself, without the white space around it if it has any, and the forms in which
/// both turn up inside JSON text, URLs, forms and HTML: a server that is sent one echoes another.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let trimmed = value.trim();
    if trimmed.len() < value.len() && trimmed.chars().count() >= SHORTEST {
        forms.push(trimmed.to_owned());
    }
    for plain in forms.clone() {
        if let Ok(json) = serde_json::to_string(&plain) {
            let json = &json[1..json.len() - 1];
            forms.push(json.replace('/', "\\/"));
            forms.push(json.to_owned());
        }
        for encoded in [segment(&plain), form(&plain), path(&plain)] {
            forms.push(lower_hex(&encoded));
            forms.push(encoded);
        }
        let html = plain
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        forms.push(html.replace('"', "&quot;").replace('\'', "&#39;"));
        forms.push(html);
    }
    forms
}

/// A percent-encoded text with the hex digits in small letters, as many programs write them.
fn lower_hex(encoded: &str) -> String {
    let mut hex = 0_u8;
    let small = |c: char| {
        let in_hex = hex > 0;
        hex = if c == '%' { 2 } else { hex.saturating_sub(1) };
        if in_hex { c.to_ascii_lowercase() } else { c }
    };
    encoded.chars().map(small).collect()
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
    fn a_secret_is_masked_in_whatever_form_it_is_echoed() {
        let secrets = Secrets::default();
        secrets.add(" p/s <&> Zé\"q+\n");
        for echoed in [
            "p/s <&> Zé\"q+",
            r#"p\/s <&> Zé\"q+"#,
            "p%2Fs%20%3C%26%3E%20Z%C3%A9%22q%2B",
            "p%2fs%20%3c%26%3e%20Z%c3%a9%22q%2b",
            "p%2Fs+%3C%26%3E+Z%C3%A9%22q%2B",
            "p/s%20%3C&%3E%20Z%C3%A9%22q+",
            "p/s &lt;&amp;&gt; Zé&quot;q+",
            "p/s &lt;&amp;&gt; Zé\"q+",
        ] {
            let text = format!("[{echoed}]");
            assert_eq!(secrets.mask(&text), "[••••]", "{echoed}");
        }
        assert_eq!(lower_hex("A%2FB%C3%A9%"), "A%2fB%c3%a9%");
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
