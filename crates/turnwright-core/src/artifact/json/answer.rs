//! Answers: what was found, and the same as text for a model, on one page.

use std::fmt;
use std::io;

use serde_json::Value;

use super::path::shorten;
use crate::artifact::{ArtifactLimits, Page};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonType {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// Members under names.
    Object,
}

impl JsonType {
    /// All six.
    pub const ALL: [JsonType; 6] = [
        JsonType::Null,
        JsonType::Boolean,
        JsonType::Number,
        JsonType::String,
        JsonType::Array,
        JsonType::Object,
    ];

    /// The type of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    /// Its name, as JSON Schema has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            JsonType::Null => "null",
            JsonType::Boolean => "boolean",
            JsonType::Number => "number",
            JsonType::String => "string",
            JsonType::Array => "array",
            JsonType::Object => "object",
        }
    }

    /// A length in words.
    pub(super) fn measure(self, length: u64) -> String {
        let unit = match self {
            JsonType::String => "character",
            JsonType::Array => "element",
            _ => "key",
        };
        counted(length, unit)
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// So many of something.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// How many elements, keys or characters a value has, if it has any.
pub(super) fn length(value: &Value) -> Option<u64> {
    match value {
        Value::Array(items) => Some(items.len() as u64),
        Value::Object(members) => Some(members.len() as u64),
        Value::String(text) => Some(text.chars().count() as u64),
        _ => None,
    }
}

/// A node that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JsonNode {
    /// Its normalised path, such as `$['items'][0]`.
    pub path: String,
    /// What is there.
    pub content: JsonContent,
}

impl JsonNode {
    pub(super) fn whole(path: String, value: Value) -> Self {
        let content = JsonContent::Whole(value);
        JsonNode { path, content }
    }
}

/// What is at a node, or as much of it as an answer holds.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum JsonContent {
    /// All of it.
    Whole(Value),
    /// Only its beginning: it is larger than an answer.
    #[non_exhaustive]
    Beginning {
        /// What it is.
        json_type: JsonType,
        /// How many elements, keys or characters it has.
        length: Option<u64>,
        /// Its first characters, as compact JSON.
        text: String,
    },
}

impl JsonContent {
    /// The value, if all of it is here.
    #[must_use]
    pub fn whole(&self) -> Option<&Value> {
        match self {
            JsonContent::Whole(value) => Some(value),
            JsonContent::Beginning { .. } => None,
        }
    }
}

impl fmt::Debug for JsonContent {
    /// What was found may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonContent::Whole(value) => write!(f, "Whole({})", JsonType::of(value)),
            JsonContent::Beginning { json_type, .. } => write!(f, "Beginning({json_type})"),
        }
    }
}

/// Nodes that were found, as many as an answer holds. `Display` is the answer for a model.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct JsonNodes {
    /// Those that fit.
    pub nodes: Vec<JsonNode>,
    /// How many there are in all.
    pub total: u64,
    /// How many were skipped before the first.
    pub skipped: u64,
    pub(super) text: String,
}

impl JsonNodes {
    /// How many to skip to go on where this ends, if there are more.
    #[must_use]
    pub fn next_skip(&self) -> Option<u64> {
        let next = self.skipped.saturating_add(self.nodes.len() as u64);
        (next < self.total).then_some(next)
    }
}

impl fmt::Display for JsonNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for JsonNodes {
    /// What was found may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.nodes.len();
        write!(
            f,
            "JsonNodes({shown} of {} from {} on)",
            self.total, self.skipped
        )
    }
}

/// A page that fills up while things are counted.
pub(super) struct Listing<T> {
    page: Page,
    /// The longest line that an empty page takes.
    longest: usize,
    pub(super) items: Vec<T>,
    pub(super) total: u64,
    pub(super) skip: u64,
    full: bool,
}

impl<T> Listing<T> {
    pub(super) fn new(limits: ArtifactLimits, skip: u64) -> Self {
        let page = Page::new(limits.answer.max(ArtifactLimits::LEAST_ANSWER));
        Listing {
            longest: page.room().saturating_sub(1),
            page,
            items: Vec::new(),
            total: 0,
            skip,
            full: false,
        }
    }

    /// The longest line that an empty page takes.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Counts one more, and says whether it is to be shown.
    pub(super) fn count(&mut self) -> bool {
        self.total += 1;
        self.total > self.skip && !self.full
    }

    /// Shows it, unless the page is full: then nothing after it is shown either.
    pub(super) fn show(&mut self, item: T, line: &str) {
        if self.page.line(line) {
            self.items.push(item);
        } else {
            self.full = true;
        }
    }

    /// A path as it stands on the page.
    pub(super) fn place(&self, path: &str) -> String {
        shorten(path, self.longest / 4)
    }

    /// Which of all are shown, and how to go on, in words for these things.
    pub(super) fn summary(&self, one: &str) -> Option<String> {
        let (total, skip, shown) = (self.total, self.skip, self.items.len() as u64);
        if total == 0 {
            None
        } else if shown == total {
            Some(counted(total, one))
        } else if shown == 0 {
            let all = counted(total, one);
            Some(format!(
                "there is no more than {all}: skip={skip} is beyond the last"
            ))
        } else {
            let last = skip + shown - 1;
            Some(format!(
                "{one}s {skip} to {last} of {total}, counted from 0"
            ))
        }
    }

    /// How many to skip for the next page.
    pub(super) fn next_skip(&self) -> Option<u64> {
        let shown = self.items.len() as u64;
        let next = self.skip.saturating_add(shown);
        (shown > 0 && next < self.total).then_some(next)
    }

    pub(super) fn note(&mut self, note: &str) {
        self.page.note(note);
    }

    pub(super) fn finish(self) -> (Vec<T>, String) {
        (self.items, self.page.finish())
    }
}

impl Listing<JsonNode> {
    /// Counts a node, and shows it if it is one of this page: all of it, or its beginning if no page could hold it.
    pub(super) fn offer(&mut self, path: impl FnOnce() -> String, value: &Value) {
        if !self.count() {
            return;
        }
        let path = path();
        let head = format!("{}: ", self.place(&path));
        let content = match compact(value, self.longest - head.len()) {
            Ok(text) => return self.show(JsonNode::whole(path, value.clone()), &(head + &text)),
            Err(text) => self.beginning(JsonType::of(value), length(value), &text),
        };
        self.show_beginning(path, &head, content);
    }

    /// The beginning of something that no page could hold.
    pub(super) fn beginning(
        &self,
        json_type: JsonType,
        length: Option<u64>,
        text: &str,
    ) -> JsonContent {
        JsonContent::Beginning {
            json_type,
            length,
            text: shorten(text, (self.longest / 8).min(1024)),
        }
    }

    pub(super) fn show_beginning(&mut self, path: String, head: &str, content: JsonContent) {
        let line = match &content {
            JsonContent::Beginning {
                json_type,
                length,
                text,
            } => {
                let length = length.map_or_else(String::new, |length| {
                    format!(" of {}", json_type.measure(length))
                });
                format!("{head}({json_type}{length}, shortened) {text}")
            }
            JsonContent::Whole(_) => head.to_owned(),
        };
        self.show(JsonNode { path, content }, &line);
    }

    /// The path of the first node of which only the beginning is shown.
    pub(super) fn first_shortened(&self) -> Option<&str> {
        let cut = |node: &&JsonNode| node.content.whole().is_none();
        self.items.iter().find(cut).map(|node| node.path.as_str())
    }

    pub(super) fn into_nodes(self) -> JsonNodes {
        let (total, skipped) = (self.total, self.skip);
        let (nodes, text) = self.finish();
        JsonNodes {
            nodes,
            total,
            skipped,
            text,
        }
    }
}

/// The value as compact JSON of at most so many bytes, or else as much of it as fits. No more is written than that.
pub(super) fn compact(value: &Value, most: usize) -> Result<String, String> {
    let mut room = Room {
        bytes: Vec::new(),
        most,
    };
    let written = serde_json::to_writer(&mut room, value).is_ok();
    let text = match String::from_utf8(room.bytes) {
        Ok(text) => text,
        Err(cut) => {
            let whole = cut.utf8_error().valid_up_to();
            let mut bytes = cut.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    if written { Ok(text) } else { Err(text) }
}

/// Takes so many bytes and no more.
struct Room {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.most.saturating_sub(self.bytes.len());
        self.bytes.extend(bytes.iter().take(left));
        if bytes.len() > left {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
