//! MCP servers as a source of tools (section 8).

mod settings;

pub use settings::{Backoff, Liveness, McpSettings, Protocol, ServerSettings, TransportSettings};
