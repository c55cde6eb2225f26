//! Links in the README, the book and the other documents of the repository lead to files and headings that exist.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end loudly")]

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

/// The targets of all links and pictures of a page.
pub(crate) fn links(text: &str) -> Vec<String> {
    let links = events(text).filter_map(|(event, _)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    });
    links.collect()
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let characters = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    characters.collect::<String>().to_lowercase()
}

/// The anchors of a page. Of headings with the same text, the second one has the suffix `-1`.
fn anchors(text: &str) -> Vec<String> {
    let (mut anchors, mut heading) = (Vec::new(), None);
    let mut seen = HashMap::new();
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let count = seen.entry(name.clone()).or_insert(0);
                anchors.push(match *count {
                    0 => name,
                    n => format!("{name}-{n}"),
                });
                *count += 1;
            }
            _ => {}
        }
    }
    anchors
}

/// Pages of the book link files outside of it like this, so that the links work in the built book too.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// Why a link of this page leads nowhere. Links to other sites are not checked.
fn fault(page: &Path, link: &str) -> Option<String> {
    let (target, fragment) = link.split_once('#').unwrap_or((link, ""));
    let path = match target.strip_prefix(REPOSITORY) {
        Some(path) => root().join(path),
        None if target.contains("://") || target.starts_with("mailto:") => return None,
        None if target.is_empty() => page.to_owned(),
        None => page.parent()?.join(target),
    };
    if !path.exists() {
        return Some("there is no such file".to_owned());
    }
    let is_page = path.extension().is_some_and(|extension| extension == "md");
    if fragment.is_empty() || !is_page {
        return None;
    }
    let known = anchors(&fs::read_to_string(path).unwrap());
    let found = known.iter().any(|anchor| anchor == fragment);
    (!found).then(|| format!("there is no such heading; there are {}", known.join(", ")))
}

/// The README, the other documents at the root, and the book.
pub(crate) fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs/src")];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut pages: Vec<PathBuf> = paths.filter(is_page).collect();
    pages.sort();
    pages
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let (mut dead, mut checked) = (Vec::new(), 0);
    for page in documents() {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            checked += 1;
            if let Some(why) = fault(&page, &link) {
                dead.push(format!("{}: {link}: {why}", page.display()));
            }
        }
    }
    assert!(checked > 100, "only {checked} links were found");
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn a_link_to_a_missing_file_or_heading_is_found() {
    let page = root().join("README.md");
    assert_eq!(fault(&page, "docs/src/tools.md"), None);
    assert_eq!(fault(&page, "docs/src/tools.md#closures"), None);
    assert_eq!(fault(&page, "https://example.com/missing"), None);
    for link in [
        "docs/src/missing.md",
        "docs/src/tools.md#missing",
        "#missing",
        concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/missing.rs"),
    ] {
        assert!(fault(&page, link).is_some(), "{link}");
    }
}

#[test]
fn anchors_are_those_of_github_and_mdbook() {
    let text = "# Approvals (human in the loop)\n## `#[tool]`: options\n## Twice\n## Twice\n";
    let expected = [
        "approvals-human-in-the-loop",
        "tool-options",
        "twice",
        "twice-1",
    ];
    assert_eq!(anchors(text), expected);
}
