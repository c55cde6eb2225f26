//! Names that users try first, and names that the documentation has, exist.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::Event;
use serde_json::{Value, json};
use turnwright::artifact::ArtifactLimits;
use turnwright::dispatch::Signal;
use turnwright::media::{MediaKind, MemoryReader};
use turnwright::prelude::*;
use turnwright::tool::OnCollision;
use turnwright::{Error, Media, tool};

use crate::links::{documents, events, root};

// The path of a module, and also the attribute.
/// Returns nothing.
#[tool(on_collision = "keep")]
async fn nothing() -> Result<String, ToolError> {
    Ok(String::new())
}

#[tokio::test]
async fn first_guesses_compile() {
    let reader = MemoryReader::new("…");
    let media = Media::tool_generated(MediaKind::Image, "image/png", "a.png", reader);
    assert_eq!(media.build().unwrap().byte_length(), Some(3));

    let ctx = DispatchContext::builder()
        .artifact_limits(ArtifactLimits::default())
        .build();
    assert_eq!(nothing().unwrap().on_collision(), OnCollision::Keep);
    let search = Tool::dynamic("search", json!({ "type": "object" }))
        .description("Finds nothing.")
        .meta(json!({ "cost": 1, "team": "ops" }))
        .handler(|_: Value, _: ToolContext| async { "nothing" });
    let more = ToolRegistry::new([search.build().unwrap()]).unwrap();
    ctx.tools().merge_from(&more, OnCollision::Error).unwrap();
    let tool = ctx.tools().get("search").unwrap();
    assert!(!tool.is_artifact_tool());
    assert_eq!(tool.meta().get("team"), Some(&json!("ops")));
    ctx.ack().unwrap();
    assert_eq!(ctx.signal(), Some(Signal::Ack));

    let storage = Storage::memory();
    assert!(storage.store().tool_calls("c").await.unwrap().is_empty());
}

#[test]
fn errors_for_custom_kinds_have_texts_for_the_model() {
    for (error, code) in [
        (Error::bad_artifact_query("No."), "E_ARTIFACT_QUERY"),
        (Error::malformed_artifact("No."), "E_ARTIFACT_MALFORMED"),
        (Error::artifact_too_large("No."), "E_ARTIFACT_TOO_LARGE"),
    ] {
        assert_eq!(error.code().as_str(), code);
        assert_eq!(error.model_text(), "No.");
    }
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            files.push(path);
        } else if !path.ends_with("target") && !path.ends_with(".git") {
            add_files(&path, files);
        }
    }
}

#[test]
fn source_files_that_documents_name_exist() {
    let mut files = Vec::new();
    add_files(&root(), &mut files);
    let mut missing = Vec::new();
    // The changelog may name files of earlier versions.
    for page in documents()
        .iter()
        .filter(|page| !page.ends_with("CHANGELOG.md"))
    {
        let text = fs::read_to_string(page).unwrap();
        let names = events(&text).filter_map(|(event, _)| match event {
            Event::Code(name) => Some(name).filter(|name| is_path(name)),
            _ => None,
        });
        let unknown = names.filter(|name| !files.iter().any(|file| file.ends_with(&**name)));
        missing.extend(unknown.map(|name| format!("{}: {name}", page.display())));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn is_path(code: &str) -> bool {
    let mut letters = code.chars();
    code.ends_with(".rs") && letters.all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// The names of the public functions, and of the methods of public traits, in a source file.
fn public_functions(source: &str) -> HashSet<&str> {
    let mut in_trait = false;
    let mut names = HashSet::new();
    for line in source.lines() {
        in_trait = match line {
            "}" => false,
            _ => in_trait || line.starts_with("pub trait "),
        };
        if let Some((before, after)) = line.split_once("fn ")
            && (in_trait || before.trim_start().starts_with("pub "))
        {
            names.extend(after.split(['(', '<']).next());
        }
    }
    names
}

/// The names of the functions that a piece of code calls, without those after a path.
fn called(code: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    code.match_indices('(').filter_map(move |(at, _)| {
        let before = code[..at].trim_end_matches(is_word);
        let is_free = !before.ends_with(|c: char| c.is_ascii_uppercase() || ":[".contains(c));
        Some(&code[before.len()..at]).filter(|name| !name.is_empty() && is_free)
    })
}

#[test]
fn functions_that_the_book_names_are_public() {
    let mut files = Vec::new();
    add_files(&root().join("crates"), &mut files);
    let is_source = |file: &PathBuf| file.extension().is_some_and(|end| end == "rs");
    files.retain(|file| is_source(file) && file.components().any(|part| part.as_os_str() == "src"));
    let sources: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let mut known: HashSet<&str> = sources
        .iter()
        .flat_map(|source| public_functions(source))
        .collect();
    // Of the standard library.
    known.extend(["drop", "into"]);

    let mut pages = documents();
    pages.retain(|page| page.components().any(|part| part.as_os_str() == "docs"));
    // These pages also name functions of other kits.
    pages.retain(|page| {
        !page.ends_with("coming-from-rig.md") && !page.ends_with("coming-from-typescript.md")
    });
    let mut missing = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for (event, _) in events(&text) {
            let Event::Code(code) = event else { continue };
            let unknown = called(&code).filter(|name| {
                let of_page = || text.contains(&format!("fn {name}("));
                !known.contains(name) && !of_page()
            });
            missing.extend(unknown.map(|name| format!("{}: {name}", page.display())));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
