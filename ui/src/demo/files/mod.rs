//! `files`: a small project in memory, to read, search and change.

mod seed;
mod tree;

use std::sync::Mutex;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rmcp::model::{Resource, ResourceContents};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::server::{Answer, Client, Effect, Outcome, ToolSpec, Toolset};
use tree::{Listed, Tree};

/// What stands before a path in the address of a resource.
const SCHEME: &str = "files:///";

/// The most matches that one search gives.
const MOST_HITS: u32 = 100;

/// The server. Every process has a tree of its own; nothing touches a disk.
pub(super) struct Files(Mutex<Tree>);

impl Files {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Tree::new(seed::FILES)))
    }

    pub(super) fn len(&self) -> usize {
        self.tree().files().len()
    }

    fn tree(&self) -> std::sync::MutexGuard<'_, Tree> {
        // No change to the tree stops half way, so what a panic left is whole.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn answer(&self, tool: &str, arguments: &Arguments) -> Outcome {
        let mut tree = self.tree();
        let path = arguments.required_text("path")?;
        match tool {
            "list_directory" => {
                let listed = tree.list(path, arguments.flag("recursive")?)?;
                Ok(directory(&listed))
            }
            "read_file" => {
                let first = arguments.whole("first_line", 1, 1..=u32::MAX)?;
                let last = arguments.whole("last_line", u32::MAX, 1..=u32::MAX)?;
                if last < first {
                    return Err(format!("`last_line` {last} is before `first_line` {first}"));
                }
                lines(path, tree.read(path)?, first as usize, last as usize).map(Answer::text)
            }
            "write_file" => {
                let text = arguments.required_text("content")?;
                let there = tree.write(path, text)?;
                let done = if there { "replaced" } else { "created" };
                Ok(Answer::text(format!(
                    "{done} `{path}`, {} bytes",
                    text.len()
                )))
            }
            "append_file" => {
                let text = [tree.read(path)?, arguments.required_text("text")?].concat();
                tree.write(path, &text)?;
                Ok(Answer::text(format!(
                    "`{path}` now has {} bytes",
                    text.len()
                )))
            }
            "edit_file" => {
                let old = arguments.required_text("old_text")?;
                tree.edit(path, old, arguments.required_text("new_text")?)?;
                Ok(Answer::text(format!("changed `{path}`")))
            }
            "search_files" => {
                let limit = arguments.whole("limit", 20, 1..=MOST_HITS)? as usize;
                let query = arguments.required_text("query")?;
                // One more than asked for tells whether there are more.
                let mut hits = tree.search(query, path, limit + 1)?;
                let more = hits.len() > limit;
                hits.truncate(limit);
                let mut text: Vec<String> = hits
                    .iter()
                    .map(|hit| format!("{}:{}: {}", hit.path, hit.line, hit.text))
                    .collect();
                if text.is_empty() {
                    text.push(format!("nothing contains `{query}`"));
                } else if more {
                    text.push(format!("there are more than {limit}; raise `limit`"));
                }
                let hits: Vec<Value> = hits
                    .into_iter()
                    .map(|hit| json!({"path": hit.path, "line": hit.line, "text": hit.text}))
                    .collect();
                let value = json!({"hits": hits, "more": more});
                Ok(Answer::data(text.join("\n"), value))
            }
            "file_info" => {
                let text = tree.read(path)?;
                let (lines, characters) = (text.lines().count(), text.chars().count());
                let value = json!({
                    "path": path,
                    "bytes": text.len(),
                    "characters": characters,
                    "lines": lines,
                    "media_type": media_type(path),
                });
                let bytes = text.len();
                let summary =
                    format!("`{path}`: {bytes} bytes, {characters} characters, {lines} lines");
                Ok(Answer::data(summary, value))
            }
            "move_file" => {
                let to = arguments.required_text("to")?;
                tree.rename(path, to)?;
                Ok(Answer::text(format!("moved `{path}` to `{to}`")))
            }
            "delete_file" => {
                tree.delete(path)?;
                Ok(Answer::text(format!("deleted `{path}`")))
            }
            other => Err(format!("`{other}` is listed but not built")),
        }
    }
}

impl Toolset for Files {
    fn name(&self) -> &'static str {
        "files"
    }

    fn instructions(&self) -> &'static str {
        "A small project about a tide gauge, held in memory. Paths are relative to its root. \
         Changes last as long as this server runs."
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let path = |what: &str| json!({"type": "string", "description": what});
        let text = path;
        vec![
            ToolSpec {
                name: "list_directory",
                title: "List directory",
                description: "List the files and directories inside a directory, with sizes. \
                              Without a path: the root of the project.",
                effect: Effect::Reads,
                properties: json!({
                    "path": path("Directory, relative to the root; the root when absent"),
                    "recursive": {"type": "boolean", "description": "List everything below it as well"},
                }),
                required: &[],
            },
            ToolSpec {
                name: "read_file",
                title: "Read file",
                description: "Read a text file, whole or from one line to another.",
                effect: Effect::Reads,
                properties: json!({
                    "path": path("File to read"),
                    "first_line": {"type": "integer", "minimum": 1, "description": "First line, from 1"},
                    "last_line": {"type": "integer", "minimum": 1, "description": "Last line, included"},
                }),
                required: &["path"],
            },
            ToolSpec {
                name: "write_file",
                title: "Write file",
                description: "Create a file, or replace everything in it.",
                effect: Effect::Destroys,
                properties: json!({
                    "path": path("File to write"),
                    "content": text("The whole new text"),
                }),
                required: &["path", "content"],
            },
            ToolSpec {
                name: "edit_file",
                title: "Edit file",
                description: "Replace a piece of text in a file by another. The piece must stand \
                              there exactly once.",
                effect: Effect::Writes,
                properties: json!({
                    "path": path("File to change"),
                    "old_text": text("The text to replace, exactly as it stands there"),
                    "new_text": text("What to put in its place"),
                }),
                required: &["path", "old_text", "new_text"],
            },
            ToolSpec {
                name: "append_file",
                title: "Append to file",
                description: "Add text to the end of a file that exists.",
                effect: Effect::Writes,
                properties: json!({
                    "path": path("File to lengthen"),
                    "text": text("What to add; begin a new line with \\n"),
                }),
                required: &["path", "text"],
            },
            ToolSpec {
                name: "search_files",
                title: "Search in files",
                description: "Find the lines that contain a text, whatever its case, in all files \
                              or below one directory.",
                effect: Effect::Reads,
                properties: json!({
                    "query": text("Text to look for"),
                    "path": path("Only below this directory"),
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_HITS, "description": "Most lines to give, 20 when absent"},
                }),
                required: &["query"],
            },
            ToolSpec {
                name: "file_info",
                title: "File information",
                description: "Size, number of lines and media type of a file, without its text.",
                effect: Effect::Reads,
                properties: json!({"path": path("File to look at")}),
                required: &["path"],
            },
            ToolSpec {
                name: "move_file",
                title: "Move or rename file",
                description: "Move a file to another place or give it another name.",
                effect: Effect::Writes,
                properties: json!({
                    "path": path("File to move"),
                    "to": path("Its new path; nothing may be there yet"),
                }),
                required: &["path", "to"],
            },
            ToolSpec {
                name: "delete_file",
                title: "Delete file",
                description: "Delete a file for good.",
                effect: Effect::Destroys,
                properties: json!({"path": path("File to delete")}),
                required: &["path"],
            },
        ]
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Arguments,
        _: &'a Client,
    ) -> BoxFuture<'a, Outcome> {
        std::future::ready(self.answer(tool, &arguments)).boxed()
    }

    fn resources(&self) -> Option<Vec<Resource>> {
        let tree = self.tree();
        let resources = tree.files().map(|(path, text)| {
            Resource::new(format!("{SCHEME}{path}"), path)
                .with_mime_type(media_type(path))
                .with_size(text.len() as u64)
        });
        Some(resources.collect())
    }

    fn read(&self, uri: &str) -> Option<ResourceContents> {
        let path = uri.strip_prefix(SCHEME)?;
        let tree = self.tree();
        let text = tree.read(path).ok()?;
        Some(ResourceContents::text(text, uri).with_mime_type(media_type(path)))
    }
}

fn directory(listed: &[Listed]) -> Answer {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let lines: Vec<String> = listed
        .iter()
        .map(|entry| match entry {
            Listed::Directory { path, files } => {
                format!("{path}/  ({files} file{})", plural(*files))
            }
            Listed::File { path, bytes } => format!("{path}  {bytes} bytes"),
        })
        .collect();
    let entries: Vec<Value> = listed
        .iter()
        .map(|entry| match entry {
            Listed::Directory { path, files } => {
                json!({"type": "directory", "path": path, "files": files})
            }
            Listed::File { path, bytes } => json!({"type": "file", "path": path, "bytes": bytes}),
        })
        .collect();
    Answer::data(lines.join("\n"), json!({"entries": entries}))
}

fn lines(path: &str, text: &str, first: usize, last: usize) -> Result<String, String> {
    let count = text.lines().count();
    if first > count.max(1) {
        return Err(format!(
            "`{path}` has {count} lines; `first_line` is {first}"
        ));
    }
    if first == 1 && last >= count {
        return Ok(text.to_owned());
    }
    let wanted = text.split_inclusive('\n').skip(first - 1);
    Ok(wanted.take(last.saturating_add(1) - first).collect())
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => "text/markdown",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("yaml") => "application/yaml",
        Some("toml") => "application/toml",
        Some("py") => "text/x-python",
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests;
