//! The properties of the fuzz targets on random inputs that are made of what has a meaning.

use proptest::prelude::*;

#[path = "../../fuzz/properties.rs"]
mod properties;

const URL_PIECES: [&str; 30] = [
    "{{env:SCHEME}}",
    "\t",
    "http://",
    "https://",
    "h",
    ":80",
    "/",
    "//",
    "?",
    "&k=",
    "=",
    "#",
    "@",
    "user:pass@",
    ".",
    "..",
    "%2e",
    "\\",
    "{{.a}}",
    "{{ .b.c }}",
    "{{.b.d}}",
    "{{.n}}",
    "{{.t}}",
    "{{.gone}}",
    "{{env:A}}",
    "{{env:BASE}}",
    "{{env:EMPTY}}",
    "{{",
    "}}",
    "ä",
];

const VALUES: [&str; 14] = [
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "?x",
    "#x",
    "@evil",
    "//evil",
    "%2e%2e",
    "{{env:A}}",
    "\r\nX: y",
    "日本",
    "\0",
];

const SKILL: &str = include_str!("../../../config/skills/harbour.skill.yaml");

const SMALL: &str = "name: s\nrequired_env: [A]\nsystem_prompt_append: |\n  x\nextract:\n  - {tool: t, \
                     pattern: '(a)', store: k}\ntools:\n  - name: t\n    max_repeats: 2\n    retry: \
                     {max_attempts: 2}\n    http:\n      url: http://h/{{.a}}?k={{env:A}}\n      \
                     query: {q: {{.b}}}\n      headers: {X-A: '{{env:A}}'}\n      body: {n: \
                     {{.n}}, l: [{{.t}}]}\n";

const PIECES: [&str; 40] = [
    "\n",
    "\n  ",
    "\n    ",
    "- ",
    ": ",
    "name: t",
    "tools:",
    "http:",
    "mcp:",
    "url: ",
    "body: ",
    "type: mcp",
    "retry: {}",
    "timeout: 0s",
    "{{.a}}",
    "{{env:A}}",
    "{{env:NO}}",
    "{{",
    "}}",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    "\"",
    "#",
    " #",
    " #1",
    "\\d",
    "|\n",
    ">-\n",
    "&x ",
    "*x",
    "!!str ",
    "---\n",
    "\t",
    "\u{feff}",
    "ä",
    "\0",
];

proptest! {
    // As many cases as `PROPTEST_CASES` says.
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn no_argument_changes_where_a_request_goes(
        pieces in prop::collection::vec(prop::sample::select(&URL_PIECES[..]), 0..10),
        values in prop::collection::vec(prop::sample::select(&VALUES[..]), 0..4),
    ) {
        let text = pieces.concat();
        properties::template(&text, &values.concat());
        properties::template(&format!("http://h/{text}"), &values.concat());
    }

    #[test]
    fn a_skill_file_is_read_or_refused_with_a_reason(
        seed in prop::sample::select(&[SKILL, SMALL][..]),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0_usize..12, prop::sample::select(&PIECES[..])), 0..6),
    ) {
        let mut chars: Vec<char> = seed.chars().collect();
        for (at, length, piece) in &edits {
            let at = at.index(chars.len() + 1);
            let end = (at + length).min(chars.len());
            chars.splice(at..end, piece.chars());
        }
        properties::loader(&chars.into_iter().collect::<String>());
    }
}

/// What the fuzz targets found.
#[test]
fn a_lone_carriage_return_ends_a_line() {
    let broken = format!("name: s\n{}tools: {{\nname: x\n", "\r".repeat(90));
    assert!(!properties::loader(&broken));
}

#[test]
fn the_seeds_are_read_as_they_are() {
    assert!(properties::loader(SMALL));
    assert!(!properties::loader(SKILL), "its variables are not set here");
    assert!(properties::loader(
        "name: s\ntools: [{name: t, http: {url: 'http://h/'}}]\n"
    ));
}
