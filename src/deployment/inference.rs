//! Reads the settings of models and loops (rules 11.1 to 11.4).

use super::document::{Field, Reading, Shape, Table, Value};
use super::mcp::check_headers;
use crate::inference::{
    OpenAiSettings, RecoverySettings, RoundsSettings, Script, ScriptedSettings,
};

/// The settings of `impl: openai`.
pub(super) static OPENAI: Table = Table {
    name: "openai",
    fields: &[
        Field::required(
            "base_url",
            Shape::Url,
            "The address, without /chat/completions.",
        ),
        Field::required("model", Shape::Name, "The name of the model."),
        Field::optional(
            "api_key",
            Shape::Text,
            "Sent as a bearer token (default: none).",
        ),
        Field::optional(
            "timeout",
            Shape::Duration { zero: false },
            "The bound of one request (default 2m).",
        ),
        Field::optional(
            "headers",
            Shape::Map(&Shape::Text),
            "Further headers of every request.",
        ),
        Field::optional(
            "extra",
            Shape::Object,
            "Further keys of the request body, such as temperature.",
        ),
        Field::optional(
            "max_attempts",
            Shape::Whole(1, 100),
            "How often a request is sent at most (default 2).",
        ),
    ],
};

/// The settings of `impl: scripted`.
pub(super) static SCRIPTED: Table = Table {
    name: "scripted",
    fields: &[
        Field::optional("file", Shape::File, "The file of replies."),
        Field::optional(
            "replies",
            Shape::List(&Shape::Any),
            "The replies, instead of a file.",
        ),
    ],
};

/// The settings of `impl: rounds`.
pub(super) static ROUNDS: Table = Table {
    name: "rounds",
    fields: &[
        Field::optional(
            "skills",
            Shape::List(&Shape::Name),
            "The skills that it may use.",
        ),
        Field::optional(
            "toolsets",
            Shape::List(&Shape::Name),
            "The toolsets that it may use.",
        ),
        Field::optional(
            "tools",
            Shape::List(&Shape::Name),
            "The tools that it may use (all three absent: every tool).",
        ),
        Field::optional(
            "require",
            Shape::List(&Shape::Name),
            "Names that are always sent.",
        ),
        Field::optional(
            "system_prompt",
            Shape::Text,
            "The system prompt; those of the skills are joined to it.",
        ),
        Field::optional(
            "parameters",
            Shape::Map(&Shape::Text),
            "Values for {{key}} in the prompts.",
        ),
        Field::optional(
            "tool_rounds",
            Shape::Whole(1, u32::MAX as i64),
            "Rounds per run (default 5).",
        ),
        Field::optional(
            "undefined_tool_recovery",
            Shape::Fields(&RECOVERY),
            "What happens when the model names a tool that it was not sent.",
        ),
    ],
};

static RECOVERY: Table = Table {
    name: "undefined_tool_recovery",
    fields: &[
        Field::optional(
            "enabled",
            Shape::Bool,
            "Whether such a reply is asked for again (default false).",
        ),
        Field::optional(
            "max_per_run",
            Shape::Whole(0, u32::MAX as i64),
            "How often in one run (default 2).",
        ),
        Field::optional(
            "expose",
            Shape::Bool,
            "Whether a searchable tool of that name is admitted (default false).",
        ),
    ],
};

/// Keys of a request that the loop writes itself.
const OWN_KEYS: [&str; 5] = ["model", "messages", "tools", "tool_choice", "stream"];

/// The settings of `impl: openai`.
pub(super) fn read_openai(reading: &Reading<'_>, settings: &Value<'_>) -> Option<OpenAiSettings> {
    reading.check(settings, &Shape::Fields(&OPENAI));
    let extra = settings.get("extra");
    for (key, place, value) in extra.iter().flat_map(|extra| extra.entries()) {
        if key == "tool_choice" {
            reading.error_at(
                place,
                &value.path,
                "`tool_choice` cannot be set: it is `auto` wherever tools are sent",
            );
        } else if OWN_KEYS.contains(&key) {
            reading.error_at(
                place,
                &value.path,
                format!("`{key}` cannot be set here: every request has its own"),
            );
        }
    }
    let headers = settings.get("headers");
    if let Some(headers) = &headers {
        check_headers(reading, headers, &[]);
    }
    Some(OpenAiSettings {
        base_url: settings.get("base_url")?.string()?,
        model: settings.get("model")?.string()?,
        api_key: settings
            .get("api_key")
            .and_then(|key| key.string())
            .filter(|key| !key.is_empty()),
        timeout: settings
            .get("timeout")
            .and_then(|timeout| timeout.duration())
            .unwrap_or(OpenAiSettings::TIMEOUT),
        headers: headers.map(|headers| headers.pairs()).unwrap_or_default(),
        extra: match extra.map(|extra| extra.json()) {
            Some(serde_json::Value::Object(extra)) => extra,
            _ => serde_json::Map::new(),
        },
        max_attempts: settings
            .get("max_attempts")
            .and_then(|attempts| u32::try_from(attempts.whole()?).ok())
            .unwrap_or(OpenAiSettings::MAX_ATTEMPTS),
    })
}

/// The settings of `impl: scripted`.
pub(super) fn read_scripted(
    reading: &Reading<'_>,
    settings: &Value<'_>,
) -> Option<ScriptedSettings> {
    reading.check(settings, &Shape::Fields(&SCRIPTED));
    let script = match (settings.get("file"), settings.get("replies")) {
        (Some(file), None) => Script::File(reading.existing(&file, "script")?),
        (None, Some(replies)) => Script::Inline(replies.items().iter().map(Value::json).collect()),
        (Some(_), Some(replies)) => {
            reading.error(
                &replies,
                "`replies` stand beside a `file`; only one can be played",
            );
            return None;
        }
        (None, None) => {
            reading.error(settings, "a scripted model needs a `file` or `replies`");
            return None;
        }
    };
    Some(ScriptedSettings { script })
}

/// The settings of `impl: rounds`; all of them have defaults.
pub(super) fn read_rounds(reading: &Reading<'_>, settings: Option<&Value<'_>>) -> RoundsSettings {
    let Some(settings) = settings else {
        return RoundsSettings::default();
    };
    reading.check(settings, &Shape::Fields(&ROUNDS));
    let defaults = RoundsSettings::default();
    let names = |key: &str| settings.get(key).map(|list| list.strings());
    let count = |map: Option<&Value<'_>>, key: &str| {
        map.and_then(|map| map.get(key))
            .and_then(|count| u32::try_from(count.whole()?).ok())
    };
    let recovery = settings.get("undefined_tool_recovery");
    let flag = |key: &str| {
        let flag = recovery.as_ref().and_then(|recovery| recovery.get(key));
        flag.and_then(|flag| flag.bool()) == Some(true)
    };
    RoundsSettings {
        skills: names("skills").unwrap_or_default(),
        toolsets: names("toolsets").unwrap_or_default(),
        tools: names("tools"),
        require: names("require").unwrap_or_default(),
        system_prompt: settings
            .get("system_prompt")
            .and_then(|prompt| prompt.string())
            .unwrap_or_default(),
        parameters: settings
            .get("parameters")
            .map(|parameters| parameters.pairs())
            .unwrap_or_default(),
        tool_rounds: count(Some(settings), "tool_rounds").unwrap_or(defaults.tool_rounds),
        undefined_tool_recovery: RecoverySettings {
            enabled: flag("enabled"),
            max_per_run: count(recovery.as_ref(), "max_per_run")
                .unwrap_or(defaults.undefined_tool_recovery.max_per_run),
            expose: flag("expose"),
        },
    }
}
