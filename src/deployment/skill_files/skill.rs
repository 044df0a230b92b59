//! Reads a skill (skills 2).

use std::collections::BTreeSet;
use std::sync::Arc;

use regex::RegexBuilder;

use super::File;
use super::texts::Comment;
use super::tool::TOOL;
use crate::deployment::document::{Data, Field, Shape, Table, Value};
use crate::source::skills::{Extract, Skill, SkillTool};

static SKILL: Table = Table {
    name: "skill_file",
    fields: &[
        Field::required("name", Shape::Name, "The name of the skill."),
        Field::optional("description", Shape::Text, "What it is for."),
        Field::optional("version", Shape::Any, "Its version."),
        Field::optional(
            "system_prompt_append",
            Shape::Text,
            "What is added to the system prompt.",
        ),
        Field::optional(
            "parameters",
            Shape::Map(&Shape::Any),
            "Parameters of the prompt with their defaults; an empty default means: ask.",
        ),
        Field::optional(
            "required_env",
            Shape::List(&Shape::Name),
            "The only variables that may be read; each has to be set.",
        ),
        Field::optional(
            "extract",
            Shape::List(&Shape::Fields(&EXTRACT)),
            "What is taken out of results for later prompts.",
        ),
        Field::optional("tools", Shape::List(&Shape::Fields(&TOOL)), "Its tools."),
    ],
};

static EXTRACT: Table = Table {
    name: "extract",
    fields: &[
        Field::required("tool", Shape::Name, "The tool whose result is searched."),
        Field::required("pattern", Shape::Text, "A pattern; its capture 1 is taken."),
        Field::required("store", Shape::Name, "The parameter that is set."),
    ],
};

impl File<'_, '_, '_> {
    pub(super) fn read_skill(&mut self, root: &Value<'_>) {
        self.reading.check(root, &Shape::Fields(&SKILL));
        let Some(name) = root.get("name") else { return };
        let Some(text) = name.string() else { return };
        let here = self.full_place(name.place());
        if let Some(first) = self.directory.skills.get(&text) {
            let message = format!("the skill `{text}` is there already, at {first}");
            return self.reading.error(&name, message);
        }
        self.directory.skills.insert(text.clone(), here);
        if let Some(description) = root.get("description") {
            self.cut_by_comment(&description, Comment::Any);
        }
        if let Some(append) = root.get("system_prompt_append") {
            self.cut_by_comment(&append, Comment::Any);
        }
        let required_env = self.required_env(root);
        let skill_name: Arc<str> = text.into();
        let tools = self.tools(root, &skill_name, required_env.as_ref());
        let string = |key: &str| root.get(key).and_then(|value| value.string());
        let extract = root
            .get("extract")
            .map_or_else(Vec::new, |list| list.items());
        let skill = Skill {
            description: string("description").unwrap_or_default(),
            version: root.get("version").as_ref().and_then(scalar),
            append: string("system_prompt_append"),
            parameters: self.parameters(root),
            required_env,
            extract: extract
                .iter()
                .filter_map(|value| self.extract(value))
                .collect(),
            tools,
            defined_at: self.defined_at(name.place()),
            name: skill_name,
        };
        self.directory.add_skill(skill);
    }

    /// The tools; a skill without any needs at least something for the prompt.
    fn tools(
        &mut self,
        root: &Value<'_>,
        skill: &Arc<str>,
        allowed: Option<&BTreeSet<String>>,
    ) -> Vec<Arc<SkillTool>> {
        let list = root.get("tools");
        let values = list.as_ref().map_or_else(Vec::new, |list| list.items());
        if values.is_empty() && !root.has("system_prompt_append") {
            self.reading.error(
                list.as_ref().unwrap_or(root),
                "a skill without `tools` needs a `system_prompt_append`",
            );
        }
        values
            .iter()
            .filter_map(|value| self.read_tool(value, skill, allowed))
            .map(Arc::new)
            .collect()
    }

    /// The names that may be read; each has to be set (skills 5.4).
    fn required_env(&mut self, root: &Value<'_>) -> Option<BTreeSet<String>> {
        let list = root.get("required_env")?;
        for value in list.items() {
            let Some(name) = value.text() else { continue };
            match self.reading.variable(name) {
                Some(found) => self.keep_variable(name, found),
                None => self.reading.error(
                    &value,
                    format!("the environment variable `{name}` is not set, and the skill needs it"),
                ),
            }
        }
        Some(list.strings().into_iter().collect())
    }

    fn parameters(&self, root: &Value<'_>) -> Vec<(String, String)> {
        let Some(map) = root.get("parameters") else {
            return Vec::new();
        };
        map.entries()
            .filter_map(|(name, _, value)| match scalar(&value) {
                Some(text) => Some((name.to_owned(), text)),
                None => {
                    self.reading
                        .error(&value, format!("the default of `{name}` must be a text"));
                    None
                }
            })
            .collect()
    }

    fn extract(&mut self, value: &Value<'_>) -> Option<Extract> {
        let tool = value.get("tool")?;
        let name = tool.string()?;
        self.directory.searched.push((
            Arc::clone(self.reading.file()),
            tool.place(),
            tool.path.clone(),
            name.clone(),
        ));
        let pattern = value.get("pattern")?;
        let text = pattern.text()?;
        self.cut_by_comment(&pattern, Comment::IfJoined);
        match RegexBuilder::new(text).multi_line(true).build() {
            Ok(compiled) => {
                if compiled.captures_len() < 2 {
                    let message = format!(
                        "the pattern `{text}` has no capture, so nothing will be stored; put what \
                         is meant in `( )`"
                    );
                    self.reading.warn(&pattern, message);
                }
                Some(Extract {
                    tool: name,
                    pattern: compiled,
                    store: value.get("store")?.string()?,
                })
            }
            Err(error) => {
                let error = error.to_string();
                let last = error.lines().last().unwrap_or_default();
                self.reading.error(
                    &pattern,
                    format!(
                        "`{text}` is no regular expression: {}",
                        last.strip_prefix("error: ").unwrap_or(last)
                    ),
                );
                None
            }
        }
    }
}

/// A value without parts as it is written; nothing is the empty text.
fn scalar(value: &Value<'_>) -> Option<String> {
    match &value.node.data {
        Data::Null => Some(String::new()),
        Data::Bool(_, written) | Data::Number(_, written) => Some(written.to_string()),
        Data::Text(text) => Some(text.value.clone()),
        Data::List(_) | Data::Map { .. } | Data::Broken => None,
    }
}
