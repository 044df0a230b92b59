//! What lies over a screen and has the keys: a question, the filter's line, the help, the palette.

mod ask;
#[cfg(test)]
mod ask_tests;
mod choose;
mod confirm;
mod help;
mod link;
mod palette;
mod prompt;
mod report;

pub(super) use ask::{Ask, Asked, KEYS as ASK_KEYS};
pub(super) use choose::Choose;
pub(super) use confirm::Confirm;
pub(super) use help::Help;
pub(super) use link::Link;
pub(super) use palette::Palette;
pub(super) use prompt::Prompt;
pub(super) use report::Report;

use super::input::Input;

/// At most one thing lies over the screen.
#[derive(Debug)]
pub(super) enum Overlay {
    /// What a server asks.
    Ask(Box<Ask>),
    /// A question that wants a yes.
    Confirm(Confirm),
    /// A choice between a few deeds.
    Choose(Choose),
    /// A line that is asked for.
    Prompt(Prompt),
    /// The line that `/` opens. `before` is what `esc` brings back.
    Filter { input: Input, before: String },
    /// The keys that work here.
    Help(Help),
    /// An address that the operator has to open.
    Link(Link),
    /// What there is to say of the deployment.
    Report(Report),
    /// Every action by name.
    Palette(Palette),
}
