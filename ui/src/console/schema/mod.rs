//! JSON Schemas as an operator needs them: looked through local references, shown as a tree, used
//! to check arguments. Nothing here fetches anything.

mod check;
mod look;
mod outline;

pub(crate) use check::{Checker, Fault};
pub(crate) use look::Look;
pub(crate) use outline::{Outline, cut, short};
