//! Variables as other clients write them, in our syntax.

use std::path::{Path, PathBuf};

use crate::deployment::Environment;

/// What a variable of another client can stand for.
pub(super) struct Variables<'e> {
    pub(super) environment: &'e dyn Environment,
    /// What `${workspaceFolder}` is.
    pub(super) workspace: PathBuf,
}

impl Variables<'_> {
    /// A string of a client that knows `${NAME}`, `${NAME:-default}`, `${env:NAME}`,
    /// `${input:id}`, `${workspaceFolder}` and `${userHome}`, and what is to be noted about it.
    pub(super) fn rewrite(&self, text: &str) -> (String, Vec<String>) {
        let mut out = String::new();
        let mut notes = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, form) = rest.split_at(at);
            out.push_str(before);
            let Some(end) = form.find('}') else {
                rest = form;
                break;
            };
            let (form, after) = form.split_at(end + 1);
            rest = after;
            match self.variable(&form[2..end], &mut notes) {
                Some(Ours::Variable(name)) if !out.ends_with('\\') => {
                    out.push_str(&format!("${{env:{name}}}"));
                }
                Some(Ours::Literal(value)) => out.push_str(&literal(&value)),
                Some(Ours::Variable(_)) | None => {
                    notes.push(format!("`{form}` is not known here and stays as it is"));
                    out.push_str(&literal(form));
                }
            }
        }
        out.push_str(&literal(rest));
        (out, notes)
    }

    fn variable(&self, inner: &str, notes: &mut Vec<String>) -> Option<Ours> {
        if let Some(name) = inner.strip_prefix("env:") {
            return is_name(name).then(|| Ours::Variable(name.to_owned()));
        }
        if let Some(id) = inner.strip_prefix("input:") {
            let name = input_variable(id)?;
            notes.push(format!(
                "the other client asks for `{id}`; here it is the environment variable `{name}`"
            ));
            return Some(Ours::Variable(name));
        }
        match inner {
            "workspaceFolder" => return Some(shown(&self.workspace)),
            "workspaceFolderBasename" => {
                return Some(shown(Path::new(self.workspace.file_name()?)));
            }
            "userHome" => return Some(Ours::Variable("HOME".into())),
            "pathSeparator" | "/" => return Some(Ours::Literal("/".into())),
            _ => {}
        }
        let Some((name, default)) = inner.split_once(":-") else {
            return is_name(inner).then(|| Ours::Variable(inner.to_owned()));
        };
        if !is_name(name) {
            return None;
        }
        // There are no defaults here, so what holds now is taken.
        let set = self
            .environment
            .get(name)
            .is_some_and(|found| !found.value.is_empty());
        Some(if set {
            Ours::Variable(name.to_owned())
        } else {
            notes.push(format!(
                "`{name}` is not set, so that its default stands here"
            ));
            Ours::Literal(default.to_owned())
        })
    }
}

/// What stands here in place of a variable.
enum Ours {
    Variable(String),
    Literal(String),
}

fn shown(path: &Path) -> Ours {
    Ours::Literal(path.display().to_string())
}

/// A text that is to be taken as it is.
pub(super) fn literal(text: &str) -> String {
    text.replace("${", "\\${")
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// `github-token` is asked for as `GITHUB_TOKEN`.
fn input_variable(id: &str) -> Option<String> {
    let name: String = id
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    is_name(&name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::Supplied;

    #[test]
    fn every_form_becomes_ours_or_stays_as_it_is() {
        let environment = Supplied::only([("SET", "x"), ("EMPTY", "")]);
        let variables = Variables {
            environment: &environment,
            workspace: "/home/me/project".into(),
        };
        for (name, text, expected, notes) in [
            ("none", "plain $x", "plain $x", 0),
            (
                "shell form",
                "a${SET}b${NOT_SET}",
                "a${env:SET}b${env:NOT_SET}",
                0,
            ),
            ("default of what is set", "${SET:-y}", "${env:SET}", 0),
            ("default of what is not", "${NO:-y z}", "y z", 1),
            ("default of what is empty", "${EMPTY:-y}", "y", 1),
            ("env form", "${env:A_B}", "${env:A_B}", 0),
            (
                "input",
                "Bearer ${input:github-token}",
                "Bearer ${env:GITHUB_TOKEN}",
                1,
            ),
            ("workspace", "${workspaceFolder}/x", "/home/me/project/x", 0),
            ("its name", "${workspaceFolderBasename}", "project", 0),
            ("home", "${userHome}${/}x", "${env:HOME}/x", 0),
            ("unknown", "${config:a.b}", r"\${config:a.b}", 1),
            ("unclosed", "x ${A", r"x \${A", 0),
            ("after a backslash", r"C:\${SET}", r"C:\\${SET}", 1),
        ] {
            let (rewritten, noted) = variables.rewrite(text);
            assert_eq!(
                (rewritten.as_str(), noted.len()),
                (expected, notes),
                "{name}"
            );
        }
    }
}
