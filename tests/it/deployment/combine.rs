//! Several things named at once.

use toolcrib::deployment::{Input, Loaded, SourceSettings, load_inputs};
use toolcrib::source::mcp::{McpSettings, TransportSettings};

use super::{Variables, fixtures};

fn load(inputs: &[Input]) -> Loaded {
    load_inputs(inputs, &Variables).unwrap_or_else(|problems| panic!("{problems}"))
}

fn deployment(text: &str) -> Input {
    Input::Text {
        name: "base.yaml".into(),
        text: text.into(),
        base_dir: fixtures("deployment"),
    }
}

fn command(words: &[&str]) -> Input {
    Input::Command(words.iter().map(|word| (*word).to_owned()).collect())
}

fn mcp<'l>(loaded: &'l Loaded, name: &str) -> &'l McpSettings {
    match &loaded.deployment.source(name).unwrap().settings {
        SourceSettings::Mcp(settings) => settings,
        other => panic!("{other:?}"),
    }
}

type Sources<'l> = Vec<(&'l str, u32)>;
type Assemblies<'l> = Vec<(&'l str, Vec<&'l str>)>;

/// Name and place of each source, and the sources of each assembly.
fn outline(loaded: &Loaded) -> (Sources<'_>, Assemblies<'_>) {
    let deployment = &loaded.deployment;
    let sources = deployment.sources.iter();
    let assemblies = deployment.assemblies.iter();
    (
        sources
            .map(|source| (source.name.as_str(), source.place))
            .collect(),
        assemblies
            .map(|spec| {
                (
                    spec.name.as_str(),
                    spec.sources.iter().map(String::as_str).collect(),
                )
            })
            .collect(),
    )
}

#[test]
fn one_server_alone_gives_its_tools_their_own_names() {
    let loaded = load(&[command(&[
        "npx",
        "-y",
        "@modelcontextprotocol/server-filesystem@1.2",
        "/tmp",
    ])]);
    let server = &mcp(&loaded, "mcp").servers[0];
    assert_eq!(
        (server.name.as_str(), server.prefix().as_str()),
        ("server-filesystem", "")
    );
    assert!(
        matches!(&server.transport, TransportSettings::Stdio { command, args, .. } if command == "npx" && args.len() == 3)
    );
    assert_eq!(outline(&loaded).1, [("tools", vec!["mcp"])]);
    let loaded = load(&[Input::Url("http://127.0.0.1:4102/mcp".into())]);
    let server = &mcp(&loaded, "mcp").servers[0];
    assert_eq!(
        (server.name.as_str(), server.prefix().as_str()),
        ("127.0.0.1:4102", "")
    );
}

#[test]
fn commands_are_called_after_what_they_run() {
    for (words, name) in [
        (&["./bin/server", "--x"][..], "server"),
        (&["node", "dist/index.js"], "index"),
        (&["python3", "-u", "server.py"], "server"),
        (&["uvx", "mcp-server-time"], "mcp-server-time"),
        (&["npx", "-y", "pkg@2"], "pkg"),
        (&["npx"], "npx"),
    ] {
        let loaded = load(&[command(words)]);
        assert_eq!(mcp(&loaded, "mcp").servers[0].name, name);
    }
}

#[test]
fn what_is_added_joins_every_assembly_and_stands_after_the_base() {
    let base = "resources:\n  a: {kind: tool.Assembly, impl: memory, deps: {tool: mcp}}\n  mcp: {kind: tool.Source, impl: sim}\n  b: {kind: tool.Assembly, impl: middleware, deps: {tool: mcp}}\n";
    let loaded = load(&[
        deployment(base),
        Input::Mcp(fixtures("clients/codex.toml")),
        Input::Url("https://mcp.example.com/mcp".into()),
    ]);
    assert_eq!(
        outline(&loaded),
        (
            vec![("mcp", 1), ("mcp-2", 3), ("mcp-3", 4)],
            vec![
                ("a", vec!["mcp", "mcp-2", "mcp-3"]),
                ("b", vec!["mcp", "mcp-2", "mcp-3"])
            ],
        )
    );
    assert_eq!(
        mcp(&loaded, "mcp-3").servers[0].prefix(),
        "mcp_example_com__"
    );
    assert_eq!(loaded.notes.len(), 2);
    assert_eq!(loaded.secrets.mask("cloud-token-value"), "••••");
    assert_eq!(loaded.files, [fixtures("clients/codex.toml")]);
    assert_eq!(
        &*loaded.deployment.origin.name,
        format!(
            "base.yaml + {} + https://mcp.example.com/mcp",
            fixtures("clients/codex.toml").display()
        )
    );
}

#[test]
fn a_base_without_an_assembly_gets_one() {
    let base = "resources:\n  tools: {kind: tool.Source, impl: sim}\n";
    let loaded = load(&[deployment(base), Input::Url("http://x/mcp".into())]);
    assert_eq!(
        outline(&loaded),
        (
            vec![("tools", 0), ("mcp", 1)],
            vec![("tools-2", vec!["tools", "mcp"])]
        )
    );
}

#[test]
fn secrets_of_a_later_input_are_kept() {
    let loaded = load(&[
        Input::Url("http://x/mcp".into()),
        Input::File(fixtures("deployment/servers.yaml")),
    ]);
    assert_eq!(loaded.secrets.mask("hunter2-hunter2"), "••••");
}

#[test]
fn the_problems_of_all_inputs_are_reported() {
    let problems = load_inputs(
        &[
            deployment("resources: {}"),
            Input::Url("mcp.example.com".into()),
            Input::Mcp("/nowhere/x.json".into()),
            command(&[]),
        ],
        &Variables,
    )
    .unwrap_err();
    let seen: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        seen,
        [
            "base.yaml:1:12: `resources` is empty; a deployment needs at least one",
            "--url:1:1: `mcp.example.com` is no address that starts with http:// or https://",
            "/nowhere/x.json:1:1: the file does not exist",
            "--:1:1: a command is needed after `--`",
        ]
    );
}
