//! MCP tools of skills and the servers file (skills 3 and 6).

use toolcrib::deployment::SourceSettings;
use toolcrib::source::mcp::TransportSettings;
use toolcrib::source::skills::{FileServer, StoredVariable};

use super::Case;

const TOOLS: &str = "name: s\ntools:\n  - name: t\n    type: mcp\n    mcp: {server: gh, tool: x}\n";

const WITH_SERVERS: &str = "\
resources:
  skills: {kind: tool.Source, impl: skills, settings: {dir: skills, mcp_servers_file: servers.yaml}}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: skills}}
";

fn case(servers: &str) -> Case {
    let case = Case::new(&[("a.skill.yaml", TOOLS)]).deployment(WITH_SERVERS);
    std::fs::write(case.path().join("servers.yaml"), servers).unwrap();
    case
}

fn servers(case: &Case) -> Vec<FileServer> {
    let loaded = case.load().unwrap_or_else(|problems| panic!("{problems}"));
    match &loaded.deployment.sources[0].settings {
        SourceSettings::Skills(settings) => settings.servers.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_line_is_split_as_a_shell_would_and_pass_is_kept_for_the_start() {
    let case = case(
        "servers:\n  - name: gh\n    command: gh-mcp --name 'a b' x\\ y\n    args: [z]\n    env:\n      \
         - {name: GITHUB_TOKEN, pass: github-pat, env: GH_PAT}\n      - {name: PLAIN, env: OWN}\n",
    )
    .env("OWN", "own-value");
    let found = servers(&case);
    let TransportSettings::Stdio {
        command, args, env, ..
    } = &found[0].settings.transport
    else {
        panic!("{found:?}");
    };
    assert_eq!(
        (command.as_str(), args.join("|").as_str()),
        ("gh-mcp", "--name|a b|x y|z")
    );
    assert_eq!(*env, [("PLAIN".to_owned(), "own-value".to_owned())]);
    let stored = StoredVariable {
        name: "GITHUB_TOKEN".into(),
        pass: "github-pat".into(),
        fallback: Some(("GH_PAT".into(), None)),
    };
    assert_eq!(found[0].stored, [stored]);
}

#[test]
fn wrong_servers_files_say_where() {
    for (claim, text, expected) in [
        (
            "quote",
            "servers:\n  - {name: gh, command: \"a 'b\"}\n",
            "servers.yaml:2:25: ",
        ),
        (
            "twice",
            "servers:\n  - {name: gh, command: a}\n  - {name: gh, command: b}\n",
            "servers.yaml:3:12: a server `gh` is there already, at 2:12",
        ),
        (
            "unset",
            "servers:\n  - {name: gh, command: a, env: [{name: T, env: NOPE}]}\n",
            "servers.yaml:2:34: the environment variable `NOPE` is not set",
        ),
        (
            "nothing",
            "servers:\n  - {name: gh, command: a, env: [{name: T}]}\n",
            "`T` needs `env` or `pass`",
        ),
        (
            "an option",
            "servers:\n  - {name: gh, command: a, env: [{name: T, pass: -c}]}\n",
            "servers.yaml:2:50: an entry of the password store that starts with `-`",
        ),
        (
            "unknown key",
            "servers:\n  - {name: gh, comand: a}\n",
            "unknown key `comand`",
        ),
        (
            "other transport",
            "servers:\n  - {name: gh, url: 'http://h/', args: [a]}\n",
            "`args` is a key of stdio servers",
        ),
    ] {
        let problems = case(text).problems();
        let found = problems.iter().any(|problem| problem.contains(expected));
        assert!(found, "{claim}: {problems:#?}");
    }
}
