//! Declared effects and concurrency of tools.

use schemars::JsonSchema;
use serde::Serialize;

/// What a call may change outside of the conversation.
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::{Effects, Tool, ToolContext};
///
/// let stock = Tool::dynamic("stock", json!({ "type": "object" }))
///     .description("Returns the number of items in stock.")
///     .effects(Effects::ReadOnly)
///     .handler(|_: Value, _: ToolContext| async { "3 items" })
///     .build()?;
/// assert_eq!(stock.effects(), Effects::ReadOnly);
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
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
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::tool::Concurrency;
/// use turnwright_core::{Tool, ToolContext};
///
/// let migrate = Tool::dynamic("migrate", json!({ "type": "object" }))
///     .description("Migrates the database.")
///     .concurrency(Concurrency::Exclusive)
///     .handler(|_: Value, _: ToolContext| async { "migrated" })
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
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
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::tool::OnCollision;
/// use turnwright_core::{Tool, ToolContext};
///
/// // Replaces a tool of this name when tools are merged or fetched.
/// let search = Tool::dynamic("search", json!({ "type": "object" }))
///     .description("Searches the documents of this tenant.")
///     .on_collision(OnCollision::Replace)
///     .handler(|_: Value, _: ToolContext| async { "nothing found" })
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
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
