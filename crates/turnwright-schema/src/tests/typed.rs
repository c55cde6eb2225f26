//! Documents generated from Rust types.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::Schema;

fn property<T: JsonSchema>(name: &str) -> Value {
    Schema::of::<T>().unwrap().document()["properties"][name].clone()
}

#[test]
fn integers_get_bounds_and_lose_unenforced_formats() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        a: i8,
        b: u32,
        c: i64,
        d: u64,
        e: usize,
        f: f32,
        g: f64,
        #[schemars(range(min = 1, max = 5))]
        h: u8,
        #[schemars(extend("maximum" = 300))]
        i: u8,
        j: Option<u16>,
    }
    assert_eq!(
        property::<Args>("a"),
        json!({ "type": "integer", "maximum": 127, "minimum": -128 })
    );
    assert_eq!(
        property::<Args>("b"),
        json!({ "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 })
    );
    assert_eq!(
        property::<Args>("c"),
        json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX })
    );
    assert_eq!(
        property::<Args>("d"),
        json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX })
    );
    assert_eq!(property::<Args>("e"), property::<Args>("d"));
    assert_eq!(property::<Args>("f")["maximum"], json!(f64::from(f32::MAX)));
    assert_eq!(property::<Args>("g"), json!({ "type": "number" }));
    assert_eq!(
        property::<Args>("h"),
        json!({ "type": "integer", "minimum": 1, "maximum": 5 })
    );
    assert_eq!(
        property::<Args>("i")["maximum"],
        255,
        "no more than the type accepts"
    );
    assert_eq!(
        property::<Args>("j"),
        json!({ "type": "integer", "minimum": 0, "maximum": 65535 })
    );
    let schema = Schema::of::<Args>().unwrap();
    let with = |d: &str| format!(r#"{{"a":0,"b":0,"c":0,"d":{d},"e":0,"f":0,"g":0,"h":1,"i":0}}"#);
    assert!(schema.check(with("18446744073709551615")).is_ok());
    assert!(
        schema.check(with("18446744073709551616")).is_err(),
        "one more than 64 bits can hold"
    );
}

#[test]
fn objects_are_closed_at_every_level() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        k: String,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        inner: Inner,
        list: Vec<Inner>,
        map: HashMap<String, Inner>,
        maybe: Option<Inner>,
    }
    let schema = Schema::of::<Args>().unwrap();
    let complete = json!({ "inner": { "k": "" }, "list": [{ "k": "" }], "map": { "x": { "k": "" } }, "maybe": { "k": "" } });
    assert!(schema.accepts(&complete));
    for place in ["", "/inner", "/list/0", "/map/x", "/maybe"] {
        let mut wrong = complete.clone();
        wrong.pointer_mut(place).unwrap()["unexpected"] = json!(1);
        let error = schema.check(wrong).unwrap_err();
        assert!(
            error
                .faults()
                .iter()
                .any(|fault| fault.pointer.starts_with(place)),
            "{place}: {error}"
        );
    }
}

#[test]
fn an_author_can_open_an_object() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        a: u8,
        #[serde(flatten)]
        rest: HashMap<String, Value>,
    }
    assert!(
        Schema::of::<Args>()
            .unwrap()
            .accepts(&json!({ "a": 1, "anything": [] }))
    );
}

#[test]
fn flattened_and_tagged_enums_are_closed() {
    #[derive(JsonSchema, serde::Deserialize)]
    #[allow(dead_code)]
    struct Point {
        x: i32,
    }
    #[derive(JsonSchema, serde::Deserialize)]
    #[serde(tag = "kind")]
    #[allow(dead_code)]
    enum Shape {
        Dot(Point),
        Circle { r: u8 },
        Nothing,
    }
    #[derive(JsonSchema, serde::Deserialize)]
    #[allow(dead_code)]
    struct Args {
        shape: Shape,
        #[serde(flatten)]
        more: Shape,
    }
    let schema = Schema::of::<Args>().unwrap();
    for good in [
        json!({ "shape": { "kind": "Dot", "x": 1 }, "kind": "Circle", "r": 1 }),
        json!({ "shape": { "kind": "Nothing" }, "kind": "Dot", "x": 2 }),
    ] {
        assert!(schema.accepts(&good), "{good}: {:?}", schema.document());
        serde_json::from_value::<Args>(good).unwrap();
    }
    for wrong in [
        json!({ "shape": { "kind": "Dot", "x": 1, "r": 1 }, "kind": "Nothing" }),
        json!({ "shape": { "kind": "Dot" }, "kind": "Nothing" }),
        json!({ "shape": { "kind": "Nothing" }, "kind": "Circle", "r": 1, "more": 1 }),
        json!({ "shape": { "kind": "Nothing" } }),
    ] {
        assert!(!schema.accepts(&wrong), "{wrong}");
    }
}

#[test]
fn types_that_cannot_be_described_are_rejected_by_name() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Wide {
        amount: u128,
    }
    let error = Schema::of::<Wide>().unwrap_err();
    assert_eq!(error.problems()[0].pointer, "/properties/amount");
    assert!(
        error.to_string().contains("`amount` is a 128-bit integer"),
        "{error}"
    );

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Keys {
        by_id: BTreeMap<u8, String>,
    }
    let error = Schema::of::<Keys>().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`by_id` is a map with integer keys"),
        "{error}"
    );

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    enum Choice {
        A,
        B { x: u8 },
    }
    assert!(
        Schema::of::<Choice>()
            .unwrap_err()
            .to_string()
            .contains("put it into a field")
    );
    assert!(
        Schema::of::<u8>()
            .unwrap_err()
            .to_string()
            .contains("put this schema into a property")
    );
}

#[test]
fn doc_comments_and_defaults_are_in_the_document() {
    fn nine() -> u8 {
        9
    }
    /// Not for the model: the tool has its own description.
    #[derive(JsonSchema, serde::Deserialize)]
    #[allow(dead_code)]
    struct Args {
        /// How many.
        #[serde(default = "nine")]
        n: u8,
        ip: std::net::IpAddr,
        wait: std::time::Duration,
    }
    let document = Schema::of::<Args>().unwrap().document().clone();
    assert_eq!(document["properties"]["n"]["description"], "How many.");
    assert_eq!(document["properties"]["n"]["default"], 9);
    assert_eq!(document["required"], json!(["ip", "wait"]));
    assert!(document.get("$schema").is_none() && document.get("title").is_none());
    let schema = Schema::of::<Args>().unwrap();
    let args = |ip: &str, nanos: u64| json!({ "ip": ip, "wait": { "secs": 1, "nanos": nanos } });
    assert!(schema.accepts(&args("127.0.0.1", 0)) && schema.accepts(&args("::1", 999_999_999)));
    assert!(!schema.accepts(&args("localhost", 0)) && !schema.accepts(&args("::1", 1_000_000_000)));
}

#[test]
fn bound_that_does_not_apply_to_the_type_is_rejected() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        #[schemars(extend("minimum" = 3))]
        name: String,
    }
    let error = Schema::of::<Args>().unwrap_err();
    assert_eq!(error.problems()[0].pointer, "/properties/name/minimum");
    assert!(
        error.problems()[0]
            .message
            .contains("applies only to values of type number"),
        "{error}"
    );
}

#[test]
fn optional_field_is_described_without_a_union() {
    /// A span of days.
    #[derive(JsonSchema, serde::Deserialize)]
    #[allow(dead_code)]
    struct DateRange {
        from: String,
        #[schemars(range(max = 14))]
        days: u8,
        zone: Option<String>,
    }
    #[derive(JsonSchema, serde::Deserialize)]
    #[allow(dead_code)]
    enum Units {
        Metric,
        Imperial,
    }
    fn nullable(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "null"] })
    }
    fn seven() -> Option<u8> {
        Some(7)
    }
    #[derive(JsonSchema, serde::Deserialize)]
    #[allow(dead_code)]
    struct Args {
        /// When.
        when: Option<DateRange>,
        units: Option<Units>,
        #[serde(default)]
        note: Option<String>,
        list: Vec<Option<u8>>,
        map: HashMap<String, Option<u8>>,
        #[schemars(schema_with = "nullable")]
        spoken: Value,
        #[serde(default = "seven")]
        count: Option<u8>,
        double: Option<Option<bool>>,
        tree: Option<Box<Args>>,
    }
    let when = property::<Args>("when");
    assert_eq!(
        when,
        json!({ "description": "When.", "$ref": "#/$defs/DateRange" })
    );
    assert_eq!(
        property::<Args>("units"),
        json!({ "$ref": "#/$defs/Units" })
    );
    assert_eq!(property::<Args>("note"), json!({ "type": "string" }));
    assert_eq!(property::<Args>("double"), json!({ "type": "boolean" }));
    assert_eq!(property::<Args>("tree"), json!({ "$ref": "#" }));
    // `null` stays where it has a meaning of its own.
    let nullable = json!(["integer", "null"]);
    assert_eq!(property::<Args>("list")["items"]["type"], nullable);
    assert_eq!(
        property::<Args>("map")["additionalProperties"]["type"],
        nullable
    );
    assert_eq!(property::<Args>("count")["type"], nullable);
    assert_eq!(
        property::<Args>("spoken")["type"],
        json!(["string", "null"])
    );

    let schema = Schema::of::<Args>().unwrap();
    let with = |more: Value| {
        let mut args = json!({ "list": [null, 1], "map": { "a": null }, "spoken": null });
        args.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        args
    };
    // `null` for an optional property counts as absent, at every depth. Next to a default it is a value.
    let nulls =
        with(json!({ "when": null, "units": null, "note": null, "count": null, "double": null }));
    let checked = schema.check(nulls).unwrap();
    assert_eq!(checked.value(), &with(json!({ "count": null })));
    serde_json::from_value::<Args>(checked.into_value()).unwrap();
    let inner = with(json!({ "when": { "from": "a", "days": 1, "zone": null }, "count": 1 }));
    let checked = schema.check(inner).unwrap();
    assert_eq!(checked.value()["when"], json!({ "from": "a", "days": 1 }));

    let error = schema.check(with(
        json!({ "when": { "days": 99, "zone": 3 }, "units": "x" }),
    ));
    let error = error.unwrap_err();
    let mut places: Vec<&str> = error
        .faults()
        .iter()
        .map(|item| item.pointer.as_str())
        .collect();
    places.sort_unstable();
    assert_eq!(
        places,
        ["/units", "/when/days", "/when/from", "/when/zone"],
        "{error}"
    );
}
