//! From the protocol's words to ours: tools, results, resources (rules 8.9 to 8.11).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, Implementation, ResourceContents, ServerPeerInfo,
    ServerResult, Tool as RemoteTool,
};
use serde_json::{Value, json};

use super::board::Introduction;
use super::names::{Naming, assign};
use crate::source::ServerInfo;
use crate::tool::{Definition, ErrorKind, Hints, Part, ToolResult};

/// A tool that a server offers, under the name that it has here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Offered {
    pub(super) definition: Definition,
    pub(super) hints: Hints,
    /// The name that the server knows.
    pub(super) original: String,
    /// Whether that had to be mapped to one that providers take.
    pub(super) mapped: bool,
}

/// What a listing came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listing {
    pub(super) tools: Vec<Offered>,
    pub(super) warnings: Vec<String>,
}

/// Gives the listed tools their names. `listed` holds what the server sent, in its order; one that
/// is no tool is left out with a warning, so that it does not hide the others.
pub(super) fn listing(prefix: &str, listed: Vec<Value>, mut warnings: Vec<String>) -> Listing {
    let mut parsed = Vec::new();
    for value in listed {
        let name = value.get("name").and_then(Value::as_str).unwrap_or("?");
        match serde_json::from_value::<RemoteTool>(value.clone()) {
            Ok(tool) if !tool.name.is_empty() => parsed.push(tool),
            Ok(_) => warnings.push("a tool without a name is left out".to_owned()),
            Err(error) => warnings.push(format!("the tool `{name}` is left out: {error}")),
        }
    }
    let originals: Vec<&str> = parsed.iter().map(|tool| tool.name.as_ref()).collect();
    let names = assign(prefix, &originals);
    let mut tools = Vec::new();
    for (tool, naming) in parsed.iter().zip(names) {
        let original = tool.name.to_string();
        let Naming::Named { name, mapped } = naming else {
            warnings.push(format!(
                "the tool `{original}` is listed twice; the first one counts"
            ));
            continue;
        };
        if mapped {
            warnings.push(format!("the tool `{original}` is known as `{name}`"));
        }
        match definition(&name, tool) {
            Ok(definition) => tools.push(Offered {
                definition,
                hints: hints(tool),
                original,
                mapped,
            }),
            Err(error) => warnings.push(format!("the tool `{original}` is left out: {error}")),
        }
    }
    Listing { tools, warnings }
}

fn definition(name: &str, tool: &RemoteTool) -> Result<Definition, crate::tool::InvalidDefinition> {
    let title = tool
        .title
        .clone()
        .or_else(|| tool.annotations.as_ref()?.title.clone());
    Definition::with_title(
        name,
        title,
        tool.description.as_deref().unwrap_or_default(),
        Value::Object((*tool.input_schema).clone()),
    )
}

fn hints(tool: &RemoteTool) -> Hints {
    let Some(annotations) = &tool.annotations else {
        return Hints::default();
    };
    Hints {
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        idempotent: annotations.idempotent_hint,
        open_world: annotations.open_world_hint,
    }
}

/// What a server says of itself.
pub(super) fn introduction(peer: &ServerPeerInfo) -> Introduction {
    let capabilities = match serde_json::to_value(&peer.capabilities) {
        Ok(Value::Object(map)) => map.keys().cloned().collect(),
        _ => Vec::new(),
    };
    Introduction {
        protocol: peer.protocol_version.to_string(),
        server_info: peer.server_info.as_ref().map(server_info),
        capabilities,
        instructions: peer
            .instructions
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .map(Arc::from),
    }
}

fn server_info(implementation: &Implementation) -> ServerInfo {
    ServerInfo {
        name: implementation.name.clone(),
        version: implementation.version.clone(),
    }
}

/// The result of a call, if it is one. Some servers leave fields out or invent new blocks; what can
/// be read is kept.
pub(super) fn call_result(answer: ServerResult) -> Option<ToolResult> {
    match answer {
        ServerResult::CallToolResult(result) => Some(complete(result)),
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Some(whole(Vec::new())),
        ServerResult::CustomResult(custom) => lenient(&custom.0),
        _ => None,
    }
}

fn complete(result: CallToolResult) -> ToolResult {
    let mut parts: Vec<Part> = result.content.into_iter().map(block).collect();
    parts.extend(result.structured_content.map(Part::json));
    finish(parts, result.is_error == Some(true))
}

/// A result with a block that the library does not know: that one becomes data.
fn lenient(result: &Value) -> Option<ToolResult> {
    let result = result.as_object()?;
    let blocks = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent");
    if blocks.is_none() && structured.is_none() && result.keys().any(|key| key != "_meta") {
        return None;
    }
    let mut parts: Vec<Part> = blocks
        .into_iter()
        .flatten()
        .map(|raw| {
            serde_json::from_value::<ContentBlock>(raw.clone())
                .map_or_else(|_| Part::json(raw.clone()), block)
        })
        .collect();
    parts.extend(structured.cloned().map(Part::json));
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    Some(finish(parts, is_error))
}

fn finish(parts: Vec<Part>, is_error: bool) -> ToolResult {
    ToolResult {
        error_kind: is_error.then_some(ErrorKind::Tool),
        ..whole(parts)
    }
}

/// Nothing at all becomes one empty text part.
fn whole(parts: Vec<Part>) -> ToolResult {
    if parts.is_empty() {
        ToolResult::text("")
    } else {
        ToolResult::ok(parts)
    }
}

fn block(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::Text(text.text),
        ContentBlock::Image(image) => match STANDARD.decode(&image.data) {
            Ok(bytes) => Part::Image {
                bytes: bytes.into(),
                media_type: image.mime_type,
            },
            Err(_) => undecodable("image", &image.data, &image.mime_type),
        },
        ContentBlock::Audio(audio) => match STANDARD.decode(&audio.data) {
            Ok(bytes) => Part::Audio {
                bytes: bytes.into(),
                media_type: audio.mime_type,
            },
            Err(_) => undecodable("audio", &audio.data, &audio.mime_type),
        },
        ContentBlock::ResourceLink(link) => Part::File {
            uri: link.uri,
            media_type: link.mime_type,
            name: Some(link.title.unwrap_or(link.name)),
        },
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        other => Part::json(serde_json::to_value(other).unwrap_or_default()),
    }
}

/// What is no base64 is kept as it came.
fn undecodable(kind: &str, data: &str, media_type: &str) -> Part {
    Part::json(json!({"type": kind, "data": data, "mimeType": media_type}))
}

/// Contents of a resource: text or media by type, else data.
pub(super) fn resource(contents: ResourceContents) -> Part {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => Part::Text(text),
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => blob_part(uri, mime_type, blob),
        other => Part::json(serde_json::to_value(other).unwrap_or_default()),
    }
}

fn blob_part(uri: String, mime_type: Option<String>, blob: String) -> Part {
    let media_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    let as_data = |blob: String| Part::Data {
        value: json!({"uri": uri, "mimeType": media_type, "blob": blob}),
        media_type: media_type.clone(),
    };
    let Ok(bytes) = STANDARD.decode(&blob) else {
        return as_data(blob);
    };
    match media_type.split('/').next() {
        Some("image") => Part::Image {
            bytes: bytes.into(),
            media_type,
        },
        Some("audio") => Part::Audio {
            bytes: bytes.into(),
            media_type,
        },
        Some("text") => match String::from_utf8(bytes) {
            Ok(text) => Part::Text(text),
            Err(_) => as_data(blob),
        },
        _ => as_data(blob),
    }
}

/// An error of the protocol in answer to a call.
pub(super) fn call_error(tool: &str, server: &str, error: &ErrorData) -> ToolResult {
    const INVALID_PARAMS: i32 = -32602;
    let kind = if error.code.0 == INVALID_PARAMS {
        ErrorKind::Validation
    } else {
        ErrorKind::Tool
    };
    let mut result = ToolResult::error(
        kind,
        format!(
            "`{tool}`: server `{server}` answered with error {}: {}",
            error.code.0, error.message
        ),
    );
    result.parts.extend(error.data.clone().map(Part::json));
    result
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn result(value: Value) -> ToolResult {
        let answer: ServerResult = serde_json::from_value(value).unwrap();
        call_result(answer).unwrap()
    }

    #[test]
    fn every_kind_of_content_becomes_its_part() {
        let got = result(json!({"content": [
            {"type": "text", "text": "hi"},
            {"type": "image", "data": "AQID", "mimeType": "image/png"},
            {"type": "audio", "data": "BAUG", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "x:1", "mimeType": "text/plain", "text": "t"}},
            {"type": "resource", "resource": {"uri": "x:2", "mimeType": "image/gif", "blob": "AQID"}},
            {"type": "resource", "resource": {"uri": "x:3", "mimeType": "audio/ogg", "blob": "AQID"}},
            {"type": "resource", "resource": {"uri": "x:4", "mimeType": "text/csv", "blob": "YSxi"}},
            {"type": "resource", "resource": {"uri": "x:5", "mimeType": "application/pdf", "blob": "AQID"}},
        ]}));
        let bytes = Bytes::from_static(&[1, 2, 3]);
        assert_eq!(
            got,
            ToolResult::ok(vec![
                Part::Text("hi".into()),
                Part::Image {
                    bytes: bytes.clone(),
                    media_type: "image/png".into()
                },
                Part::Audio {
                    bytes: Bytes::from_static(&[4, 5, 6]),
                    media_type: "audio/wav".into()
                },
                Part::File {
                    uri: "file:///a".into(),
                    media_type: Some("text/plain".into()),
                    name: Some("a".into())
                },
                Part::Text("t".into()),
                Part::Image {
                    bytes: bytes.clone(),
                    media_type: "image/gif".into()
                },
                Part::Audio {
                    bytes,
                    media_type: "audio/ogg".into()
                },
                Part::Text("a,b".into()),
                Part::Data {
                    value: json!({"uri": "x:5", "mimeType": "application/pdf", "blob": "AQID"}),
                    media_type: "application/pdf".into()
                },
            ])
        );
    }

    #[test]
    fn structured_content_stands_beside_the_text_and_an_error_keeps_all_its_parts() {
        let got = result(json!({
            "content": [{"type": "text", "text": "5"}],
            "structuredContent": {"sum": 5},
            "isError": true,
        }));
        assert_eq!(
            got,
            ToolResult {
                parts: vec![Part::Text("5".into()), Part::json(json!({"sum": 5})),],
                error_kind: Some(ErrorKind::Tool),
                ..ToolResult::default()
            }
        );
    }

    #[test]
    fn nothing_at_all_is_one_empty_text_part() {
        for value in [
            json!({"content": []}),
            json!({}),
            json!({"_meta": {"a": 1}}),
        ] {
            assert_eq!(result(value.clone()), ToolResult::text(""), "{value}");
        }
        assert_eq!(
            result(json!({"content": [], "structuredContent": null})),
            ToolResult::ok(vec![Part::json(Value::Null)])
        );
    }

    #[test]
    fn an_unknown_block_becomes_data_and_does_not_hide_the_others() {
        let got = result(json!({"content": [
            {"type": "hologram", "rays": 3},
            {"type": "text", "text": "hi"},
        ]}));
        assert_eq!(
            got.parts,
            [
                Part::json(json!({"type": "hologram", "rays": 3})),
                Part::Text("hi".into())
            ]
        );
    }

    #[test]
    fn a_listing_leaves_out_what_is_no_tool_and_says_so() {
        let listed = vec![
            json!({"name": "a.b", "description": "one", "inputSchema": {"type": "object"},
                   "annotations": {"readOnlyHint": true, "title": "A b"}}),
            json!({"name": "broken"}),
            json!({"name": "a.b", "inputSchema": {"type": "object"}}),
        ];
        let listing = listing("s__", listed, Vec::new());
        assert_eq!(listing.tools.len(), 1);
        let tool = &listing.tools[0];
        assert_eq!(tool.definition.name(), "s__a_b");
        assert_eq!(tool.definition.title(), Some("A b"));
        assert_eq!(tool.hints.read_only, Some(true));
        assert_eq!((tool.original.as_str(), tool.mapped), ("a.b", true));
        assert_eq!(listing.warnings.len(), 3);
        assert!(listing.warnings[0].starts_with("the tool `broken` is left out"));
        assert_eq!(
            listing.warnings[1..],
            [
                "the tool `a.b` is known as `s__a_b`",
                "the tool `a.b` is listed twice; the first one counts"
            ]
        );
    }
}
