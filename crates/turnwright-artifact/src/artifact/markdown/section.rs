//! Sections and how they are selected.

use std::ops::Range;

use serde::Serialize;

use super::document::Document;
use super::listing::quoted;
use super::outline::{Heading, headings};
use crate::error::Error;

/// How many matching headings to list.
const CANDIDATES: usize = 12;

/// A heading and the lines that belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Section {
    /// The heading.
    pub heading: Heading,
    /// The lines of the section, including the heading.
    pub lines: Range<u64>,
    /// The source of the lines.
    pub text: String,
}

/// Selects a section.
///
/// ```
/// use turnwright_artifact::artifact::markdown::{SectionName, SpooledMarkdownArtifact};
/// use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let guide = SpooledArtifact::in_memory("# Guide\n\n## Install\n", ArtifactKind::MARKDOWN);
/// let guide = SpooledMarkdownArtifact::new(guide);
/// let by_heading = guide.section("install").await?;
/// let by_line = guide.section(SectionName::Line(2)).await?;
/// assert_eq!(by_heading.lines, by_line.lines);
/// # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionName {
    /// By the text of its heading: an exact match, else a match that ignores case, else a heading that contains it.
    Heading(String),
    /// By a line of its heading.
    Line(u64),
}

impl From<&str> for SectionName {
    fn from(heading: &str) -> Self {
        SectionName::Heading(heading.to_owned())
    }
}

/// Returns every heading in a range of lines with the text up to the next heading of any level, so that each line occurs once.
/// Headings in quotes and lists do not split.
pub(super) fn sections(document: &Document, within: &Range<u64>) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let headings = headings(document).into_iter();
    let mut rest = headings.filter(|heading| !heading.enclosed).peekable();
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

/// Returns the one section with that name among the headings in a range of lines, including its subsections.
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
    let mut above = headings(document);
    above.retain(|heading| heading.lines.start <= line);
    if let Some(found) = above.iter().find(|heading| heading.lines.contains(&line)) {
        return Ok(found.clone());
    }
    let nearest = above.last().map_or_else(String::new, |above| {
        format!(" The nearest heading above is {}.", candidate(above))
    });
    Err(Error::bad_artifact_query(format!(
        "Line {line} is not a heading.{nearest} Use artifact_md_headings to list all headings with their lines."
    )))
}

fn heading_called(document: &Document, asked: &str, within: &Range<u64>) -> Result<Heading, Error> {
    let asked = asked.trim();
    let bare = asked.trim_start_matches('#').trim();
    let small = bare.to_lowercase();
    if small.is_empty() {
        return Err(Error::bad_artifact_query(
            "Select a section with `heading` (the text of its heading) or `line`. Use artifact_md_headings to list all headings.",
        ));
    }
    // Quality of the match: 0 exact, 1 ignoring case, 2 partial.
    let fit = |heading: &Heading| {
        let text = heading.text.trim();
        let lower = text.to_lowercase();
        match () {
            () if !within.contains(&heading.lines.start) => None,
            () if text == asked || text == bare => Some(0),
            () if lower == small => Some(1),
            () if lower.contains(&small) => Some(2),
            () => None,
        }
    };
    let mut fitting = headings(document);
    let Some(best) = fitting.iter().filter_map(fit).min() else {
        return Err(Error::bad_artifact_query(format!(
            "No heading in lines {}..{} matches {}. Use artifact_md_headings to list all headings with their lines.",
            within.start,
            within.end,
            quoted(bare, 120)
        )));
    };
    fitting.retain(|heading| fit(heading) == Some(best));
    let count = fitting.len();
    if count == 1
        && let Some(heading) = fitting.pop()
    {
        return Ok(heading);
    }
    let list: Vec<String> = fitting.iter().take(CANDIDATES).map(candidate).collect();
    let more = match count.saturating_sub(CANDIDATES) {
        0 => String::new(),
        more => format!("; and {more} more: narrow the search with start and end"),
    };
    Err(Error::bad_artifact_query(format!(
        "{count} headings match. Select one with `line`: {}{more}.",
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
