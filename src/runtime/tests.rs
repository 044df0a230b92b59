//! A runtime over a simulated source, from start to shutdown.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::deployment::{
    AssemblyImpl, AssemblySpec, Deployment, Origin, Place, SourceSettings, SourceSpec,
};
use crate::discovery::{DynamicSettings, Mode, TOOL_SEARCH};
use crate::middleware::settings::{MiddlewareSettings, RedactSettings, ResultLimitSettings};
use crate::observe::DeploymentState;
use crate::source::ServerOrder;
use crate::source::sim::{Behavior, Outcome, SimSettings, SimTool};
use crate::tool::{Call, ErrorKind, Hints};

fn deployment(assemblies: &[&str]) -> Deployment {
    let at = || Place::START;
    Deployment {
        origin: Origin {
            name: "test".into(),
            text: "".into(),
            base_dir: PathBuf::new(),
        },
        sources: vec![SourceSpec {
            name: "sim".into(),
            place: 0,
            at: at(),
            settings: SourceSettings::Sim(SimSettings::default()),
            deps: Vec::new(),
        }],
        assemblies: assemblies
            .iter()
            .map(|name| AssemblySpec {
                name: (*name).into(),
                place: 1,
                at: at(),
                implementation: AssemblyImpl::Memory,
                sources: vec!["sim".into()],
                dynamic: None,
                middlewares: None,
            })
            .collect(),
        models: Vec::new(),
        loops: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_deployment_starts_serves_a_call_shows_it_and_stops() {
    let deployment = deployment(&["tools"]);
    let runtime = Runtime::start(&deployment, Options::default())
        .await
        .unwrap();
    let mut snapshots = runtime.snapshot();
    let ready = runtime
        .wait_settled(Duration::from_secs(10), Duration::from_secs(60))
        .await;
    assert!(ready.may_serve());
    let tool = runtime.registry.catalog().entries().next().unwrap().clone();
    let control = runtime.control();
    let outcome = control
        .call(Call::new(tool.definition.shared_name(), json!({})))
        .await
        .unwrap();
    let snapshot = snapshots
        .wait_for(|snapshot| snapshot.history.len() == 1 && !snapshot.tools.is_empty())
        .await
        .unwrap()
        .clone();
    assert_eq!(snapshot.deployment.state, DeploymentState::Serving);
    assert_eq!(snapshot.history[0].id, outcome.started.id);
    assert_eq!(snapshot.stats.owners["sim"].calls, 1);
    assert_eq!(snapshot.sources[0].tools, snapshot.tools.len());
    assert_eq!(runtime.shutdown().await, []);
    assert_eq!(
        control.cancel("call-0".into()).await,
        Err(crate::control::ControlError::Closed)
    );
}

/// A source with one tool, `hangs`, that never answers.
fn one_that_hangs() -> SourceSettings {
    SourceSettings::Sim(SimSettings {
        tools: Some(vec![SimTool {
            name: "hangs".into(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            pad_to_bytes: None,
            lazy: None,
            hints: Hints::default(),
            rate: None,
            behavior: Behavior {
                outcome: Outcome::Hang,
                ..Behavior::default()
            },
        }]),
        ..SimSettings::default()
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_caller_leaves_is_cancelled() {
    let mut deployment = deployment(&["tools"]);
    deployment.sources[0].settings = one_that_hangs();
    let runtime = Runtime::start(&deployment, Options::default())
        .await
        .unwrap();
    let mut events = runtime.events();
    let control = runtime.control();
    let caller = tokio::spawn(async move { control.call(Call::new("hangs", json!({}))).await });
    while !matches!(events.recv().await.unwrap(), Event::CallStarted(_)) {}
    caller.abort();
    let record = loop {
        if let Event::CallFinished(record) = events.recv().await.unwrap() {
            break record;
        }
    };
    assert_eq!(record.error_kind, Some(ErrorKind::Cancelled));
    assert!(runtime.executor.in_flight().is_empty());
}

#[tokio::test(start_paused = true)]
async fn with_several_assemblies_one_has_to_be_named() {
    let deployment = deployment(&["a", "b"]);
    let start = |assembly: Option<&str>| {
        let options = Options {
            assembly: assembly.map(ToOwned::to_owned),
            ..Options::default()
        };
        Runtime::start(&deployment, options)
    };
    let message = |result: Result<Runtime, StartError>| match result {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        message(start(None).await),
        "the deployment has several assemblies, `a`, `b`; name one with `--assembly`"
    );
    assert_eq!(
        message(start(Some("c")).await),
        "no assembly is named `c`; this deployment has `a`, `b`"
    );
    assert!(start(Some("b")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_order_to_an_unknown_server_is_refused_by_name() {
    let runtime = Runtime::start(&deployment(&["tools"]), Options::default())
        .await
        .unwrap();
    let control = runtime.control();
    for source in ["sim", "nowhere"] {
        let answer = control.server(source, "x", ServerOrder::Reconnect).await;
        let text = answer.unwrap_err().to_string();
        assert_eq!(text, format!("source `{source}` has no server `x`"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_assembly_with_dynamic_injection_adds_the_search_and_shows_exposures() {
    let mut deployment = deployment(&["tools"]);
    deployment.assemblies[0].dynamic = Some(DynamicSettings::default());
    let runtime = Runtime::start(&deployment, Options::default())
        .await
        .unwrap();
    let mut snapshots = runtime.snapshot();
    let snapshot = snapshots
        .wait_for(|snapshot| !snapshot.tools.is_empty())
        .await
        .unwrap()
        .clone();
    let exposure = |name: &str| {
        let row = snapshot
            .tools
            .iter()
            .find(|row| row.definition.name() == name);
        row.map(|row| row.exposure)
    };
    assert_eq!(exposure(TOOL_SEARCH), Some(Mode::Always));
    let others = snapshot
        .tools
        .iter()
        .filter(|row| row.exposure == Mode::Deferred);
    assert_eq!(others.count(), snapshot.tools.len() - 1);
    let mut session = runtime.session("one", []);
    assert_eq!(
        session.begin_round().names().collect::<Vec<_>>(),
        [TOOL_SEARCH]
    );
    runtime.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_search_shows_what_its_caller_got_redacted_and_uncut() {
    let tool = |name: &str, milliseconds: u64| SimTool {
        name: name.into(),
        description: format!("reads apples of acct-{milliseconds}"),
        input_schema: json!({"type": "object"}),
        pad_to_bytes: None,
        lazy: None,
        hints: Hints::default(),
        rate: None,
        behavior: Behavior {
            latency: Duration::from_millis(milliseconds),
            ..Behavior::default()
        },
    };
    let mut deployment = deployment(&["tools"]);
    deployment.sources[0].settings = SourceSettings::Sim(SimSettings {
        tools: Some(vec![tool("slow", 900), tool("quick", 1)]),
        ..SimSettings::default()
    });
    let assembly = &mut deployment.assemblies[0];
    assembly.implementation = AssemblyImpl::Middleware;
    assembly.dynamic = Some(DynamicSettings::default());
    assembly.middlewares = Some(MiddlewareSettings {
        redact: Some(RedactSettings {
            patterns: vec![r"acct-\d+".into()],
            replacement: "[gone]".into(),
        }),
        result_limit: Some(ResultLimitSettings {
            max: 5,
            marker: "…".into(),
            part_budget_bytes: Some(1),
        }),
        ..MiddlewareSettings::default()
    });
    let runtime = Runtime::start(&deployment, Options::default())
        .await
        .unwrap();
    let mut events = runtime.events();
    let mut session = runtime.session("one", []);
    session.begin_round();
    let search = Call::new(TOOL_SEARCH, json!({"query": "apples acct-900"}));
    let calls = vec![search, Call::new("slow", json!({}))];
    let report = session.run(calls, crate::session::Gate::Open).await;
    let got = &report.calls[0].result;
    let text = serde_json::to_string(&got.parts).unwrap();
    assert!(text.contains("[gone]") && text.contains("slow"), "{text}");
    assert!(!text.contains("acct-"), "{text}");
    assert!(!got.truncated);
    let mut records = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let Event::CallFinished(record) = event {
            records.push(record);
        }
    }
    let tools: Vec<&str> = records.iter().map(|record| &*record.tool).collect();
    assert_eq!(
        tools,
        ["slow", TOOL_SEARCH],
        "told of once, when it is complete"
    );
    let record = &records[1];
    assert_eq!(record.parts.as_deref(), Some(got.parts.as_slice()));
    assert!(record.duration < Duration::from_millis(900), "its own time");
    let redact = record.layers.iter().find(|span| span.layer == "redact");
    let redact = redact.unwrap();
    assert_eq!(redact.note, Some("redacted"));
    assert_eq!(redact.bytes_after, Some(record.bytes_out));
    let layers = runtime.executor.chain().status();
    let counter = |layer: &str, name: &str| {
        let layer = layers.iter().find(|status| status.name == layer);
        layer.unwrap().counter(name)
    };
    assert_eq!(counter("redact", "results_redacted"), 1);
    assert!(runtime.executor.in_flight().is_empty());
    runtime.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_search_whose_batch_is_dropped_is_told_of_as_cancelled() {
    let mut deployment = deployment(&["tools"]);
    deployment.assemblies[0].dynamic = Some(DynamicSettings::default());
    deployment.sources[0].settings = one_that_hangs();
    let runtime = Runtime::start(&deployment, Options::default())
        .await
        .unwrap();
    let mut events = runtime.events();
    let mut session = runtime.session("one", []);
    session.begin_round();
    let search = Call::new(TOOL_SEARCH, json!({"query": "x"}));
    let calls = vec![search, Call::new("hangs", json!({}))];
    let batch = session.run(calls, crate::session::Gate::Open);
    let given_up = tokio::time::timeout(Duration::from_secs(5), batch).await;
    assert!(given_up.is_err());
    let mut ends = Vec::new();
    while ends.len() < 2 {
        if let Event::CallFinished(record) = events.recv().await.unwrap() {
            ends.push(record.error_kind);
        }
    }
    assert_eq!(ends, [Some(ErrorKind::Cancelled); 2]);
    assert!(runtime.executor.in_flight().is_empty());
}
