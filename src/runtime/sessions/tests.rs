//! Sessions by order over a running deployment, under a paused clock.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use crate::control::{ControlError, Pace, SessionAnswer, SessionError, SessionOrder};
use crate::deployment::{ProcessEnvironment, load_text};
use crate::discovery::session::CallEnd;
use crate::discovery::{EvictReason, Mode};
use crate::observe::Snapshot;
use crate::runtime::{Options, Runtime};
use crate::scenario::{self, LoadedScenario, Player, Stage, Trace};
use crate::session::{PlayState, SessionId, SessionKind, SessionRow, SessionStatus};
use crate::tool::Call;

const DEPLOYMENT: &str = "\
resources:
  sim:
    kind: tool.Source
    impl: sim
    settings:
      tools:
        - {name: note_write, description: Write a note.}
        - {name: oven_heat, description: Heat the oven.}
        - {name: tap_open, description: Open the tap., behavior: {hang: {}}}
  tools:
    kind: tool.Assembly
    impl: memory
    deps: {tool: sim}
    settings: {dynamic: {discovery: {idle_rounds: 2}}}
";

const SCENARIO: &str = "\
rounds:
  - note: look for it
    calls: [{tool: tool_search, arguments: {query: write a note, limit: 1}}]
    expect: {exposed: [note_write]}
  - calls: [{tool: note_write, arguments: {}}, {tool: nowhere}]
    expect: {ok: [note_write], undefined: [nowhere, elsewhere]}
  - idle: 3
    expect: {evicted: {note_write: idle}}
";

struct Bench {
    runtime: Runtime,
    snapshots: watch::Receiver<std::sync::Arc<Snapshot>>,
}

impl Bench {
    async fn new() -> Self {
        let loaded = load_text("d.yaml", DEPLOYMENT, Path::new("/"), &ProcessEnvironment);
        let deployment = loaded.unwrap().deployment;
        let runtime = Runtime::start(&deployment, Options::default())
            .await
            .unwrap();
        let ready = runtime
            .wait_settled(Duration::from_secs(9), Duration::from_secs(9))
            .await;
        assert!(ready.may_serve());
        let snapshots = runtime.snapshot();
        Self { runtime, snapshots }
    }

    async fn open(&self) -> SessionId {
        let control = self.runtime.control();
        control.open_session(None, Vec::new()).await.unwrap()
    }

    async fn order(
        &self,
        id: SessionId,
        order: SessionOrder,
    ) -> Result<SessionAnswer, SessionError> {
        match self.runtime.control().session(id, order).await {
            Ok(answer) => Ok(answer),
            Err(ControlError::Session(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }

    async fn done(&self, id: SessionId, order: SessionOrder) -> String {
        match self.order(id, order).await.unwrap() {
            SessionAnswer::Done(done) => done,
            other => panic!("{other:?}"),
        }
    }

    async fn call(&self, id: SessionId, tool: &str, arguments: serde_json::Value) -> CallEnd {
        let batch = SessionOrder::Batch(vec![Call::new(tool, arguments)]);
        match self.order(id, batch).await.unwrap() {
            SessionAnswer::Ran(report) => report.calls[0].end,
            other => panic!("{other:?}"),
        }
    }

    /// The row, once it is as wanted.
    async fn row(&mut self, id: SessionId, wanted: impl Fn(&SessionRow) -> bool) -> SessionRow {
        let found = |snapshot: &Snapshot| {
            let mut rows = snapshot.sessions.iter();
            rows.find(|row| row.id == id && wanted(row)).cloned()
        };
        let snapshot = self
            .snapshots
            .wait_for(|snapshot| found(snapshot).is_some())
            .await
            .unwrap();
        SessionRow::clone(&found(&snapshot).unwrap())
    }
}

fn names(row: &SessionRow) -> Vec<&str> {
    row.current.visible.names().collect()
}

#[tokio::test(start_paused = true)]
async fn the_operator_is_the_model_and_calls_only_what_the_round_sends() {
    let mut bench = Bench::new().await;
    let id = bench.open().await;
    let row = bench.row(id, |row| row.round() == 1).await;
    assert_eq!(
        (&*row.name, row.kind),
        ("operator-1", SessionKind::Operator)
    );
    assert_eq!(
        (names(&row), row.status),
        (vec!["tool_search"], SessionStatus::Open)
    );

    assert_eq!(
        bench.call(id, "note_write", json!({})).await,
        CallEnd::UndefinedTool
    );
    let query = json!({"query": "write a note", "limit": 1});
    assert_eq!(bench.call(id, "tool_search", query).await, CallEnd::Ok);
    let row = bench.row(id, |row| row.round() == 3).await;
    assert_eq!(names(&row), ["tool_search", "note_write"]);
    assert_eq!(bench.call(id, "note_write", json!({})).await, CallEnd::Ok);
    let row = bench.row(id, |row| row.round() == 4).await;
    let kept: Vec<u32> = row.rounds().map(|record| record.round).collect();
    assert_eq!(kept, [1, 2, 3, 4]);
    assert_eq!(
        row.round_at(1).unwrap().calls[0].end,
        CallEnd::UndefinedTool
    );
    assert_eq!(row.budget_use().unwrap().definitions, 2);
}

#[tokio::test(start_paused = true)]
async fn idle_rounds_pass_and_what_nobody_used_leaves_the_row() {
    let mut bench = Bench::new().await;
    let id = bench.open().await;
    let query = json!({"query": "write a note", "limit": 1});
    bench.call(id, "tool_search", query).await;
    // Found in round 1: visible in 2 and 3, gone in 4 (rule 6.5).
    let said = bench.done(id, SessionOrder::Advance(2)).await;
    assert_eq!(said, "2 rounds passed without calls; now it is round 4");
    let row = bench.row(id, |row| row.round() == 4).await;
    assert_eq!(names(&row), ["tool_search"]);
    let evicted: Vec<_> = row
        .current
        .evicted()
        .map(|(name, why)| (&**name, why))
        .collect();
    assert_eq!(evicted, [("note_write", EvictReason::Idle)]);
    assert!(row.round_at(3).unwrap().visible.contains("note_write"));
    let refused = bench.order(id, SessionOrder::Advance(0)).await;
    assert!(matches!(refused, Err(SessionError::OutOfRange { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_required_name_is_sent_at_once_and_an_unknown_one_is_a_warning() {
    let mut bench = Bench::new().await;
    let id = bench.open().await;
    let said = bench
        .done(id, SessionOrder::Require("oven_heat".into()))
        .await;
    assert_eq!(said, "`oven_heat` is required and sent");
    let said = bench
        .done(id, SessionOrder::Require("oven_hat".into()))
        .await;
    assert!(said.contains("the nearest are `oven_heat`"), "{said}");
    let row = bench.row(id, |row| !row.warnings.is_empty()).await;
    assert_eq!(names(&row), ["tool_search", "oven_heat"]);
    assert_eq!(
        *row.warnings,
        ["`oven_hat` is required, but no tool has that name"]
    );
    bench
        .done(id, SessionOrder::Release("oven_hat".into()))
        .await;
    bench.row(id, |row| row.warnings.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_shown_and_ends_with_its_session() {
    let mut bench = Bench::new().await;
    let id = bench.open().await;
    bench
        .done(id, SessionOrder::Require("tap_open".into()))
        .await;
    let control = bench.runtime.control();
    let batch = SessionOrder::Batch(vec![Call::new("tap_open", json!({}))]);
    let waiting = tokio::spawn(async move { control.session(id, batch).await });
    bench
        .row(id, |row| row.status == SessionStatus::Running)
        .await;
    assert_eq!(
        bench.done(id, SessionOrder::Close).await,
        "the session is closed"
    );
    let closed = Err(ControlError::Session(SessionError::Closed));
    assert_eq!(waiting.await.unwrap().map(|_| ()), closed);
    bench
        .row(id, |row| row.status == SessionStatus::Ended)
        .await;
    bench
        .snapshots
        .wait_for(|snapshot| snapshot.running.is_empty())
        .await
        .unwrap();
    assert_eq!(
        bench.order(id, SessionOrder::Advance(1)).await.unwrap_err(),
        SessionError::Closed
    );
    bench.done(id, SessionOrder::Close).await;
    bench
        .snapshots
        .wait_for(|snapshot| snapshot.sessions.is_empty())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_caller_goes_away_is_cancelled_and_its_round_stays_open() {
    let mut bench = Bench::new().await;
    let id = bench.open().await;
    bench
        .done(id, SessionOrder::Require("tap_open".into()))
        .await;
    let control = bench.runtime.control();
    let batch = SessionOrder::Batch(vec![Call::new("tap_open", json!({}))]);
    let waiting = tokio::spawn(async move { control.session(id, batch).await });
    bench
        .row(id, |row| row.status == SessionStatus::Running)
        .await;
    waiting.abort();
    let row = bench.row(id, |row| row.status == SessionStatus::Open).await;
    assert_eq!((row.round(), row.current.calls.len()), (1, 0));
    bench.done(id, SessionOrder::Advance(1)).await;
}

#[tokio::test(start_paused = true)]
async fn an_exposure_is_changed_for_this_process_and_shown_as_changed() {
    let mut bench = Bench::new().await;
    let id = bench.open().await;
    let query = json!({"query": "write a note", "limit": 1});
    bench.call(id, "tool_search", query).await;
    let control = bench.runtime.control();
    let mode = control.expose("note_write", Some(Mode::Hidden)).await;
    assert_eq!(mode, Ok(Mode::Hidden));
    // It leaves the pool at once (rule 6.6); what is sent changes with the next round.
    let row = bench
        .row(id, |row| row.current.pool.entries.is_empty())
        .await;
    assert_eq!(names(&row), ["tool_search", "note_write"]);
    bench.done(id, SessionOrder::Advance(1)).await;
    let row = bench.row(id, |row| row.round() == 3).await;
    assert_eq!(names(&row), ["tool_search"]);
    let of = |snapshot: &Snapshot| {
        let mut tools = snapshot.tools.iter();
        let tool = tools
            .find(|tool| tool.definition.name() == "note_write")
            .unwrap();
        (tool.exposure, tool.exposure_overruled)
    };
    let changed = (Mode::Hidden, Some(Mode::Deferred));
    bench
        .snapshots
        .wait_for(|snapshot| of(snapshot) == changed)
        .await
        .unwrap();
    // Other settings do not undo it, and what the deployment says comes back.
    bench
        .runtime
        .discovery()
        .configure(Some(Default::default()));
    assert_eq!(control.expose("note_write", None).await, Ok(Mode::Deferred));
    let usual = (Mode::Deferred, None);
    bench
        .snapshots
        .wait_for(|snapshot| of(snapshot) == usual)
        .await
        .unwrap();
    for tool in ["note_rite", "tool_search"] {
        let refused = control.expose(tool, Some(Mode::Always)).await;
        assert!(matches!(refused, Err(ControlError::Exposure(_))), "{tool}");
    }
}

fn scenario() -> LoadedScenario {
    let text = format!("{DEPLOYMENT}{SCENARIO}");
    scenario::load_text("lessons/s.yaml", &text, Path::new("/"), &ProcessEnvironment).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_scenario_played_step_by_step_gives_the_trace_of_the_command() {
    let mut bench = Bench::new().await;
    let control = bench.runtime.control();
    let second = Duration::from_secs(1);
    let id = control.play(scenario(), Pace::Pause, second).await.unwrap();
    let is = |row: &SessionRow, state: PlayState, played: usize| {
        let play = row.play.as_ref();
        play.is_some_and(|play| play.state == state && play.played.len() == played)
    };
    let row = bench.row(id, |row| is(row, PlayState::Paused, 0)).await;
    let play = row.play.unwrap();
    assert_eq!(
        (&*row.name, row.kind, play.total),
        ("s", SessionKind::Scenario, 5)
    );
    assert_eq!(play.next_note.as_deref(), Some("look for it"));
    for played in 1..=4 {
        bench.done(id, SessionOrder::Pace(Pace::Step)).await;
        bench
            .row(id, |row| is(row, PlayState::Paused, played))
            .await;
    }
    bench.done(id, SessionOrder::Pace(Pace::Step)).await;
    let row = bench.row(id, |row| is(row, PlayState::Over, 5)).await;
    let trace = Trace::of(&row);
    assert_eq!(row.play.unwrap().results(), (3, 1));

    let loaded = scenario();
    let runtime = Runtime::start(&loaded.deployment, Options::default())
        .await
        .unwrap();
    runtime.wait_settled(second, second).await;
    let stage = Stage {
        executor: runtime.executor().clone(),
        discovery: runtime.discovery().clone(),
    };
    let whole = Player::new(loaded.scenario, stage).play().await.unwrap();
    assert_eq!(whole.missed.len(), 1);
    // What calls came to is not kept with the session.
    let mut recorded = whole;
    for call in recorded
        .rounds
        .iter_mut()
        .flat_map(|round| &mut round.calls)
    {
        call.content = None;
    }
    assert_eq!(trace, recorded);
    assert_eq!(
        bench
            .order(id, SessionOrder::Pace(Pace::Play))
            .await
            .unwrap_err(),
        SessionError::PlayIsOver
    );
}

#[tokio::test(start_paused = true)]
async fn a_scenario_plays_by_itself_at_its_speed_and_can_be_paused() {
    let mut bench = Bench::new().await;
    let control = bench.runtime.control();
    let began = tokio::time::Instant::now();
    let slow = Duration::from_secs(30);
    let id = control.play(scenario(), Pace::Play, slow).await.unwrap();
    let played = |row: &SessionRow| row.play.as_ref().map_or(0, |play| play.played.len());
    bench.row(id, |row| played(row) == 2).await;
    assert!(began.elapsed() >= slow, "{:?}", began.elapsed());
    bench.done(id, SessionOrder::Pace(Pace::Pause)).await;
    tokio::time::sleep(slow * 3).await;
    let row = bench.row(id, |_| true).await;
    assert_eq!(played(&row), 2);
    let quick = Duration::from_millis(100);
    bench.done(id, SessionOrder::Pace(Pace::Every(quick))).await;
    bench.done(id, SessionOrder::Pace(Pace::Play)).await;
    bench.row(id, |row| played(row) == 5).await;
    let refused = bench.order(id, SessionOrder::Advance(1)).await.unwrap_err();
    assert_eq!(refused, SessionError::NotYours(SessionKind::Scenario));
    bench.done(id, SessionOrder::Close).await;
    bench
        .row(id, |row| {
            row.status == SessionStatus::Ended && row.round() == 5
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_scenario_that_cannot_be_staged_says_why() {
    let mut bench = Bench::new().await;
    let text = format!(
        "{}{SCENARIO}",
        DEPLOYMENT.replace("deps: {tool: sim}", "deps: {tool: far}").replace(
            "  tools:\n    kind",
            "  far:\n    kind: tool.Source\n    impl: mcp\n    settings:\n      servers:\n        - \
             {name: far, transport: stdio, command: /no/such/program, required: true}\n  \
             tools:\n    kind",
        )
    );
    let loaded = scenario::load_text("s.yaml", &text, Path::new("/"), &ProcessEnvironment);
    let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    let control = bench.runtime.control();
    let second = Duration::from_secs(1);
    let id = control.play(loaded, Pace::Play, second).await.unwrap();
    let failed = |row: &SessionRow| match row.play.as_ref().map(|play| &play.state) {
        Some(PlayState::Failed { cause }) => Some(cause.clone()),
        _ => None,
    };
    let row = bench.row(id, |row| failed(row).is_some()).await;
    assert!(
        failed(&row).unwrap().contains("`far`"),
        "{:?}",
        failed(&row)
    );
    let refused = bench.order(id, SessionOrder::Pace(Pace::Step)).await;
    assert!(matches!(refused, Err(SessionError::PlayFailed(_))));
}

#[tokio::test(start_paused = true)]
async fn sessions_of_others_are_seen_and_take_no_orders() {
    let mut bench = Bench::new().await;
    let mut agent = bench
        .runtime
        .open_session("agent-7", SessionKind::Agent, []);
    agent
        .round(vec![Call::new("tool_search", json!({"query": "heat"}))])
        .await;
    let shown = bench.snapshots.wait_for(|snapshot| {
        let used = snapshot.worst_budget.as_ref();
        used.is_some_and(|used| &*used.session == "agent-7")
    });
    let id = shown.await.unwrap().sessions[0].id;
    let row = bench.row(id, |row| row.current.complete).await;
    assert_eq!(row.current.searches[0].exposed.len(), 1);
    let refused = bench.order(id, SessionOrder::Advance(1)).await.unwrap_err();
    assert_eq!(refused, SessionError::NotYours(SessionKind::Agent));
}

#[tokio::test(start_paused = true)]
async fn too_many_sessions_are_refused_and_all_end_with_the_runtime() {
    let bench = Bench::new().await;
    for _ in 0..super::MOST {
        bench.open().await;
    }
    let control = bench.runtime.control();
    let refused = control.open_session(None, Vec::new()).await;
    assert_eq!(
        refused,
        Err(ControlError::Session(SessionError::TooMany(super::MOST)))
    );
    let directory = bench.runtime.sessions().clone();
    assert_eq!(bench.runtime.shutdown().await, []);
    let all_ended = directory
        .rows()
        .iter()
        .all(|row| row.status == SessionStatus::Ended);
    assert!(all_ended);
}
