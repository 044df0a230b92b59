//! What a failure says: what was tried, what came back, the last words, what to do. As pairs of
//! label and text, which the screen styles and `y` copies.

use jiff::tz::TimeZone;
use toolcrib::source::{Failure, FailureKind, Launch, ServerStatus};

use crate::console::figures;

/// How many of the last words on stderr the card holds.
const LAST_WORDS: usize = 8;

/// The time of day of a stamp.
pub(super) fn time(stamp: toolcrib::clock::Stamp, zone: &TimeZone) -> String {
    stamp
        .wall
        .to_zoned(zone.clone())
        .strftime("%H:%M:%S")
        .to_string()
}

/// The card of a server's newest failure.
pub(super) fn card(
    server: &ServerStatus,
    failure: &Failure,
    zone: &TimeZone,
) -> Vec<(&'static str, String)> {
    let mut card = vec![
        ("what", failure.message.clone()),
        (
            "when",
            format!(
                "{}, after {}",
                time(failure.at, zone),
                figures::latency(failure.after)
            ),
        ),
        ("tried", tried(&server.launch)),
    ];
    card.extend(
        came_back(&failure.kind)
            .into_iter()
            .map(|text| ("came back", text)),
    );
    let skip = failure.stderr.len().saturating_sub(LAST_WORDS);
    for line in failure.stderr.iter().skip(skip) {
        card.push(("stderr", format!("{}  {}", time(line.at, zone), line.text)));
    }
    if let Some(advice) = &failure.advice {
        card.push(("do next", advice.clone()));
    }
    card
}

/// The card as text to be pasted into a report.
pub(super) fn card_text(server: &ServerStatus, failure: &Failure, zone: &TimeZone) -> String {
    let mut text = format!(
        "server {} of source {}, {}\n",
        server.name, server.source, server.state
    );
    for (label, value) in card(server, failure, zone) {
        text.push_str(&format!("{label}: {value}\n"));
    }
    text
}

/// How the server was started or reached, in one line.
pub(super) fn tried(launch: &Launch) -> String {
    match launch {
        Launch::Stdio {
            command, args, cwd, ..
        } => {
            let args = args.iter().map(|arg| quoted(arg));
            let line: Vec<_> = std::iter::once(quoted(command)).chain(args).collect();
            format!("started `{}` in {cwd}", line.join(" "))
        }
        Launch::Http { url, .. } => format!("asked {url}"),
    }
}

/// An argument as it would be typed.
pub(super) fn quoted(arg: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "-_=./:,@%+".contains(char);
    if !arg.is_empty() && arg.chars().all(plain) {
        arg.to_owned()
    } else {
        format!("'{}'", arg.replace('\'', "'\\''"))
    }
}

/// What came back, by type.
fn came_back(kind: &FailureKind) -> Vec<String> {
    let or_nothing = |text: &str| match text.is_empty() {
        true => "an empty body".to_owned(),
        false => text.to_owned(),
    };
    match kind {
        // A command with a directory in it is not looked for on the path.
        FailureKind::CommandNotFound { command, .. } if command.contains('/') => {
            vec![format!("no executable file `{command}`")]
        }
        FailureKind::CommandNotFound { command, path } => vec![
            format!("no executable file `{command}`"),
            format!("searched {path}"),
        ],
        FailureKind::SpawnFailed => vec!["the process could not be started".into()],
        FailureKind::ProcessExited { code, signal } => vec![match (code, signal) {
            (_, Some(signal)) => format!("signal {signal}{}", signal_name(*signal)),
            (Some(code), None) => format!("exit code {code}"),
            (None, None) => "the process is gone; its exit code is not known".into(),
        }],
        FailureKind::OutputClosed => {
            vec!["its stdout was closed while the process lives on".into()]
        }
        FailureKind::Proxy { address } => {
            vec![format!(
                "nothing from the server: the proxy {address} stood between"
            )]
        }
        FailureKind::ConnectionRefused => vec!["connection refused: nothing listens there".into()],
        FailureKind::ConnectionReset => vec!["the connection broke".into()],
        FailureKind::NameNotResolved => vec!["the host name has no address".into()],
        FailureKind::Tls { expired: true } => vec!["the certificate has expired".into()],
        FailureKind::Tls { expired: false } => vec!["the TLS handshake failed".into()],
        FailureKind::TimedOut => vec!["no answer in time".into()],
        FailureKind::HttpStatus {
            status,
            body,
            www_authenticate,
        } => {
            let mut lines = vec![format!("HTTP {status}")];
            lines.extend(
                www_authenticate
                    .iter()
                    .map(|header| format!("WWW-Authenticate: {header}")),
            );
            lines.push(or_nothing(body));
            lines
        }
        FailureKind::NotMcp { content_type, body } => vec![
            format!("no MCP, but a body of type {content_type}"),
            or_nothing(body),
        ],
        FailureKind::RpcError { code, message } => {
            vec![format!("JSON-RPC error {code}: {message}")]
        }
        FailureKind::UnsupportedProtocol { offered } => {
            vec![format!("the server offers protocol {offered} alone")]
        }
        FailureKind::ProbesMissed => vec!["two probes in a row were not answered".into()],
        FailureKind::BadSettings => vec!["the settings cannot work".into()],
        FailureKind::Other => Vec::new(),
    }
}

/// The names of the signals that end servers in practice.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (HUP)",
        2 => " (INT)",
        6 => " (ABRT)",
        9 => " (KILL)",
        11 => " (SEGV)",
        13 => " (PIPE)",
        15 => " (TERM)",
        _ => "",
    }
}
