//! Results, their parts and the kinds of error.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What kind of failure an error result reports (rule 1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No tool has that name.
    NotFound,
    /// The tool exists, but what stands behind it does not answer now.
    NotAvailable,
    /// The arguments are wrong.
    Validation,
    /// Time ran out.
    Timeout,
    /// An operator or a policy said no.
    Denied,
    /// The caller gave up.
    Cancelled,
    /// Too many calls wait already.
    Overloaded,
    /// The tool or a layer panicked.
    Panic,
    /// The tool itself reports a failure.
    Tool,
}

impl ErrorKind {
    /// Every kind, in the order of the specification.
    pub const ALL: [Self; 9] = [
        Self::NotFound,
        Self::NotAvailable,
        Self::Validation,
        Self::Timeout,
        Self::Denied,
        Self::Cancelled,
        Self::Overloaded,
        Self::Panic,
        Self::Tool,
    ];

    /// The fixed name, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotAvailable => "not_available",
            Self::Validation => "validation",
            Self::Timeout => "timeout",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Overloaded => "overloaded",
            Self::Panic => "panic",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One piece of a result. Its JSON form is the one commands print: media as base64.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// The encoded picture.
        bytes: Bytes,
        /// For example `image/png`.
        media_type: String,
    },
    /// Sound.
    Audio {
        /// The encoded sound.
        bytes: Bytes,
        /// For example `audio/wav`.
        media_type: String,
    },
    /// A reference to a file or resource.
    File {
        /// Where it is.
        uri: String,
        /// Its media type, if known.
        media_type: Option<String>,
        /// Its display name, if known.
        name: Option<String>,
    },
    /// A JSON value.
    Data {
        /// The value.
        value: Value,
        /// Usually `application/json`.
        media_type: String,
    },
}

impl Part {
    /// A data part of type `application/json`.
    pub fn json(value: Value) -> Self {
        Self::Data {
            value,
            media_type: "application/json".into(),
        }
    }

    /// The fixed name of the kind of part.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Image { .. } => "image",
            Self::Audio { .. } => "audio",
            Self::File { .. } => "file",
            Self::Data { .. } => "data",
        }
    }

    /// The length in bytes of the part's JSON (rule 9.4).
    pub fn encoded_len(&self) -> usize {
        let (shown, media) = match self {
            // The length of base64 is known without encoding it.
            Self::Image { bytes, media_type } | Self::Audio { bytes, media_type } => (
                &Self::Image {
                    bytes: Bytes::new(),
                    media_type: media_type.clone(),
                },
                base64::encoded_len(bytes.len(), true).unwrap_or(usize::MAX),
            ),
            other => (other, 0),
        };
        let mut length = Length(0);
        // Counting cannot fail, and neither can the parts.
        let _ = serde_json::to_writer(&mut length, shown);
        length.0.saturating_add(media)
    }
}

/// Counts what is written to it.
struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind())?;
        match self {
            Self::Text(text) => map.serialize_entry("text", text)?,
            Self::Image { bytes, media_type } | Self::Audio { bytes, media_type } => {
                map.serialize_entry("media_type", media_type)?;
                map.serialize_entry("data", &STANDARD.encode(bytes))?;
            }
            Self::File {
                uri,
                media_type,
                name,
            } => {
                map.serialize_entry("uri", uri)?;
                if let Some(media_type) = media_type {
                    map.serialize_entry("media_type", media_type)?;
                }
                if let Some(name) = name {
                    map.serialize_entry("name", name)?;
                }
            }
            Self::Data { value, media_type } => {
                map.serialize_entry("media_type", media_type)?;
                map.serialize_entry("value", value)?;
            }
        }
        map.end()
    }
}

/// What a call came to. `error_kind` is the only failure channel (rule 1.3).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ToolResult {
    /// The pieces, in order.
    pub parts: Vec<Part>,
    /// Set exactly when the result is an error.
    pub error_kind: Option<ErrorKind>,
    /// Whether a limit cut something away.
    pub truncated: bool,
    /// What went wrong beside the call, such as an output file that could not be written. Shown to
    /// the operator, never to the model.
    pub warnings: Vec<String>,
    /// Whether nothing ran: this is the result of an equal call before it (skills 5.9).
    pub replayed: bool,
}

impl ToolResult {
    /// A success with these parts.
    pub fn ok(parts: Vec<Part>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    /// A success with one text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::ok(vec![Part::Text(text.into())])
    }

    /// An error with one text part that says what happened.
    pub fn error(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Text(message.into())],
            error_kind: Some(kind),
            ..Self::default()
        }
    }

    /// The error of a call that its caller gave up.
    pub fn cancelled(tool: &str) -> Self {
        Self::error(
            ErrorKind::Cancelled,
            format!("the call of `{tool}` was cancelled"),
        )
    }

    /// Whether the call failed.
    pub fn is_error(&self) -> bool {
        self.error_kind.is_some()
    }

    /// All text parts, joined by line breaks.
    pub fn all_text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_have_the_json_that_commands_print() {
        let parts = [
            Part::Text("hi".into()),
            Part::Image {
                bytes: Bytes::from_static(&[1, 2, 3]),
                media_type: "image/png".into(),
            },
            Part::File {
                uri: "file:///a".into(),
                media_type: None,
                name: Some("a".into()),
            },
            Part::json(json!({"k": 1})),
            Part::Audio {
                bytes: Bytes::from_static(&[1, 2, 3, 4]),
                media_type: "audio/wav".into(),
            },
        ];
        assert_eq!(
            serde_json::to_value(&parts).unwrap(),
            json!([
                {"type": "text", "text": "hi"},
                {"type": "image", "media_type": "image/png", "data": "AQID"},
                {"type": "file", "uri": "file:///a", "name": "a"},
                {"type": "data", "media_type": "application/json", "value": {"k": 1}},
                {"type": "audio", "media_type": "audio/wav", "data": "AQIDBA=="},
            ])
        );
        for part in &parts {
            let json = serde_json::to_string(part).unwrap();
            assert_eq!(part.encoded_len(), json.len(), "{json}");
        }
    }
}
