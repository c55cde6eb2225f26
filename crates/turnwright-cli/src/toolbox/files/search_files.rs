//! Searches files.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use turnwright::Effects;
use turnwright::Error;
use turnwright::prelude::*;
use turnwright::schemars::JsonSchema;

use super::dir::Kind;
use super::folder::Folder;
use super::walk::{Walk, Wanted};
use crate::toolbox::content::shortened;

/// The most bytes of a file that are searched.
const MAX_BYTES: u64 = 1 << 30;

/// The longest line that is searched.
const MAX_LINE_LEN: u64 = 8 << 20;

/// The most characters of a line in the result.
const SHOWN: usize = 300;

/// The size limit of a compiled pattern.
const PATTERN: usize = 4 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// Regular expression, matched against each line: `fn \w+_test`, `TODO|FIXME`. Escape special characters: `a\.b\(`.
    #[schemars(length(min = 1, max = 500))]
    pattern: String,
    /// Directory or file to search, as a relative path.
    #[serde(default = "super::here")]
    #[schemars(length(min = 1, max = 1000))]
    path: String,
    /// Only files whose path matches: `*.rs`, `src/**/*.toml`, `!*.lock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    glob: Option<String>,
    /// Ignore case.
    #[serde(default)]
    case_insensitive: bool,
    /// Include files whose names begin with a dot. Needs approval.
    #[serde(default)]
    hidden: bool,
    /// Maximum number of lines.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u16,
}

fn usual_limit() -> u16 {
    100
}

pub(super) fn tool(folder: Folder) -> Result<Tool, Error> {
    Tool::typed::<Args>("search_files")
        .description(
            "Searches text files for a regular expression and returns the matching lines as `path:line: text`. Long lines are \
             cut. Binary files and files that are ignored by a .gitignore are skipped. Says if there are more lines. Use it to \
             find where something is, and read_file to read it.",
        )
        .effects(Effects::ReadOnly)
        .reads_private(true)
        .timeout(Duration::from_secs(60))
        .approval(super::asks_for_hidden())
        .handler_blocking(move |args: Args, ctx: ToolContext| search(&folder, &args, &ctx))
        .build()
}

/// The matching lines.
struct Lines {
    text: String,
    room: u16,
    more: bool,
}

impl Lines {
    /// Adds the lines of a file that match, up to the first one that is too long or not text.
    fn search(&mut self, pattern: &Regex, path: &Path, file: File) -> io::Result<()> {
        let mut file = BufReader::new(file.take(MAX_BYTES));
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let length = file
                .by_ref()
                .take(MAX_LINE_LEN)
                .read_until(b'\n', &mut line)? as u64;
            if length == 0 || length == MAX_LINE_LEN || line.contains(&0) {
                break;
            }
            let text = without_end(&line);
            if !pattern.is_match(text) {
                continue;
            }
            if self.room == 0 {
                self.more = true;
                break;
            }
            self.room -= 1;
            let text = shortened(&String::from_utf8_lossy(text), SHOWN);
            // Writing into a string cannot fail.
            let _ = writeln!(self.text, "{}:{number}: {text}", path.display());
        }
        Ok(())
    }
}

/// A line without its end.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn search(folder: &Folder, args: &Args, ctx: &ToolContext) -> Result<String, ToolError> {
    let pattern = pattern(args)?;
    let wanted = Wanted {
        path: &args.path,
        depth: None,
        hidden: args.hidden,
        glob: args.glob.as_deref(),
    };
    let mut walk = Walk::new(folder, &wanted)?;
    let mut lines = Lines {
        text: String::new(),
        room: args.limit,
        more: false,
    };
    let mut files = 0_u64;
    for found in walk.by_ref() {
        if ctx.cancellation().is_cancelled() {
            return Err(ToolError::cancelled("the call was cancelled"));
        }
        if found.kind != Kind::File {
            continue;
        }
        files += 1;
        let path = found.path.as_path();
        // A file that cannot be read has no lines.
        if let Ok(file) = folder.file(path) {
            let _ = lines.search(&pattern, path, file);
        }
        if lines.more {
            break;
        }
    }
    let mut text = lines.text;
    if text.is_empty() {
        text = format!("No line in {files} files matches.");
    }
    if lines.more {
        text.push_str("… and more: use a narrower pattern, a glob, a path or a larger limit");
    } else if walk.is_truncated {
        text.push_str("\n… the search is incomplete: use a subdirectory");
    }
    Ok(text)
}

fn pattern(args: &Args) -> Result<Regex, ToolError> {
    RegexBuilder::new(&args.pattern)
        .case_insensitive(args.case_insensitive)
        .size_limit(PATTERN)
        .dfa_size_limit(PATTERN)
        .build()
        .map_err(|error| {
            let for_model = format!("Invalid pattern: {error}");
            ToolError::invalid_arguments(error.to_string()).for_model(for_model)
        })
}
