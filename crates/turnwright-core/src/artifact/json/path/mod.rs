//! JSONPath, RFC 9535: parsed and followed by `serde_json_path`, within bounds that hold for paths and documents that nobody
//! vouches for.

mod cost;
mod hint;
mod layout;
mod locate;
mod pattern;
mod records;
mod slice;

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

pub(super) use hint::shorten;
pub(super) use locate::Place;
pub(super) use records::FromRecord;
pub(super) use slice::Slice;

use crate::error::Error;
use hint::Fault;
use layout::Layout;
use locate::Found;

/// Whether whoever takes nodes wants more.
pub(super) type Flow = ControlFlow<()>;
/// Takes a node, and where it is.
pub(super) type Take<'t> = dyn FnMut(&Place<'_>, &Value) -> Flow + 't;

/// The longest path.
const LONGEST: usize = 4096;

/// A path through a JSON document: JSONPath as RFC 9535 defines it.
///
/// A path has at most 4,096 bytes, 32 brackets within each other and 5 filters within each other. Patterns of `match` and
/// `search` run in linear time. A negative index inside of a filter is refused, because nothing would be found there. In
/// filters, numbers beyond 2^53 are compared as doubles.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::artifact::json::JsonPath;
///
/// let path: JsonPath = "$.items[?@.price > 10].name".parse()?;
/// let shop = json!({ "items": [{ "name": "cup", "price": 8 }, { "name": "pot", "price": 21.5 }] });
/// let nodes = path.query(&shop)?;
/// assert_eq!(nodes[0].path, "$['items'][1]['name']");
/// assert_eq!(nodes[0].value, "pot");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct JsonPath {
    text: Arc<str>,
    parsed: Arc<serde_json_path::JsonPath>,
    layout: Arc<Layout>,
}

/// A node of a document, and where it is.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct LocatedNode<'v> {
    /// Its normalised path.
    pub path: String,
    /// What is there.
    pub value: &'v Value,
}

impl JsonPath {
    /// The whole document.
    #[must_use]
    pub fn root() -> Self {
        JsonPath {
            text: "$".into(),
            parsed: Arc::default(),
            layout: Arc::default(),
        }
    }

    /// Parses a path.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY`, with the place and what to write instead.
    pub fn parse(text: &str) -> Result<Self, Error> {
        JsonPath::read(text)
            .map_err(|fault| Error::bad_artifact_query(hint::bad_path(text, &fault)))
    }

    fn read(text: &str) -> Result<Self, Fault> {
        if text.len() > LONGEST {
            let message = format!("a path has at most {LONGEST} bytes");
            return Err(Fault::new(LONGEST, message));
        }
        let path = JsonPath::within_bounds(text)?;
        pattern::check(text)?;
        match path.layout.unseen_index {
            Some(at) => Err(Fault::new(
                at,
                "an index inside of a filter cannot count from the end".to_owned(),
            )),
            None => Ok(path),
        }
    }

    /// The layout comes first: the parser recurses, and its time doubles with every filter in a filter.
    fn within_bounds(text: &str) -> Result<Self, Fault> {
        let layout = Layout::of(text)?;
        let parsed = serde_json_path::JsonPath::parse(text);
        Ok(JsonPath {
            parsed: Arc::new(parsed.map_err(|error| Fault::of(text, &error))?),
            layout: Arc::new(layout),
            text: text.into(),
        })
    }

    /// The children of what the path leads to for which a condition holds: what stands after the `?` of a filter, such as
    /// `@.level == 'error' && @.ms > 100`.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY`, with the place and what to write instead.
    pub(crate) fn filtered(&self, condition: &str) -> Result<Self, Error> {
        // Models like to write the question mark too.
        let bare = condition.trim();
        let bare = bare.strip_prefix('?').unwrap_or(bare).trim();
        let alone =
            JsonPath::read(&format!("{}{bare}]", hint::BEFORE_CONDITION)).and_then(|path| {
                // Brackets that close the filter and open another would be more than a condition.
                match path.layout.is_one_selector() {
                    true => Ok(()),
                    false => Err(Fault::new(
                        hint::BEFORE_CONDITION.len(),
                        "it is more than one condition".to_owned(),
                    )),
                }
            });
        alone.map_err(|fault| Error::bad_artifact_query(hint::bad_condition(bare, &fault)))?;
        JsonPath::parse(&format!("{self}[?{bare}]"))
    }

    /// The elements of a range of the arrays that the path leads to, as `[start:end:step]` takes them.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY`: a number is larger than a path may hold.
    pub(crate) fn sliced(
        &self,
        start: Option<i64>,
        end: Option<i64>,
        step: Option<i64>,
    ) -> Result<Self, Error> {
        let slice = Slice { start, end, step };
        JsonPath::parse(&format!("{self}[{slice}]"))
    }

    /// All children.
    pub(super) fn children(&self) -> Result<Self, Error> {
        JsonPath::parse(&format!("{self}[*]"))
    }

    /// Whether it is `$` alone.
    pub(super) fn is_root(&self) -> bool {
        self.layout.segments.is_empty()
    }

    /// Whether it has one segment.
    pub(super) fn is_one_step(&self) -> bool {
        self.layout.segments.len() == 1
    }

    /// Whether a filter in it looks at the whole document.
    pub(super) fn looks_at_root(&self) -> bool {
        self.layout.roots > 0
    }

    /// Whether it leads to one node at most, whatever the document.
    #[must_use]
    pub(crate) fn is_singular(&self) -> bool {
        self.layout.is_singular()
    }

    /// The paths on the way, from the longest to `$`.
    pub(super) fn ways_there(&self) -> impl Iterator<Item = JsonPath> {
        let starts = self
            .layout
            .segments
            .iter()
            .rev()
            .map(|segment| segment.start);
        starts.filter_map(|start| JsonPath::within_bounds(self.text.get(..start)?.trim_end()).ok())
    }

    /// Every node of a document that the path leads to, in order.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY`: it takes too many steps, or the document is nested too deeply.
    pub fn query<'v>(&self, document: &'v Value) -> Result<Vec<LocatedNode<'v>>, Error> {
        let found = self.find(document)?;
        let paths = found.locate(0, usize::MAX);
        let nodes = paths.into_iter().zip(found.nodes);
        Ok(nodes
            .map(|(path, value)| LocatedNode { path, value })
            .collect())
    }

    /// Hands over the nodes of a document, in order, until `take` has enough.
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

impl fmt::Debug for LocatedNode<'_> {
    /// What is there may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocatedNode")
            .field("path", &self.path)
            .finish_non_exhaustive()
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

impl fmt::Debug for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonPath({})", self.text)
    }
}
