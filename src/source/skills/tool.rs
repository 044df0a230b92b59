//! A tool of a skill as the executor sees it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::http::{HttpClient, asked};
use super::library::Library;
use super::model::{Action, HttpTemplate, SkillTool};
use super::preview::preview;
use super::repeats::Repeats;
use super::request::prepare;
use super::response;
use crate::secrets::Secrets;
use crate::source::mcp::McpSource;
use crate::tool::{Definition, ErrorKind, Hints, Invocation, Tool, ToolResult};

/// What all tools of one source share.
pub(super) struct Workshop {
    pub(super) source: Arc<str>,
    pub(super) library: Arc<Library>,
    pub(super) client: HttpClient,
    pub(super) secrets: Secrets,
    pub(super) repeats: Arc<Repeats>,
    /// The MCP sources whose servers the tools may name.
    pub(super) servers: Vec<Arc<McpSource>>,
}

/// A tool of a skill.
pub(super) struct FileTool {
    pub(super) spec: Arc<SkillTool>,
    pub(super) workshop: Arc<Workshop>,
}

impl Tool for FileTool {
    fn definition(&self) -> Definition {
        self.spec.definition.clone()
    }

    fn hints(&self) -> Hints {
        self.spec.hints
    }

    fn bounds_own_time(&self) -> bool {
        true
    }

    fn defined_at(&self) -> Option<&str> {
        Some(&self.spec.defined_at)
    }

    fn preview(&self, arguments: &Map<String, Value>) -> Option<Result<String, String>> {
        let (action, secrets) = (&self.spec.action, &self.workshop.secrets);
        let variables = |name: &str| self.workshop.library.variables.get(name).cloned();
        let open = |name: &str| self.workshop.library.open_variables.contains(name);
        let text = preview(action, arguments, &variables, &open);
        // Arguments may hold secrets too.
        let masked = |text: String| secrets.mask(&text).into_owned();
        Some(text.map(masked).map_err(masked))
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let Some((session, allowed)) = self.counted(&invocation) else {
                return self.run(invocation).await;
            };
            let name = self.spec.definition.shared_name();
            let repeats = &self.workshop.repeats;
            let count = repeats.of(&session, &name, self.does(), &invocation.arguments);
            let mut count = count.lock().await;
            if let Some(replay) = count.replay(&name, allowed) {
                return replay;
            }
            let result = self.run(invocation).await;
            count.ran(&result);
            result
        })
    }
}

impl FileTool {
    /// Whether runs of this call are counted, by session, and how many are allowed (skills 5.9).
    fn counted(&self, invocation: &Invocation) -> Option<(Arc<str>, i64)> {
        let session = invocation.session.clone()?;
        match self.spec.max_repeats {
            Some(allowed) => Some((session, allowed)),
            None if self.spec.hints.read_only == Some(true) => None,
            None => Some((session, 0)),
        }
    }

    /// A number for what a call does, by which the calls of an edited tool are new ones.
    fn does(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        format!("{:?}", self.spec.action).hash(&mut hasher);
        hasher.finish()
    }

    async fn run(&self, invocation: Invocation) -> ToolResult {
        match &self.spec.action {
            Action::Http(template) => self.ask(template, invocation).await,
            Action::Mcp { server, tool } => {
                let result = self.pass_on(server, tool, invocation).await;
                let text = result.all_text();
                self.keep(result, text.as_bytes()).await
            }
        }
    }

    async fn ask(&self, template: &HttpTemplate, invocation: Invocation) -> ToolResult {
        let variables = |name: &str| self.workshop.library.variables.get(name).cloned();
        let open = |name: &str| self.workshop.library.open_variables.contains(name);
        let request = match prepare(template, &invocation.arguments, &variables, &open) {
            Ok(request) => request,
            Err(error) => {
                let name = self.spec.definition.name();
                let text = format!("`{name}` was not sent: {error}");
                return match error.unset() {
                    Some(_) => self.error(ErrorKind::NotAvailable, &text),
                    None => self.error(ErrorKind::Validation, &text),
                };
            }
        };
        let (retry, timeout) = (self.spec.retry, self.spec.timeout);
        let sent = self
            .workshop
            .client
            .send(&request, retry, timeout, &invocation);
        match sent.await {
            Ok(answer) if answer.status.is_success() => {
                let result = response::success(&answer.headers, &answer.body);
                self.keep(result, &answer.body.bytes).await
            }
            Ok(answer) => {
                let (asked, secrets) = (asked(&request), &self.workshop.secrets);
                let (status, headers) = (answer.status, &answer.headers);
                let result = response::failure(&asked, status, headers, &answer.body, secrets);
                self.error(ErrorKind::Tool, &result.all_text())
            }
            Err(error) => self.error(error.kind, &error.message),
        }
    }

    async fn pass_on(&self, server: &str, tool: &str, mut invocation: Invocation) -> ToolResult {
        // A bound too long to be an instant is no bound.
        let own = Instant::now().checked_add(self.spec.timeout);
        invocation.deadline = [invocation.deadline, own].into_iter().flatten().min();
        for source in &self.workshop.servers {
            if let Some(call) = source.call(server, tool, invocation.clone()) {
                return call.await;
            }
        }
        self.error(
            ErrorKind::NotAvailable,
            &format!("no MCP server is named `{server}`"),
        )
    }

    /// An error without secrets: what a server echoes must not bring them back (skills 5.6).
    fn error(&self, kind: ErrorKind, text: &str) -> ToolResult {
        ToolResult::error(kind, self.workshop.secrets.mask(text))
    }

    /// Writes the body of a success where the skill wants it (skills 5.8). A write that fails is a
    /// warning, never an error of the call.
    async fn keep(&self, mut result: ToolResult, body: &[u8]) -> ToolResult {
        let Some(path) = self.spec.output_file.clone().filter(|_| !result.is_error()) else {
            return result;
        };
        let (body, base) = (body.to_vec(), self.workshop.library.base_dir.clone());
        let shown = path
            .strip_prefix(&base)
            .unwrap_or(&path)
            .display()
            .to_string();
        let written =
            tokio::task::spawn_blocking(move || super::output::write(&base, &path, &body)).await;
        let failure = match written {
            Ok(Ok(())) => return result,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the program stops".to_owned(),
        };
        let tool = self.spec.definition.name();
        let warning =
            format!("the result of `{tool}` could not be written to `{shown}`: {failure}");
        tracing::warn!(source = &*self.workshop.source, tool, "{warning}");
        result.warnings.push(warning);
        result
    }
}
