//! One file being read: what is wrong with it so far, and what of it is secret.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::node::{Data, Node};
use super::value::{Value, child};
use super::{Budget, SyntaxError, expand};
use crate::deployment::{EnvValue, Environment, Place, Problem, Problems, Severity};
use crate::registry::nearest_one;
use crate::secrets::Secrets;

/// Names are compared for this many problems of a file; the ones after it are reported without a
/// suggestion, so that a file with many thousands of wrong names is still answered at once.
const SUGGESTIONS: usize = 200;

/// What a reading came to.
#[derive(Clone, Debug)]
pub struct Finished<T> {
    /// What was read.
    pub value: T,
    /// What is probably not meant, sorted by place.
    pub warnings: Vec<Problem>,
}

/// Collects the problems of one file and of those that it names.
pub struct Reading<'e> {
    file: Arc<str>,
    base_dir: PathBuf,
    environment: &'e dyn Environment,
    secrets: Secrets,
    /// Every secret that expansion met, wherever it landed: no message may show one.
    hidden: Secrets,
    problems: RefCell<Vec<Problem>>,
    suggested: Cell<usize>,
    files: RefCell<Vec<PathBuf>>,
}

impl<'e> Reading<'e> {
    /// A reading of `file` (the name that messages show), whose relative names start at
    /// `base_dir`. Secrets that the file turns out to hold are added to `secrets`.
    pub fn new(
        file: impl Into<Arc<str>>,
        base_dir: impl Into<PathBuf>,
        environment: &'e dyn Environment,
        secrets: Secrets,
    ) -> Self {
        Self {
            file: file.into(),
            base_dir: base_dir.into(),
            environment,
            secrets,
            hidden: Secrets::default(),
            problems: RefCell::new(Vec::new()),
            suggested: Cell::new(0),
            files: RefCell::new(Vec::new()),
        }
    }

    /// A reading of another file that this one names, in the same environment, with the same
    /// secrets. Its problems are its own until they are added here.
    pub fn of_file(&self, file: impl Into<Arc<str>>) -> Reading<'e> {
        Reading {
            hidden: self.hidden.clone(),
            ..Reading::new(
                file,
                self.base_dir.clone(),
                self.environment,
                self.secrets.clone(),
            )
        }
    }

    /// Adds everything that was found wrong with another file.
    pub fn absorb(&self, problems: impl IntoIterator<Item = Problem>) {
        problems.into_iter().for_each(|problem| self.add(problem));
    }

    /// Everything reported so far; for a reading whose problems go to another one.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    /// The root of a file that is a map: repeated keys reported, variables expanded. `empty` is
    /// what an empty file is told, and `wanted` says what the map is.
    pub fn open(&self, root: Option<Node>, empty: &str, wanted: &str) -> Option<Node> {
        let Some(mut root) = root.filter(|root| root.data != Data::Null) else {
            self.error_at(Place::START, "", empty);
            return None;
        };
        self.repeated_keys(&Value::root(&root));
        self.expand(&mut root, "");
        let value = Value::root(&root);
        if !value.is_map() {
            let found = root.describe();
            self.error(&value, format!("{wanted}, not {found}"));
            return None;
        }
        Some(root)
    }

    /// Notes a file that this one depends on.
    pub fn add_file(&self, path: PathBuf) {
        self.files.borrow_mut().push(path);
    }

    /// The name of the file.
    pub fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// What relative names start at.
    pub fn base_dir(&self) -> &Path {
        &self.base_dir
    }

    /// The secrets found so far.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Where variables are looked up.
    pub fn environment(&self) -> &'e dyn Environment {
        self.environment
    }

    /// A variable of the environment. What it holds is kept out of all messages from here on.
    pub fn variable(&self, name: &str) -> Option<EnvValue> {
        let found = self.environment.get(name)?;
        if found.secret {
            self.hidden.add(&found.value);
        }
        Some(found)
    }

    /// Reports every repeated key under a node.
    pub fn repeated_keys(&self, value: &Value<'_>) {
        match &value.node.data {
            Data::Map { repeated, .. } => {
                for (key, place, first) in repeated {
                    self.error_at(
                        *place,
                        &child(&value.path, key),
                        format!("duplicate key `{key}`, first at {first}"),
                    );
                }
                for (_, _, value) in value.entries() {
                    self.repeated_keys(&value);
                }
            }
            Data::List(_) => {
                for item in value.items() {
                    self.repeated_keys(&item);
                }
            }
            _ => {}
        }
    }

    /// Expands `${env:NAME}` in every string under a node that is reached by `path`, and reports
    /// what cannot be (rule 10.3).
    pub fn expand(&self, node: &mut Node, path: &str) {
        let mut left = Budget::default().text;
        expand::expand(self, node, path, &mut left);
    }

    /// Makes a file name absolute; `~` is the home directory.
    pub fn resolve(&self, value: &Value<'_>) -> Option<PathBuf> {
        let text = value.text()?;
        let home = text == "~" || text.starts_with("~/");
        if !home {
            return Some(self.base_dir.join(text).components().collect());
        }
        match self.environment.get("HOME") {
            Some(home) if !home.value.is_empty() => {
                let below = text.trim_start_matches('~').trim_start_matches('/');
                Some(Path::new(&home.value).join(below))
            }
            _ => {
                self.error(value, "`~` is not known, since `HOME` is not set");
                None
            }
        }
    }

    /// Makes the name of a file that has to exist absolute, and notes that it was used. `what`
    /// says in messages what it is.
    pub fn existing(&self, value: &Value<'_>, what: &str) -> Option<PathBuf> {
        let path = self
            .resolve(value)
            .filter(|_| !value.text().is_none_or(str::is_empty))?;
        // Noted even if it is missing: when it appears, reading again is worth while.
        self.files.borrow_mut().push(path.clone());
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => Some(path),
            Ok(_) => {
                self.error(
                    value,
                    format!("the {what} `{}` is no file", self.shown_file(value)),
                );
                None
            }
            Err(error) => {
                self.error(value, self.missing(value, what, &error));
                None
            }
        }
    }

    /// As [`Reading::existing`], for a directory.
    pub fn existing_dir(&self, value: &Value<'_>, what: &str) -> Option<PathBuf> {
        let path = self
            .resolve(value)
            .filter(|_| !value.text().is_none_or(str::is_empty))?;
        if self.environment.directory(&path).is_some() {
            return Some(path); // never changes, so there is nothing to note
        }
        self.files.borrow_mut().push(path.clone());
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Some(path),
            Ok(_) => {
                let shown = self.shown_file(value);
                self.error(value, format!("the {what} `{shown}` is no directory"));
                None
            }
            Err(error) => {
                self.error(value, self.missing(value, what, &error));
                None
            }
        }
    }

    fn missing(&self, value: &Value<'_>, what: &str, error: &std::io::Error) -> String {
        let shown = self.shown_file(value);
        match error.kind() {
            std::io::ErrorKind::NotFound => format!("the {what} `{shown}` does not exist"),
            _ => format!("the {what} `{shown}` cannot be read: {error}"),
        }
    }

    /// How a file that is named here is shown: beside this file, as the operator named that.
    pub fn shown_file(&self, value: &Value<'_>) -> Arc<str> {
        let shown = value.as_text().map_or("", |text| text.shown());
        if shown.starts_with('~') {
            return shown.into();
        }
        let beside = Path::new(&*self.file).parent().unwrap_or(Path::new(""));
        let path: PathBuf = beside.join(shown).components().collect();
        path.display().to_string().into()
    }

    /// The files and directories that this one depends on.
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.borrow().clone()
    }

    /// Reports an error at a value.
    pub fn error(&self, value: &Value<'_>, message: impl Into<String>) {
        self.error_at(value.place(), &value.path, message);
    }

    /// Reports an error at a place.
    pub fn error_at(&self, place: Place, path: &str, message: impl Into<String>) {
        self.push(Severity::Error, place, path, message.into(), None);
    }

    /// Reports an error about a name, with the nearest of those that would have been right.
    pub fn unknown<'n>(
        &self,
        place: Place,
        path: &str,
        message: impl Into<String>,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) {
        let suggestion = if self.suggested.get() < SUGGESTIONS {
            self.suggested.set(self.suggested.get() + 1);
            nearest_one(name, names)
        } else {
            None
        };
        self.push(Severity::Error, place, path, message.into(), suggestion);
    }

    /// Reports a warning at a value.
    pub fn warn(&self, value: &Value<'_>, message: impl Into<String>) {
        self.warn_at(value.place(), &value.path, message);
    }

    /// Reports a warning at a place.
    pub fn warn_at(&self, place: Place, path: &str, message: impl Into<String>) {
        self.push(Severity::Warning, place, path, message.into(), None);
    }

    /// Adds a problem of this or of another file.
    pub fn add(&self, mut problem: Problem) {
        problem.message = self.hidden.mask(&problem.message).into_owned();
        problem.suggestion = problem
            .suggestion
            .map(|name| self.hidden.mask(&name).into_owned());
        self.problems.borrow_mut().push(problem);
    }

    fn push(
        &self,
        severity: Severity,
        place: Place,
        path: &str,
        message: String,
        suggestion: Option<String>,
    ) {
        self.add(Problem {
            severity,
            file: Arc::clone(&self.file),
            line: place.line,
            column: place.column,
            path: path.to_owned(),
            message,
            suggestion,
        });
    }

    /// Whether anything reported so far is an error.
    pub fn failed(&self) -> bool {
        let problems = self.problems.borrow();
        problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    /// What was read, if nothing is wrong with it.
    ///
    /// # Errors
    /// All problems, warnings too, if one of them is an error: those of this file first, then the
    /// others by name, each sorted by place.
    pub fn finish<T>(self, value: Option<T>) -> Result<Finished<T>, Problems> {
        if value.is_none() && !self.failed() {
            // A reader gave up without saying why. That must not pass as an empty deployment.
            self.error_at(Place::START, "", "cannot be read");
        }
        let failed = self.failed();
        let own = Arc::clone(&self.file);
        let mut problems = self.problems.into_inner();
        problems.sort_by(|a, b| {
            let key = |problem: &Problem| {
                (
                    *problem.file != *own,
                    Arc::clone(&problem.file),
                    problem.line,
                    problem.column,
                )
            };
            key(a).cmp(&key(b))
        });
        problems.dedup();
        match value {
            Some(value) if !failed => Ok(Finished {
                value,
                warnings: problems,
            }),
            _ => Err(Problems(problems)),
        }
    }

    /// What to answer when a text is no tree at all.
    pub fn unreadable(self, error: SyntaxError) -> Problems {
        self.error_at(error.place, "", error.message);
        Problems(self.problems.into_inner())
    }
}
