//! What the state asks the driver to do. Every command that has an answer carries an id.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolcrib::control::{ControlError, LayerOrder, Preview, SessionOrder};
use toolcrib::deployment::Problems;
use toolcrib::discovery::Mode;
use toolcrib::discovery::session::RoundRecord;
use toolcrib::discovery::what_if::{Changes, WhatIf, WhatIfError};
use toolcrib::executor::Outcome;
use toolcrib::middleware::Decision;
use toolcrib::observe::TrafficFrame;
use toolcrib::session::{RoundReport, SessionId};
use toolcrib::source::ServerOrder;
use toolcrib::tool::{Call, CallId, Part};

use crate::scenarios::Script;

/// Identity of a question, so that a late answer can be told from the one that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OrderId(pub(super) u64);

/// An effect.
#[derive(Debug)]
pub(crate) enum Command {
    /// Give an order to a server.
    Server {
        id: OrderId,
        source: Arc<str>,
        server: Arc<str>,
        order: ServerOrder,
    },
    /// Begin the authorization of a server.
    Authorize {
        id: OrderId,
        source: Arc<str>,
        server: Arc<str>,
    },
    /// Accept what the pin file of a server holds back: one tool, or all.
    Accept {
        id: OrderId,
        source: Arc<str>,
        server: Arc<str>,
        tool: Option<Arc<str>>,
    },
    /// Answer what a server asked.
    Reply {
        id: OrderId,
        question: u64,
        answer: toolcrib::source::mcp::Answer,
    },
    /// Read the deployment again.
    Reload { id: OrderId },
    /// Run a call.
    Call { id: OrderId, call: Box<Call> },
    /// Tell what a call would send.
    Preview {
        id: OrderId,
        tool: Arc<str>,
        arguments: Map<String, Value>,
    },
    /// Cancel a running call.
    Cancel { id: OrderId, call: CallId },
    /// Answer what the layer `approval` asked about a call.
    Decide {
        id: OrderId,
        question: u64,
        decision: Decision,
    },
    /// Give an order to a layer of the chain.
    Layer {
        id: OrderId,
        layer: String,
        order: LayerOrder,
    },
    /// Give an order that concerns sessions.
    Session { id: OrderId, order: SessionCommand },
    /// Play recorded rounds again with other settings.
    WhatIf {
        id: OrderId,
        rounds: Vec<Arc<RoundRecord>>,
        changes: Changes,
    },
    /// Put text on the terminal's clipboard.
    Copy(String),
    /// Write a screen's text to a new file in the working directory.
    Save {
        id: OrderId,
        name: String,
        text: String,
    },
    /// Write several texts to new files in the working directory, each with its name.
    SaveFiles {
        id: OrderId,
        files: Vec<(String, String)>,
    },
    /// Write the parts of a result to new files in the working directory.
    SaveParts {
        id: OrderId,
        tool: Arc<str>,
        parts: Arc<[Part]>,
    },
    /// Write frames to a new file in the working directory, one JSON object a line.
    SaveFrames {
        id: OrderId,
        name: String,
        frames: Vec<Arc<TrafficFrame>>,
    },
    /// Ring the terminal's bell.
    Bell,
    /// Switch mouse reports on or off.
    Mouse(bool),
    /// End the console.
    Quit,
}

/// An order that concerns sessions.
#[derive(Clone, Debug)]
pub(crate) enum SessionCommand {
    /// Open one in which the operator is the model.
    Open,
    /// Play a scenario.
    Play(Script),
    /// Give one an order.
    Order(SessionId, SessionOrder),
    /// Change how a tool comes into view.
    Expose(Arc<str>, Option<Mode>),
}

/// What an order that concerns sessions came to.
#[derive(Debug)]
pub(crate) enum SessionDone {
    /// This session was opened.
    Opened(SessionId),
    /// A batch was run.
    Ran(Box<RoundReport>),
    /// A sentence says what was done.
    Said(String),
}

/// Why an order that concerns sessions was not done.
#[derive(Debug)]
pub(crate) enum NotDone {
    /// The file of the scenario has these problems.
    Unreadable(Problems),
    /// Told in a sentence.
    Said(String),
}

/// What a command came to.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Of [`Command::Server`], [`Command::Accept`] and [`Command::Reload`]: a sentence that says what was done.
    Server(Result<String, ControlError>),
    /// Of [`Command::Authorize`]: the address to open.
    Authorize(Result<String, ControlError>),
    /// Of [`Command::Call`].
    Called(Box<Result<Outcome, ControlError>>),
    /// Of [`Command::Preview`].
    Previewed(Result<Preview, ControlError>),
    /// Of [`Command::Cancel`]: whether such a call ran.
    Cancelled(Result<bool, ControlError>),
    /// Of [`Command::Decide`] and [`Command::Reply`]: whether the question was still open.
    Decided(Result<bool, ControlError>),
    /// Of [`Command::Session`], or why it was not done.
    Session(Result<SessionDone, NotDone>),
    /// Of [`Command::Layer`].
    Layer(Result<(), ControlError>),
    /// Of [`Command::WhatIf`].
    WhatIf(Result<Box<WhatIf>, WhatIfError>),
    /// Of [`Command::Save`], [`Command::SaveFiles`], [`Command::SaveParts`] and
    /// [`Command::SaveFrames`]: where it was written, or why not.
    Saved(Result<String, String>),
}
