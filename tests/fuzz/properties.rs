//! What holds for every template and every skill file. Shared by the fuzz targets and the tests.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use toolcrib::deployment::{
    EnvValue, Environment, Loaded, Problems, Severity, SourceSettings, Supplied, load_text,
};
use toolcrib::source::skills::{Action, BodyTemplate, Template, UrlTemplate, prepare};

/// A value that no message may show.
const SECRET: &str = "hunter2-is-secret";

const DEPLOYMENT: &str = "\
resources:
  skills: {kind: tool.Source, impl: skills, settings: {dir: skills}}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: skills}}
";

fn variables(name: &str) -> Option<String> {
    match name {
        "BASE" => Some("https://h:8443/api".to_owned()),
        "A" => Some(SECRET.to_owned()),
        "EMPTY" => Some(String::new()),
        "SCHEME" => Some("http:".to_owned()),
        _ => None,
    }
}

fn arguments(value: &str) -> Map<String, Value> {
    let value = json!({"a": value, "b": {"c": value, "d": [value, null]}, "n": 1e21, "t": true});
    value.as_object().cloned().unwrap_or_default()
}

/// A text as a template, filled with another.
pub(crate) fn template(text: &str, value: &str) {
    if let Ok(parsed) = Template::parse(text) {
        let printed = parsed.to_string();
        assert_eq!(Template::parse(&printed).as_ref(), Ok(&parsed), "{printed}");
        // Filled once: what a value holds is never filled again.
        if let Ok(filled) = parsed.expand(&arguments("{{env:A}}"), &|_| Some(String::new())) {
            assert!(!filled.contains(SECRET));
        }
    }
    if let Ok(url) = UrlTemplate::parse(text) {
        same_address(&url, value);
    }
    let _ = BodyTemplate::parse(&json!({"k": [text]}), &mut |path, error| {
        assert_eq!(path, ["k", "0"]);
        assert!(error.offset <= text.chars().count());
    });
}

/// Whatever an argument holds, the request goes to the same server and to a path of as many
/// segments as with a harmless one.
fn same_address(template: &UrlTemplate, value: &str) {
    let filled = |value: &str| {
        let url = template.expand(&arguments(value), &variables, &[]).ok()?;
        let url = url::Url::parse(&url).ok()?;
        // Nothing else is sent.
        matches!(url.scheme(), "http" | "https").then_some(url)
    };
    let (Some(harmless), Some(hostile)) = (filled("x"), filled(value)) else {
        return;
    };
    assert_eq!(harmless.origin(), hostile.origin(), "{hostile}");
    assert_eq!(harmless.username(), hostile.username());
    assert_eq!(harmless.password(), hostile.password());
    let segments = |url: &url::Url| url.path_segments().map(Iterator::count);
    assert_eq!(
        segments(&harmless),
        segments(&hostile),
        "{harmless} {hostile}"
    );
}

fn load(text: &str) -> Result<Loaded, Problems> {
    let secret = |value: &str| EnvValue {
        value: value.to_owned(),
        secret: true,
    };
    let set = HashMap::from([
        ("A".to_owned(), secret(SECRET)),
        ("BASE".to_owned(), secret("https://h:8443/api")),
    ]);
    let files = [
        ("a.skill.yaml", text),
        ("b.toolset.yaml", "name: set\ntools: [t]\n"),
    ];
    let nothing: [(&str, &str); 0] = [];
    let environment = Supplied::over(nothing, &set as &dyn Environment);
    let environment = environment.with_directory("/nowhere/skills", files);
    load_text(
        "deploy.yaml",
        DEPLOYMENT,
        Path::new("/nowhere"),
        &environment,
    )
}

/// A text as a skill file; whether it is one.
pub(crate) fn loader(text: &str) -> bool {
    let loaded = load(text);
    let is_skill = loaded.is_ok();
    match loaded {
        Err(problems) => {
            let errors = problems.0.iter();
            let mut errors = errors.filter(|problem| problem.severity == Severity::Error);
            assert!(errors.next().is_some(), "refused without a reason");
            // A lone carriage return ends a line of YAML too (YAML 1.2, 5.4).
            let breaks = text.replace("\r\n", "\n");
            let lines = breaks.matches(['\r', '\n']).count() + 2;
            for problem in &problems.0 {
                assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
                if &*problem.file == "skills/a.skill.yaml" {
                    assert!(problem.line as usize <= lines, "{problem}");
                }
                assert!(!problem.to_string().contains(SECRET), "{problem}");
            }
        }
        Ok(loaded) => {
            let SourceSettings::Skills(settings) = &loaded.deployment.sources[0].settings else {
                panic!("no skills");
            };
            // The toolset names it, so the file has it.
            assert!(settings.library.tool("t").is_some());
            for tool in settings.library.tools() {
                assert!(tool.definition.input_schema().is_object());
                if let Action::Http(http) = &tool.action {
                    let _ = prepare(http, &arguments("../x"), &variables, &|_| false)
                        .map(|request| assert!(!request.shown_url.contains(SECRET)));
                }
            }
        }
    }
    is_skill
}
