//! Several registries made into one.

use std::sync::Arc;

use parking_lot::RwLock;

use super::snapshot::Snapshot;
use super::{ToolRegistry, clash};
use crate::effects::OnCollision;
use crate::error::Error;

impl ToolRegistry {
    /// A new registry of all tools of `registries`, none of which is changed.
    ///
    /// Where two have one name, the incoming tool's own [`OnCollision::Replace`] or [`OnCollision::Keep`] decides; its
    /// [`OnCollision::Error`] leaves it to `policy`. A successor takes the place of the tool that it replaces. A name
    /// that is hidden in one of them is hidden in the result.
    ///
    /// # Errors
    /// `E_TOOL_ALREADY_REGISTERED`, naming the tool, where nobody resolved a clash.
    pub fn merge<'r>(
        registries: impl IntoIterator<Item = &'r ToolRegistry>,
        policy: OnCollision,
    ) -> Result<ToolRegistry, Error> {
        let mut registries = registries.into_iter();
        // The first is taken as it is: nothing of it can clash.
        let mut merged = match registries.next() {
            Some(first) => Arc::clone(&first.0.read()),
            None => Arc::default(),
        };
        for registry in registries {
            // A snapshot: the same registry may be given twice, or change meanwhile.
            let incoming = Arc::clone(&registry.0.read());
            Arc::make_mut(&mut merged).take_in(&incoming, policy)?;
        }
        Ok(ToolRegistry(Arc::new(RwLock::new(merged))))
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
                        "let one say what happens by `on_collision`, or give the merge a policy",
                    ));
                }
            }
        }
        self.hidden.extend(incoming.hidden.iter().cloned());
        Ok(())
    }
}
