use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::json;

use super::*;
use crate::deployment::{EnvValue, Problems};
use crate::secrets::Secrets;

fn yaml(text: &str) -> Node {
    parse(text, Syntax::Yaml, Budget::default())
        .unwrap()
        .unwrap()
}

fn refusal(text: &str, syntax: Syntax) -> String {
    let error = parse(text, syntax, Budget::default()).unwrap_err();
    format!("{}: {}", error.place, error.message)
}

/// Every value with its place, a line each.
fn outline(node: &Node) -> String {
    let mut lines = String::new();
    fn walk(node: &Node, name: &str, lines: &mut String) {
        writeln!(lines, "{} {name}= {}", node.place, node.describe()).unwrap();
        match &node.data {
            Data::List(items) => items.iter().for_each(|item| walk(item, "- ", lines)),
            Data::Map { entries, .. } => {
                for entry in entries {
                    let name = format!("{}@{} ", entry.key, entry.place);
                    walk(&entry.value, &name, lines);
                }
            }
            _ => {}
        }
    }
    walk(node, "", &mut lines);
    lines
}

#[test]
fn every_value_and_key_knows_its_place_in_characters() {
    let text = "\u{feff}# note\nä: {ö: 'ü', list: [1, y]}\nb:\n  - x: ~\n    z: |\n      text\n";
    assert_eq!(
        outline(&yaml(text)),
        "2:1 = a map\n\
         2:4 ä@2:1 = a map\n\
         2:8 ö@2:5 = the string `ü`\n\
         2:19 list@2:13 = a list\n\
         2:20 - = the number 1\n\
         2:23 - = the string `y`\n\
         4:3 b@3:1 = a list\n\
         4:5 - = a map\n\
         4:8 x@4:5 = nothing\n\
         6:7 z@5:5 = the string `text…`\n"
    );
}

#[test]
fn json_gives_the_same_tree_with_its_own_escapes() {
    let text = "{\"a\": [1, -2.5, true, null],\n \"b\\n\": \"\\ud83d\\ude00 \\u00e9\\/\"}";
    let tree = parse(text, Syntax::Json, Budget::default())
        .unwrap()
        .unwrap();
    assert_eq!(
        outline(&tree),
        "1:1 = a map\n\
         1:7 a@1:2 = a list\n\
         1:8 - = the number 1\n\
         1:11 - = the number -2.5\n\
         1:17 - = the boolean true\n\
         1:23 - = nothing\n\
         2:9 b\n@2:2 = the string `😀 é/`\n"
    );
    assert_eq!(
        tree.to_json(),
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    );
}

#[test]
fn comments_and_trailing_commas_are_json_only_where_they_are_asked_for() {
    let text = "// note\n{\"a\": [1, 2,], /* x */ \"b\": {},}\n// end";
    let tree = parse(text, Syntax::JsonWithComments, Budget::default());
    assert_eq!(
        tree.unwrap().unwrap().to_json(),
        json!({"a": [1, 2], "b": {}})
    );
    assert_eq!(
        refusal(text, Syntax::Json),
        "1:1: not valid JSON: comments are not allowed here"
    );
    assert_eq!(
        refusal("{\"a\": 1,}", Syntax::Json),
        "1:9: not valid JSON: a key in double quotes was expected"
    );
}

#[test]
fn what_is_no_tree_is_refused_once_and_at_its_place() {
    use Syntax::{Json, JsonWithComments, Yaml};
    for (name, text, syntax, expected) in [
        (
            "tab",
            "a:\n\tb: c",
            Yaml,
            "2:2: not valid YAML: tabs disallowed within this context (block indentation)",
        ),
        (
            "open quote",
            "a: 'x\nb: c",
            Yaml,
            "1:4: not valid YAML: invalid indentation in quoted scalar",
        ),
        (
            "escape",
            "a: \"\\${env:X}\"",
            Yaml,
            "1:4: not valid YAML: while parsing a quoted scalar, found unknown escape character; in double quotes a backslash is written `\\\\`, single quotes take it as it is",
        ),
        (
            "colon",
            "a: b: c",
            Yaml,
            "1:5: not valid YAML: mapping values are not allowed in this context; a text that holds `: ` needs quotes",
        ),
        (
            "at sign",
            "a: @x",
            Yaml,
            "1:4: not valid YAML: unexpected character: `@'; a text that starts with it needs quotes",
        ),
        (
            "two documents",
            "a: 1\n---\nb: 2",
            Yaml,
            "2:1: a second document starts here; a file is one document",
        ),
        (
            "merge key",
            "a: &x {b: 1}\nc:\n  <<: *x",
            Yaml,
            "3:3: merge keys (`<<`) are not part of YAML 1.2; write the keys out, or use an alias for a whole value",
        ),
        (
            "tag",
            "a: !secret x",
            Yaml,
            "1:4: the tag `!secret` has no meaning here; only `!!str` has",
        ),
        (
            "core tag",
            "a: !!set {}",
            Yaml,
            "1:4: the tag `!!set` has no meaning here; only `!!str` has",
        ),
        (
            "key that is a list",
            "? [a]\n: b",
            Yaml,
            "1:3: a key must be a plain text",
        ),
        ("empty key", ": b", Yaml, "1:1: a key must be a plain text"),
        (
            "unknown alias",
            "a: *x",
            Yaml,
            "1:4: not valid YAML: while parsing node, found unknown anchor",
        ),
        (
            "alias in itself",
            "a: &x [*x]",
            Yaml,
            "1:8: this alias stands inside the value that it names",
        ),
        (
            "open object",
            "{\"a\": 1",
            Json,
            "1:1: not valid JSON: this `{` is not closed",
        ),
        (
            "open list",
            "[1",
            Json,
            "1:1: not valid JSON: this `[` is not closed",
        ),
        (
            "open string",
            "{\"a\": \"x\ny\"}",
            Json,
            "1:7: not valid JSON: this string is not closed",
        ),
        (
            "no colon",
            "{\"a\" 1}",
            Json,
            "1:6: not valid JSON: `:` was expected after the key",
        ),
        (
            "no comma",
            "{\"a\": 1 \"b\": 2}",
            Json,
            "1:9: not valid JSON: `,` or `}` was expected",
        ),
        (
            "word",
            "{\"a\": yes}",
            Json,
            "1:7: not valid JSON: a value was expected",
        ),
        (
            "number",
            "{\"a\": 1.2.3}",
            Json,
            "1:7: not valid JSON: `1.2.3` is no number",
        ),
        (
            "number with zero",
            "[01]",
            Json,
            "1:2: not valid JSON: `01` is no number",
        ),
        (
            "half a surrogate",
            "[\"\\ud83d\"]",
            Json,
            "1:3: not valid JSON: `\\u` needs four hex digits of a character",
        ),
        (
            "bad escape",
            "[\"\\x\"]",
            Json,
            "1:3: not valid JSON: unknown escape; a backslash is written `\\\\`",
        ),
        (
            "control character",
            "[\"\u{1}\"]",
            Json,
            "1:3: not valid JSON: a control character needs an escape",
        ),
        (
            "more after the end",
            "{} {}",
            Json,
            "1:4: not valid JSON: the file goes on after its one value",
        ),
        (
            "end",
            "{\"a\":",
            Json,
            "1:6: not valid JSON: the file ends where a value was expected",
        ),
        (
            "open comment",
            "{} /* x",
            JsonWithComments,
            "1:4: not valid JSON: this comment is not closed",
        ),
    ] {
        assert_eq!(refusal(text, syntax), expected, "{name}");
    }
}

#[test]
fn aliases_and_the_string_tag_work() {
    let tree = yaml("a: &x {b: [1, 2]}\nc: *x\nd: [*x]\ne: !!str 5\nf: ! true\n");
    assert_eq!(
        tree.to_json(),
        json!({"a": {"b": [1, 2]}, "c": {"b": [1, 2]}, "d": [{"b": [1, 2]}], "e": "5", "f": "true"})
    );
}

#[test]
fn a_small_file_cannot_grow() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        writeln!(
            bomb,
            "a{level}: &a{level} [{}]",
            [below.as_str(); 9].join(", ")
        )
        .unwrap();
    }
    let mut text = format!("a: &a \"{}\"\nb: [", "x".repeat(1_000_000));
    text.push_str(&"*a, ".repeat(1000));
    text.push(']');
    let mut deep = "a0: &a0 [x]\n".to_owned();
    for level in 1..200 {
        writeln!(deep, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    for (name, text, expected) in [
        (
            "alias bomb",
            bomb.as_str(),
            "more than 400000 values, aliases counted in full",
        ),
        (
            "large text often",
            &text,
            "more than 33554432 bytes of text, aliases counted in full",
        ),
        ("deep aliases", &deep, "nested more than 96 levels deep"),
        (
            "deep flow",
            &"[".repeat(100_000),
            "not valid YAML: recursion limit exceeded",
        ),
        (
            "deep flow within the parser's limit",
            &"[".repeat(100),
            "nested more than 96 levels deep",
        ),
        (
            "deep block",
            &"- ".repeat(100_000),
            "nested more than 96 levels deep",
        ),
        (
            "too many values",
            &"- 1\n".repeat(500_000),
            "more than 400000 values, aliases counted in full",
        ),
        (
            "huge",
            &"#".repeat(9 * 1024 * 1024),
            "the file has 9437184 bytes, more than the 8388608 that are read",
        ),
    ] {
        let error = parse(text, Syntax::Yaml, Budget::default()).unwrap_err();
        assert_eq!(error.message, expected, "{name}");
    }
    for (name, text, expected) in [
        (
            "deep",
            "[".repeat(100_000),
            "nested more than 96 levels deep",
        ),
        (
            "many",
            format!("[{}1]", "1,".repeat(500_000)),
            "more than 400000 values",
        ),
    ] {
        let error = parse(&text, Syntax::Json, Budget::default()).unwrap_err();
        assert_eq!(error.message, expected, "{name}");
    }
}

#[test]
fn toml_cannot_grow_either() {
    for (name, text) in [
        ("deep list", format!("a = {}", "[".repeat(100_000))),
        ("deep table", format!("a = {}", "{a=".repeat(100_000))),
        ("long key", format!("{}a = 1", "a.".repeat(100_000))),
        ("long header", format!("[{}a]", "a.".repeat(100_000))),
    ] {
        assert!(
            parse(&text, Syntax::Toml, Budget::default()).is_err(),
            "{name}"
        );
    }
}

fn environment(values: &[(&str, &str)]) -> HashMap<String, EnvValue> {
    values
        .iter()
        .map(|(name, value)| {
            let value = EnvValue {
                value: (*value).to_owned(),
                secret: true,
            };
            ((*name).to_owned(), value)
        })
        .collect()
}

/// The JSON of a text after expansion, with A=alpha-value, B=b and EMPTY.
fn expanded(text: &str) -> Result<serde_json::Value, Problems> {
    let environment = environment(&[
        ("A", "alpha-value"),
        ("B", "b"),
        ("EMPTY", ""),
        ("R", "${env:A}"),
    ]);
    let reading = Reading::new("f", "/", &environment, Secrets::default());
    let mut tree = match parse(text, Syntax::Yaml, Budget::default()) {
        Ok(tree) => tree.unwrap(),
        Err(error) => return Err(reading.unreadable(error)),
    };
    reading.expand(&mut tree, "");
    reading.finish(Some(tree.to_json())).map(|read| read.value)
}

#[test]
fn variables_expand_wherever_a_string_is_and_however_it_is_written() {
    for (name, text, expected) in [
        ("block plain", "a: ${env:A}", json!({"a": "alpha-value"})),
        (
            "flow plain",
            "a: {b: ${env:A}}",
            json!({"a": {"b": "alpha-value"}}),
        ),
        (
            "flow list",
            "[${env:A}, ${env:B},${env:EMPTY}]",
            json!(["alpha-value", "b", ""]),
        ),
        (
            "followed by a comma",
            "{a: ${env:A}, b: 1}",
            json!({"a": "alpha-value", "b": 1}),
        ),
        (
            "several per string",
            "[x-${env:A}${env:B}-y]",
            json!(["x-alpha-valueb-y"]),
        ),
        (
            "double quoted",
            "a: \"Bearer ${env:A}\"",
            json!({"a": "Bearer alpha-value"}),
        ),
        (
            "single quoted",
            "{a: '${env:A}, b: {c'}",
            json!({"a": "alpha-value, b: {c"}),
        ),
        (
            "quoted beside plain",
            "{a: '${env:A}', b: ${env:B}}",
            json!({"a": "alpha-value", "b": "b"}),
        ),
        (
            "comment",
            "{a: 1, # ${env:NO} }\n b: 2}",
            json!({"a": 1, "b": 2}),
        ),
        (
            "comment after",
            "a: {b: ${env:B}} # ${env:NO}",
            json!({"a": {"b": "b"}}),
        ),
        (
            "literal block",
            "a: |\n  {x: ${env:A}}\n  # ${env:B}\n",
            json!({"a": "{x: alpha-value}\n# b\n"}),
        ),
        (
            "folded block",
            "a: >-\n  ${env:A}\n  ${env:B}\n",
            json!({"a": "alpha-value b"}),
        ),
        (
            "not in keys",
            "{\"${env:A}\": 1, ${env:B}: 2}",
            json!({"${env:A}": 1, "${env:B}": 2}),
        ),
        ("not recursive", "[${env:R}]", json!(["${env:A}"])),
        (
            "literal",
            r"a: \${env:A} and ${env:B}",
            json!({"a": "${env:A} and b"}),
        ),
        (
            "literal in flow",
            r"[\${env:A}, '\${x}']",
            json!(["${env:A}", "${x}"]),
        ),
        ("never a number", "a: ${env:B}5", json!({"a": "b5"})),
        (
            "other dollars",
            "a: $x $ {} $$ $(y)",
            json!({"a": "$x $ {} $$ $(y)"}),
        ),
        (
            "multi-line plain in flow",
            "{a: x\n   ${env:B}}",
            json!({"a": "x b"}),
        ),
        ("nested flow", "[{a: [${env:B}]}]", json!([{"a": ["b"]}])),
        (
            "adjacent to a quoted key",
            "{\"a\":${env:B}}",
            json!({"a": "b"}),
        ),
    ] {
        assert_eq!(expanded(text), Ok(expected), "{name}");
    }
}

#[test]
fn what_cannot_be_expanded_is_reported_at_its_place_and_all_at_once() {
    let text = "a: {b: ${env:NO}, c: [x, ${HOME}]}\nd: \"${env:X Y} ${env:NO2}\"\ne: ${env:A\n\"f g\": ${}\n";
    let seen: Vec<String> = expanded(text)
        .unwrap_err()
        .iter()
        .map(|problem| format!("{} {problem}", problem.path))
        .collect();
    assert_eq!(
        seen,
        [
            "a.b f:1:8: the environment variable `NO` is not set",
            "a.c[1] f:1:26: `${HOME}` is not known; only `${env:NAME}` is, and `\\${` is a literal `${`",
            "d f:2:4: `${env:X Y}` does not name a variable",
            "d f:2:4: the environment variable `NO2` is not set",
            "e f:3:4: `${` is not closed; write `\\${` for the characters themselves",
            "[\"f g\"] f:4:8: `${}` is not known; only `${env:NAME}` is, and `\\${` is a literal `${`",
        ]
    );
}

#[test]
fn a_large_variable_used_often_is_bounded() {
    let environment = environment(&[("BIG", &"x".repeat(1_000_000))]);
    let reading = Reading::new("f", "/", &environment, Secrets::default());
    let mut tree = yaml(&"- ${env:BIG}\n".repeat(100));
    reading.expand(&mut tree, "");
    let problems = reading.finish(Some(())).unwrap_err();
    assert_eq!(problems.0.len(), 67);
    assert_eq!(
        problems.0[0].message,
        "expanded variables make the file too large"
    );
}

#[test]
fn a_template_is_accepted_where_the_table_says_so() {
    static TABLE: Table = Table {
        name: "t",
        fields: &[
            Field::optional("url", Shape::Template, ""),
            Field::optional("body", Shape::AnyTemplate, ""),
            Field::optional("name", Shape::Text, ""),
            Field::optional("value", Shape::Any, ""),
        ],
    };
    let text = "url: {{.base}}/x?a={{ .b }}\nbody: {a: {{.a}}, list: [{{ .b }}, 1]}\nname: {{.n}}\nvalue: {x: {{.v}}}\n";
    let tree = parse(text, Syntax::YamlWithTemplates, Budget::default())
        .unwrap()
        .unwrap();
    assert_eq!(
        tree.to_json(),
        json!({
            "url": "{{.base}}/x?a={{ .b }}",
            "body": {"a": "{{.a}}", "list": ["{{ .b }}", 1]},
            "name": "{{.n}}",
            "value": {"x": "{{.v}}"},
        })
    );
    let none = environment(&[]);
    let reading = Reading::new("f", "/", &none, Secrets::default());
    reading.check(&Value::root(&tree), &Shape::Fields(&TABLE));
    assert_eq!(
        reading.finish(Some(())).unwrap_err().to_string(),
        "f:3:7: `name` cannot be a template; put it in quotes\n\
         f:4:12: `x` cannot be a template; put it in quotes"
    );
}

#[test]
fn in_skills_a_backslash_that_starts_no_escape_is_taken_as_it_is_and_noted() {
    let text = "a: \"\\d+ \\n \\w\"\nb: '\\d'\n";
    let mut escapes = Vec::new();
    let syntax = Syntax::YamlWithTemplates;
    let node = parse_noting(text, syntax, Budget::default(), &mut escapes).unwrap();
    let expected = json!({"a": "\\d+ \n \\w", "b": "\\d"});
    assert_eq!(node.unwrap().to_json(), expected);
    let columns: Vec<_> = escapes.iter().map(|at| (at.line, at.column)).collect();
    assert_eq!(columns, [(1, 5), (1, 12)]);
    assert!(refusal(text, Syntax::Yaml).contains("single quotes take it as it is"));
}
