//! The program as its users run it: what it prints, with which exit code, and what it leaves behind.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what fails here fails the test"
)]

mod calls;
mod check;
mod failing;
#[cfg(feature = "otel")]
#[path = "../interop/telemetry.rs"]
mod interop;
mod lists;
mod metrics;
#[cfg(feature = "otel")]
mod otel;
mod place;
mod reference;
mod secrets;
mod signals;
mod skills;
