//! Reads the settings of `impl: skills`, with the files that they name (skills 1.1).

use std::sync::Arc;

use super::document::{Field, Reading, Shape, Table, Value};
use super::names::ToolName;
use super::skill_files::read_directory;
use super::{Place, servers_file};
use crate::registry::nearest_one;
use crate::source::skills::{Library, SkillsSettings, UnknownName};

/// The settings.
pub(super) static SKILLS: Table = Table {
    name: "skills",
    fields: &[
        Field::required(
            "dir",
            Shape::File,
            "The directory of *.skill.yaml and *.toolset.yaml.",
        ),
        Field::optional(
            "skills",
            Shape::List(&Shape::Name),
            "The skills to load (all three lists absent: everything).",
        ),
        Field::optional(
            "toolsets",
            Shape::List(&Shape::Name),
            "The toolsets to load.",
        ),
        Field::optional("tools", Shape::List(&Shape::Name), "The tools to load."),
        Field::optional(
            "mcp_servers_file",
            Shape::File,
            "A file of further MCP servers.",
        ),
    ],
};

/// The settings. `servers` are those of the dependencies; `None` when they are not known.
pub(super) fn read(
    reading: &Reading<'_>,
    settings: &Value<'_>,
    servers: Option<Vec<String>>,
) -> Option<SkillsSettings> {
    reading.check(settings, &Shape::Fields(&SKILLS));
    let from_file = settings
        .get("mcp_servers_file")
        .map_or_else(Vec::new, |file| servers_file::read(reading, &file));
    if let (Some(file), Some(others)) = (settings.get("mcp_servers_file"), &servers) {
        for server in &from_file {
            let name = &server.settings.name;
            if others.contains(name) {
                let message = format!(
                    "a server `{name}` is in the file and in a source of the `mcp` dependencies; \
                     a tool that names it would not know which"
                );
                reading.error(&file, message);
            }
        }
    }
    let known = servers.map(|mut known| {
        known.extend(from_file.iter().map(|server| server.settings.name.clone()));
        known
    });
    let dir = settings.get("dir")?;
    let path = reading.existing_dir(&dir, "directory")?;
    let shown = reading.shown_file(&dir);
    let library = read_directory(reading, &path, &shown, &dir, known.as_deref());
    let lists = ["skills", "toolsets", "tools"].map(|key| settings.get(key));
    let chosen = lists.iter().any(Option::is_some);
    let names = lists
        .each_ref()
        .map(|list| list.as_ref().map_or_else(Vec::new, |list| list.strings()));
    if let Some(list) = lists.iter().flatten().next()
        && names.iter().all(Vec::is_empty)
    {
        let message = "nothing is listed, so the source brings no tool; without the lists it \
                       brings everything in the directory";
        reading.warn(list, message);
    }
    let tools = if chosen {
        let found = library.resolve(&names[0], &names[1], &names[2]);
        for unknown in &found.unknown {
            report(reading, &library, &lists, unknown);
        }
        found.found
    } else {
        library.tools().cloned().collect()
    };
    Some(SkillsSettings {
        dir: path,
        library: Arc::new(library),
        tools,
        servers: from_file,
    })
}

/// The names that the source brings, with their places.
pub(super) fn tool_names(settings: &SkillsSettings) -> Vec<ToolName> {
    let tools = settings.tools.iter();
    tools
        .map(|tool| {
            let (file, line) = tool
                .defined_at
                .rsplit_once(':')
                .unwrap_or((&tool.defined_at, "1"));
            let place = Place {
                line: line.parse().unwrap_or(1),
                column: 1,
            };
            ToolName::in_file(tool.definition.name(), &file.into(), place)
        })
        .collect()
}

/// Reports a name of the lists that nothing in the directory has.
fn report(
    reading: &Reading<'_>,
    library: &Library,
    lists: &[Option<Value<'_>>; 3],
    unknown: &UnknownName,
) {
    let (list, name, kind, known): (_, _, _, Vec<&str>) = match unknown {
        UnknownName::Skill(name) => {
            let known = library.skills.iter().map(|skill| &*skill.name);
            (&lists[0], name, "skill", known.collect())
        }
        UnknownName::Toolset(name) => {
            let known = library.toolsets.iter().map(|set| &*set.name);
            (&lists[1], name, "toolset", known.collect())
        }
        UnknownName::Tool(name) => {
            let known = library.tools().map(|tool| tool.definition.name());
            (&lists[2], name, "tool", known.collect())
        }
    };
    // A toolset's own unknown tool is reported in its file.
    let items = list.as_ref().map_or_else(Vec::new, |list| list.items());
    if let Some(item) = items.iter().find(|item| item.text() == Some(name)) {
        let all = nearest_one(name, known.iter().copied());
        let hint = match (all, known.is_empty()) {
            (None, false) if known.len() <= 8 => format!("; there are `{}`", known.join("`, `")),
            _ => String::new(),
        };
        reading.unknown(
            item.place(),
            &item.path,
            format!("the directory has no {kind} `{name}`{hint}"),
            name,
            known,
        );
    }
}
