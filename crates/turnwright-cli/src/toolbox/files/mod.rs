//! Tools for the files below one folder. Nothing outside of it is reached, by whatever path or link.

mod folder;
mod list_files;
mod read_file;
mod search_files;
mod walk;

#[cfg(test)]
mod tests;

use std::path::Path;

use turnwright::Tool;

use folder::Folder;

/// The tools, all for this folder.
pub(super) fn tools(folder: &Path) -> anyhow::Result<Vec<Tool>> {
    let folder = Folder::open(folder)?;
    Ok(vec![
        list_files::tool(folder.clone())?,
        read_file::tool(folder.clone())?,
        search_files::tool(folder)?,
    ])
}

/// The folder itself.
fn here() -> String {
    ".".to_owned()
}
