//! Tools with Rust types as arguments.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use turnwright_core::{Tool, ToolContext};
use turnwright_testkit::contract::fuzz;

use crate::assert_served;

pub(crate) fn typed<T: DeserializeOwned + JsonSchema + Send + 'static>() -> Tool {
    Tool::typed::<T>("typed")
        .description("Takes a type.")
        .handler(|_args: T, _ctx: ToolContext| async move {
            crate::HANDLED.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            "handled"
        })
        .build()
        .unwrap()
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
struct Everything {
    small: u8,
    #[serde(default)]
    signed: i64,
    large: u64,
    ratio: f32,
    maybe: Option<i16>,
    letter: char,
    words: Vec<String>,
    set: BTreeSet<i8>,
    by_name: HashMap<String, f64>,
    pair: (u8, bool),
    three: [u16; 3],
    #[schemars(length(min = 1, max = 8), regex(pattern = "^[a-z]+$"))]
    slug: String,
    #[schemars(range(min = 1, max = 14))]
    days: u8,
    colour: Colour,
    shape: Shape,
    tagged: Adjacent,
    external: External,
    either: Either,
    tree: Tree,
    #[serde(flatten)]
    flat: Flat,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Colour {
    Red,
    DarkGreen,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type")]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
enum Shape {
    Circle { r: f64 },
    Rect { w: u32, h: Option<u32> },
    Empty,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
enum Adjacent {
    One(u8),
    Two { a: bool },
    Three,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
enum External {
    Unit,
    One(u8),
    Two(u8, String),
    Named { x: i8 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
enum Either {
    Number(i64),
    Text(String),
    List(Vec<u8>),
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
struct Tree {
    value: i32,
    left: Option<Box<Tree>>,
    children: Vec<Tree>,
    names: BTreeMap<String, Tree>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
struct Flat {
    x: u8,
    y: Option<String>,
}

#[test]
fn type_with_all_features_passes() {
    let report = fuzz(&typed::<Everything>());
    assert_served(&report, &[]);
}
