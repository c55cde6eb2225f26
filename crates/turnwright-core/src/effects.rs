//! What a tool does to the world, and beside what it may run.

use serde::Serialize;

/// What a call may change outside of the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effects {
    /// It only looks. A call that was cut off can be made again.
    ReadOnly,
    /// It may change something. What is not declared counts as this.
    #[default]
    Writes,
}

/// Beside what a call may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Concurrency {
    /// Beside any other call that was proposed with it.
    #[default]
    Parallel,
    /// Alone: those proposed before it end first, those after it wait.
    Exclusive,
}

/// What happens to a tool that meets another of its name in a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCollision {
    /// Leaves it to the merge, which fails unless told otherwise.
    #[default]
    #[serde(rename = "throw")]
    Error,
    /// The incoming tool wins, and takes the place of the other.
    Replace,
    /// The tool that is there wins.
    Keep,
}
