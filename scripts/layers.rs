//! Checks that the top-level modules of each crate form layers without cycles.
//!
//! Run it from the root of the repository: `rustc --edition 2024 -o target/layers scripts/layers.rs && target/layers`.
//!
//! ARCHITECTURE.md draws the layers: for each crate one block that begins with "```layers NAME", with one layer per
//! line, the highest first, and module names separated by spaces. A module may only use modules on lower lines. The
//! check reads the paths in the source (`crate::x`, `super::x`, `use` trees, names that `lib.rs` re-exports). Tests
//! and comments do not count. A module that uses an item of `lib.rs`, or everything at the root, fails too, because
//! such edges cannot be seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Ok(architecture) = fs::read_to_string("ARCHITECTURE.md") else {
        eprintln!("ARCHITECTURE.md not found: run this from the root of the repository");
        return ExitCode::FAILURE;
    };
    let drawn = drawn_layers(&architecture);
    let mut crates: Vec<PathBuf> = entries(Path::new("crates"));
    crates.retain(|path| path.join("src").is_dir());
    let mut wrong = Vec::new();
    for path in crates {
        let name = file_name(&path);
        let found = Crate::read(&path.join("src"));
        let uses = found.uses();
        let layers = drawn.get(&name).cloned().unwrap_or_default();
        wrong.extend(check(&name, &uses, &layers));
        wrong.extend(found.hidden_edges(&name));
        print_layers(&name, &uses);
    }
    for line in &wrong {
        eprintln!("{line}");
    }
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The modules that a module uses, with the locations.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Returns the blocks of ARCHITECTURE.md: for each crate its layers, the highest first.
fn drawn_layers(text: &str) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut drawn = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.trim().strip_prefix("```layers ") {
            let block = lines.by_ref().take_while(|line| line.trim() != "```");
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            drawn.insert(name.to_owned(), block.map(words).collect());
        }
    }
    drawn
}

fn check(name: &str, uses: &Uses, layers: &[Vec<String>]) -> Vec<String> {
    let place = |module: &String| layers.iter().position(|layer| layer.contains(module));
    let mut wrong = Vec::new();
    for (module, used) in uses {
        let Some(own) = place(module) else {
            wrong.push(format!("{name}: ARCHITECTURE.md draws no layer for the module `{module}`: add it to the block \"layers {name}\""));
            continue;
        };
        for (other, places) in used {
            if place(other).is_some_and(|at| at <= own) {
                let first = places.first().map_or("", String::as_str);
                wrong.push(format!("{name}: `{module}` uses `{other}`, which is not in a lower layer ({first}, {} places)", places.len()));
            }
        }
    }
    let known = |module: &&String| !uses.contains_key(*module);
    for gone in layers.iter().flatten().filter(known) {
        wrong.push(format!(
            "{name}: ARCHITECTURE.md draws the module `{gone}`, which does not exist"
        ));
    }
    wrong
}

/// Prints the modules by how many layers are below them.
fn print_layers(name: &str, uses: &Uses) {
    let mut height: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..=uses.len() {
        for (module, used) in uses {
            let below = used
                .keys()
                .map(|other| height.get(other.as_str()).map_or(1, |h| h + 1))
                .max();
            height.insert(module, below.unwrap_or(0).min(uses.len()));
        }
    }
    println!("{name}");
    let top = height.values().copied().max().unwrap_or(0);
    for at in (0..=top).rev() {
        let modules: Vec<&str> = height
            .iter()
            .filter(|(_, h)| **h == at)
            .map(|(m, _)| *m)
            .collect();
        if !modules.is_empty() {
            println!("  {at:>2}  {}", modules.join(" "));
        }
    }
}

/// The source of a crate.
struct Crate {
    modules: BTreeSet<String>,
    /// Names at the root that `lib.rs` re-exports from a module.
    exported: BTreeMap<String, String>,
    /// Items that `lib.rs` defines.
    items: BTreeSet<String>,
    /// The top-level module, the depth below the root, the path, and the code of each file.
    files: Vec<(String, usize, String, String)>,
}

impl Crate {
    fn read(src: &Path) -> Self {
        let mut found = Crate {
            modules: BTreeSet::new(),
            exported: BTreeMap::new(),
            items: BTreeSet::new(),
            files: Vec::new(),
        };
        found.read_folder(src, &[]);
        found.index_root();
        found
    }

    /// Indexes the names at the root, and their modules.
    fn index_root(&mut self) {
        let found = self;
        found.modules = found
            .files
            .iter()
            .map(|file| file.0.clone())
            .filter(|name| !name.is_empty())
            .collect();
        let root = found
            .files
            .iter()
            .find(|file| file.0.is_empty() && file.2.ends_with("lib.rs"));
        for path in root.map(|file| paths(&file.3)).unwrap_or_default() {
            if let [module, .., name] = path.as_slice() {
                if found.modules.contains(module) {
                    found.exported.insert(name.clone(), module.clone());
                }
            }
        }
        let root = found
            .files
            .iter()
            .find(|file| file.0.is_empty() && file.2.ends_with("lib.rs"));
        found.items = root.map(|file| items(&file.3)).unwrap_or_default();
    }

    fn read_folder(&mut self, folder: &Path, modules: &[String]) {
        for path in entries(folder) {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if stem == "tests" || stem == "bin" {
                continue;
            }
            let mut inside = modules.to_vec();
            if path.is_dir() {
                inside.push(stem);
                self.read_folder(&path, &inside);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                if !["mod", "lib", "main"].contains(&stem.as_str()) {
                    inside.push(stem);
                }
                let code = code_of(&fs::read_to_string(&path).unwrap_or_default());
                let top = inside.first().cloned().unwrap_or_default();
                self.files
                    .push((top, inside.len(), path.display().to_string(), code));
            }
        }
    }

    fn uses(&self) -> Uses {
        let mut uses: Uses = self
            .modules
            .iter()
            .map(|module| (module.clone(), BTreeMap::new()))
            .collect();
        for (module, depth, file, code) in self.files.iter().filter(|file| !file.0.is_empty()) {
            for name in paths(code).iter().filter_map(|path| at_root(path, *depth)) {
                let other = self.modules.get(name).or_else(|| self.exported.get(name));
                if let Some(other) = other.filter(|other| *other != module) {
                    let used = uses.entry(module.clone()).or_default();
                    used.entry(other.clone()).or_default().insert(file.clone());
                }
            }
        }
        uses
    }

    /// Returns uses of the root that hide the module behind it.
    fn hidden_edges(&self, crate_name: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        for (_, depth, file, code) in self.files.iter().filter(|file| !file.0.is_empty()) {
            let paths = paths(code);
            for name in paths.iter().filter_map(|path| at_root(path, *depth)) {
                if name == "*" {
                    wrong.push(format!(
                        "{crate_name}: {file} imports everything at the root: name what it uses"
                    ));
                } else if self.items.contains(name) && !self.exported.contains_key(name) {
                    wrong.push(format!("{crate_name}: {file} uses `{name}`, which lib.rs defines: move it into a module"));
                }
            }
        }
        wrong
    }
}

/// Returns the name at the root that a path in a file of this depth starts with. Inline modules are deeper than their
/// file.
fn at_root(path: &[String], depth: usize) -> Option<&String> {
    match path.first()?.as_str() {
        "crate" => path.get(1),
        "super" => {
            let supers = path.iter().take_while(|part| *part == "super").count();
            (supers >= depth).then(|| path.get(supers)).flatten()
        }
        _ => None,
    }
}

/// Returns the names of the items that are defined in the code, outside of any braces.
fn items(code: &str) -> BTreeSet<String> {
    let mut items = BTreeSet::new();
    let mut depth = 0_usize;
    for line in code.lines() {
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .collect();
        let kinds = [
            "struct", "enum", "trait", "fn", "type", "const", "static", "union",
        ];
        let kind = words.iter().position(|word| kinds.contains(word));
        if let (0, Some(name)) = (depth, kind.and_then(|at| words.get(at + 1))) {
            items.insert((*name).to_owned());
        }
        depth += line.matches('{').count();
        depth = depth.saturating_sub(line.matches('}').count());
    }
    items
}

/// Returns the source without comments, strings and test modules.
fn code_of(source: &str) -> String {
    let mut code = String::new();
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let opens_tests = |next: &&str| next.starts_with("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.next_if(opens_tests).is_some() {
            lines.by_ref().find(|line| *line == "}");
            continue;
        }
        let line = line.trim_start();
        if !line.starts_with("//") {
            code.push_str(line.split(" // ").next().unwrap_or_default());
            code.push('\n');
        }
    }
    code
}

/// Returns every path in the code, with expanded `use` trees. Only those that start with `crate`, `super`, or in
/// `lib.rs` with a module, matter.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
        rest = &rest[at..];
        let mut path = Vec::new();
        rest = path_at(rest, &mut path, &mut found);
    }
    found
}

/// Reads a path from the start of `text`, and a tree after it. Returns the rest.
fn path_at<'t>(text: &'t str, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'t str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    path.push(text[..end].to_owned());
    let after = &text[end..];
    let Some(next) = after.strip_prefix("::") else {
        found.push(path.clone());
        // A renamed re-export is known by both names.
        if let Some(alias) = after.strip_prefix(" as ") {
            let end = alias.find(|c: char| !c.is_alphanumeric() && c != '_');
            let mut renamed = path[..path.len() - 1].to_vec();
            renamed.push(alias[..end.unwrap_or(alias.len())].to_owned());
            found.push(renamed);
        }
        return after;
    };
    if next.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return path_at(next, path, found);
    }
    found.push(path.clone());
    let everything = [path.as_slice(), &["*".to_owned()]].concat();
    if next.starts_with('*') {
        found.push(everything);
        return next;
    }
    let Some(mut tree) = next.strip_prefix('{') else {
        return next;
    };
    loop {
        tree = tree.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if tree.is_empty() {
            return tree;
        }
        if let Some(after) = tree.strip_prefix('}') {
            return after;
        }
        if tree.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            tree = path_at(tree, &mut path.clone(), found);
        } else if let Some(after) = tree.strip_prefix('*') {
            found.push(everything.clone());
            tree = after;
        } else {
            tree = &tree[tree.chars().next().map_or(1, char::len_utf8)..];
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a crate of two modules, `low` and `high`, in which `low` has this code.
    fn low(root: &str, code: &str) -> Crate {
        let file = |module: &str, depth: usize, path: &str, code: &str| {
            (module.to_owned(), depth, path.to_owned(), code_of(code))
        };
        let mut made = Crate {
            modules: BTreeSet::new(),
            exported: BTreeMap::new(),
            items: BTreeSet::new(),
            files: vec![
                file("", 0, "src/lib.rs", root),
                file("high", 1, "src/high.rs", ""),
                file("low", 1, "src/low.rs", code),
            ],
        };
        made.index_root();
        made
    }

    #[test]
    fn every_spelling_of_an_upward_edge_is_found() {
        let root = "pub use high::Runner;\npub use high::Turn as Play;";
        for code in [
            "use crate::high;",
            "use crate::high::Runner;",
            "use crate::{low, high::{Runner, Turn}};",
            "use super::high::Runner;",
            "use crate::Runner;",
            "use crate::Play;",
            "fn f() { crate::high::run() }",
            "mod inner { use super::super::high::Runner; }",
            "#[cfg(test)]\nmod tests {\n    use super::*;\n}\nuse crate::high::Runner;",
        ] {
            let uses = low(root, code).uses();
            assert!(uses["low"].contains_key("high"), "{code}");
        }
        for code in [
            "// crate::high",
            "#[cfg(test)]\nmod tests {\n    use crate::high;\n}",
            "use crate::low::X;",
        ] {
            assert!(low(root, code).uses()["low"].is_empty(), "{code}");
        }
    }

    #[test]
    fn edges_that_the_root_would_hide_are_found() {
        let root =
            "pub struct Schema { x: u8 }\nimpl Schema {\n    fn build() {}\n}\npub fn start() {}";
        for code in [
            "use super::Schema;",
            "use crate::*;",
            "use crate::{*};",
            "fn f() { crate::start() }",
            "mod inner { use super::super::Schema; }",
        ] {
            assert_eq!(low(root, code).hidden_edges("x").len(), 1, "{code}");
        }
        assert!(
            low(root, "use crate::high::Schema; fn build() {}")
                .hidden_edges("x")
                .is_empty()
        );
    }
}
