//! One connection: requests over it, each with its bounds, its progress and its cancellation.
//! Nothing of it is used after it is gone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotificationParam, ClientRequest, ErrorData, PaginatedRequestParams, ProgressToken,
    RequestId, RequestMetaObject, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::handler::{Person, ask_for_log};
use super::{Event, Events};
use crate::source::FailureKind;
use crate::source::mcp::failure;
use crate::source::mcp::link::Epoch;
use crate::source::mcp::transport::Trouble;
use crate::source::mcp::transport::http::HttpTrouble;
use crate::tool::Progress;

/// How many pages a list may have; a server that has more is cut with a warning.
const PAGES: usize = 1000;

/// How long an answer that was on its way when the connection closed is still waited for.
const LAST_ANSWER: Duration = Duration::from_millis(500);

/// Who waits for the progress of which request.
#[derive(Clone, Default)]
pub(super) struct ProgressTable(
    Arc<Mutex<HashMap<ProgressToken, watch::Sender<Option<Progress>>>>>,
);

impl ProgressTable {
    /// Passes a report on. Reports overtake each other, so only what goes forward counts.
    pub(super) fn report(&self, token: &ProgressToken, progress: Progress) {
        let table = self.0.lock();
        let Some(sender) = table.get(token) else {
            return; // late, or for a request that nobody follows
        };
        sender.send_if_modified(|newest| {
            let forward = newest
                .as_ref()
                .is_none_or(|before| before.done <= progress.done);
            if forward {
                *newest = Some(progress);
            }
            forward
        });
    }
}

/// Bounds of one request.
#[derive(Clone)]
pub(in super::super) struct Bounds {
    pub(in super::super) deadline: Option<Instant>,
    pub(in super::super) cancel: CancellationToken,
    pub(in super::super) progress: Option<watch::Sender<Option<Progress>>>,
    /// The trace that the request belongs to (SEP-414).
    pub(in super::super) traceparent: Option<Arc<str>>,
}

/// How a request ended without a result.
#[derive(Clone, Debug)]
pub(in super::super) enum Unanswered {
    /// The server answered with an error of the protocol.
    Refused(ErrorData),
    /// The connection was gone before the request was sent.
    NotSent,
    /// The connection went away under it.
    Interrupted,
    /// It went wrong below the protocol, with the connection itself perhaps whole.
    Trouble(Trouble),
    /// No answer by the deadline; the bound of one HTTP request counts too.
    TimedOut,
    /// The caller gave up.
    Cancelled,
    /// The answer is none to this request.
    Unexpected,
}

impl Unanswered {
    /// In a few words.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Refused(error) => format!("error {}: {}", error.code.0, error.message),
            Self::NotSent | Self::Interrupted => "the connection ended".to_owned(),
            Self::Trouble(trouble) => failure::in_a_call(&trouble.kind).0,
            Self::TimedOut => "no answer in time".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
            Self::Unexpected => "the answer has another form".to_owned(),
        }
    }
}

/// A connection that was made.
pub(in super::super) struct Connection {
    pub(in super::super) epoch: Epoch,
    /// Whether the negotiated revision is the one without `initialize` and `ping`.
    pub(in super::super) modern: bool,
    /// Whether it is a sequence of HTTP requests, which has no end of its own.
    pub(in super::super) http: bool,
    pub(super) has_tools: bool,
    pub(in super::super) has_resources: bool,
    /// Fires when it is closed, whoever closed it.
    pub(in super::super) gone: CancellationToken,
    pub(super) peer: Peer<RoleClient>,
    pub(super) progress: ProgressTable,
    pub(super) events: Events,
    /// The bound of one HTTP request.
    pub(super) request_timeout: Option<Duration>,
    /// Whether requests ask for log messages (the newer revision has no `logging/setLevel`).
    pub(super) asks_for_log: bool,
    /// Answers what the server asks during a call.
    pub(super) person: Person,
}

/// Tells the server that nobody waits any more, unless the answer came.
struct CancelOnDrop<'a> {
    connection: &'a Connection,
    id: RequestId,
    token: ProgressToken,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.connection.progress.0.lock().remove(&self.token);
        if !self.armed || self.connection.gone.is_cancelled() {
            return;
        }
        let peer = self.connection.peer.clone();
        let params = CancelledNotificationParam::new(
            Some(self.id.clone()),
            Some("nobody waits for the answer any more".to_owned()),
        );
        // Sent from a task: a drop cannot wait. Without a runtime everything ends anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { peer.notify_cancelled(params).await });
        }
    }
}

impl Connection {
    /// Sends one request and waits for its answer within the bounds. When the wait is given up, or
    /// the future dropped, the server gets a cancel notice; a late answer is ignored.
    pub(in super::super) async fn request(
        &self,
        request: ClientRequest,
        bounds: &Bounds,
    ) -> Result<ServerResult, Unanswered> {
        if self.gone.is_cancelled() {
            return Err(Unanswered::NotSent);
        }
        let own = self
            .request_timeout
            .and_then(|bound| Instant::now().checked_add(bound));
        let deadline = [bounds.deadline, own].into_iter().flatten().min();
        let expired = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let answered = tokio::select! {
            biased;
            () = bounds.cancel.cancelled() => Err(Unanswered::Cancelled),
            answered = self.exchange(request, bounds) => answered,
            () = expired => Err(Unanswered::TimedOut),
        };
        self.report(&answered).await;
        answered
    }

    async fn exchange(
        &self,
        request: ClientRequest,
        bounds: &Bounds,
    ) -> Result<ServerResult, Unanswered> {
        let mut options = PeerRequestOptions::no_options();
        if self.asks_for_log || bounds.traceparent.is_some() {
            let mut meta = RequestMetaObject::default();
            if self.asks_for_log {
                ask_for_log(&mut meta);
            }
            if let Some(traceparent) = &bounds.traceparent {
                meta.0.set_traceparent(&**traceparent);
            }
            options = options.with_meta(meta);
        }
        let RequestHandle {
            mut rx,
            id,
            progress_token,
            ..
        } = self
            .peer
            .send_cancellable_request(request, options)
            .await
            .map_err(|_| Unanswered::NotSent)?;
        if let Some(progress) = &bounds.progress {
            self.progress
                .0
                .lock()
                .insert(progress_token.clone(), progress.clone());
        }
        let mut guard = CancelOnDrop {
            connection: self,
            id,
            token: progress_token,
            armed: true,
        };
        let answer = tokio::select! {
            biased;
            answer = &mut rx => answer.ok(),
            // What was read before the end is still on its way through the library.
            () = self.gone.cancelled() => tokio::time::timeout(LAST_ANSWER, &mut rx)
                .await
                .ok()
                .and_then(Result::ok),
        };
        guard.armed = false;
        match answer {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(unanswered(error)),
            None => Err(Unanswered::Interrupted),
        }
    }

    /// What the end of a request says about the connection.
    async fn report(&self, answered: &Result<ServerResult, Unanswered>) {
        let epoch = self.epoch;
        let event = match answered {
            Ok(_) | Err(Unanswered::Refused(_) | Unanswered::Unexpected) => Event::Alive { epoch },
            Err(Unanswered::Trouble(trouble)) => Event::Trouble {
                epoch,
                trouble: Some(trouble.clone()),
            },
            Err(Unanswered::Interrupted | Unanswered::NotSent) => Event::Trouble {
                epoch,
                trouble: None,
            },
            Err(Unanswered::TimedOut | Unanswered::Cancelled) => return,
        };
        send(&self.events, event).await;
    }

    /// All pages of a list, one after the other. `method` makes the request for a page, `items`
    /// takes the items and the next cursor out of the answer.
    pub(in super::super) async fn pages(
        &self,
        bounds: &Bounds,
        method: impl Fn(PaginatedRequestParams) -> ClientRequest,
        key: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Value>, Unanswered> {
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let answer = self.request(method(params), bounds).await?;
            let mut answer = serde_json::to_value(answer).map_err(|_| Unanswered::Unexpected)?;
            let Some(Value::Array(page)) = answer.get_mut(key).map(Value::take) else {
                return Err(Unanswered::Unexpected);
            };
            items.extend(page);
            let Some(next) = answer.get("nextCursor").and_then(Value::as_str) else {
                return Ok(items);
            };
            if !seen.insert(next.to_owned()) {
                warnings.push(format!(
                    "the list of {key} repeats the cursor `{next}`; what it gave up to there counts"
                ));
                return Ok(items);
            }
            cursor = Some(next.to_owned());
        }
        warnings.push(format!(
            "the list of {key} has more than {PAGES} pages; the rest is left out"
        ));
        Ok(items)
    }
}

/// Sends an event to the driver; when that is gone, nobody is interested any more.
pub(super) async fn send(events: &mpsc::Sender<Event>, event: Event) {
    let _ = events.send(event).await;
}

/// How a request ended that the library gave an error for.
pub(super) fn unanswered(error: ServiceError) -> Unanswered {
    match error {
        ServiceError::McpError(error) => Unanswered::Refused(error),
        ServiceError::TransportClosed => Unanswered::Interrupted,
        ServiceError::Cancelled { .. } => Unanswered::Cancelled,
        ServiceError::Timeout { .. } => Unanswered::TimedOut,
        ServiceError::TransportSend(error) => {
            match error
                .error
                .downcast_ref::<StreamableHttpError<HttpTrouble>>()
            {
                Some(error) => http_trouble(error),
                None => Unanswered::Interrupted,
            }
        }
        _ => Unanswered::Unexpected,
    }
}

fn http_trouble(error: &StreamableHttpError<HttpTrouble>) -> Unanswered {
    match error {
        StreamableHttpError::Client(HttpTrouble(trouble)) => match trouble.kind {
            FailureKind::TimedOut => Unanswered::TimedOut,
            _ => Unanswered::Trouble(trouble.clone()),
        },
        StreamableHttpError::SessionExpired => Unanswered::Trouble(Trouble {
            kind: FailureKind::HttpStatus {
                status: 404,
                body: String::new(),
                www_authenticate: None,
            },
            detail: Some("it does not know the session any more".to_owned()),
        }),
        StreamableHttpError::ResponseBodyTooLarge { max_size } => Unanswered::Refused(
            ErrorData::internal_error(format!("the answer has more than {max_size} bytes"), None),
        ),
        _ => Unanswered::Interrupted,
    }
}
