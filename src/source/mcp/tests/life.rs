use serde_json::json;

use super::*;
use crate::source::OrderError;
use crate::tool::{ErrorKind, Part};

fn reasons(row: &ServerStatus) -> Vec<String> {
    row.history
        .iter()
        .map(|change| format!("{} {}", change.to, change.attempt))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_becomes_ready_and_its_tools_are_called() {
    let bench = Bench::new(Shelf::new(&["echo", "a.b"]));
    let row = bench.ready().await;
    assert_eq!(row.protocol.as_deref(), Some("2026-07-28"));
    assert_eq!(row.server_info.as_ref().unwrap().name, "shelf");
    assert_eq!(row.instructions.as_deref(), Some("use with care"));
    assert_eq!((row.tools, row.attempts, row.settled), (2, 1, true));
    assert_eq!(bench.names(), ["m__a_b", "m__echo"]);
    let entry = Arc::clone(bench.registry.catalog().get("m__a_b").unwrap());
    assert_eq!(entry.tool.original_name(), Some("a.b"));
    let result = bench.call("m__echo", json!({"x": 1})).await;
    assert_eq!(result, ToolResult::text(r#"{"x":1}"#));
    assert_eq!(reasons(&row), ["ready 1"]);
    bench.source.close().await;
    assert_eq!(bench.row().state, ServerState::Stopped);
    assert!(bench.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_older_server_is_spoken_to_in_its_own_revision() {
    for shelf in [Shelf::legacy(&["echo"]), Shelf::between(&["echo"])] {
        let bench = Bench::new(shelf);
        let row = bench.ready().await;
        assert_eq!(row.protocol.as_deref(), Some("2025-11-25"));
        let result = bench.call("m__echo", json!({})).await;
        assert_eq!(result, ToolResult::text("{}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_is_asked_for_and_not_there_is_a_rejection() {
    let bench = Bench::with(Memory::new(Shelf::legacy(&["echo"])), |settings| {
        settings.servers[0].protocol = Protocol::V2026_07_28;
    });
    bench.until(|row| row.state == ServerState::Rejected).await;
    let bench = Bench::with(Memory::new(Shelf::new(&["echo"])), |settings| {
        settings.servers[0].protocol = Protocol::V2025_11_25;
    });
    let row = bench.ready().await;
    assert_eq!(row.protocol.as_deref(), Some("2025-11-25"));
}

#[tokio::test(start_paused = true)]
async fn every_page_of_the_list_is_read() {
    let shelf = Shelf::new(&["a", "b", "c", "d", "e"]);
    shelf.set_page(2);
    let bench = Bench::new(shelf.clone());
    bench.ready().await;
    assert_eq!(bench.names().len(), 5);
    assert_eq!(shelf.count("list"), 3);
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_tried_with_the_delays_of_the_series() {
    let memory = Memory::new(Shelf::new(&["echo"]));
    memory.fail(vec![FailureKind::ConnectionRefused; 6]);
    let bench = Bench::with(memory, |_| {});
    let row = bench.ready().await;
    assert_eq!(
        bench.memory.pauses(),
        [1000, 2000, 4000, 8000, 16_000, 30_000]
    );
    assert_eq!(row.attempts, 7);
    assert_eq!(
        row.last_error.as_ref().unwrap().kind,
        FailureKind::ConnectionRefused
    );
}

#[tokio::test(start_paused = true)]
async fn while_it_is_down_a_call_names_server_state_error_and_next_try() {
    let bench = Bench::new(Shelf::new(&["echo"]));
    bench.ready().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    bench.memory.fail(vec![FailureKind::ConnectionRefused; 2]);
    bench.memory.cut();
    bench.until(|row| row.state == ServerState::Backoff).await;
    assert_eq!(bench.names(), ["m__echo"], "it stays registered");
    let result = bench.call("m__echo", json!({})).await;
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    let told = result.all_text();
    for part in [
        "server `m` is backoff",
        "last error: nothing listens at `in-memory`",
        "next try in 1.0 s, at ",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    let row = bench.ready().await;
    assert_eq!((row.losses, row.reconnects), (1, 1));
    assert_eq!(
        reasons(&row),
        [
            "ready 1",
            "connecting 1",
            "backoff 2",
            "connecting 2",
            "backoff 3",
            "connecting 3",
            "ready 3"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connection_dies_may_have_run() {
    let shelf = Shelf::new(&["hang"]);
    let bench = Bench::new(shelf.clone());
    bench.ready().await;
    let (result, ()) = tokio::join!(bench.call("m__hang", json!({})), async {
        shelf.until_seen("call hang").await;
        bench.memory.cut();
    });
    assert_eq!(result.error_kind, Some(ErrorKind::NotAvailable));
    let told = result.all_text();
    assert!(
        told.contains("interrupted") && told.contains("may have run"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stable_connection_comes_back_at_once_and_an_unstable_one_waits() {
    let bench = Bench::new(Shelf::new(&["echo"]));
    bench.ready().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    bench.memory.cut();
    bench.until(|row| row.reconnects == 1).await;
    bench.memory.cut();
    bench.until(|row| row.reconnects == 2).await;
    bench.memory.cut();
    bench.until(|row| row.reconnects == 3).await;
    let pauses = bench.memory.pauses();
    assert!(pauses[0] < 10_100, "{pauses:?}");
    assert_eq!(pauses[1..], [1000, 2000]);
}

#[tokio::test(start_paused = true)]
async fn two_missed_pings_are_a_loss_and_one_is_degraded() {
    let shelf = Shelf::legacy(&["echo"]);
    let bench = Bench::new(shelf.clone());
    bench.ready().await;
    let began = Instant::now();
    shelf.until_seen("ping").await;
    assert_eq!(began.elapsed().as_secs(), 15);
    shelf.set_deaf(true);
    bench.until(|row| row.state == ServerState::Degraded).await;
    shelf.set_deaf(false);
    bench.until(|row| row.state == ServerState::Ready).await;
    assert!(bench.row().ping.is_some());
    shelf.set_deaf(true);
    bench.until(|row| row.losses == 1).await;
    let row = bench.row();
    assert_eq!(
        row.last_error.as_ref().unwrap().kind,
        FailureKind::ProbesMissed
    );
    bench.until(|row| row.reconnects == 1).await;
}

#[tokio::test(start_paused = true)]
async fn liveness_off_and_the_newer_revision_are_never_pinged() {
    for (shelf, liveness) in [
        (Shelf::legacy(&["echo"]), Liveness::Off),
        (Shelf::new(&["echo"]), Liveness::default()),
    ] {
        shelf.set_deaf(true);
        let bench = Bench::with(Memory::new(shelf.clone()), |settings| {
            settings.liveness = liveness;
        });
        bench.ready().await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(shelf.count("ping"), 0);
        assert_eq!(bench.row().state, ServerState::Ready);
    }
}

#[tokio::test(start_paused = true)]
async fn changed_tools_are_listed_again_and_replace_their_definitions() {
    for shelf in [Shelf::legacy(&["a", "b"]), Shelf::new(&["a", "b"])] {
        let bench = Bench::new(shelf.clone());
        bench.ready().await;
        if bench.row().protocol.as_deref() == Some("2026-07-28") {
            shelf.until_seen("listening").await;
        } else {
            shelf.until_seen("initialized").await;
        }
        let mut diffs = bench.registry.diffs();
        shelf.put(vec![
            server::tool("a", "another text"),
            server::tool("c", "new"),
        ]);
        shelf.announce();
        let diff = diffs.recv().await.unwrap();
        assert_eq!(*diff.added, ["m__c".into()]);
        assert_eq!(*diff.removed, ["m__b".into()]);
        assert_eq!(diff.changed.len(), 1);
        assert_eq!(diff.changed[0].what(), ["description"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_and_a_late_one_tell_the_server_to_stop() {
    for shelf in [Shelf::legacy(&["hang"]), Shelf::new(&["hang"])] {
        let bench = Bench::new(shelf.clone());
        bench.ready().await;
        let invocation = Bench::invocation(json!({}));
        let cancel = invocation.cancel.clone();
        let (result, ()) = tokio::join!(bench.run("m__hang", invocation), async {
            shelf.until_seen("call hang").await;
            cancel.cancel();
        });
        assert_eq!(result.error_kind, Some(ErrorKind::Cancelled));
        shelf.until_seen("hang was cancelled").await;
        let mut invocation = Bench::invocation(json!({}));
        invocation.deadline = Some(Instant::now() + Duration::from_secs(3));
        let began = Instant::now();
        let result = bench.run("m__hang", invocation).await;
        assert_eq!(result.error_kind, Some(ErrorKind::Timeout));
        assert_eq!(began.elapsed(), Duration::from_secs(3));
        // Dropping the future is the third way to give up.
        let _ =
            tokio::time::timeout(Duration::from_secs(1), bench.call("m__hang", json!({}))).await;
        while shelf.count("hang was cancelled") < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(bench.row().state, ServerState::Ready);
    }
}

#[tokio::test(start_paused = true)]
async fn progress_log_and_errors_of_a_call_arrive() {
    for shelf in [
        Shelf::legacy(&["progress", "log", "fail", "refuse"]),
        Shelf::new(&["progress", "log", "fail", "refuse"]),
    ] {
        let bench = Bench::new(shelf.clone());
        bench.ready().await;
        let invocation = Bench::invocation(json!({}));
        let progress = invocation.progress.subscribe();
        bench.run("m__progress", invocation).await;
        let newest = progress.borrow().clone().unwrap();
        assert_eq!((newest.done, newest.total), (2.0, Some(2.0)));
        bench.call("m__log", json!({})).await;
        let row = bench
            .until(|row| row.log.iter().any(|line| &*line.text == "careful"))
            .await;
        let line = row.log.last().unwrap();
        assert_eq!(line.level.as_deref(), Some("warning"));
        assert_eq!(
            bench.call("m__fail", json!({})).await,
            ToolResult::error(ErrorKind::Tool, "it broke")
        );
        let refused = bench.call("m__refuse", json!({})).await;
        assert_eq!(refused.error_kind, Some(ErrorKind::Tool));
        assert!(refused.all_text().contains("out of order"));
    }
}

struct Yes;

impl Desk for Yes {
    fn offers(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::Elicitation
    }
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        assert_eq!(&*question.server, "m");
        Box::pin(async { Answer::Accept(json!({})) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_shown_and_answered_by_the_desk_or_declined() {
    for legacy in [true, false] {
        for (desk, expected) in [
            (Arc::new(Yes) as Arc<dyn Desk>, "accept"),
            (Arc::new(NoDesk), "decline"),
        ] {
            let shelf = if legacy {
                Shelf::legacy(&["ask"])
            } else {
                Shelf::new(&["ask"])
            };
            let offers = desk.offers(QuestionKind::Elicitation);
            let registry = Arc::new(Registry::new());
            let context = McpContext {
                desk,
                ..McpContext::new(registry, Secrets::default())
            };
            let settings = McpSettings {
                servers: vec![server("m")],
                ..McpSettings::default()
            };
            let bench = Bench::with_context(Memory::new(shelf), settings, context);
            bench.ready().await;
            let told = bench
                .call("m__ask", json!({}))
                .await
                .all_text()
                .to_lowercase();
            // The library's own server does not ask an older client that offers nothing.
            if offers || !legacy {
                assert!(told.contains(expected), "{told}");
                let row = bench.until(|row| !row.log.is_empty()).await;
                assert!(row.log[0].text.contains("really?"), "{:?}", row.log);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resources_are_two_more_tools() {
    let bench = Bench::with(Memory::new(Shelf::new(&["echo"])), |settings| {
        settings.servers[0].resources = true;
    });
    bench.ready().await;
    assert_eq!(
        bench.names(),
        ["m__echo", "m__list_resources", "m__read_resource"]
    );
    let listed = bench.call("m__list_resources", json!({})).await;
    let Part::Data { value, .. } = &listed.parts[0] else {
        panic!("{listed:?}");
    };
    assert_eq!(value["resources"][0]["uri"], "mem:///a");
    let read = bench
        .call("m__read_resource", json!({"uri": "mem:///a"}))
        .await;
    assert_eq!(read, ToolResult::text("contents of mem:///a"));
    let wrong = bench.call("m__read_resource", json!({})).await;
    assert_eq!(wrong.error_kind, Some(ErrorKind::Validation));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_server_waits_for_the_operator_and_says_why() {
    let memory = Memory::new(Shelf::new(&["echo"]));
    memory.fail([FailureKind::HttpStatus {
        status: 401,
        body: "no".into(),
        www_authenticate: None,
    }]);
    let bench = Bench::with(memory, |_| {});
    let not_ready = bench
        .source
        .wait_ready("m", Duration::from_secs(60))
        .await
        .unwrap_err();
    assert_eq!(
        not_ready.to_string(),
        "server `m` is rejected: `in-memory` answered with HTTP status 401 (Unauthorized)"
    );
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(bench.memory.attempts.lock().len(), 1);
    bench
        .source
        .order("m", ServerOrder::Reconnect)
        .await
        .unwrap();
    bench
        .source
        .wait_ready("m", Duration::from_secs(60))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_for_readiness_tells_time_closing_and_strangers_apart() {
    let memory = Memory::new(Shelf::new(&[]));
    memory.fail(vec![FailureKind::ConnectionRefused; 100]);
    let bench = Bench::with(memory, |_| {});
    let wait = |name: &'static str| bench.source.wait_ready(name, Duration::from_secs(5));
    let late = wait("m").await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Timeout);
    let stranger = wait("mm").await.unwrap_err();
    assert_eq!(stranger.kind(), ErrorKind::Validation);
    let (closed, ()) = tokio::join!(wait("m"), bench.source.close());
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::NotAvailable);
    let order = bench.source.order("m", ServerOrder::Reconnect).await;
    assert_eq!(order, Err(OrderError::Closed("src".into())));
    bench.source.close().await;
}

#[tokio::test(start_paused = true)]
async fn orders_are_carried_out_and_answered() {
    let bench = Bench::new(Shelf::legacy(&["echo"]));
    bench.ready().await;
    let order = |order| bench.source.order("m", order);
    let told = order(ServerOrder::Probe).await.unwrap();
    assert!(told.starts_with("`m` answered in "), "{told}");
    order(ServerOrder::Disable).await.unwrap();
    assert_eq!(bench.row().state, ServerState::Disabled);
    let result = bench.call("m__echo", json!({})).await;
    assert!(result.all_text().contains("server `m` is disabled"));
    assert!(order(ServerOrder::Probe).await.is_err());
    assert!(order(ServerOrder::Reconnect).await.is_err());
    order(ServerOrder::Enable).await.unwrap();
    bench.ready().await;
    order(ServerOrder::Reconnect).await.unwrap();
    bench.until(|row| row.reconnects == 2).await;
    assert!(matches!(
        bench.source.order("x", ServerOrder::Probe).await,
        Err(OrderError::UnknownServer { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_mute_server_is_given_up_after_the_connect_timeout() {
    struct Mute;
    impl Connector for Mute {
        fn open<'a>(&'a self, _: &'a TaskTracker) -> BoxFuture<'a, Result<Wire, Trouble>> {
            let (ours, theirs) = tokio::io::duplex(1024);
            tokio::spawn(async move {
                let _held = theirs;
                std::future::pending::<()>().await;
            });
            let (reader, writer) = tokio::io::split(ours);
            Box::pin(async {
                Ok(Wire::Lines(Lines {
                    reader: Box::new(reader),
                    writer: Box::new(writer),
                    stderr: None,
                    process: None,
                }))
            })
        }
    }
    let registry = Arc::new(Registry::new());
    let context = McpContext::new(registry, Secrets::default());
    let settings = McpSettings {
        servers: vec![server("m")],
        ..McpSettings::default()
    };
    let source = McpSource::start_with("src".into(), 0, settings, context, |_| Arc::new(Mute));
    let began = Instant::now();
    let mut rows = source.servers();
    let row = rows.wait_for(|rows| rows[0].settled).await.unwrap()[0].clone();
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    let failure = row.last_error.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::TimedOut);
    assert!(
        failure.message.contains("not to the first request"),
        "{}",
        failure.message
    );
    assert_eq!(row.state, ServerState::Backoff);
}

#[derive(Default)]
struct Collect(Mutex<Vec<Frame>>);

impl FrameSink for Collect {
    fn frame(&self, frame: Frame) {
        self.0.lock().push(frame);
    }
}

#[tokio::test(start_paused = true)]
async fn every_message_is_tapped_with_its_secrets_masked() {
    let frames = Arc::new(Collect::default());
    let secrets = Secrets::default();
    secrets.add("hunter-2-hunter");
    let context = McpContext {
        frames: Some(Arc::clone(&frames) as Arc<dyn FrameSink>),
        ..McpContext::new(Arc::new(Registry::new()), secrets)
    };
    let settings = McpSettings {
        servers: vec![server("m")],
        ..McpSettings::default()
    };
    let bench = Bench::with_context(Memory::new(Shelf::new(&["echo"])), settings, context);
    bench.ready().await;
    let result = bench.call("m__echo", json!({"k": "hunter-2-hunter"})).await;
    assert!(
        result.all_text().contains("hunter-2-hunter"),
        "results are not masked"
    );
    let frames = frames.0.lock();
    let calls: Vec<&Frame> = frames
        .iter()
        .filter(|frame| frame.text.contains("••••"))
        .collect();
    assert_eq!(calls.len(), 2, "the request and its answer");
    assert_eq!(calls[0].direction, Direction::ToServer);
    assert_eq!(calls[1].direction, Direction::FromServer);
    assert!(!frames.iter().any(|frame| frame.text.contains("hunter-2")));
    assert!(
        frames
            .iter()
            .all(|frame| frame.epoch == 1 && &*frame.server == "m")
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_changed_against_its_pin_is_held_back_until_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.pins");
    let shelf = Shelf::legacy(&["a", "b"]);
    let bench = Bench::with(Memory::new(shelf.clone()), |settings| {
        settings.servers[0].pin = Some(file.clone());
    });
    bench.ready().await;
    shelf.until_seen("initialized").await;
    assert_eq!(
        bench.names(),
        ["m__a", "m__b"],
        "the first offer is accepted"
    );
    let mut diffs = bench.registry.diffs();
    shelf.put(vec![
        server::tool("a", "rewritten"),
        server::tool("b", "a tool"),
    ]);
    shelf.announce();
    diffs.recv().await.unwrap();
    assert_eq!(bench.names(), ["m__b"]);
    let row = bench
        .until(|row| !row.warnings.is_empty() && row.tools == 1)
        .await;
    assert_eq!(
        *row.warnings,
        ["`m__a` is held back: its definition differs from the accepted one"]
    );
    let told = bench.source.accept("m", Some("m__a")).await.unwrap();
    assert_eq!(told, "the definition of `m__a` is accepted");
    assert_eq!(bench.names(), ["m__a", "m__b"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_repeats_its_cursor_ends_with_a_warning() {
    let shelf = Shelf::new(&["a", "b", "c"]);
    shelf.set_page(0);
    let bench = Bench::new(shelf);
    let row = bench.ready().await;
    assert!(
        row.warnings
            .iter()
            .any(|warning| warning.contains("repeats the cursor `0`")),
        "{:?}",
        row.warnings
    );
}

#[tokio::test(start_paused = true)]
async fn the_trace_of_a_call_reaches_the_server_on_both_revisions() {
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for shelf in [Shelf::new(&["trace"]), Shelf::legacy(&["trace"])] {
        let bench = Bench::new(shelf);
        bench.ready().await;
        let mut invocation = Invocation::bare(serde_json::Map::new());
        assert_eq!(
            bench.run("m__trace", invocation.clone()).await.all_text(),
            "none"
        );
        invocation.traceparent = Some(traceparent.into());
        assert_eq!(
            bench.run("m__trace", invocation).await.all_text(),
            traceparent
        );
    }
}
