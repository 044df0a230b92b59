//! Skills and toolsets: tools that stand in files (the specification "skills").
//!
//! The files are read by [`crate::deployment`], like every other file; here is what they mean:
//! templates, requests, retries and answers in pure files, the sending of requests in `http`.

mod body;
mod http;
mod library;
mod model;
mod output;
mod preview;
mod repeats;
mod request;
mod response;
mod retry;
mod settings;
mod shelf;
mod source;
mod template;
mod tool;
mod url;

pub use body::BodyTemplate;
pub use library::{Found, Library, UnknownName};
pub use model::{Action, DefinedAt, Extract, HttpTemplate, Retry, Skill, SkillTool, Toolset};
pub(crate) use output::stays_inside;
pub use request::{Request, RequestError, prepare};
pub use settings::{FileServer, SkillsSettings, StoredVariable};
pub use shelf::{FileToolRow, Shelf, SkillRow, ToolsetRow};
pub use source::{SkillsError, SkillsSource};
pub use template::{Piece, Template, TemplateError, UnsetVariable, Variables};
pub use url::{UrlError, UrlTemplate};
