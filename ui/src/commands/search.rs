//! `search`: the ranking of `tool_search`, without a session.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib::discovery::search::{Explained, Match, MatchKind};
use toolcrib::runtime::Runtime;

use super::Failure;
use super::headless::{settled, with_runtime};
use super::output::{Look, Out, Tone};
use super::table::{Cell, Table};
use crate::cli::{self, Global};
use crate::opening::Opened;

/// What is asked.
pub(crate) enum Queries {
    /// One query.
    One(String),
    /// One query for each line of a file.
    Batch(Vec<String>),
}

impl Queries {
    /// The query, or those of the file.
    ///
    /// # Errors
    /// When there is nothing to ask, or the file cannot be read.
    pub(crate) fn read(args: &cli::Search) -> Result<Self, Failure> {
        match (&args.batch, &args.query) {
            (Some(file), _) => {
                let text = read(file).map_err(|error| {
                    let file = file.display();
                    Failure::Usage(format!("cannot read the queries of `{file}`: {error}"))
                })?;
                Ok(Self::Batch(text.lines().map(str::to_owned).collect()))
            }
            (None, Some(query)) if !query.trim().is_empty() => Ok(Self::One(query.clone())),
            (None, Some(_)) => Err(Failure::Usage("the query is blank".into())),
            (None, None) => Err(Failure::Usage(
                "give a query, or `--batch FILE` with one on each line".into(),
            )),
        }
    }
}

fn read(file: &Path) -> std::io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}

/// A tool that was found, with the place it comes from.
struct Hit {
    found: Explained,
    source: Option<String>,
    server: Option<String>,
}

/// Ranks the tools and prints the best of them.
pub(crate) async fn run(
    opened: &Opened,
    global: &Global,
    args: &cli::Search,
    queries: &Queries,
) -> Result<(), Failure> {
    with_runtime(opened, global.assembly.as_deref(), async |runtime| {
        settled(runtime, global.wait).await?;
        let mut out = Out::stdout(global.ascii);
        match queries {
            // One line each, at a terminal too: lines are what was asked for.
            Queries::Batch(queries) => {
                for query in queries {
                    let answer = answer(query, &hits(runtime, query, args.limit));
                    out.line(&opened.secrets.mask_json(&answer).to_string());
                }
            }
            Queries::One(query) if args.json => {
                let answer = answer(query, &hits(runtime, query, args.limit));
                out.json(&opened.secrets.mask_json(&answer));
            }
            Queries::One(query) => {
                let hits = hits(runtime, query, args.limit);
                if hits.is_empty() {
                    eprintln!("no tool fits; `toolcrib tools` lists them all");
                } else {
                    for line in lines(&hits, args.explain, &out.look()) {
                        out.line(&opened.secrets.mask(&line));
                    }
                }
            }
        }
        out.finish()
    })
    .await
}

/// The best tools for a query, the best first.
fn hits(runtime: &Runtime, query: &str, limit: usize) -> Vec<Hit> {
    let catalog = runtime.executor().registry().catalog();
    let found = runtime.discovery().search(query, limit);
    let with_owner = |found: Explained| {
        let owner = catalog.get(&found.name).map(|entry| &entry.owner);
        Hit {
            source: owner.map(|owner| owner.source.to_string()),
            server: owner.and_then(|owner| owner.server.as_deref().map(str::to_owned)),
            found,
        }
    };
    found.into_iter().map(with_owner).collect()
}

/// The answer to one query in JSON.
fn answer(query: &str, hits: &[Hit]) -> Value {
    let hit = |hit: &Hit| {
        json!({
            "name": hit.found.name,
            "score": hit.found.score,
            "source": hit.source,
            "server": hit.server,
            "matches": hit.found.matches,
        })
    };
    json!({"query": query, "hits": hits.iter().map(hit).collect::<Vec<_>>()})
}

fn lines(hits: &[Hit], explain: bool, look: &Look) -> Vec<String> {
    let mut table = Table::new(["TOOL", "SCORE", "SOURCE"]);
    for hit in hits {
        let source = hit.source.as_deref().unwrap_or_default();
        let owner = match &hit.server {
            Some(server) => format!("{source}/{server}"),
            None => source.to_owned(),
        };
        table.row([
            Cell::new(look.line(&hit.found.name)),
            Cell::number(format!("{:.2}", hit.found.score)),
            Cell::new(look.line(&owner)),
        ]);
    }
    let mut rows = table.lines(look).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (row, hit) in rows.zip(hits) {
        lines.push(row);
        if explain {
            lines.extend(hit.found.matches.iter().map(|found| reason(found, look)));
        }
    }
    lines
}

/// `  +1.20  read -> read, in the name`
fn reason(found: &Match, look: &Look) -> String {
    let how = match found.kind {
        MatchKind::Exact => "",
        MatchKind::Prefix => ", as its beginning",
        MatchKind::Synonym => ", as another word for it",
    };
    let text = format!(
        "  +{:.2}  `{}` matches `{}` in the {}{how}",
        found.score,
        found.word,
        found.term,
        found.field.as_str().replace('_', " ")
    );
    look.paint(Tone::Quiet, &look.line(&text))
}
