//! A tool's request as text: as the file writes it, and as a call would send it (skills 7). Pure.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::model::{Action, HttpTemplate};
use super::request::{RequestError, content, prepare};
use super::template::Variables;
use crate::percent::segment;
use crate::secrets::MASK;

/// What a call with these arguments would send; variables are masked however short they are, but
/// for the `open` ones in the address.
///
/// # Errors
/// Why nothing would be sent, in a sentence.
pub(super) fn preview(
    action: &Action,
    arguments: &Map<String, Value>,
    variables: Variables<'_>,
    open: &dyn Fn(&str) -> bool,
) -> Result<String, String> {
    match action {
        Action::Http(template) => {
            http(template, arguments, variables, open).map_err(|error| error.to_string())
        }
        Action::Mcp { server, tool } => {
            let arguments = serde_json::to_string_pretty(arguments).unwrap_or_default();
            Ok(format!("{}\n{arguments}\n", called(server, tool)))
        }
    }
}

fn http(
    template: &HttpTemplate,
    arguments: &Map<String, Value>,
    variables: Variables<'_>,
    open: &dyn Fn(&str) -> bool,
) -> Result<String, RequestError> {
    // The very request first: what keeps it from being sent keeps it from being shown.
    let request = prepare(template, arguments, variables, open)?;
    let masked = |_: &str| Some(MASK.to_owned());
    let (headers, body) = content(template, arguments, &masked)?;
    let mut text = format!("{} {}\n", request.method, request.shown_url);
    for (name, value) in &headers {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{name}: {}",
            String::from_utf8_lossy(value.as_bytes())
        );
    }
    if let Some(body) = body {
        let body = match serde_json::from_slice::<Value>(&body) {
            Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_default(),
            // A form encodes the mask too.
            Err(_) => String::from_utf8_lossy(&body).replace(&segment(MASK), MASK),
        };
        let _ = write!(text, "\n{body}\n");
    }
    Ok(text)
}

/// The request as the file has it, placeholders and all.
pub(super) fn as_written(action: &Action) -> String {
    let template = match action {
        Action::Http(template) => template,
        Action::Mcp { server, tool } => return format!("{}\n", called(server, tool)),
    };
    let mut text = format!("{} {}\n", template.method, template.url.template());
    for (name, value) in &template.query {
        let _ = writeln!(text, "  ?{name}={value}");
    }
    for (name, value) in &template.headers {
        let _ = writeln!(text, "{name}: {value}");
    }
    if let Some(body) = &template.body {
        let body = serde_json::to_string_pretty(&body.as_written()).unwrap_or_default();
        let _ = write!(text, "\n{body}\n");
    }
    text
}

fn called(server: &str, tool: &str) -> String {
    format!("tools/call `{tool}` of the MCP server `{server}`")
}
