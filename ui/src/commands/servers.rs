//! `servers`: how each server fares.

use std::sync::Arc;

use serde::Serialize;
use tokio::time::Instant;
use toolcrib::secrets::Secrets;
use toolcrib::source::{ServerInfo, ServerState, ServerStatus};

use super::Failure;
use super::headless::{may_serve, readiness, snapshot, with_runtime};
use super::output::{Look, Out, Tone};
use super::table::{Cell, Table};
use crate::cli::Global;
use crate::opening::Opened;

/// One server in `--json`.
#[derive(Serialize)]
struct Row<'s> {
    source: &'s str,
    server: &'s str,
    transport: &'static str,
    state: &'static str,
    required: bool,
    protocol: Option<&'s str>,
    server_info: Option<ServerInfo>,
    tools: usize,
    attempts: u32,
    reconnects: u32,
    last_error: Option<String>,
    next_retry_ms: Option<u64>,
}

/// Prints the servers, and then fails if one of them keeps the deployment from its work: a list of
/// servers is worth most when something is wrong with them.
pub(crate) async fn run(opened: &Opened, global: &Global, json: bool) -> Result<(), Failure> {
    with_runtime(opened, global.assembly.as_deref(), async |runtime| {
        let ready = readiness(runtime, global.wait).await;
        let servers = Arc::clone(&snapshot(runtime).await.servers);
        let now = Instant::now();
        let rows: Vec<Row<'_>> = servers
            .iter()
            .map(|server| row(server, now, &opened.secrets))
            .collect();
        let mut out = Out::stdout(global.ascii);
        if json {
            out.json(&rows);
        } else if rows.is_empty() {
            eprintln!("no servers: this deployment has no source of impl `mcp`");
        } else {
            for line in lines(&rows, &out.look()) {
                out.line(&line);
            }
        }
        out.finish()?;
        may_serve(&ready)
    })
    .await
}

fn row<'s>(server: &'s ServerStatus, now: Instant, secrets: &Secrets) -> Row<'s> {
    let failing = !server.state.is_up();
    Row {
        source: &server.source,
        server: &server.name,
        transport: server.transport().as_str(),
        state: server.state.as_str(),
        required: server.required,
        protocol: server.protocol.as_deref(),
        server_info: server.server_info.as_ref().map(|info| ServerInfo {
            name: secrets.mask(&info.name).into_owned(),
            version: secrets.mask(&info.version).into_owned(),
        }),
        tools: server.tools,
        // What is waited for in `backoff` carries a number already, but has not been made.
        attempts: match server.state {
            ServerState::Backoff => server.attempts.saturating_sub(1),
            _ => server.attempts,
        },
        reconnects: server.reconnects,
        last_error: server.last_error.as_ref().map(|failure| {
            let advice = failure.advice.as_ref().filter(|_| failing);
            match advice {
                Some(advice) => format!("{}; {advice}", failure.message),
                None => failure.message.clone(),
            }
        }),
        next_retry_ms: server.next_retry.map(|retry| {
            let left = retry.at.saturating_duration_since(now);
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        }),
    }
}

fn lines(rows: &[Row<'_>], look: &Look) -> Vec<String> {
    let mut table = Table::new([
        "SERVER",
        "STATE",
        "TRANSPORT",
        "PROTOCOL",
        "TOOLS",
        "SOURCE",
        "LAST ERROR",
    ]);
    let none = if look.ascii { "-" } else { "–" };
    for row in rows {
        let state = match row.next_retry_ms {
            Some(left) => format!("{}, next in {:.1} s", row.state, left as f64 / 1000.0),
            None => row.state.to_owned(),
        };
        let required = if row.required { " (required)" } else { "" };
        table.row([
            Cell::new(format!("{}{required}", look.line(row.server))),
            Cell::new(state).tone(tone(row.state)),
            Cell::new(row.transport),
            Cell::new(row.protocol.unwrap_or(none)),
            Cell::number(row.tools),
            Cell::new(look.line(row.source)),
            Cell::new(
                row.last_error
                    .as_deref()
                    .map_or_else(|| none.to_owned(), |error| look.line(error)),
            ),
        ]);
    }
    table.lines(look)
}

fn tone(state: &str) -> Tone {
    match state {
        state if state == ServerState::Ready.as_str() => Tone::Good,
        state if state == ServerState::Rejected.as_str() => Tone::Bad,
        _ => Tone::Warn,
    }
}
