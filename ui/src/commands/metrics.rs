//! The endpoint that Prometheus scrapes (`--metrics ADDR`), for as long as a command runs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio_util::task::AbortOnDropHandle;
use toolcrib::observe::{Exposition, Format};
use toolcrib::runtime::Runtime;

use super::Failure;

/// Serves until it is dropped.
#[derive(Debug)]
pub(crate) struct Metrics {
    _server: AbortOnDropHandle<()>,
}

/// Reads `HOST:PORT`, `:PORT` or `PORT`; without a host it is the loopback address.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    if let Some(port) = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse().ok())
    {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| {
        "write it as `127.0.0.1:9464`, or a port alone for the loopback address".into()
    })
}

/// Serves the runtime's metrics at `/metrics`, if an address is given.
///
/// # Errors
/// When the address cannot be listened at.
pub(crate) async fn serve(
    address: Option<SocketAddr>,
    runtime: &Runtime,
) -> Result<Option<Metrics>, Failure> {
    let Some(address) = address else {
        return Ok(None);
    };
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        Failure::Failed(match error.kind() {
            std::io::ErrorKind::AddrInUse => format!(
                "cannot serve metrics at `{address}`: the port is in use; name another with `--metrics`"
            ),
            _ => format!("cannot serve metrics at `{address}`: {error}"),
        })
    })?;
    let bound = listener.local_addr().unwrap_or(address);
    let app = Router::new()
        .route("/metrics", get(scrape))
        .route("/", get(async || "the metrics are at /metrics\n"))
        .with_state(runtime.exposition());
    let server = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, app).await {
            tracing::error!("the metrics are not served any more: {error}");
        }
    });
    tracing::info!("metrics are served at http://{bound}/metrics");
    Ok(Some(Metrics {
        _server: AbortOnDropHandle::new(server),
    }))
}

async fn scrape(State(exposition): State<Exposition>, headers: HeaderMap) -> impl IntoResponse {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    let text = exposition.text(format);
    ([(header::CONTENT_TYPE, format.media_type())], text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_the_loopback_address() {
        for (text, expected) in [
            ("9464", Some("127.0.0.1:9464")),
            (":9464", Some("127.0.0.1:9464")),
            ("localhost:1", Some("127.0.0.1:1")),
            ("0.0.0.0:9464", Some("0.0.0.0:9464")),
            ("[::1]:9464", Some("[::1]:9464")),
            ("example.com", None),
            ("99999", None),
            ("", None),
        ] {
            let got = address(text).ok().map(|address| address.to_string());
            assert_eq!(got.as_deref(), expected, "{text}");
        }
    }
}
