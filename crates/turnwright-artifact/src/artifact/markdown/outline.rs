//! Headings and the extent of their sections.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};
use serde::Serialize;

use super::document::{Document, push_inline};

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Heading {
    /// The level, from 1 to 6.
    pub level: u8,
    /// The text without markup.
    pub text: String,
    /// The lines of the heading: one, or more if it is underlined.
    pub lines: Range<u64>,
    /// The lines of the section: up to the next heading of the same or a higher level. The section of a heading in a quote or
    /// list item ends with that quote or item, and such a heading does not end a section outside of it.
    pub section: Range<u64>,
    /// Whether the heading is in a quote, a list item or a footnote.
    #[serde(skip)]
    pub(super) enclosed: bool,
}

/// Returns all headings in order.
pub(super) fn headings(document: &Document) -> Vec<Heading> {
    let mut outline = Outline::default();
    // The open quotes, items and footnotes, each with the number of its first event.
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
                    push_inline(text, &event);
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
    /// The open sections, at most six per enclosure: the number of the enclosure (0 for none) and the heading.
    open: Vec<(usize, usize)>,
}

impl Outline {
    /// Ends the sections of an enclosure that are of this level or deeper.
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
