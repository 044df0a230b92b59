//! The console: a pure state machine over what the library publishes. [`run`] owns the terminal;
//! everything else is `update(&mut State, Event) -> Vec<Command>` and `view(&State, &mut Frame)`.
//! It knows the snapshot and the control, nothing else of the library's inside.

mod clean;
mod command;
mod driver;
mod event;
mod figures;
mod form;
mod frame;
mod grid;
mod input;
mod keyboard;
mod keymap;
mod log;
mod overlay;
mod pacer;
mod pane;
mod reader;
mod roster;
mod schema;
mod screens;
mod shared;
mod signals;
mod state;
mod subtabs;
mod terminal;
mod theme;
mod tree;
mod update;
mod view;
mod viewer;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod update_tests;

pub(crate) use driver::run;
pub(crate) use log::{LogLayer, log_layer};
pub(crate) use screens::telemetry::export::data as telemetry_data;
pub(crate) use screens::{ScreenId, traffic};
pub(crate) use shared::Options;
pub(crate) use view::render_once;
#[allow(
    unused_imports,
    reason = "the bench of frames drives the state by hand"
)]
pub(crate) use {event::Event, state::State, update::update, view::view};
