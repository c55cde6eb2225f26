//! The tools of one turn, by name.
//!
//! ```
//! use turnwright_core::{Tool, ToolContext, ToolRegistry};
//! use serde_json::{Value, json};
//!
//! # fn tool(name: &str) -> Result<Tool, turnwright_core::Error> {
//! #     Tool::dynamic(name, json!({ "type": "object" })).description("…")
//! #         .handler(|_: Value, _: ToolContext| async { "ok" }).build()
//! # }
//! let registry = ToolRegistry::new([tool("search")?, tool("fetch")?])?;
//! registry.hide("fetch");
//! assert_eq!(registry.visible().len(), 1);
//! assert!(registry.get("fetch").is_some(), "hidden tools can still be called");
//! assert!(registry.register(tool("search")?).is_err());
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod bind;
mod merge;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::RwLock;

pub use bind::BoundRegistry;
pub use merge::MergePolicy;

use crate::error::{Error, ErrorCode};
use crate::tool::Tool;

/// Tools by name, in the order in which they came. A handle: clones share it, [`ToolRegistry::fork`] copies it.
///
/// It keeps tools, and that is all: it does not retry, limit, authorise, cache, deduplicate or order. Reading takes a
/// snapshot; nothing is locked while a tool runs.
#[derive(Clone, Default)]
pub struct ToolRegistry(Arc<RwLock<Shelf>>);

#[derive(Clone, Default)]
struct Shelf {
    tools: IndexMap<String, Tool>,
    hidden: HashSet<String>,
}

impl ToolRegistry {
    /// A registry of these tools.
    ///
    /// # Errors
    /// `E_TOOL_ALREADY_REGISTERED`, naming the tool, if two have one name.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, Error> {
        let registry = ToolRegistry::default();
        for tool in tools {
            registry.register(tool)?;
        }
        Ok(registry)
    }

    /// Adds a tool. Its own `on_collision` plays no part: a clash here is a slip of the pen.
    ///
    /// # Errors
    /// `E_TOOL_ALREADY_REGISTERED`, naming the tool.
    pub fn register(&self, tool: Tool) -> Result<(), Error> {
        let mut shelf = self.0.write();
        if shelf.tools.contains_key(tool.name()) {
            return Err(clash(
                tool.name(),
                "call `register_overwriting` if that is meant",
            ));
        }
        shelf.tools.insert(tool.name().to_owned(), tool);
        Ok(())
    }

    /// Adds a tool in the place of one of its name, which it gives back. Hidden stays hidden.
    pub fn register_overwriting(&self, tool: Tool) -> Option<Tool> {
        self.0.write().tools.insert(tool.name().to_owned(), tool)
    }

    /// Takes a tool away, and what was said of its name.
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        let mut shelf = self.0.write();
        shelf.hidden.remove(name);
        shelf.tools.shift_remove(name)
    }

    /// The tool of that name, hidden or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.0.read().tools.get(name).cloned()
    }

    /// Whether there is a tool of that name, hidden or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.read().tools.contains_key(name)
    }

    /// How many tools there are, hidden ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.read().tools.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All tools, in the order in which they came, as they are now.
    #[must_use]
    pub fn all(&self) -> Vec<Tool> {
        self.0.read().tools.values().cloned().collect()
    }

    /// The tools that a model is shown, in order.
    #[must_use]
    pub fn visible(&self) -> Vec<Tool> {
        self.select(false)
    }

    /// The tools that a model is not shown, in order.
    #[must_use]
    pub fn hidden(&self) -> Vec<Tool> {
        self.select(true)
    }

    fn select(&self, hidden: bool) -> Vec<Tool> {
        let shelf = self.0.read();
        if shelf.hidden.is_empty() {
            return if hidden {
                Vec::new()
            } else {
                shelf.tools.values().cloned().collect()
            };
        }
        let wanted = |name: &&str| shelf.hidden.contains(*name) == hidden;
        shelf
            .tools
            .iter()
            .filter(|(name, _)| wanted(&name.as_str()))
            .map(|(_, tool)| tool.clone())
            .collect()
    }

    /// Hides a tool from the model; it can still be called. `false` if there is none of that name.
    pub fn hide(&self, name: &str) -> bool {
        let mut shelf = self.0.write();
        let there = shelf.tools.contains_key(name);
        if there {
            shelf.hidden.insert(name.to_owned());
        }
        there
    }

    /// Shows a tool again. `false` if it was not hidden.
    pub fn unhide(&self, name: &str) -> bool {
        self.0.write().hidden.remove(name)
    }

    /// Hides exactly these; names of no tool are passed over.
    pub fn set_hidden<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) {
        // Collected first: the iterator is foreign code and may look at this registry.
        let names: Vec<String> = names
            .into_iter()
            .map(|name| name.as_ref().to_owned())
            .collect();
        let mut shelf = self.0.write();
        shelf.hidden = names
            .into_iter()
            .filter(|name| shelf.tools.contains_key(name))
            .collect();
    }

    /// Shows all.
    pub fn clear_hidden(&self) {
        self.0.write().hidden.clear();
    }

    /// Whether the tool of that name is hidden.
    #[must_use]
    pub fn is_hidden(&self, name: &str) -> bool {
        self.0.read().hidden.contains(name)
    }

    /// Takes all ephemeral tools away, and gives them.
    pub fn prune_ephemeral(&self) -> Vec<Tool> {
        let mut shelf = self.0.write();
        let Shelf { tools, hidden } = &mut *shelf;
        let mut pruned = Vec::new();
        tools.retain(|name, tool| {
            if tool.is_ephemeral() {
                hidden.remove(name);
                pruned.push(tool.clone());
            }
            !tool.is_ephemeral()
        });
        pruned
    }

    /// A copy that shares nothing: what happens to one is not seen by the other.
    #[must_use]
    pub fn fork(&self) -> Self {
        ToolRegistry(Arc::new(RwLock::new(self.0.read().clone())))
    }
}

fn clash(name: &str, advice: &str) -> Error {
    Error::new(
        ErrorCode::ToolAlreadyRegistered,
        format!("there is a tool `{name}` already: {advice}"),
    )
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().tools.keys()).finish()
    }
}
