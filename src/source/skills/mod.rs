//! Skills and toolsets: tools that stand in files.

mod body;
mod encode;
mod http;
mod model;
mod request;
mod response;
mod retry;
mod settings;
mod template;
mod url;

pub use settings::SkillsSettings;
