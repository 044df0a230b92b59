//! Files of other clients.

use std::time::Duration;

use toolcrib::deployment::import::{Imported, import_file, import_text};
use toolcrib::deployment::{Loaded, SourceSettings, load_text};
use toolcrib::source::mcp::{ServerSettings, TransportSettings};

use super::{Variables, fixtures};

fn import(name: &str) -> Imported {
    import_file(&fixtures("clients").join(name), &Variables)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn servers(loaded: &Loaded) -> &[ServerSettings] {
    match &loaded.deployment.source("mcp").unwrap().settings {
        SourceSettings::Mcp(settings) => &settings.servers,
        other => panic!("{other:?}"),
    }
}

fn notes(imported: &Imported) -> Vec<String> {
    imported
        .notes
        .iter()
        .map(|note| format!("{}: {}", note.place, note.message))
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_claude_file_gives_its_servers_with_variables_and_defaults() {
    let imported = import("claude.json");
    assert_eq!(
        notes(&imported),
        [
            "6:65: `ROOT` is not set, so that its default stands here",
            "7:76: `OPENAI_API_KEY` looks like a secret; `${env:NAME}` would keep it out of the file",
            "8:7: `alwaysAllow` of `files` is not carried over",
            "10:122: `Accept` of `remote` is not carried over",
            "11:57: `old` is said to speak the old `sse` transport; it is tried by `http`",
            "12:5: `off` is switched off in this file and left out",
        ]
    );
    let loaded = imported.load(&Variables).unwrap();
    let servers = servers(&loaded);
    assert_eq!(
        servers
            .iter()
            .map(|server| server.name.as_str())
            .collect::<Vec<_>>(),
        ["files", "remote", "old"]
    );
    assert_eq!(
        servers[0].transport,
        TransportSettings::Stdio {
            command: "npx".into(),
            args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"]
                .map(str::to_owned)
                .into(),
            env: pairs(&[
                ("API_TOKEN", "api-token-value"),
                ("PORT", "8080"),
                ("OPENAI_API_KEY", "sk-plain-value-1234"),
            ]),
            cwd: None,
        }
    );
    assert_eq!(
        servers[1].transport,
        TransportSettings::Http {
            url: "https://mcp.example.com/mcp".into(),
            headers: pairs(&[("Authorization", "Bearer api-token-value")]),
            http_timeout: None,
        }
    );
    assert_eq!(
        loaded.secrets.mask("api-token-value sk-plain-value-1234"),
        "•••• ••••",
        "what looks like a secret in the file is masked as well"
    );
    assert_eq!(loaded.deployment.assemblies[0].sources, ["mcp"]);
    assert_eq!(loaded.notes.len(), 6);
}

#[test]
fn a_vs_code_file_has_comments_commas_and_inputs() {
    let imported = import("vscode.json");
    assert_eq!(
        notes(&imported),
        [
            "8:36: the other client asks for `github-token`; here it is the environment variable `GITHUB_TOKEN`",
            "10:76: `envFile` of `local` is not carried over",
        ]
    );
    let loaded = imported.load(&Variables).unwrap();
    let script = fixtures("clients").join("server.js").display().to_string();
    assert_eq!(
        servers(&loaded)
            .iter()
            .map(|server| server.transport.clone())
            .collect::<Vec<_>>(),
        [
            TransportSettings::Http {
                url: "https://api.githubcopilot.com/mcp/".into(),
                headers: pairs(&[("Authorization", "Bearer ghp-token-value")]),
                http_timeout: None,
            },
            TransportSettings::Stdio {
                command: "node".into(),
                args: vec![script],
                env: vec![],
                cwd: None,
            },
        ]
    );
}

#[test]
fn a_codex_file_is_taken_as_it_is_and_its_variables_by_name() {
    let imported = import("codex.toml");
    assert_eq!(
        notes(&imported),
        [
            "6:1: `startup_timeout_sec` of `docs` is not carried over",
            "17:14: `unused` is switched off in this file and left out",
        ]
    );
    let loaded = imported.load(&Variables).unwrap();
    let servers = servers(&loaded);
    assert_eq!(
        servers[0].transport,
        TransportSettings::Stdio {
            command: "docs-server".into(),
            args: vec!["--root".into(), "${HOME}".into()],
            env: pairs(&[("LEVEL", "debug")]),
            cwd: None,
        }
    );
    assert_eq!(
        servers[1].transport,
        TransportSettings::Http {
            url: "https://mcp.example.com/mcp".into(),
            headers: pairs(&[
                ("Authorization", "Bearer cloud-token-value"),
                ("X-Team", "ops"),
                ("X-Key", "cloud-key-value"),
            ]),
            http_timeout: Some(Duration::from_millis(45_500)),
        }
    );
    assert!(servers[1].required && !servers[0].required);
}

#[test]
fn the_printed_deployment_gives_the_same_servers() {
    for name in ["claude.json", "vscode.json", "codex.toml"] {
        let imported = import(name);
        let yaml = imported.to_yaml();
        let printed = load_text("printed.yaml", &yaml, &fixtures("clients"), &Variables)
            .unwrap_or_else(|problems| panic!("{name}: {problems}\n{yaml}"));
        let direct = imported.load(&Variables).unwrap();
        assert_eq!(servers(&printed), servers(&direct), "{name}");
        assert_eq!(
            printed.deployment.assemblies[0].sources,
            direct.deployment.assemblies[0].sources
        );
    }
}

#[test]
fn the_printed_deployment_keeps_variables_and_reads_well() {
    let text = r#"{"mcpServers": {"a b": {"command": "x", "args": ["-v", "true", "1"], "env": {"T": "${T}", "U": "$${x y}"}}}}"#;
    let imported = import_text("c.json", text, &fixtures("clients"), &Variables).unwrap();
    assert_eq!(
        imported.to_yaml(),
        r#"# from c.json
resources:
  mcp:
    kind: tool.Source
    impl: mcp
    settings:
      servers:
        - name: "a b"
          transport: stdio
          command: x
          args: ["-v", "true", "1"]
          env:
            T: "${env:T}"
            U: "$\\${x y}"
  tools:
    kind: tool.Assembly
    impl: memory
    deps:
      tool: mcp
"#
    );
}

#[test]
fn problems_have_the_places_of_the_other_file() {
    for (name, file, text, expected) in [
        (
            "not JSON",
            "a.json",
            "{\"mcpServers\": {]}",
            "a.json:1:17: not valid JSON: a key in double quotes was expected",
        ),
        (
            "not TOML",
            "a.toml",
            "[mcp_servers.a]\ncommand = x",
            "a.toml:2:11: not valid TOML: string values must be quoted, expected literal string",
        ),
        (
            "empty",
            "a.json",
            "",
            "a.json:1:1: no MCP servers found here; known are `mcpServers` and `servers` in JSON and `[mcp_servers.*]` in TOML",
        ),
        (
            "another file",
            "a.json",
            "{\"name\": \"x\"}",
            "a.json:1:1: no MCP servers found here; known are `mcpServers` and `servers` in JSON and `[mcp_servers.*]` in TOML",
        ),
        (
            "no servers",
            "a.json",
            "{\"mcpServers\": {}}",
            "a.json:1:1: there is no server here that could be used",
        ),
        (
            "all switched off",
            "a.toml",
            "[mcp_servers.a]\ncommand = \"x\"\nenabled = false",
            "a.toml:1:1: there is no server here that could be used",
        ),
        (
            "neither command nor url",
            "a.json",
            "{\"mcpServers\": {\n\"a\": {}, \"b\": {\"command\": \"x\"}}}",
            "a.json:2:6: the server `a` has neither `command` nor `url`",
        ),
        (
            "neither command nor url, TOML",
            "a.toml",
            "[mcp_servers.a]\nargs = []",
            "a.toml:1:14: the server `a` has neither `command` nor `url`",
        ),
        (
            "wrong type",
            "a.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n \"args\": \"-v\"}}}",
            "a.json:2:10: `args` must be a list, not the string `-v`",
        ),
        (
            "a server that is a string",
            "a.json",
            "{\"servers\": {\"a\": \"x\"}}",
            "a.json:1:19: the server `a` must be a map",
        ),
        (
            "a list of servers",
            "a.json",
            "{\"servers\": []}",
            "a.json:1:13: `servers` must be a map of servers",
        ),
        (
            "unset variable",
            "a.json",
            "{\"servers\": {\"a\": {\"command\": \"x\",\n \"env\": {\"T\": \"${NOT_SET}\"}}}}",
            "a.json:2:15: the environment variable `NOT_SET` is not set",
        ),
        (
            "bad address",
            "a.toml",
            "[mcp_servers.a]\nurl = \"mcp.example.com\"",
            "a.toml:2:7: `url` must start with `http://` or `https://`, not `mcp.example.com`",
        ),
    ] {
        let read = import_text(file, text, &fixtures("clients"), &Variables)
            .and_then(|imported| imported.load(&Variables));
        let problems = read.map(|_| ()).unwrap_err();
        assert!(
            problems.to_string().lines().any(|line| line == expected),
            "{name}: {problems}"
        );
    }
}

#[test]
fn an_unset_variable_does_not_keep_a_file_from_being_printed() {
    let text = "{\"servers\": {\"a\": {\"command\": \"x\", \"env\": {\"T\": \"${NOT_SET}\"}}}}";
    let imported = import_text("a.json", text, &fixtures("clients"), &Variables).unwrap();
    assert!(imported.to_yaml().contains("T: \"${env:NOT_SET}\""));
}
