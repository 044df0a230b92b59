//! Skills and toolsets: tools that stand in files.

mod settings;

pub use settings::SkillsSettings;
