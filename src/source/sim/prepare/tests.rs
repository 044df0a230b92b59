use std::path::PathBuf;

use super::super::settings::LazySettings;
use super::*;

fn tool(name: &str) -> SimTool {
    super::super::tests::tool(name, Behavior::default())
}

fn of(tools: Vec<SimTool>) -> Result<Prepared, SimError> {
    prepare(&SimSettings {
        tools: Some(tools),
        ..SimSettings::default()
    })
}

fn catalog_file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalog.jsonl");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

#[test]
fn a_padded_definition_has_exactly_the_size_asked_for_and_no_word_more() {
    for (name, description) in [
        ("plain", "works on apple"),
        ("empty", ""),
        ("escapes", "a \"quoted\"\n\u{1} line\\"),
        ("wide", "读取文件 – ünïcode 🚀"),
    ] {
        let bare = SimTool {
            description: description.into(),
            ..tool("t")
        };
        let least = of(vec![bare.clone()]).unwrap().tools[0].definition.bytes();
        for target in [least, least + 1, least + 2, 600, 601, 5000] {
            let padded = SimTool {
                pad_to_bytes: Some(target),
                ..bare.clone()
            };
            let definition = of(vec![padded]).unwrap().tools[0].definition.clone();
            assert_eq!(definition.bytes(), target, "{name}");
            assert_eq!(definition.wire_json().len(), target, "{name}");
            let padding = definition.description().strip_prefix(description).unwrap();
            assert!(padding.chars().all(|c| c == ' ' || c == '.'), "{name}");
        }
    }
}

#[test]
fn too_small_a_size_is_an_error_that_names_the_smallest() {
    let small = SimTool {
        pad_to_bytes: Some(10),
        ..tool("t")
    };
    assert_eq!(
        of(vec![tool("a"), small]).unwrap_err().to_string(),
        "tools[1].pad_to_bytes: the definition of `t` has 61 bytes already and cannot be made 10 bytes long; use 61 or more"
    );
}

#[test]
fn all_problems_are_reported_at_once_with_their_keys() {
    let deep = Behavior {
        error_rate: 1.5,
        ..Behavior::default()
    };
    let parts = Behavior {
        outcome: Outcome::Parts(vec![Behavior::default(), deep]),
        ..Behavior::default()
    };
    let huge = Behavior {
        outcome: Outcome::Image(usize::MAX),
        ..Behavior::default()
    };
    let tools = vec![
        tool("a"),
        SimTool {
            rate: Some(0.0),
            behavior: parts,
            ..tool("b")
        },
        SimTool {
            behavior: huge,
            ..tool("a")
        },
        tool(""),
        SimTool {
            input_schema: json!([]),
            ..tool("c")
        },
    ];
    let error = of(tools).unwrap_err();
    let seen: Vec<_> = error
        .problems
        .iter()
        .map(|problem| problem.place.to_string())
        .collect();
    assert_eq!(
        seen,
        [
            "tools[1].behavior.parts[1].error_rate",
            "tools[1].rate",
            "tools[2].name",
            "tools[2].behavior.image.bytes",
            "tools[3].name",
            "tools[4].input_schema",
        ]
    );
}

#[test]
fn names_that_a_provider_would_refuse_stay_and_are_warned_of() {
    let prepared = of(vec![tool("a.b"), tool("ok_-1"), tool(&"x".repeat(65))]).unwrap();
    assert_eq!(prepared.tools[0].definition.name(), "a.b");
    let seen: Vec<_> = prepared.warnings.iter().map(ToString::to_string).collect();
    let long = "x".repeat(65);
    assert_eq!(
        seen,
        [
            "tools[0].name: a model's provider may refuse the name `a.b`: `.` is not one of `A-Z a-z 0-9 _ -`".to_owned(),
            format!("tools[2].name: a model's provider may refuse the name `{long}`: it has 65 characters, more than 64"),
        ]
    );
}

#[test]
fn a_catalog_joins_the_listed_tools_and_may_not_repeat_them() {
    let (_dir, path) = catalog_file("{\"name\":\"x\",\"server\":\"s\"}\n{\"name\":\"a\"}\n");
    let settings = |tools| SimSettings {
        catalog: Some(path.clone()),
        tools,
        ..SimSettings::default()
    };
    let prepared = prepare(&settings(None)).unwrap();
    let seen: Vec<_> = prepared
        .tools
        .iter()
        .map(|tool| (tool.definition.name(), tool.server.as_deref()))
        .collect();
    assert_eq!(seen, [("x", Some("s")), ("a", None)]);
    let at = format!("{}:2", path.display());
    assert_eq!(prepared.tools[1].defined_at.as_deref(), Some(&*at));
    assert_eq!(
        prepare(&settings(Some(vec![tool("a")])))
            .unwrap_err()
            .to_string(),
        format!("{at}:1: `a` is defined at tools[0].name already")
    );
}

#[test]
fn a_lazy_tool_has_a_placeholder_with_an_open_schema() {
    let lazy = SimTool {
        input_schema: json!({"type": "object", "required": ["a"]}),
        lazy: Some(LazySettings {
            placeholder: "soon".into(),
            ..LazySettings::default()
        }),
        ..tool("t")
    };
    let prepared = of(vec![lazy]).unwrap();
    assert_eq!(
        prepared.tools[0].placeholder.as_ref().unwrap().wire_json(),
        r#"{"name":"t","description":"soon","inputSchema":{"type":"object"}}"#
    );
}

#[test]
fn without_settings_there_is_a_small_set_that_is_sound_and_described() {
    let prepared = prepare(&SimSettings::default()).unwrap();
    assert!((6..=10).contains(&prepared.tools.len()));
    assert_eq!(prepared.warnings, []);
    for tool in &prepared.tools {
        let schema = tool.definition.input_schema();
        assert!(tool.definition.description().len() > 30);
        assert!(jsonschema::validator_for(schema).is_ok());
        assert!(schema["properties"].is_object());
    }
}

#[test]
fn no_tools_and_no_catalog_are_no_tools() {
    assert!(of(vec![]).unwrap().tools.is_empty());
}
