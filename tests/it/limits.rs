//! The limits of results (rules 9.4 and 9.5) from the deployment file to the result of a call: each
//! line of `tests/fixtures/middleware/result_limit.jsonl` is a tool, a chain and what comes out.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib::deployment::{ProcessEnvironment, load_text};
use toolcrib::runtime::{Options, Runtime};
use toolcrib::tool::{Call, Part};

/// `x*3` stands for `xxx` in the strings of the file.
fn spelled_out(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let repeated = text.split_once('*').and_then(|(unit, times)| {
                let times: usize = times.parse().ok()?;
                Some(unit.repeat(times))
            });
            repeated.unwrap_or_else(|| text.clone()).into()
        }
        Value::Array(items) => items.iter().map(spelled_out).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), spelled_out(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

#[tokio::test]
async fn every_line_of_the_cases_comes_out_as_it_says() {
    let file = "tests/fixtures/middleware/result_limit.jsonl";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let mut checked = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        let behavior = json!({"parts": spelled_out(&case["parts"])});
        let deployment = json!({"resources": {
            "lab": {"kind": "tool.Source", "impl": "sim", "settings": {
                "tools": [{"name": "t", "behavior": behavior}],
            }},
            "tools": {"kind": "tool.Assembly", "impl": "middleware", "deps": {"tool": "lab"},
                "settings": {"middlewares": case["middlewares"]},
            },
        }});
        let text = deployment.to_string();
        let loaded = load_text("case.json", &text, ".".as_ref(), &ProcessEnvironment).unwrap();
        let runtime = Runtime::start(&loaded.deployment, Options::default());
        let runtime = runtime.await.unwrap();
        let call = Call::new("t", json!({}));
        let result = runtime.control().call(call).await.unwrap().result;
        runtime.shutdown().await;

        let texts = result.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            _ => None,
        });
        let text: String = texts.collect();
        let kinds: Vec<_> = result.parts.iter().map(Part::kind).collect();
        assert!(result.truncated, "{id}");
        for (name, expected) in case["expect"].as_object().unwrap() {
            let holds = match name.as_str() {
                "text_len" => json!(text.chars().count()) == *expected,
                "text_max_len" => text.chars().count() as u64 <= expected.as_u64().unwrap(),
                "text" => json!(text) == *expected,
                "ends_with" => text.ends_with(expected.as_str().unwrap()),
                "kinds" => json!(kinds) == *expected,
                "is_error" => json!(result.is_error()) == *expected,
                unknown => panic!("{id} expects `{unknown}`, which nothing checks"),
            };
            assert!(holds, "{id}: {name} {expected}, but {kinds:?} {text:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 17, "every expectation of every line");
}
