//! How fast the index is built, a query is ranked and a visible set is computed, over 10,000 tools
//! made from the fixture. Run with `cargo bench --bench discovery`.

#![expect(
    clippy::expect_used,
    reason = "a bench without its data has nothing to measure"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use toolcrib::discovery::search::{Document, Index, Ranker as _};
use toolcrib::discovery::{DynamicSettings, Exposures, PoolEntry, visible_set};
use toolcrib::registry::{Owner, Registry};
use toolcrib::tool::{Definition, Invocation, SharedTool, Tool, ToolResult};

const TOOLS: usize = 10_000;
const POOL: u32 = 200;

struct Line {
    name: String,
    server: String,
    description: String,
    schema: Value,
}

fn json_lines(file: &str) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/discovery/livemcp");
    let text = std::fs::read_to_string(root.join(file)).expect("the fixture is there");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("the fixture is valid"))
        .collect()
}

/// The fixture over and over, under other names.
fn tools() -> Vec<Line> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let lines = json_lines("tools.jsonl");
    (0..TOOLS)
        .map(|n| {
            let line = &lines[n % lines.len()];
            Line {
                name: format!("{}_{n}", text(line, "name")),
                server: text(line, "server"),
                description: text(line, "description"),
                schema: line["input_schema"].clone(),
            }
        })
        .collect()
}

fn document(line: &Line) -> Document<'_> {
    Document {
        name: &line.name,
        server: Some(&line.server),
        title: None,
        description: &line.description,
        schema: &line.schema,
    }
}

fn search(c: &mut Criterion) {
    let tools = tools();
    let build = || {
        let mut index = Index::default();
        index.update([], tools.iter().map(document));
        index
    };
    c.benchmark_group("index")
        .sample_size(10)
        .bench_function("build 10,000 tools", |b| {
            b.iter(build);
        });
    let mut index = build();
    c.bench_function("index/change one of 10,000 tools", |b| {
        b.iter(|| index.update([], [document(&tools[500])]));
    });
    let queries: Vec<String> = json_lines("queries.jsonl")
        .iter()
        .filter(|line| line["id"].as_str().is_some_and(|id| id.contains("agent")))
        .filter_map(|line| line["query"].as_str().map(str::to_owned))
        .collect();
    let mut next = queries.iter().cycle();
    c.bench_function("query/top 8 of 10,000 tools", |b| {
        b.iter(|| next.next().map(|query| index.rank(query, 8, &|_| true)));
    });
}

struct Still(Definition);

impl Tool for Still {
    fn definition(&self) -> Definition {
        self.0.clone()
    }
    fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { ToolResult::text("") })
    }
}

fn visible(c: &mut Criterion) {
    let registry = Registry::new();
    let tools: Vec<SharedTool> = tools()
        .into_iter()
        .filter_map(|l| Definition::new(l.name, l.description, l.schema).ok())
        .map(|definition| Arc::new(Still(definition)) as SharedTool)
        .collect();
    let owner = Owner::source("bench", 0);
    let published = registry.publish(&owner, tools);
    published.now_or_never().expect("nothing is closed");
    let exposures = Exposures::new(
        &registry.catalog(),
        Some(Arc::new(DynamicSettings::default())),
    );
    let pool: Vec<PoolEntry> = registry
        .catalog()
        .definitions()
        .step_by(TOOLS / POOL as usize)
        .zip(0..POOL)
        .map(|(definition, n)| PoolEntry {
            name: definition.shared_name(),
            bytes: definition.bytes(),
            last_used: n % 7,
            rank: n % 8,
            sequence: u64::from(n),
        })
        .collect();
    let required = BTreeSet::new();
    c.bench_function("visible set/10,000 tools, pool of 200", |b| {
        b.iter(|| visible_set(&exposures, &required, &pool));
    });
}

criterion_group!(benches, search, visible);
criterion_main!(benches);
