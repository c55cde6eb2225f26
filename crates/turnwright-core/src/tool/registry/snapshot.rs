//! The content that registries share until one of them changes it.

use std::collections::HashSet;
use std::sync::Arc;

use ahash::RandomState;
use indexmap::IndexMap;

use crate::tool::Tool;

/// Tools in order, and the names of hidden ones. Every hidden name belongs to a tool.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    tools: IndexMap<Arc<str>, Tool, RandomState>,
    pub(super) hidden: HashSet<Arc<str>, RandomState>,
}

impl Snapshot {
    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }

    /// Replaces the tool of the same name and returns it, or adds the tool at the end.
    pub(super) fn put(&mut self, tool: Tool) -> Option<Tool> {
        self.tools.insert(Arc::clone(tool.shared_name()), tool)
    }

    /// Shows a hidden tool as the last one.
    pub(super) fn reveal(&mut self, name: &str) -> bool {
        let shown = self.hidden.remove(name);
        let tool = self.tools.shift_remove(name).filter(|_| shown);
        tool.is_some_and(|tool| self.put(tool).is_none())
    }

    /// Removes a tool. Its name is no longer hidden.
    pub(super) fn take(&mut self, name: &str) -> Option<Tool> {
        self.hidden.remove(name);
        self.tools.shift_remove(name)
    }
}
