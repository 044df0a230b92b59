//! What is accepted, and what it says.

use std::time::Duration;

use toolcrib::deployment::document::{Budget, Reading, Syntax, Value, parse};
use toolcrib::deployment::{
    AssemblyImpl, Loaded, Origin, SourceSettings, load_file, load_text, read_resources,
};
use toolcrib::discovery::{BudgetSettings, Mode, PoolSettings};
use toolcrib::inference::{ModelSettings, Script};
use toolcrib::middleware::settings::MiddlewareSettings;
use toolcrib::secrets::Secrets;
use toolcrib::source::mcp::{Liveness, McpSettings, Protocol, TransportSettings};
use toolcrib::source::sim::{Outcome, SimSettings};

use super::{Variables, fixtures};

fn load(name: &str) -> Loaded {
    let path = fixtures("deployment").join(name);
    load_file(&path, &Variables).unwrap_or_else(|problems| panic!("{problems}"))
}

fn text(text: &str) -> Loaded {
    load_text("f.yaml", text, &fixtures("deployment"), &Variables)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn mcp(loaded: &Loaded, source: &str) -> McpSettings {
    match &loaded.deployment.source(source).unwrap().settings {
        SourceSettings::Mcp(settings) => settings.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_smallest_deployment_is_a_source_and_an_assembly() {
    let loaded = load("smallest.yaml");
    assert!(loaded.warnings.is_empty());
    let source = &loaded.deployment.sources[0];
    assert_eq!(source.name, "sim");
    assert_eq!(source.settings, SourceSettings::Sim(SimSettings::default()));
    let assembly = &loaded.deployment.assemblies[0];
    assert_eq!(assembly.name, "tools");
    assert_eq!(assembly.sources, ["sim"]);
    assert_eq!(assembly.implementation, AssemblyImpl::Memory);
    assert_eq!((&assembly.dynamic, &assembly.middlewares), (&None, &None));
    assert_eq!(loaded.files, [fixtures("deployment/smallest.yaml")]);
}

#[test]
fn servers_load_with_a_warning_for_the_prefix_and_their_tokens_are_secret() {
    let loaded = load("servers.yaml");
    let warnings: Vec<_> = loaded.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(warnings, [12]);
    let settings = mcp(&loaded, "sim");
    let local = &settings.servers[0];
    assert_eq!(
        local.transport,
        TransportSettings::Stdio {
            command: "npx".into(),
            args: vec![
                "-y".into(),
                "@modelcontextprotocol/server-filesystem".into()
            ],
            env: vec![("TOKEN".into(), "hunter2-hunter2".into())],
            cwd: None,
        }
    );
    assert_eq!(local.prefix(), "fs");
    assert!(local.required && local.resources);
    assert_eq!(
        local.liveness,
        Some(Liveness::Every(Duration::from_secs(30)))
    );
    let remote = &settings.servers[1];
    assert_eq!(
        remote.transport,
        TransportSettings::Http {
            url: "https://mcp.example.com/mcp".into(),
            headers: vec![("Authorization".into(), "Bearer hunter2-hunter2".into())],
            http_timeout: Some(Duration::from_secs(30)),
        }
    );
    assert_eq!(remote.prefix(), "remote__");
    assert_eq!(loaded.secrets.mask("Bearer hunter2-hunter2"), "Bearer ••••");
}

#[test]
fn every_key_is_understood() {
    let loaded = load("everything.yaml");
    assert_eq!(loaded.warnings, []);
    let dir = fixtures("deployment");
    let deployment = &loaded.deployment;
    let names: Vec<_> = deployment
        .sources
        .iter()
        .map(|source| (source.name.as_str(), source.place))
        .collect();
    assert_eq!(names, [("files", 0), ("sim", 1), ("skills", 2)]);

    let files = mcp(&loaded, "files");
    assert_eq!(files.roots, [dir.join("."), "/home/me/work".into()]);
    assert_eq!(files.liveness, Liveness::Off);
    assert_eq!(files.connect_timeout, Duration::from_secs(10));
    assert_eq!(files.backoff.initial, Duration::from_millis(500));
    let local = &files.servers[0];
    assert!(
        matches!(&local.transport, TransportSettings::Stdio { cwd: Some(cwd), .. } if *cwd == dir.join("sub"))
    );
    assert_eq!(local.protocol, Protocol::V2025_11_25);
    assert_eq!(local.pin, Some(dir.join("pins.json")));
    assert_eq!(local.prefix(), "");
    assert!(local.resources);
    assert_eq!(
        local.liveness,
        Some(Liveness::Every(Duration::from_secs(90)))
    );
    assert_eq!(files.servers[1].liveness, Some(Liveness::Off));
    assert!(
        matches!(&files.servers[1].transport, TransportSettings::Http { http_timeout: Some(bound), .. } if *bound == Duration::from_millis(250))
    );

    let SourceSettings::Sim(sim) = &deployment.sources[1].settings else {
        panic!()
    };
    assert_eq!(sim.catalog, Some(dir.join("catalog.jsonl")));
    let tool = &sim.tools.as_ref().unwrap()[1];
    assert_eq!(tool.input_schema["properties"]["path"]["default"], "250ms");
    assert_eq!(tool.hints.read_only, Some(true));
    let Outcome::Parts(parts) = &tool.behavior.outcome else {
        panic!()
    };
    assert_eq!(parts.len(), 7);
    assert_eq!(parts[3].outcome, Outcome::Image(4096));

    let assembly = deployment.assembly("tools").unwrap();
    assert_eq!(assembly.sources, ["files", "sim", "skills"]);
    let dynamic = assembly.dynamic.as_ref().unwrap();
    assert_eq!(
        dynamic.budget,
        BudgetSettings {
            max_definitions: 16,
            max_bytes: 16384
        }
    );
    assert_eq!(
        dynamic.discovery,
        PoolSettings {
            max_tools: 8,
            max_bytes: 9000,
            idle_rounds: 3
        }
    );
    assert_eq!(dynamic.exposures.get("fs__read"), Some(&Mode::Direct));
    assert_eq!(dynamic.exposures.get("secret1"), Some(&Mode::Hidden));
    let layers = assembly.middlewares.as_ref().unwrap();
    assert!(layers.recover && layers.telemetry && !layers.validate);
    assert_eq!(layers.audit.as_ref().unwrap().file, dir.join("audit.jsonl"));
    assert_eq!(layers.part_budget(), None);
    assert_eq!(layers.result_part_budget_bytes, 65536);
    assert_eq!(
        layers.timeout.as_ref().unwrap().tools.get("endless"),
        Some(&Duration::ZERO)
    );
    assert_eq!(
        layers.concurrency.as_ref().unwrap().per_source,
        [("files".to_owned(), 2)]
    );

    let ModelSettings::OpenAi(model) = &deployment.model("model").unwrap().settings else {
        panic!()
    };
    assert_eq!(model.api_key.as_deref(), Some("sk-1234567"));
    assert_eq!(model.max_attempts, 3);
    let ModelSettings::Scripted(replay) = &deployment.model("replay").unwrap().settings else {
        panic!()
    };
    assert_eq!(replay.script, Script::File(dir.join("replies.yaml")));
    let agent = deployment.agent("agent").unwrap();
    assert_eq!(
        (agent.model.as_str(), agent.assembly.as_str()),
        ("model", "tools")
    );
    assert_eq!(
        agent.settings.parameters,
        [("city".to_owned(), "Oslo".to_owned())]
    );
    assert!(agent.settings.undefined_tool_recovery.expose);
    let watched: Vec<_> = loaded
        .files
        .iter()
        .map(|file| file.strip_prefix(&dir).unwrap().display().to_string())
        .collect();
    for file in [
        "everything.yaml",
        "catalog.jsonl",
        "replies.yaml",
        "skills",
        "more-servers.yaml",
    ] {
        assert!(
            watched.iter().any(|seen| seen == file),
            "{file} of {watched:?}"
        );
    }
}

#[test]
fn json_is_a_deployment_too_and_may_name_its_schema() {
    let loaded = load("smallest.json");
    let SourceSettings::Sim(sim) = &loaded.deployment.sources[0].settings else {
        panic!()
    };
    assert_eq!(sim.tools.as_ref().unwrap()[0].description, "😀");
    assert!(loaded.deployment.assemblies[0].dynamic.is_some());
}

#[test]
fn absent_settings_have_the_defaults_of_the_specification() {
    let loaded = text(
        "resources:\n  m: {kind: tool.Source, impl: mcp, settings: {servers: [{name: a, transport: stdio, command: c}]}}\n  t: {kind: tool.Assembly, impl: middleware, deps: {tool: m}, settings: {dynamic: {}, middlewares: {result_limit: {max: 10}}}}\n",
    );
    let settings = mcp(&loaded, "m");
    assert_eq!(settings.liveness, Liveness::Every(Duration::from_secs(15)));
    assert_eq!(settings.connect_timeout, Duration::from_secs(30));
    assert_eq!(settings.backoff.max, Duration::from_secs(30));
    let server = &settings.servers[0];
    assert_eq!(
        (server.prefix().as_str(), server.resources, server.required),
        ("a__", false, false)
    );
    assert_eq!(server.protocol, Protocol::Auto);
    let assembly = &loaded.deployment.assemblies[0];
    let dynamic = assembly.dynamic.as_ref().unwrap();
    assert_eq!(dynamic.default, Mode::Deferred);
    assert_eq!(
        dynamic.budget,
        BudgetSettings {
            max_definitions: 32,
            max_bytes: 16384
        }
    );
    assert_eq!(
        dynamic.discovery,
        PoolSettings {
            max_tools: 32,
            max_bytes: 16384,
            idle_rounds: 10
        }
    );
    let layers = assembly.middlewares.as_ref().unwrap();
    assert_eq!(layers.part_budget(), Some(1024 * 1024));
    assert_eq!(
        layers.result_limit.as_ref().unwrap().marker,
        "…[result truncated]"
    );
    assert!(!layers.recover);
    let bare = text(
        "resources:\n  s: {kind: tool.Source, impl: sim}\n  t: {kind: tool.Assembly, impl: middleware, deps: {tool: s}}\n",
    );
    assert_eq!(
        bare.deployment.assemblies[0].middlewares,
        Some(MiddlewareSettings::default())
    );
}

#[test]
fn the_pool_follows_the_budget_and_old_keys_seed_idle_rounds() {
    for (name, dynamic, expected) in [
        (
            "budget",
            "budget: {max_definitions: 5, max_bytes: 100}",
            (5, 100, 10),
        ),
        (
            "zero is the default",
            "budget: {max_definitions: 5}, discovery: {max_tools: 0, max_bytes: 0, idle_rounds: 0}",
            (5, 16384, 10),
        ),
        (
            "the larger old key wins",
            "recent_window: 4, selected_retention: 7",
            (32, 16384, 7),
        ),
        ("zero seeds nothing", "recent_window: 0", (32, 16384, 10)),
        (
            "the new key wins",
            "recent_window: 4, discovery: {idle_rounds: 2}",
            (32, 16384, 2),
        ),
        (
            "from a variable",
            "discovery: {idle_rounds: ${env:NUMBER}}",
            (32, 16384, 12),
        ),
    ] {
        let loaded = text(&format!(
            "resources:\n  s: {{kind: tool.Source, impl: sim}}\n  t: {{kind: tool.Assembly, impl: memory, deps: {{tool: s}}, settings: {{dynamic: {{{dynamic}}}}}}}\n"
        ));
        let pool = loaded.deployment.assemblies[0]
            .dynamic
            .as_ref()
            .unwrap()
            .discovery;
        assert_eq!(
            (pool.max_tools, pool.max_bytes, pool.idle_rounds),
            expected,
            "{name}"
        );
    }
}

#[test]
fn only_what_landed_in_a_string_setting_is_secret() {
    let loaded = text(
        "resources:\n  m: {kind: tool.Source, impl: mcp, settings: {servers: [{name: a, transport: stdio, command: c, resources: ${env:FLAG}, liveness: ${env:BOUND}, env: {T: ${env:MCP_TOKEN}, S: ${env:SHORT}, E: ${env:EMPTY}, H: ${env:HOME}}}]}}\n  t: {kind: tool.Assembly, impl: memory, deps: {tool: m}}\n",
    );
    assert_eq!(
        loaded
            .secrets
            .mask("true 250ms hunter2-hunter2 abc /home/me"),
        "true 250ms •••• abc /home/me"
    );
    let TransportSettings::Stdio { env, .. } = &mcp(&loaded, "m").servers[0].transport else {
        panic!()
    };
    assert_eq!(env[2], ("E".to_owned(), String::new()));
}

#[test]
fn resources_are_in_build_order_and_keep_their_place() {
    let loaded = text(
        "resources:\n  agent: {kind: agent.Loop, impl: rounds}\n  tools: {kind: tool.Assembly, impl: memory, deps: {tool: [skills, skills], tool.b: b}}\n  skills: {kind: tool.Source, impl: skills, deps: {mcp: [m]}, settings: {dir: skills}}\n  b: {kind: tool.Source, impl: sim}\n  m: {kind: tool.Source, impl: mcp, settings: {servers: [{name: a, transport: stdio, command: c}]}}\n  model: {kind: inference.Model, impl: scripted, settings: {replies: []}}\n",
    );
    let sources: Vec<_> = loaded
        .deployment
        .sources
        .iter()
        .map(|source| (source.name.as_str(), source.place))
        .collect();
    assert_eq!(sources, [("b", 3), ("m", 4), ("skills", 2)]);
    assert_eq!(loaded.deployment.sources[2].deps, ["m"]);
    assert_eq!(loaded.deployment.assemblies[0].sources, ["skills", "b"]);
    let agent = &loaded.deployment.loops[0];
    assert_eq!(
        (agent.model.as_str(), agent.assembly.as_str()),
        ("model", "tools")
    );
}

#[test]
fn a_scenario_holds_a_deployment_beside_its_own_keys() {
    let path = fixtures("deployment/scenario.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut root = parse(&text, Syntax::Yaml, Budget::default())
        .unwrap()
        .unwrap();
    let dir = fixtures("deployment");
    let secrets = Secrets::default();
    let reading = Reading::new("scenario.yaml", &dir, &Variables, secrets);
    reading.repeated_keys(&Value::root(&root));
    // Only the deployment is expanded: the rounds are the scenario's own.
    reading.expand(&mut root.entry_mut("resources").unwrap().value, "resources");
    let root = Value::root(&root);
    let origin = Origin {
        name: reading.file().clone(),
        text: text.as_str().into(),
        base_dir: dir.clone(),
    };
    let deployment = read_resources(&reading, &root.get("resources").unwrap(), origin);
    assert_eq!(
        root.at("rounds[0].calls[0].arguments.query").text(),
        Some("${apple}")
    );
    let deployment = reading.finish(deployment).unwrap().value;
    assert_eq!(
        deployment.assemblies[0]
            .dynamic
            .as_ref()
            .unwrap()
            .discovery
            .max_bytes,
        40000
    );
}

#[test]
fn the_part_budget_may_stand_beside_the_layers_and_the_inner_one_goes_before() {
    for (settings, expected) in [
        ("result_part_budget_bytes: 5", Some(5)),
        ("result_part_budget_bytes: 5, middlewares: {}", Some(5)),
        (
            "result_part_budget_bytes: 5, middlewares: {result_part_budget_bytes: 7}",
            Some(7),
        ),
        (
            "middlewares: {result_part_budget_bytes: 7, result_limit: {max: 1, part_budget_bytes: 9}}",
            Some(9),
        ),
        (
            "middlewares: {result_part_budget_bytes: 7, result_limit: {max: 1, part_budget_bytes: 0}}",
            None,
        ),
        ("middlewares: {result_part_budget_bytes: 0}", None),
    ] {
        let loaded = text(&format!(
            "resources:\n  s: {{kind: tool.Source, impl: sim}}\n  t: {{kind: tool.Assembly, impl: middleware, deps: {{tool: s}}, settings: {{{settings}}}}}\n"
        ));
        let layers = loaded.deployment.assemblies[0]
            .middlewares
            .as_ref()
            .unwrap();
        assert_eq!(layers.part_budget(), expected, "{settings}");
    }
}
