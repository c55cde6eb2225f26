//! The book is complete: every page is listed and tested, and the table of error codes is that of the code.
//!
//! `TURNWRIGHT_UPDATE=1` regenerates what is generated.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end loudly")]

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use pulldown_cmark::{Event, Tag, TagEnd};
use turnwright::ErrorCode;

use crate::links::{events, links, root};

const HEAD: [&str; 5] = ["code", "fatal", "kind", "meaning", "text for the model"];

fn pages_folder() -> PathBuf {
    root().join("docs/src")
}

fn read(name: &str) -> String {
    let path = pages_folder().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all pages, without the summary.
fn pages() -> BTreeSet<String> {
    let files = fs::read_dir(pages_folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let is_page = |name: &String| name.ends_with(".md") && name != "SUMMARY.md";
    names.filter(is_page).collect()
}

/// The table with this head: its rows and its place in the text.
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
    let mut page = read("error-codes.md");
    if std::env::var_os("TURNWRIGHT_UPDATE").is_some_and(|value| value == "1") {
        let (_, place) = table(&page, &HEAD).expect("error-codes.md has a table to replace");
        page.replace_range(place, &written());
        fs::write(pages_folder().join("error-codes.md"), &page).unwrap();
    }
    let (rows, _) = table(&page, &HEAD).expect("error-codes.md has a table of error codes");
    // The rows have the text of code spans without their backticks.
    let plain = |cell: String| cell.replace('`', "");
    let expected: Vec<_> = ErrorCode::ALL
        .iter()
        .map(|code| cells(*code).map(plain))
        .collect();
    for (row, code) in rows.iter().zip(&expected) {
        assert_eq!(
            row, code,
            "docs/src/error-codes.md differs from the code: `TURNWRIGHT_UPDATE=1` regenerates it"
        );
    }
    assert_eq!(
        rows.len(),
        expected.len(),
        "docs/src/error-codes.md has another number of codes: `TURNWRIGHT_UPDATE=1` regenerates it"
    );
}

#[test]
fn the_summary_lists_every_page_once_and_every_page_is_tested() {
    let listed = links(&read("SUMMARY.md"));
    let known: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(known.len(), listed.len(), "a page is listed twice");
    assert_eq!(known, pages());

    let tested = include_str!("../../src/book.rs");
    // The page about the program is tested in the program's own package.
    let program = include_str!("../../../turnwright-cli/src/lib.rs");
    for page in &known {
        let here = tested.contains(&format!("\"{page}\" => "));
        let there = program.contains(&format!("docs/src/{page}\")"));
        assert!(here || there, "src/book.rs does not include {page}");
    }
}
