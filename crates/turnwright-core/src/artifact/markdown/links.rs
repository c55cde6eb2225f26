//! Links and images.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};
use serde::Serialize;

use super::document::Document;
use super::spoken::InlineText;

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// What it is shown as; of an image in it, what that says.
    pub text: String,
    /// Where it leads.
    pub url: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// How it is written.
    pub kind: LinkKind,
    /// Its lines.
    pub lines: Range<u64>,
}

/// How a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LinkKind {
    /// `[text](url)`.
    Inline,
    /// `[text][label]`, `[label][]` or `[label]`, with the URL somewhere else.
    Reference,
    /// `<https://example.org>`.
    Autolink,
    /// `<somebody@example.org>`.
    Email,
    /// `https://example.org` in the text, without any mark.
    Bare,
}

impl LinkKind {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            LinkKind::Inline => "inline",
            LinkKind::Reference => "reference",
            LinkKind::Autolink => "autolink",
            LinkKind::Email => "email",
            LinkKind::Bare => "bare",
        }
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Image {
    /// What it shows, in words.
    pub alt: String,
    /// Where it is.
    pub url: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its lines.
    pub lines: Range<u64>,
}

/// Hands over the links that begin within these bytes. What stands in the words of an image leads nowhere.
pub(super) fn links(document: &Document, within: &Range<usize>, mut sink: impl FnMut(Link)) {
    let mut open: Option<(Link, InlineText)> = None;
    let mut plain = Plain::default();
    // How many links, images and blocks of code are open: what stands in them is no link of its own.
    let mut inside = 0_usize;
    for (event, bytes) in document.events() {
        if bytes.start >= within.end && open.is_none() {
            break;
        }
        let literal = matches!(&event, Event::Text(text) if text.len() == bytes.len());
        if literal && inside == 0 {
            if let Some(done) = plain.go_on(&bytes) {
                bare_links(document, &done, within, &mut sink);
            }
            continue;
        }
        bare_links(document, &plain.end(), within, &mut sink);
        match event {
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                ..
            }) => {
                if inside == 0 && within.contains(&bytes.start) {
                    let link = Link {
                        text: String::new(),
                        url: dest_url.into_string(),
                        title: said(title),
                        kind: kind(link_type),
                        lines: document.lines_of(&bytes),
                    };
                    open = Some((link, InlineText::default()));
                }
                inside += 1;
            }
            Event::Start(Tag::Image { .. } | Tag::CodeBlock(_)) => inside += 1,
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                inside = inside.saturating_sub(1);
                if inside == 0
                    && let Some((mut link, text)) = open.take()
                {
                    link.text = text.finish();
                    sink(link);
                }
            }
            event => {
                if let Some((_, text)) = &mut open {
                    text.push(&event);
                }
            }
        }
    }
    bare_links(document, &plain.end(), within, &mut sink);
}

/// Hands over the images that begin within these bytes, but none that stands in the words of another.
pub(super) fn images(document: &Document, within: &Range<usize>, mut sink: impl FnMut(Image)) {
    let mut open: Option<(Image, InlineText)> = None;
    let mut depth = 0_usize;
    for (event, bytes) in document.events() {
        if bytes.start >= within.end && depth == 0 {
            break;
        }
        match event {
            Event::Start(Tag::Image {
                dest_url, title, ..
            }) => {
                if depth == 0 && within.contains(&bytes.start) {
                    let image = Image {
                        alt: String::new(),
                        url: dest_url.into_string(),
                        title: said(title),
                        lines: document.lines_of(&bytes),
                    };
                    open = Some((image, InlineText::default()));
                }
                depth += 1;
            }
            Event::End(TagEnd::Image) => {
                depth = depth.saturating_sub(1);
                if depth == 0
                    && let Some((mut image, alt)) = open.take()
                {
                    image.alt = alt.finish();
                    sink(image);
                }
            }
            event => {
                if let Some((_, alt)) = &mut open {
                    alt.push(&event);
                }
            }
        }
    }
}

fn said(title: CowStr<'_>) -> Option<String> {
    (!title.is_empty()).then(|| title.into_string())
}

fn kind(kind: LinkType) -> LinkKind {
    match kind {
        LinkType::Inline | LinkType::WikiLink { .. } => LinkKind::Inline,
        LinkType::Autolink => LinkKind::Autolink,
        LinkType::Email => LinkKind::Email,
        LinkType::Reference
        | LinkType::ReferenceUnknown
        | LinkType::Collapsed
        | LinkType::CollapsedUnknown
        | LinkType::Shortcut
        | LinkType::ShortcutUnknown => LinkKind::Reference,
    }
}

/// Text that the parser gives in pieces, cut at every character that might have been a mark.
#[derive(Default)]
struct Plain(Range<usize>);

impl Plain {
    /// Adds a piece; if it does not follow the ones before, those are done.
    fn go_on(&mut self, piece: &Range<usize>) -> Option<Range<usize>> {
        if self.0.end == piece.start {
            self.0.end = piece.end;
            return None;
        }
        Some(std::mem::replace(&mut self.0, piece.clone()))
    }

    fn end(&mut self) -> Range<usize> {
        std::mem::take(&mut self.0)
    }
}

/// Finds what GitHub would make a link of, so far as it says `http://` or `https://`.
fn bare_links(
    document: &Document,
    bytes: &Range<usize>,
    within: &Range<usize>,
    sink: &mut impl FnMut(Link),
) {
    let text = document.slice(bytes);
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("://")) {
        let colon = from + found;
        from = colon + 3;
        let before = text.get(..colon).unwrap_or("");
        let Some(scheme) = ["https", "http"]
            .into_iter()
            .find(|scheme| ends_with(before, scheme))
        else {
            continue;
        };
        let start = colon - scheme.len();
        let joined = before
            .get(..start)
            .and_then(|before| before.chars().next_back());
        let rest = text.get(from..).unwrap_or("");
        if joined.is_some_and(char::is_alphanumeric) || !rest.starts_with(char::is_alphanumeric) {
            continue;
        }
        from += address(rest).len();
        let place = bytes.start + start..bytes.start + from;
        if within.contains(&place.start) {
            let url = document.slice(&place).to_owned();
            sink(Link {
                text: url.clone(),
                url,
                title: None,
                kind: LinkKind::Bare,
                lines: document.lines_of(&place),
            });
        }
    }
}

fn ends_with(text: &str, scheme: &str) -> bool {
    let start = text.len().checked_sub(scheme.len());
    let end = start.and_then(|start| text.get(start..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(scheme))
}

/// As much as belongs to an address: not the punctuation of the sentence around it, not a bracket that was opened before.
fn address(rest: &str) -> &str {
    let end = rest.find(|c: char| c.is_whitespace() || c.is_control() || "<>\"`".contains(c));
    let mut address = end.and_then(|end| rest.get(..end)).unwrap_or(rest);
    let opened = address.matches('(').count();
    let mut closed = address.matches(')').count();
    loop {
        let shorter = match address.chars().next_back() {
            Some(')') if closed > opened => {
                closed -= 1;
                address.strip_suffix(')')
            }
            Some('(') => None,
            Some(last) if "?!.,:;*_~'".contains(last) => address.strip_suffix(last),
            _ => None,
        };
        match shorter {
            Some(shorter) => address = shorter,
            None => return address,
        }
    }
}
