//! The built-in tools, and the tools of `--tools` files.
//!
//! The built-in tools only read: files in one directory, public web addresses. Their results are third-party content
//! and not trusted.

mod command;
mod content;
mod fetch_url;
mod files;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use turnwright::models::fetch::AddressGuard;
use turnwright::{Error, Tool};

pub(crate) use command::program_path;

use crate::exit::misuse;

/// Which built-in tools there are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Builtin<'b> {
    /// None.
    None,
    /// Those for the files in this directory, and the one that fetches web addresses if `fetch` is set.
    In { folder: &'b Path, fetch: bool },
}

impl Builtin<'_> {
    fn tools(self) -> anyhow::Result<Vec<Tool>> {
        match self {
            Builtin::None => Ok(Vec::new()),
            Builtin::In { folder, fetch } => built_in(folder, fetch.then(AddressGuard::public)),
        }
    }
}

/// The built-in tools. Without a guard there is none that fetches web addresses.
fn built_in(folder: &Path, guard: Option<AddressGuard>) -> anyhow::Result<Vec<Tool>> {
    let mut tools = files::tools(folder)?;
    if let Some(guard) = guard {
        tools.push(fetch_url::tool(guard)?);
    }
    Ok(tools)
}

/// Collects the built-in tools, those of the program, and those of these files. Names must be unique.
pub(crate) fn gather(
    builtin: Builtin<'_>,
    own: Vec<Result<Tool, Error>>,
    files: &[PathBuf],
) -> anyhow::Result<Vec<Tool>> {
    let own = own.into_iter().collect::<Result<Vec<Tool>, Error>>()?;
    let mut groups = vec![
        ("a built-in tool".to_owned(), builtin.tools()?),
        ("a tool of this program".to_owned(), own),
    ];
    for file in files {
        let source = format!("a tool of `{}`", file.display());
        groups.push((source, command::tools(file)?));
    }
    let mut all: Vec<(&str, &Tool)> = Vec::new();
    for (source, tools) in &groups {
        for tool in tools {
            let name = tool.name();
            if let Some((other, _)) = all.iter().find(|(_, other)| other.name() == name) {
                return Err(misuse(format!(
                    "two tools are named `{name}`: {other} and {source}. Rename one of them"
                )));
            }
            all.push((source, tool));
        }
    }
    Ok(all.into_iter().map(|(_, tool)| tool.clone()).collect())
}
