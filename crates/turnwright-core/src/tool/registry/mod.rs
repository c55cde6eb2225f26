//! The tools of one turn, by name.

mod merge;
mod shared;
mod snapshot;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use crate::artifact::ArtifactKind;
use crate::error::{Error, ErrorCode};
use crate::tool::Tool;
use crate::tool::context::{AckHook, DispatchContext};
use shared::Shared;

/// Tools by name, in registration order; tools that were [revealed](ToolRegistry::reveal) come last. A handle: clones share the content, [`ToolRegistry::fork`] copies it.
///
/// A registry only stores tools. It does not retry, limit, authorise, cache, deduplicate or order. Reading takes a snapshot;
/// nothing is locked while a tool runs.
///
/// ```
/// use turnwright_core::{Tool, ToolContext, ToolRegistry};
/// use serde_json::{Value, json};
///
/// # fn tool(name: &str) -> Result<Tool, turnwright_core::Error> {
/// #     Tool::dynamic(name, json!({ "type": "object" })).description("…")
/// #         .handler(|_: Value, _: ToolContext| async { "ok" }).build()
/// # }
/// let registry = ToolRegistry::new([tool("search")?, tool("fetch")?])?;
/// registry.hide("fetch");
/// assert_eq!(registry.visible().len(), 1);
/// assert!(registry.get("fetch").is_some(), "hidden tools can still be called");
/// assert!(registry.register(tool("search")?).is_err());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolRegistry(Arc<Shared>);

impl ToolRegistry {
    /// Creates a registry.
    ///
    /// # Errors
    /// Returns `E_TOOL_ALREADY_REGISTERED` with the name of the tool if two tools have the same name.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, Error> {
        let registry = ToolRegistry::default();
        let advice = "two of the given tools have this name. Rename or remove one of them";
        for tool in tools {
            registry.register_or(tool, advice)?;
        }
        Ok(registry)
    }

    /// Adds a tool. Ignores the tool's `on_collision`.
    ///
    /// # Errors
    /// Returns `E_TOOL_ALREADY_REGISTERED` with the name of the tool if there is already one with this name.
    pub fn register(&self, tool: Tool) -> Result<(), Error> {
        let advice = "call `ToolRegistry::register_overwriting` to replace it";
        self.register_or(tool, advice)
    }

    /// Adds a tool. If there is already one with its name, the error contains this advice.
    pub(crate) fn register_or(&self, tool: Tool, advice: &str) -> Result<(), Error> {
        let mut tools = self.0.write();
        if tools.has(tool.name()) {
            return Err(clash(tool.name(), advice));
        }
        Arc::make_mut(&mut tools).put(tool);
        Ok(())
    }

    /// Adds a tool, or replaces the one with the same name and returns it. A hidden name stays hidden.
    ///
    /// A tool that an [artifact tool](Tool::is_artifact_tool) replaces comes back when the artifact tool is removed by
    /// [`prune_ephemeral`](Self::prune_ephemeral).
    pub fn register_overwriting(&self, tool: Tool) -> Option<Tool> {
        Arc::make_mut(&mut self.0.write()).put(tool)
    }

    /// Adds an artifact tool, unless it is there or other code has removed it. Returns whether it replaces a tool that is none.
    pub(crate) fn add_artifact_tool(&self, tool: &Tool) -> bool {
        // Nothing is announced if nothing changes.
        let lacks = self.0.read().lacks(tool);
        let replaced = lacks.then(|| self.register_overwriting(tool.clone()));
        replaced
            .flatten()
            .is_some_and(|tool| !tool.is_artifact_tool())
    }

    /// Removes an artifact tool, if it is there. The tool that it replaced is restored.
    pub(crate) fn remove_artifact_tool(&self, tool: &Tool) {
        let is_there = |there: Tool| there.is_same(tool);
        if self.get(tool.name()).is_some_and(is_there) {
            Arc::make_mut(&mut self.0.write()).prune(tool.name());
        }
    }

    /// Removes a tool. Its name is no longer hidden. A runner does not add an artifact tool again that was removed in this way.
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        Arc::make_mut(&mut self.0.write()).take(name)
    }

    /// Returns the tool with this name, hidden or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.0.read().get(name).cloned()
    }

    /// Returns whether there is a tool with this name, hidden or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.read().has(name)
    }

    /// Returns the number of tools, including hidden ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    /// Returns whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a snapshot of all tools, in registration order.
    #[must_use]
    pub fn all(&self) -> Vec<Tool> {
        self.0.read().tools().cloned().collect()
    }

    /// Returns the artifact kind with this name, if a tool has it.
    pub(crate) fn kind_named(&self, name: &str) -> Option<ArtifactKind> {
        let registered = self.0.read();
        let mut kinds = registered.tools().map(Tool::artifact_kind);
        kinds.find(|kind| kind.as_str() == name)
    }

    /// Calls `look` for every tool, under the lock.
    pub(crate) fn for_each(&self, look: impl FnMut(&Tool)) {
        self.0.read().tools().for_each(look);
    }

    /// Returns the tools that the model sees, in order.
    #[must_use]
    pub fn visible(&self) -> Vec<Tool> {
        let tools = self.0.read();
        if tools.hidden.is_empty() {
            // Allocates once: the length is known.
            return tools.tools().cloned().collect();
        }
        let wanted = |tool: &&Tool| !tools.hidden.contains(tool.name());
        tools.tools().filter(wanted).cloned().collect()
    }

    /// Hides a tool from the model. It can still be called. Returns `false` if there is no such tool.
    pub fn hide(&self, name: &str) -> bool {
        let mut tools = self.0.write();
        let Some(name) = tools.get(name).map(|tool| Arc::clone(tool.shared_name())) else {
            return false;
        };
        Arc::make_mut(&mut tools).hidden.insert(name);
        true
    }

    /// Shows a hidden tool at its position. Returns `false` if it was not hidden. See also [`reveal`](Self::reveal).
    pub fn unhide(&self, name: &str) -> bool {
        Arc::make_mut(&mut self.0.write()).hidden.remove(name)
    }

    /// Shows a hidden tool after all others: it becomes the last one in the order. Tools that were visible keep their position, so a
    /// provider's prompt cache stays valid up to them. Returns `false` if it was not hidden.
    ///
    /// ```
    /// use turnwright_core::{Tool, ToolContext, ToolRegistry};
    /// use serde_json::{Value, json};
    ///
    /// # fn tool(name: &str) -> Result<Tool, turnwright_core::Error> {
    /// #     Tool::dynamic(name, json!({ "type": "object" })).description("…")
    /// #         .handler(|_: Value, _: ToolContext| async { "ok" }).build()
    /// # }
    /// let registry = ToolRegistry::new([tool("search")?, tool("fetch")?])?;
    /// registry.hide("search");
    /// registry.reveal("search");
    /// let names: Vec<String> = registry.visible().iter().map(|tool| tool.name().to_owned()).collect();
    /// assert_eq!(names, ["fetch", "search"]);
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn reveal(&self, name: &str) -> bool {
        let mut tools = self.0.write();
        // Avoid a copy if nothing changes.
        tools.hidden.contains(name) && Arc::make_mut(&mut tools).reveal(name)
    }

    /// Returns whether the tool is hidden.
    #[must_use]
    pub fn is_hidden(&self, name: &str) -> bool {
        self.0.read().hidden.contains(name)
    }

    /// Waits until tools are added, removed, replaced, hidden or shown. Changes after the call of this method count, not only those
    /// after the first poll. One change may complete it several times, or several changes once: compare the tools.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{Tool, ToolContext, ToolRegistry};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let registry = ToolRegistry::new([])?;
    /// let changed = registry.changed();
    /// let late = Tool::dynamic("late", json!({ "type": "object" }))
    ///     .description("Is added later.")
    ///     .handler(|_: Value, _: ToolContext| async { "here" })
    ///     .build()?;
    /// registry.register(late)?;
    /// changed.await;
    /// assert!(registry.has("late"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub fn changed(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.changed()
    }

    /// Removes all ephemeral tools and returns them. A tool that an artifact tool had replaced is restored. A runner adds its artifact tools
    /// again before the next iteration.
    pub fn prune_ephemeral(&self) -> Vec<Tool> {
        let mut tools = self.0.write();
        let ephemeral = tools.tools().filter(|tool| tool.is_ephemeral());
        let ephemeral: Vec<Tool> = ephemeral.cloned().collect();
        // Avoid a copy if there are none: this runs in every turn.
        if !ephemeral.is_empty() {
            let tools = Arc::make_mut(&mut tools);
            ephemeral.iter().for_each(|tool| tools.prune(tool.name()));
        }
        ephemeral
    }

    /// Prunes the ephemeral tools when the dispatch is acknowledged, before [`ack`](DispatchContext::ack) returns. On a nack they
    /// stay.
    ///
    /// The binding lasts as long as the dispatch. The returned [`AckHook`] is only needed to [`remove`](AckHook::remove) the
    /// binding. The binding does not keep the registry alive. A runner binds the tools of its turns itself.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
    ///
    /// let once = Tool::dynamic("once", json!({ "type": "object" }))
    ///     .description("Exists for one dispatch.")
    ///     .ephemeral(true)
    ///     .handler(|_: Value, _: ToolContext| async { "done" })
    ///     .build()?;
    /// let registry = ToolRegistry::new([once])?;
    /// let ctx = DispatchContext::standalone();
    /// registry.bind_context(&ctx);
    /// ctx.ack()?;
    /// assert!(registry.is_empty());
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn bind_context(&self, ctx: &DispatchContext) -> AckHook {
        let registry = Arc::downgrade(&self.0);
        ctx.on_ack(move || {
            if let Some(registry) = registry.upgrade() {
                ToolRegistry(registry).prune_ephemeral();
            }
        })
    }

    /// Returns an independent copy. The content is copied only when one of the two is changed.
    #[must_use]
    pub fn fork(&self) -> Self {
        let tools = Arc::clone(&self.0.read());
        ToolRegistry(Arc::new(Shared::new(tools)))
    }
}

fn clash(name: &str, advice: &str) -> Error {
    Error::new(
        ErrorCode::TOOL_ALREADY_REGISTERED,
        format!("a tool named `{name}` is already registered: {advice}"),
    )
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.0.read();
        f.debug_set()
            .entries(tools.tools().map(Tool::name))
            .finish()
    }
}
