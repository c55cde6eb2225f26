//! Compares what a server says with its pins.

use std::fmt;

use serde_json::Value;
use turnwright_core::schema::escape;

use super::lock_file::{LockedServer, LockedTool};
use crate::definition::shown_name;

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
pub(crate) fn compare(pinned: &LockedServer, seen: &LockedServer) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut renamed = Vec::new();
    if pinned.source != seen.source {
        differences.push(Difference::of_server(Change::Source));
    }
    if pinned.instructions != seen.instructions {
        differences.push(Difference::of_server(Change::Instructions {
            before: pinned.instructions.clone(),
            after: seen.instructions.clone(),
        }));
    }
    for (name, tool) in &seen.tools {
        let change = match pinned.tools.get(name) {
            Some(before) if before.pin == tool.pin => continue,
            Some(before) => Change::Changed {
                before: before.definition.clone(),
                after: tool.definition.clone(),
            },
            None => match renamed_from(tool, pinned, seen, &renamed) {
                Some(from) => {
                    renamed.push(from.clone());
                    let after = tool.definition.clone();
                    Change::Renamed { from, after }
                }
                None => Change::Added(tool.definition.clone()),
            },
        };
        differences.push(Difference {
            tool: Some(name.clone()),
            change,
        });
    }
    for (name, tool) in &pinned.tools {
        if !seen.tools.contains_key(name) && !renamed.contains(name) {
            differences.push(Difference {
                tool: Some(name.clone()),
                change: Change::Removed(tool.definition.clone()),
            });
        }
    }
    differences
}

/// Returns the name of a pinned tool that is gone and was the same but for its name. `taken`: those that have a new name already.
fn renamed_from(
    tool: &LockedTool,
    pinned: &LockedServer,
    seen: &LockedServer,
    taken: &[String],
) -> Option<String> {
    let is_gone = |name: &String| !seen.tools.contains_key(name) && !taken.contains(name);
    let mut gone = pinned.tools.iter().filter(|(name, _)| is_gone(name));
    let same = gone.find(|(_, before)| differ_in_name_alone(&before.definition, &tool.definition));
    same.map(|(name, _)| name.clone())
}

fn differ_in_name_alone(before: &Value, after: &Value) -> bool {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else {
        return false;
    };
    let mut fields = before.iter().filter(|(key, _)| *key != "name");
    before.len() == after.len() && fields.all(|(key, value)| after.get(key) == Some(value))
}

impl Difference {
    pub(crate) fn of_server(change: Change) -> Self {
        Difference { tool: None, change }
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
        let name = |name: &str| escape(&shown_name(name), 80);
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
