//! What the keys do on the screen Telemetry.

use std::sync::Arc;

use toolcrib::control::LayerOrder;
use toolcrib::middleware::Decision;
use toolcrib::observe::{Snapshot, UNKNOWN, Window};

use super::prompt::Prompt;
use super::{Telemetry, View, approvals, chain, export, named};
use crate::console::keymap::Action;
use crate::console::shared::{Deed, Request, Shared};

/// The layers whose settings act while they run, and so can be changed.
const CHANGEABLE: [&str; 7] = [
    "result_limit",
    "redact",
    "approval",
    "timeout",
    "rate_limit",
    "concurrency",
    "fault",
];

/// Whether the assembly has a chain, into which a drill can be put.
fn has_chain(snapshot: &Snapshot) -> bool {
    snapshot.assembly.implementation == "middleware"
}

/// The layer that is selected, if one is.
fn layer(screen: &Telemetry) -> Option<&Arc<str>> {
    screen
        .selected()
        .filter(|name| screen.view == View::Chain && ***name != *chain::TOOL)
}

pub(super) fn can(screen: &Telemetry, action: Action, shared: &Shared) -> bool {
    let any = screen.selected().is_some();
    let snapshot = shared.snapshot();
    match action {
        Action::Down | Action::Up | Action::First | Action::Last => any,
        Action::HalfDown | Action::HalfUp => any,
        Action::Open | Action::Describe => any && !screen.inside,
        Action::NextPane | Action::PreviousPane => any,
        Action::NextTab | Action::PreviousTab => true,
        Action::Filter => screen.inside || screen.view.is_named() || screen.view == View::Calls,
        Action::NextHit | Action::PreviousHit => screen.inside && screen.reader.has_hits(),
        Action::Sort | Action::Invert => !screen.inside && screen.view.is_named() && any,
        Action::Wrap => screen.inside,
        Action::Copy => any,
        Action::Window => !matches!(screen.view, View::Calls | View::Approvals),
        Action::Export => true,
        Action::Pause => layer(screen).is_some(),
        Action::Settings => layer(screen).is_some_and(|name| CHANGEABLE.contains(&&**name)),
        Action::Drill => has_chain(snapshot),
        Action::Approve | Action::Deny | Action::ApproveAlways => screen.question(shared).is_some(),
        Action::Logs => screen.view == View::Sources && any,
        Action::Call => screen.view == View::Tools && known_tool(screen, snapshot).is_some(),
        Action::Back => screen.inside,
        _ => false,
    }
}

/// The selected tool as the snapshot shows it, if it is registered now.
fn known_tool(screen: &Telemetry, snapshot: &Snapshot) -> Option<Arc<str>> {
    let name = screen.selected()?;
    snapshot
        .tools
        .iter()
        .find(|tool| tool.definition.name() == &**name)
        .map(|tool| tool.definition.shared_name())
}

pub(super) fn act(screen: &mut Telemetry, action: Action, shared: &mut Shared) {
    screen.wanted = None;
    match action {
        Action::Open | Action::Describe => screen.inside = true,
        Action::NextPane | Action::PreviousPane => screen.inside = !screen.inside,
        Action::Back if !screen.reader.search().is_empty() => screen.reader.set_search(""),
        Action::Back => screen.inside = false,
        Action::NextTab | Action::PreviousTab => {
            screen.show(screen.view.step(action == Action::NextTab));
        }
        Action::NextHit => screen.reader.step_hit(true),
        Action::PreviousHit => screen.reader.step_hit(false),
        Action::Wrap => screen.reader.toggle_wrap(),
        Action::Sort => {
            screen.sort = screen.sort.next();
            screen.inverted = false;
        }
        Action::Invert => screen.inverted = !screen.inverted,
        Action::Window => {
            let at = Window::ALL
                .iter()
                .position(|window| *window == screen.window);
            screen.window = Window::ALL[at.map_or(0, |at| (at + 1) % Window::ALL.len())];
            shared.say(format!("counts are of: {}", screen.window.as_str()));
        }
        Action::Export => export_shown(screen, shared),
        Action::Pause => pause(screen, shared),
        Action::Settings => settings(screen, shared),
        Action::Drill => drill(screen, shared),
        Action::Approve | Action::Deny | Action::ApproveAlways => decide(screen, action, shared),
        Action::Logs => {
            if let Some(name) = screen.selected() {
                shared.request(Request::Logs(Arc::clone(name)));
            }
        }
        Action::Call => {
            if let Some(name) = known_tool(screen, shared.snapshot()) {
                shared.request(Request::Call(name));
            }
        }
        moving if screen.inside => screen.reader.move_by(moving),
        moving => screen.roster_mut().move_by(moving),
    }
}

fn decide(screen: &Telemetry, action: Action, shared: &mut Shared) {
    let Some(asked) = screen.question(shared).cloned() else {
        return;
    };
    let id = asked.id;
    match action {
        // Only a yes asks again: it may do what cannot be undone, and keys are pressed by mistake.
        Action::Deny => shared.order_decide(id, Decision::Deny),
        Action::Approve => {
            let deed = Deed::Decide(id, Decision::Approve);
            shared.request(Request::Ask(approvals::sure(&asked, shared), deed));
        }
        _ => {
            let session = match &asked.session {
                Some(session) => format!("session `{session}`"),
                None => "the calls outside of sessions".to_owned(),
            };
            let question = format!(
                "let this call and every later one of `{}` run in {session} without asking?",
                asked.tool
            );
            shared.request(Request::Ask(question, Deed::Decide(id, Decision::Always)));
        }
    }
}

fn pause(screen: &Telemetry, shared: &mut Shared) {
    let Some(name) = layer(screen) else { return };
    let paused = chain::layer(shared.snapshot(), name).is_some_and(|layer| layer.paused);
    let (question, order, done) = match paused {
        false => (
            format!("let calls go past `{name}`? it does nothing until you resume it"),
            LayerOrder::Pause,
            format!("`{name}` is paused: calls go past it"),
        ),
        true => (
            format!("let calls go through `{name}` again?"),
            LayerOrder::Resume,
            format!("`{name}` is at work again"),
        ),
    };
    shared.request(Request::Ask(
        question,
        Deed::Layer(name.to_string(), order, done),
    ));
}

fn settings(screen: &mut Telemetry, shared: &Shared) {
    let Some(name) = layer(screen).cloned() else {
        return;
    };
    let snapshot = shared.snapshot();
    let Some(layer) = chain::layer(snapshot, &name) else {
        return;
    };
    let sources = snapshot
        .sources
        .iter()
        .map(|source| source.name.to_string());
    let written = chain::written(layer);
    screen.prompt = Some(Prompt::settings(&name, &written, sources.collect()));
}

fn drill(screen: &mut Telemetry, shared: &mut Shared) {
    let layers = &shared.newest().layers;
    if layers.iter().any(|layer| layer.drill.is_some()) {
        let deed = Deed::Layer(
            "fault".into(),
            LayerOrder::EndDrill,
            "the drill has ended".into(),
        );
        shared.request(Request::Ask("end the fault drill now?".into(), deed));
        return;
    }
    let tool = screen
        .selected()
        .filter(|name| screen.view == View::Tools && ***name != *UNKNOWN);
    let tools = shared.newest().tools.iter();
    let names = tools.map(|tool| tool.definition.shared_name()).collect();
    screen.prompt = Some(Prompt::drill(tool.map_or("*", |name| &**name), names));
}

/// Writes the list as it is shown as CSV, and everything as JSON.
fn export_shown(screen: &Telemetry, shared: &mut Shared) {
    let snapshot = Arc::clone(shared.snapshot());
    let now = shared.now();
    let age = snapshot.age_at(now.at);
    let name = |name: &str| crate::text::clean_name(name, shared.theme.marks).into_owned();
    let keys = screen.roster().keys();
    let csv = match (screen.counted(&snapshot), screen.view) {
        (Some((map, busy)), _) => {
            let rows = keys.iter().map(|key| {
                let meter = map.get(key).map(|meter| meter.tally(screen.window, age));
                let load = named::load(busy, key);
                export::tally_row(&name(key), screen.window, &meter.unwrap_or_default(), load)
            });
            export::csv(&export::TALLY_HEADS, rows)
        }
        (None, View::Chain) => {
            let layers = &snapshot.stats.meters.layers;
            let rows = keys.iter().map(|key| {
                let meter = layers.get(key).map(|meter| meter.tally(screen.window, age));
                let load = named::load(&snapshot.stats.busy.layers, key);
                export::tally_row(&name(key), screen.window, &meter.unwrap_or_default(), load)
            });
            export::csv(&export::TALLY_HEADS, rows)
        }
        (None, View::Calls) => {
            let heads = [
                "call_id",
                "tool",
                "owner",
                "session",
                "started",
                "outcome",
                "took_ms",
                "queue_ms",
                "bytes_in",
                "bytes_out",
            ];
            let shown = snapshot
                .history
                .iter()
                .filter(|record| keys.iter().any(|key| **key == *record.id.as_str()));
            let rows = shown.map(|record| {
                let waited: std::time::Duration =
                    record.layers.iter().map(|span| span.waited).sum();
                let optional =
                    |text: &Option<Arc<str>>| text.as_deref().map_or_else(String::new, name);
                vec![
                    name(record.id.as_str()),
                    name(&record.tool),
                    optional(&record.owner),
                    optional(&record.session),
                    record.started.wall.to_string(),
                    record
                        .error_kind
                        .map_or("ok", |kind| kind.as_str())
                        .to_owned(),
                    (record.duration.as_secs_f64() * 1_000.0).to_string(),
                    (waited.as_secs_f64() * 1_000.0).to_string(),
                    record.bytes_in.to_string(),
                    record.bytes_out.to_string(),
                ]
            });
            export::csv(&heads, rows)
        }
        (None, _) => {
            let rows = snapshot.approvals.iter().map(|asked| {
                vec![
                    name(asked.call_id.as_str()),
                    name(&asked.tool),
                    asked.asked.wall.to_string(),
                    asked.arguments.to_string(),
                ]
            });
            export::csv(&["call_id", "tool", "asked", "arguments"], rows)
        }
    };
    let data = export::data(&snapshot, now.at);
    let json = serde_json::to_string_pretty(&data).unwrap_or_default();
    let stamp = shared.file_stamp();
    let audit = export::audit_file(&snapshot).map(ToOwned::to_owned);
    shared.order_save_files(
        vec![
            (format!("toolcrib-{}-{stamp}.csv", screen.view.title()), csv),
            (
                format!("toolcrib-telemetry-{stamp}.json"),
                format!("{json}\n"),
            ),
        ],
        audit.map(|file| format!("; the audit log is {file}")),
    );
}
