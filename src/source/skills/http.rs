//! Sends requests: attempts, pauses, redirects, bounded bodies (skills 5.5 to 5.7).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::LOCATION;
use ::http::{HeaderMap, Method, StatusCode};
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;

use super::model::Retry;
use super::request::Request;
use super::response::{Body, MAX_BODY};
use super::retry::{Attempt, pause};
use crate::tool::{ErrorKind, Invocation};

/// How many redirects are followed.
const REDIRECTS: usize = 10;

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as far as it was read.
    pub body: Body,
}

/// Why there is no answer. The words hold no secret of the address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct NoAnswer {
    /// For the result.
    pub kind: ErrorKind,
    /// What happened.
    pub message: String,
}

/// Sends requests. Cheap to clone; connections are shared.
#[derive(Clone)]
pub(super) struct HttpClient {
    client: reqwest::Client,
}

impl HttpClient {
    /// A client that follows no redirects by itself: see [`HttpClient::send`].
    ///
    /// # Errors
    /// When the TLS configuration of the system cannot be read.
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        crate::tls::install_provider();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("toolcrib/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client })
    }

    /// Sends a request, again where [`pause`] says so; each attempt is noted. `timeout` bounds each
    /// attempt with its redirects and its body.
    ///
    /// # Errors
    /// When no attempt got an answer, or the call was cancelled.
    pub(super) async fn send(
        &self,
        request: &Request,
        retry: Option<Retry>,
        timeout: Duration,
        invocation: &Invocation,
    ) -> Result<Answer, NoAnswer> {
        let (cancel, attempts) = (&invocation.cancel, &invocation.attempts);
        let mut attempt = 1;
        let mut attempting = attempts.begin();
        loop {
            let work = tokio::time::timeout(timeout, self.attempt(request));
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled(request)),
                outcome = work => outcome,
            };
            let (end, wait) = match outcome {
                Ok(Ok(answer)) => {
                    let wait = next_pause(request, retry, attempt, &answer);
                    (Ok(answer), wait)
                }
                Ok(Err(broken)) => {
                    let wait = broken.maybe_sent.and_then(|maybe_sent| {
                        let end = Attempt::Broken { maybe_sent };
                        pause(retry, &request.method, attempt, end, now(), rand::random())
                    });
                    (Err(broken.error), wait)
                }
                Err(_) => (Err(timed_out(request, timeout)), None),
            };
            attempting.ends(outcome_of(&end));
            let Some(wait) = wait else {
                return end;
            };
            attempting = attempts.pause();
            tracing::debug!(url = request.shown_url, attempt, ?wait, "trying again");
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled(request)),
                () = tokio::time::sleep(wait) => attempt += 1,
            }
            attempting.starts();
        }
    }

    /// One attempt with its redirects.
    async fn attempt(&self, request: &Request) -> Result<Answer, Broken> {
        let mut url = request.url.clone();
        let mut method = request.method.clone();
        let mut headers = request.headers.clone();
        let mut body = request.body.clone();
        for _ in 0..=REDIRECTS {
            let sent = self.once(&method, &url, &headers, body.clone()).await;
            let response = sent
                .map_err(|(maybe_sent, error)| Broken::new(request, maybe_sent, &cause(&error)))?;
            let Some(next) = redirect(&response, &url) else {
                return read(request, response).await;
            };
            if next.scheme() == "http" && url.scheme() == "https" {
                let reason = "redirects from https to http";
                return Err(Broken::new(request, None, reason));
            }
            let keeps_body = body.is_some() && !drops_body(response.status(), &method);
            if next.origin() != url.origin() {
                if keeps_body && request.confidential_body {
                    let reason = "redirects to another host, and the body holds a variable";
                    return Err(Broken::new(request, None, reason));
                }
                for name in &request.confidential {
                    headers.remove(name);
                }
                headers.remove(::http::header::COOKIE);
            }
            if drops_body(response.status(), &method) {
                method = Method::GET;
                body = None;
                headers.remove(::http::header::CONTENT_TYPE);
            }
            url = next;
        }
        let reason = format!("redirects more than {REDIRECTS} times");
        Err(Broken::new(request, None, &reason))
    }

    /// One request. An error comes with whether the request may have arrived; see [`Broken`].
    async fn once(
        &self,
        method: &Method,
        url: &::url::Url,
        headers: &HeaderMap,
        body: Option<Arc<[u8]>>,
    ) -> Result<reqwest::Response, (Option<bool>, reqwest::Error)> {
        let mut builder = self
            .client
            .request(method.clone(), url.clone())
            .headers(headers.clone());
        if let Some(body) = body {
            builder = builder.body(body.to_vec());
        }
        builder.send().await.map_err(|error| {
            // A request that could not even be made will not be made the next time either.
            let maybe_sent = (!error.is_builder()).then(|| !error.is_connect());
            (maybe_sent, error)
        })
    }
}

/// An attempt without an answer.
struct Broken {
    error: NoAnswer,
    /// Whether the request may have arrived; `None` when trying again is of no use.
    maybe_sent: Option<bool>,
}

impl Broken {
    fn new(request: &Request, maybe_sent: Option<bool>, reason: &str) -> Self {
        let kind = match maybe_sent {
            Some(_) => ErrorKind::NotAvailable,
            None => ErrorKind::Tool,
        };
        let may_have_run = match maybe_sent {
            Some(true) => "; it may have run",
            _ => "",
        };
        Self {
            error: NoAnswer {
                kind,
                message: format!("{}: {reason}{may_have_run}", asked(request)),
            },
            maybe_sent,
        }
    }
}

/// How an attempt ended, in a few words without anything of the request.
fn outcome_of(end: &Result<Answer, NoAnswer>) -> Cow<'static, str> {
    match end {
        Ok(answer) => answer.status.to_string().into(),
        Err(error) => match error.kind {
            ErrorKind::Timeout => "no answer in time".into(),
            ErrorKind::NotAvailable => "no connection, or it broke".into(),
            _ => "no usable answer".into(),
        },
    }
}

/// What was asked, for messages: method and address with variables masked.
pub(super) fn asked(request: &Request) -> String {
    format!("{} {}", request.method, request.shown_url)
}

fn now() -> jiff::Timestamp {
    crate::clock::Stamp::now().wall
}

fn next_pause(
    request: &Request,
    retry: Option<Retry>,
    attempt: u32,
    answer: &Answer,
) -> Option<Duration> {
    let end = Attempt::Answered {
        status: answer.status,
        headers: &answer.headers,
    };
    pause(retry, &request.method, attempt, end, now(), rand::random())
}

fn cancelled(request: &Request) -> NoAnswer {
    NoAnswer {
        kind: ErrorKind::Cancelled,
        message: format!("{} was cancelled", asked(request)),
    }
}

fn timed_out(request: &Request, timeout: Duration) -> NoAnswer {
    NoAnswer {
        kind: ErrorKind::Timeout,
        message: format!("{} did not answer within {timeout:?}", asked(request)),
    }
}

/// Reads at most [`MAX_BODY`] bytes and lets go of the rest.
async fn read(request: &Request, response: reqwest::Response) -> Result<Answer, Broken> {
    let status = response.status();
    let headers = response.headers().clone();
    let mut stream = response.bytes_stream();
    let mut bytes = BytesMut::new();
    let mut cut = false;
    while let Some(chunk) = stream.next().await {
        let chunk: Bytes =
            chunk.map_err(|error| Broken::new(request, Some(true), &cause(&error)))?;
        let room = MAX_BODY - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    Ok(Answer {
        status,
        headers,
        body: Body {
            bytes: bytes.freeze(),
            cut,
        },
    })
}

/// Where a redirect leads; `None` for every other answer.
fn redirect(response: &reqwest::Response, from: &::url::Url) -> Option<::url::Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let next = from.join(location).ok()?;
    matches!(next.scheme(), "http" | "https").then_some(next)
}

/// Whether the redirected request becomes a GET (Fetch standard, "HTTP-redirect fetch", 12).
fn drops_body(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        301 | 302 => *method == Method::POST,
        303 => *method != Method::GET && *method != Method::HEAD,
        _ => false,
    }
}

/// The causes of an error without its address, which may hold secrets.
fn cause(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        causes.push(error.to_string());
        next = error.source();
    }
    match causes.last() {
        Some(root) => root.clone(),
        None if error.is_timeout() => "timed out".into(),
        None => "the connection failed".into(),
    }
}
