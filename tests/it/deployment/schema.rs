//! The schema for editors agrees with the reader.

use serde_json::Value;
use toolcrib::deployment::document::{Budget, Syntax, parse};
use toolcrib::deployment::{load_text, schema};

use super::{Variables, fixtures};

fn tree(text: &str, name: &str) -> Value {
    parse(text, Syntax::of(name), Budget::default())
        .unwrap()
        .unwrap()
        .to_json()
}

fn validator() -> jsonschema::Validator {
    let schema = schema();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn every_deployment_that_loads_is_valid() {
    let validator = validator();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for dir in [
        fixtures("deployment"),
        root.join("config"),
        root.join("config/examples"),
    ] {
        let Ok(files) = std::fs::read_dir(&dir) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            let name = path.display().to_string();
            if !name.ends_with(".yaml") && !name.ends_with(".json") {
                continue;
            }
            let mut deployment = tree(&std::fs::read_to_string(&path).unwrap(), &name);
            if deployment.get("resources").is_none() {
                continue;
            }
            // A scenario has a deployment beside its rounds.
            if let Value::Object(map) = &mut deployment {
                map.remove("rounds");
            }
            let errors: Vec<_> = validator
                .iter_errors(&deployment)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{name}: {errors:#?}");
            seen += 1;
        }
    }
    assert!(seen >= 9);
}

#[test]
fn what_the_reader_refuses_by_shape_the_schema_refuses_as_well() {
    let validator = validator();
    for (name, resource) in [
        ("unknown kind", "{kind: tool.Sorce, impl: sim}"),
        ("impl of another kind", "{kind: tool.Source, impl: memory}"),
        ("no impl", "{kind: tool.Source}"),
        ("unknown key", "{kind: tool.Source, impl: sim, x: 1}"),
        (
            "unknown setting",
            "{kind: tool.Source, impl: sim, settings: {x: 1}}",
        ),
        ("no settings", "{kind: tool.Source, impl: mcp}"),
        (
            "no servers",
            "{kind: tool.Source, impl: mcp, settings: {servers: []}}",
        ),
        (
            "key of the other transport",
            "{kind: tool.Source, impl: mcp, settings: {servers: [{name: a, transport: stdio, command: c, url: \"http://x\"}]}}",
        ),
        (
            "no command",
            "{kind: tool.Source, impl: mcp, settings: {servers: [{name: a, transport: stdio}]}}",
        ),
        (
            "bare number as a duration",
            "{kind: tool.Source, impl: mcp, settings: {liveness: 30, servers: [{name: a, transport: stdio, command: c}]}}",
        ),
        (
            "address",
            "{kind: tool.Source, impl: mcp, settings: {servers: [{name: a, transport: http, url: x}]}}",
        ),
        (
            "two ends",
            "{kind: tool.Source, impl: sim, settings: {tools: [{name: a, behavior: {hang: {}, echo: {}}}]}}",
        ),
        (
            "dep of what has none",
            "{kind: tool.Source, impl: sim, deps: {tool: x}}",
        ),
        ("no source", "{kind: tool.Assembly, impl: memory}"),
        (
            "layers of memory",
            "{kind: tool.Assembly, impl: memory, deps: {tool: s}, settings: {middlewares: {}}}",
        ),
        (
            "mode",
            "{kind: tool.Assembly, impl: memory, deps: {tool: s}, settings: {dynamic: {exposures: {a: x}}}}",
        ),
        (
            "tool_search",
            "{kind: tool.Assembly, impl: memory, deps: {tool: s}, settings: {dynamic: {exposures: {tool_search: direct}}}}",
        ),
        (
            "negative",
            "{kind: tool.Assembly, impl: memory, deps: {tool: s}, settings: {dynamic: {budget: {max_bytes: -1}}}}",
        ),
        (
            "limit of nothing",
            "{kind: tool.Assembly, impl: middleware, deps: {tool: s}, settings: {middlewares: {result_limit: {max: 0}}}}",
        ),
        (
            "two scripts",
            "{kind: inference.Model, impl: scripted, settings: {file: replies.yaml, replies: []}}",
        ),
    ] {
        let text = format!("resources:\n  s: {{kind: tool.Source, impl: sim}}\n  x: {resource}\n");
        assert!(!validator.is_valid(&tree(&text, "f.yaml")), "{name}");
        let read = load_text("f.yaml", &text, &fixtures("deployment"), &Variables);
        assert!(read.is_err(), "{name}");
    }
}
