//! Walks a directory in order, without files that `.gitignore` files ignore. Links are not followed.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnwright::ToolError;

use super::dir::Kind;
use super::folder::{Folder, unreadable};
use super::gitignore::Rules;

/// The most entries that are visited.
const MAX_SEEN: usize = 200_000;

/// The depth limit of every walk.
const DEEPEST: usize = 64;

/// The most bytes of a `.gitignore` that are read.
const MAX_RULES: u64 = 64 << 10;

/// The most lines of `.gitignore` files in one walk: each costs memory and time.
const MAX_LINES: usize = 5_000;

/// The longest line and the most groups of a rule: patterns are parsed recursively.
const MAX_LINE_LEN: usize = 500;
const MAX_GROUPS: usize = 8;

/// What to walk.
pub(super) struct Wanted<'w> {
    /// The directory or file to start at, as the model named it.
    pub(super) path: &'w str,
    /// The number of levels. `None`: all.
    pub(super) depth: Option<usize>,
    /// Whether to include names that begin with a dot.
    pub(super) hidden: bool,
    /// A pattern for the paths of files, as in `.gitignore` files and `rg -g`.
    pub(super) glob: Option<&'w str>,
}

/// A walk through a directory.
pub(super) struct Walk<'f> {
    folder: &'f Folder,
    depth: Option<usize>,
    hidden: bool,
    /// The pattern, and whether it is negated.
    glob: Option<(Rules, bool)>,
    waiting: Vec<Waiting>,
    seen: usize,
    /// The number of lines of rules that are still read.
    lines_left: usize,
    /// Whether the walk is incomplete.
    pub(super) is_truncated: bool,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Relative to the directory.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

struct Waiting {
    found: Found,
    depth: usize,
    rules: AllRules,
}

/// The `.gitignore` files that apply to a directory, the nearest last.
type AllRules = Arc<Vec<Arc<Rules>>>;

fn glob(pattern: Option<&str>) -> Result<Option<(Rules, bool)>, globset::Error> {
    let mut rules = Rules::new(Path::new("."));
    let pattern = pattern.unwrap_or_default();
    rules.add(pattern)?;
    Ok(rules.build().map(|rules| (rules, pattern.starts_with('!'))))
}

impl<'f> Walk<'f> {
    pub(super) fn new(folder: &'f Folder, wanted: &Wanted<'_>) -> Result<Self, ToolError> {
        let glob = glob(wanted.glob).map_err(|error| {
            let for_model = format!("Invalid glob: {error}");
            ToolError::invalid_arguments(error.to_string()).for_model(for_model)
        })?;
        let mut walk = Walk {
            folder,
            depth: wanted.depth,
            hidden: wanted.hidden,
            glob,
            waiting: Vec::new(),
            seen: 0,
            lines_left: MAX_LINES,
            is_truncated: false,
        };
        let start = folder.resolve(wanted.path)?;
        let mut rules = AllRules::default();
        if folder.is_file(&start) {
            walk.waiting.push(Waiting {
                found: Found {
                    path: start,
                    kind: Kind::File,
                },
                depth: 0,
                rules,
            });
            return Ok(walk);
        }
        let mut above: Vec<&Path> = start.ancestors().skip(1).collect();
        above.reverse();
        for path in above {
            let is_root = path.as_os_str().is_empty();
            let path = if is_root { Path::new(".") } else { path };
            rules = walk.with_rules_of(path, &rules);
        }
        walk.enter(&start, 0, &rules)
            .map_err(|error| unreadable(wanted.path, &error))?;
        Ok(walk)
    }

    /// Reads a directory.
    fn enter(&mut self, path: &Path, depth: usize, rules: &AllRules) -> io::Result<()> {
        let rules = self.with_rules_of(path, rules);
        let mut found = Vec::new();
        for (name, kind) in self.folder.dir(path)?.entries()? {
            if self.seen >= MAX_SEEN {
                self.is_truncated = true;
                break;
            }
            self.seen += 1;
            let name = name.to_string_lossy();
            let path = if path == Path::new(".") {
                PathBuf::from(&*name)
            } else {
                path.join(&*name)
            };
            if self.is_wanted(&path, &name, kind, &rules) {
                found.push(Found { path, kind });
            }
        }
        found.sort_by(|one, other| other.path.cmp(&one.path));
        self.waiting.extend(found.into_iter().map(|found| Waiting {
            found,
            depth: depth + 1,
            rules: rules.clone(),
        }));
        Ok(())
    }

    fn is_wanted(&self, path: &Path, name: &str, kind: Kind, rules: &AllRules) -> bool {
        let is_folder = kind == Kind::Folder;
        if name == ".git" || (!self.hidden && name.starts_with('.')) {
            return false;
        }
        let mut rules = rules.iter().rev();
        if rules.find_map(|rules| rules.is_negated(path, is_folder)) == Some(false) {
            return false;
        }
        // Files that a pattern does not match are left out, unless it is negated.
        self.glob.as_ref().is_none_or(
            |(glob, is_negated)| match glob.is_negated(path, is_folder) {
                Some(is_negated) => !is_negated,
                None => *is_negated || is_folder,
            },
        )
    }

    /// The rules with those of this directory, if it has any.
    fn with_rules_of(&mut self, path: &Path, rules: &AllRules) -> AllRules {
        let mut bytes = Vec::new();
        let file = self.folder.file(&path.join(".gitignore"));
        let read = file.and_then(|file| file.take(MAX_RULES).read_to_end(&mut bytes));
        if read.is_err() {
            return Arc::clone(rules);
        }
        let mut own = Rules::new(path);
        let sane = |line: &&str| {
            let groups = line.matches(['{', '[']).count();
            !line.trim().is_empty() && line.len() <= MAX_LINE_LEN && groups <= MAX_GROUPS
        };
        let text = String::from_utf8_lossy(&bytes);
        for line in text.lines().filter(sane).take(self.lines_left) {
            self.lines_left -= 1;
            // An invalid line is ignored.
            let _ = own.add(line);
        }
        match own.build() {
            Some(own) => {
                let mut all = Vec::clone(rules);
                all.push(Arc::new(own));
                Arc::new(all)
            }
            None => Arc::clone(rules),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let next = self.waiting.pop()?;
        let deepest = self.depth.unwrap_or(DEEPEST).min(DEEPEST);
        if next.found.kind == Kind::Folder && next.depth < deepest {
            // A directory that cannot be read is still an entry.
            let _ = self.enter(&next.found.path, next.depth, &next.rules);
        } else if next.found.kind == Kind::Folder && self.depth.is_none() {
            self.is_truncated = true;
        }
        Some(next.found)
    }
}
