//! Sections, and how they are named.

use std::ops::Range;

use serde::Serialize;

use super::document::Document;
use super::outline::{Heading, headings};
use super::told::quoted;
use crate::error::Error;

/// How many headings of one name are told.
const CANDIDATES: usize = 12;

/// A heading and the lines that belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Section {
    /// What it begins with.
    pub heading: Heading,
    /// Its lines, with those of the heading.
    pub lines: Range<u64>,
    /// The lines as they are.
    pub text: String,
}

/// How a section is named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionName {
    /// By the text of its heading: exactly this one, else regardless of case, else one that contains it.
    Heading(String),
    /// By a line of its heading.
    Line(u64),
}

impl From<&str> for SectionName {
    fn from(heading: &str) -> Self {
        SectionName::Heading(heading.to_owned())
    }
}

impl From<String> for SectionName {
    fn from(heading: String) -> Self {
        SectionName::Heading(heading)
    }
}

impl From<u64> for SectionName {
    fn from(line: u64) -> Self {
        SectionName::Line(line)
    }
}

/// Every heading of some lines with what follows it, up to the next heading of any level: each line once. Headings in quotes
/// and lists cut nothing.
pub(super) fn sections(document: &Document, within: &Range<u64>) -> Vec<Section> {
    let headings = headings(document, |_, top| top);
    let mut sections: Vec<Section> = Vec::new();
    let mut rest = headings.into_iter().peekable();
    while let Some(heading) = rest.next() {
        let next = rest.peek().map_or(u64::MAX, |next| next.lines.start);
        if within.contains(&heading.lines.start) {
            let end = heading.section.end.min(next).max(heading.lines.end);
            sections.push(Section::of(document, heading, end));
        }
    }
    sections
}

impl Section {
    fn of(document: &Document, heading: Heading, end: u64) -> Section {
        let lines = heading.lines.start..end;
        Section {
            text: document.slice(&document.bytes_of(&lines)).to_owned(),
            lines,
            heading,
        }
    }
}

/// The one section of that name among those whose heading begins on some lines, with the sections below it.
pub(super) fn section(
    document: &Document,
    name: &SectionName,
    within: &Range<u64>,
) -> Result<Section, Error> {
    let heading = match name {
        SectionName::Line(line) => heading_at(document, *line)?,
        SectionName::Heading(asked) => heading_called(document, asked, within)?,
    };
    let end = heading.section.end;
    Ok(Section::of(document, heading, end))
}

fn heading_at(document: &Document, line: u64) -> Result<Heading, Error> {
    let mut above = None;
    let found = headings(document, |heading, _| {
        if heading.lines.start <= line {
            above = Some(heading.clone());
        }
        heading.lines.contains(&line)
    });
    found.into_iter().next().ok_or_else(|| {
        let nearest = above.map_or_else(String::new, |above| {
            format!(" The nearest above is {}.", candidate(&above))
        });
        Error::bad_artifact_query(format!(
            "Line {line} has no heading.{nearest} artifact_md_headings lists all headings with their lines."
        ))
    })
}

fn heading_called(document: &Document, asked: &str, within: &Range<u64>) -> Result<Heading, Error> {
    let asked = asked.trim();
    let bare = asked.trim_start_matches('#').trim();
    let small = bare.to_lowercase();
    if small.is_empty() {
        return Err(Error::bad_artifact_query(
            "Say which section: heading is the text of its heading, line the line of it. artifact_md_headings lists all.",
        ));
    }
    // How well it fits: 0 exactly, 1 but for case, 2 in part. Of each no more is kept than can be told.
    let fit = |text: &str| {
        let text = text.trim();
        let lower = text.to_lowercase();
        match () {
            () if text == asked || text == bare => Some(0),
            () if lower == small => Some(1),
            () if lower.contains(&small) => Some(2),
            () => None,
        }
    };
    let mut seen = [0_usize; 3];
    let kept = headings(document, |heading, _| {
        let fits = fit(&heading.text).filter(|_| within.contains(&heading.lines.start));
        fits.and_then(|fits: usize| seen.get_mut(fits))
            .is_some_and(|seen| {
                *seen += 1;
                *seen <= CANDIDATES
            })
    });
    let Some(best) = seen.iter().position(|seen| *seen > 0) else {
        return Err(Error::bad_artifact_query(format!(
            "No heading in lines {}..{} is called or contains {}. artifact_md_headings lists all headings with their lines.",
            within.start,
            within.end,
            quoted(bare, 120)
        )));
    };
    let count = seen.get(best).copied().unwrap_or(0);
    let mut fitting: Vec<Heading> = kept
        .into_iter()
        .filter(|heading| fit(&heading.text) == Some(best))
        .collect();
    if count == 1
        && let Some(heading) = fitting.pop()
    {
        return Ok(heading);
    }
    let list: Vec<String> = fitting.iter().map(candidate).collect();
    let more = match count.saturating_sub(list.len()) {
        0 => String::new(),
        more => format!("; and {more} more: narrow it down with start and end"),
    };
    Err(Error::bad_artifact_query(format!(
        "{count} headings fit; say which with line: {}{more}.",
        list.join("; ")
    )))
}

fn candidate(heading: &Heading) -> String {
    let text = quoted(&heading.text, 80);
    format!(
        "line={} (level {}) {text}",
        heading.lines.start, heading.level
    )
}
