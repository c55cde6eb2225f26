//! Tools for the files in one directory. No path and no link leads out of it.

mod dir;
mod folder;
mod gitignore;
mod list_files;
mod read_file;
mod search_files;
mod walk;

#[cfg(test)]
mod tests;

use std::path::Path;

use turnwright::approval::{ApprovalPolicy, PendingCall, when};
use turnwright::prelude::*;

use folder::Folder;

/// The tools for a directory.
pub(super) fn tools(folder: &Path) -> anyhow::Result<Vec<Tool>> {
    let folder = Folder::open(folder)?;
    Ok(vec![
        list_files::tool(folder.clone())?,
        read_file::tool(folder.clone())?,
        search_files::tool(folder)?,
    ])
}

/// Requires approval for hidden files, which often contain keys.
fn asks_for_hidden() -> impl ApprovalPolicy {
    let hidden = |call: &PendingCall<'_>| {
        let named = call.args().get("path").and_then(|path| path.as_str());
        call.args().get("hidden") == Some(&true.into()) || named.is_some_and(is_hidden)
    };
    when(hidden, "hidden files often contain keys")
}

/// Whether a part of the path begins with a dot.
fn is_hidden(path: &str) -> bool {
    let parts = path.split(['/', '\\']);
    parts
        .into_iter()
        .any(|part| part.starts_with('.') && part != "." && part != "..")
}

/// A path on one line: control characters in names are escaped.
fn one_name(path: &Path) -> String {
    let shown = |ch: char| {
        if ch.is_control() {
            ch.escape_default().to_string()
        } else {
            ch.to_string()
        }
    };
    path.to_string_lossy().chars().map(shown).collect()
}

/// The directory itself.
fn here() -> String {
    ".".to_owned()
}
