//! `recall`: how well the ranking serves labelled queries.

use std::path::Path;

use serde_json::json;
use toolcrib::discovery::recall::{LabelledQuery, Recall, measure};

use super::Failure;
use super::headless::{settled, with_runtime};
use super::output::{Look, Out, Tone};
use super::table::{Cell, Table};
use crate::cli::{self, Global};
use crate::opening::Opened;

/// Reads the labelled queries of a file, one JSON object on each line; blank lines are passed over.
///
/// # Errors
/// When it cannot be read, a line is no labelled query, or there is none.
pub(crate) fn read(file: &Path) -> Result<Vec<LabelledQuery>, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::Usage(format!(
            "cannot read the labelled queries of `{name}`: {error}"
        ))
    })?;
    let lines = text.lines().enumerate();
    let queries: Vec<LabelledQuery> = lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| {
                Failure::Usage(format!(
                    "{name}:{}:{}: no labelled query, which is `{{\"id\", \"query\", \
                     \"relevant\": [names]}}`: {error}",
                    index + 1,
                    error.column().max(1)
                ))
            })
        })
        .collect::<Result<_, _>>()?;
    if queries.is_empty() {
        return Err(Failure::Usage(format!(
            "`{name}` has no labelled query; each is `{{\"id\", \"query\", \"relevant\": [names]}}` on \
             its own line"
        )));
    }
    Ok(queries)
}

/// Asks every query of the deployment's tools and prints the figures.
pub(crate) async fn run(
    opened: &Opened,
    global: &Global,
    args: &cli::Recall,
    queries: &[LabelledQuery],
) -> Result<(), Failure> {
    with_runtime(opened, global.assembly.as_deref(), async |runtime| {
        settled(runtime, global.wait).await?;
        let view = runtime.discovery().view();
        let unknown = unknown(queries, |name| {
            view.index.names().any(|known| **known == *name)
        });
        if let Some(first) = unknown.first() {
            tracing::warn!(
                "{} of the labelled names are no searchable tool of this deployment, the first \
                 is `{first}`",
                unknown.len()
            );
        }
        let recall = measure(&*view.index, queries, &|_| true);
        let mut out = Out::stdout(global.ascii);
        if args.json {
            let value = json!(recall);
            out.json(&opened.secrets.mask_json(&value));
        } else {
            for line in lines(&recall, &out.look()) {
                out.line(&opened.secrets.mask(&line));
            }
        }
        out.finish()
    })
    .await
}

/// The labelled names that nothing can find, each once.
fn unknown(queries: &[LabelledQuery], known: impl Fn(&str) -> bool) -> Vec<&str> {
    let groups = queries.iter().filter_map(|query| query.groups.as_ref());
    let relevant = queries.iter().flat_map(|query| &query.relevant);
    let mut names: Vec<&str> = groups
        .flatten()
        .flatten()
        .chain(relevant)
        .map(|n| &**n)
        .collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !known(name));
    names
}

fn lines(recall: &Recall, look: &Look) -> Vec<String> {
    let mut table = Table::new(["FIGURE", "VALUE"]);
    table.row([Cell::new("queries"), Cell::number(recall.queries)]);
    for (depth, value) in &recall.recall {
        let name = format!("recall@{depth}");
        table.row([Cell::new(name), Cell::number(format!("{value:.3}"))]);
    }
    table.row([Cell::new("MRR"), Cell::number(format!("{:.3}", recall.mrr))]);
    table.row([
        Cell::new("nDCG@10"),
        Cell::number(format!("{:.3}", recall.ndcg10)),
    ]);
    table.row([Cell::new("missed"), Cell::number(recall.misses.len())]);
    let mut lines = table.lines(look);
    for miss in &recall.misses {
        lines.push(String::new());
        let head = format!("{}  {}", miss.id, miss.query);
        lines.push(look.paint(Tone::Strong, &look.line(&head)));
        lines.push(look.line(&format!("  wanted  {}", miss.relevant.join(", "))));
        lines.push(look.line(&format!("  got     {}", miss.got.join(", "))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_labelled_query_is_named_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("q.jsonl");
        let good = r#"{"id": "1", "query": "q", "relevant": ["a"]}"#;
        std::fs::write(&file, format!("{good}\n\n{{\"id\": 1}}\n")).unwrap();
        let failure = read(&file).unwrap_err();
        assert_eq!(failure.code(), 2);
        let place = format!("{}:3:", file.display());
        assert!(failure.to_string().contains(&place), "{failure}");
        std::fs::write(&file, format!("{good}\n\n")).unwrap();
        assert_eq!(read(&file).unwrap().len(), 1);
        std::fs::write(&file, "\n\n").unwrap();
        let failure = read(&file).unwrap_err();
        assert_eq!(failure.code(), 2);
        let named = format!("`{}` has no labelled query", file.display());
        assert!(failure.to_string().contains(&named), "{failure}");
    }

    #[test]
    fn labelled_names_that_no_tool_has_are_counted_once() {
        let query = |relevant: &[&str], group: &[&str]| LabelledQuery {
            id: String::new(),
            query: String::new(),
            relevant: relevant.iter().map(|name| (*name).into()).collect(),
            groups: Some(vec![group.iter().map(|name| (*name).into()).collect()]),
        };
        let queries = [query(&["a", "x"], &["a", "y"]), query(&["x"], &["b"])];
        assert_eq!(
            unknown(&queries, |name| ["a", "b"].contains(&name)),
            ["x", "y"]
        );
    }
}
