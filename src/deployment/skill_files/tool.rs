//! Reads a tool of a skill (skills 3).

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::http::HTTP;
use super::texts::Comment;
use super::{File, Output};
use crate::deployment::document::{Field, Shape, Table, Value};
use crate::deployment::{EnvValue, HINTS, read_hints};
use crate::source::skills::{Action, Retry, SkillTool, Template, stays_inside};
use crate::tool::{Definition, doubtful_name};

/// The bound of one attempt where the file says nothing.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(super) static TOOL: Table = Table {
    name: "skill_tool",
    fields: &[
        Field::required("name", Shape::Name, "The name of the tool."),
        Field::optional("description", Shape::Text, "What it does, for the model."),
        Field::optional(
            "type",
            Shape::Choice(&["http", "mcp"]),
            "What a call does (default: http).",
        ),
        Field::optional(
            "output_file",
            Shape::Name,
            "Where the body of a success is written, relative to the deployment.",
        ),
        Field::optional(
            "max_repeats",
            Shape::Whole(-1, i64::MAX),
            "How often the same call runs in one session (default: once; -1: always).",
        ),
        Field::optional(
            "parameters",
            Shape::Object,
            "The JSON Schema of its arguments.",
        ),
        Field::optional(
            "retry",
            Shape::Fields(&RETRY),
            "When a call is tried again.",
        ),
        Field::optional(
            "timeout",
            Shape::Duration { zero: false },
            "The bound of one attempt, or of the call of an mcp tool (default: 30s).",
        ),
        Field::optional("hints", Shape::Fields(&HINTS), "Declared effects."),
        Field::optional("http", Shape::Fields(&HTTP), "The request of an http tool."),
        Field::optional("mcp", Shape::Fields(&MCP), "The call of an mcp tool."),
    ],
};

static RETRY: Table = Table {
    name: "retry",
    fields: &[
        Field::optional(
            "max_attempts",
            Shape::Whole(1, 100),
            "Attempts in all, the first included (default: 1).",
        ),
        Field::optional(
            "base_delay",
            Shape::Duration { zero: true },
            "The pause before the second attempt; doubles from there (default: 1s).",
        ),
        Field::optional(
            "max_delay",
            Shape::Duration { zero: true },
            "The longest pause (default: 30s).",
        ),
    ],
};

static MCP: Table = Table {
    name: "skill_mcp",
    fields: &[
        Field::required("server", Shape::Name, "The server."),
        Field::required("tool", Shape::Name, "The tool's name at the server."),
    ],
};

impl File<'_, '_, '_> {
    pub(super) fn read_tool(
        &mut self,
        value: &Value<'_>,
        skill: &Arc<str>,
        allowed: Option<&BTreeSet<String>>,
    ) -> Option<SkillTool> {
        let name = value.get("name")?;
        let text = name.string()?;
        let here = self.full_place(name.place());
        if let Some(first) = self.directory.tools.get(&text) {
            let message = format!("the tool `{text}` is there already, at {first}");
            self.reading.error(&name, message);
            return None;
        }
        self.directory.tools.insert(text.clone(), here);
        if let Some(message) = doubtful_name(&text) {
            self.reading.warn(&name, message);
        }
        if let Some(description) = value.get("description") {
            self.cut_by_comment(&description, Comment::Any);
        }
        let (action, implied) = self.action(value, allowed)?;
        let action_is_http = matches!(action, Action::Http(_));
        let parameters = value.get("parameters");
        if parameters.as_ref().is_some_and(|schema| !schema.is_map()) {
            return None; // reported by the shape
        }
        let schema = parameters.as_ref().map(|schema| schema.json());
        if let (Some(value), Some(schema)) = (&parameters, &schema)
            && let Err(error) = jsonschema::meta::validate(schema)
        {
            let message = format!(
                "`parameters` is no valid JSON Schema at `{}`: {error}; nothing can check \
                 arguments against it",
                error.instance_path()
            );
            self.reading.warn(value, message);
        }
        let description = value.get("description").and_then(|text| text.string());
        let definition = Definition::new(
            text,
            description.unwrap_or_default(),
            schema
                .or(implied)
                .unwrap_or_else(|| json!({"type": "object"})),
        );
        let hints = value
            .get("hints")
            .map(|hints| read_hints(&hints))
            .unwrap_or_default();
        Some(SkillTool {
            definition: match definition {
                Ok(definition) => definition,
                Err(error) => {
                    self.reading.error(value, error.to_string());
                    return None;
                }
            },
            skill: Arc::clone(skill),
            defined_at: self.defined_at(name.place()),
            action,
            output_file: self.output_file(value),
            max_repeats: value.get("max_repeats").and_then(|count| count.whole()),
            retry: value
                .get("retry")
                .map(|retry| self.retry(&retry, action_is_http)),
            timeout: value
                .get("timeout")
                .and_then(|timeout| timeout.duration())
                .unwrap_or(TIMEOUT),
            hints,
        })
    }

    /// What a call does, and the schema that follows from it.
    fn action(
        &mut self,
        value: &Value<'_>,
        allowed: Option<&BTreeSet<String>>,
    ) -> Option<(Action, Option<serde_json::Value>)> {
        let kind = value
            .get("type")
            .and_then(|kind| kind.text())
            .unwrap_or("http");
        let other = if kind == "http" { "mcp" } else { "http" };
        if let Some(stray) = value.get(other) {
            let message = format!("`{other}` is a key of {other} tools; the type here is `{kind}`");
            self.reading.error(&stray, message);
        }
        let Some(settings) = value.get(kind) else {
            let message = format!("a tool of the type `{kind}` needs `{kind}`");
            self.reading.error(value, message);
            return None;
        };
        if kind == "http" {
            let request = self.request(&settings, allowed)?;
            let implied = request.implied_schema();
            return Some((Action::Http(request), Some(implied)));
        }
        let server = settings.get("server")?;
        let name = server.string()?;
        let known = self.directory.servers;
        if let Some(known) = known.filter(|known| !known.contains(&name)) {
            let known = known.iter().map(String::as_str);
            self.reading.unknown(
                server.place(),
                &server.path,
                format!(
                    "no MCP server is named `{name}` in the `mcp` dependencies or the servers file"
                ),
                &name,
                known,
            );
        }
        let action = Action::Mcp {
            server: name,
            tool: settings.get("tool")?.string()?,
        };
        Some((action, None))
    }

    /// When a call is tried again.
    fn retry(&self, value: &Value<'_>, is_http: bool) -> Retry {
        let duration = |key: &str| value.get(key).and_then(|value| value.duration());
        let attempts = value.get("max_attempts").and_then(|count| count.whole());
        if !is_http {
            self.reading.warn(
                value,
                "`retry` is for http tools; a call of an MCP server's tool is not tried again",
            );
        } else if attempts.is_none() && value.is_map() {
            self.reading.warn(
                value,
                "`retry` without `max_attempts` allows one attempt, not even a second one after \
                 a rate limit",
            );
        }
        Retry {
            max_attempts: attempts
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(1),
            base_delay: duration("base_delay").unwrap_or(Retry::BASE_DELAY),
            max_delay: duration("max_delay").unwrap_or(Retry::MAX_DELAY),
        }
    }

    /// A file below the deployment, so that a skill cannot overwrite an operator's files.
    fn output_file(&mut self, value: &Value<'_>) -> Option<PathBuf> {
        let file = value.get("output_file")?;
        let text = file.text()?;
        let inside = !text.starts_with('~')
            && Path::new(text)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let names_file = Path::new(text).file_name().is_some() && !text.ends_with('/');
        if !inside || !names_file {
            self.reading.error(
                &file,
                format!(
                    "`{text}` must be a file below the deployment's directory, without `..`, `~` \
                     or a leading `/`"
                ),
            );
            return None;
        }
        let base = self.reading.base_dir();
        let path: PathBuf = base.join(text).components().collect();
        // A base that is not there yet holds no links either.
        if let Ok(false) = stays_inside(base, &path) {
            let message =
                format!("a link on the way to `{text}` leads out of the deployment's directory");
            self.reading.error(&file, message);
            return None;
        }
        self.directory.outputs.push(Output {
            file: Arc::clone(self.reading.file()),
            place: file.place(),
            at: file.path.clone(),
            path: path.clone(),
            written: text.to_owned(),
        });
        Some(path)
    }

    /// Keeps the value of a variable that is used, as a secret.
    pub(super) fn keep_variable(&mut self, name: &str, found: EnvValue) {
        if found.secret {
            self.reading.secrets().add(&found.value);
        } else {
            self.directory.open_variables.insert(name.to_owned());
        }
        self.directory
            .variables
            .insert(name.to_owned(), found.value);
    }

    /// Notes the variables of a template: allowed or not, set or not yet (skills 5.4).
    pub(super) fn note_variables(
        &mut self,
        value: &Value<'_>,
        template: &Template,
        allowed: Option<&BTreeSet<String>>,
    ) {
        for name in template.variables() {
            if let Some(allowed) = allowed.filter(|allowed| !allowed.contains(name)) {
                self.reading.unknown(
                    value.place(),
                    &value.path,
                    format!("`{name}` is not in `required_env`, and only those may be read"),
                    name,
                    allowed.iter().map(String::as_str),
                );
            } else if let Some(found) = self.reading.variable(name) {
                self.keep_variable(name, found);
            }
        }
    }
}
