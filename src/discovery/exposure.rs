//! The effective exposure of every tool of one catalog version, and what decided it (rules 4.1 to
//! 4.3). Everything downstream reads an [`Exposures`]; nobody matches patterns again.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::{DynamicSettings, Mode};
use crate::registry::{Catalog, GlobMap, glob_matches};
use crate::tool::Definition;

/// The name of the discovery tool that the assembly adds (rule 4.3).
pub const TOOL_SEARCH: &str = "tool_search";

/// What decided the mode of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// Dynamic injection is off, or it is `tool_search`.
    Fixed,
    /// This name or glob of `dynamic.exposures`.
    Entry(Arc<str>),
    /// `dynamic.default`.
    Default,
}

/// One tool as discovery sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExposedTool {
    /// The definition that counts.
    pub definition: Definition,
    /// The server that brought it, where there is one; takes part in ranking.
    pub server: Option<Arc<str>>,
    /// Its mode.
    pub mode: Mode,
    /// What decided the mode.
    pub decided_by: DecidedBy,
}

impl ExposedTool {
    /// Whether `tool_search` ranks it and the pool takes it (rules 4.2 and 6.1).
    pub fn is_searchable(&self) -> bool {
        matches!(self.mode, Mode::Direct | Mode::Deferred)
    }
}

/// Why a mode cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`tool_search` is always visible (rule 4.3)")]
pub struct FixedExposure;

/// The exposure of every tool of one catalog version. Immutable and shared by all sessions.
#[derive(Clone, Debug, Default)]
pub struct Exposures {
    version: u64,
    settings: Option<Arc<DynamicSettings>>,
    tools: HashMap<Arc<str>, ExposedTool>,
    /// Names of the always tools, sorted; without dynamic injection that is every tool.
    always: Vec<Arc<str>>,
}

impl Exposures {
    /// The exposures of a catalog. Without settings dynamic injection is off and every tool is
    /// `always` (rule 4.1).
    pub fn new(catalog: &Catalog, settings: Option<Arc<DynamicSettings>>) -> Self {
        Self::default().next(catalog, settings)
    }

    /// The exposures of the next catalog version. Modes that are known already are taken over, so
    /// that no pattern is matched twice against the same name.
    pub fn next(&self, catalog: &Catalog, settings: Option<Arc<DynamicSettings>>) -> Self {
        let same_settings = match (&self.settings, &settings) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new) || old == new,
            (None, None) => true,
            _ => false,
        };
        let mut tools = HashMap::with_capacity(catalog.len());
        let mut always = Vec::new();
        for entry in catalog.entries() {
            let name = entry.definition.shared_name();
            let (mode, decided_by) = match self.tools.get(&name) {
                Some(known) if same_settings => (known.mode, known.decided_by.clone()),
                _ => decide(&name, settings.as_deref()),
            };
            if mode == Mode::Always {
                always.push(Arc::clone(&name));
            }
            let tool = ExposedTool {
                definition: entry.definition.clone(),
                server: entry.owner.server.clone(),
                mode,
                decided_by,
            };
            tools.insert(name, tool);
        }
        Self {
            version: catalog.version,
            settings,
            tools,
            always,
        }
    }

    /// The same with some definitions replaced: what lazy tools turned out to be when they were
    /// loaded in the middle of a round (rule 7.2). Unknown names are left out.
    pub fn with_definitions(&self, definitions: impl IntoIterator<Item = Definition>) -> Self {
        let mut next = self.clone();
        for definition in definitions {
            if let Some(tool) = next.tools.get_mut(definition.name()) {
                tool.definition = definition;
            }
        }
        next
    }

    /// The same tools under other settings: what would be if the file said so.
    pub fn under(&self, settings: Arc<DynamicSettings>) -> Self {
        let mut next = self.clone();
        next.always.clear();
        for (name, tool) in &mut next.tools {
            (tool.mode, tool.decided_by) = decide(name, Some(&settings));
            if tool.mode == Mode::Always {
                next.always.push(Arc::clone(name));
            }
        }
        next.always.sort_unstable();
        next.settings = Some(settings);
        next
    }

    /// The catalog version that this was made from.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The settings, or `None` when dynamic injection is off.
    pub fn settings(&self) -> Option<&Arc<DynamicSettings>> {
        self.settings.as_ref()
    }

    /// One tool.
    pub fn get(&self, name: &str) -> Option<&ExposedTool> {
        self.tools.get(name)
    }

    /// Every tool, in no particular order.
    pub fn tools(&self) -> impl Iterator<Item = &ExposedTool> {
        self.tools.values()
    }

    /// The names of the always tools, sorted.
    pub fn always(&self) -> &[Arc<str>] {
        &self.always
    }

    /// Whether a search may find the tool. Without dynamic injection `search` and `recall` rank
    /// all tools (rule 4.1).
    pub fn is_rankable(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|tool| self.settings.is_none() || tool.is_searchable())
    }
}

fn decide(name: &str, settings: Option<&DynamicSettings>) -> (Mode, DecidedBy) {
    match settings {
        None => (Mode::Always, DecidedBy::Fixed),
        Some(_) if name == TOOL_SEARCH => (Mode::Always, DecidedBy::Fixed),
        Some(settings) => match settings.exposures.entry(name) {
            Some((pattern, mode)) => (*mode, DecidedBy::Entry(pattern.into())),
            None => (settings.default, DecidedBy::Default),
        },
    }
}

impl DynamicSettings {
    /// The names and globs of `exposures` that match no tool, in the order of the file: a warning
    /// once all sources are settled (rule 4.2). A glob does not match `tool_search`.
    pub fn unmatched(&self, catalog: &Catalog) -> Vec<&str> {
        let matches = |pattern: &str| {
            catalog.get(pattern).is_some()
                || catalog.definitions().any(|definition| {
                    definition.name() != TOOL_SEARCH && glob_matches(pattern, definition.name())
                })
        };
        self.exposures
            .iter()
            .map(|(pattern, _)| pattern)
            .filter(|pattern| !matches(pattern))
            .collect()
    }

    /// The same settings with one tool's mode overruled, as an operator does for this process.
    ///
    /// # Errors
    /// For `tool_search`, which has one mode only.
    pub fn with_mode(&self, tool: &str, mode: Mode) -> Result<Self, FixedExposure> {
        if tool == TOOL_SEARCH {
            return Err(FixedExposure);
        }
        let kept = self
            .exposures
            .iter()
            .filter(|(pattern, _)| *pattern != tool)
            .map(|(pattern, mode)| (pattern.to_owned(), *mode));
        Ok(Self {
            exposures: GlobMap::new(std::iter::once((tool.to_owned(), mode)).chain(kept)),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::fixture::{Shelf, settings};

    #[test]
    fn an_entry_a_glob_or_the_default_decides_and_is_named() {
        let shelf = Shelf::of(&["fs__read", "fs__write", "other", TOOL_SEARCH]);
        let settings = settings(&[("fs__*", Mode::Hidden), ("fs__read", Mode::Direct)]);
        let exposures = shelf.exposures(Some(settings));
        let decided = |name| {
            let tool = exposures.get(name).unwrap();
            (tool.mode, tool.decided_by.clone())
        };
        assert_eq!(
            decided("fs__read"),
            (Mode::Direct, DecidedBy::Entry("fs__read".into()))
        );
        assert_eq!(
            decided("fs__write"),
            (Mode::Hidden, DecidedBy::Entry("fs__*".into()))
        );
        assert_eq!(decided("other"), (Mode::Deferred, DecidedBy::Default));
        assert_eq!(decided(TOOL_SEARCH), (Mode::Always, DecidedBy::Fixed));
    }

    #[test]
    fn globs_and_the_default_never_apply_to_tool_search() {
        let shelf = Shelf::of(&["a", TOOL_SEARCH]);
        let mut hiding = settings(&[("*", Mode::Hidden)]);
        hiding.default = Mode::Hidden;
        let exposures = shelf.exposures(Some(hiding));
        assert_eq!(exposures.always(), [TOOL_SEARCH.into()]);
        assert_eq!(exposures.get("a").unwrap().mode, Mode::Hidden);
    }

    #[test]
    fn without_dynamic_every_tool_is_always_and_everything_is_ranked() {
        let exposures = Shelf::of(&["b", "a"]).exposures(None);
        assert_eq!(exposures.always(), ["a".into(), "b".into()]);
        assert!(exposures.is_rankable("a"));
        assert!(!exposures.is_rankable("absent"));
    }

    #[test]
    fn names_and_globs_that_match_nothing_are_listed_in_the_order_of_the_file() {
        let shelf = Shelf::of(&["fs__read", TOOL_SEARCH]);
        let settings = settings(&[
            ("zip__*", Mode::Always),
            ("fs__*", Mode::Direct),
            ("absent", Mode::Hidden),
            ("tool_s*", Mode::Hidden),
            (TOOL_SEARCH, Mode::Always),
        ]);
        assert_eq!(
            settings.unmatched(&shelf.catalog()),
            ["zip__*", "absent", "tool_s*"]
        );
    }

    #[test]
    fn an_operator_overrules_one_tool_and_leaves_the_others() {
        let shelf = Shelf::of(&["a", "b"]);
        let before = settings(&[("a", Mode::Hidden), ("*", Mode::Direct)]);
        let exposures = shelf.exposures(before.with_mode("a", Mode::Always).ok());
        assert_eq!(exposures.get("a").unwrap().mode, Mode::Always);
        assert_eq!(exposures.get("b").unwrap().mode, Mode::Direct);
        let refused = before.with_mode(TOOL_SEARCH, Mode::Hidden);
        assert_eq!(refused, Err(FixedExposure));
    }

    #[test]
    fn tools_under_other_settings_are_as_if_the_file_had_said_so() {
        let shelf = Shelf::of(&["b", "a", "c", TOOL_SEARCH]);
        let other = settings(&[
            ("a", Mode::Always),
            ("b", Mode::Always),
            ("c", Mode::Hidden),
        ]);
        let under = shelf
            .exposures(Some(settings(&[("*", Mode::Direct)])))
            .under(Arc::new(other.clone()));
        let said = shelf.exposures(Some(other));
        assert_eq!(under.always(), said.always());
        for name in ["a", "b", "c", TOOL_SEARCH] {
            assert_eq!(under.get(name), said.get(name));
        }
    }

    #[test]
    fn changed_settings_decide_anew_and_kept_settings_take_over_the_modes() {
        let mut shelf = Shelf::of(&["a"]);
        let first = shelf.exposures(Some(settings(&[("a", Mode::Direct)])));
        shelf.put("b", 200);
        let second = first.next(&shelf.catalog(), first.settings().cloned());
        assert_eq!(second.get("a").unwrap().mode, Mode::Direct);
        assert_eq!(second.get("b").unwrap().mode, Mode::Deferred);
        let third = second.next(&shelf.catalog(), Some(Arc::default()));
        assert_eq!(third.get("a").unwrap().mode, Mode::Deferred);
    }
}
