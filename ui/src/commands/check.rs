//! `check`: everything that is wrong with a deployment, without connecting to anything.

use serde::Serialize;
use toolcrib::deployment::{Problem, Severity};

use super::failure::{Failure, USAGE};
use super::output::{Out, Tone};
use crate::cli::Global;
use crate::opening::Opened;

/// The findings in `--json`.
#[derive(Serialize)]
struct Report<'p> {
    ok: bool,
    problems: &'p [Problem],
}

/// Prints all problems; errors end with exit code 2, and so do warnings when `strict`.
pub(crate) fn run(
    opened: Result<Opened, Failure>,
    global: &Global,
    strict: bool,
    json: bool,
) -> Result<(), Failure> {
    let (name, problems) = match opened {
        Ok(opened) => (Some(opened.deployment.origin.name), opened.warnings),
        Err(Failure::Problems(problems)) => (None, problems.0),
        Err(other) => return Err(other),
    };
    let failing = |problem: &&Problem| strict || problem.severity == Severity::Error;
    let ok = problems.iter().find(failing).is_none();
    let mut out = Out::stdout(global.ascii);
    if json {
        let problems = &problems;
        out.json(&Report { ok, problems });
    } else {
        let look = out.look();
        for problem in &problems {
            let tone = match problem.severity {
                Severity::Error => Tone::Bad,
                Severity::Warning => Tone::Warn,
            };
            let line = problem.to_string();
            out.line(&look.paint(tone, &look.line(&line)));
        }
        out.line(&summary(name.as_deref(), &problems, ok));
    }
    out.finish()?;
    if ok {
        Ok(())
    } else {
        Err(Failure::Said(USAGE))
    }
}

fn summary(name: Option<&str>, problems: &[Problem], ok: bool) -> String {
    let of = |severity| problems.iter().filter(|p| p.severity == severity).count();
    let count = |number: usize, noun: &str| match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let found = match (errors, warnings) {
        (0, 0) => String::new(),
        (0, warnings) => count(warnings, "warning"),
        (errors, 0) => count(errors, "error"),
        (errors, warnings) => {
            format!("{}, {}", count(errors, "error"), count(warnings, "warning"))
        }
    };
    match (name, ok, found.is_empty()) {
        (Some(name), true, true) => format!("{name}: valid"),
        (Some(name), true, false) => format!("{name}: valid, {found}"),
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_sums_up() {
        let problem = |severity| Problem {
            severity,
            file: "a.yaml".into(),
            line: 1,
            column: 1,
            path: String::new(),
            message: String::new(),
            suggestion: None,
        };
        let (error, warning) = (problem(Severity::Error), problem(Severity::Warning));
        let rows: [(Option<&str>, &[Problem], bool, &str); 5] = [
            (Some("a"), &[], true, "a: valid"),
            (
                Some("a"),
                std::slice::from_ref(&warning),
                true,
                "a: valid, 1 warning",
            ),
            (
                Some("a"),
                &[warning.clone(), warning.clone()],
                false,
                "2 warnings",
            ),
            (None, std::slice::from_ref(&error), false, "1 error"),
            (
                None,
                &[error.clone(), error.clone(), warning.clone()],
                false,
                "2 errors, 1 warning",
            ),
        ];
        for (name, problems, ok, expected) in rows {
            assert_eq!(summary(name, problems, ok), expected);
        }
    }
}
