//! `tools`: the registry by name.

use serde::Serialize;
use serde_json::Value;
use toolcrib::discovery::Mode;
use toolcrib::observe::ToolRow;
use toolcrib::secrets::Secrets;
use toolcrib::tool::Hints;

use super::Failure;
use super::headless::{settled, with_runtime};
use super::output::{Look, Out, Tone};
use super::table::{Cell, Table};
use crate::cli::Global;
use crate::opening::Opened;

/// One tool in `--json`.
#[derive(Serialize)]
struct Row<'t> {
    name: &'t str,
    source: &'t str,
    server: Option<&'t str>,
    exposure: Mode,
    bytes: usize,
    description: String,
    input_schema: Value,
    hints: Hints,
    definition_hash: &'t str,
    title: Option<String>,
    original_name: Option<&'t str>,
    defined_at: Option<&'t str>,
}

/// Prints the tools once the servers have settled.
pub(crate) async fn run(opened: &Opened, global: &Global, json: bool) -> Result<(), Failure> {
    with_runtime(opened, global.assembly.as_deref(), async |runtime| {
        let snapshot = settled(runtime, global.wait).await?;
        let rows: Vec<Row<'_>> = snapshot
            .tools
            .iter()
            .map(|tool| row(tool, &opened.secrets))
            .collect();
        let mut out = Out::stdout(global.ascii);
        if json {
            out.json(&rows);
        } else if rows.is_empty() {
            eprintln!("no tools: no source has registered one; `toolcrib servers` shows why");
        } else {
            for line in lines(&rows, &out.look()) {
                out.line(&line);
            }
        }
        out.finish()
    })
    .await
}

fn row<'t>(tool: &'t ToolRow, secrets: &Secrets) -> Row<'t> {
    let masked = |text: &str| secrets.mask(text).into_owned();
    Row {
        name: tool.definition.name(),
        source: &tool.owner.source,
        server: tool.owner.server.as_deref(),
        exposure: tool.exposure,
        bytes: tool.bytes,
        description: masked(tool.definition.description()),
        input_schema: secrets.mask_json(tool.definition.input_schema()),
        hints: tool.hints,
        definition_hash: &tool.definition_hash,
        title: tool.title.as_deref().map(masked),
        original_name: tool.original_name.as_deref(),
        defined_at: tool.defined_at.as_deref(),
    }
}

fn lines(rows: &[Row<'_>], look: &Look) -> Vec<String> {
    let mut table = Table::new(["TOOL", "EXPOSURE", "BYTES", "SOURCE", "DESCRIPTION"]);
    for row in rows {
        let owner = match row.server {
            Some(server) => format!("{}/{server}", row.source),
            None => row.source.to_owned(),
        };
        let exposure = match row.exposure {
            Mode::Hidden => Tone::Quiet,
            _ => Tone::Plain,
        };
        table.row([
            Cell::new(look.line(row.name)),
            Cell::new(row.exposure.as_str()).tone(exposure),
            Cell::number(row.bytes),
            Cell::new(look.line(&owner)),
            Cell::new(look.line(&row.description)),
        ]);
    }
    table.lines(look)
}
