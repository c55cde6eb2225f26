//! Builds the page of a JSON query.

use serde_json::Value;

use super::content::Content;
use super::path::JsonPath;
use crate::artifact::{ArtifactLimits, Page};
use crate::schema::{clip, counted};

/// The names of the JSON types, as in JSON Schema.
pub(super) const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// Returns the type name of a value.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the number of elements, keys or characters of a value, for types that have a length.
pub(super) fn length_of(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => Some(counted(items.len() as u64, "element")),
        Value::Object(members) => Some(counted(members.len() as u64, "key")),
        Value::String(text) => Some(counted(text.chars().count() as u64, "character")),
        _ => None,
    }
}

/// A page of items, together with the total number of items.
pub(super) struct Listing {
    pub(super) page: Page,
    /// The longest line that fits on an empty page.
    pub(super) longest: usize,
    pub(super) total: u64,
    skip: u64,
    shown: u64,
    full: bool,
    /// The path of the last node shown.
    pub(super) last: String,
    /// The path of the first node that was shortened.
    shortened: Option<String>,
}

impl Listing {
    pub(super) fn new(limits: ArtifactLimits, skip: u64) -> Self {
        let page = Page::new(limits.page);
        Listing {
            longest: page.remaining().saturating_sub(1),
            page,
            total: 0,
            skip,
            shown: 0,
            full: false,
            last: String::new(),
            shortened: None,
        }
    }

    /// Counts an item. Returns whether it belongs on this page.
    pub(super) fn count(&mut self) -> bool {
        self.total += 1;
        self.total > self.skip && !self.full
    }

    /// Adds an item if it fits. After the first item that does not fit, nothing more is added.
    pub(super) fn show(&mut self, line: &str) -> bool {
        self.full = !self.page.line(line);
        self.shown += u64::from(!self.full);
        !self.full
    }

    /// Formats a path for the page.
    pub(super) fn place(&self, path: &str) -> String {
        clip(path, self.longest / 4)
    }

    /// Counts a node and adds it if it belongs on this page.
    pub(super) fn offer(&mut self, path: impl FnOnce() -> String, value: &Value) {
        if self.count() {
            let path = path();
            let head = format!("{}: ", self.place(&path));
            let text = value.to_string();
            self.show_node(path, &head, &text, type_of(value), length_of(value));
        }
    }

    /// Adds a node. A node that does not fit on any page is shortened.
    pub(super) fn show_node(
        &mut self,
        path: String,
        head: &str,
        text: &str,
        json_type: &str,
        length: Option<String>,
    ) {
        let fits = head.len() + text.len() <= self.longest;
        let shown = if fits {
            self.show(&format!("{head}{text}"))
        } else {
            let length = length.map_or_else(String::new, |length| format!(" of {length}"));
            let text = clip(text, (self.longest / 8).min(1024));
            self.show(&format!("{head}({json_type}{length}, shortened) {text}"))
        };
        if shown {
            if !fits {
                self.shortened.get_or_insert_with(|| path.clone());
            }
            self.last = path;
        }
    }

    /// Describes which items are shown and how to continue. `None` if there are no items.
    pub(super) fn summary(
        &self,
        noun: &str,
        context: &str,
        next: Option<String>,
    ) -> Option<String> {
        let (total, skip, shown) = (self.total, self.skip, self.shown);
        let next = next.map_or_else(String::new, |next| format!(": continue with {next}"));
        let items = match shown {
            _ if total == 0 => return None,
            _ if shown == total => counted(total, noun),
            0 => {
                let all = counted(total, noun);
                format!("skip={skip} is past the end: there are only {all}")
            }
            _ => {
                let last = skip + shown - 1;
                format!("{noun}s {skip} to {last} of {total}, counted from 0")
            }
        };
        Some(format!("{items}{context}{next}"))
    }

    /// Returns the argument that continues after this page, if there are more items.
    pub(super) fn next_skip(&self) -> Option<String> {
        let next = self.skip.saturating_add(self.shown);
        (self.shown > 0 && next < self.total).then(|| format!("skip={next}"))
    }

    /// Adds the notes. The most important comes first, because the space for notes is limited.
    pub(super) fn notes(
        &mut self,
        summary: Option<String>,
        content: &Content<'_>,
        path: &JsonPath,
    ) {
        let summary = summary.unwrap_or_else(|| {
            let reason = content.dead_end(path);
            let reason = reason.map_or_else(String::new, |reason| format!("; {reason}"));
            let path = clip(&path.to_string(), 100);
            format!("`{path}` matches nothing{reason}")
        });
        self.page.note(&summary);
        if let Some(path) = &self.shortened {
            let path = clip(path, 80);
            self.page.note(&format!(
                "shortened values are larger than an answer: look inside with artifact_json_keys path={path}, \
                 artifact_json_slice, or a deeper path"
            ));
        }
        if let Some(note) = content.note() {
            self.page.note(&note);
        }
    }
}
