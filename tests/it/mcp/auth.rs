//! Authorization against a server that really asks for it: discovery, registration, the code flow
//! with PKCE, refresh. The authorization server is played here.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toolcrib::observe::{Hub, Traffic};
use toolcrib::registry::Registry;
use toolcrib::secrets::Secrets;
use toolcrib::source::mcp::{FrameSink, McpContext, McpSource, TransportSettings};
use toolcrib::source::{ServerState, Source as _};

use super::http::{Web, service, web};
use super::server::Shelf;
use super::{Host, settings};

/// What the authorization server knows.
#[derive(Default)]
struct Issuer {
    base: String,
    /// Codes with the PKCE challenge that they belong to.
    codes: HashMap<String, String>,
    /// The token that is good now.
    good: Option<String>,
    refreshed: usize,
    granted: usize,
    deny: bool,
}

type Shared = Arc<Mutex<Issuer>>;

async fn resource(State(issuer): State<Shared>) -> Json<Value> {
    let base = issuer.lock().base.clone();
    Json(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
}

async fn metadata(State(issuer): State<Shared>) -> Json<Value> {
    let base = issuer.lock().base.clone();
    Json(json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    }))
}

async fn register(Json(asked): Json<Value>) -> impl IntoResponse {
    let uris = asked["redirect_uris"].clone();
    let answer = json!({"client_id": "client-1", "client_name": asked["client_name"],
        "redirect_uris": uris, "token_endpoint_auth_method": "none"});
    (StatusCode::CREATED, Json(answer))
}

async fn authorize(
    State(issuer): State<Shared>,
    Query(asked): Query<HashMap<String, String>>,
) -> Redirect {
    let back = &asked["redirect_uri"];
    assert!(back.starts_with("http://127.0.0.1:"), "{back}");
    assert_eq!(asked["code_challenge_method"], "S256");
    let mut issuer = issuer.lock();
    if issuer.deny {
        return Redirect::to(&format!(
            "{back}?error=access_denied&state={}",
            asked["state"]
        ));
    }
    let code = format!("code-{}", issuer.codes.len());
    issuer
        .codes
        .insert(code.clone(), asked["code_challenge"].clone());
    Redirect::to(&format!("{back}?code={code}&state={}", asked["state"]))
}

/// The first token of a grant has run out when it arrives: it is refreshed before it is used.
async fn token(State(issuer): State<Shared>, body: String) -> Response {
    let pairs = url::form_urlencoded::parse(body.as_bytes());
    let asked: HashMap<String, String> = pairs.into_owned().collect();
    let mut issuer = issuer.lock();
    let lasts = match asked["grant_type"].as_str() {
        "authorization_code" => {
            let verifier = Sha256::digest(asked["code_verifier"].as_bytes());
            let challenge = BASE64_URL_SAFE_NO_PAD.encode(verifier);
            if issuer.codes.remove(&asked["code"]) != Some(challenge) {
                let error = json!({"error": "invalid_grant"});
                return (StatusCode::BAD_REQUEST, Json(error)).into_response();
            }
            issuer.granted += 1;
            0
        }
        _ => {
            assert!(asked["refresh_token"].starts_with("refresh-secret-"));
            issuer.refreshed += 1;
            3_600
        }
    };
    let number = issuer.granted + issuer.refreshed;
    let good = format!("access-secret-{number}");
    issuer.good = Some(good.clone());
    Json(
        json!({"access_token": good, "token_type": "Bearer", "expires_in": lasts,
        "refresh_token": format!("refresh-secret-{number}")}),
    )
    .into_response()
}

/// Lets nobody through without the token that is good now.
async fn guard(
    State(issuer): State<Shared>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    let (good, base) = {
        let issuer = issuer.lock();
        (issuer.good.clone(), issuer.base.clone())
    };
    let wanted = good.map(|good| format!("Bearer {good}"));
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    if wanted.is_some() && given == wanted.as_deref() {
        return next.run(request).await;
    }
    let challenge =
        format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource\"");
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, challenge)],
        "who are you?",
    )
        .into_response()
}

async fn guarded() -> (Web, Shared) {
    let shelf = Shelf::new(&["echo"]);
    let issuer = Shared::default();
    let inner = service(&shelf).layer(axum::middleware::from_fn_with_state(
        Arc::clone(&issuer),
        guard,
    ));
    let app = Router::new()
        .route("/.well-known/oauth-protected-resource", get(resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(resource))
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/register", post(register))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .with_state(Arc::clone(&issuer))
        .fallback_service(inner);
    let web = web(app).await;
    issuer.lock().base = format!("http://{}", web.address);
    (web, issuer)
}

struct Bench {
    host: Host,
    traffic: Arc<Traffic>,
}

fn start(web: &Web, tokens: &Path) -> Bench {
    let registry = Arc::new(Registry::new());
    let secrets = Secrets::default();
    let hub = Arc::new(Hub::new(Arc::clone(&registry), secrets.clone()));
    let traffic = Arc::new(Traffic::new(hub));
    let context = McpContext {
        frames: Some(Arc::clone(&traffic) as Arc<dyn FrameSink>),
        tokens: Some(tokens.to_owned()),
        ..McpContext::new(Arc::clone(&registry), secrets)
    };
    let transport = TransportSettings::Http {
        url: format!("http://{}/mcp", web.address),
        headers: Vec::new(),
        http_timeout: None,
    };
    let source = McpSource::start("src".into(), 0, settings(transport), context);
    Bench {
        host: Host { source, registry },
        traffic,
    }
}

/// Goes where an operator's browser would go.
async fn browse(url: &str) -> String {
    let answer = reqwest::get(url).await.unwrap();
    answer.text().await.unwrap()
}

fn shows_no_token(bench: &Bench) {
    let row = serde_json::to_string(&*bench.host.row()).unwrap();
    let frames = serde_json::to_string(&bench.traffic.rows()).unwrap();
    for text in [row, frames] {
        assert!(!text.contains("-secret-"), "{text}");
    }
}

#[tokio::test]
async fn an_operator_authorizes_once_and_the_tokens_are_kept_refreshed_and_never_shown() {
    let (web, issuer) = guarded().await;
    let dir = tempfile::tempdir().unwrap();
    let tokens = dir.path().join("tokens");
    let bench = start(&web, &tokens);
    let refused = |row: &toolcrib::source::ServerStatus| row.state == ServerState::Rejected;
    bench.host.until(refused).await;
    let url = bench.host.source.authorize("m").await.unwrap();
    assert!(url.contains("code_challenge="), "{url}");
    assert!(browse(&url).await.starts_with("Done."));
    bench.host.ready().await;
    let result = bench.host.call("m__echo", json!({"text": "hello"})).await;
    assert!(
        !result.is_error() && result.all_text().contains("hello"),
        "{result:?}"
    );
    {
        let issuer = issuer.lock();
        assert_eq!((issuer.granted, issuer.refreshed), (1, 1));
    }
    shows_no_token(&bench);
    bench.host.source.close().await;

    let files: Vec<_> = std::fs::read_dir(&tokens).unwrap().collect();
    assert_eq!(files.len(), 1);
    let file = files[0].as_ref().unwrap();
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode(&file.path()), mode(&tokens)), (0o600, 0o700));

    // Another time nobody is asked.
    let again = start(&web, &tokens);
    again.host.ready().await;
    assert_eq!(issuer.lock().granted, 1);
    shows_no_token(&again);
    // A token that is not good any more rejects, and the operator is asked again.
    issuer.lock().good = None;
    again
        .host
        .source
        .order("m", toolcrib::source::ServerOrder::Reconnect)
        .await
        .unwrap();
    again.host.until(refused).await;
    again.host.source.close().await;
}

#[tokio::test]
async fn an_authorization_that_is_denied_is_told_and_changes_nothing() {
    let (web, issuer) = guarded().await;
    issuer.lock().deny = true;
    let dir = tempfile::tempdir().unwrap();
    let bench = start(&web, dir.path());
    bench
        .host
        .until(|row| row.state == ServerState::Rejected)
        .await;
    let url = bench.host.source.authorize("m").await.unwrap();
    browse(&url).await;
    let row = bench.host.until(|row| !row.log.is_empty()).await;
    let told = &row.log.last().unwrap().text;
    assert!(told.contains("access_denied"), "{told}");
    assert_eq!(row.state, ServerState::Rejected);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    bench.host.source.close().await;
}
