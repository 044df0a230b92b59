//! Brings an index from one version of the exposures to the next by what has changed.

use super::{Document, Index};
use crate::discovery::{ExposedTool, Exposures};

/// What an index has to do to follow the exposures; found without touching the index, which others
/// may read meanwhile.
pub struct IndexChange<'a> {
    gone: Vec<&'a str>,
    put: Vec<&'a ExposedTool>,
}

impl<'a> IndexChange<'a> {
    /// What differs between what an index holds and the tools that a search may find now.
    pub fn between(before: &'a Exposures, now: &'a Exposures) -> Self {
        let gone = before
            .tools()
            .map(|tool| tool.definition.name())
            .filter(|name| before.is_rankable(name) && !now.is_rankable(name))
            .collect();
        let mut put: Vec<&ExposedTool> = now
            .tools()
            .filter(|tool| now.is_rankable(tool.definition.name()))
            .filter(|tool| !is_indexed(before, tool))
            .collect();
        // The order decides nothing but which numbers are given to tools and words.
        put.sort_unstable_by_key(|tool| tool.definition.name());
        Self { gone, put }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.put.is_empty()
    }

    /// Does it.
    pub fn apply(self, index: &mut Index) {
        index.update(self.gone, self.put.into_iter().map(document));
    }
}

/// Whether the index of `before` holds exactly this.
fn is_indexed(before: &Exposures, tool: &ExposedTool) -> bool {
    let name = tool.definition.name();
    before.is_rankable(name)
        && before
            .get(name)
            .is_some_and(|known| known.definition == tool.definition && known.server == tool.server)
}

fn document(tool: &ExposedTool) -> Document<'_> {
    Document {
        name: tool.definition.name(),
        server: tool.server.as_deref(),
        title: tool.definition.title(),
        description: tool.definition.description(),
        schema: tool.definition.input_schema(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::Mode;
    use crate::discovery::fixture::{Shelf, settings};

    #[test]
    fn an_index_holds_what_may_be_found_before_and_after_a_change() {
        let mut shelf = Shelf::of(&["a", "b", "c"]);
        let none = Exposures::default();
        let first = shelf.exposures(Some(settings(&[("b", Mode::Hidden)])));
        let mut index = Index::default();
        IndexChange::between(&none, &first).apply(&mut index);
        shelf.take("a");
        shelf.put("d", 200);
        let second = shelf.exposures(Some(settings(&[("c", Mode::Always)])));
        IndexChange::between(&first, &second).apply(&mut index);
        let mut names: Vec<&str> = index.names().map(|name| &**name).collect();
        names.sort_unstable();
        assert_eq!(names, ["b", "d"]);
        assert!(IndexChange::between(&second, &second).is_empty());
    }
}
