//! A server to test against, over any transport. Also compiled into the integration tests.

#![allow(dead_code, unreachable_pub)]
#![expect(deprecated)]
#![expect(
    clippy::disallowed_methods,
    reason = "a server that dies at once is what is tested against"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, DiscoverRequestMethod,
    DiscoverResult, ElicitRequest, ElicitRequestParams, ElicitationSchema, ErrorData,
    Implementation, InputRequest, InputRequiredResult, ListResourcesResult, ListToolsResult,
    LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What a test holds of the server; all of its connections share it.
#[derive(Clone)]
pub struct Shelf(Arc<Inner>);

struct Inner {
    tools: Mutex<Vec<Tool>>,
    page: AtomicUsize,
    /// Counts the changes that were announced.
    announced: watch::Sender<u64>,
    /// What happened, in order.
    seen: watch::Sender<Vec<String>>,
    /// Pings are left unanswered while this is set.
    deaf: watch::Sender<bool>,
    age: Age,
}

/// Which revisions the server knows.
#[derive(Clone, Copy, PartialEq)]
enum Age {
    /// All.
    New,
    /// Only the older one, and no `server/discover`.
    Old,
    /// It answers `server/discover`, and has only the older one all the same.
    Between,
}

pub fn tool(name: &str, description: &str) -> Tool {
    let schema = json!({"type": "object"});
    Tool::new(
        name.to_owned(),
        description.to_owned(),
        schema.as_object().unwrap().clone(),
    )
}

impl Shelf {
    pub fn new(names: &[&str]) -> Self {
        Self::build(names, Age::New)
    }

    /// A server that knows no `server/discover`.
    pub fn legacy(names: &[&str]) -> Self {
        Self::build(names, Age::Old)
    }

    /// A server that knows `server/discover`, and only the older revision.
    pub fn between(names: &[&str]) -> Self {
        Self::build(names, Age::Between)
    }

    fn build(names: &[&str], age: Age) -> Self {
        Self(Arc::new(Inner {
            tools: Mutex::new(names.iter().map(|name| tool(name, "a tool")).collect()),
            page: AtomicUsize::new(usize::MAX),
            announced: watch::Sender::new(0),
            seen: watch::Sender::new(Vec::new()),
            deaf: watch::Sender::new(false),
            age,
        }))
    }

    pub fn set_page(&self, size: usize) {
        self.0.page.store(size, Ordering::SeqCst);
    }

    pub fn put(&self, tools: Vec<Tool>) {
        *self.0.tools.lock() = tools;
    }

    /// Tells every client that the tools changed.
    pub fn announce(&self) {
        self.0.announced.send_modify(|count| *count += 1);
    }

    pub fn set_deaf(&self, deaf: bool) {
        self.0.deaf.send_replace(deaf);
    }

    pub fn seen(&self) -> Vec<String> {
        self.0.seen.borrow().clone()
    }

    pub fn count(&self, what: &str) -> usize {
        self.seen().iter().filter(|seen| *seen == what).count()
    }

    /// Waits until something happened.
    pub async fn until_seen(&self, what: &str) {
        let mut seen = self.0.seen.subscribe();
        let happened = |seen: &Vec<String>| seen.iter().any(|happened| happened == what);
        tokio::time::timeout(Duration::from_secs(600), seen.wait_for(happened))
            .await
            .unwrap_or_else(|_| panic!("never saw `{what}`, only {:?}", self.seen()))
            .unwrap();
    }

    fn note(&self, what: impl Into<String>) {
        self.0.seen.send_modify(|seen| seen.push(what.into()));
    }

    async fn hear(&self) {
        let mut deaf = self.0.deaf.subscribe();
        deaf.wait_for(|deaf| !deaf).await.unwrap();
    }
}

impl ServerHandler for Shelf {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("shelf", "1.2.3"))
            .with_instructions("use with care")
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        match self.0.age {
            Age::New => ProtocolVersion::KNOWN_VERSIONS.into(),
            Age::Old | Age::Between => vec![ProtocolVersion::V_2025_11_25].into(),
        }
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        if self.0.age == Age::Old {
            return Err(ErrorData::method_not_found::<DiscoverRequestMethod>());
        }
        Ok(DiscoverResult::from_server_info(
            self.supported_protocol_versions().into_owned(),
            self.get_info(),
        ))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.note("initialized");
        let mut announced = self.0.announced.subscribe();
        tokio::spawn(async move {
            while announced.changed().await.is_ok() {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    break;
                }
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.note("listening");
        let mut announced = self.0.announced.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = announced.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn ping(&self, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.note("ping");
        self.hear().await;
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.note("list");
        let from: usize = request
            .and_then(|params| params.cursor)
            .map_or(0, |cursor| cursor.parse().unwrap());
        let tools = self.0.tools.lock();
        let end = from
            .saturating_add(self.0.page.load(Ordering::SeqCst))
            .min(tools.len());
        let mut page = ListToolsResult::with_all_items(tools[from..end].to_vec());
        page.next_cursor = (end < tools.len()).then(|| end.to_string());
        Ok(page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let text = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]).into();
        self.note(format!("call {}", request.name));
        Ok(match &*request.name {
            "hang" => {
                context.ct.cancelled().await;
                self.note("hang was cancelled");
                return Err(ErrorData::internal_error("cancelled", None));
            }
            "exit" => std::process::exit(arguments["code"].as_i64().unwrap_or(7) as i32),
            "answer_and_exit" => {
                tokio::spawn(async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    std::process::exit(0);
                });
                text("last words".into())
            }
            "big" => {
                let bytes = arguments["bytes"].as_u64().unwrap_or(0) as usize;
                text("x".repeat(bytes))
            }
            "fail" => CallToolResult::error(vec![ContentBlock::text("it broke")]).into(),
            "refuse" => return Err(ErrorData::internal_error("out of order", None)),
            "trace" => text(context.meta.get_traceparent().unwrap_or("none").to_owned()),
            "pid" => text(std::process::id().to_string()),
            "progress" => {
                if let Some(token) = context.meta.get_progress_token() {
                    for done in [1.0, 2.0] {
                        let report = ProgressNotificationParam::new(token.clone(), done)
                            .with_total(2.0)
                            .with_message(format!("step {done}"));
                        let _ = context.peer.notify_progress(report).await;
                    }
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                text("done".into())
            }
            "log" => {
                let message =
                    LoggingMessageNotificationParam::new(LoggingLevel::Warning, json!("careful"));
                let _ = context.peer.notify_logging_message(message).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                text("logged".into())
            }
            "ask" => match &request.input_responses {
                Some(responses) => text(format!("you said {}", responses["q"]["action"])),
                None => {
                    let params = ElicitRequestParams::FormElicitationParams {
                        meta: None,
                        message: "really?".into(),
                        requested_schema: ElicitationSchema::new(BTreeMap::new()),
                    };
                    if context
                        .protocol_version()
                        .is_some_and(|version| version.has_initialize())
                    {
                        let answer = context.peer.create_elicitation(params).await;
                        text(format!("{:?}", answer.map(|answer| answer.action)))
                    } else {
                        let asked = InputRequest::Elicitation(ElicitRequest::new(params));
                        let asked = BTreeMap::from([("q".to_owned(), asked)]);
                        InputRequiredResult::new(Some(asked), Some("state".into())).into()
                    }
                }
            },
            "roots" => {
                let roots = context.peer.list_roots().await;
                text(format!("{:?}", roots.map(|roots| roots.roots)))
            }
            _ => text(arguments.to_string()),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(
            "mem:///a", "a",
        )]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = ResourceContents::text(format!("contents of {}", request.uri), request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
