//! Looks at results: text of any size, JSON as a tree, media as facts.

mod document;
mod json;
mod pager;
mod trunk;

pub(crate) use document::{Document, Layout};
pub(crate) use json::Json;
pub(crate) use pager::Pager;
pub(crate) use trunk::Trunk;
