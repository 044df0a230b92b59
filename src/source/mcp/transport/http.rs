//! Streamable HTTP: the client below the protocol library's transport. It knows status, headers
//! and the first words of a body by type, where the library above gives them as text.

mod dns;
mod trouble;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Sse, SseStream};

use super::Trouble;
use crate::source::FailureKind;
use crate::source::mcp::auth::Auth;
use crate::source::mcp::frames::{Direction, Tap};
use crate::source::mcp::log::cut_to;

pub(in super::super) use trouble::HttpTrouble;

/// The longest body or event that is taken, as on stdio.
const BODY_BYTES: usize = 64 * 1024 * 1024;

/// How much of a body that is not MCP is read, to show its first words.
const SNIPPET_BYTES: usize = 4096;

/// How long a TCP and TLS connection may take; the whole attempt is bounded by `connect_timeout`.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);

/// Well below the five seconds after which common servers close an idle connection, so that a
/// request does not meet one that is just being closed and passes for a loss.
const IDLE: Duration = Duration::from_secs(1);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type HttpError = StreamableHttpError<HttpTrouble>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Makes the client that all connections to one server share.
pub(in super::super) fn client() -> Result<reqwest::Client, Trouble> {
    crate::tls::install_provider();
    reqwest::Client::builder()
        .connect_timeout(TCP_TIMEOUT)
        .pool_idle_timeout(IDLE)
        // A redirect would carry the authorization somewhere else; it is shown instead.
        .redirect(reqwest::redirect::Policy::none())
        .dns_resolver(Arc::new(dns::Resolver))
        .build()
        .map_err(|error| Trouble {
            kind: FailureKind::BadSettings,
            detail: Some(error.to_string()),
        })
}

/// The configured headers, checked. The ones that the protocol sets itself may not be set.
pub(in super::super) fn headers(
    configured: &[(String, String)],
) -> Result<HashMap<HeaderName, HeaderValue>, Trouble> {
    const RESERVED: [&str; 4] = [
        "accept",
        "mcp-session-id",
        "mcp-protocol-version",
        "last-event-id",
    ];
    let bad = |told: String| Trouble {
        kind: FailureKind::BadSettings,
        detail: Some(told),
    };
    configured
        .iter()
        .map(|(name, value)| {
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| bad(format!("`{name}` is no header name")))?;
            if RESERVED.contains(&header.as_str()) {
                return Err(bad(format!(
                    "the header `{name}` belongs to the protocol and cannot be set"
                )));
            }
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| bad(format!("the value of the header `{name}` is not allowed")))?;
            value.set_sensitive(true);
            Ok((header, value))
        })
        .collect()
}

/// The client of one connection.
#[derive(Clone)]
pub(in super::super) struct HttpClient {
    pub(in super::super) http: reqwest::Client,
    pub(in super::super) tap: Tap,
    pub(in super::super) seen: Seen,
    pub(in super::super) timeout: Option<Duration>,
    pub(in super::super) auth: Option<Arc<Auth>>,
}

/// The newest trouble of a connection, for those ends that the library above reports without it.
#[derive(Clone, Default)]
pub(in super::super) struct Seen(Arc<Mutex<Option<Trouble>>>);

impl Seen {
    pub(in super::super) fn last(&self) -> Option<Trouble> {
        self.0.lock().clone()
    }

    fn note(&self, trouble: Trouble) -> HttpError {
        *self.0.lock() = Some(trouble.clone());
        StreamableHttpError::Client(HttpTrouble(trouble))
    }
}

impl HttpClient {
    fn failed(&self, error: &reqwest::Error) -> HttpError {
        self.seen.note(trouble::of(error))
    }

    /// Waits for the answer's head, or with `bounded` for whatever `work` is, within the
    /// configured bound of one request.
    async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, HttpError>>,
    ) -> Result<T, HttpError> {
        match self.timeout {
            None => work.await,
            Some(bound) => tokio::time::timeout(bound, work).await.unwrap_or_else(|_| {
                Err(self.seen.note(Trouble {
                    kind: FailureKind::TimedOut,
                    detail: Some(format!("`http_timeout` is {bound:?}")),
                }))
            }),
        }
    }

    async fn request(
        &self,
        method: http::Method,
        uri: &str,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> reqwest::RequestBuilder {
        let headers: HeaderMap = headers.into_iter().collect();
        let mut request = self.http.request(method, uri).headers(headers);
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        if let Some(auth) = &self.auth
            && let Some(token) = auth.token().await
        {
            request = request.bearer_auth(token);
        }
        request
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if wants_answer {
            // What an earlier request met explains nothing any more.
            self.seen.0.lock().take();
        }
        let body = serde_json::to_vec(message)?;
        self.tap.pass(Direction::ToServer, &body);
        let response = self
            .request(http::Method::POST, uri, session, headers)
            .await
            .header(ACCEPT, format!("{JSON}, {EVENTS}"))
            .header(CONTENT_TYPE, JSON)
            .body(body)
            .send()
            .await
            .map_err(|error| self.failed(&error))?;
        let status = response.status();
        if !status.is_success() {
            return self.refused(response, message, session.is_some()).await;
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            self.tap.answered(status.as_u16(), b"");
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let new_session = response
            .headers()
            .get(SESSION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let media_type = media_type(response.headers());
        if media_type == EVENTS {
            return Ok(StreamableHttpPostResponse::Sse(
                self.events(response),
                new_session,
            ));
        }
        let body = self.body(response, BODY_BYTES).await?;
        self.tap.answered(status.as_u16(), &body);
        if !wants_answer {
            // Nothing in it is waited for.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) if media_type == JSON => {
                Ok(StreamableHttpPostResponse::Json(answer, new_session))
            }
            _ => Err(self.seen.note(
                FailureKind::NotMcp {
                    content_type: media_type,
                    body: snippet(&body),
                }
                .into(),
            )),
        }
    }

    /// An answer whose status says no.
    async fn refused(
        &self,
        response: reqwest::Response,
        message: &ClientJsonRpcMessage,
        in_session: bool,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let status = response.status();
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|value| value.to_str().ok())
            .map(|place| format!("it points to `{place}`"));
        let www_authenticate = response
            .headers()
            .get(WWW_AUTHENTICATE)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let is_json = media_type(response.headers()) == JSON;
        let limit = if is_json { BODY_BYTES } else { SNIPPET_BYTES };
        // The status counts, whatever becomes of the body.
        let body = self.body(response, limit).await.unwrap_or_default();
        self.tap.answered(status.as_u16(), &body);
        let rpc_error = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) if is_json => Some(error),
            _ => None,
        };
        let noted = self.seen.note(Trouble {
            kind: FailureKind::HttpStatus {
                status: status.as_u16(),
                body: snippet(&body),
                www_authenticate,
            },
            detail: location,
        });
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let ClientJsonRpcMessage::Request(request) = message else {
            return Err(noted);
        };
        let passing = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
        let unauthorized = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if passing || unauthorized || !status.is_client_error() {
            return Err(noted);
        }
        let is_discover = matches!(request.request, ClientRequest::DiscoverRequest(_));
        match rpc_error {
            // The words of the server say more than the status. Its id may be of no use (a proxy
            // cannot know it), and the answer can only be to this request.
            Some(error) => Ok(answer(error.error, request.id.clone())),
            // A server of the older revision does not know `server/discover`; as an error of the
            // protocol this leads to `initialize`, as the revision says.
            None if is_discover => Ok(answer(
                ErrorData::invalid_request(
                    format!("`server/discover` was answered with HTTP status {status}"),
                    None,
                ),
                request.id.clone(),
            )),
            None => Err(noted),
        }
    }

    async fn body(&self, response: reqwest::Response, limit: usize) -> Result<Bytes, HttpError> {
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| self.failed(&error))?;
            if body.len() + chunk.len() > limit {
                if limit <= SNIPPET_BYTES {
                    body.extend_from_slice(&chunk[..limit - body.len()]);
                    break;
                }
                return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.into())
    }

    fn events(&self, response: reqwest::Response) -> Events {
        let client = self.clone();
        let status = response.status().as_u16();
        let mut open_event = 0usize;
        let chunks = response.bytes_stream().map(move |chunk| match chunk {
            Ok(chunk) => {
                // Counted since the last end of a line; an event of one line is what servers send.
                open_event = match chunk.iter().rposition(|byte| *byte == b'\n') {
                    Some(end) => chunk.len() - end,
                    None => open_event + chunk.len(),
                };
                if open_event > BODY_BYTES {
                    return Err(std::io::Error::other("an event of more than 64 MiB"));
                }
                Ok(chunk)
            }
            Err(error) => {
                client.failed(&error);
                Err(std::io::Error::other(error))
            }
        });
        let tap = self.tap.clone();
        SseStream::from_bytes_stream(chunks)
            .inspect(move |event| {
                if let Ok(event) = event
                    && let Some(data) = event.data.as_ref().filter(|data| !data.trim().is_empty())
                {
                    tap.answered(status, data.as_bytes());
                }
            })
            .boxed()
    }
}

fn answer(error: ErrorData, id: rmcp::model::RequestId) -> StreamableHttpPostResponse {
    StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id)), None)
}

fn media_type(headers: &HeaderMap) -> String {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|value| value.trim().to_ascii_lowercase())
        .unwrap_or_default()
}

fn snippet(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SNIPPET_BYTES)]);
    cut_to(&text.split_whitespace().collect::<Vec<_>>().join(" "), 240)
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpTrouble;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.within(self.post(&uri, &message, session.as_deref(), headers))
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        // The same bounds hold here as on stdio, whatever the library's are.
        _: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post_message(uri, message, session, authorization, headers)
            .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let request = self
            .request(http::Method::DELETE, &uri, Some(&session), headers)
            .await;
        let response = self
            .within(async { request.send().await.map_err(|error| self.failed(&error)) })
            .await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportDeleteSession);
        }
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        let mut request = self
            .request(http::Method::GET, &uri, session.as_deref(), headers)
            .await
            .header(ACCEPT, EVENTS);
        if let Some(last_event) = last_event {
            request = request.header(LAST_EVENT, last_event);
        }
        // The head of the answer may take the time of one request; the stream is not bounded.
        let response = self
            .within(async { request.send().await.map_err(|error| self.failed(&error)) })
            .await?;
        if response.status().is_success() && media_type(response.headers()) == EVENTS {
            return Ok(self.events(response));
        }
        // Standing streams are optional; a server without one is complete. What the status means
        // for the connection is for its requests to find out.
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}
