//! The pages of the Markdown query tools.

use std::collections::BTreeSet;
use std::ops::Range;

use super::blocks::{self, CodeBlock};
use super::document::Document;
use super::links::{self as linked, Link};
use super::listing::{Listing, quoted, span};
use super::outline::{self, Heading};
use super::queries::{CodeBlocks, Headings, Listed, Nothing, OnLines, SectionOf};
use super::section::{self as sections, SectionName};
use super::{frontmatter as metadata, plain};
use crate::artifact::Page;
use crate::error::Error;
use crate::schema::clip;

fn line_range(document: &Document, start: u64, end: Option<u64>) -> Range<u64> {
    document.lines().clamp(&(start..end.unwrap_or(u64::MAX)))
}

pub(super) fn frontmatter(
    document: &Document,
    mut page: Page,
    _: &Nothing,
) -> Result<String, Error> {
    let Some(found) = metadata::frontmatter(document)? else {
        let none = "The document has no frontmatter: a line --- at its start, then no blank line, and the same line again within 64 KiB.";
        let _ = page.line(none);
        return Ok(page.finish());
    };
    let lines = &found.lines;
    let shown = serde_json::to_string_pretty(&found.value).unwrap_or_default();
    let _ = page.line(&format!("lines {}: YAML", span(lines)));
    if write_lines(&mut page, &shown).is_some() {
        page.note(&format!(
            "truncated: read the source with artifact_cat start={} end={}",
            lines.start, lines.end
        ));
    }
    document.annotate(&mut page);
    Ok(page.finish())
}

pub(super) fn headings(document: &Document, page: Page, args: &Headings) -> Result<String, Error> {
    let within = line_range(document, args.start, args.end);
    let what = match args.level {
        6.. => "headings",
        _ => "headings up to this level",
    };
    let mut listing = Listing::new(page, what, &within, args.skip);
    let wanted =
        |heading: &Heading| heading.level <= args.level && within.contains(&heading.lines.start);
    for heading in outline::headings(document).into_iter().filter(wanted) {
        let marks = "#".repeat(heading.level.into());
        let text = clip(&heading.text, 240);
        let (lines, section) = (span(&heading.lines), span(&heading.section));
        let line = format!("lines {lines}: {marks} {text} (section: lines {section})");
        listing.item(&line);
    }
    Ok(listing.finish(document))
}

pub(super) fn section(
    document: &Document,
    mut page: Page,
    args: &SectionOf,
) -> Result<String, Error> {
    let within = line_range(document, args.start, args.end);
    let name = match (args.line, &args.heading) {
        (Some(line), _) => SectionName::Line(line),
        (None, heading) => SectionName::Heading(heading.clone().unwrap_or_default()),
    };
    let section = sections::section(document, &name, &within)?;
    let lines = &section.lines;
    let _ = page.line(&format!("lines {}:", span(lines)));
    match write_lines(&mut page, &section.text) {
        None => {}
        Some((shown, 0)) => page.note(&format!(
            "truncated: continue with artifact_cat start={} end={}",
            lines.start + shown,
            lines.end
        )),
        Some((shown, bytes)) => page.note(&format!(
            "line {0} is truncated after {bytes} bytes: read it with artifact_cat start={0} end={1}; continue with artifact_cat start={1} end={2}",
            lines.start + shown,
            lines.start + shown + 1,
            lines.end
        )),
    }
    document.annotate(&mut page);
    Ok(page.finish())
}

/// How many languages to list if there is no block in the requested language.
const OTHER_LANGUAGES: usize = 12;

pub(super) fn code_blocks(
    document: &Document,
    page: Page,
    args: &CodeBlocks,
) -> Result<String, Error> {
    let within = line_range(document, args.start, args.end);
    let wanted = args
        .lang
        .as_deref()
        .map(str::trim)
        .filter(|lang| !lang.is_empty());
    let what = match wanted {
        Some(_) => "code blocks in this language",
        None => "code blocks",
    };
    let mut listing = Listing::new(page, what, &within, args.skip);
    let mut others = BTreeSet::new();
    let mut rest = None;
    blocks::code_blocks(document, &document.bytes_of(&within), &mut |block| {
        let language = block.language.as_deref().unwrap_or("");
        if wanted.is_some_and(|wanted| !wanted.eq_ignore_ascii_case(language)) {
            if others.len() < OTHER_LANGUAGES {
                others.insert(quoted(language, 20));
            }
            return;
        }
        let head = head_of(&block);
        let code = block.content.strip_suffix('\n').unwrap_or(&block.content);
        if !listing.offer(&format!("{head}\n{code}")) {
            let _ = listing.page.line(&head);
            rest = write_lines(&mut listing.page, code).map(|(shown, _)| {
                let (start, end) = (block.content_lines.start, block.content_lines.end);
                let start = start + shown;
                format!("the block is truncated: read it with artifact_cat start={start} end={end}")
            });
        }
    });
    if let Some(rest) = rest {
        listing.page.note(&rest);
    }
    if listing.page.is_empty() && !others.is_empty() {
        let others = others.into_iter().collect::<Vec<_>>().join(", ");
        listing.page.note(&format!("available languages: {others}"));
    }
    Ok(listing.finish(document))
}

fn head_of(block: &CodeBlock) -> String {
    let lines = span(&block.lines);
    match block.info.as_str() {
        "" => format!("lines {lines}:"),
        info => format!("lines {lines}: {}", clip(info, 120)),
    }
}

pub(super) fn links(document: &Document, page: Page, args: &Listed) -> Result<String, Error> {
    targets(document, page, args, "links", linked::links)
}

pub(super) fn images(document: &Document, page: Page, args: &Listed) -> Result<String, Error> {
    targets(document, page, args, "images", linked::images)
}

fn targets(
    document: &Document,
    page: Page,
    args: &Listed,
    what: &'static str,
    find: fn(&Document, &Range<usize>, &mut dyn FnMut(Link)),
) -> Result<String, Error> {
    let within = line_range(document, args.start, args.end);
    let longest = page.remaining() / 5 * 2;
    let mut listing = Listing::new(page, what, &within, args.skip);
    find(document, &document.bytes_of(&within), &mut |link| {
        let kind = link.kind;
        let words = if link.text == link.url {
            String::new()
        } else {
            quoted(&link.text, 80) + " -> "
        };
        let title = link.title.as_deref().map_or_else(String::new, |title| {
            format!(", title {}", quoted(title, 40))
        });
        let (lines, url) = (span(&link.lines), clip(&link.url, longest));
        listing.item(&format!("lines {lines}: {words}{url} ({kind}{title})"));
    });
    Ok(listing.finish(document))
}

pub(super) fn text(document: &Document, mut page: Page, args: &OnLines) -> Result<String, Error> {
    let within = line_range(document, args.start, args.end);
    let mut next = None;
    let mut cut = None;
    let html = plain::plain_text(document, &within, |line, words| {
        if next.is_some() || page.line(words) {
            return;
        }
        if page.is_empty() {
            cut = Some((line, page.part_of_line(words)));
            next = Some(line + 1);
        } else {
            next = Some(line);
        }
    });
    if page.is_empty() {
        let _ = page.line(&format!("No text in lines {}.", span(&within)));
    }
    if let Some((line, bytes)) = cut {
        let after = line + 1;
        page.note(&format!(
            "line {line} is truncated after {bytes} bytes: read the source with artifact_cat start={line} end={after}"
        ));
    }
    if let Some(next) = next.filter(|next| *next < within.end) {
        page.note(&format!(
            "lines {}; continue with start={next}",
            span(&(within.start..next))
        ));
    }
    if html > 0 {
        page.note("HTML was omitted: use artifact_cat to read it");
    }
    document.annotate(&mut page);
    Ok(page.finish())
}

/// Writes as many lines as fit. Returns the first line that does not fit and how many of its bytes are shown. A line is shown in
/// part only if it would fill a page by itself.
fn write_lines(page: &mut Page, text: &str) -> Option<(u64, usize)> {
    for (number, line) in (0..).zip(text.lines()) {
        if !page.line(line) {
            let shown = match number {
                0 => page.part_of_line(line),
                _ => 0,
            };
            return Some((number, shown));
        }
    }
    None
}
