//! Lists items on a page, with a note how to continue when the page is full.

use std::ops::Range;

use serde_json::Value;

use super::document::Document;
use crate::artifact::Page;
use crate::schema::clip;

/// Puts the text on one line, shortens it to at most `bytes` bytes and quotes it.
pub(super) fn quoted(text: &str, bytes: usize) -> String {
    Value::from(clip(text, bytes)).to_string()
}

/// Formats a range of lines as `12..18`.
pub(super) fn span(lines: &Range<u64>) -> String {
    format!("{}..{}", lines.start, lines.end)
}

/// Items on a page, in order.
pub(super) struct Listing {
    pub(super) page: Page,
    what: &'static str,
    within: Range<u64>,
    skip: u64,
    seen: u64,
    shown: u64,
    full: bool,
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
            full: false,
        }
    }

    /// Adds an item. An item that does not fit on any page is truncated.
    pub(super) fn item(&mut self, text: &str) {
        if !self.offer(text) {
            self.page.part_of_line(text);
        }
    }

    /// Adds an item. Returns `false` if it belongs on this page but does not fit on any page; then the caller adds a part of it.
    pub(super) fn offer(&mut self, text: &str) -> bool {
        self.seen += 1;
        if self.seen <= self.skip || self.full {
            return true;
        }
        let first = self.page.is_empty();
        let fits = self.page.line(text);
        // A truncated item ends the page, because the next line would seem to belong to it.
        self.full = !fits;
        self.shown += u64::from(fits || first);
        fits || !first
    }

    /// Returns the finished page.
    pub(super) fn finish(mut self, document: &Document) -> String {
        let (what, all) = (self.what, self.seen);
        let (first, last) = (
            self.skip.saturating_add(1),
            self.skip.saturating_add(self.shown),
        );
        if self.shown > 0 && last < all {
            self.page.note(&format!(
                "{what} {first} to {last} of {all}; continue with skip={last} and the same other arguments"
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
