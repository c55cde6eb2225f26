//! Lines that fit a pattern.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use serde::Deserialize;
use turnwright::Effects;
use turnwright::Error;
use turnwright::prelude::*;
use turnwright::schemars::JsonSchema;

use super::folder::Folder;
use super::walk::{Kind, Walk, Wanted};
use crate::toolbox::content::shortened;

/// How much of a file is searched.
const MOST_BYTES: u64 = 1 << 30;

/// The longest line that is searched.
const LONGEST_LINE: usize = 8 << 20;

/// How much of a line is given.
const SHOWN: usize = 300;

/// How large a pattern may become.
const PATTERN: usize = 4 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// A regular expression, looked for in each line: `fn \w+_test`, `TODO|FIXME`. Escape what is meant as it is: `a\.b\(`.
    #[schemars(length(min = 1, max = 500))]
    pattern: String,
    /// The folder or file to search, from the folder that may be read.
    #[serde(default = "super::here")]
    #[schemars(length(min = 1, max = 1000))]
    path: String,
    /// Only files whose path fits: `*.rs`, `src/**/*.toml`, `!*.lock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    glob: Option<String>,
    /// Whether `a` finds `A`.
    #[serde(default)]
    case_insensitive: bool,
    /// Files whose names begin with a dot too; somebody is asked first.
    #[serde(default)]
    hidden: bool,
    /// How many lines at most.
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
            "Searches text files for a regular expression and returns the lines that it fits, each as `path:line: text`. Long \
             lines are cut. Files that are not text, and what a .gitignore leaves out, are not searched. Says when there are \
             more lines than it gives. Use it to find where something is; read_file reads the whole of it.",
        )
        .effects(Effects::ReadOnly)
        .timeout(Duration::from_secs(60))
        .approval(super::asks_for_hidden())
        .handler_blocking(move |args: Args, ctx: ToolContext| search(&folder, &args, &ctx))
        .build()
}

/// What was found so far.
struct Lines {
    text: String,
    room: u16,
    more: bool,
}

impl Lines {
    /// Whether there is room for another.
    fn add(&mut self, path: &Path, number: u64, line: &str) -> bool {
        if self.room == 0 {
            self.more = true;
            return false;
        }
        self.room -= 1;
        let line = shortened(line.trim_end_matches(['\n', '\r']), SHOWN);
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "{}:{number}: {line}", path.display());
        true
    }
}

fn search(folder: &Folder, args: &Args, ctx: &ToolContext) -> Result<String, ToolError> {
    let matcher = matcher(args)?;
    let wanted = Wanted {
        path: &args.path,
        depth: None,
        hidden: args.hidden,
        glob: args.glob.as_deref(),
    };
    let mut walk = Walk::new(folder, &wanted)?;
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LONGEST_LINE))
        .build();
    let mut lines = Lines {
        text: String::new(),
        room: args.limit,
        more: false,
    };
    let mut files = 0_u64;
    for found in walk.by_ref() {
        if ctx.cancellation().is_cancelled() {
            return Err(ToolError::cancelled("it was called off"));
        }
        if found.kind != Kind::File {
            continue;
        }
        files += 1;
        let path = found.path.as_path();
        // A file that cannot be read, or is gone, has no lines.
        if let Ok(file) = folder.file(path) {
            let sink = Lossy(|number, line| Ok(lines.add(path, number, line)));
            let _ = searcher.search_reader(&matcher, file.take(MOST_BYTES), sink);
        }
        if lines.more {
            break;
        }
    }
    let mut text = lines.text;
    if text.is_empty() {
        text = format!("No line of {files} files fits.");
    }
    if lines.more {
        text.push_str("… and more: use a narrower pattern, a glob or a path, or a larger limit");
    } else if walk.is_cut {
        text.push_str("\n… not everything was searched: name a folder below this one");
    }
    Ok(text)
}

fn matcher(args: &Args) -> Result<RegexMatcher, ToolError> {
    RegexMatcherBuilder::new()
        .case_insensitive(args.case_insensitive)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN)
        .dfa_size_limit(PATTERN)
        .build(&args.pattern)
        .map_err(|error| {
            let for_model = format!("The pattern cannot be read: {error}");
            ToolError::invalid_arguments(error.to_string()).for_model(for_model)
        })
}
