//! Every order that an operator can give, each with an answer.
//!
//! Orders go through a bounded queue to one task of the runtime, which starts the work of each and
//! goes on at once: a slow order never delays the next.

mod sessions;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::discovery::Mode;
use crate::scenario::LoadedScenario;
use crate::session::SessionId;

pub use sessions::{ExposureError, Pace, SessionAnswer, SessionError, SessionOrder};

use crate::executor::Outcome;
use crate::middleware::settings::MiddlewareSettings;
use crate::middleware::{Decision, Drill, LayerError};
use crate::source::mcp::Answer;
use crate::source::{OrderError, ServerOrder};
use crate::tool::{Call, CallId};

/// How many orders may wait to be taken up; a sender waits beyond that, it never loses one.
const QUEUE: usize = 64;

/// An order with the way its answer goes back.
#[derive(Debug)]
pub(crate) enum Order {
    Call {
        call: Box<Call>,
        reply: oneshot::Sender<Outcome>,
    },
    Preview {
        tool: String,
        arguments: Map<String, Value>,
        reply: oneshot::Sender<Preview>,
    },
    Cancel {
        id: CallId,
        reply: oneshot::Sender<bool>,
    },
    Server {
        source: String,
        server: String,
        order: ServerOrder,
        reply: oneshot::Sender<Result<String, OrderError>>,
    },
    Layer {
        layer: String,
        order: LayerOrder,
        reply: oneshot::Sender<Result<(), LayerError>>,
    },
    Authorize {
        source: String,
        server: String,
        reply: oneshot::Sender<Result<String, OrderError>>,
    },
    Accept {
        source: String,
        server: String,
        tool: Option<String>,
        reply: oneshot::Sender<Result<String, OrderError>>,
    },
    Reload {
        reply: oneshot::Sender<Result<String, OrderError>>,
    },
    Reply {
        question: u64,
        answer: Answer,
        reply: oneshot::Sender<bool>,
    },
    Answer {
        question: u64,
        decision: Decision,
        reply: oneshot::Sender<bool>,
    },
    OpenSession {
        name: Option<String>,
        required: Vec<Arc<str>>,
        reply: oneshot::Sender<Result<SessionId, SessionError>>,
    },
    Play {
        scenario: Box<LoadedScenario>,
        pace: Pace,
        interval: Duration,
        reply: oneshot::Sender<Result<SessionId, SessionError>>,
    },
    Session {
        id: SessionId,
        order: SessionOrder,
        reply: oneshot::Sender<Result<SessionAnswer, SessionError>>,
    },
    Expose {
        tool: Arc<str>,
        mode: Option<Mode>,
        reply: oneshot::Sender<Result<Mode, ExposureError>>,
    },
}

/// What a call would send, as text with secrets masked, or why nothing would be sent; `None` where
/// the tool cannot tell.
pub type Preview = Option<Result<String, String>>;

/// What an operator may order a layer of the chain to do, for this process only.
#[derive(Clone, Debug)]
pub enum LayerOrder {
    /// Let calls go past it.
    Pause,
    /// Let calls go through it again.
    Resume,
    /// Take its part of these settings over.
    Change(Box<MiddlewareSettings>),
    /// Begin a fault drill, which ends by itself; for `fault` alone.
    Drill(Box<Drill>),
    /// End the drill before its time.
    EndDrill,
}

/// Why an order got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The runtime has been shut down.
    #[error("the tool system is shut down and takes no orders")]
    Closed,
    /// The order was answered with an error.
    #[error(transparent)]
    Refused(#[from] OrderError),
    /// A layer could not follow the order.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// A session did not take the order.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The exposure of a tool stays as it is.
    #[error(transparent)]
    Exposure(#[from] ExposureError),
}

/// Gives orders to a runtime. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Control {
    orders: mpsc::Sender<Order>,
}

impl Control {
    pub(crate) fn channel() -> (Self, mpsc::Receiver<Order>) {
        let (orders, taken) = mpsc::channel(QUEUE);
        (Self { orders }, taken)
    }

    async fn ask<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<T>) -> Order,
    ) -> Result<T, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.orders
            .send(order(reply))
            .await
            .map_err(|_| ControlError::Closed)?;
        answer.await.map_err(|_| ControlError::Closed)
    }

    /// Runs one call through the chain, whatever the tool's exposure. Dropping the future cancels
    /// the call.
    ///
    /// # Errors
    /// Only when the runtime is shut down; a failed call is an outcome.
    pub async fn call(&self, call: Call) -> Result<Outcome, ControlError> {
        let call = Box::new(call);
        self.ask(|reply| Order::Call { call, reply }).await
    }

    /// What a call with these arguments would send, without sending it.
    ///
    /// # Errors
    /// When the runtime is shut down.
    pub async fn preview(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Preview, ControlError> {
        let tool = tool.to_owned();
        self.ask(|reply| Order::Preview {
            tool,
            arguments,
            reply,
        })
        .await
    }

    /// Cancels a running call; `false` when no call of that id runs.
    ///
    /// # Errors
    /// When the runtime is shut down.
    pub async fn cancel(&self, id: CallId) -> Result<bool, ControlError> {
        self.ask(|reply| Order::Cancel { id, reply }).await
    }

    /// Gives an order to a server and answers with a sentence that says what was done.
    ///
    /// # Errors
    /// When the server is unknown, the order makes no sense now, or the runtime is shut down.
    pub async fn server(
        &self,
        source: &str,
        server: &str,
        order: ServerOrder,
    ) -> Result<String, ControlError> {
        let (source, server) = (source.to_owned(), server.to_owned());
        self.ask(|reply| Order::Server {
            source,
            server,
            order,
            reply,
        })
        .await?
        .map_err(Into::into)
    }

    /// Reads the deployment again and takes it over, as far as it is different (rule 10.5). Answers
    /// with a sentence that says what was done.
    ///
    /// # Errors
    /// When it is broken, and then nothing has changed; when it comes from no file; or when the
    /// runtime is shut down.
    pub async fn reload(&self) -> Result<String, ControlError> {
        self.ask(|reply| Order::Reload { reply })
            .await?
            .map_err(Into::into)
    }

    /// Pauses, resumes or changes a layer of the chain, for this process only.
    ///
    /// # Errors
    /// When the chain has no such layer, the layer cannot follow, or the runtime is shut down.
    pub async fn layer(&self, layer: &str, order: LayerOrder) -> Result<(), ControlError> {
        let layer = layer.to_owned();
        self.ask(|reply| Order::Layer {
            layer,
            order,
            reply,
        })
        .await?
        .map_err(Into::into)
    }

    /// Answers what a server asked of an operator (rule 8.12); `false` when the question is not
    /// open any more.
    ///
    /// # Errors
    /// When the runtime is shut down.
    pub async fn reply(&self, question: u64, answer: Answer) -> Result<bool, ControlError> {
        self.ask(|reply| Order::Reply {
            question,
            answer,
            reply,
        })
        .await
    }

    /// Begins the authorization of a server that refused us, and answers with the address that the
    /// operator has to open. The server connects anew once it is granted.
    ///
    /// # Errors
    /// When the server names no way to be authorized, is unknown, or the runtime is shut down.
    pub async fn authorize(&self, source: &str, server: &str) -> Result<String, ControlError> {
        let (source, server) = (source.to_owned(), server.to_owned());
        self.ask(|reply| Order::Authorize {
            source,
            server,
            reply,
        })
        .await?
        .map_err(Into::into)
    }

    /// Accepts definitions that the `pin` file of a server holds back: one tool, or all that it
    /// offers now (rule 8.1). Answers with a sentence that says what was done.
    ///
    /// # Errors
    /// When there is nothing to accept, the server is unknown, or the runtime is shut down.
    pub async fn accept(
        &self,
        source: &str,
        server: &str,
        tool: Option<&str>,
    ) -> Result<String, ControlError> {
        let (source, server) = (source.to_owned(), server.to_owned());
        let tool = tool.map(str::to_owned);
        self.ask(|reply| Order::Accept {
            source,
            server,
            tool,
            reply,
        })
        .await?
        .map_err(Into::into)
    }

    /// Answers what the layer `approval` asked; `false` when the question is not open any more.
    ///
    /// # Errors
    /// When the runtime is shut down.
    pub async fn answer(&self, question: u64, decision: Decision) -> Result<bool, ControlError> {
        self.ask(|reply| Order::Answer {
            question,
            decision,
            reply,
        })
        .await
    }

    /// Opens a session in which whoever orders is the model, and begins its first round. Without a
    /// name it gets one with a number.
    ///
    /// # Errors
    /// When too many are open, or the runtime is shut down.
    pub async fn open_session(
        &self,
        name: Option<String>,
        required: Vec<Arc<str>>,
    ) -> Result<SessionId, ControlError> {
        self.ask(|reply| Order::OpenSession {
            name,
            required,
            reply,
        })
        .await?
        .map_err(Into::into)
    }

    /// Plays a scenario on a stage of its own: its deployment is started beside this one, its
    /// calls run there, and its session is listed here. Answers at once; how it goes on is seen in
    /// the row of the session.
    ///
    /// # Errors
    /// When too many are open, or the runtime is shut down.
    pub async fn play(
        &self,
        scenario: LoadedScenario,
        pace: Pace,
        interval: Duration,
    ) -> Result<SessionId, ControlError> {
        let scenario = Box::new(scenario);
        self.ask(|reply| Order::Play {
            scenario,
            pace,
            interval,
            reply,
        })
        .await?
        .map_err(Into::into)
    }

    /// Gives an order to a session. Orders to one session are carried out one after the other, in
    /// the order in which they were given.
    ///
    /// # Errors
    /// When the session is unknown or cannot follow, or the runtime is shut down.
    pub async fn session(
        &self,
        id: SessionId,
        order: SessionOrder,
    ) -> Result<SessionAnswer, ControlError> {
        match self.ask(|reply| Order::Session { id, order, reply }).await {
            Ok(answer) => answer.map_err(Into::into),
            // Nobody answers in a session that ends meanwhile.
            Err(ControlError::Closed) if !self.orders.is_closed() => {
                Err(SessionError::Closed.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Changes how a tool comes into view, for this process only; without a mode as the deployment
    /// says. Sessions see it in their next round. Answers with the mode in force.
    ///
    /// # Errors
    /// When dynamic injection is off, the tool is unknown or `tool_search`, or the runtime is shut
    /// down.
    pub async fn expose(&self, tool: &str, mode: Option<Mode>) -> Result<Mode, ControlError> {
        let tool = tool.into();
        self.ask(|reply| Order::Expose { tool, mode, reply })
            .await?
            .map_err(Into::into)
    }
}
