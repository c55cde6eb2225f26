//! Tools, and results of building them.

use crate::error::Error;
use crate::tool::Tool;

/// A [`Tool`], or the result of building one.
///
/// Methods that add tools accept both, so that a builder needs no `?` per tool:
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::{DispatchContext, Error, Tool, ToolContext};
///
/// fn greet() -> Result<Tool, Error> {
///     Tool::dynamic("greet", json!({ "type": "object" }))
///         .description("Greets.")
///         .handler(|_: Value, _: ToolContext| async { "Hello!" })
///         .build()
/// }
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let runner = turnwright_core::runner(executor).tool(greet()).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub trait IntoTool {
    /// Returns the tool.
    ///
    /// # Errors
    /// Returns an error if its definition is invalid.
    fn into_tool(self) -> Result<Tool, Error>;
}

impl IntoTool for Tool {
    fn into_tool(self) -> Result<Tool, Error> {
        Ok(self)
    }
}

impl IntoTool for Result<Tool, Error> {
    fn into_tool(self) -> Result<Tool, Error> {
        self
    }
}
