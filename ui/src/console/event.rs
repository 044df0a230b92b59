//! What happens to the state.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use toolcrib::clock::Stamp;
use toolcrib::observe::Snapshot;

use super::command::{Answer, OrderId};
use super::log::LogRecord;

/// Something the state has to take in.
#[derive(Debug)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// Something was published.
    Snapshot(Arc<Snapshot>),
    /// New lines of the log.
    Logs(Vec<Arc<LogRecord>>),
    /// The program was asked to read its deployment again.
    HangUp,
    /// Time went on.
    Tick(Stamp),
    /// A command was carried out.
    Answered(OrderId, Answer),
}
