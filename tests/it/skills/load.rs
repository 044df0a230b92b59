//! Loading: all problems of all files together, look-ups, and files that strict YAML and a
//! careless reader understand differently (skills 1 to 4).

use serde_json::json;
use toolcrib::deployment::SourceSettings;
use toolcrib::source::skills::{Action, SkillsSettings};

use super::Case;

const TOOL: &str = "tools: [{name: x, http: {url: 'http://x'}}]\n";

const WITH_SERVER: &str = "\
resources:
  skills: {kind: tool.Source, impl: skills, settings: {dir: skills, mcp_servers_file: servers.yaml}}
  tools: {kind: tool.Assembly, impl: memory, deps: {tool: skills}}
";

fn settings(case: &Case) -> SkillsSettings {
    let loaded = case.load().unwrap_or_else(|problems| panic!("{problems}"));
    match &loaded.deployment.sources[0].settings {
        SourceSettings::Skills(settings) => settings.clone(),
        other => panic!("{other:?}"),
    }
}

fn names(settings: &SkillsSettings) -> Vec<String> {
    let tools = settings.tools.iter();
    tools
        .map(|tool| tool.definition.name().to_owned())
        .collect()
}

#[test]
fn block_texts_keep_their_lines_and_a_tool_is_http_by_default() {
    let text = "name: s\nsystem_prompt_append: |\n  line1\n    sub\n\n  # kept\n  tools:\n  - no\n\
                tools:\n  - name: a\n    description: |\n      Long text\n      more\n    \
                http:\n      url: http://x\n";
    let settings = settings(&Case::new(&[("a.skill.yaml", text)]));
    let skill = &settings.library.skills[0];
    let append = skill.append.as_deref();
    assert_eq!(append, Some("line1\n  sub\n\n# kept\ntools:\n- no\n"));
    assert_eq!(skill.tools[0].definition.description(), "Long text\nmore\n");
    assert!(matches!(skill.tools[0].action, Action::Http(_)));
    assert_eq!(&*skill.tools[0].defined_at, "skills/a.skill.yaml:10");
}

#[test]
fn a_tool_without_parameters_gets_a_schema_from_its_templates() {
    let text = "name: s\ntools:\n  - name: a\n    http:\n      url: http://h/{{.p}}?q={{.q}}\n      \
                headers: {X-A: '{{.h.deep}}'}\n      query: {n: '{{.n}}'}\n      body: {{.b}}\n";
    let settings = settings(&Case::new(&[("a.skill.yaml", text)]));
    assert_eq!(
        *settings.tools[0].definition.input_schema(),
        json!({
            "type": "object",
            "properties": {"p": {}, "q": {}, "h": {}, "n": {}, "b": {}},
            "required": ["p"],
        })
    );
    let Action::Http(http) = &settings.tools[0].action else {
        panic!()
    };
    assert_eq!(http.method, "POST", "there is a body");
}

#[test]
fn a_toolset_may_come_before_the_skill_of_its_tools() {
    let files = [
        ("a.toolset.yaml", "name: t\ntools: [x]\n"),
        ("z.skill.yaml", &format!("name: s\n{TOOL}")),
    ];
    let settings = settings(&Case::new(&files));
    let set = settings.library.toolset("t").unwrap();
    assert_eq!(set.tools, ["x".into()]);
}

#[test]
fn lists_choose_skills_then_toolsets_then_names_each_tool_once() {
    let tool = |name: &str| format!("{{name: {name}, http: {{url: 'http://x'}}}}");
    let s1 = format!("name: s1\ntools: [{}, {}]\n", tool("b"), tool("a"));
    let s2 = format!(
        "name: s2\ntools: [{}, {}, {}]\n",
        tool("d"),
        tool("c"),
        tool("e")
    );
    let case = Case::new(&[
        ("a.toolset.yaml", "name: t1\ntools: [c, a, d]\n"),
        ("y.skill.yaml", &s1),
        ("z.skill.yaml", &s2),
    ])
    .deployment(
        "resources:\n  skills:\n    kind: tool.Source\n    impl: skills\n    settings: {dir: \
         skills, skills: [s1], toolsets: [t1], tools: [e, b]}\n  tools: {kind: tool.Assembly, \
         impl: memory, deps: {tool: skills}}\n",
    );
    assert_eq!(names(&settings(&case)), ["b", "a", "c", "d", "e"]);
}

#[test]
fn every_mistake_is_found_at_its_place() {
    let skill = |rest: &str| format!("name: s\ntools:\n  - name: a\n{rest}");
    let url = "    http:\n      url: http://x\n";
    for (claim, file, text, expected) in [
        (
            "max_repeats",
            "a.skill.yaml",
            skill(&format!("    max_repeats: two\n{url}")),
            &["skills/a.skill.yaml:4:18: ", "`max_repeats`", "two"][..],
        ),
        (
            "max_repeats below -1",
            "a.skill.yaml",
            skill(&format!("    max_repeats: -2\n{url}")),
            &[":4:18: ", "-1 or more"],
        ),
        (
            "unknown key",
            "a.skill.yaml",
            skill("    http:\n      uri: http://x\n"),
            &[":5:7: unknown key `uri` (did you mean `url`?)"],
        ),
        (
            "no url",
            "a.skill.yaml",
            skill("    http: {method: GET}\n"),
            &["`url` is missing"],
        ),
        (
            "no request",
            "a.skill.yaml",
            skill("    description: d\n"),
            &["needs `http`"],
        ),
        (
            "both",
            "a.skill.yaml",
            skill(&format!("{url}    mcp: {{server: s, tool: t}}\n")),
            &["`mcp` is a key of mcp tools"],
        ),
        (
            "template",
            "a.skill.yaml",
            skill("    http:\n      url: http://x/{{name}}\n"),
            &[":5:21: `{{name}}` is no placeholder"],
        ),
        (
            "unclosed",
            "a.skill.yaml",
            skill("    http:\n      url: 'http://x/{{.a'\n"),
            &[":5:22: `{{` is never closed"],
        ),
        (
            "host",
            "a.skill.yaml",
            skill("    http:\n      url: http://{{.h}}/\n"),
            &[":5:19: ", "scheme, host or port"],
        ),
        (
            "body",
            "a.skill.yaml",
            skill(&format!(
                "{url}      body:\n        k: [1, 'a {{{{x}}}}']\n"
            )),
            &[":7:19: `{{x}}` is no placeholder"],
        ),
        (
            "header",
            "a.skill.yaml",
            skill(&format!("{url}      headers: {{'a b': c}}\n")),
            &["`a b` cannot be the name of a header"],
        ),
        (
            "method",
            "a.skill.yaml",
            skill(&format!("{url}      method: 'G T'\n")),
            &["`G T` is no method"],
        ),
        (
            "output outside",
            "a.skill.yaml",
            skill(&format!("    output_file: ../x\n{url}")),
            &[":4:18: `../x` must be a file below"],
        ),
        (
            "output over a skill file",
            "a.skill.yaml",
            skill(&format!("    output_file: skills/next.skill.yaml\n{url}")),
            &[":4:18: `skills/next.skill.yaml` is a file that the deployment is read from"],
        ),
        (
            "output over the deployment",
            "a.skill.yaml",
            skill(&format!("    output_file: ./deploy.yaml\n{url}")),
            &[":4:18: `./deploy.yaml` is a file that the deployment is read from"],
        ),
        (
            "output absolute",
            "a.skill.yaml",
            skill(&format!("    output_file: /etc/x\n{url}")),
            &["`/etc/x` must be a file below"],
        ),
        (
            "pattern",
            "a.skill.yaml",
            format!("name: s\nextract:\n  - {{tool: x, pattern: '[bad(', store: k}}\n{TOOL}"),
            &["skills/a.skill.yaml:3:24: `[bad(` is no regular expression"],
        ),
        (
            "required_env",
            "a.skill.yaml",
            format!("name: s\nrequired_env: [NOPE]\n{TOOL}"),
            &[":2:16: the environment variable `NOPE` is not set"],
        ),
        (
            "env not required",
            "a.skill.yaml",
            "name: s\nrequired_env: []\ntools:\n  - name: a\n    http:\n      url: http://x/{{env:TOK}}\n"
                .into(),
            &["`TOK` is not in `required_env`"],
        ),
        (
            "no tools",
            "a.skill.yaml",
            "name: s\n".into(),
            &["needs a `system_prompt_append`"],
        ),
        (
            "no map",
            "a.skill.yaml",
            "- a\n".into(),
            &[":1:1: a skill is a map with `name:`, not a list"],
        ),
        (
            "output at home",
            "a.skill.yaml",
            skill(&format!("    output_file: ~/x\n{url}")),
            &["`~/x` must be a file below"],
        ),
        (
            "empty file",
            "a.skill.yaml",
            "# nothing\n".into(),
            &["the file is empty"],
        ),
        (
            "mcp server",
            "a.skill.yaml",
            skill("    type: mcp\n    mcp: {server: gh, tool: t}\n"),
            &[":5:19: no MCP server is named `gh`"],
        ),
        (
            "toolset",
            "a.toolset.yaml",
            "name: t\ntools: [x]\n".into(),
            &["skills/a.toolset.yaml:2:9: no skill has a tool `x`"],
        ),
        (
            "duplicate key",
            "a.skill.yaml",
            format!("name: s\nname: t\n{TOOL}"),
            &[":2:1: duplicate key `name`"],
        ),
        (
            "retry",
            "a.skill.yaml",
            skill(&format!("    retry: {{max_attempts: 0}}\n{url}")),
            &["`max_attempts` must be a whole number"],
        ),
        (
            "a placeholder in a name",
            "a.skill.yaml",
            skill(&format!("{url}      body: {{a: [{{'{{{{.k}}}}': 1}}]}}\n")),
            &[":6:19: `{{.k}}` is a name"],
        ),
        (
            "a length of its own",
            "a.skill.yaml",
            skill(&format!("{url}      headers: {{Content-Length: 3}}\n")),
            &["`Content-Length` follows from the body"],
        ),
        (
            "no host",
            "a.skill.yaml",
            skill("    http:\n      url: http://h:99999/{{.p}}\n"),
            &[":5:12: ", "is no address"],
        ),
        (
            "timeout",
            "a.skill.yaml",
            skill(&format!("    timeout: 0s\n{url}")),
            &["`timeout` must be longer than 0"],
        ),
    ] {
        let problems = Case::new(&[(file, &text)]).env("TOK", "sekret").problems();
        let found = problems
            .iter()
            .any(|problem| expected.iter().all(|words| problem.contains(words)));
        assert!(found, "{claim}: {expected:?}\n{problems:#?}");
    }
}

#[test]
fn duplicates_show_both_places_and_all_files_are_read() {
    let broken = format!("name: s2\n{TOOL}typo: 1\n");
    let case = Case::new(&[
        ("a.skill.yaml", &format!("name: s1\n{TOOL}")),
        ("b.skill.yaml", &broken),
        ("c.skill.yaml", "name: s1\nsystem_prompt_append: x\n"),
        ("d.toolset.yaml", "name: t\ntools: [y]\n"),
    ]);
    assert_eq!(
        case.problems(),
        [
            "skills/b.skill.yaml:2:16: the tool `x` is there already, at skills/a.skill.yaml:2:16",
            "skills/b.skill.yaml:3:1: unknown key `typo`",
            "skills/c.skill.yaml:1:7: the skill `s1` is there already, at skills/a.skill.yaml:1:7",
            "skills/d.toolset.yaml:2:9: no skill has a tool `y`",
        ]
    );
}

#[test]
fn what_strict_yaml_reads_otherwise_than_it_looks_is_a_warning() {
    let text = "name: s\ntools:\n  - name: a\n    description: reads # a thing\n    \
                http: {url: 'http://x'}\nextract:\n  - tool: a\n    pattern: \"(\\d+)\"\n    \
                store: n\n";
    let case = Case::new(&[("a.skill.yaml", text)]);
    let problems = case.problems();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(
        problems[0].starts_with("skills/a.skill.yaml:4:18: "),
        "{}",
        problems[0]
    );
    assert!(problems[0].contains("starts a comment"), "{}", problems[0]);
    assert!(
        problems[1].starts_with("skills/a.skill.yaml:8:16: "),
        "{}",
        problems[1]
    );
    assert!(
        settings(&case).library.skills[0].extract[0]
            .pattern
            .is_match("12")
    );
}

#[test]
fn a_skill_may_take_something_out_of_the_results_of_anothers_tool() {
    let searching = "name: s2\nsystem_prompt_append: p\nextract:\n  - {tool: x, pattern: '(a)', \
                     store: k}\n";
    let files = [
        ("a.skill.yaml", searching),
        ("b.skill.yaml", &format!("name: s\n{TOOL}")),
    ];
    assert_eq!(Case::new(&files).problems(), [""; 0]);
}

#[test]
fn a_link_that_leads_an_output_file_out_is_found_when_the_skill_is_read() {
    let tool = "tools: [{name: x, output_file: out/deep/x.txt, http: {url: 'http://x'}}]\n";
    let case = Case::new(&[("a.skill.yaml", &format!("name: s\n{tool}"))]);
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), case.path().join("out")).unwrap();
    let problems = case.problems();
    let expected = "skills/a.skill.yaml:2:32: a link on the way to `out/deep/x.txt` leads out";
    assert!(problems[0].starts_with(expected), "{problems:#?}");
}

#[test]
fn a_skill_a_tool_and_a_toolset_may_share_a_name() {
    let files = [
        ("a.skill.yaml", &*format!("name: x\n{TOOL}")),
        ("a.toolset.yaml", "name: x\ntools: [x]\n"),
    ];
    assert_eq!(Case::new(&files).problems(), [""; 0]);
}

#[test]
fn a_body_of_nothing_is_no_body() {
    let text = "name: s\ntools: [{name: x, http: {url: 'http://x', body: }}]\n";
    let settings = settings(&Case::new(&[("a.skill.yaml", text)]));
    let Action::Http(http) = &settings.tools[0].action else {
        panic!()
    };
    assert_eq!((http.method.as_str(), &http.body), ("GET", &None));
}

#[test]
fn a_missing_directory_is_an_error_and_an_empty_one_a_warning() {
    let case = Case::new(&[]);
    assert!(case.problems()[0].contains("has no file that ends in"));
    std::fs::remove_dir(case.path().join("skills")).unwrap();
    assert!(case.problems()[0].contains("does not exist"));
}

#[test]
fn names_of_the_deployment_that_nothing_has_are_errors_with_the_nearest() {
    let case = Case::new(&[("a.skill.yaml", &format!("name: weather\n{TOOL}"))]).deployment(
        "resources:\n  skills:\n    kind: tool.Source\n    impl: skills\n    settings: {dir: \
         skills, skills: [wether]}\n  tools: {kind: tool.Assembly, impl: memory, deps: {tool: \
         skills}}\n",
    );
    let problems = case.problems();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(
        problems[0].contains("no skill `wether` (did you mean `weather`?)"),
        "{problems:?}"
    );
}

#[test]
fn the_deployment_knows_every_file_that_it_read() {
    let case = Case::new(&[
        ("a.skill.yaml", &format!("name: s\n{TOOL}")),
        ("b.toolset.yml", "name: t\ntools: [x]\n"),
        (".#a.skill.yaml", "an editor's"),
        ("notes.txt", "another's"),
    ])
    .deployment(
        "resources:\n  skills:\n    kind: tool.Source\n    impl: skills\n    settings: {dir: \
         skills, mcp_servers_file: servers.yaml}\n  tools: {kind: tool.Assembly, impl: memory, \
         deps: {tool: skills}}\n",
    );
    std::fs::write(case.path().join("servers.yaml"), "servers: []\n").unwrap();
    let loaded = case.load().unwrap_or_else(|problems| panic!("{problems}"));
    let mut files: Vec<_> = loaded
        .files
        .iter()
        .map(|file| file.strip_prefix(case.path()).unwrap().to_str().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(
        files,
        [
            "servers.yaml",
            "skills",
            "skills/a.skill.yaml",
            "skills/b.toolset.yml"
        ]
    );
}

#[test]
fn what_is_hardly_meant_is_a_warning_with_its_place() {
    let skill = |tool: &str| format!("name: s\ntools:\n  - name: x\n{tool}");
    for (claim, file, text, expected) in [
        (
            "a number sign in a body",
            "a.skill.yaml",
            skill("    http:\n      url: http://x\n      body:\n        title: fix #12\n"),
            "skills/a.skill.yaml:7:16: warning: `title` ends before ` #`",
        ),
        (
            "prose of the prompt",
            "a.skill.yaml",
            format!("name: s\nsystem_prompt_append: Use # for headings.\n{TOOL}"),
            ":2:23: warning: `system_prompt_append` ends before ` #`",
        ),
        (
            "retry without attempts",
            "a.skill.yaml",
            skill("    retry: {base_delay: 5s}\n    http: {url: 'http://x'}\n"),
            ":4:12: warning: `retry` without `max_attempts`",
        ),
        (
            "retry of an mcp tool",
            "a.skill.yaml",
            skill("    type: mcp\n    retry: {max_attempts: 2}\n    mcp: {server: gh, tool: x}\n"),
            ":5:12: warning: `retry` is for http tools",
        ),
        (
            "extract from a tool that no file has",
            "a.skill.yaml",
            format!("name: s\nextract:\n  - {{tool: xx, pattern: '(a)', store: k}}\n{TOOL}"),
            ":3:12: warning: no skill has a tool `xx`; is it one of a server?",
        ),
        (
            "a pattern without a capture",
            "a.skill.yaml",
            format!("name: s\nextract:\n  - {{tool: x, pattern: 'a', store: k}}\n{TOOL}"),
            ":3:24: warning: the pattern `a` has no capture",
        ),
        (
            "a name that providers refuse",
            "a.skill.yaml",
            "name: s\ntools: [{name: 'a b', http: {url: http://x}}]\n".to_owned(),
            ":2:16: warning: a model's provider may refuse the name `a b`",
        ),
        (
            "a schema that is none",
            "a.skill.yaml",
            skill(
                "    parameters: {properties: {a: {type: objekt}}}\n    http: {url: 'http://x'}\n",
            ),
            ":4:17: warning: `parameters` is no valid JSON Schema at `/properties/a/type`",
        ),
        (
            "a misspelt ending",
            "a.skills.yaml",
            String::new(),
            "`skills/a.skills.yaml` is not read",
        ),
        (
            "capitals",
            "A.Skill.YAML",
            String::new(),
            "`skills/A.Skill.YAML` is not read",
        ),
    ] {
        let case = Case::new(&[(file, &text)]).deployment(WITH_SERVER);
        std::fs::write(
            case.path().join("servers.yaml"),
            "servers: [{name: gh, command: gh-mcp}]\n",
        )
        .unwrap();
        assert!(case.load().is_ok(), "{claim}: {:#?}", case.problems());
        let problems = case.problems();
        let found = problems.iter().any(|problem| problem.contains(expected));
        assert!(found, "{claim}: {problems:#?}");
    }
    let comment =
        skill("    http:\n      url: http://x # the old one\n      body:\n        n: 5 # five\n");
    assert_eq!(Case::new(&[("a.skill.yaml", &comment)]).problems(), [""; 0]);
}

#[test]
fn lists_without_a_name_bring_no_tool_and_say_so() {
    let case = Case::new(&[("a.skill.yaml", &format!("name: s\n{TOOL}"))]).deployment(
        "resources:\n  skills:\n    kind: tool.Source\n    impl: skills\n    settings: {dir: \
         skills, tools: []}\n  tools: {kind: tool.Assembly, impl: memory, deps: {tool: skills}}\n",
    );
    assert!(
        case.problems()[0].contains("nothing is listed"),
        "{:?}",
        case.problems()
    );
}
