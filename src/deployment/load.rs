//! Reads a deployment from a file or a text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{self, Budget, Field, Node, Reading, Shape, Syntax, Table, Value};
use super::import::Note;
use super::resources::read_resources;
use super::{Deployment, Environment, Origin, Place, Problem, Problems, Severity};
use crate::secrets::Secrets;

/// The file.
pub(super) static DEPLOYMENT: Table = Table {
    name: "deployment",
    fields: &[
        Field::required("resources", Shape::Elsewhere, "What is built, by name."),
        Field::optional("$schema", Shape::Text, "Where editors find this schema."),
    ],
};

/// A valid deployment.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says.
    pub deployment: Deployment,
    /// What is probably not meant, sorted by place.
    pub warnings: Vec<Problem>,
    /// What is worth knowing about files of other clients.
    pub notes: Vec<Note>,
    /// The values that may not be shown.
    pub secrets: Secrets,
    /// Every file and directory that was read or that its resources will read, absolute: a change
    /// of one of them is a reason to read it again.
    pub files: Vec<PathBuf>,
}

/// Reads a file.
///
/// # Errors
/// Everything that is wrong with it, warnings too, sorted by place.
pub fn load_file(path: &Path, environment: &dyn Environment) -> Result<Loaded, Problems> {
    load_file_with(path, environment, &Secrets::default())
}

pub(super) fn load_file_with(
    path: &Path,
    environment: &dyn Environment,
    secrets: &Secrets,
) -> Result<Loaded, Problems> {
    let name: Arc<str> = path.display().to_string().into();
    let text = read_text(path, &name)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let base_dir = absolute.parent().unwrap_or(Path::new("/")).to_owned();
    let mut loaded = load_text_with(&name, &text, &base_dir, environment, secrets)?;
    loaded.files.insert(0, absolute);
    Ok(loaded)
}

/// Reads a text. `name` stands for the file in messages, and tells JSON from YAML by its ending;
/// `base_dir` is what relative files start at.
///
/// # Errors
/// Everything that is wrong with it, warnings too, sorted by place.
pub fn load_text(
    name: &str,
    text: &str,
    base_dir: &Path,
    environment: &dyn Environment,
) -> Result<Loaded, Problems> {
    load_text_with(name, text, base_dir, environment, &Secrets::default())
}

pub(crate) fn load_text_with(
    name: &str,
    text: &str,
    base_dir: &Path,
    environment: &dyn Environment,
    secrets: &Secrets,
) -> Result<Loaded, Problems> {
    let reading = Reading::new(name, base_dir, environment, secrets.clone());
    let root = match document::parse(text, Syntax::of(name), Budget::default()) {
        Ok(root) => root,
        Err(error) => return Err(reading.unreadable(error)),
    };
    let origin = Origin {
        name: Arc::clone(reading.file()),
        text: text.into(),
        base_dir: base_dir.to_owned(),
    };
    let deployment = read_root(&reading, root, origin);
    let files = reading.files();
    let finished = reading.finish(deployment)?;
    Ok(Loaded {
        deployment: finished.value,
        warnings: finished.warnings,
        notes: Vec::new(),
        secrets: secrets.clone(),
        files,
    })
}

fn read_root(reading: &Reading<'_>, root: Option<Node>, origin: Origin) -> Option<Deployment> {
    let root = reading.open(
        root,
        "the file is empty; a deployment starts with `resources:`",
        "a deployment is a map with the key `resources`",
    )?;
    let root = Value::root(&root);
    reading.check(&root, &Shape::Fields(&DEPLOYMENT));
    read_resources(reading, &root.get("resources")?, origin)
}

/// The text of a file that is not larger than what is read.
///
/// # Errors
/// When it cannot be read, is too large, or is no UTF-8.
pub fn read_text(path: &Path, name: &str) -> Result<String, Problems> {
    use std::io::Read as _;
    let most = Budget::default().bytes;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| {
        // One byte more than allowed tells a file that is too large from one that just fits.
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        file.take(limit).read_to_end(&mut bytes)
    });
    let problem = |place: Place, message: String| {
        Problems(vec![Problem {
            severity: Severity::Error,
            file: name.into(),
            line: place.line,
            column: place.column,
            path: String::new(),
            message,
            suggestion: None,
        }])
    };
    if let Err(error) = read {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
            std::io::ErrorKind::IsADirectory => "this is a directory, not a file".to_owned(),
            _ => format!("the file cannot be read: {error}"),
        };
        return Err(problem(Place::START, message));
    }
    if bytes.len() > most {
        return Err(problem(
            Place::START,
            format!("the file is larger than the {most} bytes that are read"),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let valid = String::from_utf8_lossy(valid);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        let last = valid.rsplit('\n').next().unwrap_or_default();
        let place = Place {
            line: number(valid.matches('\n').count()),
            column: number(last.chars().count()),
        };
        problem(place, "the file is not valid UTF-8 from here on".to_owned())
    })
}
