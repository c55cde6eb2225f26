//! The tools that are built in, and those that files describe.
//!
//! What is built in only looks: at files below one folder, at numbers, at public web addresses. What it finds was written
//! by others, and none of it is vouched for.

mod calculate;
mod command;
mod content;
mod fetch_url;
mod files;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use turnwright::models::fetch::AddressGuard;
use turnwright::{Error, Tool};

use crate::exit::misuse;

/// The tools that are built in.
pub(crate) fn tools(folder: &Path, fetch: bool) -> anyhow::Result<Vec<Tool>> {
    built_in(folder, fetch.then(AddressGuard::public))
}

/// The same; what is fetched passes this guard, and nothing is fetched without one.
fn built_in(folder: &Path, guard: Option<AddressGuard>) -> anyhow::Result<Vec<Tool>> {
    let mut tools = files::tools(folder)?;
    tools.push(calculate::tool()?);
    if let Some(guard) = guard {
        tools.push(fetch_url::tool(guard)?);
    }
    Ok(tools)
}

/// All tools: those that are built in, those of the program, and those of these files. No two have one name.
pub(crate) fn gather(
    folder: &Path,
    fetch: bool,
    own: Vec<Result<Tool, Error>>,
    files: &[PathBuf],
) -> anyhow::Result<Vec<Tool>> {
    let own = own.into_iter().collect::<Result<Vec<Tool>, Error>>()?;
    let mut groups = vec![
        ("that is built in".to_owned(), tools(folder, fetch)?),
        ("of this program".to_owned(), own),
    ];
    for file in files {
        groups.push((format!("of `{}`", file.display()), command::tools(file)?));
    }
    let mut all: Vec<(&str, &Tool)> = Vec::new();
    for (source, tools) in &groups {
        for tool in tools {
            let name = tool.name();
            if let Some((other, _)) = all.iter().find(|(_, other)| other.name() == name) {
                return Err(misuse(format!(
                    "there are two tools `{name}`: one {other} and one {source}; rename one of them"
                )));
            }
            all.push((source, tool));
        }
    }
    Ok(all.into_iter().map(|(_, tool)| tool.clone()).collect())
}
