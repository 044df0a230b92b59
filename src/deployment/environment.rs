//! Where `${env:NAME}` looks names up (rule 10.3).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The value of a variable.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvValue {
    /// The value, which may be empty.
    pub value: String,
    /// Whether it has to be masked wherever it turns up.
    pub secret: bool,
}

impl std::fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EnvValue(secret: {})", self.secret)
    }
}

/// What a deployment is read in: a set of variables, and directories that are none on the disk.
pub trait Environment {
    /// The variable of that name, if it is set.
    fn get(&self, name: &str) -> Option<EnvValue>;

    /// Name and text of each file of a directory that the program itself supplies, by its absolute
    /// path; `None` for those on the disk.
    fn directory(&self, path: &Path) -> Option<Vec<(String, String)>> {
        let _ = path;
        None
    }
}

/// The environment of this process. A value that is no UTF-8 counts as unset.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<EnvValue> {
        // Names with `=` or NUL cannot be set, and the standard library answers them with "unset".
        let value = std::env::var(name).ok()?;
        Some(EnvValue {
            value,
            secret: true,
        })
    }
}

/// Values that the program itself gives to a deployment, such as its own path to the embedded
/// demo, before another environment is asked. They are no secrets.
pub struct Supplied<'e> {
    values: HashMap<String, String>,
    directories: HashMap<PathBuf, Vec<(String, String)>>,
    otherwise: Option<&'e dyn Environment>,
}

impl<'e> Supplied<'e> {
    /// These values, then those of `otherwise`.
    pub fn over<N: Into<String>, V: Into<String>>(
        values: impl IntoIterator<Item = (N, V)>,
        otherwise: &'e dyn Environment,
    ) -> Self {
        Self {
            otherwise: Some(otherwise),
            ..Supplied::only(values)
        }
    }
}

impl Supplied<'static> {
    /// These values and no others.
    pub fn only<N: Into<String>, V: Into<String>>(
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self {
            values: values
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directories: HashMap::new(),
            otherwise: None,
        }
    }
}

impl Supplied<'_> {
    /// With a directory of these files, by name and text, in place of whatever is on the disk.
    #[must_use]
    pub fn with_directory<N: Into<String>, T: Into<String>>(
        mut self,
        path: impl Into<PathBuf>,
        files: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        let files = files.into_iter();
        let files = files.map(|(name, text)| (name.into(), text.into()));
        self.directories.insert(path.into(), files.collect());
        self
    }
}

impl Environment for Supplied<'_> {
    fn get(&self, name: &str) -> Option<EnvValue> {
        match self.values.get(name) {
            Some(value) => Some(EnvValue {
                value: value.clone(),
                secret: false,
            }),
            None => self.otherwise.and_then(|other| other.get(name)),
        }
    }

    fn directory(&self, path: &Path) -> Option<Vec<(String, String)>> {
        match self.directories.get(path) {
            Some(files) => Some(files.clone()),
            None => self.otherwise.and_then(|other| other.directory(path)),
        }
    }
}

impl Environment for HashMap<String, EnvValue> {
    fn get(&self, name: &str) -> Option<EnvValue> {
        self.get(name).cloned()
    }
}
