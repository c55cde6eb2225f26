//! Keeping tools up to date that come and go by themselves.

use std::sync::Arc;

use super::{SnapshotMark, ToolRegistry};
use crate::tool::Tool;

/// One tool that comes, goes, or takes the place of another.
pub(crate) enum Exchange {
    /// Comes, whatever stands in its place.
    Lay(Tool),
    /// Takes the place of `old`, or leaves none: if `old` itself is no longer there, nothing happens.
    Renew { old: Tool, new: Option<Tool> },
}

impl ToolRegistry {
    /// Whether nothing was changed since.
    pub(crate) fn is_at(&self, mark: &SnapshotMark) -> bool {
        mark.is_at(&self.0.read())
    }

    /// What `look` finds among all tools now, and a mark of now. `look` runs under a lock.
    pub(crate) fn survey<T>(
        &self,
        look: impl FnOnce(&mut dyn Iterator<Item = &Tool>) -> T,
    ) -> (T, SnapshotMark) {
        let shelf = self.0.read();
        (look(&mut shelf.tools()), SnapshotMark::of(&shelf))
    }

    /// Does all of these at once. A mark of the state before moves along; an older one stays, so that it still tells of
    /// the change of somebody else.
    pub(crate) fn exchange(&self, all: Vec<Exchange>, mark: &mut SnapshotMark) {
        // Dropped after the lock: a tool's end may be foreign code.
        let mut gone = Vec::new();
        let mut held = self.0.write();
        let moves_along = mark.is_at(&held);
        let shelf = Arc::make_mut(&mut held);
        shelf.reserve(all.len());
        for exchange in all {
            match exchange {
                Exchange::Lay(tool) => gone.extend(shelf.lay(tool)),
                Exchange::Renew { old, new } => {
                    let there = shelf.get(old.name()).is_some_and(|it| it.is_same(&old));
                    gone.extend(match new {
                        Some(new) if there => shelf.lay(new),
                        None if there => shelf.take(old.name()),
                        unused => unused,
                    });
                    gone.push(old);
                }
            }
        }
        if moves_along {
            *mark = SnapshotMark::of(&held);
        }
        drop(held);
    }
}
