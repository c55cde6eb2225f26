//! JSONPath (RFC 9535), evaluated by `serde_json_path`, with limits for untrusted paths and documents.

mod cost;
mod hint;
mod layout;
mod locate;
mod records;

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

pub(super) use locate::Place;
pub(super) use records::FromRecord;

use crate::error::Error;
pub(super) use layout::Slice;
use layout::{Fault, Layout, Part};
use locate::Found;

/// Whether the consumer of the nodes wants more.
pub(super) type Flow = ControlFlow<()>;
/// Receives a node and its location.
pub(super) type Take<'t> = dyn FnMut(&Place<'_>, &Value) -> Flow + 't;

/// Maximum length of a path in bytes.
const MAX_LEN: usize = 4096;

/// A JSONPath expression (RFC 9535).
///
/// A path has at most 4,096 bytes, 32 nested brackets and 5 nested filters. Patterns of `match` and `search` run in linear time.
/// A negative index in a filter is rejected because it never matches. In filters, numbers beyond 2^53 are compared as doubles.
///
/// ```
/// use serde_json::json;
/// use turnwright_artifact::artifact::json::JsonPath;
///
/// let path: JsonPath = "$.items[?@.price > 10].name".parse()?;
/// let shop = json!({ "items": [{ "name": "cup", "price": 8 }, { "name": "pot", "price": 21.5 }] });
/// let nodes = path.query(&shop)?;
/// assert_eq!(nodes[0].path, "$['items'][1]['name']");
/// assert_eq!(nodes[0].value, "pot");
/// # Ok::<(), turnwright_artifact::Error>(())
/// ```
#[derive(Clone)]
pub struct JsonPath {
    text: Arc<str>,
    parsed: Arc<serde_json_path::JsonPath>,
    layout: Arc<Layout>,
}

/// A node of a document and its location.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LocatedNode<'v> {
    /// The normalised path of the node.
    pub path: String,
    /// The value of the node.
    pub value: &'v Value,
}

impl JsonPath {
    /// Parses a path.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_QUERY` with the position of the error and a hint how to fix it.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        JsonPath::read(text)
            .map_err(|fault| Error::bad_artifact_query(hint::bad_path(text, &fault)))
    }

    fn read(text: &str) -> Result<Self, Fault> {
        if text.len() > MAX_LEN {
            let message = format!("a path can have at most {MAX_LEN} bytes");
            return Err(Fault::new(MAX_LEN, message));
        }
        let path = JsonPath::within_bounds(text)?;
        cost::check_patterns(text)?;
        match path.layout.unseen_index {
            Some(at) => Err(Fault::new(
                at,
                "an index in a filter cannot be negative".to_owned(),
            )),
            None => Ok(path),
        }
    }

    /// Checks the nesting before parsing, because the parser is recursive and its time doubles with every nested filter.
    fn within_bounds(text: &str) -> Result<Self, Fault> {
        let layout = Layout {
            patterns: cost::count_patterns(text),
            ..Layout::of(text)?
        };
        let parsed = serde_json_path::JsonPath::parse(text);
        Ok(JsonPath {
            parsed: Arc::new(parsed.map_err(|error| Fault::of(text, &error))?),
            layout: Arc::new(layout),
            text: text.into(),
        })
    }

    /// Appends a filter: selects those children that satisfy the condition, such as `@.level == 'error' && @.ms > 100`. A leading
    /// `?` is optional.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_QUERY` with the position of the error and a hint how to fix it.
    pub(crate) fn filtered(&self, condition: &str) -> Result<Self, Error> {
        // Models often include the question mark.
        let bare = condition.trim();
        let bare = bare.strip_prefix('?').unwrap_or(bare).trim();
        let alone =
            JsonPath::read(&format!("{}{bare}]", hint::BEFORE_CONDITION)).and_then(|path| {
                // Reject text that closes the filter and opens another one.
                if path.layout.is_one_selector() {
                    return Ok(());
                }
                let message = "expected a single condition, found more".to_owned();
                Err(Fault::new(hint::BEFORE_CONDITION.len(), message))
            });
        alone.map_err(|fault| Error::bad_artifact_query(hint::bad_condition(bare, &fault)))?;
        JsonPath::parse(&format!("{self}[?{bare}]"))
    }

    /// Appends a slice: selects a range of elements, like `[start:end:step]`.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_QUERY` if a number is too large for a path.
    pub(crate) fn sliced(
        &self,
        start: Option<i64>,
        end: Option<i64>,
        step: Option<i64>,
    ) -> Result<Self, Error> {
        let slice = Slice { start, end, step };
        JsonPath::parse(&format!("{self}[{slice}]"))
    }

    /// Appends a wildcard: selects all children.
    pub(super) fn children(&self) -> Result<Self, Error> {
        JsonPath::parse(&format!("{self}[*]"))
    }

    /// Returns whether the path is `$`.
    pub(super) fn is_root(&self) -> bool {
        self.layout.segments.is_empty()
    }

    /// Returns whether the path has exactly one segment.
    pub(super) fn is_one_step(&self) -> bool {
        self.layout.segments.len() == 1
    }

    /// Returns whether JSON Lines cannot be streamed for this path: it is `$`, a filter refers to `$`, or it selects the
    /// records from last to first.
    pub(super) fn needs_all_records(&self) -> bool {
        let backward = |part: &Part| matches!(part, Part::Slice(slice) if slice.step.is_some_and(|step| step < 0));
        let first = self.layout.segments.first();
        self.layout.roots > 0 || first.is_none_or(|first| first.parts.iter().any(backward))
    }

    /// Returns whether the path matches at most one node in any document.
    #[must_use]
    pub(crate) fn is_singular(&self) -> bool {
        self.layout.is_singular()
    }

    /// Iterates over the prefixes of the path, from the longest to `$`.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = JsonPath> {
        let starts = self
            .layout
            .segments
            .iter()
            .rev()
            .map(|segment| segment.start);
        starts.filter_map(|start| JsonPath::within_bounds(self.text.get(..start)?.trim_end()).ok())
    }

    /// Returns the nodes of a document that the path matches, in order.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_QUERY` if the evaluation takes too many steps.
    pub fn query<'v>(&self, document: &'v Value) -> Result<Vec<LocatedNode<'v>>, Error> {
        let found = self.find(document)?;
        let paths = found.locate(0, usize::MAX);
        let nodes = paths.into_iter().zip(found.nodes);
        Ok(nodes
            .map(|(path, value)| LocatedNode { path, value })
            .collect())
    }

    /// Calls `take` for the matched nodes in order, until it returns `Break`.
    pub(super) fn select(&self, document: &Value, take: &mut Take<'_>) -> Result<(), Error> {
        self.select_in(document, None, take)
    }

    fn select_in(
        &self,
        document: &Value,
        record: Option<(u64, &'static str)>,
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let found = &self.find(document)?;
        for (index, node) in found.nodes.iter().enumerate() {
            let place = Place {
                found,
                index,
                record,
            };
            if take(&place, node).is_break() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn takes_too_long(&self) -> Error {
        cost::too_many_steps(&self.text)
    }

    fn find<'v>(&self, document: &'v Value) -> Result<Found<'v>, Error> {
        cost::check(&self.text, &self.layout, document)?;
        Ok(Found::new(document, self.parsed.query(document).all()))
    }
}

impl FromStr for JsonPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        JsonPath::parse(text)
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

debug_fields!(JsonPath { text });
