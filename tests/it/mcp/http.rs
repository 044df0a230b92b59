use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib::source::mcp::{Liveness, Protocol, TransportSettings};
use toolcrib::source::{FailureKind, ServerState, Source as _};
use toolcrib::tool::{ErrorKind, Invocation, ToolResult};

use super::server::Shelf;
use super::{Host, settings};

/// A web server on a port of its own, ended with the guard.
pub(super) struct Web {
    pub(super) address: SocketAddr,
    _stop: DropGuard,
}

pub(super) async fn web(app: Router) -> Web {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = stopped.cancelled() => {}
            served = axum::serve(listener, app) => served.unwrap(),
        }
    });
    Web {
        address,
        _stop: stop.drop_guard(),
    }
}

pub(super) fn service(shelf: &Shelf) -> Router {
    let shelf = shelf.clone();
    let service = StreamableHttpService::new(
        move || Ok(shelf.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    Router::new().fallback_service(service)
}

fn at(address: SocketAddr) -> TransportSettings {
    TransportSettings::Http {
        url: format!("http://{address}/mcp"),
        headers: vec![("x-team".into(), "ops".into())],
        http_timeout: None,
    }
}

/// Answers everything alike.
async fn wall(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Web {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let status = StatusCode::from_u16(status).unwrap();
    web(Router::new().fallback(move || async move { (status, map, body) })).await
}

fn status(status: u16, body: &str, challenge: Option<&str>) -> FailureKind {
    FailureKind::HttpStatus {
        status,
        body: body.into(),
        www_authenticate: challenge.map(str::to_owned),
    }
}

#[tokio::test]
async fn statuses_and_bodies_are_told_apart_by_type() {
    const TEXT: &[(&str, &str)] = &[("content-type", "text/plain")];
    const HTML: &[(&str, &str)] = &[("content-type", "text/html; charset=utf-8")];
    const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
    const ASKS: &[(&str, &str)] = &[("www-authenticate", "Bearer realm=\"x\"")];
    const MOVED: &[(&str, &str)] = &[("location", "http://elsewhere/mcp")];
    let rejected = ServerState::Rejected;
    let backoff = ServerState::Backoff;
    let not_mcp = |content_type: &str, body: &str| FailureKind::NotMcp {
        content_type: content_type.into(),
        body: body.into(),
    };
    let table = [
        (
            "401 plain",
            401,
            TEXT,
            "no",
            rejected,
            status(401, "no", None),
        ),
        (
            "401 that asks",
            401,
            ASKS,
            "",
            rejected,
            status(401, "", Some("Bearer realm=\"x\"")),
        ),
        ("403", 403, TEXT, "no", rejected, status(403, "no", None)),
        (
            "404",
            404,
            HTML,
            "<h1>no",
            rejected,
            status(404, "<h1>no", None),
        ),
        ("405", 405, TEXT, "", rejected, status(405, "", None)),
        ("redirect", 302, MOVED, "", rejected, status(302, "", None)),
        ("408", 408, TEXT, "", backoff, status(408, "", None)),
        ("425", 425, TEXT, "", backoff, status(425, "", None)),
        ("429", 429, TEXT, "slow", backoff, status(429, "slow", None)),
        ("500", 500, TEXT, "oh", backoff, status(500, "oh", None)),
        (
            "503",
            503,
            HTML,
            "<p>down",
            backoff,
            status(503, "<p>down", None),
        ),
        (
            "login page",
            200,
            HTML,
            "<html>\n  login",
            rejected,
            not_mcp("text/html", "<html> login"),
        ),
        (
            "other json",
            200,
            JSON,
            "{\"hello\":1}",
            rejected,
            not_mcp("application/json", "{\"hello\":1}"),
        ),
    ];
    for (name, code, headers, body, state, kind) in table {
        let web = wall(code, headers, body).await;
        let host = Host::start(settings(at(web.address)));
        let row = host.until(|row| row.settled).await;
        let error = row.last_error.as_ref().unwrap();
        assert_eq!(error.kind, kind, "{name}");
        assert_eq!(row.state, state, "{name}: {}", error.message);
        assert!(row.proofs.reachable.is_some(), "{name}");
        host.source.close().await;
    }
}

#[tokio::test]
async fn a_rejection_names_the_cause_and_what_to_do() {
    let web = wall(302, &[("location", "http://elsewhere/mcp")], "").await;
    let host = Host::start(settings(at(web.address)));
    let row = host.until(|row| row.settled).await;
    let error = row.last_error.as_ref().unwrap();
    assert_eq!(
        error.message,
        format!(
            "`http://{}/mcp` answered with HTTP status 302 (Found): it points to \
             `http://elsewhere/mcp`",
            web.address
        )
    );
    assert_eq!(
        error.advice.as_deref(),
        Some("redirects are not followed: write the final address as `url` of `m`")
    );
    host.source.close().await;
}

#[tokio::test]
async fn refused_unknown_and_impossible_addresses_are_told_apart() {
    let free = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        listener.local_addr().unwrap()
    };
    let url = |url: &str| TransportSettings::Http {
        url: url.into(),
        headers: Vec::new(),
        http_timeout: None,
    };
    let reserved = TransportSettings::Http {
        url: format!("http://{free}/"),
        headers: vec![("Accept".into(), "x".into())],
        http_timeout: None,
    };
    let (backoff, rejected) = (ServerState::Backoff, ServerState::Rejected);
    for (name, transport, kind, state) in [
        ("refused", at(free), FailureKind::ConnectionRefused, backoff),
        (
            "no such host",
            url("http://no-such-host.invalid/"),
            FailureKind::NameNotResolved,
            backoff,
        ),
        (
            "no url",
            url("nonsense"),
            FailureKind::BadSettings,
            rejected,
        ),
        (
            "reserved header",
            reserved,
            FailureKind::BadSettings,
            rejected,
        ),
    ] {
        let host = Host::start(settings(transport));
        let row = host.until(|row| row.settled).await;
        let error = row.last_error.as_ref().unwrap();
        assert_eq!(error.kind, kind, "{name}: {}", error.message);
        assert_eq!(row.state, state, "{name}");
        host.source.close().await;
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_or_stays_mute_is_unreachable() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream);
        }
    });
    let host = Host::start(settings(at(address)));
    let row = host.until(|row| row.settled).await;
    assert_eq!(
        row.last_error.as_ref().unwrap().kind,
        FailureKind::ConnectionReset
    );
    host.source.close().await;

    let mute = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut impatient = settings(at(mute.local_addr().unwrap()));
    if let TransportSettings::Http { http_timeout, .. } = &mut impatient.servers[0].transport {
        *http_timeout = Some(std::time::Duration::from_millis(100));
    }
    let host = Host::start(impatient);
    let row = host.until(|row| row.settled).await;
    assert_eq!(row.last_error.as_ref().unwrap().kind, FailureKind::TimedOut);
    assert_eq!(row.state, ServerState::Backoff);
    host.source.close().await;
}

#[tokio::test]
async fn both_revisions_work_over_http_with_calls_changes_and_cancelling() {
    for (protocol, spoken) in [
        (Protocol::Auto, "2026-07-28"),
        (Protocol::V2025_11_25, "2025-11-25"),
    ] {
        let shelf = Shelf::new(&["echo", "hang", "progress", "big"]);
        let web = web(service(&shelf)).await;
        let mut settings = settings(at(web.address));
        settings.servers[0].protocol = protocol;
        let host = Host::start(settings);
        let row = host.ready().await;
        assert_eq!(row.protocol.as_deref(), Some(spoken));
        let result = host.call("m__echo", json!({"x": 1})).await;
        assert_eq!(result, ToolResult::text(r#"{"x":1}"#));
        let result = host.call("m__big", json!({"bytes": 3_000_000})).await;
        assert_eq!(result.all_text().len(), 3_000_000, "{spoken}");

        let invocation = Invocation::bare(Default::default());
        let progress = invocation.progress.subscribe();
        host.run("m__progress", invocation).await;
        assert_eq!(progress.borrow().as_ref().unwrap().done, 2.0, "{spoken}");

        let invocation = Invocation::bare(Default::default());
        let cancel = invocation.cancel.clone();
        let (result, ()) = tokio::join!(host.run("m__hang", invocation), async {
            shelf.until_seen("call hang").await;
            cancel.cancel();
        });
        assert_eq!(result.error_kind, Some(ErrorKind::Cancelled));
        shelf.until_seen("hang was cancelled").await;

        let first = if spoken == "2026-07-28" {
            "listening"
        } else {
            "initialized"
        };
        shelf.until_seen(first).await;
        let mut diffs = host.registry.diffs();
        shelf.put(vec![super::server::tool("echo", "changed")]);
        shelf.announce();
        let diff = tokio::time::timeout(super::PATIENCE, diffs.recv())
            .await
            .expect("the change was not noticed")
            .unwrap();
        assert_eq!(diff.changed.len(), 1, "{spoken}");
        assert_eq!(diff.removed.len(), 3);
        host.source.close().await;
    }
}

/// A relay in front of a server: its connections can be cut, its port closed and opened.
struct Relay {
    address: SocketAddr,
    to: SocketAddr,
    cut: CancellationToken,
    listening: Option<tokio::task::JoinHandle<()>>,
}

impl Relay {
    async fn to(to: SocketAddr) -> Self {
        let mut relay = Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            to,
            cut: CancellationToken::new(),
            listening: None,
        };
        relay.open().await;
        relay
    }

    async fn open(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        self.cut = CancellationToken::new();
        let (to, cut) = (self.to, self.cut.clone());
        self.listening = Some(tokio::spawn(async move {
            loop {
                let mut near = tokio::select! {
                    () = cut.cancelled() => return,
                    accepted = listener.accept() => accepted.unwrap().0,
                };
                let cut = cut.clone();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(to).await.unwrap();
                    tokio::select! {
                        () = cut.cancelled() => {}
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    }
                });
            }
        }));
    }

    /// Cuts every connection and closes the port.
    async fn close(&mut self) {
        self.cut.cancel();
        if let Some(listening) = self.listening.take() {
            listening.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_server_that_goes_away_is_lost_under_a_call_and_comes_back() {
    for protocol in [Protocol::Auto, Protocol::V2025_11_25] {
        let shelf = Shelf::new(&["hang", "echo"]);
        let web = web(service(&shelf)).await;
        let mut relay = Relay::to(web.address).await;
        let mut settings = settings(at(relay.address));
        settings.servers[0].protocol = protocol;
        settings.servers[0].liveness = Some(Liveness::default());
        let host = Host::start(settings);
        host.ready().await;
        let (result, ()) = tokio::join!(host.call("m__hang", json!({})), async {
            shelf.until_seen("call hang").await;
            relay.close().await;
        });
        assert_eq!(
            result.error_kind,
            Some(ErrorKind::NotAvailable),
            "{protocol:?}"
        );
        assert!(result.all_text().contains("may have run"), "{result:?}");
        let row = host.until(|row| row.state == ServerState::Backoff).await;
        assert_eq!(row.losses, 1, "{protocol:?}");
        let result = host.call("m__echo", json!({})).await;
        assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
        relay.open().await;
        host.ready().await;
        let result = host.call("m__echo", json!({})).await;
        assert_eq!(result, ToolResult::text("{}"));
        host.source.close().await;
    }
}

#[tokio::test]
async fn an_idle_server_of_the_newer_revision_that_goes_away_is_noticed_without_a_ping() {
    let shelf = Shelf::new(&["echo"]);
    let web = web(service(&shelf)).await;
    let mut relay = Relay::to(web.address).await;
    let host = Host::start(settings(at(relay.address)));
    host.ready().await;
    shelf.until_seen("listening").await;
    relay.close().await;
    let row = host.until(|row| row.losses == 1).await;
    let kind = &row.last_error.as_ref().unwrap().kind;
    // Which one it is depends on whether the port was closed already.
    assert!(
        matches!(
            kind,
            FailureKind::ConnectionRefused | FailureKind::ConnectionReset
        ),
        "{kind:?}"
    );
    assert_eq!(shelf.count("ping"), 0);
    host.source.close().await;
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_a_loss_and_a_new_one_is_made() {
    let shelf = Shelf::new(&["echo"]);
    let first = web(service(&shelf)).await;
    let mut relay = Relay::to(first.address).await;
    let mut settings = settings(at(relay.address));
    settings.servers[0].protocol = Protocol::V2025_11_25;
    let host = Host::start(settings);
    host.ready().await;
    // Another process takes over the address, between two requests.
    let second = web(service(&shelf)).await;
    relay.close().await;
    relay.to = second.address;
    relay.open().await;
    let result = host.call("m__echo", json!({})).await;
    assert_eq!(
        result.error_kind,
        Some(ErrorKind::NotAvailable),
        "{result:?}"
    );
    let row = host.until(|row| row.reconnects == 1).await;
    assert_eq!(row.losses, 1);
    let result = host.call("m__echo", json!({})).await;
    assert_eq!(result, ToolResult::text("{}"));
    host.source.close().await;
}

#[tokio::test]
async fn http_timeout_bounds_a_call_and_not_the_standing_stream() {
    let shelf = Shelf::new(&["hang", "echo"]);
    let web = web(service(&shelf)).await;
    let mut settings = settings(at(web.address));
    if let TransportSettings::Http { http_timeout, .. } = &mut settings.servers[0].transport {
        *http_timeout = Some(std::time::Duration::from_millis(300));
    }
    let host = Host::start(settings);
    host.ready().await;
    shelf.until_seen("listening").await;
    let result = host.call("m__hang", json!({})).await;
    assert_eq!(result.error_kind, Some(ErrorKind::Timeout));
    shelf.until_seen("hang was cancelled").await;
    shelf.put(vec![super::server::tool("new", "")]);
    let mut diffs = host.registry.diffs();
    shelf.announce();
    let diff = tokio::time::timeout(super::PATIENCE, diffs.recv()).await;
    assert_eq!(*diff.unwrap().unwrap().added, ["m__new".into()]);
    assert_eq!(shelf.count("listening"), 1);
    assert_eq!(host.row().losses, 0);
    host.source.close().await;
}
