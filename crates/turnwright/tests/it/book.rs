//! Checks the book: its table of error codes matches the code, no page is missing, and no link is dead.
//!
//! `TURNWRIGHT_UPDATE=1` rewrites the table.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use turnwright::ErrorCode;

const HEAD: [&str; 5] = [
    "code",
    "fatal",
    "kind",
    "what it means",
    "what the model is told",
];

fn pages_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
}

fn read(name: &str) -> String {
    let path = pages_folder().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the names of all pages; the summary is not a page.
fn pages() -> BTreeSet<String> {
    let files = fs::read_dir(pages_folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let is_page = |name: &String| name.ends_with(".md") && name != "SUMMARY.md";
    names.filter(is_page).collect()
}

fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

/// Returns the targets of links and images of a page.
fn links(text: &str) -> Vec<String> {
    let links = events(text).filter_map(|(event, _)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    });
    links.collect()
}

/// Returns the rows and the location of the table with this header.
fn table(text: &str, head: &[&str]) -> Option<(Vec<Vec<String>>, Range<usize>)> {
    let (mut rows, mut place): (Vec<Vec<String>>, _) = (Vec::new(), None);
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Table(_)) => {
                (rows, place) = (Vec::new(), Some(range));
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => rows.last_mut()?.push(String::new()),
            Event::Text(words) | Event::Code(words) if place.is_some() => {
                rows.last_mut()?.last_mut()?.push_str(&words);
            }
            Event::End(TagEnd::Table) => {
                if rows.first().is_some_and(|first| first == head) {
                    return Some((rows.split_off(1), place?));
                }
                place = None;
            }
            _ => {}
        }
    }
    None
}

fn cells(code: ErrorCode) -> [String; 5] {
    let fatal = if code.is_fatal() { "yes" } else { "no" };
    [
        code.as_str(),
        fatal,
        code.kind().as_str(),
        code.meaning(),
        code.model_text(),
    ]
    .map(str::to_owned)
}

fn written() -> String {
    let mut text = format!("| {} |\n|{}\n", HEAD.join(" | "), " --- |".repeat(5));
    for code in ErrorCode::ALL {
        let [name, fatal, kind, meaning, message] = cells(*code);
        text.push_str(&format!(
            "| `{name}` | {fatal} | `{kind}` | {meaning} | {message} |\n"
        ));
    }
    text
}

#[test]
fn error_code_table_matches_the_code() {
    let mut page = read("errors.md");
    if std::env::var_os("TURNWRIGHT_UPDATE").is_some_and(|value| value == "1") {
        let (_, place) = table(&page, &HEAD).expect("errors.md has a table");
        page.replace_range(place, &written());
        fs::write(pages_folder().join("errors.md"), &page).unwrap();
    }
    let (rows, _) = table(&page, &HEAD).expect("errors.md has a table of error codes");
    let promised: Vec<_> = ErrorCode::ALL.iter().map(|code| cells(*code)).collect();
    for (row, code) in rows.iter().zip(&promised) {
        assert_eq!(
            row, code,
            "docs/src/errors.md does not match the code: run with `TURNWRIGHT_UPDATE=1` to rewrite it"
        );
    }
    assert_eq!(
        rows.len(),
        promised.len(),
        "docs/src/errors.md has another number of codes: run with `TURNWRIGHT_UPDATE=1` to rewrite it"
    );
}

#[test]
fn summary_lists_every_page_once_and_every_page_is_tested() {
    let listed = links(&read("SUMMARY.md"));
    let known: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(known.len(), listed.len(), "a page is listed twice");
    assert_eq!(known, pages());

    let tested = include_str!("../../src/book.rs");
    // This page needs the CLI package.
    let program = include_str!("../../../turnwright-cli/src/lib.rs");
    for page in &known {
        let here = tested.contains(&format!("\"{page}\" => "));
        let there = program.contains(&format!("docs/src/{page}\")"));
        assert!(here || there, "src/book.rs does not include {page}");
    }
}

/// Files of the repository are linked like this, so that the links work in the built book too.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// Returns the target of a link, if it is a file of the repository.
fn target(link: &str) -> Option<PathBuf> {
    let link = link.split(['#', '?']).next().unwrap_or_default();
    let here = link.strip_prefix(REPOSITORY);
    match here {
        Some(path) => Some(pages_folder().join("../..").join(path)),
        None if link.is_empty() || link.contains("://") => None,
        None => Some(pages_folder().join(link)),
    }
}

#[test]
fn links_of_the_book_resolve() {
    let mut dead = Vec::new();
    for page in pages() {
        for link in links(&read(&page)) {
            if target(&link).is_some_and(|path| !path.exists()) {
                dead.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(
        dead.is_empty(),
        "links to missing targets:\n{}",
        dead.join("\n")
    );
}
