//! Tests of the library from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what fails here fails the test"
)]

mod deployment;
mod limits;
mod mcp;
#[cfg(feature = "otel")]
mod otel;
mod reload;
mod shipped;
mod skills;
