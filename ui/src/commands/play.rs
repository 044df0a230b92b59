//! `play`: a scenario, round by round, and whether it came as expected.

use serde_json::json;
use toolcrib::discovery::TOOL_SEARCH;
use toolcrib::scenario::{Player, Scenario, Stage, Trace, TraceCall, TraceRound};
use toolcrib::tool::Part;

use super::Failure;
use super::headless::{settled, with_runtime};
use super::metrics;
use super::output::{Look, Out, Tone};
use crate::cli::{self, Global};
use crate::opening::Opened;

/// Plays the scenario and prints its trace; an expectation that was missed fails.
pub(crate) async fn run(
    opened: &Opened,
    global: &Global,
    args: &cli::Play,
    scenario: Scenario,
) -> Result<(), Failure> {
    let assembly = scenario.assembly.clone();
    with_runtime(opened, Some(&assembly), async move |runtime| {
        let _metrics = metrics::serve(global.metrics, runtime).await?;
        settled(runtime, global.wait).await?;
        let stage = Stage {
            executor: runtime.executor().clone(),
            discovery: runtime.discovery().clone(),
        };
        let played = Player::new(scenario, stage).play().await;
        let trace = played.map_err(|error| Failure::Failed(error.to_string()))?;
        let mut out = Out::stdout(global.ascii);
        if args.json {
            out.json(&json!(trace));
        } else {
            for line in lines(&trace, &out.look()) {
                out.line(&opened.secrets.mask(&line));
            }
        }
        out.finish()?;
        match trace.missed.is_empty() {
            true => Ok(()),
            false => Err(Failure::Said(1)),
        }
    })
    .await
}

/// The trace for people: per round what was sent, called, found and lost, then what was missed.
fn lines(trace: &Trace, look: &Look) -> Vec<String> {
    let mut lines = Vec::new();
    for round in &trace.rounds {
        lines.extend(of_round(round, look));
    }
    for miss in &trace.missed {
        lines.push(look.paint(Tone::Bad, &look.line(&format!("missed: {miss}"))));
    }
    let rounds = trace.rounds.len();
    lines.push(match trace.missed.len() {
        0 => look.paint(Tone::Good, &format!("{rounds} rounds, all as expected")),
        missed => look.paint(Tone::Bad, &format!("{rounds} rounds, {missed} missed")),
    });
    lines
}

fn of_round(round: &TraceRound, look: &Look) -> Vec<String> {
    let mut heading = look.paint(Tone::Strong, &format!("round {}", round.round));
    if let Some(note) = &round.note {
        heading.push_str(&look.paint(Tone::Quiet, &look.line(&format!("  {note}"))));
    }
    let mut lines = vec![heading];
    let mut tell = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            lines.push(look.line(&format!("  {what:<9} {}", names.join(", "))));
        }
    };
    tell(
        &format!("sent {}", round.visible.len()),
        round
            .visible
            .iter()
            .map(|tool| tool.name.to_string())
            .collect(),
    );
    tell(
        "withheld",
        round
            .withheld
            .iter()
            .map(|tool| format!("{} ({})", tool.name, tool.reason))
            .collect(),
    );
    for search in &round.searches {
        let exposed: Vec<&str> = search.exposed.iter().map(|name| &**name).collect();
        let failed: Vec<String> = search
            .failed
            .iter()
            .map(|hit| format!("{} ({})", hit.name, hit.reason))
            .collect();
        let missing = format!("not exposed: {}", failed.join(", "));
        let found = match (exposed.is_empty(), failed.is_empty()) {
            (true, true) => "nothing".to_owned(),
            (true, false) => missing,
            (false, true) => exposed.join(", "),
            (false, false) => format!("{}; {missing}", exposed.join(", ")),
        };
        tell("searched", vec![format!("\"{}\": {found}", search.query)]);
    }
    // What a search found has been told already.
    let searched = |call: &TraceCall| call.outcome == "ok" && *call.tool == *TOOL_SEARCH;
    for call in round.calls.iter().filter(|call| !searched(call)) {
        let text = call.content.iter().flatten().find_map(|part| match part {
            Part::Text(text) => Some(text.lines().next().unwrap_or_default()),
            _ => None,
        });
        let outcome = call.error_kind.map_or(call.outcome, |kind| kind.as_str());
        tell(
            "called",
            vec![format!(
                "{}: {outcome}  {}",
                call.tool,
                text.unwrap_or_default()
            )],
        );
    }
    tell(
        "left",
        round
            .evicted
            .iter()
            .map(|tool| format!("{} ({})", tool.name, tool.reason))
            .collect(),
    );
    lines
}
