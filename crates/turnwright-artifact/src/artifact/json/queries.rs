//! The JSON query tools.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::SpooledJsonArtifact;
use crate::artifact::{Query, SpooledArtifact};

/// Returns the queries that JSON artifacts support in addition to the text queries.
pub(in crate::artifact) fn queries() -> &'static [Query] {
    &QUERIES
}

fn root() -> String {
    "$".to_owned()
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct TypeArgs {
    /// JSONPath to inspect, for example `$.items[0]`. `$` is the whole document; for JSON Lines it is the array of all records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct KeysArgs {
    /// JSONPath of one object (`$.config`) or of many (`$.items[*]`; for JSON Lines `$[*]`).
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// Number of keys to skip. The previous answer says which value continues.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct LengthArgs {
    /// JSONPath of an array, an object or a string, for example `$.items`. For JSON Lines, `$` counts the records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// Number of nodes to skip. The previous answer says which value continues.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GetArgs {
    /// JSONPath (RFC 9535), for example `$.items[0].name`, `$.items[*].price` or `$..id`. Put names that contain anything but
    /// letters, digits and `_` in brackets: `$['first name']`. For JSON Lines, `$[0]` is the first record.
    #[schemars(length(max = 1000))]
    path: String,
    /// Number of nodes to skip. The previous answer says which value continues.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct FilterArgs {
    /// JSONPath of the array or object whose elements are tested, for example `$.items`. For JSON Lines, `$` is all records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// The condition. `@` is the element. Examples: `@.level == 'error' && @.ms > 100`, `@.email` (is present), `!(@.state ==
    /// 'done')`, `match(@.name, 'A.*')`, `search(@.text, 'timeout')`, `length(@.tags) > 2`.
    #[serde(rename = "where")]
    #[schemars(length(min = 1, max = 1000))]
    condition: String,
    /// Number of matches to skip. The previous answer says which value continues.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SliceArgs {
    /// JSONPath of the array, for example `$.items`. For JSON Lines, `$` is all records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// Index of the first element, starting at 0. -5 is the fifth element from the end.
    #[serde(default)]
    start: Option<i64>,
    /// Index of the element to stop before.
    #[serde(default)]
    end: Option<i64>,
    /// 2 takes every second element, -1 goes backward. Must not be 0.
    #[serde(default)]
    step: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct PluckArgs {
    /// JSONPath of the array, for example `$.items`. For JSON Lines, `$` is all records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// Fields to show of each element: names or relative paths, for example `["id", "user.name", "tags[0]"]`.
    #[schemars(length(min = 1, max = 64))]
    fields: Vec<String>,
    /// Number of elements to skip. The previous answer says which value continues.
    #[serde(default)]
    skip: u64,
}

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    vec![
        Query::new(
            "artifact_json_type",
            "Returns the type of the value at a JSONPath of a JSON result (object, array, string, number, boolean or null) \
             and its size. For a path that matches many nodes, returns the number of nodes per type.",
            |artifact: SpooledArtifact, args: TypeArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_type(&args.path.parse()?).await
            },
        ),
        Query::new(
            "artifact_json_keys",
            "Lists the keys of a JSON object with the types of their values. For a path that matches many objects, lists \
             the keys of all of them and how many objects have each. Use this first to see the structure of a JSON result.",
            |artifact: SpooledArtifact, args: KeysArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_keys(&args.path.parse()?, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_length",
            "Returns the number of elements of an array, keys of an object or characters of a string. For JSON Lines, `$` \
             returns the number of records.",
            |artifact: SpooledArtifact, args: LengthArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_length(&args.path.parse()?, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_get",
            "Returns the values at a JSONPath of a JSON result, one per line: the exact path, then the value. Values that \
             are too large are shortened.",
            |artifact: SpooledArtifact, args: GetArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_get(&args.path.parse()?, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_filter",
            "Returns the elements of a JSON array (or the members of an object) that satisfy a condition, one per line: the \
             exact path, then the value.",
            |artifact: SpooledArtifact, args: FilterArgs| async move {
                let (json, path) = (SpooledJsonArtifact::new(artifact), args.path.parse()?);
                json.json_filter(&path, &args.condition, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_slice",
            "Returns the elements of a JSON array from `start` up to but not including `end`, one per line: the exact \
             path, then the value.",
            |artifact: SpooledArtifact, args: SliceArgs| async move {
                let (json, path) = (SpooledJsonArtifact::new(artifact), args.path.parse()?);
                json.json_slice(&path, args.start, args.end, args.step)
                    .await
            },
        ),
        Query::new(
            "artifact_json_pluck",
            "Returns only the selected fields of each element of a JSON array, one element per line.",
            |artifact: SpooledArtifact, args: PluckArgs| async move {
                let (json, path) = (SpooledJsonArtifact::new(artifact), args.path.parse()?);
                json.json_pluck(&path, args.fields, args.skip).await
            },
        ),
    ]
});
