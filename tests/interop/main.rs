//! Against public MCP servers from npm and PyPI: connect, list, call, kill, reconnect.
//!
//! These tests are ignored by default, since they need Node, Python and the packages that
//! `.ci/run` installs into the directory that `TOOLCRIB_INTEROP` names.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what fails here fails the test"
)]

mod conformance;
mod host;
mod http;
mod stdio;
