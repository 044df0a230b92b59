//! A tool call over a connection, with the rounds in which the server asks for input first.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorData, InputRequest, InputRequests,
    ListResourcesRequest, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult,
    ServerResult,
};
use serde_json::{Map, Value, json};

use super::connection::{Bounds, Connection, Unanswered};
use crate::source::mcp::translate;
use crate::tool::{Part, ToolResult};

/// How often a server may ask for input within one call, as other clients have it.
const ROUNDS: usize = 10;

/// The pause before a round in which the server asked for nothing but patience; doubles.
const PAUSE: Duration = Duration::from_millis(100);

/// The input that a server asked for, with the state that it wants back.
type Inputs = (Option<BTreeMap<String, Value>>, Option<String>);

impl Connection {
    /// Calls a tool by the name that the server knows.
    pub(in super::super) async fn call(
        &self,
        original: &str,
        arguments: Map<String, Value>,
        bounds: &Bounds,
    ) -> Result<ToolResult, Unanswered> {
        let mut params = CallToolRequestParams::new(original.to_owned());
        params.arguments = Some(arguments);
        let answer = self
            .rounds(bounds, |(responses, state)| {
                let mut params = params.clone();
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            })
            .await?;
        translate::call_result(answer).ok_or(Unanswered::Unexpected)
    }

    /// The resources of the server, as it lists them.
    pub(in super::super) async fn list_resources(
        &self,
        bounds: &Bounds,
    ) -> Result<ToolResult, Unanswered> {
        let mut warnings = Vec::new();
        let request =
            |params| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params));
        let resources = self
            .pages(bounds, request, "resources", &mut warnings)
            .await?;
        Ok(ToolResult::ok(vec![Part::json(
            json!({"resources": resources}),
        )]))
    }

    /// The contents of one resource.
    pub(in super::super) async fn read_resource(
        &self,
        uri: &str,
        bounds: &Bounds,
    ) -> Result<ToolResult, Unanswered> {
        let params = ReadResourceRequestParams::new(uri);
        let answer = self
            .rounds(bounds, |(responses, state)| {
                let mut params = params.clone();
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            })
            .await?;
        let ServerResult::ReadResourceResult(ReadResourceResult { contents, .. }) = answer else {
            return Err(Unanswered::Unexpected);
        };
        let mut parts: Vec<Part> = contents.into_iter().map(translate::resource).collect();
        if parts.is_empty() {
            parts.push(Part::Text(String::new()));
        }
        Ok(ToolResult::ok(parts))
    }

    async fn rounds(
        &self,
        bounds: &Bounds,
        request: impl Fn(Inputs) -> ClientRequest,
    ) -> Result<ServerResult, Unanswered> {
        let mut inputs = (None, None);
        let mut pause = PAUSE;
        for _ in 0..ROUNDS {
            let asked = match self.request(request(inputs), bounds).await? {
                ServerResult::InputRequiredResult(asked) => asked,
                answer => return Ok(answer),
            };
            let requests = asked.input_requests.unwrap_or_default();
            let responses = tokio::select! {
                biased;
                () = bounds.cancel.cancelled() => return Err(Unanswered::Cancelled),
                () = self.gone.cancelled() => return Err(Unanswered::Interrupted),
                responses = self.respond(requests) => responses?,
            };
            if responses.is_none() {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            inputs = (responses, asked.request_state);
        }
        Err(Unanswered::Refused(ErrorData::internal_error(
            format!("it asked for input {ROUNDS} times and never came to an end"),
            None,
        )))
    }

    async fn respond(
        &self,
        requests: InputRequests,
    ) -> Result<Option<BTreeMap<String, Value>>, Unanswered> {
        let mut responses = BTreeMap::new();
        for (key, request) in requests {
            let response = match request {
                InputRequest::Elicitation(asked) => {
                    serde_json::to_value(self.person.elicit(&asked.params).await)
                }
                InputRequest::CreateMessage(asked) => {
                    // Sampling knows no answer that means no: the call ends here.
                    let message = self.person.sample(&asked.params).await;
                    serde_json::to_value(message.map_err(Unanswered::Refused)?)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(self.person.roots()),
                _ => return Err(Unanswered::Unexpected),
            };
            responses.insert(key, response.map_err(|_| Unanswered::Unexpected)?);
        }
        Ok((!responses.is_empty()).then_some(responses))
    }
}
