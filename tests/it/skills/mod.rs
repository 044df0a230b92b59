//! Skill files from the file to the wire: read by the deployment, run by a runtime, against a real
//! HTTP server on loopback that keeps what arrived byte for byte.

mod answers;
mod cases;
mod fuzz;
mod http;
mod load;
mod reload;
mod repeats;
mod requests;
mod servers;
mod wire;

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};
use toolcrib::deployment::{EnvValue, Loaded, Problems, load_text};
use toolcrib::executor::Outcome;
use toolcrib::runtime::{Options, Runtime};
use toolcrib::tool::{Call, ToolResult};

/// A deployment over the directory `skills`.
const DEPLOYMENT: &str = "\
resources:
  skills: {kind: tool.Source, impl: skills, settings: {dir: skills}}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: skills}}
";

/// A directory with a deployment and files below it.
pub(crate) struct Case {
    pub(crate) dir: tempfile::TempDir,
    env: HashMap<String, EnvValue>,
    deployment: String,
}

impl Case {
    /// Files by name, in the directory `skills`.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("skills")).unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join("skills").join(name), text).unwrap();
        }
        Self {
            dir,
            env: HashMap::new(),
            deployment: DEPLOYMENT.to_owned(),
        }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        let value = EnvValue {
            value: value.to_owned(),
            secret: true,
        };
        self.env.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn deployment(mut self, text: &str) -> Self {
        text.clone_into(&mut self.deployment);
        self
    }

    pub(crate) fn load(&self) -> Result<Loaded, Problems> {
        load_text("deploy.yaml", &self.deployment, self.dir.path(), &self.env)
    }

    /// Every problem as a line.
    pub(crate) fn problems(&self) -> Vec<String> {
        match self.load() {
            Ok(loaded) => loaded.warnings.iter().map(ToString::to_string).collect(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) async fn start(&self) -> Runtime {
        let loaded = self.load().unwrap();
        let options = Options {
            secrets: loaded.secrets.clone(),
            ..Options::default()
        };
        Runtime::start(&loaded.deployment, options).await.unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// One call outside any session.
pub(crate) async fn call(runtime: &Runtime, tool: &str, arguments: Value) -> ToolResult {
    outcome(runtime, Call::new(tool, arguments)).await.result
}

pub(crate) async fn outcome(runtime: &Runtime, call: Call) -> Outcome {
    runtime.control().call(call).await.unwrap()
}

/// A skill `s` with one HTTP tool `t`, whose settings are the given YAML lines at their own
/// indentation.
pub(crate) fn skill(http: &str) -> String {
    let lines: Vec<String> = http.lines().map(|line| format!("      {line}")).collect();
    format!(
        "name: s\ntools:\n  - name: t\n    http:\n{}\n",
        lines.join("\n")
    )
}

/// An empty object.
pub(crate) fn nothing() -> Value {
    Value::Object(Map::new())
}
