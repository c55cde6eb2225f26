//! Headings, and where their sections end.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};
use serde::Serialize;

use super::document::Document;
use super::spoken::InlineText;

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
}

/// Who encloses a heading: the innermost quote, item or footnote, by the number of its first event. 0 is nobody.
type Enclosure = usize;

/// The headings that `keep` wants, in order. It is also told whether a heading is enclosed by nothing.
pub(super) fn headings(
    document: &Document,
    mut keep: impl FnMut(&Heading, bool) -> bool,
) -> Vec<Heading> {
    let mut outline = Outline::default();
    let mut enclosures: Vec<(Enclosure, Range<usize>)> = Vec::new();
    let mut open: Option<(Range<u64>, InlineText)> = None;
    for (number, (event, bytes)) in document.events().enumerate() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::Item | Tag::FootnoteDefinition(_)) => {
                enclosures.push((number + 1, bytes));
            }
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::FootnoteDefinition) => {
                if let Some((enclosure, bytes)) = enclosures.pop() {
                    outline.end_sections(enclosure, 0, || document.lines_of(&bytes).end);
                }
            }
            Event::Start(Tag::Heading { .. }) => {
                open = Some((document.lines_of(&bytes), InlineText::default()));
            }
            Event::End(TagEnd::Heading(level)) => {
                if let Some((lines, text)) = open.take() {
                    let heading = Heading {
                        level: level as u8,
                        text: text.finish(),
                        section: lines.clone(),
                        lines,
                    };
                    let enclosure = enclosures.last().map_or(0, |(enclosure, _)| *enclosure);
                    outline
                        .begin_section(heading, enclosure, |heading| keep(heading, enclosure == 0));
                }
            }
            event => {
                if let Some((_, text)) = &mut open {
                    text.push(&event);
                }
            }
        }
    }
    outline.end_sections(0, 0, || document.lines().count());
    outline.kept
}

/// The headings that are kept, and the sections that have not ended yet: at most six for each enclosure.
#[derive(Default)]
struct Outline {
    kept: Vec<Heading>,
    open: Vec<OpenSection>,
}

struct OpenSection {
    enclosure: Enclosure,
    level: u8,
    /// Where its heading is kept.
    kept: Option<usize>,
}

impl Outline {
    fn begin_section(
        &mut self,
        heading: Heading,
        enclosure: Enclosure,
        keep: impl FnOnce(&Heading) -> bool,
    ) {
        let (level, line) = (heading.level, heading.lines.start);
        self.end_sections(enclosure, level, || line);
        let wanted = keep(&heading);
        self.open.push(OpenSection {
            enclosure,
            level,
            kept: wanted.then_some(self.kept.len()),
        });
        self.kept.extend(wanted.then_some(heading));
    }

    /// Ends the sections of an enclosure that are of this level or below.
    fn end_sections(&mut self, enclosure: Enclosure, level: u8, line: impl Fn() -> u64) {
        let ends = |last: &mut OpenSection| last.enclosure == enclosure && last.level >= level;
        while let Some(last) = self.open.pop_if(ends) {
            if let Some(heading) = last.kept.and_then(|at| self.kept.get_mut(at)) {
                heading.section.end = line().max(heading.lines.end);
            }
        }
    }
}
