//! Checks that the top-level modules of each crate form layers without cycles.
//!
//! Run it from the root of the repository: `rustc --edition 2024 -o target/layers scripts/layers.rs && target/layers`.
//!
//! ARCHITECTURE.md draws the layers: for each crate one block that begins with "```layers NAME", with one layer per line, the
//! highest first, and module names separated by spaces. A module may use the modules of lower lines, and nothing else. The
//! check reads the paths in the source (`crate::x`, `super::x`, `use` trees, names that `lib.rs` re-exports); tests and comments
//! do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Ok(architecture) = fs::read_to_string("ARCHITECTURE.md") else {
        eprintln!("ARCHITECTURE.md is not here: run this from the root of the repository");
        return ExitCode::FAILURE;
    };
    let drawn = drawn_layers(&architecture);
    let mut crates: Vec<PathBuf> = entries(Path::new("crates"));
    crates.retain(|path| path.join("src").is_dir());
    let mut wrong = Vec::new();
    for path in crates {
        let name = file_name(&path);
        let uses = Crate::read(&path.join("src")).uses();
        let layers = drawn.get(&name).cloned().unwrap_or_default();
        wrong.extend(check(&name, &uses, &layers));
        print_layers(&name, &uses);
    }
    for line in &wrong {
        eprintln!("{line}");
    }
    match wrong.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Which modules a module uses, with the places.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The blocks of ARCHITECTURE.md: for each crate its layers, the highest first.
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
    /// Names at the root that `lib.rs` takes from a module.
    exported: BTreeMap<String, String>,
    /// The top-level module, the depth below the root, the path, and the code of each file.
    files: Vec<(String, usize, String, String)>,
}

impl Crate {
    fn read(src: &Path) -> Self {
        let mut found = Crate {
            modules: BTreeSet::new(),
            exported: BTreeMap::new(),
            files: Vec::new(),
        };
        found.read_folder(src, &[]);
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
        found
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
            } else if path.extension().is_some_and(|it| it == "rs") {
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
            for path in paths(code) {
                let rest = match path.first().map(String::as_str) {
                    Some("crate") => path.get(1),
                    Some("super")
                        if path.iter().take_while(|it| *it == "super").count() == *depth =>
                    {
                        path.get(*depth)
                    }
                    _ => None,
                };
                let Some(name) = rest else { continue };
                let other = self.modules.get(name).or_else(|| self.exported.get(name));
                if let Some(other) = other.filter(|other| *other != module) {
                    let used = uses.entry(module.clone()).or_default();
                    used.entry(other.clone()).or_default().insert(file.clone());
                }
            }
        }
        uses
    }
}

/// The source without comments, texts and modules of tests.
fn code_of(source: &str) -> String {
    let source = match source.find("#[cfg(test)]\nmod tests {") {
        Some(tests) => &source[..tests],
        None => source,
    };
    let mut code = String::new();
    for line in source.lines() {
        let line = line.trim_start();
        if !line.starts_with("//") {
            code.push_str(line.split(" // ").next().unwrap_or_default());
            code.push('\n');
        }
    }
    code
}

/// Every path in the code, `use` trees unfolded. Only those that begin with `crate`, `super`, or in `lib.rs` with a module, matter.
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

/// Reads a path from the beginning of `text`, and a tree behind it; returns what follows.
fn path_at<'t>(text: &'t str, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'t str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    path.push(text[..end].to_owned());
    let after = &text[end..];
    let Some(next) = after.strip_prefix("::") else {
        found.push(path.clone());
        return after;
    };
    if next.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return path_at(next, path, found);
    }
    found.push(path.clone());
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
        match tree.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            true => tree = path_at(tree, &mut path.clone(), found),
            false => tree = &tree[tree.chars().next().map_or(1, char::len_utf8)..],
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
