//! Reading strict files: a tree of values that know their places, tables of the keys that a file
//! may have, and a collection of everything that is wrong (rules 10.2 and 10.3). Deployments,
//! scenarios and skills are read through it.
//!
//! Why an own tree: all problems are reported at once, each at its exact place, and a deserializer
//! stops at the first. So the events of `saphyr-parser` (exact spans, 1.2 syntax, linear time) are
//! put into a [`Node`] tree under a [`Budget`] while they arrive, before anything can grow; values
//! are resolved by the YAML 1.2 core schema (`y` and `no` are strings). Files that end in `.json`
//! go through a small JSON reader into the same tree, because JSON's surrogate escapes are no YAML.
//!
//! What is refused with a sentence of its own: merge keys (`<<`), tags other than `!!str`, several
//! documents in one file, keys that are no plain text. Anchors and aliases work within the budget.

mod braces;
mod check;
mod duration;
mod expand;
mod json;
mod node;
mod reading;
mod scalar;
mod schema;
mod shape;
mod toml;
mod value;
mod yaml;

pub use duration::{DurationError, parse_duration, show_duration};
pub use node::{Data, Entry, Node, Style, Text};
pub use reading::{Finished, Reading};
pub use shape::{Field, Shape, Table};
pub use value::Value;

pub(super) use scalar::resolve;
pub(super) use schema::Schemas;

use super::Place;

/// How much one file may hold. What goes beyond is an error at the place where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most bytes of the file.
    pub bytes: usize,
    /// Most values in the tree, each use of an alias counted in full.
    pub nodes: usize,
    /// Most bytes of text in the tree, aliases and expanded variables counted in full.
    pub text: usize,
    /// Deepest nesting; keeps recursion over the tree within any thread's stack.
    pub depth: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            bytes: 8 * 1024 * 1024,
            nodes: 400_000,
            text: 32 * 1024 * 1024,
            depth: 96,
        }
    }
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// YAML 1.2, of which JSON is nearly a part.
    Yaml,
    /// YAML in which a plain value may start with `{{` (skills); such a value is marked by
    /// [`Text::template`] and is accepted where the table says [`Shape::Template`].
    YamlWithTemplates,
    /// JSON.
    Json,
    /// JSON with comments and trailing commas.
    JsonWithComments,
    /// TOML.
    Toml,
}

impl Syntax {
    /// The syntax of a file by its name: JSON if it ends in `.json`, else YAML.
    pub fn of(name: &str) -> Self {
        let json = std::path::Path::new(name)
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        if json { Self::Json } else { Self::Yaml }
    }
}

/// Why a text is no tree. There is only ever one: nothing after it can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
}

impl SyntaxError {
    fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
        }
    }
}

/// The tree of a text; `None` when there is nothing in it but comments.
///
/// # Errors
/// When the text is not of that syntax or goes beyond the budget.
pub fn parse(text: &str, syntax: Syntax, budget: Budget) -> Result<Option<Node>, SyntaxError> {
    parse_noting(text, syntax, budget, &mut Vec::new())
}

/// As [`parse`]; with [`Syntax::YamlWithTemplates`] the places of backslashes that strict YAML
/// would refuse, and that are taken as they are, are added to `escapes`.
///
/// # Errors
/// As [`parse`].
pub fn parse_noting(
    text: &str,
    syntax: Syntax,
    budget: Budget,
    escapes: &mut Vec<Place>,
) -> Result<Option<Node>, SyntaxError> {
    if text.len() > budget.bytes {
        return Err(SyntaxError::new(
            Place::START,
            format!(
                "the file has {} bytes, more than the {} that are read",
                text.len(),
                budget.bytes
            ),
        ));
    }
    match syntax {
        Syntax::Yaml => yaml::parse(text, false, budget, escapes),
        Syntax::YamlWithTemplates => yaml::parse(text, true, budget, escapes),
        Syntax::Json => json::parse(text, false, budget),
        Syntax::JsonWithComments => json::parse(text, true, budget),
        Syntax::Toml => toml::parse(text, budget),
    }
}

#[cfg(test)]
mod tests;
