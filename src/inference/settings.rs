//! The settings of models and loops, as the deployment file gives them (rules 11.1 to 11.4).

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

/// The settings of an `inference.Model`.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSettings {
    /// `impl: openai`.
    OpenAi(OpenAiSettings),
    /// `impl: scripted`.
    Scripted(ScriptedSettings),
}

/// An OpenAI-compatible `chat/completions` endpoint. There is no setting for `tool_choice`.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAiSettings {
    /// The address without `/chat/completions`.
    pub base_url: String,
    /// The name of the model.
    pub model: String,
    /// Sent as a bearer token; absent sends none.
    pub api_key: Option<String>,
    /// The bound of one request.
    pub timeout: Duration,
    /// Further headers of every request, in the order of the file.
    pub headers: Vec<(String, String)>,
    /// Further keys of the request body.
    pub extra: Map<String, Value>,
    /// How often a request is sent at most when transport faults, 429 or 5xx answer it.
    pub max_attempts: u32,
}

impl OpenAiSettings {
    /// The default of `timeout`: long enough for a slow model, short enough to notice a dead one.
    pub const TIMEOUT: Duration = Duration::from_secs(120);
    /// The default of `max_attempts` (rule 11.2).
    pub const MAX_ATTEMPTS: u32 = 2;
}

/// A model that plays replies and needs no network.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedSettings {
    /// Where the replies come from.
    pub script: Script,
}

/// Where scripted replies come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Script {
    /// `file`, already made absolute.
    File(PathBuf),
    /// `replies`, in the deployment file itself.
    Inline(Vec<Value>),
}

/// The settings of `agent.Loop`, `impl: rounds` (rule 11.3).
#[derive(Clone, Debug, PartialEq)]
pub struct RoundsSettings {
    /// The skills that it may use.
    pub skills: Vec<String>,
    /// The toolsets that it may use.
    pub toolsets: Vec<String>,
    /// The tools that it may use; `None` together with no skills and no toolsets means all.
    pub tools: Option<Vec<String>>,
    /// Names that are always sent.
    pub require: Vec<String>,
    /// The system prompt before the skills' appends.
    pub system_prompt: String,
    /// Values of `{{key}}` in the prompts; they go before the defaults of the skills.
    pub parameters: Vec<(String, String)>,
    /// Rounds per run; at least 1.
    pub tool_rounds: u32,
    /// What happens when the model names a tool that it was not sent.
    pub undefined_tool_recovery: RecoverySettings,
}

impl Default for RoundsSettings {
    fn default() -> Self {
        Self {
            skills: Vec::new(),
            toolsets: Vec::new(),
            tools: None,
            require: Vec::new(),
            system_prompt: String::new(),
            parameters: Vec::new(),
            tool_rounds: 5,
            undefined_tool_recovery: RecoverySettings::default(),
        }
    }
}

/// `undefined_tool_recovery` (rule 11.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
    /// Whether such a reply is asked for again.
    pub enabled: bool,
    /// How often in one run.
    pub max_per_run: u32,
    /// Whether a searchable tool of that name is admitted to the pool.
    pub expose: bool,
}

impl Default for RecoverySettings {
    fn default() -> Self {
        Self {
            enabled: false,
            max_per_run: 2,
            expose: false,
        }
    }
}
