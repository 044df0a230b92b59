//! Tests of the library from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what fails here fails the test"
)]

mod deployment;
mod mcp;
mod reload;
mod shipped;
mod skills;
