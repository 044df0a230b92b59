//! A deployment that is read again while it runs (rule 10.5): real files, real child servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::control::{ControlError, SessionOrder};
use toolcrib::deployment::{ProcessEnvironment, load_file};
use toolcrib::observe::Snapshot;
use toolcrib::runtime::{Options, Reload, Runtime};
use toolcrib::source::mcp::TransportSettings;
use toolcrib::source::{Launch, ServerState};
use toolcrib::tool::{Call, ErrorKind};

use crate::mcp::{PATIENCE, runs, server};

/// A running deployment and its file.
struct Bench {
    dir: tempfile::TempDir,
    runtime: Runtime,
}

/// A server of the deployment file.
fn child(name: &str, extra: &str) -> Value {
    let TransportSettings::Stdio {
        command, args, env, ..
    } = server("serve")
    else {
        unreachable!();
    };
    let mut env: serde_json::Map<String, Value> = env
        .into_iter()
        .map(|(name, value)| (name, Value::String(value)))
        .collect();
    env.insert("EXTRA".into(), extra.into());
    json!({"name": name, "transport": "stdio", "command": command, "args": args, "env": env,
        "liveness": "off"})
}

fn deployment(servers: &[Value], max: usize) -> String {
    json!({"resources": {
        "m": {"kind": "tool.Source", "impl": "mcp", "settings": {"servers": servers}},
        "s": {"kind": "tool.Source", "impl": "sim", "settings": {"tools": [{"name": "said"}]}},
        "tools": {"kind": "tool.Assembly", "impl": "middleware", "deps": {"tool": ["m", "s"]},
            "settings": {"middlewares": {"result_limit": {"max": max}}}},
    }})
    .to_string()
}

/// Puts a new file in the place of the old one, as editors do.
fn put(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, path).unwrap();
}

impl Bench {
    async fn start(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path: PathBuf = dir.path().join("toolcrib.json");
        put(&path, text);
        let loaded = load_file(&path, &ProcessEnvironment).unwrap();
        let again = path.clone();
        let options = Options {
            secrets: loaded.secrets.clone(),
            reload: Some(Reload {
                load: Arc::new(move || load_file(&again, &ProcessEnvironment)),
                files: loaded.files.clone(),
            }),
            ..Options::default()
        };
        let runtime = Runtime::start(&loaded.deployment, options).await.unwrap();
        Self { dir, runtime }
    }

    fn put(&self, text: &str) {
        put(&self.dir.path().join("toolcrib.json"), text);
    }

    /// Has a new file read by order.
    async fn reload(&self, text: &str) {
        self.put(text);
        self.runtime.control().reload().await.unwrap();
    }

    /// The first snapshot that is as wanted.
    async fn until(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let mut snapshots = self.runtime.snapshot();
        let reached = tokio::time::timeout(PATIENCE, snapshots.wait_for(|all| wanted(all))).await;
        match reached {
            Ok(snapshot) => Arc::clone(&snapshot.unwrap()),
            Err(_) => panic!("never: {what}"),
        }
    }

    /// Waits until exactly these servers are ready, and gives their processes.
    async fn ready(&self, names: &[&str]) -> Vec<u32> {
        let snapshot = self
            .until(&format!("{names:?} are ready"), |all| {
                let known: Vec<&str> = all.servers.iter().map(|row| &*row.name).collect();
                let up = |pid: Option<u32>| pid.is_some();
                known == names
                    && all.servers.iter().all(|row| {
                        row.state == ServerState::Ready
                            && matches!(row.launch, Launch::Stdio { pid, .. } if up(pid))
                    })
            })
            .await;
        let pids = snapshot.servers.iter().map(|row| match row.launch {
            Launch::Stdio { pid, .. } => pid.unwrap(),
            Launch::Http { .. } => unreachable!(),
        });
        pids.collect()
    }

    async fn call(&self, tool: &str) -> String {
        let call = Call::new(tool, json!({"text": "0123456789"}));
        let outcome = self.runtime.control().call(call).await.unwrap();
        outcome.result.all_text()
    }

    /// Whether there is no such tool.
    async fn is_unknown(&self, tool: &str) -> bool {
        let outcome = self
            .runtime
            .control()
            .call(Call::new(tool, json!({})))
            .await;
        outcome.unwrap().result.error_kind == Some(ErrorKind::NotFound)
    }

    async fn end(self) {
        assert!(self.runtime.shutdown().await.is_empty());
    }
}

#[tokio::test]
async fn what_is_the_same_keeps_its_process_and_what_is_gone_has_ended() {
    let (a, b, c) = (child("a", "1"), child("b", "1"), child("c", "1"));
    let bench = Bench::start(&deployment(&[a.clone(), b, c], 100)).await;
    let before = bench.ready(&["a", "b", "c"]).await;
    // `b` is removed, `c` differs, `d` is new, and the order is another.
    bench.put(&deployment(&[child("d", "1"), child("c", "2"), a], 100));
    let told = bench.runtime.control().reload().await;
    // The file may have been noticed first; then there is nothing left to do.
    assert!(told.is_ok(), "{told:?}");
    let after = bench.ready(&["d", "c", "a"]).await;
    assert_eq!(after[2], before[0], "`a` has the same process");
    assert_ne!(after[1], before[2], "`c` has another");
    assert!(!runs(before[1]) && !runs(before[2]));
    assert_eq!(bench.call("a__pid").await, after[2].to_string());
    assert_eq!(bench.call("d__pid").await, after[0].to_string());
    assert!(bench.is_unknown("b__pid").await);
    bench.end().await;
    assert!(after.iter().all(|pid| !runs(*pid)));
}

#[tokio::test]
async fn a_changed_file_is_noticed_and_layers_and_tools_are_taken_over() {
    let a = child("a", "1");
    let bench = Bench::start(&deployment(std::slice::from_ref(&a), 100)).await;
    let before = bench.ready(&["a"]).await;
    assert!(bench.call("said").await.contains("0123456789"));
    let next = deployment(&[a], 5).replace(r#"{"name":"said"}"#, r#"{"name":"told"}"#);
    bench.put(&next);
    let snapshot = bench
        .until("the reload", |all| {
            let reload = all.deployment.reload.as_ref();
            reload.is_some_and(|reload| !reload.done.is_empty())
        })
        .await;
    let reload = snapshot.deployment.reload.as_ref().unwrap();
    assert_eq!(
        (&*reload.problems, &*reload.done),
        (
            &[][..],
            &[
                "source `s` took its new settings over".to_owned(),
                "assembly `tools` has another chain".to_owned()
            ][..]
        )
    );
    assert_eq!(bench.call("told").await.chars().count(), 5);
    assert!(bench.is_unknown("said").await);
    assert_eq!(bench.ready(&["a"]).await, before);
    bench.end().await;
}

fn apples(max_tools: usize, exposures: Value) -> String {
    let tools = ["red", "green", "blue"];
    let tools = tools.map(|name| json!({"name": name, "description": "works on apples"}));
    json!({"resources": {
        "s": {"kind": "tool.Source", "impl": "sim", "settings": {"tools": tools}},
        "tools": {"kind": "tool.Assembly", "impl": "memory", "deps": {"tool": "s"}, "settings":
            {"dynamic": {"discovery": {"max_tools": max_tools}, "exposures": exposures}}},
    }})
    .to_string()
}

/// Rule 6.6: not with the next round.
#[tokio::test]
async fn lower_bounds_of_the_pool_fit_the_pools_of_open_sessions_at_once() {
    let bench = Bench::start(&apples(3, json!({}))).await;
    let control = bench.runtime.control();
    let session = control.open_session(None, Vec::new()).await.unwrap();
    let find = Call::new("tool_search", json!({"query": "apples"}));
    let found = SessionOrder::Batch(vec![find]);
    control.session(session, found).await.unwrap();
    let pooled = |all: &Snapshot| -> Vec<String> {
        let sessions = all.sessions.iter();
        let pooled = sessions.flat_map(|row| &row.current.pool.entries);
        pooled.map(|entry| entry.name.to_string()).collect()
    };
    bench
        .until("three are pooled", |all| pooled(all).len() == 3)
        .await;
    bench.reload(&apples(2, json!({}))).await;
    bench
        .until("two are pooled", |all| pooled(all).len() == 2)
        .await;
    bench.reload(&apples(2, json!({"*": "hidden"}))).await;
    let snapshot = bench
        .until("none is pooled", |all| pooled(all).is_empty())
        .await;
    assert_eq!(snapshot.sessions[0].round(), 2);
    bench.end().await;
}

/// Rule 4.2.
#[tokio::test]
async fn an_exposure_that_matches_no_tool_is_a_warning() {
    let bench = Bench::start(&apples(3, json!({"r*": "direct", "zzz*": "direct"}))).await;
    let warnings = |all: &Snapshot| all.deployment.warnings.to_vec();
    let snapshot = bench
        .until("it is told", |all| !warnings(all).is_empty())
        .await;
    assert_eq!(
        warnings(&snapshot),
        ["`zzz*` in `dynamic.exposures` matches no tool"]
    );
    bench.reload(&apples(3, json!({"r*": "direct"}))).await;
    bench
        .until("it is mended", |all| warnings(all).is_empty())
        .await;
    bench.end().await;
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_tells_every_problem_until_it_is_repaired() {
    let text = deployment(&[child("a", "1")], 100);
    let bench = Bench::start(&text).await;
    let before = bench.ready(&["a"]).await;
    let broken = text
        .replace("\"transport\"", "\"transprot\"")
        .replace("\"max\":100", "\"max\":0");
    bench.put(&broken);
    let snapshot = bench
        .until("the problems", |all| {
            let reload = all.deployment.reload.as_ref();
            reload.is_some_and(|reload| !reload.problems.is_empty())
        })
        .await;
    let reload = snapshot.deployment.reload.as_ref().unwrap();
    assert!(reload.problems.len() >= 2, "{:?}", reload.problems);
    assert!(
        reload
            .problems
            .iter()
            .all(|told| told.contains("toolcrib.json:1:")),
        "{:?}",
        reload.problems
    );
    let attention = toolcrib::observe::attention(&snapshot);
    assert!(
        attention[0].text.starts_with("not reloaded"),
        "{attention:?}"
    );
    let told = bench.runtime.control().reload().await;
    assert!(matches!(told, Err(ControlError::Refused(_))), "{told:?}");
    assert_eq!(bench.ready(&["a"]).await, before);
    assert_eq!(bench.call("a__pid").await, before[0].to_string());
    bench.put(&text);
    bench
        .until("the repair", |all| {
            let reload = all.deployment.reload.as_ref();
            reload.is_some_and(|reload| reload.problems.is_empty())
        })
        .await;
    assert_eq!(bench.ready(&["a"]).await, before);
    bench.end().await;
}

#[tokio::test]
async fn a_call_that_runs_is_not_disturbed_by_a_reload() {
    let a = child("a", "1");
    let bench = Bench::start(&deployment(&[a.clone(), child("b", "1")], 100)).await;
    bench.ready(&["a", "b"]).await;
    let control = bench.runtime.control();
    let hanging = tokio::spawn({
        let control = control.clone();
        async move { control.call(Call::new("a__hang", json!({}))).await }
    });
    bench
        .until("the call runs", |all| all.running.len() == 1)
        .await;
    bench.put(&deployment(&[a], 50));
    assert!(control.reload().await.is_ok());
    bench.ready(&["a"]).await;
    let snapshot = bench
        .until("it still runs", |all| all.running.len() == 1)
        .await;
    assert!(
        control
            .cancel(snapshot.running[0].id.clone())
            .await
            .unwrap()
    );
    let ended = tokio::time::timeout(Duration::from_secs(30), hanging).await;
    assert!(ended.unwrap().unwrap().unwrap().result.is_error());
    bench.end().await;
}
