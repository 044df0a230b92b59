//! Skill files that change on the disk while a deployment runs (tool-system 10.5).

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::deployment::{ProcessEnvironment, load_file};
use toolcrib::observe::{ReloadRow, Snapshot};
use toolcrib::runtime::{Options, Reload, Runtime};
use toolcrib::source::mcp::TransportSettings;
use toolcrib::source::{Launch, ServerState};
use toolcrib::tool::{Call, ErrorKind, ToolResult};

use super::wire::{Wire, ok};
use crate::mcp::{PATIENCE, server};

/// A running deployment in a directory: skills with a servers file, and a session.
struct Bench {
    dir: tempfile::TempDir,
    runtime: Runtime,
}

fn deployment() -> String {
    json!({"resources": {
        "s": {"kind": "tool.Source", "impl": "skills", "settings": {
            "dir": "skills", "mcp_servers_file": "servers.json",
        }},
        "tools": {"kind": "tool.Assembly", "impl": "memory", "deps": {"tool": "s"},
            "settings": {"dynamic": {"discovery": {}}}},
    }})
    .to_string()
}

fn servers() -> String {
    let TransportSettings::Stdio {
        command, args, env, ..
    } = server("serve")
    else {
        unreachable!();
    };
    let env: serde_json::Map<String, Value> = env
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    let words: Vec<String> = std::iter::once(command).chain(args).collect();
    json!({"servers": [{"name": "m", "command": words, "env": env, "liveness": "off"}]}).to_string()
}

/// A skill with a tool of the server, and one that asks for `path` at the wire.
fn skill(url: &str, path: &str) -> String {
    format!(
        "name: s\ntools:\n  - {{name: pid, type: mcp, mcp: {{server: m, tool: pid}}, max_repeats: \
         -1}}\n  - name: ask\n    description: Asks for {path}.\n    http:\n      url: \
         {url}/{path}\n"
    )
}

impl Bench {
    async fn start(skill: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("skills")).unwrap();
        let file = dir.path().join("toolcrib.json");
        std::fs::write(&file, deployment()).unwrap();
        std::fs::write(dir.path().join("servers.json"), servers()).unwrap();
        std::fs::write(dir.path().join("skills/a.skill.yaml"), skill).unwrap();
        let loaded = load_file(&file, &ProcessEnvironment).unwrap();
        let options = Options {
            secrets: loaded.secrets.clone(),
            reload: Some(Reload {
                load: Arc::new(move || load_file(&file, &ProcessEnvironment)),
                files: loaded.files.clone(),
            }),
            ..Options::default()
        };
        let runtime = Runtime::start(&loaded.deployment, options).await.unwrap();
        Self { dir, runtime }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("skills").join(name)
    }

    /// Writes into the file itself, as a shell does.
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    /// Puts a new file into the place of the old one, as editors do.
    fn put(&self, name: &str, text: &str) {
        let new = self.file(&format!(".{name}.swp"));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.file(name)).unwrap();
    }

    async fn until(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let mut snapshots = self.runtime.snapshot();
        let reached = tokio::time::timeout(PATIENCE, snapshots.wait_for(|all| wanted(all))).await;
        match reached {
            Ok(snapshot) => Arc::clone(&snapshot.unwrap()),
            Err(_) => panic!("never: {what}"),
        }
    }

    /// The reload after which these words are told.
    async fn reloaded(&self, what: &str, wanted: impl Fn(&ReloadRow) -> bool) -> ReloadRow {
        let done = |all: &Snapshot| all.deployment.reload.as_deref().is_some_and(&wanted);
        let snapshot = self.until(what, done).await;
        ReloadRow::clone(snapshot.deployment.reload.as_ref().unwrap())
    }

    /// The process of the server, once it is ready.
    async fn pid(&self) -> u32 {
        let pid = |all: &Snapshot| match all.servers.first()?.launch {
            Launch::Stdio { pid, .. } => pid.filter(|_| all.servers[0].state == ServerState::Ready),
            Launch::Http { .. } => None,
        };
        let ready = self.until("ready", |all| pid(all).is_some()).await;
        pid(&ready).unwrap()
    }

    async fn call(&self, tool: &str) -> ToolResult {
        let mut call = Call::new(tool, json!({}));
        call.session = Some("one".into());
        self.runtime.control().call(call).await.unwrap().result
    }

    fn definition(&self, tool: &str) -> Option<(String, String)> {
        let catalog = self.runtime.executor().registry().catalog();
        let entry = catalog.get(tool)?;
        let definition = entry.tool.definition();
        let place = entry.tool.defined_at().unwrap().to_owned();
        Some((definition.description().to_owned(), place))
    }
}

#[tokio::test]
async fn an_edited_skill_is_served_and_nothing_else_is_disturbed() {
    let wire = Wire::new(vec![ok("ok")]).await;
    let bench = Bench::start(&skill(&wire.url, "old")).await;
    let before = bench.pid().await;
    let control = bench.runtime.control();
    let session = control
        .open_session(Some("mine".into()), vec!["ask".into()])
        .await
        .unwrap();
    bench.call("ask").await;
    assert!(bench.call("ask").await.replayed);

    // A line moves, and nothing that a call does is another.
    let moved = skill(&wire.url, "old").replacen("tools:", "description: d\ntools:", 1);
    bench.write("a.skill.yaml", &moved);
    let done = ["source `s` took its new settings over".to_owned()];
    bench
        .reloaded("the move", |reload| *reload.done == done)
        .await;
    assert!(
        bench.call("ask").await.replayed,
        "an equal call is one still"
    );
    assert!(
        bench
            .definition("ask")
            .unwrap()
            .1
            .ends_with("a.skill.yaml:5")
    );

    bench.put("a.skill.yaml", &skill(&wire.url, "new"));
    bench
        .until("the new definition", |_| {
            bench.definition("ask").unwrap().0 == "Asks for new."
        })
        .await;
    let result = bench.call("ask").await;
    assert!(!result.replayed, "it is another call now");
    let targets: Vec<String> = wire
        .requests()
        .iter()
        .map(|seen| seen.target().into())
        .collect();
    assert_eq!(targets, ["/old", "/new"]);
    assert_eq!(bench.pid().await, before, "the server was not touched");
    assert_eq!(bench.call("pid").await.all_text(), before.to_string());
    let snapshot = bench
        .until("the session", |all| !all.sessions.is_empty())
        .await;
    assert_eq!(snapshot.sessions[0].id, session);
    assert_eq!(&*snapshot.sessions[0].name, "mine");
    assert!(bench.runtime.shutdown().await.is_empty());
}

#[tokio::test]
async fn a_broken_edit_keeps_the_old_skill_and_tells_every_problem_at_its_place() {
    let wire = Wire::new(vec![ok("ok")]).await;
    let good = skill(&wire.url, "old");
    let bench = Bench::start(&good).await;
    let before = bench.pid().await;
    bench.write(
        "a.skill.yaml",
        &good
            .replace("tools:", "description: this # is a warning\ntools:")
            .replace("/old", "/{{old}}")
            .replace("tool: pid", "toool: pid"),
    );
    bench.write("b.toolset.yaml", "name: b\ntools: [aks]\n");
    let broken = bench
        .reloaded("the problems", |reload| reload.problems.len() == 4)
        .await;
    let shown = |problem: &String| {
        let at = problem.find("skills/").unwrap();
        problem[at..].to_owned()
    };
    let problems: Vec<String> = broken.problems.iter().map(shown).collect();
    let column = 12 + wire.url.len() + 1;
    assert_eq!(
        problems,
        [
            "skills/a.skill.yaml:4:33: `tool` is missing".to_owned(),
            "skills/a.skill.yaml:4:45: unknown key `toool` (did you mean `tool`?)".into(),
            format!(
                "skills/a.skill.yaml:8:{column}: `{{{{old}}}}` is no placeholder; write \
                 `{{{{.name}}}}` for an argument or `{{{{env:NAME}}}}` for a variable"
            ),
            "skills/b.toolset.yaml:2:9: no skill has a tool `aks` (did you mean `ask`?)".into(),
        ]
    );
    assert_eq!(bench.definition("ask").unwrap().0, "Asks for old.");
    assert_eq!(bench.call("ask").await.all_text(), "ok");
    assert_eq!(wire.only().target(), "/old");
    assert_eq!(bench.pid().await, before);
    bench.write("a.skill.yaml", &good);
    bench.write("b.toolset.yaml", "name: b\ntools: [ask]\n");
    bench
        .reloaded("the repair", |reload| reload.problems.is_empty())
        .await;
    assert_eq!(bench.pid().await, before);
    assert!(bench.runtime.shutdown().await.is_empty());
}

#[tokio::test]
async fn files_that_come_and_go_bring_and_take_their_tools() {
    let wire = Wire::new(vec![ok("ok")]).await;
    let bench = Bench::start(&skill(&wire.url, "old")).await;
    let before = bench.pid().await;
    let more = format!(
        "name: more\ntools: [{{name: another, http: {{url: '{}/'}}}}]\n",
        wire.url
    );
    bench.write("b.skill.yml", &more);
    bench
        .until("the new tool", |_| bench.definition("another").is_some())
        .await;
    assert_eq!(bench.call("another").await.all_text(), "ok");
    let renamed = bench.file("c.skill.yaml");
    std::fs::rename(bench.file("b.skill.yml"), &renamed).unwrap();
    bench
        .until("the new name", |_| {
            let known = bench.definition("another");
            known.is_some_and(|(_, place)| Path::new(&place).ends_with("skills/c.skill.yaml:2"))
        })
        .await;
    std::fs::remove_file(renamed).unwrap();
    bench
        .until("the tool is gone", |_| {
            bench.definition("another").is_none()
        })
        .await;
    let gone = bench.call("another").await;
    assert_eq!(gone.error_kind, Some(ErrorKind::NotFound));
    assert_eq!(bench.pid().await, before);
    assert!(bench.runtime.shutdown().await.is_empty());
}
