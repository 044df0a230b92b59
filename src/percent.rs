//! The percent-encodings of URLs.

use std::fmt::Write as _;

/// One path segment: everything but `A-Za-z0-9-._~` percent-encoded (RFC 3986, 2.3).
pub(crate) fn segment(text: &str) -> String {
    encode(text, false)
}

/// `application/x-www-form-urlencoded`, as the WHATWG URL standard serializes it, but with `~`
/// left as it is.
pub(crate) fn form(text: &str) -> String {
    encode(text, true)
}

/// Only what a URL's path may not hold as it is (WHATWG URL, "path percent-encode set"): how a
/// text that was put into a path raw is sent.
pub(crate) fn path(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'"' | b'#' | b'<' | b'>' | b'?' | b'^' | b'`' | b'{' | b'}' | ..=0x20 | 0x7f.. => {
                // Writing to a string does not fail.
                let _ = write!(out, "%{byte:02X}");
            }
            plain => out.push(char::from(plain)),
        }
    }
    out
}

fn encode(text: &str, plus_for_space: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            b' ' if plus_for_space => out.push('+'),
            other => {
                // Writing to a string does not fail.
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}
