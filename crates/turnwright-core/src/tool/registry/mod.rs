//! The tools of one turn, by name.

mod snapshot;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use crate::artifact::{ArtifactKind, Query};
use crate::effects::OnCollision;
use crate::error::{Error, ErrorCode};
use crate::tool::Tool;
use crate::tool::context::{AckHook, DispatchContext};
use snapshot::Snapshot;

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
pub struct ToolRegistry(Arc<watch::Sender<Arc<Snapshot>>>);

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
        let name = Arc::clone(tool.shared_name());
        let added = self.change(|tools| {
            let is_free = !tools.entries.contains_key(&name);
            is_free.then(|| Arc::make_mut(tools).put(tool))
        });
        let message = || format!("a tool named `{name}` is already registered: {advice}");
        added
            .map(drop)
            .ok_or_else(|| Error::new(ErrorCode::TOOL_ALREADY_REGISTERED, message()))
    }

    /// Adds a tool, or replaces the one with the same name and returns it. A hidden name stays hidden.
    ///
    /// An [artifact tool](Tool::is_artifact_tool) is only used instead of another one, which is used again when the artifact tool
    /// is removed.
    pub fn register_overwriting(&self, tool: Tool) -> Option<Tool> {
        self.change(|tools| Some(Arc::make_mut(tools).put(tool)))?
    }

    /// Adds an artifact tool, unless it is there or other code has removed it. Returns whether it replaces a tool that is none.
    pub(crate) fn add_artifact_tool(&self, tool: &Tool) -> bool {
        let replaced = self.change(|tools| {
            let lacks = tools.lacks(tool);
            lacks.then(|| Arc::make_mut(tools).put(tool.clone()))
        });
        replaced
            .flatten()
            .is_some_and(|tool| !tool.is_artifact_tool())
    }

    /// Removes an artifact tool, if it is there. The tool that it replaced is used again.
    pub(crate) fn remove_artifact_tool(&self, tool: &Tool) {
        let name = tool.name();
        self.change(|tools| {
            let is_there = tools.get(name)?.is_same(tool);
            is_there.then(|| Arc::make_mut(tools).take_artifact_tool(name))
        });
    }

    /// Removes a tool. Its name is no longer hidden.
    ///
    /// Of an [artifact tool](Tool::is_artifact_tool) and the tool that it replaces, this removes the artifact tool, which a runner
    /// does not add again. The other one is used again.
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        self.change(|tools| {
            tools.get(name)?;
            Some(Arc::make_mut(tools).take(name))
        })?
    }

    /// Changes the content, and tells those who wait for changes. `change` returns `None` if it changes nothing: then nothing is
    /// copied or announced.
    fn change<T>(&self, change: impl FnOnce(&mut Arc<Snapshot>) -> Option<T>) -> Option<T> {
        let mut changed = None;
        self.0.send_if_modified(|tools| {
            changed = change(tools);
            changed.is_some()
        });
        changed
    }

    /// Returns the tool with this name, hidden or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.0.borrow().get(name).cloned()
    }

    /// Returns whether there is a tool with this name, hidden or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.borrow().get(name).is_some()
    }

    /// Returns a snapshot of all tools, in registration order.
    #[must_use]
    pub fn all(&self) -> Vec<Tool> {
        self.0.borrow().tools().cloned().collect()
    }

    /// Returns the artifact kind with this name, if a tool has it.
    pub(crate) fn kind_named(&self, name: &str) -> Option<ArtifactKind> {
        let registered = self.0.borrow();
        let mut kinds = registered.tools().map(Tool::artifact_kind);
        kinds.find(|kind| kind.as_str() == name)
    }

    /// Checks that artifact kinds of the same name have the same queries. A stored artifact has only the name of its kind, and would
    /// be read with the queries of another one.
    ///
    /// # Errors
    /// Returns a message that names the kind and a tool.
    pub(crate) fn check_kinds(&self) -> Result<(), String> {
        let queries = |kind: ArtifactKind| kind.queries().iter().map(Query::name);
        let mut known = ArtifactKind::BUILT_IN.to_vec();
        for tool in self.now().tools() {
            let kind = tool.artifact_kind();
            match known.iter().find(|known| **known == kind) {
                None => known.push(kind),
                Some(same) if queries(*same).eq(queries(kind)) => {}
                Some(_) => {
                    return Err(format!(
                        "the artifact kind `{kind}` of the tool `{}` has the name of another kind, with other queries: a stored \
                         result would be read as one of that kind. Give it another name",
                        tool.name()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Calls `look` for every tool, under the lock.
    pub(crate) fn for_each(&self, look: impl FnMut(&Tool)) {
        self.0.borrow().tools().for_each(look);
    }

    /// Returns the tools that the model sees, in order.
    #[must_use]
    pub fn visible(&self) -> Vec<Tool> {
        self.0.borrow().visible().cloned().collect()
    }

    /// Hides a tool from the model. It can still be called. Returns `false` if there is no such tool.
    pub fn hide(&self, name: &str) -> bool {
        let hidden = self.change(|tools| {
            tools.get(name)?;
            let entry = Arc::make_mut(tools).entries.get_mut(name)?;
            entry.hidden = true;
            Some(())
        });
        hidden.is_some()
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
    #[doc(alias = "unhide")]
    pub fn reveal(&self, name: &str) -> bool {
        let revealed = self.change(|tools| {
            let is_hidden = tools.is_hidden(name);
            is_hidden.then(|| Arc::make_mut(tools).reveal(name))
        });
        revealed.is_some()
    }

    /// Returns whether the tool is hidden.
    #[must_use]
    pub fn is_hidden(&self, name: &str) -> bool {
        self.0.borrow().is_hidden(name)
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
        let mut changes = self.0.subscribe();
        async move {
            if changes.changed().await.is_err() {
                // The registry is gone and will not change.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Removes all ephemeral tools and returns them. Tools that artifact tools had replaced are used again. A runner adds its
    /// artifact tools again before the next iteration.
    pub fn prune_ephemeral(&self) -> Vec<Tool> {
        let pruned = self.change(|tools| {
            let has_some = tools.tools().any(Tool::is_ephemeral);
            has_some.then(|| Arc::make_mut(tools).prune())
        });
        pruned.unwrap_or_default()
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
    /// assert!(registry.all().is_empty());
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
        ToolRegistry::of(self.now())
    }

    /// Creates a registry with the tools of all `registries`, which are not changed. [`merge_from`](Self::merge_from) changes a
    /// registry, such as that of a turn.
    ///
    /// If two tools have the same name, [`OnCollision::Replace`] or [`OnCollision::Keep`] of the new tool decides.
    /// [`OnCollision::Error`] leaves the decision to `policy`. A replacement takes the position of the tool that it replaces. A
    /// name that is hidden in one of the registries is hidden in the result.
    ///
    /// # Errors
    /// Returns `E_TOOL_ALREADY_REGISTERED` with the name of the tool if a collision is not resolved.
    pub fn merge<'r>(
        registries: impl IntoIterator<Item = &'r ToolRegistry>,
        policy: OnCollision,
    ) -> Result<ToolRegistry, Error> {
        let mut registries = registries.into_iter();
        // The first registry is used as it is: it has no collisions.
        let mut merged = registries.next().map(ToolRegistry::now).unwrap_or_default();
        for registry in registries {
            Arc::make_mut(&mut merged).merge(&registry.now(), policy)?;
        }
        Ok(ToolRegistry::of(merged))
    }

    /// Adds the tools of `other` to this registry, by the rules of [`merge`](Self::merge). All are added, or none.
    ///
    /// # Errors
    /// Returns `E_TOOL_ALREADY_REGISTERED` with the name of the tool if a collision is not resolved.
    #[doc(alias = "extend")]
    pub fn merge_from(&self, other: &ToolRegistry, policy: OnCollision) -> Result<(), Error> {
        // Taken before the change: `other` may be this registry.
        let incoming = other.now();
        let mut failed = None;
        self.change(|tools| {
            let mut merged = Snapshot::clone(tools);
            failed = merged.merge(&incoming, policy).err();
            failed.is_none().then(|| *tools = Arc::new(merged))
        });
        failed.map_or(Ok(()), Err)
    }

    fn of(tools: Arc<Snapshot>) -> Self {
        ToolRegistry(Arc::new(watch::Sender::new(tools)))
    }

    fn now(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.borrow())
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.0.borrow();
        f.debug_set()
            .entries(tools.tools().map(Tool::name))
            .finish()
    }
}
