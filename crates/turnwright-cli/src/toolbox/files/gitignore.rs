//! The rules of a `.gitignore` file, and globs as `rg -g` has them.

use std::path::{Path, PathBuf};

use globset::{Error, GlobBuilder, GlobSet, GlobSetBuilder};

/// A rule: a pattern, what it does, and whether it is for directories only.
struct Rule {
    is_negated: bool,
    directories_only: bool,
}

/// Rules for the paths below a directory. The last one that matches decides.
pub(super) struct Rules {
    root: PathBuf,
    patterns: GlobSetBuilder,
    rules: Vec<Rule>,
    set: GlobSet,
}

impl Rules {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.strip_prefix(".").unwrap_or(root).to_owned();
        Rules {
            root,
            patterns: GlobSetBuilder::new(),
            rules: Vec::new(),
            set: GlobSet::empty(),
        }
    }

    /// Adds a line. Empty lines and comments have no rule.
    pub(super) fn add(&mut self, line: &str) -> Result<(), Error> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (is_negated, pattern) = split(line.strip_prefix('!'), line);
        let (directories_only, pattern) = split(pattern.strip_suffix('/'), pattern);
        let is_anchored = pattern.contains('/');
        let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
        let begin = if is_anchored { "" } else { "**/" };
        // What is in a directory, not the directory.
        let end = if pattern.ends_with("/**") { "/*" } else { "" };
        let pattern = format!("{begin}{pattern}{end}");
        let mut glob = GlobBuilder::new(&pattern);
        let glob = glob
            .literal_separator(true)
            .backslash_escape(true)
            .build()?;
        self.patterns.add(glob);
        self.rules.push(Rule {
            is_negated,
            directories_only,
        });
        Ok(())
    }

    /// Compiles the rules that were added. `None` if there are none.
    pub(super) fn build(mut self) -> Option<Self> {
        self.set = self.patterns.build().ok()?;
        (!self.rules.is_empty()).then_some(self)
    }

    /// Whether the rule that decides about a path is negated. `None` if no rule matches.
    pub(super) fn is_negated(&self, path: &Path, is_directory: bool) -> Option<bool> {
        let path = path.strip_prefix(&self.root).ok()?;
        let matches = self.set.matches(path).into_iter().rev();
        let mut rules = matches.filter_map(|at| self.rules.get(at));
        let rule = rules.find(|rule| is_directory || !rule.directories_only);
        rule.map(|rule| rule.is_negated)
    }
}

fn split<'t>(stripped: Option<&'t str>, text: &'t str) -> (bool, &'t str) {
    (stripped.is_some(), stripped.unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_match_as_those_of_git() {
        for (line, path, is_directory, expected) in [
            ("*.log", "a/b.log", false, Some(false)),
            ("!*.log", "b.log", false, Some(true)),
            ("/b.log", "a/b.log", false, None),
            ("/b.log", "b.log", false, Some(false)),
            ("a/*.log", "a/b.log", false, Some(false)),
            ("a/*.log", "a/c/b.log", false, None),
            ("a/**/b.log", "a/c/d/b.log", false, Some(false)),
            ("build/", "x/build", true, Some(false)),
            ("build/", "x/build", false, None),
            ("a/**", "a", true, None),
            ("a/**", "a/b", false, Some(false)),
            ("# a", "# a", false, None),
            ("\\#a", "#a", false, Some(false)),
            ("a[0-9]", "a7", false, Some(false)),
        ] {
            let mut rules = Rules::new(Path::new("."));
            rules.add(line).unwrap();
            let found = rules.build();
            let found = found.and_then(|rules| rules.is_negated(Path::new(path), is_directory));
            assert_eq!(found, expected, "{line} for {path}");
        }
    }

    #[test]
    fn the_last_rule_decides_below_its_directory() {
        let mut rules = Rules::new(Path::new("src"));
        for line in ["*.rs", "!main.rs", "main.rs/"] {
            rules.add(line).unwrap();
        }
        let rules = rules.build().unwrap();
        assert_eq!(
            rules.is_negated(Path::new("src/lib.rs"), false),
            Some(false)
        );
        assert_eq!(
            rules.is_negated(Path::new("src/main.rs"), false),
            Some(true)
        );
        assert_eq!(rules.is_negated(Path::new("lib.rs"), false), None);
    }
}
