//! Pictures of the screen, and what its keys do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib::control::LayerOrder;
use toolcrib::middleware::{
    Counter, Cut, Decision, DrillStatus, LayerSpan, LayerStatus, PendingApproval,
};
use toolcrib::observe::{Busy, CallRecord, Load, Snapshot};
use toolcrib::tool::{Attempt, ErrorKind};

use super::export;
use crate::console::command::Command;
use crate::console::fixture::{
    self, console, empty, normal, options, overfull, picture, press, take,
};
use crate::console::screens::ScreenId;
use crate::console::state::State;

const WIDE: (u16, u16) = (140, 42);

fn layer(
    name: &'static str,
    settings: serde_json::Value,
    counters: &[(&'static str, u64)],
) -> LayerStatus {
    LayerStatus {
        name,
        settings,
        counters: counters
            .iter()
            .map(|(name, value)| Counter {
                name,
                value: *value,
            })
            .collect(),
        paused: false,
        changed: false,
        drill: None,
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn span(
    layer: &'static str,
    entered: u64,
    took: u64,
    waited: u64,
    bytes: [Option<usize>; 2],
) -> LayerSpan {
    LayerSpan {
        layer,
        entered: ms(entered),
        took: ms(took),
        waited: ms(waited),
        completed: true,
        note: None,
        bytes_before: bytes[0],
        bytes_after: bytes[1],
        cut: None,
    }
}

/// A call that waited, and whose result was cut.
fn cut_call() -> CallRecord {
    let mut limit = span("result_limit", 0, 120, 0, [Some(48_000), Some(20_000)]);
    limit.note = Some("cut");
    limit.cut = Some(Cut {
        kept: 19_900,
        cut: 28_000,
    });
    CallRecord {
        duration: ms(121),
        bytes_out: 20_000,
        truncated: true,
        layers: Arc::new([
            span("recover", 0, 121, 0, [Some(20_000), Some(20_000)]),
            limit,
            span("timeout", 1, 118, 0, [Some(48_000), Some(48_000)]),
            span("concurrency", 1, 118, 60, [Some(48_000), Some(48_000)]),
            span("tool", 62, 57, 0, [None, Some(48_000)]),
        ]),
        ..fixture::call(0, "files__read_file", 2, None)
    }
}

/// A call that a timeout ended.
fn late_call() -> CallRecord {
    let mut tool = span("tool", 1, 30_000, 0, [None, None]);
    tool.completed = false;
    let mut timeout = span("timeout", 0, 30_001, 0, [None, Some(60)]);
    timeout.note = Some("expired");
    CallRecord {
        duration: ms(30_002),
        layers: Arc::new([
            span("recover", 0, 30_002, 0, [Some(60), Some(60)]),
            timeout,
            tool,
        ]),
        session: Some("agent-7".into()),
        ..fixture::call(1, "web__fetch", 40, Some(ErrorKind::Timeout))
    }
}

/// A call whose tool tried three times.
fn retried_call() -> CallRecord {
    let attempt = |entered, took, waited, outcome: Option<&'static str>| Attempt {
        entered: ms(entered),
        took: ms(took),
        waited: ms(waited),
        outcome: outcome.map(Into::into),
    };
    CallRecord {
        duration: ms(1_400),
        layers: Arc::new([
            span("timeout", 0, 1_400, 0, [Some(60), Some(60)]),
            span("rate_limit", 1, 1_399, 198, [Some(60), Some(60)]),
            span("tool", 200, 1_200, 0, [None, Some(60)]),
        ]),
        attempts: Arc::new([
            attempt(200, 40, 0, Some("503 Service Unavailable")),
            attempt(240, 130, 100, Some("429 Too Many Requests")),
            attempt(370, 1_030, 1_000, Some("200 OK")),
        ]),
        ..fixture::call(1, "web__fetch", 40, None)
    }
}

/// A chain that has something to do.
fn busy() -> Snapshot {
    let mut all = Snapshot::clone(&normal());
    all.layers = vec![
        layer("recover", json!({}), &[("recovered", 1)]),
        layer(
            "telemetry",
            json!({"enabled": true, "exported": false}),
            &[("executions.total", 312), ("errors.total", 4)],
        ),
        layer(
            "audit",
            json!({"file": "/srv/demo/audit.jsonl"}),
            &[("written", 312), ("lost", 0)],
        ),
        layer(
            "result_limit",
            json!({"max": 20_000, "marker": "…[cut]", "part_budget_bytes": 0}),
            &[
                ("results_cut", 3),
                ("kept_bytes", 60_000),
                ("cut_bytes", 84_000),
            ],
        ),
        layer(
            "validate",
            json!({}),
            &[("checked", 312), ("rejected", 2), ("unchecked", 0)],
        ),
        layer(
            "approval",
            json!({"tools": ["payment_*"], "timeout": "1m"}),
            &[
                ("pending", 0),
                ("standing", 0),
                ("approved", 4),
                ("denied", 1),
                ("expired", 0),
                ("gave_up", 0),
            ],
        ),
        layer(
            "timeout",
            json!({"default": "30s", "tools": {}}),
            &[("expired", 1)],
        ),
        layer(
            "concurrency",
            json!({"limit": 8, "per_source": {}}),
            &[
                ("running", 2),
                ("waiting", 0),
                ("started", 312),
                ("waited", 9),
                ("gave_up", 0),
                ("overloaded", 0),
            ],
        ),
    ]
    .into();
    let mut history = vec![Arc::new(cut_call()), Arc::new(late_call())];
    history.extend(all.history.iter().skip(2).cloned());
    all.history = history.into();
    all.stats.meters = fixture::meters(&all.history, all.started);
    all.stats.busy = Arc::new(Busy {
        tools: BTreeMap::from([(
            "sim__slow".into(),
            Load {
                in_flight: 2,
                waiting: 1,
            },
        )]),
        layers: BTreeMap::from([(
            "tool".into(),
            Load {
                in_flight: 1,
                waiting: 0,
            },
        )]),
        ..Busy::default()
    });
    all
}

fn saturated() -> Snapshot {
    let mut all = busy();
    let mut layers = all.layers.to_vec();
    let at = layers.len() - 1;
    layers[at].counters[0].value = 8;
    layers[at].counters[1].value = 37;
    layers[6].paused = true;
    layers[3].changed = true;
    all.layers = layers.into();
    all
}

fn drill() -> Snapshot {
    let mut all = busy();
    let mut fault = layer(
        "fault",
        json!({}),
        &[("delayed", 12), ("failed", 3), ("dropped", 0)],
    );
    fault.drill = Some(DrillStatus {
        tools: vec!["web__*".into()],
        latency: ms(2_000),
        error_rate: 0.2,
        drop: 0.0,
        began: fixture::ago(30),
        lasts: Duration::from_secs(120),
    });
    all.layers = all.layers.iter().cloned().chain([fault]).collect();
    all
}

fn asking() -> Snapshot {
    let mut all = busy();
    let asked = |id, tool: &str, patience| {
        Arc::new(PendingApproval {
            id,
            call_id: format!("call-9{id}").as_str().into(),
            tool: tool.into(),
            session: Some("agent-7".into()),
            arguments: json!({"path": "/srv/slow.txt", "amount": 84}),
            asked: fixture::ago(10),
            patience,
        })
    };
    all.approvals = vec![
        asked(7, "sim__slow", Some(Duration::from_secs(60))),
        asked(8, "files__write_file", None),
    ]
    .into();
    all
}

fn telemetry(snapshot: Snapshot, size: (u16, u16)) -> State {
    console(&Arc::new(snapshot), ScreenId::Telemetry, size)
}

#[test]
fn pictures_of_the_chain() {
    for (name, snapshot) in [
        ("empty", Snapshot::clone(&empty())),
        ("busy", busy()),
        ("saturated", saturated()),
        ("drill", drill()),
    ] {
        for size in [WIDE, (80, 24)] {
            let mut state = telemetry(snapshot.clone(), size);
            if name == "saturated" {
                press(&mut state, "G k");
            }
            let (width, height) = size;
            insta::assert_snapshot!(format!("chain-{name}-{width}x{height}"), picture(&state));
        }
    }
}

#[test]
fn pictures_of_tools_sources_and_sessions() {
    let mut state = telemetry(busy(), WIDE);
    press(&mut state, "]");
    insta::assert_snapshot!("tools", picture(&state));
    press(&mut state, "s j t t");
    insta::assert_snapshot!("tools-by-errors-since-start", picture(&state));
    press(&mut state, "]");
    insta::assert_snapshot!("sources", picture(&state));
    press(&mut state, "]");
    insta::assert_snapshot!("sessions", picture(&state));
}

#[test]
fn pictures_of_waterfalls() {
    let mut state = telemetry(busy(), WIDE);
    press(&mut state, "[ [");
    insta::assert_snapshot!("waterfall-cut", picture(&state));
    press(&mut state, "j");
    insta::assert_snapshot!("waterfall-late", picture(&state));
    let mut again = busy();
    again.history = vec![Arc::new(retried_call())].into();
    let mut state = telemetry(again, WIDE);
    press(&mut state, "[ [");
    insta::assert_snapshot!("waterfall-retried", picture(&state));
}

#[test]
fn pictures_where_there_is_little_room_and_in_ascii() {
    let mut state = telemetry(drill(), (40, 10));
    insta::assert_snapshot!("narrow-chain", picture(&state));
    press(&mut state, "[ [ enter");
    insta::assert_snapshot!("narrow-waterfall", picture(&state));
    let ascii = crate::console::Options {
        ascii: true,
        ..options(ScreenId::Telemetry)
    };
    let mut state = State::new(ascii, &Arc::new(drill()), WIDE);
    insta::assert_snapshot!("ascii-chain", picture(&state));
    press(&mut state, "[ [");
    let waterfall = picture(&state);
    assert!(waterfall.is_ascii(), "{waterfall}");
    let state = telemetry(Snapshot::clone(&overfull()), (100, 30));
    let _ = picture(&state);
}

#[test]
fn picture_of_what_waits_for_an_approval() {
    let mut state = telemetry(asking(), WIDE);
    press(&mut state, "[");
    insta::assert_snapshot!("approvals", picture(&state));
}

#[test]
fn the_band_is_on_every_screen_while_faults_are_injected() {
    let snapshot = Arc::new(drill());
    for id in ScreenId::ALL {
        let mut state = console(&snapshot, id, (100, 30));
        assert!(
            picture(&state).contains("FAULT DRILL: 2.00 s latency, 20 % errors"),
            "{id:?}"
        );
        press(&mut state, "z");
        assert!(picture(&state).contains("FAULT DRILL"), "{id:?} zoomed");
        take(&mut state, &Arc::new(busy()));
        assert!(
            !picture(&state).contains("FAULT DRILL"),
            "{id:?} after its end"
        );
    }
    let mut filed = busy();
    let settings = json!({"tools": ["mail_*"], "latency": "250ms", "error_rate": 0.0, "drop": 1.0});
    let fault = layer("fault", settings, &[]);
    filed.layers = filed.layers.iter().cloned().chain([fault]).collect();
    let shown = picture(&telemetry(filed, WIDE));
    assert!(
        shown.contains(
            "FAULTS ARE INJECTED, by the deployment file: 250 ms latency, 100 % dropped on mail_*"
        ),
        "{shown}"
    );
}

fn orders(commands: &[Command]) -> Vec<String> {
    let of = |command: &Command| match command {
        Command::Layer { layer, order, .. } => Some(match order {
            LayerOrder::Pause => format!("pause {layer}"),
            LayerOrder::Resume => format!("resume {layer}"),
            LayerOrder::Change(settings) => format!("change {layer} {:?}", settings.concurrency),
            LayerOrder::Drill(drill) => format!("drill {:?} {:?}", drill.faults, drill.lasts),
            LayerOrder::EndDrill => "end drill".to_owned(),
        }),
        _ => None,
    };
    commands.iter().filter_map(of).collect()
}

#[test]
fn a_layer_is_paused_and_resumed_only_after_a_yes() {
    let mut state = telemetry(busy(), WIDE);
    assert_eq!(orders(&press(&mut state, "P")), Vec::<String>::new());
    assert_eq!(orders(&press(&mut state, "n P y")), ["pause recover"]);
    let mut state = telemetry(saturated(), WIDE);
    press(&mut state, "gg j j j j j j");
    assert_eq!(orders(&press(&mut state, "P y")), ["resume timeout"]);
}

#[test]
fn settings_are_typed_checked_and_asked_about() {
    let mut state = telemetry(busy(), WIDE);
    press(&mut state, "G k C");
    let shown = picture(&state);
    assert!(
        shown.contains("Settings of concurrency") && shown.contains("{limit: 8}"),
        "{shown}"
    );
    press(&mut state, "backspace backspace 0 } enter");
    let shown = picture(&state);
    assert!(
        shown.contains("1 or more"),
        "what is wrong is told: {shown}"
    );
    let commands = press(&mut state, "backspace backspace 4 } enter y");
    assert_eq!(
        orders(&commands),
        ["change concurrency Some(ConcurrencySettings { limit: Some(4), per_source: [] })"]
    );
    // What has no settings that act has none to change.
    press(&mut state, "gg C");
    assert!(!picture(&state).contains("Settings of"));
}

#[test]
fn a_drill_is_typed_asked_about_and_can_be_ended() {
    let mut state = telemetry(busy(), WIDE);
    press(&mut state, "] F");
    assert!(picture(&state).contains("Fault drill"));
    press(&mut state, "enter");
    assert!(picture(&state).contains("(1 of 7"), "{}", picture(&state));
    let begun = orders(&press(&mut state, "y"));
    assert_eq!(begun.len(), 1);
    assert!(
        begun[0].contains("latency: 1s, error_rate: 0.1, drop: 0.0 } 120s"),
        "{begun:?}"
    );
    let mut state = telemetry(busy(), WIDE);
    press(
        &mut state,
        "F ctrl-u tools=no space latency=1s space for=1m enter",
    );
    let asked = picture(&state);
    assert!(asked.contains("(no tool is"), "{asked}");
    let mut state = telemetry(drill(), WIDE);
    assert_eq!(orders(&press(&mut state, "F n")), Vec::<String>::new());
    assert_eq!(orders(&press(&mut state, "F y")), ["end drill"]);
}

#[test]
fn read_only_refuses_every_change() {
    let options = crate::console::Options {
        read_only: true,
        ..options(ScreenId::Telemetry)
    };
    for keys in ["P y", "G k C enter y", "F enter y", "[ a y", "[ A y", "[ x"] {
        let mut state = State::new(options.clone(), &Arc::new(asking()), WIDE);
        let commands = press(&mut state, keys);
        let changes =
            |command: &Command| matches!(command, Command::Layer { .. } | Command::Decide { .. });
        assert!(!commands.iter().any(changes), "{keys}: {commands:?}");
    }
    for keys in ["P", "G k C", "F", "[ a", "[ A", "[ x"] {
        let mut state = State::new(options.clone(), &Arc::new(asking()), WIDE);
        press(&mut state, keys);
        assert!(picture(&state).contains("--read-only"), "{keys}");
    }
}

#[test]
fn nothing_is_approved_without_a_yes_and_the_bell_rings_once_for_each_question() {
    let decided = |keys: &str| -> Vec<(u64, Decision)> {
        let mut state = telemetry(asking(), WIDE);
        press(&mut state, "[");
        let commands = press(&mut state, keys);
        let decided = |command: &Command| match command {
            Command::Decide {
                question, decision, ..
            } => Some((*question, *decision)),
            _ => None,
        };
        commands.iter().filter_map(decided).collect()
    };
    assert_eq!(decided("a"), []);
    assert_eq!(decided("a a enter n"), []);
    assert_eq!(decided("a y"), [(7, Decision::Approve)]);
    assert_eq!(decided("j x"), [(8, Decision::Deny)]);
    assert_eq!(decided("A y"), [(7, Decision::Always)]);
    let mut state = console(&Arc::new(busy()), ScreenId::Overview, WIDE);
    let rings = |commands: &[Command]| {
        commands
            .iter()
            .filter(|c| matches!(c, Command::Bell))
            .count()
    };
    assert!(!picture(&state).contains("to approve"));
    assert_eq!(rings(&take(&mut state, &Arc::new(asking()))), 1);
    assert_eq!(rings(&take(&mut state, &Arc::new(asking()))), 0);
    assert!(picture(&state).contains("2 to approve"), "the header tells");
    press(&mut state, "!");
    assert!(picture(&state).contains("Telemetry: approvals"));
    press(&mut state, "esc");
    assert!(picture(&state).contains("Needs attention"));
}

#[test]
fn the_way_of_a_call_is_reached_from_the_history() {
    let mut state = console(&Arc::new(busy()), ScreenId::Calls, WIDE);
    press(&mut state, "/ web__fetch enter G t");
    let shown = picture(&state);
    assert!(
        shown.contains("Telemetry: calls") && shown.contains("OWN TIME"),
        "{shown}"
    );
}

#[test]
fn the_order_stands_for_a_second_and_the_selection_stays_with_its_name() {
    let mut state = telemetry(busy(), WIDE);
    press(&mut state, "] j");
    let name = |state: &State| state.screens.telemetry.selected().cloned();
    let selected = name(&state);
    press(&mut state, "s");
    assert_eq!(name(&state), selected, "another order");
    press(&mut state, "/ zzz enter");
    assert_eq!(name(&state), None);
    assert!(picture(&state).contains("nothing matches"));
    press(&mut state, "esc");
    assert!(name(&state).is_some());
}

#[test]
fn the_export_writes_the_list_and_everything() {
    let mut state = telemetry(busy(), WIDE);
    let files = |commands: Vec<Command>| {
        let found = commands.into_iter().find_map(|command| match command {
            Command::SaveFiles { files, .. } => Some(files),
            _ => None,
        });
        found.unwrap()
    };
    let written = files(press(&mut state, "] E"));
    let [(csv_name, csv), (json_name, json)] = written.as_slice() else {
        panic!("{written:?}");
    };
    assert_eq!(csv_name, "toolcrib-tools-20261130-121452.csv");
    assert_eq!(json_name, "toolcrib-telemetry-20261130-121452.json");
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("name,window,calls,errors,p50_ms")
    );
    assert_eq!(lines.count(), 7);
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(data["audit_file"], "/srv/demo/audit.jsonl");
    assert_eq!(
        data["tools"]["files__read_file"]["since_start"]["cut_bytes"],
        28_000
    );
    assert_eq!(data["tools"]["sim__slow"]["in_flight"], 2);
    assert_eq!(
        data["chain"]["timeout"]["since_start"]["errors_by_kind"]["timeout"],
        1
    );
    let state = telemetry(busy(), WIDE);
    let whole = export::data(state.shared.snapshot(), fixture::now().at);
    assert_eq!(whole["total"]["last_1h"]["calls"], 40);
    let calls = files(press(&mut telemetry(busy(), WIDE), "[ [ E"));
    assert_eq!(calls[0].1.lines().count(), 41);
}
