//! The content that registries share until one of them changes it.
//!
//! Revealed tools are moved to the end, so that artifact tools that are registered later come after them and the
//! visible list only grows.

use std::collections::HashSet;
use std::sync::Arc;

use ahash::RandomState;
use indexmap::IndexMap;

use crate::effects::OnCollision;
use crate::error::{Error, ErrorCode};
use crate::schema::escape;
use crate::tool::Tool;

/// Tools by name, in order.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    pub(super) entries: IndexMap<Arc<str>, Entry, RandomState>,
    /// Names whose artifact tool other code has removed or replaced. It is not added again.
    declined: HashSet<Arc<str>, RandomState>,
}

/// What has a name. At least one of the tools is there.
#[derive(Clone, Default)]
pub(super) struct Entry {
    /// Used instead of the other tool while it is there. So what the framework adds never removes what other code has added.
    artifact_tool: Option<Tool>,
    tool: Option<Tool>,
    pub(super) hidden: bool,
}

impl Entry {
    fn used(&self) -> Option<&Tool> {
        self.artifact_tool.as_ref().or(self.tool.as_ref())
    }
}

impl Snapshot {
    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.entries.get(name)?.used()
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.values().filter_map(Entry::used)
    }

    pub(super) fn visible(&self) -> impl Iterator<Item = &Tool> {
        let visible = self.entries.values().filter(|entry| !entry.hidden);
        visible.filter_map(Entry::used)
    }

    pub(super) fn is_hidden(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.hidden)
    }

    /// Shows a hidden tool as the last one.
    pub(super) fn reveal(&mut self, name: &str) {
        if let Some((name, mut entry)) = self.entries.shift_remove_entry(name) {
            entry.hidden = false;
            self.entries.insert(name, entry);
        }
    }

    /// Adds the tool at the end, or replaces the one of the same name and returns it.
    pub(super) fn put(&mut self, tool: Tool) -> Option<Tool> {
        let name = Arc::clone(tool.shared_name());
        let entry = self.entries.entry(Arc::clone(&name)).or_default();
        if tool.is_artifact_tool() {
            let before = entry.artifact_tool.replace(tool);
            return before.or_else(|| entry.tool.clone());
        }
        let before = entry.tool.replace(tool);
        let artifact_tool = entry.artifact_tool.take();
        if artifact_tool.is_some() {
            self.declined.insert(name);
        }
        artifact_tool.or(before)
    }

    /// Returns whether an artifact tool should be added: it is not there, and other code has not removed it.
    pub(super) fn lacks(&self, artifact_tool: &Tool) -> bool {
        let name = artifact_tool.name();
        let is_there = self.get(name).is_some_and(|one| one.is_same(artifact_tool));
        !is_there && !self.declined.contains(name)
    }

    /// Removes a tool, or else the artifact tool that is used instead.
    pub(super) fn take(&mut self, name: &str) -> Option<Tool> {
        let artifact_tool = self.take_artifact_tool(name);
        if let Some(tool) = &artifact_tool {
            self.declined.insert(Arc::clone(tool.shared_name()));
        }
        artifact_tool.or_else(|| self.entries.shift_remove(name)?.tool)
    }

    /// Removes an artifact tool. The tool that it replaced is used again.
    pub(super) fn take_artifact_tool(&mut self, name: &str) -> Option<Tool> {
        let entry = self.entries.get_mut(name)?;
        let artifact_tool = entry.artifact_tool.take()?;
        if entry.tool.is_none() {
            self.entries.shift_remove(name);
        }
        Some(artifact_tool)
    }

    /// Removes all ephemeral tools and returns them.
    pub(super) fn prune(&mut self) -> Vec<Tool> {
        let mut pruned = Vec::new();
        self.entries.retain(|_, entry| {
            for tool in [&mut entry.artifact_tool, &mut entry.tool] {
                pruned.extend(tool.take_if(|tool| tool.is_ephemeral()));
            }
            entry.used().is_some()
        });
        pruned
    }

    /// Adds the tools of another registry. Artifact tools do not collide with other tools: they are used instead of them.
    ///
    /// # Errors
    /// Returns `E_TOOL_ALREADY_REGISTERED` if a collision is not resolved.
    pub(super) fn merge(&mut self, incoming: &Snapshot, policy: OnCollision) -> Result<(), Error> {
        self.declined.extend(incoming.declined.iter().cloned());
        for (name, incoming) in &incoming.entries {
            let entry = self.entries.entry(Arc::clone(name)).or_default();
            if let (Some(tool), Some(there)) = (&incoming.tool, &entry.tool) {
                let on_collision = match tool.on_collision() {
                    OnCollision::Error => policy,
                    own => own,
                };
                match on_collision {
                    OnCollision::Replace => entry.tool = Some(tool.clone()),
                    OnCollision::Keep => {}
                    OnCollision::Error => return Err(collision(there, tool)),
                }
            } else if incoming.tool.is_some() {
                entry.tool.clone_from(&incoming.tool);
            }
            if incoming.artifact_tool.is_some() {
                entry.artifact_tool.clone_from(&incoming.artifact_tool);
            }
            entry.hidden |= incoming.hidden;
        }
        Ok(())
    }
}

fn collision(there: &Tool, incoming: &Tool) -> Error {
    let message = format!(
        "the tool `{}` (\"{}\") collides with an existing tool of the same name (\"{}\"): set `on_collision` on the new tool, or \
         pass a policy to the merge",
        incoming.name(),
        escape(incoming.description(), 80),
        escape(there.description(), 80),
    );
    Error::new(ErrorCode::TOOL_ALREADY_REGISTERED, message)
}
