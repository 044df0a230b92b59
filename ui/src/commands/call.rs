//! `call`: one call through the chain.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;
use toolcrib::discovery::TOOL_SEARCH;
use toolcrib::runtime::Runtime;
use toolcrib::session::Gate;
use toolcrib::tool::{Call, CallId, ErrorKind, Part, ToolResult};

use super::arguments::Typed;
use super::failure::{FAILED, Failure};
use super::headless::{settled, with_runtime};
use super::media;
use super::output::{Look, Out};
use crate::cli::{self, Global};
use crate::opening::Opened;

/// The outcome in `--json`. What the call gave is shown as it is, secrets too (rule 10.3).
#[derive(Serialize)]
struct Answer<'c> {
    call_id: CallId,
    tool: &'c str,
    is_error: bool,
    error_kind: Option<ErrorKind>,
    content: &'c [Part],
    duration_ms: u64,
    truncated: bool,
    /// The files that `--save` wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<Vec<String>>,
}

/// Calls the tool and prints what it gave; an error result ends with exit code 1.
pub(crate) async fn run(
    opened: &Opened,
    global: &Global,
    args: &cli::Call,
    typed: &Typed,
) -> Result<(), Failure> {
    if global.read_only {
        let message = format!(
            "`--read-only` refuses calls, and `{}` was not called",
            args.tool
        );
        let denied = ToolResult::error(ErrorKind::Denied, message);
        return print(args, global, CallId::fresh(), &denied, 0);
    }
    with_runtime(opened, global.assembly.as_deref(), async |runtime| {
        settled(runtime, global.wait).await?;
        let mut call = Call::new(args.tool.as_str(), arguments(runtime, args, typed).await);
        call.deadline = args.timeout.map(|timeout| Instant::now() + timeout);
        let id = call.id.clone();
        let (result, duration) = if is_search(runtime, &args.tool) {
            search(runtime, call).await?
        } else {
            let outcome = runtime.control().call(call).await;
            let outcome = outcome.map_err(|error| Failure::Failed(error.to_string()))?;
            (outcome.result, outcome.duration)
        };
        let duration = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        print(args, global, id, &result, duration)
    })
    .await
}

/// Whether the tool is the assembly's own search, which only works within a session.
fn is_search(runtime: &Runtime, tool: &str) -> bool {
    tool == TOOL_SEARCH && runtime.discovery().settings().is_some()
}

/// The search in a session of its own, whose first round it is.
async fn search(runtime: &Runtime, call: Call) -> Result<(ToolResult, Duration), Failure> {
    let mut session = runtime.session("call", []);
    session.begin_round();
    let report = session.run(vec![call], Gate::Open).await;
    let ended = report.calls.into_iter().next();
    let ended = ended.ok_or_else(|| Failure::Failed("the search gave no answer".into()))?;
    let duration = ended
        .outcome
        .map_or(Duration::ZERO, |outcome| outcome.duration);
    Ok((ended.result, duration))
}

/// The arguments in the types of the tool's schema, which a lazy tool has to load first.
async fn arguments(runtime: &Runtime, args: &cli::Call, typed: &Typed) -> Value {
    if !typed.needs_schema() {
        return typed.under(None);
    }
    let catalog = runtime.executor().registry().catalog();
    let Some(entry) = catalog.get(&args.tool) else {
        return typed.under(None);
    };
    let loaded = match entry.tool.loader() {
        // A failed load is told by the call itself.
        Some(loader) => loader.load().await.ok(),
        None => None,
    };
    let definition = loaded.as_ref().unwrap_or(&entry.definition);
    typed.under(Some(definition.input_schema()))
}

fn print(
    args: &cli::Call,
    global: &Global,
    call_id: CallId,
    result: &ToolResult,
    duration_ms: u64,
) -> Result<(), Failure> {
    let saved = match &args.save {
        Some(dir) => Some(media::save(dir, &args.tool, &result.parts)?),
        None => None,
    };
    let saved = saved.map(|paths| -> Vec<String> {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    });
    let mut out = Out::stdout(global.ascii);
    if args.json {
        out.json(&Answer {
            call_id,
            tool: &args.tool,
            is_error: result.is_error(),
            error_kind: result.error_kind,
            content: &result.parts,
            duration_ms,
            truncated: result.truncated,
            saved,
        });
        out.finish()?;
    } else {
        let look = out.look();
        for part in &result.parts {
            out.line(shown(part, &look, args.save.is_some()).trim_end_matches('\n'));
        }
        out.finish()?;
        for path in saved.iter().flatten() {
            eprintln!("wrote {path}");
        }
        if result.truncated {
            eprintln!("note: the result was cut; what its marker stands for was not kept");
        }
    }
    match result.error_kind {
        None => Ok(()),
        Some(_) if args.json => Err(Failure::Said(FAILED)),
        Some(kind) => Err(Failure::Failed(format!(
            "`{}` answered with an error of kind `{kind}`",
            args.tool
        ))),
    }
}

/// A part as text. At a terminal a server's text is cleaned of what the terminal would obey; in a
/// pipe it goes through as it is, because a program reads it.
fn shown(part: &Part, look: &Look, saved: bool) -> String {
    let advice = if saved {
        ""
    } else {
        "; `--save DIR` writes it to a file"
    };
    let text = match part {
        Part::Text(text) => text.clone(),
        Part::Image { bytes, media_type } | Part::Audio { bytes, media_type } => {
            let kind = part.kind();
            format!("[{kind}, {media_type}, {} bytes{advice}]", bytes.len())
        }
        Part::File {
            uri,
            media_type,
            name,
        } => {
            let mut words = vec![format!("[file {uri}")];
            words.extend(name.clone());
            words.extend(media_type.clone());
            words.join(", ") + "]"
        }
        Part::Data { value, .. } => {
            serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
        }
    };
    if look.terminal {
        look.block(&text)
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_terminal_gets_clean_text_and_a_pipe_gets_it_as_it_is() {
        let look = |terminal| Look {
            terminal,
            colour: false,
            ascii: false,
            size: None,
        };
        let part = Part::Text("a\x1b[2Jb\nc".into());
        assert_eq!(shown(&part, &look(false), false), "a\x1b[2Jb\nc");
        assert_eq!(shown(&part, &look(true), false), "a␛[2Jb\nc");
    }

    #[test]
    fn each_kind_of_part_is_shown_with_what_can_be_done_with_it() {
        let look = Look {
            terminal: false,
            colour: false,
            ascii: false,
            size: None,
        };
        let image = Part::Image {
            bytes: vec![0; 3].into(),
            media_type: "image/png".into(),
        };
        let file = Part::File {
            uri: "file:///a".into(),
            media_type: Some("text/plain".into()),
            name: Some("a".into()),
        };
        let rows = [
            (
                &image,
                false,
                "[image, image/png, 3 bytes; `--save DIR` writes it to a file]",
            ),
            (&image, true, "[image, image/png, 3 bytes]"),
            (&file, false, "[file file:///a, a, text/plain]"),
            (&Part::json(json!({"a": 1})), false, "{\n  \"a\": 1\n}"),
        ];
        for (part, saved, expected) in rows {
            assert_eq!(shown(part, &look, saved), expected);
        }
    }
}
