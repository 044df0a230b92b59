//! Questions and answers under a paused clock.

use tokio::task::JoinHandle;

use super::*;
use crate::middleware::{Chain, Endpoint};
use crate::registry::Catalog;
use crate::tool::Call;

struct Runs;

impl Endpoint for Runs {
    fn finish(&self, request: Request) -> BoxFuture<'_, ToolResult> {
        request.mark_reached();
        Box::pin(async { ToolResult::text("ran") })
    }
}

struct Bench {
    approvals: Approvals,
    chain: Chain,
}

impl Bench {
    fn new(timeout: Option<u64>) -> Self {
        let approvals = Approvals::default();
        let secrets = Secrets::default();
        secrets.add("hunter22");
        let settings = ApprovalSettings {
            tools: vec!["rm_*".into()],
            timeout: timeout.map(Duration::from_secs),
        };
        let layer = Approval::new(settings, approvals.clone(), secrets);
        Self {
            approvals,
            chain: Chain::new(vec![Arc::new(layer)]),
        }
    }

    fn start(&self, call: Call) -> JoinHandle<ToolResult> {
        let chain = self.chain.clone();
        let request = Request::new(call, Arc::new(Catalog::default()));
        tokio::spawn(async move { chain.run(request, &Runs).await })
    }

    /// Waits until that many questions are open.
    async fn open(&self, count: usize) -> Arc<[Arc<PendingApproval>]> {
        let mut pending = self.approvals.pending();
        let list = pending.wait_for(|list| list.len() == count).await;
        Arc::clone(&list.unwrap())
    }

    fn counter(&self, name: &str) -> u64 {
        let counters = self.chain.status().remove(0).counters;
        counters.iter().find(|c| c.name == name).unwrap().value
    }
}

fn call(tool: &str, session: Option<&str>) -> Call {
    let mut call = Call::new(tool, json!({"file": "x", "token": "hunter22"}));
    call.session = session.map(Into::into);
    call
}

async fn text(task: JoinHandle<ToolResult>) -> String {
    let result = task.await.unwrap();
    match result.error_kind {
        Some(kind) => format!("{kind}: {}", result.all_text()),
        None => result.all_text(),
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_console_a_call_is_denied_at_once() {
    let bench = Bench::new(Some(60));
    let begin = Instant::now();
    assert_eq!(
        text(bench.start(call("rm_file", None))).await,
        "denied: `rm_file` was not called: it needs the approval of an operator and no console is open"
    );
    assert_eq!(text(bench.start(call("read", None))).await, "ran");
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_question_shows_what_is_asked_and_how_long() {
    let bench = Bench::new(Some(60));
    let _console = bench.approvals.attach();
    let mut asked = call("rm_file", Some("agent-7"));
    asked.deadline = Some(Instant::now() + Duration::from_secs(30));
    let id = asked.id.clone();
    let task = bench.start(asked);
    let open = bench.open(1).await;
    assert_eq!(
        *open[0],
        PendingApproval {
            id: 0,
            call_id: id,
            tool: "rm_file".into(),
            session: Some("agent-7".into()),
            arguments: json!({"file": "x", "token": "••••"}),
            asked: open[0].asked,
            patience: Some(Duration::from_secs(30)),
        }
    );
    tokio::time::advance(Duration::from_secs(10)).await;
    let left = open[0].left_at(Instant::now());
    assert_eq!(left, Some(Duration::from_secs(20)));
    assert!(bench.approvals.answer(0, Decision::Approve));
    assert_eq!(text(task).await, "ran");
    assert_eq!(
        (bench.counter("approved"), bench.counter("pending")),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn every_way_a_question_can_end_leaves_the_desk_empty() {
    enum Deed {
        Deny,
        Leave,
        Wait,
        Cancel,
        Drop,
    }
    let denied = |why: &str| Some(format!("denied: `rm_file` was not called: {why}"));
    for (claim, timeout, deadline, deed, expected) in [
        ("no", None, None, Deed::Deny, denied("the operator said no")),
        (
            "the console closes",
            None,
            None,
            Deed::Leave,
            denied("the console was closed before anybody answered"),
        ),
        (
            "patience ends",
            Some(5),
            None,
            Deed::Wait,
            denied("nobody answered within 5s"),
        ),
        (
            "the deadline passes",
            Some(5),
            Some(2),
            Deed::Wait,
            Some("timeout: `rm_file` did not answer before the deadline of the call".into()),
        ),
        (
            "the caller gives up",
            Some(5),
            None,
            Deed::Cancel,
            Some("cancelled: the call of `rm_file` was cancelled".into()),
        ),
        ("the caller is gone", Some(5), None, Deed::Drop, None),
    ] {
        let bench = Bench::new(timeout);
        let console = bench.approvals.attach();
        let mut call = call("rm_file", None);
        call.deadline = deadline.map(|secs| Instant::now() + Duration::from_secs(secs));
        let cancel = call.cancel.clone();
        let task = bench.start(call);
        bench.open(1).await;
        match deed {
            Deed::Deny => assert!(bench.approvals.answer(0, Decision::Deny)),
            Deed::Leave => drop(console),
            Deed::Wait => {}
            Deed::Cancel => cancel.cancel(),
            Deed::Drop => task.abort(),
        }
        let ended = match task.await {
            Ok(result) => result
                .error_kind
                .map(|kind| format!("{kind}: {}", result.all_text())),
            Err(_) => None,
        };
        assert_eq!(ended, expected, "{claim}");
        bench.open(0).await;
        assert!(!bench.approvals.answer(0, Decision::Approve), "{claim}");
        assert_eq!(bench.counter("pending"), 0, "{claim}");
    }
}

#[tokio::test(start_paused = true)]
async fn always_counts_for_the_tool_in_the_session_and_for_those_who_wait() {
    let bench = Bench::new(None);
    let console = bench.approvals.attach();
    let a = [0, 1].map(|_| bench.start(call("rm_file", Some("a"))));
    bench.open(2).await;
    let other_tool = bench.start(call("rm_dir", Some("a")));
    bench.open(3).await;
    let other_session = bench.start(call("rm_file", Some("b")));
    bench.open(4).await;
    assert!(bench.approvals.answer(1, Decision::Always));
    for task in a {
        assert_eq!(text(task).await, "ran");
    }
    assert_eq!(text(bench.start(call("rm_file", Some("a")))).await, "ran");
    let open: Vec<_> = bench.open(2).await.iter().map(|row| row.id).collect();
    assert_eq!(open, [2, 3]);
    drop(console);
    for task in [other_tool, other_session] {
        assert_eq!(task.await.unwrap().error_kind, Some(ErrorKind::Denied));
    }
    assert_eq!(bench.counter("standing"), 1);
    assert_eq!(
        text(bench.start(call("rm_file", Some("a")))).await,
        "ran",
        "it stands"
    );
}

#[tokio::test(start_paused = true)]
async fn the_queue_has_a_bound_and_two_consoles_are_two() {
    let bench = Bench::new(None);
    let console = bench.approvals.attach();
    drop(bench.approvals.attach());
    let tasks: Vec<_> = (0..1_000)
        .map(|_| bench.start(call("rm_file", None)))
        .collect();
    bench.open(1_000).await;
    let late = bench.start(call("rm_file", None)).await.unwrap();
    assert_eq!(late.error_kind, Some(ErrorKind::Overloaded));
    drop(console);
    for task in tasks {
        assert_eq!(task.await.unwrap().error_kind, Some(ErrorKind::Denied));
    }
}
