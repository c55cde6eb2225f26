//! Tools with which a model queries the artifacts of its turn.

mod forge;
mod readable;
mod tool;

#[cfg(test)]
mod tests;

pub use forge::forge_tools;

pub use crate::tool::ForgePolicy;

pub(crate) use forge::Forge;

use readable::Readable;
