//! Reads the request of a tool (skills 3 and 5).

use std::collections::{BTreeSet, HashMap};

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderName, Method};

use super::File;
use super::texts::Comment;
use crate::deployment::Place;
use crate::deployment::document::{Data, Field, Shape, Table, Value};
use crate::source::skills::{BodyTemplate, HttpTemplate, Piece, Template, UrlTemplate};

pub(super) static HTTP: Table = Table {
    name: "skill_http",
    fields: &[
        Field::optional(
            "method",
            Shape::Name,
            "The method (default: GET, or POST when there is a body).",
        ),
        Field::required("url", Shape::Template, "The address."),
        Field::optional(
            "headers",
            Shape::Map(&Shape::AnyTemplate),
            "Headers of the request.",
        ),
        Field::optional(
            "query",
            Shape::Map(&Shape::AnyTemplate),
            "Query values; they replace equal keys of the address.",
        ),
        Field::optional("body", Shape::AnyTemplate, "The body, in any JSON shape."),
    ],
};

impl File<'_, '_, '_> {
    pub(super) fn request(
        &mut self,
        settings: &Value<'_>,
        allowed: Option<&BTreeSet<String>>,
    ) -> Option<HttpTemplate> {
        let url = self.url(settings, allowed);
        let headers = self.headers(settings, allowed);
        let query = self.texts(settings, "query", allowed);
        // A key with nothing behind it is no body.
        let body = settings
            .get("body")
            .filter(|value| value.node.data != Data::Null)
            .map(|value| self.body(&value, allowed));
        let method = self.method(settings, body.is_some());
        Some(HttpTemplate {
            method: method?,
            url: url?,
            headers,
            query,
            body,
        })
    }

    fn url(
        &mut self,
        settings: &Value<'_>,
        allowed: Option<&BTreeSet<String>>,
    ) -> Option<UrlTemplate> {
        let value = settings.get("url")?;
        let text = value.text()?;
        match UrlTemplate::parse(text) {
            Ok(url) => {
                self.note_variables(&value, url.template(), allowed);
                let written = url.template();
                // Without variables in front, scheme and host stand in the file.
                let starts_fixed = !text.starts_with("{{");
                let lower = text.to_ascii_lowercase();
                if starts_fixed && !(lower.starts_with("http://") || lower.starts_with("https://"))
                {
                    let message = format!("`{text}` must start with `http://` or `https://`");
                    self.reading.error(&value, message);
                } else if url.template().variables().next().is_none()
                    && let Err(error) = url::Url::parse(&filled(written))
                {
                    // Arguments cannot mend what is wrong with scheme, host or port.
                    self.reading
                        .error(&value, format!("`{text}` is no address: {error}"));
                }
                Some(url)
            }
            Err(error) => {
                self.template_error(&value, &error);
                None
            }
        }
    }

    fn headers(
        &mut self,
        settings: &Value<'_>,
        allowed: Option<&BTreeSet<String>>,
    ) -> Vec<(HeaderName, Template)> {
        let mut headers = Vec::new();
        let mut places = HashMap::new();
        if let Some(map) = settings.get("headers") {
            for (name, place, value) in map.entries() {
                match HeaderName::from_bytes(name.as_bytes()) {
                    Ok(header) if [CONTENT_LENGTH, TRANSFER_ENCODING].contains(&header) => {
                        let message =
                            format!("the header `{name}` follows from the body and cannot be set");
                        self.reading.error_at(place, &value.path, message);
                    }
                    Ok(header) => {
                        if let Some(first) = places.insert(header, place) {
                            let message =
                                format!("the header `{name}` is there already, at {first}");
                            self.reading.error_at(place, &value.path, message);
                        }
                    }
                    Err(_) => {
                        let message =
                            format!("`{}` cannot be the name of a header", name.escape_debug());
                        self.reading.error_at(place, &value.path, message);
                    }
                }
            }
        }
        for (name, template) in self.texts(settings, "headers", allowed) {
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                headers.push((name, template));
            }
        }
        headers
    }

    /// A map of texts; numbers and booleans are taken as they are written.
    fn texts(
        &mut self,
        settings: &Value<'_>,
        key: &str,
        allowed: Option<&BTreeSet<String>>,
    ) -> Vec<(String, Template)> {
        let Some(map) = settings.get(key) else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (name, place, value) in map.entries() {
            self.name_is_fixed(name, place, &value.path);
            self.cut_by_comment(&value, Comment::IfJoined);
            let template = match &value.node.data {
                Data::Text(_) => self.template(&value),
                Data::Number(_, written) | Data::Bool(_, written) => Template::parse(written).ok(),
                Data::Null => Template::parse("").ok(),
                _ => {
                    let message = format!("`{name}` must be a text, not {}", value.node.describe());
                    self.reading.error(&value, message);
                    None
                }
            };
            if let Some(template) = template {
                self.note_variables(&value, &template, allowed);
                texts.push((name.to_owned(), template));
            }
        }
        texts
    }

    /// Placeholders stand in values; in a name they would be sent as they are.
    fn name_is_fixed(&self, name: &str, place: Place, path: &str) {
        if name.contains("{{") {
            let message = format!("`{name}` is a name, and placeholders stand in values only");
            self.reading.error_at(place, path, message);
        }
    }

    /// What [`Self::name_is_fixed`] and [`Self::cut_by_comment`] say of a body, however deep.
    fn look_into(&self, value: &Value<'_>) {
        for (name, place, item) in value.entries() {
            self.name_is_fixed(name, place, &item.path);
            self.look_into(&item);
        }
        if let Data::List(_) = value.node.data {
            value.items().iter().for_each(|item| self.look_into(item));
        }
        self.cut_by_comment(value, Comment::IfJoined);
    }

    fn body(&mut self, value: &Value<'_>, allowed: Option<&BTreeSet<String>>) -> BodyTemplate {
        self.look_into(value);
        let mut errors = Vec::new();
        let body = BodyTemplate::parse(&value.json(), &mut |path, error| {
            errors.push((path.to_vec(), error));
        });
        for (path, error) in errors {
            let at = path.iter().fold(value.clone(), |value, step| {
                let index = step.parse::<usize>().ok();
                let item = index.and_then(|index| value.items().into_iter().nth(index));
                value.get(step).or(item).unwrap_or(value)
            });
            self.template_error(&at, &error);
        }
        for template in body.templates() {
            self.note_variables(value, template, allowed);
        }
        body
    }

    fn method(&self, settings: &Value<'_>, has_body: bool) -> Option<Method> {
        let Some(value) = settings.get("method") else {
            return Some(if has_body { Method::POST } else { Method::GET });
        };
        let text = value.text()?;
        match Method::from_bytes(text.to_ascii_uppercase().as_bytes()) {
            Ok(method) if method != Method::CONNECT => Some(method),
            _ => {
                self.reading.error(
                    &value,
                    format!("`{text}` is no method of HTTP that can be used here"),
                );
                None
            }
        }
    }
}

/// The address with something harmless in place of each argument.
fn filled(url: &Template) -> String {
    let pieces = url.pieces().iter();
    pieces
        .map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Argument(_) | Piece::Env(_) => "x",
        })
        .collect()
}
