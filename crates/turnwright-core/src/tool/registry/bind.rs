//! Ephemeral tools that go when their dispatch is acknowledged.

use std::sync::Arc;

use super::ToolRegistry;
use crate::tool::context::{AckGuard, DispatchContext};

/// Keeps a registry bound to a dispatch; dropping it unbinds.
#[derive(Debug)]
#[must_use = "dropping this unbinds the registry at once; `keep` it for the life of the dispatch"]
pub struct BoundRegistry(AckGuard);

impl BoundRegistry {
    /// Leaves the registry bound for as long as the dispatch lives.
    pub fn keep(self) {
        self.0.keep();
    }
}

impl ToolRegistry {
    /// Prunes ephemeral tools inside `ack()`, before it returns, and never on `nack()`. The dispatch holds the registry
    /// weakly.
    pub fn bind_context(&self, ctx: &DispatchContext) -> BoundRegistry {
        let registry = Arc::downgrade(&self.0);
        BoundRegistry(ctx.on_ack(move || {
            if let Some(registry) = registry.upgrade() {
                ToolRegistry(registry).prune_ephemeral();
            }
        }))
    }
}
