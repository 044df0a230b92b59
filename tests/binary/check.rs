//! `check`: every problem with its place, the exit codes, and which deployment is meant.

use serde_json::json;

use crate::place::{LAB, Place};

/// A prefix that ends in a letter is a warning (rule 8.1).
const WARNING: &str = "resources:
  real:
    kind: tool.Source
    impl: mcp
    settings:
      servers:
        - {name: a, transport: stdio, command: nowhere, prefix: fs}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: real}}
";

const WRONG: &str = "resources:
  lab:
    kind: tool.Source
    impl: sim
    settings: {sed: 1}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: labs}}
";

#[tokio::test]
async fn check_prints_every_problem_with_its_place_and_tells_by_its_exit_code() {
    let place = Place::new();
    place.write("good.yaml", LAB);
    place.write("warning.yaml", WARNING);
    place.write("wrong.yaml", WRONG);
    place.write("empty.yaml", "");
    let warning = place.run(&["check", "-c", "warning.yaml"]).await;
    let sentence = warning.stdout.lines().next().unwrap().to_owned();
    assert!(
        sentence.starts_with("warning.yaml:7:") && sentence.contains(": warning: "),
        "{sentence}"
    );
    let rows: [(&str, &[&str], i32, String); 7] = [
        (
            "valid",
            &["-c", "good.yaml"],
            0,
            "good.yaml: valid\n".into(),
        ),
        (
            "a warning",
            &["-c", "warning.yaml"],
            0,
            format!("{sentence}\nwarning.yaml: valid, 1 warning\n"),
        ),
        (
            "a warning, strictly",
            &["-c", "warning.yaml", "--strict"],
            2,
            format!("{sentence}\n1 warning\n"),
        ),
        (
            "two errors",
            &["-c", "wrong.yaml"],
            2,
            "wrong.yaml:5:16: unknown key `sed` (did you mean `seed`?)\n\
             wrong.yaml:6:59: there is no resource `labs` (did you mean `lab`?)\n2 errors\n"
                .into(),
        ),
        (
            "nothing in it",
            &["-c", "empty.yaml"],
            2,
            "empty.yaml:1:1: the file is empty; a deployment starts with `resources:`\n1 error\n"
                .into(),
        ),
        (
            "no file",
            &["-c", "nowhere.yaml"],
            2,
            "nowhere.yaml:1:1: the file does not exist\n1 error\n".into(),
        ),
        ("the demo", &[], 0, "demo: valid\n".into()),
    ];
    for (name, options, code, stdout) in rows {
        let ended = place.run(&[&["check"], options].concat()).await;
        assert_eq!(ended.stdout, stdout, "{name}");
        assert_eq!(ended.code, Some(code), "{name}");
        assert_eq!(ended.stderr, "", "{name}");
    }
}

#[tokio::test]
async fn the_problems_as_json_have_fixed_fields() {
    let place = Place::new();
    place.write("good.yaml", LAB);
    place.write("wrong.yaml", WRONG);
    let good = place.run(&["check", "--json", "-c", "good.yaml"]).await;
    assert_eq!(good.json(), json!({"ok": true, "problems": []}));
    let wrong = place.run(&["check", "--json", "-c", "wrong.yaml"]).await;
    assert_eq!(wrong.code, Some(2));
    assert_eq!(
        wrong.json(),
        json!({"ok": false, "problems": [
            {
                "severity": "error", "file": "wrong.yaml", "line": 5, "column": 16,
                "path": "resources.lab.settings.sed", "message": "unknown key `sed`",
                "suggestion": "seed",
            },
            {
                "severity": "error", "file": "wrong.yaml", "line": 6, "column": 59,
                "path": "resources.tools.deps.tool", "message": "there is no resource `labs`",
                "suggestion": "lab",
            },
        ]})
    );
}

#[tokio::test]
async fn the_deployment_is_the_first_of_those_that_are_there() {
    let file = |place: &Place, name: &str| place.write(name, LAB);
    let home = ".config/toolcrib/config.yaml";
    let place = Place::new();
    let said = async |place: &Place, options: &[&str]| {
        place.run(&[&["check"], options].concat()).await.stdout
    };
    assert_eq!(said(&place, &[]).await, "demo: valid\n");
    let personal = file(&place, home);
    assert_eq!(
        said(&place, &[]).await,
        format!("{}: valid\n", personal.display())
    );
    file(&place, "toolcrib.yaml");
    assert_eq!(said(&place, &[]).await, "toolcrib.yaml: valid\n");
    file(&place, "variable.yaml");
    let place = place.set("TOOLCRIB_CONFIG", "variable.yaml");
    assert_eq!(said(&place, &[]).await, "variable.yaml: valid\n");
    file(&place, "named.yaml");
    assert_eq!(
        said(&place, &["-c", "named.yaml"]).await,
        "named.yaml: valid\n"
    );
    let place = place.set("TOOLCRIB_CONFIG", "gone.yaml");
    assert_eq!(
        said(&place, &[]).await,
        "gone.yaml:1:1: the file does not exist\n1 error\n"
    );
}

#[tokio::test]
async fn the_shipped_deployments_are_valid_and_fit_the_schema() {
    use toolcrib::deployment::document::{Budget, Syntax, parse};
    let place = Place::new();
    let schema = place.run(&["schema"]).await;
    assert_eq!(schema.code, Some(0));
    let validator = jsonschema::validator_for(&schema.json()).unwrap();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../config");
    let mut files = vec![std::path::PathBuf::from(config).join("demo.yaml")];
    let examples = std::fs::read_dir(format!("{config}/examples")).unwrap();
    files.extend(examples.map(|file| file.unwrap().path()));
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let tree = parse(&text, Syntax::Yaml, Budget::default()).unwrap();
        let value = tree.unwrap().to_json();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(faults, Vec::<String>::new(), "{}", file.display());
    }
}
