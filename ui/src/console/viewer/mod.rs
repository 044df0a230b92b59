//! Looks at results: text of any size, JSON as a tree, media as facts.

mod document;

pub(crate) use document::{Document, Layout, Row};
