//! How long the screen Sessions takes for a frame while a session sends 10,000 tools: taking a
//! newer snapshot in, and drawing. Thirty frames a second leave 33 ms for both together. Run with
//! `cargo bench -p toolcrib-console --bench frame`.

#![expect(
    clippy::expect_used,
    reason = "a bench without its data has nothing to measure"
)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the program's modules are here for their frames alone"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use toolcrib::control::SessionOrder;
use toolcrib::deployment::{ProcessEnvironment, load_text};
use toolcrib::observe::Snapshot;
use toolcrib::runtime::{Options as RuntimeOptions, Runtime};

#[path = "../../ui/src/cli.rs"]
mod cli;
#[path = "../../ui/src/commands/mod.rs"]
mod commands;
#[path = "../../ui/src/console/mod.rs"]
mod console;
#[path = "../../ui/src/demo/mod.rs"]
mod demo;
#[path = "../../ui/src/logging.rs"]
mod logging;
#[path = "../../ui/src/opening.rs"]
mod opening;
#[path = "../../ui/src/scenarios.rs"]
mod scenarios;
#[path = "../../ui/src/text.rs"]
mod text;

use console::{Event, Options, ScreenId, State, update, view};

const TOOLS: usize = 10_000;

fn deployment() -> String {
    let mut text = String::from(
        "resources:\n  sim:\n    kind: tool.Source\n    impl: sim\n    settings:\n      tools:\n",
    );
    for n in 0..TOOLS {
        let _ = writeln!(
            text,
            "        - {{name: tool_{n:05}, description: Does work number {n}.}}"
        );
    }
    text.push_str(
        "  tools:\n    kind: tool.Assembly\n    impl: memory\n    deps: {tool: sim}\n    \
         settings: {dynamic: {default: always, budget: {max_definitions: 20000, max_bytes: \
         20000000}}}\n",
    );
    text
}

/// Two versions of a snapshot with a session of 10,000 tools, one round apart.
fn snapshots() -> (Arc<Snapshot>, Arc<Snapshot>) {
    let tokio = tokio::runtime::Runtime::new().expect("threads can be had");
    tokio.block_on(async {
        let text = deployment();
        let loaded = load_text("bench.yaml", &text, Path::new("/"), &ProcessEnvironment);
        let loaded = loaded.expect("the deployment is valid");
        let started = Runtime::start(&loaded.deployment, RuntimeOptions::default()).await;
        let runtime = started.expect("simulated tools start");
        let mut snapshots = runtime.snapshot();
        let has_tools = |snapshot: &Arc<Snapshot>| snapshot.tools.len() > TOOLS;
        let ready = snapshots.wait_for(has_tools).await;
        drop(ready.expect("the runtime goes on"));
        let control = runtime.control();
        let opened = control.open_session(None, Vec::new()).await;
        let id = opened.expect("there is room for one");
        let mut seen = Vec::new();
        for round in 1..=2 {
            let shown = snapshots.wait_for(|snapshot| {
                let row = snapshot.sessions.first();
                row.is_some_and(|row| {
                    row.round() == round && row.current.visible.sent.len() > TOOLS
                })
            });
            seen.push(Arc::clone(&*shown.await.expect("the runtime goes on")));
            let order = SessionOrder::Advance(1);
            control.session(id, order).await.expect("it is ours");
        }
        runtime.shutdown().await;
        let second = seen.pop().expect("two were seen");
        (seen.pop().expect("two were seen"), second)
    })
}

fn frames(c: &mut Criterion) {
    let (first, second) = snapshots();
    let options = Options {
        screen: ScreenId::Sessions,
        ..Options::default()
    };
    let mut state = State::new(options, &first, (140, 42));
    let press = |state: &mut State, code| {
        update(state, Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    };
    press(&mut state, KeyCode::Enter);
    let Ok(mut terminal) = Terminal::new(TestBackend::new(140, 42));
    c.bench_function("frame/draw, 10,000 tools sent", |b| {
        b.iter(|| terminal.draw(|frame| view(&state, frame)).map(|_| ()));
    });
    c.bench_function("frame/a key and a draw, 10,000 tools sent", |b| {
        b.iter(|| {
            press(&mut state, KeyCode::Down);
            terminal.draw(|frame| view(&state, frame)).map(|_| ())
        });
    });
    let mut versions = [&second, &first].into_iter().cycle();
    c.bench_function("frame/a new round and a draw, 10,000 tools sent", |b| {
        b.iter(|| {
            if let Some(snapshot) = versions.next() {
                update(&mut state, Event::Snapshot(Arc::clone(snapshot)));
            }
            terminal.draw(|frame| view(&state, frame)).map(|_| ())
        });
    });
}

criterion_group!(benches, frames);
criterion_main!(benches);
