//! A working directory with an environment of its own, and the program run in it.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Far more than anything here takes; what hangs fails instead of blocking the run.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_toolcrib");

/// The variable by which a process is known to belong to a place.
const MARK: &str = "TOOLCRIB_TEST_PLACE";

/// A directory that is the whole world of the program: its working directory, its home.
pub(crate) struct Place {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The one JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    /// A place with one deployment, `toolcrib.yaml`.
    pub(crate) fn with(deployment: &str) -> Self {
        let place = Self::new();
        place.write("toolcrib.yaml", deployment);
        place
    }

    /// Sets a variable for every run.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file, and its directories.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The variables of every run: nothing of the surroundings but the path.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let dir = self.dir.path().to_str().unwrap();
        let mut all = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), dir.to_owned()),
            (MARK.to_owned(), dir.to_owned()),
        ];
        all.extend(self.variables.iter().cloned());
        all
    }

    /// The program with these arguments, every stream a pipe.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .env_clear()
            .envs(self.environment())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs the program to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Ended {
        finish(self.command(args).spawn().unwrap()).await
    }

    /// Runs the program to its end with a text on stdin.
    pub(crate) async fn run_with_stdin(&self, args: &[&str], text: &str) -> Ended {
        use tokio::io::AsyncWriteExt as _;
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).await.unwrap();
        drop(stdin);
        finish(child).await
    }

    /// The processes that were started from here and still run, by their command lines.
    pub(crate) fn left(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.dir.path().display());
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter(|process| {
                // Whatever ends while it is looked at is not left.
                let environment = std::fs::read(process.path().join("environ"));
                let environment = environment.unwrap_or_default();
                environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == mark.as_bytes())
            })
            .map(|process| {
                let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&words).replace('\0', " ")
            })
            .collect()
    }

    /// Waits until nothing that was started from here runs any more.
    pub(crate) async fn empty(&self) {
        let looking = async {
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            while !self.left().is_empty() {
                tick.tick().await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, looking).await;
        assert!(ended.is_ok(), "still there: {:?}", self.left());
    }
}

/// Waits for the end of a run and what it wrote.
pub(crate) async fn finish(child: Child) -> Ended {
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.expect("the program does not end").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended {
        code: code(output.status),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// The exit code; `None` when a signal ended it.
fn code(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// A deployment with simulated tools of every kind.
pub(crate) const LAB: &str = r#"resources:
  lab:
    kind: tool.Source
    impl: sim
    settings:
      tools:
        - name: say
          description: "Says it. 日本語 too."
          input_schema:
            type: object
            properties: {text: {type: string}, count: {type: integer}, loud: {type: boolean}}
          hints: {read_only: true}
        - {name: fail, behavior: {error: {message: "the lamp is broken"}}}
        - {name: paint, behavior: {image: {bytes: 120}}}
        - {name: figures, behavior: {data: {value: {rows: [1, 2]}}}}
        - {name: hang, behavior: {hang: {}}}
        - {name: escape, behavior: {text: {text: "a\e[2Jb"}}}
        - name: late
          description: Comes when it is asked for.
          lazy: {placeholder: not yet}
          input_schema: {type: object, properties: {count: {type: integer}}}
  tools:
    kind: tool.Assembly
    impl: memory
    deps: {tool: lab}
"#;

/// A deployment with one server, this program's own, as a child process, beside a tool that hangs.
pub(crate) fn children(server: &str) -> String {
    format!(
        r#"resources:
  real:
    kind: tool.Source
    impl: mcp
    settings:
      servers:
        - {{name: {server}, transport: stdio, command: "{PROGRAM}", args: [demo-server, {server}]}}
  lab:
    kind: tool.Source
    impl: sim
    settings:
      tools: [{{name: hang, behavior: {{hang: {{}}}}}}]
  tools:
    kind: tool.Assembly
    impl: memory
    deps: {{tool: [real, lab]}}
"#
    )
}
