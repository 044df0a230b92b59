//! Requests of a server that need a person: elicitation and sampling (rule 8.12).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

/// What a server wants of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Some input (`elicitation/create`).
    Elicitation,
    /// A completion by a model of ours (`sampling/createMessage`).
    Sampling,
}

impl QuestionKind {
    /// The method of the protocol.
    pub fn method(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
        }
    }
}

/// A question of a server, as it was asked. Text in it is the server's, unmasked and uncleaned.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The source.
    pub source: Arc<str>,
    /// The server that asks.
    pub server: Arc<str>,
    /// What it wants.
    pub kind: QuestionKind,
    /// The `params` of its request.
    pub params: Value,
}

/// What the person said.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// For an elicitation the `content`, for sampling the whole result.
    Accept(Value),
    /// No.
    Decline,
    /// Neither yes nor no.
    Cancel,
}

/// Where questions are put before a person. What it offers is advertised to the servers.
pub trait Desk: Send + Sync + 'static {
    /// Which questions servers are told that they may ask.
    fn offers(&self, kind: QuestionKind) -> bool;

    /// Asks. Dropping the future means that nobody waits for the answer any more.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

/// Offers nothing and declines at once: for hosts without a person in front of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDesk;

impl Desk for NoDesk {
    fn offers(&self, _: QuestionKind) -> bool {
        false
    }

    fn ask(&self, _: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Decline })
    }
}
