//! Reads a toolset (skills 4).

use std::collections::HashMap;
use std::sync::Arc;

use super::File;
use super::texts::Comment;
use crate::deployment::document::{Field, Shape, Table, Value};
use crate::source::skills::Toolset;

static TOOLSET: Table = Table {
    name: "toolset_file",
    fields: &[
        Field::required("name", Shape::Name, "The name of the toolset."),
        Field::optional("description", Shape::Text, "What it is for."),
        Field::required("tools", Shape::List(&Shape::Name), "Its tools, in order."),
    ],
};

impl File<'_, '_, '_> {
    pub(super) fn read_toolset(&mut self, root: &Value<'_>) {
        self.reading.check(root, &Shape::Fields(&TOOLSET));
        let Some(name) = root.get("name") else { return };
        let Some(text) = name.string() else { return };
        if let Some(description) = root.get("description") {
            self.cut_by_comment(&description, Comment::Any);
        }
        let here = self.full_place(name.place());
        if let Some(first) = self.directory.toolsets.get(&text) {
            let message = format!("the toolset `{text}` is there already, at {first}");
            return self.reading.error(&name, message);
        }
        self.directory.toolsets.insert(text.clone(), here);
        let values = root
            .get("tools")
            .map_or_else(Vec::new, |tools| tools.items());
        let mut tools: Vec<Arc<str>> = Vec::new();
        let mut seen = HashMap::new();
        for value in &values {
            let Some(tool) = value.text() else { continue };
            if let Some(first) = seen.insert(tool, value.place()) {
                let message = format!("`{tool}` is listed already, at {first}; it counts once");
                self.reading.warn(value, message);
            }
            tools.push(tool.into());
            self.directory.wanted.push((
                Arc::clone(self.reading.file()),
                value.place(),
                value.path.clone(),
                tool.to_owned(),
            ));
        }
        let description = root.get("description").and_then(|text| text.string());
        let toolset = Toolset {
            name: text.into(),
            description: description.unwrap_or_default(),
            tools,
            defined_at: self.defined_at(name.place()),
        };
        self.directory.add_toolset(toolset);
    }
}
