//! The exact results of the cut, row by row, and the layer in a chain.

use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::middleware::settings::ResultLimitSettings;
use crate::middleware::{Chain, Endpoint};
use crate::registry::Catalog;
use crate::secrets::Secrets;
use crate::tool::{Call, ErrorKind, Part};

const MARK: &str = "…[result truncated]";

fn text(text: impl Into<String>) -> Part {
    Part::Text(text.into())
}

/// A data part whose JSON has exactly `bytes` bytes.
fn data(bytes: usize) -> Part {
    let part = |value: &str| Part::Data {
        value: json!(value),
        media_type: "j".into(),
    };
    let part = part(&"d".repeat(bytes - part("").encoded_len()));
    assert_eq!(part.encoded_len(), bytes);
    part
}

fn image() -> Part {
    Part::Image {
        bytes: Bytes::from_static(b"\x89PNG"),
        media_type: "image/png".into(),
    }
}

/// One row: its claim, `max`, marker, part budget, what goes in, what comes out.
type Row = (
    &'static str,
    Option<usize>,
    &'static str,
    Option<usize>,
    Vec<Part>,
    Vec<Part>,
);

fn rows() -> Vec<Row> {
    let x = |n: usize| "x".repeat(n);
    vec![
        (
            "text of exactly the bound passes",
            Some(5),
            "#",
            None,
            vec![text("abc"), text("de")],
            vec![text("abc"), text("de")],
        ),
        (
            "one more is cut with the marker inside the bound",
            Some(5),
            "#",
            None,
            vec![text("abcdef")],
            vec![text("abcd#")],
        ),
        (
            "scalar values count, not bytes",
            Some(4),
            "…",
            None,
            vec![text("äöü漢字")],
            vec![text("äöü…")],
        ),
        (
            "four scalar values of many bytes pass",
            Some(4),
            "…",
            None,
            vec![text("äö漢🦀")],
            vec![text("äö漢🦀")],
        ),
        (
            "a joined emoji is cut between its scalar values",
            Some(3),
            "#",
            None,
            vec![text("👩\u{200d}🚒x")],
            vec![text("👩\u{200d}#")],
        ),
        (
            "the default marker ends at the bound",
            Some(100),
            MARK,
            None,
            vec![text(x(1000))],
            vec![text(format!("{}{MARK}", x(81)))],
        ),
        (
            "a marker longer than the bound is cut to it",
            Some(3),
            "MARK",
            None,
            vec![text(x(1000))],
            vec![text("MAR")],
        ),
        (
            "a marker as long as the bound leaves no text",
            Some(4),
            "MARK",
            None,
            vec![text("abcde")],
            vec![text("MARK")],
        ),
        (
            "an empty marker leaves the text alone",
            Some(3),
            "",
            None,
            vec![text("abcde"), text("f")],
            vec![text("abc")],
        ),
        (
            "the count goes over all text parts",
            Some(6),
            "#",
            None,
            vec![text("abc"), text("def"), text("ghi")],
            vec![text("abc"), text("de#")],
        ),
        (
            "a part that just fits stays whole and the next one holds the marker alone",
            Some(4),
            "#",
            None,
            vec![text("abc"), text("def")],
            vec![text("abc"), text("#")],
        ),
        (
            "later text goes and other parts keep their place",
            Some(4),
            "#",
            None,
            vec![image(), text("abcdef"), image(), text("tail"), data(50)],
            vec![image(), text("abc#"), image(), data(50)],
        ),
        (
            "the marker alone follows a picture",
            Some(5),
            MARK,
            None,
            vec![image(), text(x(500))],
            vec![image(), text("…[res")],
        ),
        (
            "empty text before the cut stays and holds no marker",
            Some(2),
            "MARK",
            None,
            vec![text(""), text("abc"), text("")],
            vec![text(""), text("MA")],
        ),
        (
            "a part of exactly the budget stays",
            None,
            MARK,
            Some(60),
            vec![data(60)],
            vec![data(60)],
        ),
        (
            "a part over the budget goes and the marker says so",
            None,
            MARK,
            Some(59),
            vec![data(60)],
            vec![text(MARK)],
        ),
        (
            "the budget is spent in order and a later part may still fit",
            None,
            "#",
            Some(150),
            vec![data(100), text("t"), data(60), data(50)],
            vec![data(100), text("t"), data(50), text("#")],
        ),
        (
            "media count as base64",
            None,
            "#",
            Some(image().encoded_len() - 1),
            vec![image(), text("t")],
            vec![text("t"), text("#")],
        ),
        (
            "without a bound on text the marker costs nothing",
            None,
            MARK,
            Some(10),
            vec![text(x(5000)), data(60)],
            vec![text(x(5000)), text(MARK)],
        ),
        (
            "text and marker that fit together are left alone",
            Some(10),
            "MARK",
            Some(10),
            vec![text("abc"), data(60), text("def")],
            vec![text("abc"), text("def"), text("MARK")],
        ),
        (
            "text yields to the marker of dropped parts",
            Some(100),
            MARK,
            Some(64),
            vec![text(x(95)), data(2048)],
            vec![text(x(81)), text(MARK)],
        ),
        (
            "text of exactly the bound yields too",
            Some(6),
            "##",
            Some(10),
            vec![text("abcdef"), data(60)],
            vec![text("abcd"), text("##")],
        ),
        (
            "text that yields everything leaves no empty part",
            Some(4),
            "MARK",
            Some(10),
            vec![text("ab"), data(60), text("c")],
            vec![text("MARK")],
        ),
        (
            "yielding drops later text parts",
            Some(6),
            "##",
            Some(60),
            vec![text("abcd"), image(), data(61), text("ef")],
            vec![text("abcd"), image(), text("##")],
        ),
        (
            "both cuts at once leave one marker, in the text",
            Some(6),
            "##",
            Some(60),
            vec![data(61), text("abcdefgh"), data(60), text("i")],
            vec![text("abcd##"), data(60)],
        ),
        (
            "an empty text part that came so stays beside the marker",
            Some(9),
            "#",
            Some(10),
            vec![text(""), data(60)],
            vec![text(""), text("#")],
        ),
        (
            "nothing left and no marker is one empty text",
            None,
            "",
            Some(10),
            vec![data(60)],
            vec![text("")],
        ),
    ]
}

#[test]
fn the_cut_is_exact() {
    for (claim, max, marker, part_budget, parts, expected) in rows() {
        let bounds = Bounds {
            max,
            marker,
            part_budget,
        };
        let whole = parts == expected;
        let sizes = |parts: &[Part]| parts.iter().map(Part::encoded_len).sum::<usize>();
        let resized = (!whole).then(|| (sizes(&parts), sizes(&expected)));
        let limited = limit(parts, bounds, &|_, _| {});
        assert_eq!(limited.parts, expected, "{claim}");
        assert_eq!(limited.resized, resized, "{claim}");
        assert_eq!(limited.cut_bytes == 0, whole, "{claim}");
    }
}

#[test]
fn whatever_comes_in_the_text_stays_within_the_bound_and_has_one_marker() {
    use proptest::prelude::*;
    let part = prop_oneof![
        "[aä漢🦀]{0,12}".prop_map(text),
        (46usize..90).prop_map(data),
        Just(image()),
    ];
    let cases = (
        proptest::collection::vec(part, 0..6),
        proptest::option::of(1usize..20),
        "[<>]{1,6}",
        proptest::option::of(1usize..200),
    );
    proptest!(|((parts, max, marker, part_budget) in cases)| {
        let original = parts.clone();
        let bounds = Bounds { max, marker: &marker, part_budget };
        let limited = limit(parts, bounds, &|_, _| {});
        let all: String = limited.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        if let Some(max) = max {
            prop_assert!(all.chars().count() <= max);
        }
        let others = limited.parts.iter().filter(|part| part.kind() != "text");
        prop_assert!(others.map(Part::encoded_len).sum::<usize>() <= part_budget.unwrap_or(usize::MAX));
        prop_assert_eq!(limited.resized.is_none(), limited.parts == original);
        let shown: String = marker.chars().take(max.unwrap_or(usize::MAX)).collect();
        let marks = all.chars().filter(|c| "<>".contains(*c)).count();
        let expected = if limited.resized.is_some() { shown.chars().count() } else { 0 };
        prop_assert_eq!(marks, expected);
        let again = limit(limited.parts.clone(), bounds, &|_, _| {});
        prop_assert_eq!(again.parts, limited.parts);
    });
}

struct Gives(ToolResult);

impl Endpoint for Gives {
    fn finish(&self, _: Request) -> BoxFuture<'_, ToolResult> {
        let result = self.0.clone();
        Box::pin(async move { result })
    }
}

async fn run(settings: &MiddlewareSettings, tool: &str, result: ToolResult) -> (ToolResult, Chain) {
    let chain = Chain::new(vec![Arc::new(ResultLimit::new(settings).unwrap())]);
    let request = Request::new(Call::new(tool, json!({})), Arc::new(Catalog::default()));
    (chain.run(request, &Gives(result)).await, chain)
}

fn counters(chain: &Chain) -> Vec<u64> {
    let status = chain.status();
    status[0].counters.iter().map(|c| c.value).collect()
}

#[tokio::test]
async fn errors_are_limited_and_stay_errors() {
    let settings = MiddlewareSettings {
        result_limit: Some(ResultLimitSettings {
            max: 20,
            marker: MARK.into(),
            part_budget_bytes: None,
        }),
        ..MiddlewareSettings::default()
    };
    let error = ToolResult::error(ErrorKind::Tool, "y".repeat(500));
    let (result, chain) = run(&settings, "t", error).await;
    let expected = ToolResult {
        truncated: true,
        ..ToolResult::error(ErrorKind::Tool, format!("y{MARK}"))
    };
    assert_eq!(result, expected);
    assert_eq!(counters(&chain), [1, 1, 499]);
}

#[tokio::test]
async fn what_a_cut_leaves_of_a_secret_is_masked_like_the_secret() {
    let secrets = Secrets::default();
    secrets.add("hunter2-is-secret");
    let settings = MiddlewareSettings {
        result_limit: Some(ResultLimitSettings {
            max: 20,
            marker: "#".into(),
            part_budget_bytes: None,
        }),
        ..MiddlewareSettings::default()
    };
    let layer = ResultLimit::new(&settings).unwrap();
    let chain = Chain::new(vec![Arc::new(layer.keeping(secrets.clone()))]);
    for (text, cut, told) in [
        (
            "no lamp hunter2-is-secret",
            "no lamp hunter2-is-#",
            "no lamp ••••#",
        ),
        (
            "a lamp hunter2-is-secret!",
            "a lamp hunter2-is-s#",
            "a lamp ••••#",
        ),
        // Of so little nothing can be learnt.
        (
            "the brightest lamp hunter2-is-secret",
            "the brightest lamp #",
            "the brightest lamp #",
        ),
        (
            "hunter2-is-secret is behind it",
            "hunter2-is-secret i#",
            "•••• i#",
        ),
        (
            "hunter2-isn't what it says",
            "hunter2-isn't what #",
            "hunter2-isn't what #",
        ),
    ] {
        let request = Request::new(Call::new("t", json!({})), Arc::new(Catalog::default()));
        let error = ToolResult::error(ErrorKind::Tool, text);
        let result = chain.run(request, &Gives(error)).await.all_text();
        assert_eq!(result, cut);
        // Each alone, for what is secret once stays so.
        let alone = Secrets::default();
        alone.add("hunter2-is-secret");
        alone.add_rest(text, cut.len() - 1);
        assert_eq!(alone.mask(&result), told, "{text}");
        if told.contains('•') {
            assert!(!secrets.mask(&result).contains("hunter2"), "{result}");
        }
    }
}

#[tokio::test]
async fn a_cut_whose_marker_is_longer_than_what_goes_is_noted_all_the_same() {
    let settings = MiddlewareSettings {
        result_limit: Some(ResultLimitSettings {
            max: 5,
            marker: "漢".into(),
            part_budget_bytes: None,
        }),
        ..MiddlewareSettings::default()
    };
    let chain = Chain::new(vec![Arc::new(ResultLimit::new(&settings).unwrap())]);
    let request = Request::new(Call::new("t", json!({})), Arc::new(Catalog::default()));
    let trace = request.trace();
    let result = chain.run(request, &Gives(ToolResult::text("abcdef"))).await;
    assert_eq!(result.all_text(), "abcd漢");
    let bytes = result.parts.iter().map(Part::encoded_len).sum();
    let span = trace.spans(bytes)[0];
    assert!(span.bytes_after > span.bytes_before, "{span:?}");
    assert_eq!(span.cut, Some(Cut { kept: 4, cut: 2 }));
}

#[tokio::test]
async fn parts_are_bounded_by_one_mebibyte_without_any_setting() {
    let settings = MiddlewareSettings::default();
    let limit = 1024 * 1024;
    let (result, chain) = run(&settings, "t", ToolResult::ok(vec![data(limit + 1)])).await;
    assert_eq!((result.parts, result.truncated), (vec![text(MARK)], true));
    assert_eq!(counters(&chain), [1, 0, limit as u64 + 1]);
    let (result, chain) = run(&settings, "t", ToolResult::ok(vec![data(limit)])).await;
    assert_eq!((result.parts, result.truncated), (vec![data(limit)], false));
    assert_eq!(counters(&chain), [0, limit as u64, 0]);
}

#[test]
fn the_budget_inside_wins_and_zero_lifts_it() {
    let rule = |inside, beside| {
        Rule::of(&MiddlewareSettings {
            result_limit: inside,
            result_part_budget_bytes: beside,
            ..MiddlewareSettings::default()
        })
    };
    let limit = |part_budget_bytes| {
        Some(ResultLimitSettings {
            max: 9,
            marker: "#".into(),
            part_budget_bytes,
        })
    };
    for (claim, inside, beside, expected) in [
        ("beside", limit(None), 256, Some(256)),
        ("inside", limit(Some(64)), 256, Some(64)),
        ("zero inside", limit(Some(0)), 256, None),
        ("zero beside", limit(None), 0, None),
    ] {
        assert_eq!(
            rule(inside, beside).unwrap().part_budget,
            expected,
            "{claim}"
        );
    }
    assert_eq!(rule(None, 0), None, "nothing to bound");
}

#[tokio::test]
async fn the_answer_of_a_search_is_not_cut_by_the_part_budget() {
    let settings = MiddlewareSettings {
        result_part_budget_bytes: 64,
        ..MiddlewareSettings::default()
    };
    let answer = ToolResult::ok(vec![data(5000)]);
    let (result, _) = run(&settings, TOOL_SEARCH, answer.clone()).await;
    assert_eq!(result, answer);
}

#[tokio::test]
async fn new_settings_count_from_the_next_call_on() {
    let (_, chain) = run(&MiddlewareSettings::default(), "t", ToolResult::text("a")).await;
    let settings = MiddlewareSettings {
        result_limit: Some(ResultLimitSettings {
            max: 2,
            marker: "#".into(),
            part_budget_bytes: None,
        }),
        ..MiddlewareSettings::default()
    };
    chain.change("result_limit", &settings).unwrap();
    let request = Request::new(Call::new("t", json!({})), Arc::new(Catalog::default()));
    let result = chain.run(request, &Gives(ToolResult::text("abc"))).await;
    assert_eq!(result.all_text(), "a#");
    assert!(chain.status()[0].changed);
}
