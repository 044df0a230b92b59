//! Templates of addresses: each placeholder is encoded by the part of the URL in which it stands
//! (skills 5.3). Pure.

use serde_json::{Map, Value};

use super::template::{Piece, Template, TemplateError, Variables, argument, as_text, variable};
use crate::percent::{form, segment};

/// A parsed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlTemplate {
    template: Template,
    /// The part of the URL in which each piece starts.
    parts: Vec<Part>,
}

/// An address whose placeholders are filled.
struct Filled {
    url: String,
    /// Where the first argument begins.
    first_argument: Option<usize>,
    /// The last argument of the path.
    from_arguments: Option<String>,
}

/// Where in a URL something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Scheme, host or port.
    Origin,
    Path,
    Query,
    Fragment,
}

/// Why an address cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// An argument of the path is missing or null.
    #[error("the argument `{0}` is missing; the URL path needs it")]
    Missing(String),
    /// An argument of the path would walk out of it.
    #[error("the argument `{0}` may not be `.` or `..` in the URL path")]
    Dots(String),
    /// There is no host in front of the arguments: the first of them would become one.
    #[error("the URL has no host in front of its arguments; is a variable in it empty?")]
    NoHost,
    /// A variable is not set.
    #[error(transparent)]
    Unset(#[from] super::template::UnsetVariable),
}

impl UrlTemplate {
    /// Parses an address.
    ///
    /// # Errors
    /// When it is no template, or an argument stands in scheme, host or port.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let template = Template::parse(text)?;
        let mut parts = Vec::with_capacity(template.pieces().len());
        let mut part = Part::Origin;
        // A base address out of a variable has its scheme in itself.
        let mut origin_open = true;
        let mut literal = String::new();
        for piece in template.pieces() {
            parts.push(part);
            match piece {
                Piece::Text(text) => {
                    literal.push_str(text);
                    part = advance(part, text, &mut origin_open);
                }
                Piece::Env(_) => origin_open = false,
                Piece::Argument(path) if part == Part::Origin => {
                    return Err(TemplateError {
                        offset: literal.chars().count(),
                        message: format!(
                            "`{{{{.{}}}}}` stands in scheme, host or port, where only \
                             `{{{{env:NAME}}}}` may",
                            path.join(".")
                        ),
                    });
                }
                Piece::Argument(_) => {}
            }
        }
        Ok(Self { template, parts })
    }

    /// The template as a whole.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The first names of the arguments in the path, each once.
    pub fn path_arguments(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for (piece, part) in self.template.pieces().iter().zip(&self.parts) {
            if let (Piece::Argument(path), Part::Path) = (piece, part)
                && !names.contains(&path[0].as_str())
            {
                names.push(&path[0]);
            }
        }
        names
    }

    /// The address. `query` replaces keys that the address has already and keeps the others
    /// (skills 5.5).
    ///
    /// # Errors
    /// When an argument of the path is missing or walks out of it, or a variable is not set.
    pub fn expand(
        &self,
        arguments: &Map<String, Value>,
        variables: Variables<'_>,
        query: &[(String, String)],
    ) -> Result<String, UrlError> {
        let filled = self.fill(arguments, variables)?;
        if filled
            .first_argument
            .is_some_and(|at| !ends_host(&filled.url[..at]))
        {
            return Err(UrlError::NoHost);
        }
        // Two harmless arguments side by side, or one beside a literal dot, can make `..` too.
        if let Some(name) = filled.from_arguments
            && self.made_dots(&filled.url)
        {
            return Err(UrlError::Dots(name));
        }
        Ok(with_query(filled.url, query))
    }

    /// The address as [`UrlTemplate::expand`] makes it, but unchecked: where variables are masked,
    /// scheme and host may be.
    ///
    /// # Errors
    /// When an argument of the path is missing or is `.` or `..`, or a variable is not set.
    pub fn expand_masked(
        &self,
        arguments: &Map<String, Value>,
        masked: Variables<'_>,
        query: &[(String, String)],
    ) -> Result<String, UrlError> {
        Ok(with_query(self.fill(arguments, masked)?.url, query))
    }

    fn fill(
        &self,
        arguments: &Map<String, Value>,
        variables: Variables<'_>,
    ) -> Result<Filled, UrlError> {
        let mut url = String::new();
        let mut from_arguments = None;
        let mut first_argument = None;
        for (piece, part) in self.template.pieces().iter().zip(&self.parts) {
            if let Piece::Argument(_) = piece {
                first_argument.get_or_insert(url.len());
            }
            match (piece, part) {
                (Piece::Text(text), _) => url.push_str(text),
                (Piece::Env(name), Part::Query) => url.push_str(&form(&variable(variables, name)?)),
                (Piece::Env(name), _) => url.push_str(&variable(variables, name)?),
                (Piece::Argument(path), Part::Path) => {
                    let name = path.join(".");
                    let value = argument(arguments, path).and_then(as_text);
                    let value = value.ok_or_else(|| UrlError::Missing(name.clone()))?;
                    if *value == *"." || *value == *".." {
                        return Err(UrlError::Dots(name));
                    }
                    url.push_str(&segment(&value));
                    from_arguments = Some(name);
                }
                (Piece::Argument(path), Part::Fragment) => {
                    let value = argument(arguments, path).and_then(as_text);
                    url.push_str(&segment(value.as_deref().unwrap_or_default()));
                }
                (Piece::Argument(path), _) => {
                    let value = argument(arguments, path).and_then(as_text);
                    url.push_str(&form(value.as_deref().unwrap_or_default()));
                }
            }
        }
        Ok(Filled {
            url,
            first_argument,
            from_arguments,
        })
    }

    /// Whether a segment that the file does not write as `.` or `..` has become one.
    fn made_dots(&self, url: &str) -> bool {
        let literal: String = self
            .template
            .pieces()
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                _ => "\u{0}",
            })
            .collect();
        dot_segments(url) > dot_segments(&literal)
    }
}

/// The address without the characters that URL parsers leave out wherever they stand.
fn as_parsed(url: &str) -> String {
    let kept = url.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    kept.collect()
}

/// Whether host and port are complete in what stands before the first argument. Parsers skip any
/// number of slashes in front of a host, and take a backslash for a slash.
fn ends_host(before: &str) -> bool {
    let before = as_parsed(before);
    let Some((_, rest)) = before.split_once(':') else {
        return false;
    };
    let rest = rest.trim_start_matches(['/', '\\']);
    rest.find(['/', '\\', '?', '#']).is_some_and(|at| at > 0)
}

fn dot_segments(url: &str) -> usize {
    let url = as_parsed(url);
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\'])
        .filter(|segment| {
            let plain = segment.to_ascii_lowercase().replace("%2e", ".");
            plain == "." || plain == ".."
        })
        .count()
}

/// The part in which a URL goes on after a literal text.
fn advance(part: Part, text: &str, origin_open: &mut bool) -> Part {
    let mut part = part;
    let mut rest = text;
    if part == Part::Origin
        && *origin_open
        && let Some(at) = rest.find("://")
    {
        rest = &rest[at + 3..];
        *origin_open = false;
    }
    for c in rest.chars() {
        part = match (part, c) {
            (_, '#') => Part::Fragment,
            (Part::Origin | Part::Path, '?') => Part::Query,
            (Part::Origin, '/' | '\\') if !*origin_open => Part::Path,
            (same, _) => same,
        };
    }
    part
}

/// Puts query pairs into an address.
fn with_query(url: String, query: &[(String, String)]) -> String {
    if query.is_empty() {
        return url;
    }
    let (before, fragment) = match url.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (url.as_str(), None),
    };
    let (base, old) = before.split_once('?').unwrap_or((before, ""));
    let kept = old.split('&').filter(|pair| {
        let key = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && !query.iter().any(|(name, _)| form(name) == recoded(key))
    });
    let new = query
        .iter()
        .map(|(name, value)| format!("{}={}", form(name), form(value)));
    let pairs: Vec<String> = kept.map(ToOwned::to_owned).chain(new).collect();
    let mut url = format!("{base}?{}", pairs.join("&"));
    if let Some(fragment) = fragment {
        url.push('#');
        url.push_str(fragment);
    }
    url
}

/// A key of a written query in the one form that [`form`] gives it.
fn recoded(key: &str) -> String {
    let bytes = key.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match hex {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    form(&String::from_utf8_lossy(&decoded))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expand(url: &str, arguments: Value, query: &[(&str, &str)]) -> Result<String, String> {
        let arguments = arguments.as_object().cloned().unwrap();
        let variables = |name: &str| match name {
            "BASE" => Some("https://h:8/api".to_owned()),
            "TOK" => Some("a/b+c".to_owned()),
            "EMPTY" => Some(String::new()),
            "SCHEME" => Some("http:".to_owned()),
            _ => None,
        };
        let query: Vec<_> = query
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        UrlTemplate::parse(url)
            .map_err(|error| error.to_string())?
            .expand(&arguments, &variables, &query)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn placeholders_are_encoded_by_where_they_stand() {
        for (claim, url, arguments, expected) in [
            (
                "one segment",
                "http://h/r/{{.r}}/x",
                json!({"r": "a/../b?q=1#f"}),
                "http://h/r/a%2F..%2Fb%3Fq%3D1%23f/x",
            ),
            (
                "unreserved stay",
                "http://h/{{.r}}",
                json!({"r": "aZ9-._~"}),
                "http://h/aZ9-._~",
            ),
            (
                "UTF-8",
                "http://h/{{.r}}",
                json!({"r": "é"}),
                "http://h/%C3%A9",
            ),
            (
                "query",
                "http://h/?q={{.q}}",
                json!({"q": "a b&c=d+"}),
                "http://h/?q=a+b%26c%3Dd%2B",
            ),
            (
                "missing in query",
                "http://h/?q={{.q}}",
                json!({}),
                "http://h/?q=",
            ),
            (
                "env in the path is raw",
                "http://h/{{env:TOK}}",
                json!({}),
                "http://h/a/b+c",
            ),
            (
                "base from env",
                "{{env:BASE}}/{{.r}}",
                json!({"r": "x y"}),
                "https://h:8/api/x%20y",
            ),
            (
                "env as host",
                "http://{{env:TOK}}/x",
                json!({}),
                "http://a/b+c/x",
            ),
            (
                "fragment",
                "http://h/#{{.r}}",
                json!({"r": "x#y"}),
                "http://h/#x%23y",
            ),
        ] {
            assert_eq!(expand(url, arguments, &[]).unwrap(), expected, "{claim}");
        }
    }

    #[test]
    fn what_would_leave_the_path_is_refused() {
        for (url, arguments, name) in [
            ("http://h/{{.r}}", json!({}), "r"),
            ("http://h/{{.a.b}}", json!({"a": {"b": null}}), "a.b"),
            ("http://h/{{.r}}/x", json!({"r": ".."}), "r"),
            ("http://h/{{.r}}/x", json!({"r": "."}), "r"),
            ("http://h/.{{.r}}/x", json!({"r": ""}), "r"),
            ("http://h/x\\{{.r}}", json!({"r": ".."}), "r"),
            ("http://h/.\t{{.r}}", json!({"r": "."}), "r"),
            ("http://h/{{.a}}.{{.r}}/x", json!({"a": "", "r": ""}), "r"),
        ] {
            let error = expand(url, arguments, &[]).unwrap_err();
            assert!(error.contains(&format!("`{name}`")), "{url}: {error}");
        }
        for url in [
            "http:///{{.r}}",
            "http://\\{{.r}}",
            "http://\t/{{.r}}",
            "http://{{env:EMPTY}}/{{.r}}",
            "{{env:SCHEME}}//{{.r}}",
            "{{env:EMPTY}}/{{.r}}",
        ] {
            let error = expand(url, json!({"r": "evil.example"}), &[]).unwrap_err();
            assert!(error.contains("no host"), "{url}: {error}");
        }
        assert!(expand("http://h/../{{.r}}", json!({"r": "x"}), &[]).is_ok());
    }

    #[test]
    fn an_argument_in_scheme_host_or_port_is_refused_at_once() {
        for url in [
            "{{.s}}://h/",
            "http://{{.h}}/",
            "http://h:{{.p}}/x",
            "{{.u}}",
        ] {
            assert!(UrlTemplate::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_query_replaces_equal_keys_and_keeps_the_others() {
        let url = "http://h/p?a=1&b%20c=2&d=3#f";
        assert_eq!(
            expand(url, json!({}), &[("a", "x y"), ("b c", "&"), ("new", "é")]).unwrap(),
            "http://h/p?d=3&a=x+y&b+c=%26&new=%C3%A9#f"
        );
        assert_eq!(
            expand("http://h", json!({}), &[("a", "1")]).unwrap(),
            "http://h?a=1"
        );
    }
}
