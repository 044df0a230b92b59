//! Why an attempt failed or a connection ended, by type: what the library says, what was seen below
//! it, how the process ended.

use std::time::Duration;

use rmcp::model::ErrorData;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Unanswered;
use crate::source::FailureKind;
use crate::source::mcp::log::cut_to;
use crate::source::mcp::transport::Trouble;
use crate::source::mcp::transport::http::{HttpTrouble, Seen};
use crate::source::mcp::transport::process::ExitWatch;

/// How long the end of stderr is waited for after the end of the process.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// How the wire of a connection ends.
#[derive(Clone)]
pub(super) struct Ending {
    /// Fires when nothing more is read.
    pub(super) ended: CancellationToken,
    pub(super) exit: Option<ExitWatch>,
    /// Fires when everything that the process wrote to stderr has been read.
    pub(super) quiet: CancellationToken,
    pub(super) seen: Seen,
}

/// Waits for the end of a process of which stdout is still open: somebody else holds it.
pub(super) async fn ended_for_good(exit: Option<ExitWatch>) {
    match exit {
        Some(mut exit) => {
            exit.ended().await;
            // Its last answers may still be in the pipe.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None => std::future::pending().await,
    }
}

impl Ending {
    /// Why a connection that stood is closed.
    pub(super) async fn trouble(&mut self) -> Trouble {
        if let Some(exit) = &mut self.exit {
            return match exit.ended_soon().await {
                Some(exit) => {
                    // Its last words explain the end; they are read a moment after it.
                    let _ = timeout(LAST_WORDS, self.quiet.cancelled()).await;
                    exit.kind().into()
                }
                None => FailureKind::OutputClosed.into(),
            };
        }
        self.seen
            .last()
            .unwrap_or_else(|| FailureKind::ConnectionReset.into())
    }

    pub(super) async fn trouble_of_listing(&mut self, unanswered: Unanswered) -> Trouble {
        match unanswered {
            Unanswered::Refused(error) => self.refused(&error),
            Unanswered::Trouble(trouble) => trouble,
            Unanswered::TimedOut => self
                .seen
                .last()
                .unwrap_or_else(|| FailureKind::TimedOut.into()),
            Unanswered::Unexpected => FailureKind::NotMcp {
                content_type: "application/json".to_owned(),
                body: "the answer to `tools/list` has no list of tools".to_owned(),
            }
            .into(),
            Unanswered::NotSent | Unanswered::Interrupted | Unanswered::Cancelled => {
                self.trouble().await
            }
        }
    }

    /// An error of the protocol; over HTTP its status counts where it says no.
    fn refused(&self, error: &ErrorData) -> Trouble {
        if let Some(mut seen) = self.seen.last()
            && matches!(seen.kind, FailureKind::HttpStatus { .. })
        {
            seen.detail = Some(error.message.to_string());
            return seen;
        }
        FailureKind::RpcError {
            code: error.code.0.into(),
            message: error.message.to_string(),
        }
        .into()
    }

    pub(super) async fn trouble_of_start(&mut self, error: &ClientInitializeError) -> Trouble {
        match error {
            ClientInitializeError::JsonRpcError(error) => self.refused(error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Box::pin(self.trouble_of_start(fallback)).await
            }
            ClientInitializeError::NoCompatibleProtocolVersion {
                server_supported, ..
            } => FailureKind::UnsupportedProtocol {
                offered: match &server_supported[..] {
                    [] => "none".to_owned(),
                    some => some
                        .iter()
                        .map(|version| format!("`{version}`"))
                        .collect::<Vec<_>>()
                        .join(", "),
                },
            }
            .into(),
            ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::UncorrelatedErrorResponse { .. } => Trouble {
                kind: FailureKind::NotMcp {
                    content_type: "application/json".to_owned(),
                    body: cut_to(&error.to_string(), 240),
                },
                detail: None,
            },
            ClientInitializeError::TransportError { error, .. } => {
                match error
                    .error
                    .downcast_ref::<StreamableHttpError<HttpTrouble>>()
                {
                    Some(StreamableHttpError::Client(HttpTrouble(trouble))) => trouble.clone(),
                    _ => self.trouble().await,
                }
            }
            _ => self.trouble().await,
        }
    }
}
