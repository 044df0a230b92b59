//! The flat name space of an assembly: who brings which tool, and what everybody reads
//! (rules 2.1 to 2.4).
//!
//! The [`Registry`] is the write side. Readers hold an `Arc<Catalog>` and never wait.

mod catalog;
mod diff;
mod glob;
mod names;
mod store;

pub use catalog::{Catalog, Entry, Owner, Refusal};
pub use diff::{CatalogDiff, DefinitionChange};
pub use glob::{GlobMap, glob_matches};
pub use names::{nearest, nearest_one};
pub use store::{CloseFailure, Registry};
