//! What the simulated source finds in its settings, at the places of the files.

use std::path::Path;
use std::sync::Arc;

use crate::deployment::document::{Reading, Value};
use crate::deployment::names::ToolName;
use crate::deployment::{Place, Problem, Severity};
use crate::source::sim::{self, Prepared};

/// Where the things are that the simulated source speaks of.
pub(super) struct Found<'a, 'd> {
    pub(super) reading: &'a Reading<'a>,
    pub(super) settings: &'a Value<'d>,
    pub(super) tools: &'a [Value<'d>],
    pub(super) catalog: Option<Arc<str>>,
}

impl Found<'_, '_> {
    pub(super) fn report(&self, severity: Severity, problem: &sim::Problem) {
        let (file, place, path) = match &problem.place {
            sim::Place::Catalog {
                path, line, column, ..
            } => (
                self.catalog_file(path),
                place(*line, *column),
                String::new(),
            ),
            sim::Place::Tool { index, key } => {
                let tool = self.tools.get(*index).unwrap_or(self.settings);
                let value = tool.at(key);
                (Arc::clone(self.reading.file()), value.place(), value.path)
            }
            sim::Place::Setting(key) => {
                let value = self.settings.at(key);
                (Arc::clone(self.reading.file()), value.place(), value.path)
            }
        };
        self.reading.add(Problem {
            severity,
            file,
            line: place.line,
            column: place.column,
            path,
            message: problem.message.clone(),
            suggestion: problem.suggestion.clone(),
        });
    }

    pub(super) fn names(&self, prepared: &Prepared, names: &mut Vec<ToolName>) {
        for (index, tool) in prepared.tools.iter().enumerate() {
            let name = tool.definition.name();
            names.push(match (&tool.defined_at, self.tools.get(index)) {
                (Some(at), _) => {
                    let (path, line) = at.rsplit_once(':').unwrap_or((at, "1"));
                    let line = line.parse().unwrap_or(1);
                    ToolName::in_file(name, &self.catalog_file(Path::new(path)), place(line, 1))
                }
                (None, Some(value)) => ToolName::at(self.reading.file(), &value.at("name"), name),
                (None, None) => ToolName::at(self.reading.file(), self.settings, name),
            });
        }
    }

    fn catalog_file(&self, path: &Path) -> Arc<str> {
        self.catalog
            .clone()
            .unwrap_or_else(|| path.display().to_string().into())
    }
}

fn place(line: usize, column: usize) -> Place {
    Place {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    }
}
