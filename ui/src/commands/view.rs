//! `view`: a screen of the console once, for scripts.

use serde_json::{Value, json};
use toolcrib::observe::{Snapshot, attention};

use super::Failure;
use super::headless::{may_serve, readiness, snapshot, with_runtime};
use super::output::Out;
use crate::cli::{self, Global};
use crate::console::{Options, ScreenId, render_once, telemetry_data, traffic};
use crate::opening::Opened;

/// The size of a screen where no terminal gives one: list left, evidence right.
const SIZE: (u16, u16) = (120, 40);

/// Prints the screen. A deployment that has failed is shown too, and then ends with exit code 1.
pub(crate) async fn run(opened: &Opened, global: &Global, args: &cli::View) -> Result<(), Failure> {
    with_runtime(opened, global.assembly.as_deref(), async |runtime| {
        // Somebody watches from the start, so that what happens in between is taken in.
        let _watching = runtime.snapshot();
        let ready = match args.after {
            Some(after) => {
                tokio::time::sleep(after).await;
                None
            }
            None => Some(readiness(runtime, global.wait).await),
        };
        let shown = snapshot(runtime).await;
        let mut out = Out::stdout(global.ascii);
        if args.json {
            out.json(&opened.secrets.mask_json(&data(args.screen, &shown)));
        } else {
            let (columns, rows) = out.look().size.unwrap_or(SIZE);
            let options = Options {
                read_only: global.read_only,
                ascii: global.ascii,
                screen: args.screen,
                ..Options::default()
            };
            // The last row of a terminal is left to the prompt.
            let text = render_once(&shown, options, columns, rows.saturating_sub(1));
            out.text(&opened.secrets.mask(&text));
        }
        out.finish()?;
        ready.map_or(Ok(()), |ready| may_serve(&ready))
    })
    .await
}

/// What a screen shows, as data.
fn data(screen: ScreenId, snapshot: &Snapshot) -> Value {
    let mut data = json!({
        "screen": screen.title().to_ascii_lowercase(),
        "taken": snapshot.taken,
        "deployment": snapshot.deployment,
        "assembly": snapshot.assembly,
    });
    let more = match screen {
        ScreenId::Overview => json!({
            "attention": attention(snapshot),
            "sources": snapshot.sources,
            "servers": snapshot.servers.iter().map(|server| json!({
                "source": server.source,
                "server": server.name,
                "state": server.state,
                "since": server.since,
                "tools": server.tools,
            })).collect::<Vec<_>>(),
            "running": snapshot.running,
            "total": snapshot.stats.total,
        }),
        ScreenId::Sources => json!({"sources": snapshot.sources, "servers": snapshot.servers}),
        ScreenId::Tools => json!({
            "tools": snapshot.tools,
            "refusals": snapshot.refusals,
            "changes": snapshot.changes,
        }),
        ScreenId::Telemetry => json!({
            "stats": snapshot.stats,
            "layers": snapshot.layers,
            "windows": telemetry_data(snapshot, snapshot.taken.at),
        }),
        ScreenId::Calls => json!({"running": snapshot.running, "history": snapshot.history}),
        ScreenId::Logs => json!({
            "logs": snapshot.servers.iter().map(|server| json!({
                "source": server.source,
                "server": server.name,
                "lines": server.log,
                "dropped": server.log_dropped,
            })).collect::<Vec<_>>(),
        }),
        ScreenId::Traffic => json!({
            "frames": snapshot.traffic.iter().map(|frame| traffic::object(frame)).collect::<Vec<_>>(),
            "dropped": snapshot.traffic.dropped,
        }),
        ScreenId::Sessions => json!({
            "sessions": snapshot.sessions,
            "worst_budget": snapshot.worst_budget,
        }),
        ScreenId::Chat => json!({}),
    };
    if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
        data.extend(more);
    }
    data
}
