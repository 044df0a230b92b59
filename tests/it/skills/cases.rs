//! The case file of the specification, each line through the real path. The lines of `mcp.call`
//! need a server that is the program itself; its own tests run them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::deployment::SourceSettings;
use toolcrib::source::mcp::TransportSettings;
use toolcrib::source::skills::{Action, SkillsSettings, Template};
use toolcrib::tool::ToolResult;

use super::wire::{Reply, Wire, reply};
use super::{Case, call, nothing};

const CASES: &str = include_str!("../../fixtures/skills/cases.jsonl");

const DEPLOYMENT: &str = "\
resources:
  skills: {kind: tool.Source, impl: skills, settings: {dir: skills, mcp_servers_file: servers.yaml}}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: skills}}
";

/// A deployment over these files, with a server `sh` and the variables that cases set.
fn case(files: &[(&str, &str)], servers: &str, env: &Value) -> Case {
    let mut case = Case::new(files).deployment(DEPLOYMENT);
    std::fs::write(case.path().join("servers.yaml"), servers).unwrap();
    for (name, value) in env.as_object().into_iter().flatten() {
        case = case.env(name, value.as_str().unwrap());
    }
    case
}

fn over(files: &[(&str, &str)]) -> Case {
    let servers = "servers: [{name: sh, command: sh-mcp}]\n";
    case(files, servers, &json!({"TOKEN": "a-token"}))
}

fn settings(case: &Case) -> SkillsSettings {
    let loaded = case.load().unwrap_or_else(|problems| panic!("{problems}"));
    match &loaded.deployment.sources[0].settings {
        SourceSettings::Skills(settings) => settings.clone(),
        other => panic!("{other:?}"),
    }
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().unwrap().iter();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

/// Whether the case expects an error, which has these words in one of its lines.
fn fails(case: &Case, expected: &Value) -> bool {
    let Some(words) = expected.get("error_has").map(strings) else {
        return false;
    };
    let Err(problems) = case.load() else {
        panic!("it loads");
    };
    let lines: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
    let has_all = |line: &String| words.iter().all(|word| line.contains(word));
    assert!(lines.iter().any(has_all), "{words:?}: {lines:#?}");
    true
}

fn skill(text: &str, expected: &Value) {
    let case = over(&[("a.skill.yaml", text)]);
    if fails(&case, expected) {
        return;
    }
    let settings = settings(&case);
    let skill = &settings.library.skills[0];
    let tool = &skill.tools[0];
    for (key, value) in expected.as_object().unwrap() {
        let found = match key.as_str() {
            "append" => json!(skill.append),
            "tools" | "tool_names" => skill
                .tools
                .iter()
                .map(|tool| tool.definition.name())
                .collect(),
            "type" => json!(match tool.action {
                Action::Http(_) => "http",
                Action::Mcp { .. } => "mcp",
            }),
            "description" => json!(tool.definition.description()),
            "allowed_env" => json!(skill.required_env),
            "body" => match &tool.action {
                Action::Http(http) => http.body.as_ref().unwrap().as_written(),
                Action::Mcp { .. } => Value::Null,
            },
            "retry" => {
                let retry = tool.retry.unwrap();
                let seconds = |time: Duration| format!("{}s", time.as_secs_f64());
                json!({
                    "max_attempts": retry.max_attempts,
                    "base_delay": seconds(retry.base_delay),
                    "max_delay": seconds(retry.max_delay),
                })
            }
            other => panic!("nothing checks `{other}`"),
        };
        assert_eq!(found, *value, "{key}");
    }
}

fn toolset(text: &str, expected: &Value) {
    let tools = expected["tools"].as_array().unwrap().iter();
    let tools: Vec<String> = tools
        .map(|name| format!("{{name: {name}, http: {{url: 'http://x'}}}}"))
        .collect();
    let skill = format!("name: s\ntools: [{}]\n", tools.join(", "));
    let settings = settings(&over(&[("a.toolset.yaml", text), ("a.skill.yaml", &skill)]));
    assert_eq!(json!(settings.library.toolsets[0].tools), expected["tools"]);
}

fn load(files: &Value, expected: &Value) {
    let files: Vec<_> = files.as_object().unwrap().iter().collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str().unwrap()))
        .collect();
    let case = over(&files);
    if !fails(&case, expected) {
        let settings = settings(&case);
        assert_eq!(
            json!(settings.library.toolsets[0].tools),
            expected["toolset"]
        );
        assert_eq!(expected["ok"], true);
    }
}

fn resolve(input: &Value, expected: &Value) {
    let files: Vec<_> = input["files"].as_object().unwrap().iter().collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str().unwrap()))
        .collect();
    let settings = settings(&over(&files));
    let (skills, sets) = (strings(&input["skills"]), strings(&input["toolsets"]));
    let found = settings.library.resolve(&skills, &sets, &[]);
    let names: Vec<_> = found
        .found
        .iter()
        .map(|tool| tool.definition.name())
        .collect();
    assert_eq!((json!(names), found.unknown.len()), (expected.clone(), 0));
}

fn template(input: &Value, expected: &Value) {
    let parsed = Template::parse(input["t"].as_str().unwrap()).unwrap();
    let arguments = input["args"].as_object().cloned().unwrap_or_default();
    let variables = |name: &str| Some(input["env"].get(name)?.as_str()?.to_owned());
    match parsed.expand(&arguments, &variables) {
        Ok(text) => assert_eq!(Value::from(text), *expected),
        Err(error) => {
            let words = strings(&expected["error_has"]);
            let has = |word: &String| error.to_string().contains(word);
            assert!(words.iter().all(has), "{error}");
        }
    }
}

async fn http(input: &Value, expected: &Value) {
    let pairs: Vec<(&str, &str)> = input["headers"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    // Where the case has replies, its headers are theirs.
    let replies = input["replies"].as_array();
    let answers: Vec<Reply> = match replies {
        Some(statuses) => statuses
            .iter()
            .map(|status| reply(&format!("{status} Whatever"), &pairs, "ok"))
            .collect(),
        None => vec![reply("200 OK", &[], "ok")],
    };
    let wire = Wire::new(answers).await;
    let url = input["url"].as_str().unwrap_or("U/");
    let url = url
        .strip_prefix('U')
        .map_or(url.to_owned(), |path| format!("{}{path}", wire.url));
    let mut tool = json!({"name": "t", "http": {"url": url}});
    if replies.is_none() && input["headers"].is_object() {
        tool["http"]["headers"] = input["headers"].clone();
    }
    if input["retry"].is_object() {
        tool["retry"] = input["retry"].clone();
    }
    let text = json!({"name": "s", "tools": [tool]}).to_string();
    let case = case(
        &[("a.skill.yaml", &text)],
        "servers: [{name: sh, command: 'true'}]\n",
        &input["env"],
    );
    let runtime = case.start().await;
    let arguments = match &input["args"] {
        Value::Null => nothing(),
        given => given.clone(),
    };
    let result = call(&runtime, "t", arguments).await;
    runtime.shutdown().await;
    let seen = wire.requests();
    for (key, value) in expected.as_object().unwrap() {
        match key.as_str() {
            "request_target" => assert_eq!(*value, wire.only().target()),
            "error_has" => {
                let text = result.all_text();
                assert!(result.is_error(), "{text}");
                assert!(
                    strings(value).iter().all(|word| text.contains(word)),
                    "{text}"
                );
            }
            "sent" => assert_eq!(*value, !seen.is_empty()),
            "calls" => assert_eq!(*value, seen.len()),
            "content" => assert_eq!(result, ToolResult::text(value.as_str().unwrap())),
            "gaps_ms_at_least" => {
                let gaps = seen.windows(2).map(|pair| pair[1].at - pair[0].at);
                for (gap, least) in gaps.zip(value.as_array().unwrap()) {
                    assert!(
                        gap >= Duration::from_millis(least.as_u64().unwrap()),
                        "{gap:?}"
                    );
                }
            }
            "error_contains_secret" => {
                let secret = input["env"]["TOK"].as_str().unwrap();
                assert!(result.is_error());
                assert_eq!(*value, result.all_text().contains(secret));
            }
            other => panic!("nothing checks `{other}`"),
        }
    }
}

fn servers_file(text: &str, expected: &Value) {
    let skill = "name: s\nsystem_prompt_append: x\n";
    let settings = settings(&case(&[("a.skill.yaml", skill)], text, &Value::Null));
    let server = &settings.servers[0];
    let TransportSettings::Stdio { .. } = &server.settings.transport else {
        panic!("{server:?}");
    };
    let stored = server.stored.iter();
    let env: Vec<Value> = stored
        .map(|variable| {
            let (own, _) = variable.fallback.as_ref().unwrap();
            json!({"name": variable.name, "pass": variable.pass, "env": own})
        })
        .collect();
    let found = json!({"name": server.settings.name, "transport": "stdio", "env": env});
    assert_eq!(found, *expected);
}

#[tokio::test]
async fn every_case_of_the_specification_holds() {
    let mut run = BTreeSet::new();
    let mut elsewhere = Vec::new();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap().to_owned();
        // Names the case when something below fails; shown only then.
        eprintln!("{id}");
        let (input, expected) = (&case["in"], &case["expect"]);
        match case["area"].as_str().unwrap() {
            "skill.parse" => skill(input.as_str().unwrap(), expected),
            "toolset.parse" => toolset(input.as_str().unwrap(), expected),
            "load" => load(input, expected),
            "resolve" => resolve(input, expected),
            "template" => template(input, expected),
            "http" => http(input, expected).await,
            "mcp.config" => servers_file(input.as_str().unwrap(), expected),
            "mcp.call" => elsewhere.push(id.clone()),
            other => panic!("nothing runs `{other}`"),
        }
        assert!(run.insert(id));
    }
    assert_eq!(run.len(), 24);
    assert_eq!(elsewhere, ["M07", "M09"]);
}
