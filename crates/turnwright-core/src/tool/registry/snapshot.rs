//! The content that registries share until one of them changes it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ahash::RandomState;
use indexmap::IndexMap;

use crate::tool::Tool;

/// Tools in order, and the names of hidden ones. Every hidden name belongs to a tool.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    tools: IndexMap<Arc<str>, Tool, RandomState>,
    pub(super) hidden: HashSet<Arc<str>, RandomState>,
    /// Tools that an artifact tool of the same name replaces for now.
    replaced: HashMap<Arc<str>, Tool, RandomState>,
    /// Names whose artifact tool other code has removed or replaced. It is not added again.
    declined: HashSet<Arc<str>, RandomState>,
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
        let (name, is_artifact_tool) = (Arc::clone(tool.shared_name()), tool.is_artifact_tool());
        let before = self.tools.insert(Arc::clone(&name), tool);
        match &before {
            Some(before) if before.is_artifact_tool() == is_artifact_tool => {}
            Some(before) if is_artifact_tool => {
                self.replaced.insert(name, before.clone());
            }
            Some(_) => {
                self.replaced.remove(&name);
                self.declined.insert(name);
            }
            None => {}
        }
        before
    }

    /// Returns whether an artifact tool should be added: it is not there, and other code has not removed it.
    pub(super) fn lacks(&self, artifact_tool: &Tool) -> bool {
        let name = artifact_tool.name();
        let is_there = self.get(name).is_some_and(|one| one.is_same(artifact_tool));
        !is_there && !self.declined.contains(name)
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
        self.replaced.remove(name);
        let (name, tool) = self.tools.shift_remove_entry(name)?;
        if tool.is_artifact_tool() {
            self.declined.insert(name);
        }
        Some(tool)
    }

    /// Removes an ephemeral tool. A tool that it replaced as an artifact tool is restored.
    pub(super) fn prune(&mut self, name: &str) {
        match self.replaced.remove_entry(name) {
            Some((name, before)) => drop(self.tools.insert(name, before)),
            None => {
                self.hidden.remove(name);
                self.tools.shift_remove(name);
            }
        }
    }
}
