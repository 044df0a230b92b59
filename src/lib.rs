//! `toolcrib` is a tool system for language models: a counter where tools are kept, issued on
//! request and taken back.
//!
//! The library knows nothing of terminals. It publishes what happens as a [`observe::Snapshot`]
//! and takes orders through [`control::Control`]; the console and the commands are built on those
//! two alone. Rule numbers in the docs (for example "rule 5.3") are those of the tool system's
//! specification, which the tests cite as well.
//!
//! Direction of knowledge: [`tool`] <- [`registry`] <- [`middleware`], [`executor`], [`source`] <-
//! [`observe`], [`control`], [`deployment`] <- [`runtime`]. No arrow points back.

pub mod clock;
pub mod control;
pub mod deployment;
pub mod discovery;
pub mod executor;
pub mod inference;
pub mod middleware;
pub mod observe;
#[cfg(feature = "otel")]
pub mod otel;
mod percent;
pub mod registry;
pub mod runtime;
pub mod scenario;
pub mod secrets;
pub mod session;
pub mod source;
mod tls;
pub mod tool;
