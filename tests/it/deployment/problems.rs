//! Every kind of mistake with its place and its sentence (rules 10.2 and 9.9).

use std::path::Path;

use serde_json::json;
use toolcrib::deployment::{load_file, load_text};

use super::{Variables, fixtures};

/// What is wrong with a text, a line each. Files are looked for among the fixtures.
fn problems(text: &str) -> Vec<String> {
    let base = fixtures("deployment");
    match load_text("f.yaml", text, &base, &Variables) {
        Ok(loaded) => loaded.warnings.iter().map(ToString::to_string).collect(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// A deployment whose source has one line of settings (line 2, from column 47).
fn source(implementation: &str, settings: &str) -> String {
    format!(
        "resources:\n  s: {{kind: tool.Source, impl: {implementation}, settings: {{{settings}}}}}\n  t: {{kind: tool.Assembly, impl: memory, deps: {{tool: s}}}}\n"
    )
}

/// A deployment whose one stdio server has more keys.
fn server(keys: &str) -> String {
    source(
        "mcp",
        &format!("servers: [\n    {{name: a, transport: stdio, command: c, {keys}}}]"),
    )
}

/// A deployment whose one HTTP server has these keys.
fn http(keys: &str) -> String {
    source(
        "mcp",
        &format!("servers: [\n    {{name: a, transport: http, {keys}}}]"),
    )
}

/// A deployment whose one simulated tool has more keys.
fn tool(keys: &str) -> String {
    source("sim", &format!("tools: [\n    {{name: a, {keys}}}]"))
}

/// A deployment whose assembly has these settings on line 4.
fn assembly(implementation: &str, settings: &str) -> String {
    format!(
        "resources:\n  s: {{kind: tool.Source, impl: sim}}\n  t: {{kind: tool.Assembly, impl: {implementation}, deps: {{tool: s}}, settings: {{\n    {settings}}}}}\n"
    )
}

fn layers(settings: &str) -> String {
    assembly("middleware", &format!("middlewares: {{{settings}}}"))
}

fn dynamic(settings: &str) -> String {
    assembly("memory", &format!("dynamic: {{{settings}}}"))
}

/// A deployment with one more resource on line 4.
fn beside(resource: &str) -> String {
    format!(
        "resources:\n  s: {{kind: tool.Source, impl: sim}}\n  t: {{kind: tool.Assembly, impl: memory, deps: {{tool: s}}}}\n  {resource}\n"
    )
}

type Row<'a> = (&'a str, String, &'a [&'a str]);

fn check(rows: &[Row<'_>]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(name, text, expected)| {
            let seen = problems(text);
            (seen != *expected)
                .then(|| format!("{name}:\n{text}\n{seen:#?}\nexpected {expected:#?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_shape_of_the_file_is_strict() {
    check(&[
        (
            "empty",
            "".into(),
            &["f.yaml:1:1: the file is empty; a deployment starts with `resources:`"],
        ),
        (
            "only a comment",
            "# x\n".into(),
            &["f.yaml:1:1: the file is empty; a deployment starts with `resources:`"],
        ),
        (
            "null",
            "---\n~\n".into(),
            &["f.yaml:1:1: the file is empty; a deployment starts with `resources:`"],
        ),
        (
            "a list",
            "- a\n".into(),
            &["f.yaml:1:1: a deployment is a map with the key `resources`, not a list"],
        ),
        (
            "a word",
            "resources\n".into(),
            &[
                "f.yaml:1:1: a deployment is a map with the key `resources`, not the string `resources`",
            ],
        ),
        (
            "no resources",
            "resource: {}\n".into(),
            &[
                "f.yaml:1:1: unknown key `resource` (did you mean `resources`?)",
                "f.yaml:1:1: `resources` is missing",
            ],
        ),
        (
            "empty resources",
            "resources: {}\n".into(),
            &["f.yaml:1:12: `resources` is empty; a deployment needs at least one"],
        ),
        (
            "resources without value",
            "resources:\n".into(),
            &["f.yaml:1:10: `resources` has no value; it must be a map"],
        ),
        (
            "resources as a list",
            "resources:\n- a\n".into(),
            &["f.yaml:2:3: `resources` must be a map, not a list"],
        ),
        (
            "a resource that is a word",
            beside("x: sim"),
            &["f.yaml:4:6: `x` must be a map, not the string `sim`"],
        ),
        (
            "not YAML",
            "resources:\n  a: 'x\n".into(),
            &[
                "f.yaml:2:6: not valid YAML: while scanning a quoted scalar, found unexpected end of stream",
            ],
        ),
        (
            "two documents",
            format!("{}---\na: 1\n", beside("# x")),
            &["f.yaml:5:1: a second document starts here; a file is one document"],
        ),
        (
            "duplicate resource",
            beside("s: {kind: tool.Source, impl: sim}"),
            &["f.yaml:4:3: duplicate key `s`, first at 2:3"],
        ),
        (
            "duplicate key deep inside",
            tool("hints: {read_only: true,\n    read_only: false}"),
            &["f.yaml:4:5: duplicate key `read_only`, first at 3:23"],
        ),
        (
            "unknown key of a resource",
            beside("x: {kind: tool.Source, impl: sim, dep: {}}"),
            &["f.yaml:4:37: unknown key `dep` (did you mean `deps`?)"],
        ),
        (
            "unknown top-level key",
            format!("{}reources: {{}}\n", beside("# x")),
            &["f.yaml:5:1: unknown key `reources` (did you mean `resources`?)"],
        ),
        (
            "nothing of a resource",
            beside("x: {}"),
            &[
                "f.yaml:4:6: `kind` is missing",
                "f.yaml:4:6: `impl` is missing",
            ],
        ),
        (
            "unnamed resource",
            beside("\"\": {kind: tool.Source, impl: sim}"),
            &["f.yaml:4:3: a resource needs a name that is not empty"],
        ),
    ]);
}

#[test]
fn kinds_impls_and_dependencies_have_to_fit() {
    check(&[
        (
            "kind",
            beside("x: {kind: tool.Sourse, impl: sim}"),
            &["f.yaml:4:13: unknown kind `tool.Sourse` (did you mean `tool.Source`?)"],
        ),
        (
            "kind of another type",
            beside("x: {kind: 5, impl: sim}"),
            &["f.yaml:4:13: `kind` must be a string, not the number 5; write \"5\""],
        ),
        (
            "impl",
            beside("x: {kind: tool.Source, impl: mpc}"),
            &[
                "f.yaml:4:32: `tool.Source` has no impl `mpc`; it has `sim`, `mcp`, `skills` (did you mean `mcp`?)",
            ],
        ),
        (
            "impl of another kind",
            beside("x: {kind: tool.Source, impl: memory}"),
            &["f.yaml:4:32: `tool.Source` has no impl `memory`; it has `sim`, `mcp`, `skills`"],
        ),
        (
            "impl without kind",
            beside("x: {impl: memry}"),
            &[
                "f.yaml:4:6: `kind` is missing",
                "f.yaml:4:13: unknown impl `memry` (did you mean `memory`?)",
            ],
        ),
        (
            "no source",
            beside("x: {kind: tool.Assembly, impl: memory}"),
            &["f.yaml:4:3: the assembly `x` has no source; name one with `deps: {tool: NAME}`"],
        ),
        (
            "empty deps",
            beside("x: {kind: tool.Assembly, impl: memory, deps: {}}"),
            &["f.yaml:4:48: the assembly `x` has no source; name one with `deps: {tool: NAME}`"],
        ),
        (
            "empty list of sources",
            beside("x: {kind: tool.Assembly, impl: memory, deps: {tool: []}}"),
            &["f.yaml:4:48: the assembly `x` has no source; name one with `deps: {tool: NAME}`"],
        ),
        (
            "dangling",
            beside("x: {kind: tool.Assembly, impl: memory, deps: {tool: [s, ss]}}"),
            &["f.yaml:4:59: there is no resource `ss`"],
        ),
        (
            "dangling with a near name",
            beside(
                "simulated: {kind: tool.Source, impl: sim}\n  x: {kind: tool.Assembly, impl: memory, deps: {tool.x: simulatd}}",
            ),
            &["f.yaml:5:57: there is no resource `simulatd` (did you mean `simulated`?)"],
        ),
        (
            "wrong kind",
            beside("x: {kind: tool.Assembly, impl: memory, deps: {tool: t}}"),
            &["f.yaml:4:55: `t` is a `tool.Assembly`, but a `tool.Source` is needed here"],
        ),
        (
            "wrong impl",
            beside("x: {kind: tool.Source, impl: skills, deps: {mcp: s}, settings: {dir: skills}}"),
            &["f.yaml:4:52: `s` is a `tool.Source/sim`, but a `tool.Source/mcp` is needed here"],
        ),
        (
            "unknown dep",
            beside("x: {kind: tool.Assembly, impl: memory, deps: {tool: s, tools: s}}"),
            &["f.yaml:4:58: unknown key `tools` (did you mean `tool`?)"],
        ),
        (
            "dep of what has none",
            beside("x: {kind: tool.Source, impl: sim, deps: {tool: s}}"),
            &["f.yaml:4:44: unknown key `tool`; `sim` depends on nothing"],
        ),
        (
            "deps as a list",
            beside("x: {kind: tool.Assembly, impl: memory, deps: [s]}"),
            &["f.yaml:4:48: `deps` must be a map, not a list"],
        ),
        (
            "dep of a wrong type",
            beside("x: {kind: tool.Assembly, impl: memory, deps: {tool: 5}}"),
            &["f.yaml:4:55: `tool` must be a string, not the number 5; write \"5\""],
        ),
        (
            "itself",
            beside("x: {kind: tool.Assembly, impl: memory, deps: {tool: x}}"),
            &[
                "f.yaml:4:48: these depend on each other: x -> x",
                "f.yaml:4:55: `x` is a `tool.Assembly`, but a `tool.Source` is needed here",
            ],
        ),
        (
            "a cycle",
            beside(
                "b: {kind: tool.Assembly, impl: memory, deps: {tool: a}}\n  a: {kind: tool.Source, impl: skills, deps: {mcp: b}, settings: {dir: skills}}",
            ),
            &[
                "f.yaml:4:48: these depend on each other: b -> a -> b",
                "f.yaml:5:52: `b` is a `tool.Assembly/memory`, but a `tool.Source/mcp` is needed here",
            ],
        ),
        (
            "needed settings",
            beside("x: {kind: tool.Source, impl: mcp}"),
            &["f.yaml:4:3: `mcp` needs `settings`"],
        ),
        (
            "settings without value",
            beside("x: {kind: tool.Source, impl: sim, settings: }"),
            &["f.yaml:4:45: `settings` has no value; it must be a map"],
        ),
        (
            "a loop without a model",
            beside("x: {kind: agent.Loop, impl: rounds, deps: {tools: t}}"),
            &[
                "f.yaml:4:45: the loop `x` needs a `inference.Model`; name one with `deps: {model: NAME}`",
            ],
        ),
        (
            "a loop with two assemblies",
            beside(
                "m: {kind: inference.Model, impl: scripted, settings: {replies: []}}\n  x: {kind: agent.Loop, impl: rounds, deps: {tools: [t, t]}}",
            ),
            &[
                "f.yaml:5:53: `tools` takes one name",
                "f.yaml:5:57: a loop takes one `tool.Assembly`",
            ],
        ),
    ]);
}

#[test]
fn the_settings_of_servers_are_strict() {
    check(&[
        (
            "no servers",
            source("mcp", "servers: []"),
            &["f.yaml:2:57: `servers` needs at least one server"],
        ),
        (
            "no list",
            source("mcp", "roots: []"),
            &["f.yaml:2:47: `servers` is missing"],
        ),
        (
            "key of the other transport",
            server("url: \"http://x\""),
            &["f.yaml:3:45: `url` is a key of http servers; the transport here is `stdio`"],
        ),
        (
            "key of the other transport, http",
            http("url: \"http://x\", args: []"),
            &["f.yaml:3:49: `args` is a key of stdio servers; the transport here is `http`"],
        ),
        (
            "no command",
            source("mcp", "servers: [{name: a, transport: stdio}]"),
            &["f.yaml:2:79: a server with the transport `stdio` needs `command`"],
        ),
        (
            "no url",
            http(""),
            &["f.yaml:3:26: a server with the transport `http` needs `url`"],
        ),
        (
            "no name, no transport",
            source("mcp", "servers: [{command: c}]"),
            &[
                "f.yaml:2:58: `name` is missing",
                "f.yaml:2:58: `transport` is missing",
            ],
        ),
        (
            "transport",
            source("mcp", "servers: [{name: a, transport: sdtio, command: c}]"),
            &[
                "f.yaml:2:79: `transport` must be `stdio` or `http`, not `sdtio` (did you mean `stdio`?)",
            ],
        ),
        (
            "the same name twice",
            server("},\n    {name: a, transport: stdio, command: c"),
            &["f.yaml:4:12: a server `a` is there already, at 3:12"],
        ),
        (
            "unknown key",
            server("requird: true"),
            &["f.yaml:3:45: unknown key `requird` (did you mean `required`?)"],
        ),
        (
            "a boolean of YAML 1.1",
            server("required: yes"),
            &["f.yaml:3:55: `required` must be true or false, not the string `yes`"],
        ),
        (
            "a boolean in quotes",
            server("required: \"true\""),
            &["f.yaml:3:55: `required` must be true or false, not the string `true`"],
        ),
        (
            "a boolean from an empty variable",
            server("required: \"${env:EMPTY}\""),
            &["f.yaml:3:55: `required` must be true or false, but `${env:EMPTY}` is empty"],
        ),
        (
            "a boolean from a secret",
            server("required: \"${env:MCP_TOKEN}\""),
            &["f.yaml:3:55: `required` must be true or false, not the string `${env:MCP_TOKEN}`"],
        ),
        (
            "a number in env",
            server("env: {PORT: 8080}"),
            &["f.yaml:3:57: `PORT` must be a string, not the number 8080; write \"8080\""],
        ),
        (
            "a number in args",
            server("args: [-v, 1.10]"),
            &["f.yaml:3:56: `args[1]` must be a string, not the number 1.10; write \"1.10\""],
        ),
        (
            "args as a string",
            server("args: -v"),
            &["f.yaml:3:51: `args` must be a list, not the string `-v`"],
        ),
        (
            "name of a variable",
            server("env: {\"A=B\": x}"),
            &["f.yaml:3:51: `A=B` cannot be the name of a variable"],
        ),
        (
            "unset variable",
            server("env: {A: \"${env:NOT_SET}\"}"),
            &["f.yaml:3:54: the environment variable `NOT_SET` is not set"],
        ),
        (
            "unset variable, plain in flow",
            server("env: {A: ${env:NOT_SET}, B: \"${env:NO}\"}"),
            &[
                "f.yaml:3:54: the environment variable `NOT_SET` is not set",
                "f.yaml:3:73: the environment variable `NO` is not set",
            ],
        ),
        (
            "another variable",
            server("cwd: '${HOME}/x'"),
            &[
                "f.yaml:3:50: `${HOME}` is not known; only `${env:NAME}` is, and `\\${` is a literal `${`",
            ],
        ),
        (
            "liveness without unit",
            server("liveness: 30"),
            &[
                "f.yaml:3:55: `liveness`: `30` has no unit; write `30s` for seconds or `30ms` for milliseconds",
            ],
        ),
        (
            "liveness of zero",
            server("liveness: 0s"),
            &["f.yaml:3:55: `liveness` must be longer than 0; `off` turns it off"],
        ),
        (
            "liveness as a word",
            server("liveness: never"),
            &[
                "f.yaml:3:55: `liveness`: `never` is no duration; write it like `250ms`, `30s`, `2m` or `1h`, or `off`",
            ],
        ),
        (
            "liveness as a boolean",
            server("liveness: false"),
            &[
                "f.yaml:3:55: `liveness` must be a duration such as `30s` or `off`, not the boolean false",
            ],
        ),
        (
            "negative timeout",
            http("url: \"http://x\", http_timeout: -5s"),
            &["f.yaml:3:63: `http_timeout`: `-5s` is negative"],
        ),
        (
            "timeout from a secret",
            http("url: \"http://x\", http_timeout: \"${env:MCP_TOKEN}\""),
            &[
                "f.yaml:3:63: `http_timeout` must be a duration such as `30s`, not the string `${env:MCP_TOKEN}`",
            ],
        ),
        (
            "protocol",
            server("protocol: 2025-11-26"),
            &[
                "f.yaml:3:55: `protocol` must be `auto`, `2026-07-28` or `2025-11-25`, not `2025-11-26` (did you mean `2025-11-25`?)",
            ],
        ),
        (
            "prefix",
            server("prefix: fs"),
            &[
                "f.yaml:3:53: warning: the prefix `fs` ends in a letter or digit, which makes `fsread_file` of `read_file`; `fs__` keeps them apart",
            ],
        ),
        (
            "address without scheme",
            http("url: \"mcp.example.com/mcp\""),
            &[
                "f.yaml:3:37: `url` must start with `http://` or `https://`, not `mcp.example.com/mcp`",
            ],
        ),
        (
            "address of another scheme",
            http("url: \"ftp://x\""),
            &["f.yaml:3:37: `url` must start with `http://` or `https://`, not `ftp://x`"],
        ),
        (
            "address with a bad port",
            http("url: \"http://x:99999\""),
            &["f.yaml:3:37: `url` is no address: invalid port number: `http://x:99999`"],
        ),
        (
            "address without host",
            http("url: \"http://\""),
            &["f.yaml:3:37: `url` is no address: empty host: `http://`"],
        ),
        (
            "header name",
            http("url: \"http://x\", headers: {\"a b\": c}"),
            &["f.yaml:3:59: `a b` cannot be the name of a header"],
        ),
        (
            "header value",
            http("url: \"http://x\", headers: {a: \"b\\nc\"}"),
            &["f.yaml:3:62: the value of the header `a` has characters that no header may have"],
        ),
        (
            "header of the protocol",
            http("url: \"http://x\", headers: {Mcp-Session-Id: c}"),
            &["f.yaml:3:59: the header `Mcp-Session-Id` is set by the protocol itself"],
        ),
        (
            "header twice",
            http("url: \"http://x\", headers: {a: b, A: c}"),
            &["f.yaml:3:65: duplicate header `A`, first at 3:59"],
        ),
        (
            "backoff",
            source(
                "mcp",
                "backoff: {initial: 1m, max: 30s, jitter: 2}, servers: [{name: a, transport: stdio, command: c}]",
            ),
            &[
                "f.yaml:2:67: `initial` (1m) must not be longer than `max` (30s)",
                "f.yaml:2:89: `jitter` must be a number from 0 to 1, not the number 2",
            ],
        ),
        (
            "connect timeout",
            source(
                "mcp",
                "connect_timeout: 0, servers: [{name: a, transport: stdio, command: c}]",
            ),
            &["f.yaml:2:65: `connect_timeout` must be longer than 0"],
        ),
    ]);
}

#[test]
fn simulated_tools_are_strict() {
    check(&[
        ("no name", source("sim", "tools: [{description: x}]"), &["f.yaml:2:56: `name` is missing"]),
        ("empty name", source("sim", "tools: [{name: \"\"}]"), &["f.yaml:2:63: `name` must not be empty"]),
        ("schema that is no object", tool("input_schema: [a]"), &["f.yaml:3:29: `input_schema` must be a map, not a list"]),
        ("too small a size", tool("pad_to_bytes: 10"), &["f.yaml:3:29: the definition of `a` has 61 bytes already and cannot be made 10 bytes long; use 61 or more"]),
        ("size of zero", tool("pad_to_bytes: 0"), &["f.yaml:3:29: `pad_to_bytes` must be a whole number, 1 or more, not the number 0"]),
        ("two ends", tool("behavior: {echo: {}, hang: {}}"), &["f.yaml:3:36: a call ends in one way, and that is `echo` already"]),
        ("unknown end", tool("behavior: {txt: {text: x}}"), &["f.yaml:3:26: unknown key `txt` (did you mean `text`?)"]),
        ("error rate", tool("behavior: {parts: [{error_rate: 1.5}]}"), &["f.yaml:3:47: `error_rate` must be a number from 0 to 1, not the number 1.5"]),
        ("latency", tool("behavior: {latency: 5}"), &["f.yaml:3:35: `latency`: `5` has no unit; write `5s` for seconds or `5ms` for milliseconds"]),
        ("hint", tool("hints: {readonly: true}"), &["f.yaml:3:23: unknown key `readonly` (did you mean `read_only`?)"]),
        ("rate", tool("rate: 0"), &["f.yaml:3:21: `rate` must be a number above 0, not the number 0"]),
        ("seed", source("sim", "seed: -1"), &["f.yaml:2:54: `seed` must be a whole number, not negative, not the number -1"]),
        ("the same name twice", tool("},\n    {name: a"), &["f.yaml:4:12: `a` is the name of `tools[0]` already"]),
        ("a name that providers refuse", tool("},\n    {name: a.b"), &["f.yaml:4:12: warning: a model's provider may refuse the name `a.b`: `.` is not one of `A-Z a-z 0-9 _ -`"]),
        ("a catalog that is not there", source("sim", "catalog: nowhere.jsonl, tools: [{name: a, pad_to_bytes: 1}]"), &[
            "f.yaml:2:57: the catalog `nowhere.jsonl` does not exist",
            "f.yaml:2:104: the definition of `a` has 61 bytes already and cannot be made 1 bytes long; use 61 or more",
        ]),
        ("a catalog that is a directory", source("sim", "catalog: skills"), &["f.yaml:2:57: the catalog `skills` is no file"]),
        ("conflict", beside("u: {kind: tool.Source, impl: sim, settings: {tools: [{name: x}]}}\n  v: {kind: tool.Source, impl: sim, settings: {tools: [{name: y}, {name: x}]}}\n  w: {kind: tool.Assembly, impl: memory, deps: {tool: v, tool.u: u}}"), &["f.yaml:5:74: conflict: `x` of `v` is the name of a tool of `u` already, at 4:63"]),
        ("conflict with tool_search", "resources:\n  s: {kind: tool.Source, impl: sim, settings: {tools: [{name: tool_search}]}}\n  t: {kind: tool.Assembly, impl: memory, deps: {tool: s}, settings: {dynamic: {}}}\n".into(), &["f.yaml:2:63: conflict: `tool_search` of `s` is the name of the tool that `t` adds itself"]),
    ]);
}

#[test]
fn exposure_budget_and_layers_are_strict() {
    check(&[
        (
            "layers of memory",
            assembly("memory", "middlewares: {}"),
            &["f.yaml:4:5: `middlewares` needs `impl: middleware`; `memory` has no chain"],
        ),
        (
            "dynamic without value",
            assembly("memory", "dynamic: "),
            &["f.yaml:4:12: `dynamic` has no value; it must be a map"],
        ),
        (
            "mode",
            dynamic("exposures: {a: alway}"),
            &[
                "f.yaml:4:30: `a` must be `always`, `direct`, `deferred` or `hidden`, not `alway` (did you mean `always`?)",
            ],
        ),
        (
            "tool_search",
            dynamic("exposures: {tool_search: hidden, \"tool_*\": hidden}"),
            &["f.yaml:4:40: `tool_search` is always visible and cannot be `hidden`"],
        ),
        (
            "empty glob",
            dynamic("exposures: {\"\": always}"),
            &["f.yaml:4:27: a tool name or glob must not be empty"],
        ),
        (
            "negative budget",
            dynamic("budget: {max_bytes: -1}"),
            &["f.yaml:4:35: `max_bytes` must be a whole number, not negative, not the number -1"],
        ),
        (
            "fraction",
            dynamic("discovery: {idle_rounds: 1.5}"),
            &[
                "f.yaml:4:40: `idle_rounds` must be a whole number from 0 to 4294967295, not the number 1.5",
            ],
        ),
        (
            "number in quotes",
            dynamic("budget: {max_bytes: \"5\"}"),
            &["f.yaml:4:35: `max_bytes` must be a whole number, not negative, not the string `5`"],
        ),
        (
            "old keys",
            dynamic("recent_window: 4, selected_retention: 2"),
            &[
                "f.yaml:4:15: warning: `recent_window` is deprecated; use `discovery.idle_rounds`",
                "f.yaml:4:33: warning: `selected_retention` is deprecated; use `discovery.idle_rounds`",
            ],
        ),
        (
            "old key beside the new one",
            dynamic("recent_window: 4, discovery: {idle_rounds: 3}"),
            &[
                "f.yaml:4:15: warning: `recent_window` is deprecated; use `discovery.idle_rounds`, which is set here, so that it has no effect",
            ],
        ),
        (
            "layer",
            layers("recovr: {}"),
            &["f.yaml:4:19: unknown key `recovr` (did you mean `recover`?)"],
        ),
        (
            "limit of nothing",
            layers("result_limit: {max: 0}"),
            &["f.yaml:4:39: `max` must be a whole number, 1 or more, not the number 0"],
        ),
        (
            "limit without max",
            layers("result_limit: {}"),
            &["f.yaml:4:33: `max` is missing"],
        ),
        (
            "negative part budget",
            layers("result_part_budget_bytes: -1"),
            &[
                "f.yaml:4:45: `result_part_budget_bytes` must be a whole number, not negative, not the number -1",
            ],
        ),
        (
            "concurrency",
            layers("concurrency: {limit: -1, per_source: {s: 0, r: 1}}"),
            &[
                "f.yaml:4:40: `limit` must be a whole number, 1 or more, not the number -1",
                "f.yaml:4:60: `s` must be a whole number, 1 or more, not the number 0",
                "f.yaml:4:63: `r` is not a source of this assembly",
            ],
        ),
        (
            "duration of a glob",
            layers("timeout: {default: 20, tools: {\"a*\": 1d}}"),
            &[
                "f.yaml:4:38: `default`: `20` has no unit; write `20s` for seconds or `20ms` for milliseconds",
                "f.yaml:4:56: `a*`: `1d` is no duration; write it like `250ms`, `30s`, `2m` or `1h`",
            ],
        ),
        (
            "pattern",
            layers("redact: {patterns: [a, '(']}"),
            &["f.yaml:4:42: `patterns[1]` is no regular expression: unclosed group"],
        ),
        (
            "pattern from a secret",
            layers("redact: {patterns: ['(${env:MCP_TOKEN}[']}"),
            &["f.yaml:4:39: `patterns[0]` is no regular expression: unclosed character class"],
        ),
        (
            "fault",
            layers("fault: {error_rate: 2, drop: maybe}"),
            &[
                "f.yaml:4:39: `error_rate` must be a number from 0 to 1, not the number 2",
                "f.yaml:4:48: `drop` must be true, false, or a number from 0 to 1, not the string `maybe`",
            ],
        ),
        (
            "audit",
            layers("audit: {}"),
            &["f.yaml:4:26: `file` is missing"],
        ),
        (
            "rate",
            layers("rate_limit: {per_second: 0, burst: 0}"),
            &[
                "f.yaml:4:44: `per_second` must be a number above 0, not the number 0",
                "f.yaml:4:54: `burst` must be a whole number from 1 to 4294967295, not the number 0",
            ],
        ),
        (
            "approval",
            layers("approval: {tools: \"*\"}"),
            &["f.yaml:4:37: `tools` must be a list, not the string `*`"],
        ),
    ]);
}

#[test]
fn skills_models_and_loops_are_strict() {
    check(&[
        (
            "no directory",
            beside("x: {kind: tool.Source, impl: skills, settings: {dir: nowhere}}"),
            &["f.yaml:4:56: the directory `nowhere` does not exist"],
        ),
        (
            "a directory that is a file",
            beside("x: {kind: tool.Source, impl: skills, settings: {dir: catalog.jsonl}}"),
            &["f.yaml:4:56: the directory `catalog.jsonl` is no directory"],
        ),
        (
            "a servers file that is not there",
            beside(
                "x: {kind: tool.Source, impl: skills, settings: {dir: skills, mcp_servers_file: no.yaml}}",
            ),
            &["f.yaml:4:82: the servers file `no.yaml` does not exist"],
        ),
        (
            "model",
            beside(
                "x: {kind: inference.Model, impl: openai, settings: {base_url: localhost, timeout: 0}}",
            ),
            &[
                "f.yaml:4:54: `model` is missing",
                "f.yaml:4:65: `base_url` must start with `http://` or `https://`, not `localhost`",
                "f.yaml:4:85: `timeout` must be longer than 0",
            ],
        ),
        (
            "forced calls",
            beside(
                "x: {kind: inference.Model, impl: openai, settings: {base_url: \"http://x\", model: m, tool_choice: required, extra: {tool_choice: required, tools: []}}}",
            ),
            &[
                "f.yaml:4:87: unknown key `tool_choice`",
                "f.yaml:4:118: `tool_choice` cannot be set: it is `auto` wherever tools are sent",
                "f.yaml:4:141: `tools` cannot be set here: every request has its own",
            ],
        ),
        (
            "script",
            beside("x: {kind: inference.Model, impl: scripted, settings: {file: no.yaml}}"),
            &["f.yaml:4:63: the script `no.yaml` does not exist"],
        ),
        (
            "no script",
            beside("x: {kind: inference.Model, impl: scripted, settings: {}}"),
            &["f.yaml:4:56: a scripted model needs a `file` or `replies`"],
        ),
        (
            "two scripts",
            beside(
                "x: {kind: inference.Model, impl: scripted, settings: {file: replies.yaml, replies: []}}",
            ),
            &["f.yaml:4:86: `replies` stand beside a `file`; only one can be played"],
        ),
        (
            "loop",
            beside(
                "m: {kind: inference.Model, impl: scripted, settings: {replies: []}}\n  x: {kind: agent.Loop, impl: rounds, settings: {tool_rounds: 0, undefined_tool_recovery: {enable: true}}}",
            ),
            &[
                "f.yaml:5:63: `tool_rounds` must be a whole number from 1 to 4294967295, not the number 0",
                "f.yaml:5:92: unknown key `enable` (did you mean `enabled`?)",
            ],
        ),
    ]);
}

#[test]
fn a_problem_in_json_has_the_fields_of_check() {
    let text = "resources:\n  a: {kind: tool.Source, impl: mcp, settings: {servers: [{name: x, transport: http, url: x, hedders: {}}]}}\n";
    let problems = load_text("f.yaml", text, Path::new("/"), &Variables).unwrap_err();
    assert_eq!(
        serde_json::to_value(&problems.0).unwrap(),
        json!([
            {
                "severity": "error",
                "file": "f.yaml",
                "line": 2,
                "column": 90,
                "path": "resources.a.settings.servers[0].url",
                "message": "`url` must start with `http://` or `https://`, not `x`",
                "suggestion": null,
            },
            {
                "severity": "error",
                "file": "f.yaml",
                "line": 2,
                "column": 93,
                "path": "resources.a.settings.servers[0].hedders",
                "message": "unknown key `hedders`",
                "suggestion": "headers",
            },
        ])
    );
}

#[test]
fn no_secret_is_in_any_message() {
    let text = beside(
        "x: {kind: tool.Source, impl: mcp, settings: {servers: [{name: \"${env:MCP_TOKEN}\", transport: \"${env:MCP_TOKEN}\", url: \"${env:MCP_TOKEN}\", liveness: \"${env:MCP_TOKEN}\", resources: \"${env:MCP_TOKEN}\"}, {name: \"${env:MCP_TOKEN}\"}]}}\n  y: {kind: \"${env:MCP_TOKEN}\", impl: \"${env:MCP_TOKEN}\"}\n  z: {kind: tool.Assembly, impl: memory, deps: {tool: \"${env:MCP_TOKEN}\"}}\n  u: {kind: tool.Source, impl: sim, settings: {catalog: \"${env:MCP_TOKEN}\"}}\n  v: {kind: tool.Source, impl: sim, settings: {tools: [{name: \"a ${env:MCP_TOKEN}\"}, {name: \"a ${env:MCP_TOKEN}\"}]}}",
    );
    let seen = problems(&text);
    assert!(seen.len() >= 10, "{seen:#?}");
    for problem in &seen {
        assert!(!problem.contains("hunter2"), "{problem}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.yaml");
    let message = |path: &Path| {
        let problems = load_file(path, &Variables).unwrap_err();
        let shown = problems.to_string();
        shown
            .strip_prefix(&format!("{}:", path.display()))
            .unwrap()
            .to_owned()
    };
    assert_eq!(message(&path), "1:1: the file does not exist");
    assert_eq!(message(dir.path()), "1:1: this is a directory, not a file");
    std::fs::write(&path, b"resources:\n  \xc3\xa4\xff: 1\n").unwrap();
    assert_eq!(
        message(&path),
        "2:4: the file is not valid UTF-8 from here on"
    );
    std::fs::write(&path, vec![b'#'; 9 * 1024 * 1024]).unwrap();
    assert_eq!(
        message(&path),
        "1:1: the file is larger than the 8388608 bytes that are read"
    );
}

#[test]
fn problems_of_a_catalog_have_the_place_in_the_catalog() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("f.yaml");
    std::fs::write(
        dir.path().join("c.jsonl"),
        "{\"name\":\"a\"}\n{\"nam\":\"b\"}\n",
    )
    .unwrap();
    std::fs::write(&config, source("sim", "catalog: ./c.jsonl")).unwrap();
    let problems = load_file(&config, &Variables).unwrap_err().to_string();
    let catalog = dir.path().join("c.jsonl");
    assert_eq!(
        problems,
        format!(
            "{0}:2:1: a definition needs a `name`\n{0}:2:2: unknown key `nam` (did you mean `name`?)",
            catalog.display()
        )
    );
}

#[test]
fn a_file_full_of_mistakes_is_answered_at_once() {
    let mut text = beside("");
    for index in 0..30_000 {
        text.push_str(&format!(
            "  r{index}: {{kind: tool.Assembly, impl: memory, deps: {{tool: q{index}}}}}\n"
        ));
    }
    let seen = problems(&text);
    assert_eq!(seen.len(), 30_000);
    assert!(seen[0].starts_with("f.yaml:5:"), "{}", seen[0]);
}

#[test]
fn an_assembly_of_very_many_sources_is_read_at_once() {
    let mut text = "resources:\n".to_owned();
    let mut names = String::new();
    for index in 0..20_000 {
        text.push_str(&format!(
            "  r{index}: {{kind: tool.Source, impl: sim, settings: {{tools: []}}}}\n"
        ));
        names.push_str(&format!("r{index}, "));
    }
    text.push_str(&format!(
        "  t: {{kind: tool.Assembly, impl: memory, deps: {{tool: [{names}]}}}}\n"
    ));
    assert_eq!(problems(&text), [] as [String; 0]);
}
