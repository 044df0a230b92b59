//! One server in a deployment that runs, and what the tests do with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib::deployment::{ProcessEnvironment, load_text};
use toolcrib::observe::Snapshot;
use toolcrib::runtime::{Options, Runtime};
use toolcrib::source::{Launch, ServerState, ServerStatus};
use toolcrib::tool::{Call, ToolResult};

/// How long a server may take to do what is expected of it; a slow machine starts Node twice.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Host {
    pub(crate) runtime: Runtime,
}

/// A file of the installed packages.
pub(crate) fn installed(path: &str) -> String {
    let dir = std::env::var_os("TOOLCRIB_INTEROP");
    let dir = PathBuf::from(dir.expect("`.ci/run` sets TOOLCRIB_INTEROP"));
    let file = dir.join(path);
    assert!(file.exists(), "{} is not installed", file.display());
    file.display().to_string()
}

impl Host {
    /// Starts a deployment with one server `s`, given as a JSON object without its name.
    pub(crate) async fn start(server: Value) -> Self {
        let mut server = server;
        server["name"] = "s".into();
        let text = serde_json::json!({"resources": {
            "servers": {"kind": "tool.Source", "impl": "mcp", "settings": {"servers": [server]}},
            "tools": {"kind": "tool.Assembly", "impl": "memory", "deps": {"tool": "servers"}},
        }});
        let text = text.to_string();
        let loaded = load_text("interop.json", &text, ".".as_ref(), &ProcessEnvironment).unwrap();
        let runtime = Runtime::start(&loaded.deployment, Options::default())
            .await
            .unwrap();
        let host = Self { runtime };
        host.until("ready", |server| server.state == ServerState::Ready)
            .await;
        host
    }

    pub(crate) async fn until(
        &self,
        what: &str,
        wanted: impl Fn(&ServerStatus) -> bool,
    ) -> Arc<ServerStatus> {
        let mut snapshots = self.runtime.snapshot();
        let found = |snapshot: &Arc<Snapshot>| wanted(&snapshot.servers[0]);
        let waited = tokio::time::timeout(PATIENCE, snapshots.wait_for(found)).await;
        let server = match waited {
            Ok(snapshot) => return Arc::clone(&snapshot.unwrap().servers[0]),
            Err(_) => Arc::clone(&self.runtime.snapshot().borrow().servers[0]),
        };
        panic!("not {what}: {server:#?}");
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let call = Call::new(tool, arguments);
        self.runtime.control().call(call).await.unwrap().result
    }

    /// The text of a call that has to succeed.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(!result.is_error(), "{tool}: {}", result.all_text());
        result.all_text()
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        let catalog = self.runtime.executor().registry().catalog();
        let names = catalog.definitions().map(|tool| tool.name().to_owned());
        names.collect()
    }

    /// Kills the server's process and waits until another one serves.
    pub(crate) async fn kill_and_see_it_come_back(&self) {
        let before = self.until("ready", |server| server.state.is_up()).await;
        let pid = pid(&before).unwrap();
        let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        let after = self
            .until("back", |server| {
                server.state == ServerState::Ready && server.reconnects > before.reconnects
            })
            .await;
        assert_ne!(self::pid(&after).unwrap(), pid);
        assert_eq!(after.tools, before.tools);
        assert!(after.last_error.is_some(), "the loss has left its evidence");
    }

    /// Ends everything; no process is left.
    pub(crate) async fn stop(self) {
        let pid = pid(&self.runtime.snapshot().borrow().servers[0]);
        self.runtime.shutdown().await;
        if let Some(pid) = pid {
            assert!(
                !PathBuf::from(format!("/proc/{pid}")).exists(),
                "{pid} is left"
            );
        }
    }
}

fn pid(server: &ServerStatus) -> Option<u32> {
    match server.launch {
        Launch::Stdio { pid, .. } => pid,
        Launch::Http { .. } => None,
    }
}
