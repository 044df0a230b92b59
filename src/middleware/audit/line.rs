//! One line of the audit file.

use serde::Serialize;
use serde_json::{Value, json};

use crate::clock::Stamp;
use crate::middleware::Redactor;
use crate::secrets::Secrets;
use crate::tool::{Call, ErrorKind};

/// A call that ended, as it is queued.
#[derive(Clone, Debug)]
pub(super) struct Line {
    call_id: String,
    session: Option<String>,
    tool: String,
    arguments: Value,
    begun: Stamp,
    /// Absent until the call has ended.
    end: Option<(Option<ErrorKind>, u64)>,
}

/// The line as it is written. The names and their order are fixed (rule 9.8).
#[derive(Serialize)]
struct Written<'l> {
    time: Stamp,
    call_id: &'l str,
    session: Option<&'l str>,
    tool: &'l str,
    arguments: &'l Value,
    is_error: bool,
    error_kind: Option<ErrorKind>,
    duration_ms: u64,
}

impl Line {
    /// What is known when a call begins.
    pub(super) fn begin(call: &Call) -> Self {
        Self {
            call_id: call.id.to_string(),
            session: call.session.as_deref().map(Into::into),
            tool: call.tool.to_string(),
            arguments: call.arguments.clone(),
            begun: Stamp::now(),
            end: None,
        }
    }

    /// The call ends now.
    pub(super) fn ended(mut self, kind: Option<ErrorKind>) -> Self {
        let took = Stamp::now().at.saturating_duration_since(self.begun.at);
        let ms = (took.as_secs_f64() * 1_000.0).round();
        // Saturates; a call of that length has other worries.
        self.end = Some((kind, ms as u64));
        self
    }

    /// The JSON, with what has to be hidden hidden. The id stays as it is, so that a line can be
    /// matched with what others keep about the call.
    pub(super) fn write(mut self, redactor: Option<&Redactor>, secrets: &Secrets) -> String {
        self.arguments = as_object(self.arguments);
        if let Some(redactor) = redactor {
            redactor.json(&mut self.arguments);
            let texts = [Some(&mut self.tool), self.session.as_mut()];
            for text in texts.into_iter().flatten() {
                *text = redactor.text(text).0.into_owned();
            }
        }
        let (error_kind, duration_ms) = self.end.unwrap_or_default();
        let session = self.session.as_deref().map(|text| secrets.mask(text));
        let written = Written {
            time: self.begun,
            call_id: &secrets.mask(&self.call_id),
            session: session.as_deref(),
            tool: &secrets.mask(&self.tool),
            arguments: &secrets.mask_json(&self.arguments),
            is_error: error_kind.is_some(),
            error_kind,
            duration_ms,
        };
        // Strings and JSON values cannot fail to serialize.
        serde_json::to_string(&written).unwrap_or_default()
    }
}

/// The arguments are always an object in the file, so that its readers need one shape: what is none
/// (a `validation` error, rule 1.2) stands under `_not_an_object`.
fn as_object(arguments: Value) -> Value {
    match arguments {
        Value::Object(_) => arguments,
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        other => json!({"_not_an_object": other}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::settings::RedactSettings;

    #[test]
    fn a_line_has_the_fixed_fields_and_hides_what_has_to_be_hidden() {
        let redactor = Redactor::new(&RedactSettings {
            patterns: vec![r"\w+@\w+".into()],
            replacement: "[mail]".into(),
        })
        .unwrap();
        let secrets = Secrets::default();
        secrets.add("hunter22");
        let none = (None, 0);
        let failed = (Some(ErrorKind::Denied), 12);
        for (claim, arguments, session, end, expected) in [
            (
                "an object",
                json!({"to": "a@b", "a@b": ["hunter22", 3]}),
                Some("s"),
                none,
                r#""session":"s","tool":"t","arguments":{"to":"[mail]","[mail]":["••••",3]},"is_error":false,"error_kind":null,"duration_ms":0}"#,
            ),
            (
                "nothing",
                json!(null),
                None,
                failed,
                r#""session":null,"tool":"t","arguments":{},"is_error":true,"error_kind":"denied","duration_ms":12}"#,
            ),
            (
                "no object",
                json!(["x@y"]),
                Some("x@y"),
                none,
                r#""session":"[mail]","tool":"t","arguments":{"_not_an_object":["[mail]"]},"is_error":false,"error_kind":null,"duration_ms":0}"#,
            ),
        ] {
            let mut call = Call::new("t", arguments);
            call.id = "call-x".into();
            call.session = session.map(Into::into);
            let mut line = Line::begin(&call);
            line.end = Some(end);
            let time = line.begun.wall;
            assert_eq!(
                line.write(Some(&redactor), &secrets),
                format!(r#"{{"time":"{time}","call_id":"call-x",{expected}"#),
                "{claim}"
            );
        }
    }
}
