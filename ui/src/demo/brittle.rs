//! `brittle`: a server that falls over in the middle of a call, once; one tool of it always refuses,
//! and one never answers. For drills and tests of what a caller is told then.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use super::arguments::Arguments;
use super::server::{Answer, Client, Effect, Outcome, ToolSpec, Toolset, say};

/// What it ends with when it falls over.
const CODE: i32 = 3;

/// The server. Its memory is a file, since it has to outlive the process: one line per call.
pub(super) struct Brittle {
    pub(super) calls: PathBuf,
}

impl Brittle {
    /// Notes a call and gives how many there were of the tool before it.
    fn note(&self, tool: &str) -> std::io::Result<usize> {
        let known = std::fs::read_to_string(&self.calls).unwrap_or_default();
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.calls)?;
        writeln!(file, "{tool}")?;
        Ok(known.lines().filter(|line| *line == tool).count())
    }

    fn answer(&self, tool: &str) -> Outcome {
        let before = self.note(tool).map_err(|error| error.to_string())?;
        match tool {
            "fall" if before == 0 => {
                say("brittle", "falling over in the middle of a call (scripted)");
                #[expect(clippy::disallowed_methods, reason = "it has no children to stop")]
                std::process::exit(CODE);
            }
            "fall" => Ok(Answer::text(format!("stood, call {}", before + 1))),
            _ => Err("boom".into()),
        }
    }
}

impl Toolset for Brittle {
    fn name(&self) -> &'static str {
        "brittle"
    }

    fn instructions(&self) -> &'static str {
        "A server for drills: it does not last."
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let tool = |name, title, description| ToolSpec {
            name,
            title,
            description,
            effect: Effect::Writes,
            properties: json!({}),
            required: &[],
        };
        vec![
            tool(
                "fall",
                "Fall over",
                "Exit during the first call, and answer later ones.",
            ),
            tool("boom", "Refuse", "Fail with `boom`."),
            tool("hang", "Hang", "Never answer."),
        ]
    }

    fn call<'a>(&'a self, tool: &'a str, _: Arguments, _: &'a Client) -> BoxFuture<'a, Outcome> {
        async move {
            let outcome = self.answer(tool);
            if tool == "hang" {
                std::future::pending::<()>().await;
            }
            outcome
        }
        .boxed()
    }
}
