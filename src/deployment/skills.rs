//! Reads the settings of `impl: skills`.

use super::document::{Field, Reading, Shape, Table, Value};
use crate::source::skills::SkillsSettings;

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

/// The settings. Names are looked up by the skills source, which reads the directory.
pub(super) fn read(reading: &Reading<'_>, settings: &Value<'_>) -> Option<SkillsSettings> {
    reading.check(settings, &Shape::Fields(&SKILLS));
    let names = |key: &str| settings.get(key).map(|list| list.strings());
    let servers = settings.get("mcp_servers_file");
    let servers_file = servers
        .as_ref()
        .map(|value| reading.existing(value, "servers file"));
    Some(SkillsSettings {
        dir: reading.existing_dir(&settings.get("dir")?, "directory")?,
        base_dir: reading.base_dir().to_owned(),
        skills: names("skills"),
        toolsets: names("toolsets"),
        tools: names("tools"),
        mcp_servers_file: match servers_file {
            Some(file) => Some(file?),
            None => None,
        },
    })
}
