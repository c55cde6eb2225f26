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

use turnwright::Tool;
use turnwright::models::fetch::AddressGuard;

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
    own: Vec<Tool>,
    files: &[PathBuf],
) -> anyhow::Result<Vec<Tool>> {
    let mut all = Snapshot::default();
    all.put(tools(folder, fetch)?, "that is built in")?;
    all.put(own, "of this program")?;
    for file in files {
        let whose = format!("of `{}`", file.display());
        all.put(command::tools(file)?, &whose)?;
    }
    Ok(all.tools)
}

/// Tools, and whose each is.
#[derive(Default)]
struct Snapshot {
    tools: Vec<Tool>,
    whose: Vec<String>,
}

impl Snapshot {
    fn put(&mut self, tools: Vec<Tool>, whose: &str) -> anyhow::Result<()> {
        for tool in tools {
            let there = self.tools.iter().zip(&self.whose);
            let mut same = there.filter(|(other, _)| other.name() == tool.name());
            if let Some((_, other)) = same.next() {
                let name = tool.name();
                return Err(misuse(format!(
                    "there are two tools `{name}`: one {other} and one {whose}; rename one of them"
                )));
            }
            self.tools.push(tool);
            self.whose.push(whose.to_owned());
        }
        Ok(())
    }
}
