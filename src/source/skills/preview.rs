//! The request that a call would send, as text with every secret masked (skills 7).

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::model::HttpTemplate;
use super::template::UnsetVariable;
use crate::percent::segment;
use crate::secrets::{MASK, Secrets};

/// Method, URL, headers and body; variables are masked however short they are.
///
/// # Errors
/// Why no request could be made of these arguments, in a sentence.
pub(super) fn preview(
    template: &HttpTemplate,
    arguments: &Map<String, Value>,
    secrets: &Secrets,
) -> Result<String, String> {
    let masked = |_: &str| Some(MASK.to_owned());
    let text = || -> Result<String, String> {
        let words = |error: UnsetVariable| error.to_string();
        let mut query = Vec::new();
        for (name, value) in &template.query {
            query.push((
                name.clone(),
                value.expand(arguments, &masked).map_err(words)?,
            ));
        }
        let url = template.url.expand(arguments, &masked, &query);
        let url = url.map_err(|error| error.to_string())?;
        // The mask itself is encoded where a variable stands in a query.
        let mut text = format!(
            "{} {}\n",
            template.method,
            url.replace(&segment(MASK), MASK)
        );
        for (name, value) in &template.headers {
            let value = value.expand(arguments, &masked).map_err(words)?;
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name}: {value}");
        }
        if let Some(body) = &template.body
            && let Some(body) = body.expand(arguments, &masked).map_err(words)?
        {
            let body = serde_json::to_string_pretty(&body).unwrap_or_default();
            let _ = write!(text, "\n{body}\n");
        }
        Ok(text)
    };
    match text() {
        Ok(text) => Ok(secrets.mask(&text).into_owned()),
        Err(error) => Err(secrets.mask(&error).into_owned()),
    }
}
