//! Merges registries.

use std::sync::Arc;

use super::shared::Shared;
use super::snapshot::Snapshot;
use super::{ToolRegistry, clash};
use crate::effects::OnCollision;
use crate::error::Error;

impl ToolRegistry {
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
        let mut merged = match registries.next() {
            Some(first) => Arc::clone(&first.0.read()),
            None => Arc::default(),
        };
        for registry in registries {
            // A snapshot: the same registry may be passed twice, or change meanwhile.
            let incoming = Arc::clone(&registry.0.read());
            Arc::make_mut(&mut merged).take_in(&incoming, policy)?;
        }
        Ok(ToolRegistry(Arc::new(Shared::new(merged))))
    }

    /// Adds the tools of `other` to this registry, by the rules of [`merge`](Self::merge). All are added, or none.
    ///
    /// # Errors
    /// Returns `E_TOOL_ALREADY_REGISTERED` with the name of the tool if a collision is not resolved.
    #[doc(alias = "extend")]
    pub fn merge_from(&self, other: &ToolRegistry, policy: OnCollision) -> Result<(), Error> {
        // A snapshot: `other` may be this registry.
        let incoming = Arc::clone(&other.0.read());
        let mut tools = self.0.write();
        let mut merged = Snapshot::clone(&tools);
        merged.take_in(&incoming, policy)?;
        *tools = Arc::new(merged);
        Ok(())
    }
}

impl Snapshot {
    fn take_in(&mut self, incoming: &Snapshot, policy: OnCollision) -> Result<(), Error> {
        for tool in incoming.tools() {
            let decision = match tool.on_collision() {
                OnCollision::Error => policy,
                own => own,
            };
            match (self.has(tool.name()), decision) {
                (false, _) | (true, OnCollision::Replace) => {
                    self.put(tool.clone());
                }
                (true, OnCollision::Keep) => {}
                (true, OnCollision::Error) => {
                    return Err(clash(
                        tool.name(),
                        "set `on_collision` on one of the tools, or pass a policy to the merge",
                    ));
                }
            }
        }
        self.hidden.extend(incoming.hidden.iter().cloned());
        Ok(())
    }
}
