//! What registries share until one of them changes it.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use indexmap::IndexSet;

use crate::tool::Tool;

/// Tools in their order, and the names that are hidden: each of these is a tool's.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    tools: IndexSet<ByName>,
    pub(super) hidden: HashSet<Arc<str>>,
}

/// A tool that is its own key.
#[derive(Clone)]
struct ByName(Tool);

impl Snapshot {
    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name).map(|found| &found.0)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.tools.contains(name)
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(|tool| &tool.0)
    }

    pub(super) fn reserve(&mut self, more: usize) {
        self.tools.reserve_exact(more);
    }

    /// Lays a tool in the place of one of its name, which it gives back, or behind all others.
    pub(super) fn lay(&mut self, tool: Tool) -> Option<Tool> {
        self.tools.replace(ByName(tool)).map(|old| old.0)
    }

    /// Takes a tool away, and what was said of its name.
    pub(super) fn take(&mut self, name: &str) -> Option<Tool> {
        self.hidden.remove(name);
        self.tools.shift_take(name).map(|taken| taken.0)
    }

    /// Takes all of a sort away, and what was said of their names.
    pub(super) fn take_all(&mut self, of: impl Fn(&Tool) -> bool) -> Vec<Tool> {
        let Snapshot { tools, hidden } = self;
        let mut taken = Vec::new();
        tools.retain(|ByName(tool)| {
            let goes = of(tool);
            if goes {
                hidden.remove(tool.name());
                taken.push(tool.clone());
            }
            !goes
        });
        taken
    }
}

impl Borrow<str> for ByName {
    fn borrow(&self) -> &str {
        self.0.name()
    }
}

impl Hash for ByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for ByName {}

/// The state of a registry at one moment, to tell later whether it changed. Any change makes another shelf, because a
/// mark is a reader of the old one, though one that keeps nothing on it alive.
#[derive(Clone, Default)]
pub(crate) struct SnapshotMark(Weak<Snapshot>);

impl SnapshotMark {
    pub(super) fn of(shelf: &Arc<Snapshot>) -> Self {
        SnapshotMark(Arc::downgrade(shelf))
    }

    pub(super) fn is_at(&self, shelf: &Arc<Snapshot>) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(shelf))
    }
}
