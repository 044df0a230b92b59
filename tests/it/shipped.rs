//! Every file under `config/` is one that works.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib::deployment::{Deployment, SourceSettings, Supplied, load_file, load_text};
use toolcrib::discovery::Mode;
use toolcrib::registry::Registry;
use toolcrib::runtime::{Options, Runtime};
use toolcrib::scenario::{self, Player, Stage};
use toolcrib::source::sim::SimSource;
use toolcrib::source::skills::SkillsSettings;
use toolcrib::tool::Invocation;

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config")
}

/// What the files expect of the environment, or the program supplies.
fn variables() -> Supplied<'static> {
    Supplied::only([
        ("TOOLCRIB_DEMO_URL", "http://127.0.0.1:1/mcp"),
        ("TOOLCRIB_DEMO_API", "http://127.0.0.1:1/api"),
        ("TOOLCRIB_DEMO_KEY", "demo"),
        ("TOOLCRIB_DEMO_STARTED", "1700000000"),
        ("MCP_URL", "https://mcp.example.com/mcp"),
        ("MCP_TOKEN", "not-a-real-token"),
    ])
}

fn deployments_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            deployments_below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy();
            // Skills are read by the deployments that name their directory.
            let is_skill = name.ends_with(".skill.yaml") || name.ends_with(".toolset.yaml");
            // A scenario has `rounds`; it is loaded by its own tests.
            if !is_skill && !text.lines().any(|line| line.starts_with("rounds:")) {
                found.push(path);
            }
        }
    }
}

fn demo() -> Deployment {
    let loaded = load_file(&config().join("demo.yaml"), &variables()).unwrap();
    loaded.deployment
}

#[test]
fn every_deployment_loads_without_a_warning() {
    let mut files = Vec::new();
    deployments_below(&config(), &mut files);
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let loaded = load_file(&file, &variables());
        let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(loaded.warnings, [], "{}", file.display());
        assert!(
            !loaded.deployment.assemblies.is_empty(),
            "{}",
            file.display()
        );
    }
}

#[test]
fn the_demo_is_the_same_embedded_as_from_its_file() {
    let text = include_str!("../../config/demo.yaml");
    let files = std::fs::read_dir(config().join("skills")).unwrap();
    let files = files.map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    });
    let environment = variables().with_directory("/nowhere/skills", files);
    let embedded = load_text("demo", text, Path::new("/nowhere"), &environment).unwrap();
    assert_eq!(
        embedded.files,
        [""; 0].map(PathBuf::from),
        "nothing is read from the disk"
    );
    let (embedded, file) = (embedded.deployment, demo());
    let mut compared = 0;
    for (embedded, file) in embedded.sources.iter().zip(&file.sources) {
        match (&embedded.settings, &file.settings) {
            (SourceSettings::Skills(embedded), SourceSettings::Skills(file)) => {
                let texts = |settings: &SkillsSettings| -> Vec<Arc<str>> {
                    let files = settings.library.files.iter();
                    files.map(|(_, text)| Arc::clone(text)).collect()
                };
                assert_eq!(texts(embedded), texts(file));
                assert_eq!(embedded.tools.len(), file.tools.len());
            }
            _ => assert_eq!(embedded, file),
        }
        compared += 1;
    }
    assert_eq!(compared, file.sources.len());
    assert_eq!(embedded.assemblies, file.assemblies);
}

#[test]
fn nothing_in_the_demo_is_secret() {
    let loaded = load_file(&config().join("demo.yaml"), &variables()).unwrap();
    assert!(loaded.secrets.is_empty());
}

#[tokio::test]
async fn the_demo_names_only_tools_that_exist_and_simulates_about_forty() {
    let demo = demo();
    let registry = Arc::new(Registry::new());
    let mut sources = Vec::new();
    for source in &demo.sources {
        if let SourceSettings::Sim(settings) = &source.settings {
            let name = Arc::from(source.name.as_str());
            let started = SimSource::start(name, source.place, settings, Arc::clone(&registry));
            sources.push(started.await.unwrap());
        }
    }
    let catalog = registry.catalog();
    assert!((38..=44).contains(&catalog.len()), "{}", catalog.len());
    let dynamic = demo.assemblies[0].dynamic.as_ref().unwrap();
    // Tools of the real servers are known only once those run.
    let served = ["clock__", "files__", "web__", "harbour_", "measure_"];
    for (pattern, _) in dynamic.exposures.iter() {
        let simulated = catalog
            .definitions()
            .any(|definition| toolcrib::registry::glob_matches(pattern, definition.name()));
        let of_a_server = served.iter().any(|prefix| pattern.starts_with(prefix));
        assert!(simulated || of_a_server, "`{pattern}` matches nothing");
    }
    let too_large: Vec<&str> = catalog
        .definitions()
        .filter(|definition| definition.bytes() > dynamic.discovery.max_bytes)
        .map(|definition| definition.name())
        .collect();
    assert_eq!(too_large, ["warehouse_everything"]);
    let mode = |name: &str| {
        dynamic
            .exposures
            .get(name)
            .copied()
            .unwrap_or(dynamic.default)
    };
    assert_eq!(mode("home_factory_reset"), Mode::Hidden);
}

#[tokio::test(start_paused = true)]
async fn every_simulated_tool_of_the_demo_ends_but_for_the_one_that_panics() {
    let demo = demo();
    let registry = Arc::new(Registry::new());
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in &demo.sources {
        let SourceSettings::Sim(settings) = &source.settings else {
            continue;
        };
        let name = Arc::from(source.name.as_str());
        let started = SimSource::start(name, source.place, settings, Arc::clone(&registry));
        let _source = started.await.unwrap();
        for entry in registry.catalog().entries() {
            let tool = Arc::clone(&entry.tool);
            let call = tokio::spawn(async move {
                let invocation = Invocation::bare(serde_json::Map::new());
                tool.execute(invocation).await
            });
            let kind = match call.await {
                Ok(result) => result.error_kind.map_or("ok", |kind| kind.as_str()),
                Err(_) => "panic",
            };
            let name = entry.definition.name().to_owned();
            kinds.entry(kind.to_owned()).or_default().push(name);
        }
    }
    assert_eq!(kinds["panic"], ["printer_print"]);
    assert!(kinds["tool"].contains(&"home_factory_reset".to_owned()));
    assert!(kinds["ok"].len() > 30, "{kinds:?}");
}

#[tokio::test(start_paused = true)]
async fn every_scenario_comes_as_it_expects() {
    let directory = config().join("scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let loaded = scenario::load_file(&file, &variables());
        let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
        let runtime = Runtime::start(&loaded.deployment, Options::default())
            .await
            .unwrap();
        let stage = Stage {
            executor: runtime.executor().clone(),
            discovery: Arc::clone(runtime.discovery()),
        };
        let trace = Player::new(loaded.scenario, stage).play().await.unwrap();
        let missed: Vec<_> = trace.missed.iter().map(ToString::to_string).collect();
        assert!(missed.is_empty(), "{}: {missed:#?}", file.display());
        runtime.shutdown().await;
    }
}
