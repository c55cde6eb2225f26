//! Every public type that users construct, and every public trait, has an example in its rustdoc.
#![allow(clippy::unwrap_used, reason = "a test may end loudly")]

use std::fs;
use std::path::Path;

use crate::links::root;

/// Types and traits without an example, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("Ascii", "hidden"),
    ("Body", "a bound in a private module"),
    ("Build", "a bound in a private module"),
    ("Codec", "a bound in a private module"),
    ("Decoder", "the module page has one"),
    ("FrameReader", "a bound in a private module"),
    ("HasCodec", "a bound in a private module"),
    ("OpenAi", "a bound in a private module"),
    ("Spooled", "hidden"),
    ("OfResponse", "a bound in a private module"),
    ("Stamped", "a bound in a private module"),
    ("Stored", "a bound in a private module"),
    ("WrittenRecord", "a bound in a private module"),
];

#[test]
fn types_that_users_construct_have_an_example() {
    let mut missing = Vec::new();
    for package in fs::read_dir(root().join("crates")).unwrap() {
        let mut sources = Vec::new();
        read(&package.unwrap().path().join("src"), &mut sources);
        missing.extend(without_example(&sources));
    }
    missing.retain(|name| !EXCEPTIONS.iter().any(|(exception, _)| exception == name));
    assert!(missing.is_empty(), "add an example to {missing:?}");
}

#[test]
fn constructors_builders_and_traits_need_an_example() {
    let text = "
/// Has a constructor.
pub struct Made<T>(T);

impl<T> Made<T> {
    pub fn new(
        value: T,
    ) -> Self {}
}

/// Is only received.
pub struct Received;

impl Received {
    pub fn part(&self) -> Received {}

    #[doc(hidden)]
    pub fn new() -> Self {}
}

pub struct MadeBuilder;

/// ```text
/// not compiled
/// ```
pub trait Named {}

/// ```no_run
/// Shown::open();
/// ```
pub struct Shown;

impl Shown {
    pub async fn open() -> Self {}
}
";
    assert_eq!(
        without_example(&[text.to_owned()]),
        ["Made", "MadeBuilder", "Named"]
    );
}

/// Reads the sources of a package, except tests and the hidden module of `#[tool]`.
fn read(path: &Path, sources: &mut Vec<String>) {
    if path.is_file() && !path.ends_with("returned.rs") {
        sources.push(fs::read_to_string(path).unwrap());
    } else if path.is_dir() && !path.ends_with("tests") {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
        entries.for_each(|entry| read(&entry.path(), sources));
    }
}

/// The items of a package that need an example and have none. Relies on the layout of rustfmt.
fn without_example(sources: &[String]) -> Vec<String> {
    let constructed: Vec<&str> = sources.iter().flat_map(|text| constructed(text)).collect();
    let mut missing = Vec::new();
    for part in sources.iter().flat_map(|text| text.split("\n\n")) {
        let lines: Vec<&str> = part.lines().collect();
        let Some((at, kind, name)) = lines.iter().zip(0..).find_map(|(line, at)| {
            let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
            ["struct", "enum", "trait"]
                .contains(&kind)
                .then(|| (at, kind, name_of(rest)))
        }) else {
            continue;
        };
        let needs = kind == "trait" || name.ends_with("Builder") || constructed.contains(&name);
        if needs && !part.contains("#[doc(hidden)]") && !has_example(lines.split_at(at).0) {
            missing.push(name.to_owned());
        }
    }
    missing
}

/// Whether a doc comment has a block of code that is compiled.
fn has_example(comment: &[&str]) -> bool {
    let fences = comment
        .iter()
        .filter_map(|line| line.strip_prefix("/// ```"));
    // Every second one is the end of a block.
    let is_compiled =
        |info: &str| info.is_empty() || info == "no_run" || info.starts_with("compile_fail");
    fences.step_by(2).any(is_compiled)
}

/// The types with a public function that takes no `self`.
fn constructed(text: &str) -> impl Iterator<Item = &str> {
    text.split("\nimpl").skip(1).filter_map(|block| {
        let (head, body) = block.split_once("{\n")?;
        let head = head.split("\nwhere").next()?.trim();
        let name = head.rsplit_once("> ").map_or(head, |(_, name)| name);
        let body = body.split("\n}").next()?;
        body.split("\n\n").any(constructs).then_some(name_of(name))
    })
}

fn constructs(method: &str) -> bool {
    let start = method.split_once("    pub ").map_or("", |(_, rest)| rest);
    let parameters = start
        .split_once("fn ")
        .and_then(|(_, rest)| rest.split_once('('));
    let takes_self = ["self", "mut self", "&self", "&mut self"];
    !method.contains("#[doc(hidden)]")
        && parameters.is_some_and(|(_, all)| {
            !takes_self
                .iter()
                .any(|own| all.trim_start().starts_with(own))
        })
}

/// The identifier at the start of a text.
fn name_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}
