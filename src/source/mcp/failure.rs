//! What a failure means and how it is told: by type and status, never by text (rules 8.3, 8.4).

use super::link::Verdict;
use super::{ServerSettings, TransportSettings};
use crate::secrets::Secrets;
use crate::source::FailureKind;

/// How far an attempt had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The process is being started, or the address reached.
    Starting,
    /// The first requests of the protocol are out.
    Handshake,
    /// The tools are being listed.
    Listing,
    /// It was connected.
    Connected,
}

impl Stage {
    fn before(self) -> &'static str {
        match self {
            Self::Starting => "before it was started",
            Self::Handshake => "before it answered",
            Self::Listing => "before it had listed its tools",
            Self::Connected => "while it was connected",
        }
    }
}

/// JSON-RPC codes of servers that are there, but cannot answer just now. `-32000` to `-32099` are
/// the servers' own; the exceptions are the revision's, which say that the request is wrong.
fn is_passing(code: i64) -> bool {
    const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    const HEADER_MISMATCH: i64 = -32020;
    const INTERNAL_ERROR: i64 = -32603;
    match code {
        UNSUPPORTED_PROTOCOL_VERSION | MISSING_CLIENT_CAPABILITY | HEADER_MISMATCH => false,
        INTERNAL_ERROR | -32099..=-32000 => true,
        _ => false,
    }
}

/// Whether a failed attempt is worth another one.
pub(super) fn verdict(kind: &FailureKind) -> Verdict {
    let rejected = match kind {
        FailureKind::HttpStatus { status, .. } => {
            (300..500).contains(status) && !matches!(status, 408 | 425 | 429)
        }
        FailureKind::Tls { expired } => !expired,
        FailureKind::RpcError { code, .. } => !is_passing(*code),
        FailureKind::NotMcp { .. }
        | FailureKind::UnsupportedProtocol { .. }
        | FailureKind::BadSettings => true,
        FailureKind::CommandNotFound { .. }
        | FailureKind::SpawnFailed
        | FailureKind::ProcessExited { .. }
        | FailureKind::OutputClosed
        | FailureKind::ConnectionRefused
        | FailureKind::ConnectionReset
        | FailureKind::NameNotResolved
        | FailureKind::Proxy { .. }
        | FailureKind::TimedOut
        | FailureKind::ProbesMissed
        | FailureKind::Other => false,
    };
    if rejected {
        Verdict::Rejected
    } else {
        Verdict::Unreachable
    }
}

/// Where the server is, in words.
fn place(settings: &ServerSettings) -> String {
    match &settings.transport {
        TransportSettings::Stdio { command, .. } => format!("`{command}`"),
        TransportSettings::Http { url, .. } => format!("`{url}`"),
    }
}

/// What happened, in one sentence; `detail` is what a library had to say, if anything.
pub(super) fn message(
    kind: &FailureKind,
    stage: Stage,
    settings: &ServerSettings,
    detail: Option<&str>,
) -> String {
    let place = place(settings);
    let told = match kind {
        FailureKind::CommandNotFound { command, .. } if command.contains('/') => {
            format!("`{command}` is no executable file")
        }
        FailureKind::CommandNotFound { command, path } => {
            format!("no executable file named `{command}` is on the path `{path}`")
        }
        FailureKind::SpawnFailed => format!("{place} cannot be started"),
        FailureKind::ProcessExited { code, signal } => {
            format!("{place} {} {}", ending(*code, *signal), stage.before())
        }
        FailureKind::OutputClosed => {
            format!("{place} closed its stdout {} and lives on", stage.before())
        }
        FailureKind::ConnectionRefused => format!("nothing listens at {place}"),
        FailureKind::ConnectionReset => format!("{place} broke the connection {}", stage.before()),
        FailureKind::NameNotResolved => format!("the host name of {place} has no address"),
        FailureKind::Proxy { address } => {
            format!("the proxy `{address}` let no connection to {place} through")
        }
        FailureKind::Tls { expired: true } => {
            format!("the certificate of {place} is not valid at this time")
        }
        FailureKind::Tls { expired: false } => format!("no trusted TLS connection to {place}"),
        FailureKind::TimedOut => format!("{place} gave no answer in time, {}", late(stage)),
        FailureKind::HttpStatus { status, .. } => {
            let meaning = http::StatusCode::from_u16(*status)
                .ok()
                .and_then(|status| status.canonical_reason())
                .map_or_else(String::new, |reason| format!(" ({reason})"));
            format!("{place} answered with HTTP status {status}{meaning}")
        }
        FailureKind::NotMcp { content_type, .. } => {
            format!("{place} answered with something that is not MCP (`{content_type}`)")
        }
        FailureKind::RpcError { code, message } => {
            format!("{place} answered with error {code}: {message}")
        }
        FailureKind::UnsupportedProtocol { offered } => {
            format!("{place} speaks no protocol revision that is allowed here; it offers {offered}")
        }
        FailureKind::ProbesMissed => format!("{place} left two probes in a row unanswered"),
        FailureKind::BadSettings => format!("the settings for {place} cannot work"),
        FailureKind::Other => format!("the connection to {place} ended {}", stage.before()),
    };
    match detail {
        Some(detail) if !detail.is_empty() => format!("{told}: {detail}"),
        _ => told,
    }
}

fn late(stage: Stage) -> &'static str {
    match stage {
        Stage::Starting => "not even to connect",
        Stage::Handshake => "not to the first request",
        Stage::Listing => "not to `tools/list`",
        Stage::Connected => "though it was connected",
    }
}

fn ending(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(9)) => "was killed (signal 9)".to_owned(),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "exited".to_owned(),
    }
}

/// What to do next, where there is something to do.
pub(super) fn advice(kind: &FailureKind, settings: &ServerSettings) -> Option<String> {
    let server = &settings.name;
    Some(match kind {
        FailureKind::CommandNotFound { .. } => {
            format!("install it, or give its full path as `command` of `{server}`")
        }
        FailureKind::SpawnFailed => {
            format!("check `command` and `cwd` of `{server}`")
        }
        FailureKind::ProcessExited { .. } => {
            "its last lines on stderr say why; repair that, and it is started again".to_owned()
        }
        FailureKind::OutputClosed => {
            "a server over stdio has to keep its stdout open; see its log".to_owned()
        }
        FailureKind::ConnectionRefused => {
            format!("start the server, or correct `url` of `{server}`")
        }
        FailureKind::NameNotResolved => format!("correct the host in `url` of `{server}`"),
        FailureKind::Proxy { .. } => {
            "start the proxy, or correct it in `HTTPS_PROXY`, `HTTP_PROXY` \
             or `ALL_PROXY`; what `NO_PROXY` names is reached without it"
                .to_owned()
        }
        FailureKind::HttpStatus { status: 407, .. } => {
            "give the proxy its credentials in `HTTP_PROXY`: `http://user:password@host:port`"
                .to_owned()
        }
        FailureKind::Tls { expired: true } => "renew the certificate, or set the clock".to_owned(),
        FailureKind::Tls { expired: false } => {
            "let the system trust the issuer of its certificate".to_owned()
        }
        FailureKind::TimedOut => {
            "see its log; a slow start needs a longer `connect_timeout`".to_owned()
        }
        FailureKind::HttpStatus {
            status: 401 | 403, ..
        } => format!("give credentials that the server accepts in `headers` of `{server}`"),
        FailureKind::HttpStatus {
            status: 404 | 405, ..
        } => format!("correct the path in `url` of `{server}`"),
        FailureKind::HttpStatus {
            status: 300..=399, ..
        } => format!("redirects are not followed: write the final address as `url` of `{server}`"),
        FailureKind::NotMcp { .. } => {
            format!("this is no MCP endpoint: correct `url` of `{server}`")
        }
        FailureKind::UnsupportedProtocol { .. } => {
            format!("change `protocol` of `{server}`, or update the server")
        }
        FailureKind::BadSettings => format!("correct the settings of `{server}`"),
        FailureKind::HttpStatus { .. }
        | FailureKind::RpcError { .. }
        | FailureKind::ConnectionReset
        | FailureKind::ProbesMissed
        | FailureKind::Other => return None,
    })
}

/// The same in the middle of a call, to follow the name of the server; and whether the call may
/// have run.
pub(super) fn in_a_call(kind: &FailureKind) -> (String, bool) {
    match kind {
        FailureKind::HttpStatus { status, .. } => {
            // Somebody in between may have given up on a call that runs.
            let may_have_run = matches!(status, 500..600);
            (format!("answered with HTTP status {status}"), may_have_run)
        }
        FailureKind::ConnectionRefused => ("cannot be reached: nothing listens".to_owned(), false),
        FailureKind::NameNotResolved => ("has no address".to_owned(), false),
        FailureKind::Proxy { address } => (
            format!("cannot be reached through the proxy `{address}`"),
            false,
        ),
        FailureKind::Tls { .. } => ("has no trusted TLS connection".to_owned(), false),
        FailureKind::NotMcp { content_type, .. } => (
            format!("answered with something that is not MCP (`{content_type}`)"),
            true,
        ),
        _ => ("broke the connection".to_owned(), true),
    }
}

/// The type with its texts masked.
pub(super) fn masked(kind: FailureKind, secrets: &Secrets) -> FailureKind {
    let mask = |text: String| secrets.mask(&text).into_owned();
    match kind {
        FailureKind::CommandNotFound { command, path } => FailureKind::CommandNotFound {
            command: mask(command),
            path: mask(path),
        },
        FailureKind::HttpStatus {
            status,
            body,
            www_authenticate,
        } => FailureKind::HttpStatus {
            status,
            body: mask(body),
            www_authenticate: www_authenticate.map(mask),
        },
        FailureKind::NotMcp { content_type, body } => FailureKind::NotMcp {
            content_type: mask(content_type),
            body: mask(body),
        },
        FailureKind::RpcError { code, message } => FailureKind::RpcError {
            code,
            message: mask(message),
        },
        FailureKind::UnsupportedProtocol { offered } => FailureKind::UnsupportedProtocol {
            offered: mask(offered),
        },
        FailureKind::Proxy { address } => FailureKind::Proxy {
            address: mask(address),
        },
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16) -> FailureKind {
        FailureKind::HttpStatus {
            status,
            body: String::new(),
            www_authenticate: None,
        }
    }

    fn rpc(code: i64) -> FailureKind {
        FailureKind::RpcError {
            code,
            message: "no".into(),
        }
    }

    #[test]
    fn unreachable_and_rejected_are_told_apart_by_type_and_status() {
        let unreachable = [
            (
                "command not found",
                FailureKind::CommandNotFound {
                    command: "x".into(),
                    path: "/bin".into(),
                },
            ),
            ("cannot start", FailureKind::SpawnFailed),
            (
                "exited during start",
                FailureKind::ProcessExited {
                    code: Some(1),
                    signal: None,
                },
            ),
            ("stdout closed", FailureKind::OutputClosed),
            ("refused", FailureKind::ConnectionRefused),
            ("reset", FailureKind::ConnectionReset),
            ("dns", FailureKind::NameNotResolved),
            (
                "proxy",
                FailureKind::Proxy {
                    address: "http://p:1".into(),
                },
            ),
            ("timeout", FailureKind::TimedOut),
            ("probes", FailureKind::ProbesMissed),
            ("expired certificate", FailureKind::Tls { expired: true }),
            ("request timeout", status(408)),
            ("too early", status(425)),
            ("too many requests", status(429)),
            ("server error", status(500)),
            ("bad gateway", status(502)),
            ("unavailable", status(503)),
            ("odd server error", status(599)),
            ("internal error", rpc(-32603)),
            ("busy", rpc(-32000)),
            ("unknown end", FailureKind::Other),
        ];
        for (name, kind) in unreachable {
            assert_eq!(verdict(&kind), Verdict::Unreachable, "{name}");
        }
        let rejected = [
            ("moved", status(301)),
            ("found", status(302)),
            ("permanent redirect", status(308)),
            ("bad request", status(400)),
            ("unauthorized", status(401)),
            ("forbidden", status(403)),
            ("not found", status(404)),
            ("method not allowed", status(405)),
            ("gone", status(410)),
            ("legal", status(451)),
            ("other tls", FailureKind::Tls { expired: false }),
            ("invalid request", rpc(-32600)),
            ("method not found", rpc(-32601)),
            ("invalid params", rpc(-32602)),
            ("parse error", rpc(-32700)),
            ("unsupported version", rpc(-32022)),
            (
                "html",
                FailureKind::NotMcp {
                    content_type: "text/html".into(),
                    body: "<html>".into(),
                },
            ),
            (
                "no common revision",
                FailureKind::UnsupportedProtocol {
                    offered: "`1999-01-01`".into(),
                },
            ),
            ("bad settings", FailureKind::BadSettings),
        ];
        for (name, kind) in rejected {
            assert_eq!(verdict(&kind), Verdict::Rejected, "{name}");
        }
    }
}
