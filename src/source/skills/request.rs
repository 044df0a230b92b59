//! Makes a request out of a template and arguments. Pure, so that the console can show the very
//! request that a call would send.

use std::sync::Arc;

use ::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use ::http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::body::BodyTemplate;
use super::model::HttpTemplate;
use super::template::{Template, UnsetVariable, Variables, as_text};
use super::url::UrlError;
use crate::percent::form;
use crate::secrets::MASK;

/// A request ready to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: ::url::Url,
    /// The address with each variable masked, however short it is.
    pub shown_url: String,
    /// The headers.
    pub headers: HeaderMap,
    /// Headers that may not go to another host: `Authorization`, and those with variables in them.
    pub confidential: Vec<HeaderName>,
    /// The body.
    pub body: Option<Arc<[u8]>>,
    /// Whether a variable is in the body, so that it may not go to another host either.
    pub confidential_body: bool,
}

/// Why no request can be made; nothing has been sent then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The address cannot be made.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The address is none once its placeholders are filled.
    #[error("`{shown}` is no URL: {reason}")]
    NotUrl {
        /// The address with variables masked.
        shown: String,
        /// The cause.
        reason: String,
    },
    /// A header value would be more than one line, or has characters that no header may have.
    #[error("the value of header `{0}` has a line break or control character in it")]
    Header(String),
    /// A variable is not set.
    #[error(transparent)]
    Unset(#[from] UnsetVariable),
}

impl RequestError {
    /// The variable that is not set, if that is the cause.
    pub fn unset(&self) -> Option<&str> {
        match self {
            Self::Unset(UnsetVariable(name)) | Self::Url(UrlError::Unset(UnsetVariable(name))) => {
                Some(name)
            }
            _ => None,
        }
    }
}

/// Fills the placeholders. The address that is shown has every variable masked but the `open` ones.
///
/// # Errors
/// When an argument or a variable does not fit; nothing has been sent then.
pub fn prepare(
    template: &HttpTemplate,
    arguments: &Map<String, Value>,
    variables: Variables<'_>,
    open: &dyn Fn(&str) -> bool,
) -> Result<Request, RequestError> {
    let query = |variables: Variables<'_>| {
        let pairs = template.query.iter();
        pairs
            .map(|(name, value)| Ok((name.clone(), value.expand(arguments, variables)?)))
            .collect::<Result<Vec<_>, UnsetVariable>>()
    };
    let pairs = query(variables)?;
    let written = template.url.expand(arguments, variables, &pairs)?;
    let shown = |name: &str| match open(name) {
        true => variables(name),
        false => Some("\u{0}".into()),
    };
    let pairs = query(&shown)?;
    let shown_url = template.url.expand_masked(arguments, &shown, &pairs)?;
    let shown_url = shown_url.replace("%00", MASK).replace('\u{0}', MASK);
    let url = ::url::Url::parse(&written).map_err(|error| RequestError::NotUrl {
        shown: shown_url.clone(),
        reason: error.to_string(),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(RequestError::NotUrl {
            shown: shown_url,
            reason: "only `http` and `https` are spoken".into(),
        });
    }
    let mut confidential = vec![AUTHORIZATION];
    for (name, value) in &template.headers {
        if value.variables().next().is_some() {
            confidential.push(name.clone());
        }
    }
    let (headers, body) = content(template, arguments, variables)?;
    let mut in_body = template.body.iter().flat_map(BodyTemplate::templates);
    Ok(Request {
        method: template.method.clone(),
        url,
        shown_url,
        headers,
        confidential,
        body,
        confidential_body: in_body.any(|part| part.variables().next().is_some()),
    })
}

/// Headers and body.
///
/// # Errors
/// When a header value or a variable does not fit.
pub(super) fn content(
    template: &HttpTemplate,
    arguments: &Map<String, Value>,
    variables: Variables<'_>,
) -> Result<(HeaderMap, Option<Arc<[u8]>>), RequestError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &template.headers {
        headers.append(name, header(name, value, arguments, variables)?);
    }
    let body = match &template.body {
        Some(body) => body.expand(arguments, variables)?,
        None => None,
    };
    let body = body.map(|body| encode_body(&body, &mut headers));
    Ok((headers, body))
}

fn header(
    name: &HeaderName,
    value: &Template,
    arguments: &Map<String, Value>,
    variables: Variables<'_>,
) -> Result<HeaderValue, RequestError> {
    let value = value.expand(arguments, variables)?;
    HeaderValue::from_bytes(value.trim_matches([' ', '\t']).as_bytes())
        .map_err(|_| RequestError::Header(title_case(name)))
}

/// A header's name as people write it; the library keeps it in small letters.
fn title_case(name: &HeaderName) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| {
            first.to_ascii_uppercase().to_string() + chars.as_str()
        })
    };
    let words: Vec<String> = name.as_str().split('-').map(capital).collect();
    words.join("-")
}

/// JSON, unless a header names another type for which the body has a form of its own: a map as
/// `application/x-www-form-urlencoded`, a string as it is.
fn encode_body(body: &Value, headers: &mut HeaderMap) -> Arc<[u8]> {
    let declared = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media = declared.map(|value| {
        let media = value.split(';').next().unwrap_or_default();
        media.trim().to_ascii_lowercase()
    });
    let is_json = media
        .as_deref()
        .is_none_or(|media| media.ends_with("/json") || media.ends_with("+json"));
    match (media.as_deref(), body) {
        (Some("application/x-www-form-urlencoded"), Value::Object(map)) => {
            let pairs: Vec<String> = map
                .iter()
                .map(|(key, value)| {
                    let value = as_text(value).unwrap_or_default();
                    format!("{}={}", form(key), form(&value))
                })
                .collect();
            pairs.join("&").into_bytes().into()
        }
        (Some(_), Value::String(text)) if !is_json => text.as_bytes().into(),
        _ => {
            headers
                .entry(CONTENT_TYPE)
                .or_insert(HeaderValue::from_static("application/json"));
            body.to_string().into_bytes().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::skills::url::UrlTemplate;

    fn template(url: &str, headers: &[(&str, &str)], body: Option<Value>) -> HttpTemplate {
        HttpTemplate {
            method: Method::POST,
            url: UrlTemplate::parse(url).unwrap(),
            headers: headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), Template::parse(value).unwrap()))
                .collect(),
            query: Vec::new(),
            body: body.map(|body| BodyTemplate::parse(&body, &mut |_, error| panic!("{error}"))),
        }
    }

    fn make(template: &HttpTemplate, arguments: Value) -> Result<Request, RequestError> {
        let variables = |name: &str| match name {
            "TOK" => Some("sek".to_owned()),
            "OPEN" => Some("http://h:1/x".to_owned()),
            _ => None,
        };
        let open = |name: &str| name == "OPEN";
        prepare(template, arguments.as_object().unwrap(), &variables, &open)
    }

    fn body(headers: &[(&str, &str)], body: Value, arguments: Value) -> (String, String) {
        let request = make(&template("http://h/", headers, Some(body)), arguments).unwrap();
        let content_type = request.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
        let body = request.body.unwrap();
        (content_type, String::from_utf8(body.to_vec()).unwrap())
    }

    #[test]
    fn a_body_is_json_unless_a_header_says_otherwise() {
        let arguments = json!({"x": {"a": 1}, "s": "a b&"});
        for (claim, headers, shape, expected) in [
            (
                "json",
                &[][..],
                json!("{{.x}}"),
                ("application/json", r#"{"a":1}"#),
            ),
            (
                "declared json",
                &[("Content-Type", "application/vnd.x+json")],
                json!("{{.s}}"),
                ("application/vnd.x+json", r#""a b&""#),
            ),
            (
                "text",
                &[("content-type", "text/plain")],
                json!("{{.s}}"),
                ("text/plain", "a b&"),
            ),
            (
                "form",
                &[("content-type", "application/x-www-form-urlencoded")],
                json!({"k": "{{.s}}", "n": 1}),
                ("application/x-www-form-urlencoded", "k=a+b%26&n=1"),
            ),
        ] {
            let (content_type, text) = body(headers, shape, arguments.clone());
            assert_eq!((content_type.as_str(), text.as_str()), expected, "{claim}");
        }
    }

    #[test]
    fn a_header_value_with_a_line_break_is_refused_by_name() {
        let template = template("http://h/", &[("X-A", "{{.v}}")], None);
        let error = make(&template, json!({"v": "a\r\nX-Evil: 1"})).unwrap_err();
        assert_eq!(error, RequestError::Header("X-A".into()));
    }

    #[test]
    fn variables_are_masked_in_the_shown_address_however_short() {
        let template = template("http://h/{{env:TOK}}?k={{env:TOK}}&q={{.q}}", &[], None);
        let request = make(&template, json!({"q": "x"})).unwrap();
        assert_eq!(request.url.as_str(), "http://h/sek?k=sek&q=x");
        assert_eq!(request.shown_url, "http://h/••••?k=••••&q=x");
        let open = self::template("{{env:OPEN}}/{{env:TOK}}", &[], None);
        let request = make(&open, json!({})).unwrap();
        assert_eq!(request.shown_url, "http://h:1/x/••••");
    }

    #[test]
    fn an_unset_variable_is_named() {
        let template = template("http://h/", &[("X-A", "{{env:UNSET}}")], None);
        assert_eq!(
            make(&template, json!({})).unwrap_err().unset(),
            Some("UNSET")
        );
    }
}
