//! Rules 7.5 and 7.6 over small catalogs, and the index against one that is built anew.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn everything(_: &str) -> bool {
    true
}

fn index(tools: &[(&str, &str)]) -> Index {
    let schema = json!({});
    let mut index = Index::default();
    index.update(
        [],
        tools.iter().map(|(name, text)| doc(name, text, &schema)),
    );
    index
}

fn doc<'a>(name: &'a str, description: &'a str, schema: &'a Value) -> Document<'a> {
    Document {
        name,
        server: None,
        title: None,
        description,
        schema,
    }
}

fn found(index: &Index, query: &str) -> Vec<String> {
    let hits = index.rank(query, 20, &everything);
    hits.iter().map(|hit| hit.name.to_string()).collect()
}

#[test]
fn plural_and_verb_endings_do_not_matter() {
    let index = index(&[
        ("t1", "deletes repositories"),
        ("t2", "creating a branch"),
        ("t3", "other"),
    ]);
    for (query, expected) in [
        ("delete repository", "t1"),
        ("deleting", "t1"),
        ("created branches", "t2"),
    ] {
        assert_eq!(found(&index, query), [expected], "{query}");
    }
}

#[test]
fn identifiers_in_names_and_queries_are_split() {
    let index = index(&[("getHTTPUser_by-id", ""), ("put_order", "")]);
    for query in ["user", "http", "getHTTPUser", "id", "gethttpuser"] {
        assert_eq!(found(&index, query), ["getHTTPUser_by-id"], "{query}");
    }
}

#[test]
fn a_query_word_that_is_the_start_of_an_indexed_word_matches_weakly() {
    let index = index(&[
        ("t1", "authenticate somebody"),
        ("t2", "auth somebody"),
        ("t3", "somebody"),
    ]);
    assert_eq!(found(&index, "auth"), ["t2", "t1"]);
    assert_eq!(found(&index, "authentica"), ["t1"]);
    assert_eq!(found(&index, "a"), [""; 0], "it says nothing");
    let index = self::index(&[("t1", "zebra"), ("t2", "works")]);
    assert_eq!(found(&index, "z"), ["t1"]);
    assert_eq!(
        found(&index, "z works"),
        ["t2"],
        "one letter starts everything"
    );
}

#[test]
fn a_name_of_stop_words_is_found_by_its_name_alone() {
    let index = index(&[
        ("do_it_now", "Starts the pump."),
        ("about", "Tells the version."),
        ("pump", "What it does now, and how."),
    ]);
    assert_eq!(found(&index, "do_it_now"), ["do_it_now"]);
    assert_eq!(found(&index, "about"), ["about"]);
    assert_eq!(found(&index, "do it now pump")[0], "pump");
    assert_eq!(found(&index, "how"), [""; 0], "it stands in no name");
}

#[test]
fn another_word_for_it_matches_more_weakly_than_the_word() {
    let index = index(&[
        ("t1", "delete things"),
        ("t2", "remove things"),
        ("t3", "see"),
    ]);
    assert_eq!(found(&index, "remove"), ["t2", "t1"]);
}

#[test]
fn cjk_text_is_found_by_characters_and_pairs() {
    let index = index(&[
        ("t1", "查询余票信息"),
        ("t2", "信用查询"),
        ("t3", "天气预报"),
    ]);
    assert_eq!(found(&index, "余票"), ["t1"]);
    assert_eq!(found(&index, "天"), ["t3"]);
    assert_eq!(found(&index, "信息")[0], "t1");
    assert_eq!(found(&index, "查询").len(), 2);
}

#[test]
fn every_field_is_searched_and_the_name_counts_most() {
    let schema = json!({"properties": {
        "invoice": {"description": "the harbour", "enum": ["lantern"]},
    }});
    let mut index = Index::default();
    let all = Document {
        server: Some("zephyr"),
        title: Some("Gondola"),
        ..doc("zephyr__walrus", "cobalt", &schema)
    };
    let other = json!({});
    index.update(
        [],
        [
            all,
            doc("cobalt", "walrus", &other),
            doc("filler", "", &other),
        ],
    );
    for query in ["zephyr", "gondola", "invoices", "harbours", "lanterns"] {
        assert_eq!(found(&index, query), ["zephyr__walrus"], "{query}");
    }
    assert_eq!(found(&index, "walrus"), ["zephyr__walrus", "cobalt"]);
    assert_eq!(found(&index, "cobalt"), ["cobalt", "zephyr__walrus"]);
}

#[test]
fn ties_go_by_name_and_the_limit_and_the_filter_hold() {
    let index = index(&[("c", "same text"), ("a", "same text"), ("b", "same text")]);
    assert_eq!(found(&index, "text"), ["a", "b", "c"]);
    let hits = index.rank("text", 1, &|name| name != "a");
    assert_eq!(hits.len(), 1);
    assert_eq!(&*hits[0].name, "b");
    assert_eq!(index.rank("text", 0, &everything), []);
}

#[test]
fn a_query_without_a_known_word_finds_nothing() {
    let index = index(&[("tool", "text")]);
    for query in ["", "  ", "the of a", "unheard", "🙂"] {
        assert_eq!(found(&index, query), [""; 0], "{query}");
    }
    assert_eq!(found(&Index::default(), "text"), [""; 0]);
}

#[test]
fn one_changed_tool_is_found_by_its_new_text_alone() {
    let mut index = index(&[("a", "old words"), ("b", "other words")]);
    let schema = json!({});
    index.update(["b"], [doc("a", "new words", &schema)]);
    assert_eq!(found(&index, "old"), [""; 0]);
    assert_eq!(found(&index, "words"), ["a"]);
    assert_eq!(index.len(), 1);
}

#[test]
fn the_dictionary_forgets_what_no_tool_says_any_more() {
    let mut index = Index::default();
    let schema = json!({});
    for round in 0..200 {
        let text = format!("word{round} text");
        index.update([], [doc("a", &text, &schema)]);
    }
    index.update(["a"], []);
    assert!(index.is_empty());
    assert_eq!(index.words().len(), (0, 0));
}

#[test]
fn explain_adds_up_to_the_score_and_names_word_field_and_kind() {
    let schema = json!({"properties": {"path": {"description": "file to read"}}});
    let mut index = Index::default();
    let other = json!({});
    index.update(
        [],
        [
            doc("fs__read_file", "Reads a document", &schema),
            doc("x__other", "nothing", &other),
        ],
    );
    let explained = index.rank_explained("read documents fil", 5, &everything);
    assert_eq!(explained.len(), 1);
    let one = &explained[0];
    let sum: f64 = one.matches.iter().map(|m| m.score).sum();
    assert!((sum - one.score).abs() < 1e-9);
    let mut seen: Vec<_> = one
        .matches
        .iter()
        .map(|m| (m.word.as_str(), m.term.as_str(), m.kind, m.field))
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            (
                "documents",
                "document",
                MatchKind::Exact,
                Field::Description
            ),
            ("fil", "file", MatchKind::Prefix, Field::Name),
            ("fil", "file", MatchKind::Prefix, Field::ParameterText),
            ("read", "read", MatchKind::Exact, Field::Name),
            ("read", "read", MatchKind::Exact, Field::Description),
            ("read", "read", MatchKind::Exact, Field::ParameterText),
        ]
    );
}

/// Words that share stems, starts of words and of stems, synonyms.
const VOCABULARY: [&str; 16] = [
    "read", "readi", "reading", "readings", "file", "files", "fi", "delete", "remove", "user",
    "userId", "信息", "mail", "email", "now", "about",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&VOCABULARY[..]), 0..7)
        .prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn an_index_updated_tool_by_tool_ranks_exactly_like_one_built_anew(
        steps in prop::collection::vec((0..8_u8, prop::option::weighted(0.75, text())), 1..40),
        query in text(),
    ) {
        let schema = json!({"properties": {"user": {"description": "file"}}});
        let mut tools: BTreeMap<String, String> = BTreeMap::new();
        let mut updated = Index::default();
        for (tool, text) in steps {
            let name = ["s__tool", "s__now"][usize::from(tool % 2)];
            let name = format!("{name}_{tool}");
            match text {
                Some(text) => {
                    updated.update([], [doc(&name, &text, &schema)]);
                    tools.insert(name, text);
                }
                None => {
                    updated.update([name.as_str()], []);
                    tools.remove(&name);
                }
            }
        }
        let mut anew = Index::default();
        anew.update([], tools.iter().rev().map(|(name, text)| doc(name, text, &schema)));
        let expected = anew.rank_explained(&query, 20, &everything);
        prop_assert_eq!(updated.rank_explained(&query, 20, &everything), expected);
        prop_assert_eq!(updated.words().len(), anew.words().len());
    }
}
