//! Compares what a server says with its pins.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

use serde_json::Value;
use turnwright_core::call::digest_of;
use turnwright_core::schema::escape;

use super::lock_file::{LockedServer, LockedTool};
use crate::definition::display_name;

/// A difference between what is pinned and what a server says.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What the difference is in: the name of a tool as the server uses it. `None` for the server as a whole.
    pub tool: Option<String>,
    /// What has changed.
    pub change: Change,
}

/// What has changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// The server is not in the lock file.
    NewServer,
    /// The command line or the URL of the server.
    Source,
    /// The instructions of the server.
    Instructions {
        /// The pinned instructions.
        before: Option<String>,
        /// What the server says now.
        after: Option<String>,
    },
    /// The tool is new.
    Added(Value),
    /// The tool is no longer there.
    Removed(Value),
    /// The tool has another name; the rest of its definition is the same.
    Renamed {
        /// The pinned name.
        from: String,
        /// The definition now.
        after: Value,
    },
    /// The definition of the tool.
    Changed {
        /// The pinned definition.
        before: Value,
        /// The definition now.
        after: Value,
    },
}

/// Returns what has changed. Empty if everything fits its pin.
pub(super) fn compare(pinned: &LockedServer, seen: &LockedServer) -> Vec<Difference> {
    let mut differences = Vec::new();
    if pinned.source != seen.source {
        differences.push(Difference::of_server(Change::Source));
    }
    if pinned.instructions != seen.instructions {
        differences.push(Difference::of_server(Change::Instructions {
            before: pinned.instructions.clone(),
            after: seen.instructions.clone(),
        }));
    }
    let gone = pinned.tools.iter();
    let gone = gone.filter(|(name, _)| !seen.tools.contains_key(*name));
    let mut gone: BTreeMap<&String, &LockedTool> = gone.collect();
    // By the digest of what they are without their name. A server chooses how many are alike, so each is looked at once.
    let mut alike = HashMap::<String, VecDeque<&String>>::new();
    for (name, tool) in &gone {
        let names = alike.entry(digest_without_name(&tool.definition));
        names.or_default().push_back(name);
    }
    let mut renamed_from = |tool: &LockedTool| {
        if alike.is_empty() {
            return None;
        }
        let names = alike.get_mut(&digest_without_name(&tool.definition))?;
        let name = names.pop_front()?;
        gone.remove(name);
        Some(name.clone())
    };
    for (name, tool) in &seen.tools {
        let after = || tool.definition.clone();
        let change = match pinned.tools.get(name) {
            Some(before) if before.pin == tool.pin => continue,
            Some(before) => Change::Changed {
                before: before.definition.clone(),
                after: after(),
            },
            None => match renamed_from(tool) {
                Some(from) => Change::Renamed {
                    from,
                    after: after(),
                },
                None => Change::Added(after()),
            },
        };
        differences.push(Difference::of_tool(name, change));
    }
    let removed = gone
        .into_iter()
        .map(|(name, tool)| Difference::of_tool(name, Change::Removed(tool.definition.clone())));
    differences.extend(removed);
    differences
}

fn digest_without_name(definition: &Value) -> String {
    let mut definition = definition.clone();
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("name");
    }
    digest_of(&definition)
}

impl Difference {
    pub(super) fn of_server(change: Change) -> Self {
        Difference { tool: None, change }
    }

    fn of_tool(name: &str, change: Change) -> Self {
        let tool = Some(name.to_owned());
        Difference { tool, change }
    }

    /// Returns whether nothing of the server is used because of it. Instructions have their own switch.
    pub(crate) fn withholds_all(&self) -> bool {
        self.tool.is_none() && !matches!(self.change, Change::Instructions { .. })
    }

    /// Returns the reason for what is withheld because of it.
    pub(crate) fn reason(&self) -> String {
        format!("{self}; pin it to use it")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |name: &str| escape(&display_name(name), 80);
        let tool = name(self.tool.as_deref().unwrap_or_default());
        match &self.change {
            Change::NewServer => f.write_str("the server is not in the lock file"),
            Change::Source => f.write_str("the command line or the URL of the server has changed"),
            Change::Instructions { .. } => f.write_str("the instructions have changed"),
            Change::Added(_) => write!(f, "`{tool}` was added"),
            Change::Removed(_) => write!(f, "`{tool}` was removed"),
            Change::Renamed { from, .. } => {
                write!(f, "`{}` was renamed to `{tool}`", name(from))
            }
            Change::Changed { .. } => write!(f, "the definition of `{tool}` has changed"),
        }
    }
}
