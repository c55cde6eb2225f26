//! Lists items on a page, with a note how to continue when the page is full.

use std::ops::Range;

use serde_json::Value;

use super::document::Document;
use crate::artifact::Page;
use crate::artifact::page::clip;

/// Puts the text on one line and shortens it to at most `bytes` bytes.
pub(super) fn clipped(text: &str, bytes: usize) -> String {
    clip(text, bytes).replace(char::is_control, " ")
}

/// Like [`clipped`], in quotes.
pub(super) fn quoted(text: &str, bytes: usize) -> String {
    Value::from(clipped(text, bytes)).to_string()
}

/// Formats a range of lines as `12..18`.
pub(super) fn span(lines: &Range<u64>) -> String {
    format!("{}..{}", lines.start, lines.end)
}

/// Items on a page, ordered by the line on which they start.
pub(super) struct Listing {
    pub(super) page: Page,
    what: &'static str,
    within: Range<u64>,
    skip: u64,
    seen: u64,
    shown: u64,
    /// The line of the last item, and the number of items that started on the same line before it.
    place: (u64, u64),
    next: Option<(u64, u64)>,
    closed: bool,
}

impl Listing {
    /// Creates a list of items called `what`, without the first `skip`.
    pub(super) fn new(page: Page, what: &'static str, within: &Range<u64>, skip: u64) -> Self {
        Listing {
            page,
            what,
            within: within.clone(),
            skip,
            seen: 0,
            shown: 0,
            place: (0, 0),
            next: None,
            closed: false,
        }
    }

    /// Adds an item. An item that does not fit on any page is truncated.
    pub(super) fn item(&mut self, line: u64, text: &str) {
        if !self.offer(line, text) {
            self.page.part_of_line(text);
        }
    }

    /// Adds an item. Returns `false` if it belongs on this page but does not fit on any page; then the caller adds a part of it.
    pub(super) fn offer(&mut self, line: u64, text: &str) -> bool {
        self.seen += 1;
        self.place = match self.place {
            (at, before) if at == line && self.seen > 1 => (line, before + 1),
            _ => (line, 0),
        };
        if self.seen <= self.skip || self.next.is_some() {
            return true;
        }
        let first = self.page.is_empty();
        if self.closed || !(self.page.line(text) || first) {
            self.next = Some(self.place);
            return true;
        }
        self.shown += 1;
        // A truncated item ends the page, because the next line would seem to belong to it.
        self.closed = first && self.page.is_empty();
        !self.closed
    }

    /// Returns the finished page.
    pub(super) fn finish(mut self, document: &Document) -> String {
        let all = self.seen;
        let (what, first) = (self.what, self.skip.saturating_add(1));
        if let Some((line, before)) = self.next {
            let skip = if before == 0 {
                String::new()
            } else {
                format!(" skip={before}")
            };
            let last = self.skip.saturating_add(self.shown);
            self.page.note(&format!(
                "{what} {first} to {last} of {all}; continue with start={line}{skip} and the same other arguments"
            ));
        } else if self.shown == 0 {
            let lines = span(&self.within);
            let of = document.lines().count();
            let none = match all {
                0 => format!("No {what} in lines {lines} (the document has {of} lines)."),
                all => format!(
                    "Nothing left after skip={}: there are only {all} {what} in lines {lines}.",
                    self.skip
                ),
            };
            let _ = self.page.line(&none);
        }
        document.annotate(&mut self.page);
        self.page.finish()
    }
}
