//! Headings, and where their sections end.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};
use serde::Serialize;

use super::document::Document;
use super::inline_text;

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Heading {
    /// From 1 to 6.
    pub level: u8,
    /// Its text, without marks.
    pub text: String,
    /// Its own lines: one, or more if it is underlined.
    pub lines: Range<u64>,
    /// The lines of its section: up to the next heading of its level or above. A heading in a quote or a list has a section
    /// that ends with the quote or the list's item, and ends no section outside.
    pub section: Range<u64>,
    /// Whether a quote, an item of a list or a footnote encloses it.
    #[serde(skip)]
    pub(super) enclosed: bool,
}

/// All headings, in order.
pub(super) fn headings(document: &Document) -> Vec<Heading> {
    let mut outline = Outline::default();
    // The quotes, items and footnotes that are open, each with the number of its first event.
    let mut enclosures: Vec<(usize, Range<usize>)> = Vec::new();
    let mut open: Option<(Range<u64>, String)> = None;
    for (number, (event, bytes)) in document.events().enumerate() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::Item | Tag::FootnoteDefinition(_)) => {
                enclosures.push((number + 1, bytes));
            }
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::FootnoteDefinition) => {
                if let Some((enclosure, bytes)) = enclosures.pop() {
                    outline.end_sections(enclosure, 0, document.lines_of(&bytes).end);
                }
            }
            Event::Start(Tag::Heading { .. }) => {
                open = Some((document.lines_of(&bytes), String::new()));
            }
            Event::End(TagEnd::Heading(level)) => {
                if let Some((lines, text)) = open.take() {
                    let enclosure = enclosures.last().map_or(0, |(enclosure, _)| *enclosure);
                    outline.end_sections(enclosure, level as u8, lines.start);
                    outline.open.push((enclosure, outline.headings.len()));
                    outline.headings.push(Heading {
                        level: level as u8,
                        text: text.trim().to_owned(),
                        section: lines.clone(),
                        lines,
                        enclosed: enclosure != 0,
                    });
                }
            }
            event => {
                if let Some((_, text)) = &mut open {
                    inline_text::push(text, &event);
                }
            }
        }
    }
    outline.end_sections(0, 0, document.lines().count());
    outline.headings
}

#[derive(Default)]
struct Outline {
    headings: Vec<Heading>,
    /// The sections that have not ended, at most six for each enclosure: its number, which is 0 for none, and the heading.
    open: Vec<(usize, usize)>,
}

impl Outline {
    /// Ends the sections of an enclosure that are of this level or below.
    fn end_sections(&mut self, enclosure: usize, level: u8, line: u64) {
        while let Some((number, heading)) = self.open.last().copied()
            && number == enclosure
            && let Some(heading) = self.headings.get_mut(heading)
            && heading.level >= level
        {
            heading.section.end = line.max(heading.lines.end);
            self.open.pop();
        }
    }
}
