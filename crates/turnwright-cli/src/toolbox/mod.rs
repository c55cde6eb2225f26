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

/// The built-in tools: those for the files in a directory, and the one that fetches web addresses.
#[derive(Clone, Copy)]
pub(crate) struct Builtin<'b> {
    pub(crate) folder: &'b Path,
    pub(crate) fetch: bool,
}

impl Builtin<'_> {
    fn tools(self) -> anyhow::Result<Vec<Tool>> {
        let mut tools = files::tools(self.folder)?;
        if self.fetch {
            tools.push(fetch_url::tool(AddressGuard::public())?);
        }
        Ok(tools)
    }
}

/// Collects the built-in tools, those of the program, and those of these files. Names must be unique.
pub(crate) fn gather(
    builtin: Option<Builtin<'_>>,
    own: Vec<Result<Tool, Error>>,
    files: &[PathBuf],
) -> anyhow::Result<Vec<Tool>> {
    let own = own.into_iter().collect::<Result<_, Error>>()?;
    let builtin = builtin.map(Builtin::tools).transpose()?;
    let mut groups = vec![
        ("a built-in tool".to_owned(), builtin.unwrap_or_default()),
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
