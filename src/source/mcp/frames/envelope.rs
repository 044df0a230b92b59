//! What a message is, read without building it: everything but the few fields is passed over.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::FrameKind;

/// The outside of a message.
#[derive(Default)]
pub(super) struct Envelope<'m> {
    pub(super) method: Option<Cow<'m, str>>,
    /// As JSON.
    pub(super) id: Option<Cow<'m, str>>,
    /// The tool that a `tools/call` names.
    pub(super) tool: Option<Cow<'m, str>>,
    has_result: bool,
    has_error: bool,
}

#[derive(Deserialize)]
struct Read<'m> {
    #[serde(borrow)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow)]
    id: Option<&'m RawValue>,
    #[serde(borrow)]
    params: Option<&'m RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Params<'m> {
    #[serde(borrow)]
    name: Option<Cow<'m, str>>,
}

impl<'m> Envelope<'m> {
    pub(super) fn read(message: &'m [u8]) -> Self {
        let Ok(read) = serde_json::from_slice::<Read<'m>>(message) else {
            return Self::default();
        };
        let tool = read
            .params
            .filter(|_| read.method.as_deref() == Some("tools/call"))
            .and_then(|params| serde_json::from_str::<Params<'m>>(params.get()).ok())
            .and_then(|params| params.name);
        Self {
            method: read.method,
            id: read
                .id
                .map(|id| Cow::Borrowed(id.get()))
                .filter(|id| id != "null"),
            tool,
            has_result: read.result.is_some(),
            has_error: read.error.is_some(),
        }
    }

    pub(super) fn kind(&self) -> FrameKind {
        match (&self.method, &self.id) {
            (Some(_), Some(_)) => FrameKind::Request,
            (Some(_), None) => FrameKind::Notification,
            // An error may have no id: its sender could not read what it answers.
            (None, _) if self.has_error => FrameKind::Error,
            (None, Some(_)) if self.has_result => FrameKind::Answer,
            (None, _) => FrameKind::Stray,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outside_tells_what_a_message_is() {
        let rows = [
            ("request", r#"{"id":1,"method":"ping"}"#, FrameKind::Request),
            (
                "notification",
                r#"{"method":"notifications/initialized"}"#,
                FrameKind::Notification,
            ),
            ("answer", r#"{"id":"a","result":{}}"#, FrameKind::Answer),
            (
                "error",
                r#"{"id":1,"error":{"code":-1,"message":"no"}}"#,
                FrameKind::Error,
            ),
            (
                "error without an id",
                r#"{"id":null,"error":{"code":-32700,"message":"?"}}"#,
                FrameKind::Error,
            ),
            ("other JSON", r#"{"level":"info"}"#, FrameKind::Stray),
            ("no object", "[1,2]", FrameKind::Stray),
            ("no JSON", "hello", FrameKind::Stray),
        ];
        for (name, text, kind) in rows {
            assert_eq!(Envelope::read(text.as_bytes()).kind(), kind, "{name}");
        }
    }

    #[test]
    fn only_a_call_of_a_tool_names_a_tool() {
        let read = |text: &'static str| Envelope::read(text.as_bytes()).tool.map(Cow::into_owned);
        let call = r#"{"id":1,"method":"tools/call","params":{"arguments":{},"name":"a\"b"}}"#;
        assert_eq!(read(call).as_deref(), Some("a\"b"));
        let prompt = r#"{"id":1,"method":"prompts/get","params":{"name":"x"}}"#;
        assert_eq!(read(prompt), None);
        let odd = r#"{"id":1,"method":"tools/call","params":[1]}"#;
        assert_eq!(read(odd), None);
    }
}
