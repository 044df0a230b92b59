//! What a server may ask or tell us: roots, questions to a person, log messages, progress, changes
//! (rule 8.12).

// Sampling, roots and logging are deprecated in the newest revision, and servers still use them.
#![expect(deprecated)]

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CreateMessageRequestMethod,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ListRootsResult, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProtocolVersion, RequestMetaObject, Root, RootsCapabilities,
    SamplingCapability, SetLevelRequest, SetLevelRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;

use super::connection::{ProgressTable, send};
use super::{Event, Events};
use crate::source::LogOrigin;
use crate::source::mcp::link::Epoch;
use crate::source::mcp::log::Log;
use crate::source::mcp::question::{Answer, Desk, Question, QuestionKind};
use crate::tool::Progress;

/// The code by which MCP says that a person said no to sampling.
const DECLINED: ErrorCode = ErrorCode(-1);

/// Puts the questions of one server before a person, and shows them in its log.
#[derive(Clone)]
pub(in super::super) struct Person {
    pub(in super::super) source: Arc<str>,
    pub(in super::super) server: Arc<str>,
    pub(in super::super) desk: Arc<dyn Desk>,
    pub(in super::super) roots: Arc<[PathBuf]>,
    pub(in super::super) log: Log,
}

impl Person {
    async fn ask(&self, kind: QuestionKind, params: Value) -> Answer {
        let method = kind.method();
        let about = params
            .get("message")
            .and_then(Value::as_str)
            .map(|text| format!(": {text}"))
            .unwrap_or_default();
        let note = |level, text: &str| self.log.push(LogOrigin::Message, Some(level), text);
        note("notice", &format!("the server asks (`{method}`){about}"));
        let answer = self
            .desk
            .ask(Question {
                source: Arc::clone(&self.source),
                server: Arc::clone(&self.server),
                kind,
                params,
            })
            .await;
        let told = match &answer {
            Answer::Accept(_) => "answered",
            Answer::Decline => "declined",
            Answer::Cancel => "dismissed",
        };
        note("notice", &format!("`{method}` was {told}"));
        answer
    }

    pub(super) async fn elicit(&self, params: &ElicitRequestParams) -> ElicitResult {
        let params = serde_json::to_value(params).unwrap_or_default();
        match self.ask(QuestionKind::Elicitation, params).await {
            Answer::Accept(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            Answer::Decline => ElicitResult::new(ElicitationAction::Decline),
            Answer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    pub(super) async fn sample(
        &self,
        params: &CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorData> {
        let offered = self.desk.offers(QuestionKind::Sampling);
        let params = serde_json::to_value(params).unwrap_or_default();
        match self.ask(QuestionKind::Sampling, params).await {
            Answer::Accept(result) => serde_json::from_value(result).map_err(|error| {
                ErrorData::internal_error(format!("the answer is no message: {error}"), None)
            }),
            _ if offered => Err(ErrorData::new(DECLINED, "the operator declined", None)),
            // Never advertised: to the server the method does not exist.
            _ => Err(ErrorData::method_not_found::<CreateMessageRequestMethod>()),
        }
    }

    pub(super) fn roots(&self) -> ListRootsResult {
        ListRootsResult::new(self.roots.iter().map(|path| root(path)).collect())
    }
}

fn root(path: &std::path::Path) -> Root {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let uri = reqwest::Url::from_file_path(&absolute)
        .map_or_else(|()| format!("file://{}", absolute.display()), String::from);
    let root = Root::new(uri);
    match absolute.file_name() {
        Some(name) => root.with_name(name.to_string_lossy()),
        None => root,
    }
}

/// Asks for log messages within one request, as the newer revision has it.
pub(super) fn ask_for_log(meta: &mut RequestMetaObject) {
    meta.set_log_level(LoggingLevel::Info);
}

/// Asks for log messages once, as the older revision has it.
pub(super) fn log_level_request() -> ClientRequest {
    ClientRequest::SetLevelRequest(SetLevelRequest::new(SetLevelRequestParams::new(
        LoggingLevel::Info,
    )))
}

/// The receiving side of one connection.
pub(super) struct Handler {
    pub(super) epoch: Epoch,
    pub(super) client_version: String,
    pub(super) person: Person,
    pub(super) progress: ProgressTable,
    pub(super) events: Events,
}

impl Handler {
    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if !self.person.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        if self.person.desk.offers(QuestionKind::Elicitation) {
            capabilities.elicitation =
                Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        }
        if self.person.desk.offers(QuestionKind::Sampling) {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        capabilities
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::new(
            self.capabilities(),
            Implementation::new("toolcrib", self.client_version.as_str()),
        );
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.person.sample(&params).await
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.person.elicit(&params).await)
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.person.roots())
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.report(
            &params.progress_token,
            Progress {
                done: params.progress,
                total: params.total,
                message: params.message,
            },
        );
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = match params.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let text = match params.logger {
            Some(logger) => format!("{logger}: {text}"),
            None => text,
        };
        let level = serde_json::to_value(params.level).unwrap_or_default();
        self.person
            .log
            .push(LogOrigin::Message, level.as_str(), &text);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let epoch = self.epoch;
        send(&self.events, Event::ListChanged { epoch }).await;
    }
}
