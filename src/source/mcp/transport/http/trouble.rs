//! What went wrong below HTTP, found by walking the causes by type.

use std::error::Error;
use std::io::ErrorKind;

use hyper_util::client::proxy::matcher::Matcher;

use super::dns::NotResolved;
use crate::source::FailureKind;
use crate::source::mcp::transport::Trouble;

/// A trouble as an error of the client.
#[derive(Debug, thiserror::Error)]
#[error("{:?}", .0.kind)]
pub(in super::super::super) struct HttpTrouble(pub(in super::super::super) Trouble);

/// The type of an error of the client.
pub(super) fn of(error: &reqwest::Error) -> Trouble {
    if error.is_builder() {
        return Trouble {
            kind: FailureKind::BadSettings,
            detail: Some(innermost(error).to_string()),
        };
    }
    let mut kind = None;
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(found) = kind_of(current) {
            kind = Some(found);
        }
        cause = current.source();
    }
    let proxy = error
        .url()
        .filter(|_| error.is_connect() && !matches!(kind, Some(FailureKind::Tls { .. })))
        .and_then(proxy_for);
    if let Some(address) = proxy {
        kind = Some(FailureKind::Proxy { address });
    }
    let kind = kind.unwrap_or(if error.is_timeout() {
        FailureKind::TimedOut
    } else if error.is_connect() {
        FailureKind::Other
    } else {
        // Sent, and the answer never became whole.
        FailureKind::ConnectionReset
    });
    // The innermost cause says it in the fewest words; the address is told anyway.
    Trouble {
        detail: Some(innermost(error).to_string()),
        kind,
    }
}

/// The proxy that the client takes for an address, by the same variables that it reads.
fn proxy_for(url: &reqwest::Url) -> Option<String> {
    let proxy = Matcher::from_system().intercept(&url.as_str().parse().ok()?)?;
    let uri = proxy.uri();
    // Without the user and the password that may stand in it.
    let port = uri
        .port_u16()
        .map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{}://{}{port}", uri.scheme_str()?, uri.host()?))
}

fn innermost<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last
}

fn kind_of(error: &(dyn Error + 'static)) -> Option<FailureKind> {
    if error.is::<NotResolved>() {
        return Some(FailureKind::NameNotResolved);
    }
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls_kind(tls));
    }
    let io = error.downcast_ref::<std::io::Error>()?;
    // What an I/O error wraps is no `source` of it.
    if let Some(tls) = io
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        return Some(tls_kind(tls));
    }
    match io.kind() {
        ErrorKind::ConnectionRefused => Some(FailureKind::ConnectionRefused),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some(FailureKind::ConnectionReset),
        ErrorKind::TimedOut => Some(FailureKind::TimedOut),
        _ => None,
    }
}

fn tls_kind(error: &rustls::Error) -> FailureKind {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let expired = matches!(
        error,
        rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
        )
    );
    FailureKind::Tls { expired }
}
