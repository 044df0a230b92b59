//! What skill and toolset files say, once they have been found valid (skills 2 to 4).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use super::body::BodyTemplate;
use super::template::Template;
use super::url::UrlTemplate;
use crate::tool::{Definition, Hints};

/// A place in a skill file, as `file:line`.
pub type DefinedAt = Arc<str>;

/// A skill: named tool policy.
#[derive(Clone, Debug)]
pub struct Skill {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: String,
    /// Its version, as written.
    pub version: Option<String>,
    /// What is added to the system prompt.
    pub append: Option<String>,
    /// Parameters of the prompt with their defaults; an empty default means "ask".
    pub parameters: Vec<(String, String)>,
    /// The only variables that its templates may read; `None` means those they mention.
    pub required_env: Option<BTreeSet<String>>,
    /// What is taken out of results for later prompts.
    pub extract: Vec<Extract>,
    /// Its tools, in order.
    pub tools: Vec<Arc<SkillTool>>,
    /// Where it stands.
    pub defined_at: DefinedAt,
}

/// Takes capture 1 of a pattern out of a tool's result.
#[derive(Clone, Debug)]
pub struct Extract {
    /// The tool.
    pub tool: String,
    /// The pattern, compiled with multi-line on.
    pub pattern: Regex,
    /// The parameter that it is stored in.
    pub store: String,
}

/// A toolset: names, in order.
#[derive(Clone, Debug)]
pub struct Toolset {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: String,
    /// The tools.
    pub tools: Vec<Arc<str>>,
    /// Where it stands.
    pub defined_at: DefinedAt,
}

/// A tool of a skill.
#[derive(Clone, Debug)]
pub struct SkillTool {
    /// Name, description and schema.
    pub definition: Definition,
    /// The skill that it belongs to.
    pub skill: Arc<str>,
    /// Where it stands.
    pub defined_at: DefinedAt,
    /// What a call does.
    pub action: Action,
    /// Where the body of a success is written, already resolved and inside the deployment.
    pub output_file: Option<PathBuf>,
    /// How often the same call runs in one session; `None` where the file does not say.
    pub max_repeats: Option<i64>,
    /// When a failed call is tried again; `None` where the file does not say.
    pub retry: Option<Retry>,
    /// The bound of one attempt.
    pub timeout: Duration,
    /// Declared effects.
    pub hints: Hints,
}

/// What a call does.
#[derive(Clone, Debug)]
pub enum Action {
    /// An HTTP request.
    Http(HttpTemplate),
    /// A call of an MCP server's tool.
    Mcp {
        /// The server.
        server: String,
        /// The tool's name at the server.
        tool: String,
    },
}

/// An HTTP request with placeholders.
#[derive(Clone, Debug)]
pub struct HttpTemplate {
    /// The method, in capitals.
    pub method: ::http::Method,
    /// The address.
    pub url: UrlTemplate,
    /// Headers, in the order of the file.
    pub headers: Vec<(::http::HeaderName, Template)>,
    /// Query values, in the order of the file.
    pub query: Vec<(String, Template)>,
    /// The body.
    pub body: Option<BodyTemplate>,
}

/// When a failed call is tried again (skills 5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Retry {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// The pause before the second attempt; doubles from there.
    pub base_delay: Duration,
    /// The longest pause.
    pub max_delay: Duration,
}

impl Retry {
    /// The default of `base_delay`.
    pub const BASE_DELAY: Duration = Duration::from_secs(1);
    /// The default of `max_delay`.
    pub const MAX_DELAY: Duration = Duration::from_secs(30);
}

impl HttpTemplate {
    /// Every template of the request: URL, headers, query, body.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        std::iter::once(self.url.template())
            .chain(self.headers.iter().map(|(_, value)| value))
            .chain(self.query.iter().map(|(_, value)| value))
            .chain(self.body.iter().flat_map(BodyTemplate::templates))
    }

    /// The schema of a tool that states none: a property without a type for each argument that
    /// is used, required when it stands in the URL path (skills 3).
    pub fn implied_schema(&self) -> Value {
        let mut properties = serde_json::Map::new();
        for template in self.templates() {
            for argument in template.arguments() {
                properties.insert(argument[0].clone(), Value::Object(serde_json::Map::new()));
            }
        }
        let required: Vec<&str> = self.url.path_arguments();
        let mut schema = serde_json::Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), properties.into());
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        Value::Object(schema)
    }
}
