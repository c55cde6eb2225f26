//! What is below a folder, in order, without what `.gitignore` files leave out. No link is followed.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};

use super::folder::Folder;

/// How many things are looked at.
const MOST_SEEN: usize = 200_000;

/// How deep it goes, whoever asks.
const DEEPEST: usize = 64;

/// How much of a `.gitignore` is read.
const MOST_RULES: u64 = 64 << 10;

/// How many lines of `.gitignore` files are heeded in one walk: each costs memory and time.
const MOST_LINES: usize = 5_000;

/// The longest line that is heeded, and how many groups it may have: patterns are parsed by recursion.
const LONGEST_LINE: usize = 500;
const MOST_GROUPS: usize = 8;

/// What is looked for.
pub(super) struct Wanted {
    /// How many levels; all unless told.
    pub(super) depth: Option<usize>,
    /// Names that begin with a dot too.
    pub(super) hidden: bool,
    /// Which files.
    pub(super) glob: Option<Override>,
}

/// A way through all that is below a folder.
pub(super) struct Walk<'f> {
    folder: &'f Folder,
    wanted: Wanted,
    waiting: Vec<Waiting>,
    seen: usize,
    /// How many lines of rules are still heeded.
    lines_left: usize,
    cut: bool,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// From the folder.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a device, a socket.
    Other,
}

struct Waiting {
    found: Found,
    depth: usize,
    rules: Rules,
}

/// What `.gitignore` files say, the nearest first.
#[derive(Clone, Default)]
struct Rules(Option<Arc<Level>>);

struct Level {
    here: Gitignore,
    above: Rules,
}

/// A pattern for paths, as `.gitignore` files and `rg -g` have them.
pub(super) fn glob(pattern: &str) -> Result<Override, ignore::Error> {
    let mut builder = OverrideBuilder::new(".");
    builder.add(pattern)?;
    builder.build()
}

impl<'f> Walk<'f> {
    /// Begins at this resolved path.
    pub(super) fn new(folder: &'f Folder, start: &Path, wanted: Wanted) -> io::Result<Self> {
        let mut walk = Walk {
            folder,
            wanted,
            waiting: Vec::new(),
            seen: 0,
            lines_left: MOST_LINES,
            cut: false,
        };
        if folder.is_file(start) {
            walk.waiting.push(Waiting {
                found: Found {
                    path: start.to_owned(),
                    kind: Kind::File,
                },
                depth: 0,
                rules: Rules::default(),
            });
            return Ok(walk);
        }
        let mut rules = Rules::default();
        for above in above(start) {
            rules = rules.with(folder, &above, &mut walk.lines_left);
        }
        walk.enter(start, 0, &rules)?;
        Ok(walk)
    }

    /// Whether there is more than was looked at.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Looks into a folder.
    fn enter(&mut self, path: &Path, depth: usize, rules: &Rules) -> io::Result<()> {
        let rules = rules.with(self.folder, path, &mut self.lines_left);
        let mut found = Vec::new();
        for (name, kind) in names(&self.folder.dir(path)?)? {
            if self.seen >= MOST_SEEN {
                self.cut = true;
                break;
            }
            self.seen += 1;
            let path = match path == Path::new(".") {
                true => PathBuf::from(&name),
                false => path.join(&name),
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

    fn is_wanted(&self, path: &Path, name: &str, kind: Kind, rules: &Rules) -> bool {
        let is_folder = kind == Kind::Folder;
        if name == ".git" || (!self.wanted.hidden && name.starts_with('.')) {
            return false;
        }
        if rules.leave_out(path, is_folder) {
            return false;
        }
        let glob = self.wanted.glob.as_ref();
        !glob.is_some_and(|glob| glob.matched(path, is_folder).is_ignore())
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let next = self.waiting.pop()?;
        let deepest = self.wanted.depth.unwrap_or(DEEPEST).min(DEEPEST);
        if next.found.kind == Kind::Folder && next.depth < deepest {
            // One that cannot be looked into, or is gone, is still found.
            let _ = self.enter(&next.found.path, next.depth, &next.rules);
        } else if next.found.kind == Kind::Folder && self.wanted.depth.is_none() {
            self.cut = true;
        }
        Some(next.found)
    }
}

/// What stands in a folder. Names that are not text are shown as well as they can be.
fn names(dir: &Dir) -> io::Result<impl Iterator<Item = (String, Kind)>> {
    let entries = dir.entries()?;
    Ok(entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let kind = match entry.file_type().ok()? {
            item if item.is_symlink() => Kind::Link,
            item if item.is_dir() => Kind::Folder,
            item if item.is_file() => Kind::File,
            _ => Kind::Other,
        };
        Some((entry.file_name().to_string_lossy().into_owned(), kind))
    }))
}

impl Rules {
    /// With those of this folder, if it has any. So many lines are heeded at most, which are taken from what is left.
    fn with(&self, folder: &Folder, path: &Path, left: &mut usize) -> Rules {
        let Some(text) = rules_of(folder, path) else {
            return self.clone();
        };
        let mut builder = GitignoreBuilder::new(path);
        let sane = |line: &&str| {
            let groups = line
                .chars()
                .filter(|sign| matches!(sign, '{' | '['))
                .count();
            !line.trim().is_empty() && line.len() <= LONGEST_LINE && groups <= MOST_GROUPS
        };
        for line in text.lines().filter(sane).take(*left) {
            *left -= 1;
            // A line that is no pattern says nothing.
            let _ = builder.add_line(None, line);
        }
        match builder.build() {
            Ok(here) if !here.is_empty() => {
                let above = self.clone();
                Rules(Some(Arc::new(Level { here, above })))
            }
            _ => self.clone(),
        }
    }

    fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let mut rules = self;
        while let Some(level) = &rules.0 {
            match level.here.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = &level.above,
            }
        }
        false
    }
}

fn rules_of(folder: &Folder, path: &Path) -> Option<String> {
    let file = folder.file(&path.join(".gitignore")).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_RULES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folders above a resolved path, the outermost first.
fn above(path: &Path) -> Vec<PathBuf> {
    let here = |path: &Path| match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path.to_owned(),
    };
    let mut above: Vec<PathBuf> = path.ancestors().skip(1).map(here).collect();
    above.reverse();
    above
}
