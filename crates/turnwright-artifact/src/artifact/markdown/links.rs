//! Links and images.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};
use serde::Serialize;

use super::document::{Document, push_inline};

/// A link or an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// The link text, or the alternative text of an image.
    pub text: String,
    /// The destination URL.
    pub url: String,
    /// The title, if any.
    pub title: Option<String>,
    /// The syntax: `inline` (`[text](url)`), `reference` (`[text][label]`, `[label][]` or `[label]`, with the URL defined
    /// elsewhere), `autolink` (`<https://example.org>`), `email` (`<user@example.org>`) or `bare` (`https://example.org` in the
    /// text).
    pub kind: &'static str,
    /// The lines of the link.
    pub lines: Range<u64>,
}

/// Calls `sink` for the links that start within these bytes. Links in the alternative text of an image do not count.
pub(super) fn links(document: &Document, within: &Range<usize>, sink: &mut dyn FnMut(Link)) {
    // Text in a link, an image or a code block does not contain links.
    let encloses = |tag| matches!(tag, TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock);
    let mut plain = 0..0;
    targets(
        document,
        within,
        TagEnd::Link,
        encloses,
        |event| match event {
            // The parser splits text at every character that might have been markup.
            Found::Text(piece) if plain.end == piece.start => plain.end = piece.end,
            Found::Text(piece) => {
                let done = std::mem::replace(&mut plain, piece);
                bare_links(document, &done, within, sink);
            }
            Found::Other => bare_links(document, &std::mem::take(&mut plain), within, sink),
            Found::Target(link) => sink(link),
        },
    );
    bare_links(document, &plain, within, sink);
}

/// Calls `sink` for the images that start within these bytes, except images in the alternative text of another one.
pub(super) fn images(document: &Document, within: &Range<usize>, sink: &mut dyn FnMut(Link)) {
    let encloses = |tag| tag == TagEnd::Image;
    targets(document, within, TagEnd::Image, encloses, |event| {
        if let Found::Target(image) = event {
            sink(image);
        }
    });
}

enum Found {
    /// Text outside of links, images and code, as a range of the source.
    Text(Range<usize>),
    /// The start of anything else.
    Other,
    Target(Link),
}

/// Finds links or images that are not enclosed in another one.
fn targets(
    document: &Document,
    within: &Range<usize>,
    wanted: TagEnd,
    encloses: impl Fn(TagEnd) -> bool,
    mut sink: impl FnMut(Found),
) {
    let mut open: Option<Link> = None;
    let mut inside = 0_usize;
    for (event, bytes) in document.events() {
        if bytes.start >= within.end && open.is_none() {
            break;
        }
        if inside == 0 && matches!(&event, Event::Text(text) if text.len() == bytes.len()) {
            sink(Found::Text(bytes));
            continue;
        }
        sink(Found::Other);
        match event {
            Event::Start(tag) if encloses(tag.to_end()) => {
                let is_wanted = inside == 0 && tag.to_end() == wanted;
                inside += 1;
                if is_wanted
                    && within.contains(&bytes.start)
                    && let Tag::Link {
                        link_type,
                        dest_url,
                        title,
                        ..
                    }
                    | Tag::Image {
                        link_type,
                        dest_url,
                        title,
                        ..
                    } = tag
                {
                    open = Some(Link {
                        text: String::new(),
                        url: dest_url.into_string(),
                        title: (!title.is_empty()).then(|| title.into_string()),
                        kind: kind(link_type),
                        lines: document.lines_of(&bytes),
                    });
                }
            }
            Event::End(tag) if encloses(tag) => {
                inside = inside.saturating_sub(1);
                if inside == 0
                    && let Some(mut link) = open.take()
                {
                    link.text = link.text.trim().to_owned();
                    sink(Found::Target(link));
                }
            }
            event => {
                if let Some(link) = &mut open {
                    push_inline(&mut link.text, &event);
                }
            }
        }
    }
}

fn kind(kind: LinkType) -> &'static str {
    match kind {
        LinkType::Inline | LinkType::WikiLink { .. } => "inline",
        LinkType::Autolink => "autolink",
        LinkType::Email => "email",
        LinkType::Reference
        | LinkType::ReferenceUnknown
        | LinkType::Collapsed
        | LinkType::CollapsedUnknown
        | LinkType::Shortcut
        | LinkType::ShortcutUnknown => "reference",
    }
}

/// Finds URLs that GitHub would turn into links, limited to `http://` and `https://`.
fn bare_links(
    document: &Document,
    bytes: &Range<usize>,
    within: &Range<usize>,
    sink: &mut dyn FnMut(Link),
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
                kind: "bare",
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

/// Returns the URL at the start of the text, without trailing punctuation and unmatched closing brackets.
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
