//! Turns an answer into a result (skills 5.6). Pure.

use ::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use encoding_rs::{Encoding, UTF_8};

use crate::middleware::settings::DEFAULT_MARKER;
use crate::secrets::Secrets;
use crate::tool::{ErrorKind, Part, ToolResult};

/// Most bytes of a body that are read.
pub(super) const MAX_BODY: usize = 1_048_576;

/// How much of a failed answer's body an error shows, in characters.
const SHOWN_BODY: usize = 256;

/// A body as far as it was read.
#[derive(Clone, Debug)]
pub(super) struct Body {
    /// At most [`MAX_BODY`] bytes.
    pub bytes: Bytes,
    /// Whether there was more.
    pub cut: bool,
}

/// The result of an answer that is a success.
pub(super) fn success(headers: &HeaderMap, body: &Body) -> ToolResult {
    let (media, charset) = content_type(headers);
    let media_part = |kind: fn(Bytes, String) -> Part| {
        if body.cut {
            // Half a picture is none.
            return vec![Part::Text(DEFAULT_MARKER.into())];
        }
        vec![kind(body.bytes.clone(), media.clone())]
    };
    let parts = if media.starts_with("image/") {
        media_part(|bytes, media_type| Part::Image { bytes, media_type })
    } else if media.starts_with("audio/") {
        media_part(|bytes, media_type| Part::Audio { bytes, media_type })
    } else {
        text_parts(&media, charset, body)
    };
    ToolResult {
        truncated: body.cut,
        ..ToolResult::ok(parts)
    }
}

/// The text of a body, and its value beside it if it is JSON.
fn text_parts(media: &str, charset: Option<&'static Encoding>, body: &Body) -> Vec<Part> {
    let named = media.ends_with("/json") || media.ends_with("+json");
    let mut text = decode(&body.bytes, charset, body.cut);
    if body.cut {
        text.push_str(DEFAULT_MARKER);
        return vec![Part::Text(text)];
    }
    // A server that names no type may mean anything by a bare word or number, but hardly anything
    // else by a whole object or list.
    let looks = media.is_empty() && text.trim_start().starts_with(['{', '[']);
    let value = (named || looks).then(|| serde_json::from_str(&text).ok());
    let data = value.flatten().map(|value| Part::Data {
        value,
        media_type: match media {
            "" => "application/json".to_owned(),
            named => named.to_owned(),
        },
    });
    std::iter::once(Part::Text(text)).chain(data).collect()
}

/// The error of an answer that is no success; `request` says what was asked, secrets masked. What
/// the server echoes is masked before it is cut, for half a secret would not be known as one.
pub(super) fn failure(
    request: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &Body,
    secrets: &Secrets,
) -> ToolResult {
    let (_, charset) = content_type(headers);
    let text = decode(&body.bytes, charset, body.cut);
    let shown: String = secrets.mask(&text).chars().take(SHOWN_BODY).collect();
    let reason = status.canonical_reason().unwrap_or_default();
    let status = format!("{} {reason}", status.as_u16());
    let answer = match shown.trim() {
        "" => String::new(),
        _ => format!(": {shown}"),
    };
    ToolResult::error(
        ErrorKind::Tool,
        format!("{request} answered {}{answer}", status.trim_end()),
    )
}

/// Media type in small letters and charset.
fn content_type(headers: &HeaderMap) -> (String, Option<&'static Encoding>) {
    let value = headers
        .get(::http::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut parts = value.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .and_then(|(_, label)| Encoding::for_label(label.trim().trim_matches('"').as_bytes()));
    (media, charset)
}

/// Text by charset, UTF-8 where none is named; a byte order mark wins over both (WHATWG Encoding,
/// "decode"). A character that the end cuts through is left out.
fn decode(bytes: &[u8], charset: Option<&'static Encoding>, cut: bool) -> String {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, length)) => (encoding, &bytes[length..]),
        None => (charset.unwrap_or(UTF_8), bytes),
    };
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length(bytes.len());
    let mut text = String::with_capacity(room.unwrap_or(0));
    // The buffer is as large as the decoder asked for, so that it takes everything at once.
    let _ = decoder.decode_to_string(bytes, &mut text, !cut);
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(content_type: &str, bytes: &[u8], cut: bool) -> ToolResult {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", content_type.parse().unwrap());
        let bytes = Bytes::copy_from_slice(bytes);
        success(&headers, &Body { bytes, cut })
    }

    #[test]
    fn a_body_becomes_parts_by_its_type() {
        let text = |text: &str| Part::Text(text.into());
        for (claim, content_type, bytes, expected) in [
            ("text", "text/plain", &b"hi"[..], vec![text("hi")]),
            ("empty", "", b"", vec![text("")]),
            (
                "latin1",
                "text/plain; charset=iso-8859-1",
                b"caf\xe9",
                vec![text("café")],
            ),
            (
                "quoted charset",
                "text/html; Charset=\"Shift_JIS\"",
                b"\x93\xfa\x96{",
                vec![text("日本")],
            ),
            (
                "a BOM wins",
                "text/plain; charset=latin1",
                b"\xef\xbb\xbf\xc3\xa9",
                vec![text("é")],
            ),
            (
                "json",
                "application/json",
                b"{\"a\":1}",
                vec![text("{\"a\":1}"), Part::json(json!({"a": 1}))],
            ),
            (
                "problem json",
                "application/problem+json; charset=utf-8",
                b"[1]",
                vec![
                    text("[1]"),
                    Part::Data {
                        value: json!([1]),
                        media_type: "application/problem+json".into(),
                    },
                ],
            ),
            ("broken json", "application/json", b"{", vec![text("{")]),
            (
                "json without a type",
                "",
                b"[1]",
                vec![text("[1]"), Part::json(json!([1]))],
            ),
            ("a word without a type", "", b"null", vec![text("null")]),
            (
                "json that says it is text",
                "text/plain",
                b"[1]",
                vec![text("[1]")],
            ),
            (
                "image",
                "image/png",
                b"\x89PNG",
                vec![Part::Image {
                    bytes: Bytes::from_static(b"\x89PNG"),
                    media_type: "image/png".into(),
                }],
            ),
        ] {
            assert_eq!(
                answer(content_type, bytes, false).parts,
                expected,
                "{claim}"
            );
        }
    }

    #[test]
    fn a_cut_body_says_so_and_ends_at_a_whole_character() {
        let result = answer(
            "text/plain",
            "ab\u{e9}".as_bytes().split_last().unwrap().1,
            true,
        );
        assert_eq!(result.parts, [Part::Text(format!("ab{DEFAULT_MARKER}"))]);
        assert!(result.truncated);
        let result = answer("application/json", b"[1]", true);
        assert_eq!(result.parts.len(), 1);
    }

    #[test]
    fn a_failure_shows_the_status_and_256_characters() {
        let body = Body {
            bytes: "é".repeat(300).into(),
            cut: false,
        };
        let status = StatusCode::NOT_FOUND;
        let secrets = Secrets::default();
        let result = failure("GET http://h/", status, &HeaderMap::new(), &body, &secrets);
        assert_eq!(
            result.all_text(),
            format!("GET http://h/ answered 404 Not Found: {}", "é".repeat(256))
        );
        assert_eq!(result.error_kind, Some(ErrorKind::Tool));
    }

    #[test]
    fn a_secret_that_the_cut_would_split_is_masked_whole() {
        let secrets = Secrets::default();
        secrets.add("sekret-token");
        let body = Body {
            bytes: format!("{}sekret-token", "x".repeat(SHOWN_BODY - 6)).into(),
            cut: false,
        };
        let none = HeaderMap::new();
        let result = failure("GET /", StatusCode::NOT_FOUND, &none, &body, &secrets);
        assert!(
            result.all_text().ends_with("x••••"),
            "{}",
            result.all_text()
        );
    }
}
