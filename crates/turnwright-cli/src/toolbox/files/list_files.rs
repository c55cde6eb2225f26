//! Lists files.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;
use turnwright::Effects;
use turnwright::Error;
use turnwright::prelude::*;
use turnwright::schemars::JsonSchema;

use super::dir::Kind;
use super::folder::Folder;
use super::one_name;
use super::walk::{Walk, Wanted};

/// The most lines of a result.
const MOST: usize = 1_000;

/// The depth without a `depth` and a `glob`.
const USUAL_DEPTH: usize = 3;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// Directory to list, as a relative path.
    #[serde(default = "super::here")]
    #[schemars(length(min = 1, max = 1000))]
    path: String,
    /// Only files whose path matches: `*.rs`, `src/**/*.toml`, `!*.lock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    glob: Option<String>,
    /// Number of levels. Default: 3, or all with a glob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(min = 1, max = 64))]
    depth: Option<u8>,
    /// Include names that begin with a dot.
    #[serde(default)]
    hidden: bool,
}

pub(super) fn tool(folder: Folder) -> Result<Tool, Error> {
    Tool::typed::<Args>("list_files")
        .description(
            "Lists files and directories, one path per line, sorted. Directories end with `/`. Files that are ignored by a \
             .gitignore are left out. Use it to find out what exists before you read or search. Lists at most 1000 paths and says \
             if there are more.",
        )
        .effects(Effects::ReadOnly)
        .reads_private(true)
        .timeout(Duration::from_secs(30))
        .handler_blocking(move |args: Args, ctx: ToolContext| list(&folder, &args, &ctx))
        .build()
}

fn list(folder: &Folder, args: &Args, ctx: &ToolContext) -> Result<String, ToolError> {
    let glob = args.glob.as_deref();
    let usual = glob.is_none().then_some(USUAL_DEPTH);
    let wanted = Wanted {
        path: &args.path,
        depth: args.depth.map(usize::from).or(usual),
        hidden: args.hidden,
        glob,
    };
    let mut walk = Walk::new(folder, &wanted)?;
    let mut text = String::new();
    let mut listed = 0;
    for found in walk.by_ref() {
        if ctx.cancellation().is_cancelled() {
            return Err(ToolError::cancelled("the call was cancelled"));
        }
        if glob.is_some() && found.kind == Kind::Folder {
            continue;
        }
        if listed == MOST {
            let note = "… and more: use a subdirectory, a glob or a smaller depth";
            return Ok(text + note);
        }
        let mark = match found.kind {
            Kind::File => "",
            Kind::Folder => "/",
            Kind::Link => " (link)",
            Kind::Other => " (not a file)",
        };
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{}{mark}", one_name(&found.path));
        listed += 1;
    }
    if walk.is_truncated {
        text.push_str("… the listing is incomplete: use a subdirectory");
    }
    if text.is_empty() {
        text.push_str("No files found.");
    }
    Ok(text)
}
