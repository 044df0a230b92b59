//! No input makes the reader panic, hang, or fail without a reason.

use proptest::prelude::*;
use toolcrib::deployment::import::import_text;
use toolcrib::deployment::{Severity, load_text};

use super::{Variables, fixtures};

const SEEDS: [&str; 4] = [
    include_str!("../../fixtures/deployment/everything.yaml"),
    include_str!("../../fixtures/deployment/servers.yaml"),
    include_str!("../../fixtures/deployment/smallest.json"),
    include_str!("../../fixtures/deployment/scenario.yaml"),
];

const CLIENTS: [&str; 3] = [
    include_str!("../../fixtures/clients/claude.json"),
    include_str!("../../fixtures/clients/vscode.json"),
    include_str!("../../fixtures/clients/codex.toml"),
];

/// Pieces that have a meaning somewhere.
const PIECES: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    ",",
    "\n",
    "\n  ",
    "\t",
    "\"",
    "'",
    "#",
    " #",
    "&a ",
    "*a",
    "!!str ",
    "!x ",
    "|\n",
    ">-\n",
    "? ",
    "<<: ",
    "---\n",
    "...\n",
    "${env:A}",
    "${env:MCP_TOKEN}",
    "\\${",
    "${",
    "{{",
    "\u{feff}",
    "\u{e000}",
    "ä",
    "\0",
    "-1",
    "1e999",
    "~",
];

/// What is done to a text: where, how much is taken out, what is put in.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, &'static str)>> {
    prop::collection::vec(
        (
            any::<prop::sample::Index>(),
            0_usize..12,
            prop::sample::select(&PIECES[..]),
        ),
        1..6,
    )
}

fn edited(text: &str, edits: &[(prop::sample::Index, usize, &str)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, length, piece) in edits {
        let at = at.index(chars.len() + 1);
        let end = (at + length).min(chars.len());
        chars.splice(at..end, piece.chars());
    }
    chars.into_iter().collect()
}

fn check(name: &str, text: &str) -> Result<(), TestCaseError> {
    let base = fixtures("deployment");
    if let Err(problems) = load_text(name, text, &base, &Variables) {
        let errors = problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        prop_assert!(errors.count() > 0);
        let lines = u32::try_from(text.lines().count()).unwrap() + 2;
        for problem in &problems {
            prop_assert!(problem.line >= 1 && problem.column >= 1);
            prop_assert!(&*problem.file != name || problem.line <= lines, "{problem}");
            prop_assert!(!problem.message.contains("hunter2"), "{problem}");
            prop_assert!(problem.message != "cannot be read", "no reason was given");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_deployment_is_read_or_refused_with_a_reason(
        seed in prop::sample::select(&SEEDS[..]),
        edits in edits(),
    ) {
        let text = edited(seed, &edits);
        check("f.yaml", &text)?;
        check("f.json", &text)?;
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_reason(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
    ) {
        let text = pieces.concat();
        check("f.yaml", &text)?;
        check("f.json", &text)?;
    }

    #[test]
    fn a_mutated_file_of_a_client_is_read_or_refused_with_a_reason(
        seed in prop::sample::select(&CLIENTS[..]),
        edits in edits(),
    ) {
        let text = edited(seed, &edits);
        for name in ["c.json", "c.toml"] {
            let imported = import_text(name, &text, &fixtures("clients"), &Variables);
            if let Ok(imported) = imported {
                let yaml = imported.to_yaml();
                let printed = load_text("p.yaml", &yaml, &fixtures("clients"), &Variables);
                let direct = imported.load(&Variables);
                prop_assert_eq!(printed.is_ok(), direct.is_ok(), "{}\n{:?}\n{:?}", yaml, printed.err(), direct.err());
            }
        }
    }
}
