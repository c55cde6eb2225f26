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
mod exchange;
mod merge;
mod snapshot;

#[cfg(test)]
mod forks;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

pub use bind::BoundRegistry;
pub use merge::MergePolicy;

pub(crate) use exchange::Exchange;
pub(crate) use snapshot::SnapshotMark;

use crate::error::{Error, ErrorCode};
use crate::tool::Tool;
use snapshot::Snapshot;

/// Tools by name, in the order in which they came. A handle: clones share it, [`ToolRegistry::fork`] copies it.
///
/// It keeps tools, and that is all: it does not retry, limit, authorise, cache, deduplicate or order. Reading takes a
/// snapshot; nothing is locked while a tool runs.
#[derive(Clone, Default)]
pub struct ToolRegistry(Arc<RwLock<Arc<Snapshot>>>);

impl ToolRegistry {
    /// A registry of these tools.
    ///
    /// # Errors
    /// `E_TOOL_ALREADY_REGISTERED`, naming the tool, if two have one name.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, Error> {
        let registry = ToolRegistry::default();
        let advice = "two of the tools given have this name. Rename one of them, or leave it out";
        for tool in tools {
            registry.register_or(tool, advice)?;
        }
        Ok(registry)
    }

    /// Adds a tool. Its own `on_collision` plays no part: a clash here is a slip of the pen.
    ///
    /// # Errors
    /// `E_TOOL_ALREADY_REGISTERED`, naming the tool.
    pub fn register(&self, tool: Tool) -> Result<(), Error> {
        let advice = "call `ToolRegistry::register_overwriting` to replace it";
        self.register_or(tool, advice)
    }

    /// Adds a tool. If there is one of its name, the error gives this advice.
    pub(crate) fn register_or(&self, tool: Tool, advice: &str) -> Result<(), Error> {
        let mut shelf = self.0.write();
        if shelf.has(tool.name()) {
            return Err(clash(tool.name(), advice));
        }
        Arc::make_mut(&mut shelf).lay(tool);
        Ok(())
    }

    /// Adds a tool in the place of one of its name, which it gives back. Hidden stays hidden.
    pub fn register_overwriting(&self, tool: Tool) -> Option<Tool> {
        Arc::make_mut(&mut self.0.write()).lay(tool)
    }

    /// Takes a tool away, and what was said of its name.
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        self.change_if(|shelf| shelf.has(name), |shelf| shelf.take(name))
    }

    /// The tool of that name, hidden or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.0.read().get(name).cloned()
    }

    /// Whether there is a tool of that name, hidden or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.read().has(name)
    }

    /// How many tools there are, hidden ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All tools, in the order in which they came, as they are now.
    #[must_use]
    pub fn all(&self) -> Vec<Tool> {
        self.0.read().tools().cloned().collect()
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
                shelf.tools().cloned().collect()
            };
        }
        let wanted = |tool: &&Tool| shelf.hidden.contains(tool.name()) == hidden;
        shelf.tools().filter(wanted).cloned().collect()
    }

    /// Hides a tool from the model; it can still be called. `false` if there is none of that name.
    pub fn hide(&self, name: &str) -> bool {
        let mut shelf = self.0.write();
        let Some(name) = shelf.get(name).map(|tool| Arc::clone(tool.shared_name())) else {
            return false;
        };
        if !shelf.hidden.contains(&name) {
            Arc::make_mut(&mut shelf).hidden.insert(name);
        }
        true
    }

    /// Shows a tool again. `false` if it was not hidden.
    pub fn unhide(&self, name: &str) -> bool {
        self.change_if(
            |shelf| shelf.hidden.contains(name),
            |shelf| shelf.hidden.remove(name),
        )
    }

    /// Hides exactly these; names of no tool are passed over.
    pub fn set_hidden<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) {
        // Collected first: the iterator is foreign code and may look at this registry.
        let names: Vec<N> = names.into_iter().collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut shelf = self.0.write();
        let hidden = names
            .into_iter()
            .filter_map(|name| Some(Arc::clone(shelf.get(name)?.shared_name())))
            .collect();
        if shelf.hidden != hidden {
            Arc::make_mut(&mut shelf).hidden = hidden;
        }
    }

    /// Shows all.
    pub fn clear_hidden(&self) {
        self.change_if(
            |shelf| !shelf.hidden.is_empty(),
            |shelf| shelf.hidden.clear(),
        );
    }

    /// Whether the tool of that name is hidden.
    #[must_use]
    pub fn is_hidden(&self, name: &str) -> bool {
        self.0.read().hidden.contains(name)
    }

    /// Takes all ephemeral tools away, and gives them.
    pub fn prune_ephemeral(&self) -> Vec<Tool> {
        self.change_if(
            |shelf| shelf.tools().any(Tool::is_ephemeral),
            |shelf| shelf.take_all(Tool::is_ephemeral),
        )
    }

    /// A copy: what happens to one is not seen by the other. Costs next to nothing until one of them is changed.
    #[must_use]
    pub fn fork(&self) -> Self {
        let shelf = Arc::clone(&self.0.read());
        ToolRegistry(Arc::new(RwLock::new(shelf)))
    }

    /// Nothing is copied for a change that would change nothing.
    fn change_if<T: Default>(
        &self,
        needed: impl FnOnce(&Snapshot) -> bool,
        change: impl FnOnce(&mut Snapshot) -> T,
    ) -> T {
        let mut shelf = self.0.write();
        match needed(&shelf) {
            true => change(Arc::make_mut(&mut shelf)),
            false => T::default(),
        }
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
        let shelf = self.0.read();
        f.debug_set()
            .entries(shelf.tools().map(Tool::name))
            .finish()
    }
}
