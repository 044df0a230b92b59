//! What is wrong with a simulated source, and where. The deployment file is not known here: a
//! place inside it is given as a path that its reader resolves.

use std::fmt;
use std::path::PathBuf;

/// Where a problem stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a catalog file; line and column count from 1.
    Catalog {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column, in characters.
        column: usize,
    },
    /// In `settings.tools`.
    Tool {
        /// Which tool, from 0.
        index: usize,
        /// The key inside it, for example `behavior.parts[1].error_rate`.
        key: String,
    },
    /// At another key of `settings`.
    Setting(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog { path, line, column } => {
                write!(f, "{}:{line}:{column}", path.display())
            }
            Self::Tool { index, key } => write!(f, "tools[{index}].{key}"),
            Self::Setting(key) => f.write_str(key),
        }
    }
}

/// One problem, or one warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub place: Place,
    /// What is wrong and what to do.
    pub message: String,
    /// The nearest valid name, where a name is unknown.
    pub suggestion: Option<String>,
}

impl Problem {
    /// A problem without a suggestion.
    pub(super) fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            suggestion: None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        match &self.suggestion {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None => Ok(()),
        }
    }
}

/// Why a simulated source cannot be built: every problem at once (rule 10.2). At most
/// [`SimError::SHOWN`] problems of one catalog are listed; a last one counts the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimError {
    /// The problems, in the order of the files; never empty.
    pub problems: Vec<Problem>,
}

impl SimError {
    /// How many problems, and how many warnings, of one catalog are listed: a file of the wrong
    /// kind is wrong on each of its ten thousand lines.
    pub const SHOWN: usize = 100;
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SimError {}

/// Cuts a long list down to [`SimError::SHOWN`] and says how much was cut.
pub(super) fn bounded(mut problems: Vec<Problem>) -> Vec<Problem> {
    let rest = problems.len().saturating_sub(SimError::SHOWN);
    if rest > 0 {
        let place = problems[SimError::SHOWN].place.clone();
        problems.truncate(SimError::SHOWN);
        problems.push(Problem::new(place, format!("and {rest} more like these")));
    }
    problems
}
