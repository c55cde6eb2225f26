//! Declared effects and concurrency of tools.

use serde::Serialize;

/// What a call may change outside of the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effects {
    /// Nothing. An interrupted call can be repeated.
    ReadOnly,
    /// It may change something. The default if nothing is declared.
    #[default]
    Writes,
}

/// Which calls may run concurrently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Concurrency {
    /// May run concurrently with other calls of the same batch.
    #[default]
    Parallel,
    /// Runs alone: earlier calls finish first, later ones wait.
    Exclusive,
}

/// What happens when two tools have the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCollision {
    /// Leaves the decision to the merge policy, which fails by default.
    #[default]
    #[serde(rename = "throw")]
    Error,
    /// The new tool replaces the existing one, in the same position.
    Replace,
    /// The existing tool is kept.
    Keep,
}
