//! The tools that a model gets.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::SpooledJsonArtifact;
use crate::artifact::{Query, SpooledArtifact};

/// What can be asked of JSON beyond what can be asked of text.
pub(in crate::artifact) fn queries() -> &'static [Query] {
    &QUERIES
}

fn root() -> String {
    "$".to_owned()
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct TypeArgs {
    /// JSONPath of what to look at, for example `$.items[0]`. `$` is the whole document; of JSON lines, the array of all
    /// records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct KeysArgs {
    /// JSONPath of one object (`$.config`) or of many (`$.items[*]`; of JSON lines, `$[*]`).
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// How many keys to skip: the answer before says where to go on.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct LengthArgs {
    /// JSONPath of an array, an object or a string, for example `$.items`. `$` of JSON lines counts the records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// How many nodes to skip: the answer before says where to go on.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GetArgs {
    /// JSONPath (RFC 9535), for example `$.items[0].name`, `$.items[*].price` or `$..id`. Names with other characters than
    /// letters, digits and `_` stand in brackets: `$['first name']`. Of JSON lines, `$[0]` is the first record.
    #[schemars(length(max = 1000))]
    path: String,
    /// How many nodes to skip: the answer before says where to go on.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct FilterArgs {
    /// JSONPath of the array or object whose elements are tested, for example `$.items`. `$` of JSON lines: all records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// The condition; `@` is the element. For example `@.level == 'error' && @.ms > 100`, `@.email` (has one),
    /// `!(@.state == 'done')`, `match(@.name, 'A.*')`, `search(@.text, 'timeout')`, `length(@.tags) > 2`.
    #[serde(rename = "where")]
    #[schemars(length(min = 1, max = 1000))]
    condition: String,
    /// How many matches to skip: the answer before says where to go on.
    #[serde(default)]
    skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SliceArgs {
    /// JSONPath of the array, for example `$.items`. `$` of JSON lines: all records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// The first element, counted from 0; -5 is the fifth from the end.
    #[serde(default)]
    start: Option<i64>,
    /// The element to stop before.
    #[serde(default)]
    end: Option<i64>,
    /// 2 takes every second element, -1 goes backward. Not 0.
    #[serde(default)]
    step: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct PluckArgs {
    /// JSONPath of the array, for example `$.items`. `$` of JSON lines: all records.
    #[serde(default = "root")]
    #[schemars(length(max = 1000))]
    path: String,
    /// What to show of each element: names, or paths within it, for example `["id", "user.name", "tags[0]"]`.
    #[schemars(length(min = 1, max = 64))]
    fields: Vec<String>,
    /// How many elements to skip: the answer before says where to go on.
    #[serde(default)]
    skip: u64,
}

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    vec![
        Query::new(
            "artifact_json_type",
            "What stands at a JSONPath of a JSON result: object, array, string, number, boolean or null, and how large it \
             is. For a path that leads to many nodes, how many there are of each type.",
            |artifact: SpooledArtifact, args: TypeArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_type(&args.path.parse()?).await
            },
        ),
        Query::new(
            "artifact_json_keys",
            "The keys of a JSON object, with the types of their values; for a path that leads to many objects, the keys \
             of all of them and how many have each. Ask this first to learn what a JSON result looks like.",
            |artifact: SpooledArtifact, args: KeysArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_keys(&args.path.parse()?, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_length",
            "How many elements an array has, keys an object, characters a string; of JSON lines, how many records there \
             are.",
            |artifact: SpooledArtifact, args: LengthArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_length(&args.path.parse()?, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_get",
            "The values at a JSONPath of a JSON result, one a line: its exact path, then the value. A value that is too \
             large is shortened.",
            |artifact: SpooledArtifact, args: GetArgs| async move {
                let json = SpooledJsonArtifact::new(artifact);
                json.json_get(&args.path.parse()?, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_filter",
            "The elements of a JSON array (or the members of an object) for which a condition holds, one a line: its \
             exact path, then the value.",
            |artifact: SpooledArtifact, args: FilterArgs| async move {
                let (json, path) = (SpooledJsonArtifact::new(artifact), args.path.parse()?);
                json.json_filter(&path, &args.condition, args.skip).await
            },
        ),
        Query::new(
            "artifact_json_slice",
            "The elements of a JSON array from `start` up to but not including `end`, one a line: its exact path, then \
             the value.",
            |artifact: SpooledArtifact, args: SliceArgs| async move {
                let (json, path) = (SpooledJsonArtifact::new(artifact), args.path.parse()?);
                json.json_slice(&path, args.start, args.end, args.step)
                    .await
            },
        ),
        Query::new(
            "artifact_json_pluck",
            "Chosen fields of each element of a JSON array, one element a line: a table of only what you need.",
            |artifact: SpooledArtifact, args: PluckArgs| async move {
                let (json, path) = (SpooledJsonArtifact::new(artifact), args.path.parse()?);
                json.json_pluck(&path, args.fields, args.skip).await
            },
        ),
    ]
});
