//! What the demo servers share: a set of tools served over MCP. A [`Toolset`] knows nothing of
//! the protocol but its types of content.

use std::io::Write as _;
use std::sync::Arc;

use futures::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Resource, ResourceContents, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;

/// What a tool does to its world, for the hints of its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes nothing.
    Reads,
    /// Adds or changes something; once more adds or changes more.
    Writes,
    /// Takes something away for good; once more changes nothing.
    Destroys,
}

/// One tool as it is listed.
pub(super) struct ToolSpec {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub effect: Effect,
    /// The `properties` of the input schema.
    pub properties: Value,
    pub required: &'static [&'static str],
}

impl ToolSpec {
    fn into_tool(self) -> Tool {
        let schema = serde_json::json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        });
        let Value::Object(schema) = schema else {
            unreachable!("written as an object above")
        };
        let hints = ToolAnnotations::new()
            .read_only(self.effect == Effect::Reads)
            .destructive(self.effect == Effect::Destroys)
            .idempotent(self.effect != Effect::Writes)
            .open_world(false);
        Tool::new(self.name, self.description, Arc::new(schema))
            .with_title(self.title)
            .with_annotations(hints)
    }
}

/// What a successful call gives.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub content: Vec<ContentBlock>,
    pub structured: Option<Value>,
}

impl Answer {
    /// One text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            structured: None,
        }
    }

    /// A text for people and the same as data.
    pub(super) fn data(text: impl Into<String>, value: Value) -> Self {
        Self {
            structured: Some(value),
            ..Self::text(text)
        }
    }
}

/// What a call ends with; the error is a sentence for whoever called.
pub(super) type Outcome = Result<Answer, String>;

/// The tools of one server.
pub(super) trait Toolset: Send + Sync + 'static {
    /// The name of the server.
    fn name(&self) -> &'static str;

    /// What a client should know before it calls anything.
    fn instructions(&self) -> &'static str;

    /// The tools.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Calls a tool that is listed.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Arguments,
        client: &'a Client,
    ) -> BoxFuture<'a, Outcome>;

    /// The resources, if the server has any.
    fn resources(&self) -> Option<Vec<Resource>> {
        None
    }

    /// The contents of a resource.
    fn read(&self, _uri: &str) -> Option<ResourceContents> {
        None
    }
}

/// Who made a call, to be told how it goes.
pub(super) struct Client {
    context: RequestContext<RoleServer>,
    server: &'static str,
}

impl Client {
    /// Fires when the client gives up.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.context.ct
    }

    /// Reports progress, if the client asked for it.
    pub(super) async fn progress(&self, done: u32, total: u32, message: impl Into<String>) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let report = ProgressNotificationParam::new(token, f64::from(done))
            .with_total(f64::from(total))
            .with_message(message);
        // A client that is gone is noticed by its closed transport.
        let _ = self.context.peer.notify_progress(report).await;
    }

    /// Sends a log message.
    #[expect(
        deprecated,
        reason = "clients of older revisions still show log messages"
    )]
    pub(super) async fn log(&self, text: &str) {
        use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
        let data = Value::String(text.to_owned());
        let message =
            LoggingMessageNotificationParam::new(LoggingLevel::Info, data).with_logger(self.server);
        let _ = self.context.peer.notify_logging_message(message).await;
    }
}

/// Writes one line to stderr; a reader that is gone is no reason to fail.
pub(super) fn say(server: &str, line: impl std::fmt::Display) {
    if cfg!(test) {
        return; // it would land between the lines of the test harness
    }
    let _ = writeln!(std::io::stderr(), "[{server}] {line}");
}

/// A toolset as an MCP server. Clones share the toolset.
pub(super) struct Server<T>(pub Arc<T>);

impl<T> Clone for Server<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Toolset> ServerHandler for Server<T> {
    fn get_info(&self) -> ServerConfig {
        #[expect(
            deprecated,
            reason = "clients of older revisions still show log messages"
        )]
        let builder = ServerCapabilities::builder()
            .enable_tools()
            .enable_logging();
        let capabilities = if self.0.resources().is_some() {
            builder.enable_resources().build()
        } else {
            builder.build()
        };
        let name = format!("toolcrib-demo-{}", self.0.name());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name, env!("CARGO_PKG_VERSION")))
            .with_instructions(self.0.instructions())
    }

    #[expect(deprecated, reason = "clients of older revisions set a level")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The few messages of a demo are sent at every level.
        say(self.0.name(), format_args!("log level {:?}", request.level));
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.tools().into_iter().map(ToolSpec::into_tool);
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = self.0.name();
        let Some(spec) = self
            .0
            .tools()
            .into_iter()
            .find(|spec| spec.name == request.name)
        else {
            let message = format!("no tool is named `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let client = Client {
            context,
            server: name,
        };
        let arguments: JsonObject = request.arguments.unwrap_or_default();
        let outcome = match Arguments::checked(arguments, &spec) {
            Ok(arguments) => self.0.call(&request.name, arguments, &client).await,
            Err(message) => Err(message),
        };
        let result = match outcome {
            Ok(answer) => {
                say(name, format_args!("{}: done", request.name));
                let mut result = CallToolResult::success(answer.content);
                result.structured_content = answer.structured;
                result
            }
            Err(message) => {
                say(name, format_args!("{}: failed: {message}", request.name));
                CallToolResult::error(vec![ContentBlock::text(message)])
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.0.resources().unwrap_or_default();
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.0.read(&request.uri) {
            Some(contents) => Ok(ReadResourceResult::new(vec![contents]).into()),
            None => Err(ErrorData::resource_not_found(
                format!("there is no resource `{}`", request.uri),
                None,
            )),
        }
    }
}
