use serde_json::{Value, json};

use super::super::SpooledJsonArtifact;
use super::super::queries::{
    FilterArgs, GetArgs, KeysArgs, LengthArgs, PluckArgs, SliceArgs, TypeArgs, queries,
};
use super::{get, items, json, noted, of_kind, path, paths, wait};
use crate::artifact::{ArtifactKind, ArtifactLimits};
use crate::schema::Schema;

const RECORDS: &str = r#"{"id":1,"level":"info","ms":3,"user":{"name":"Ann"}}
{"id":2,"level":"error","ms":250,"user":{"name":"Bob"},"tags":["a","b"]}

{"id":3,"level":"error","ms":90}
"#;

/// The same three elements in each format, under `$` or under `$.log`.
fn forms() -> [(SpooledJsonArtifact, &'static str); 4] {
    let lines = RECORDS.lines().filter(|line| !line.is_empty());
    let array = format!("[{}]", lines.collect::<Vec<_>>().join(",\n"));
    let member = format!("{{ \"log\": {array} }}");
    [
        (json(RECORDS), "$"),
        (of_kind(RECORDS, ArtifactKind::JSON_LINES), "$"),
        (json(array), "$"),
        (json(member), "$.log"),
    ]
}

/// Asks every format like a tool does. Paths are rewritten as if all elements were under `$`.
fn ask(tool: &str, mut args: Value) -> String {
    let query = queries().iter().find(|query| query.name() == tool).unwrap();
    let below = args["path"].as_str().unwrap_or("$").to_owned();
    let mut answers = Vec::new();
    for (artifact, root) in forms() {
        if args.get("path").is_some() || root != "$" {
            args["path"] = format!("{root}{}", below.trim_start_matches('$')).into();
        }
        let answer = wait(query.run(artifact.0.clone(), args.clone())).unwrap();
        answers.push(answer.replace("$['log']", "$").replace("$.log", "$"));
        args["path"] = below.clone().into();
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    answers.remove(0)
}

#[test]
fn json_get_works_on_every_format() {
    assert_eq!(
        ask("artifact_json_get", json!({ "path": "$[1].user" })),
        "$[1]['user']: {\"name\":\"Bob\"}\n[1 node]"
    );
    assert_eq!(
        ask("artifact_json_get", json!({ "path": "$..name" })),
        "$[0]['user']['name']: \"Ann\"\n$[1]['user']['name']: \"Bob\"\n[2 nodes]"
    );
    assert_eq!(
        ask("artifact_json_get", json!({ "path": "$[*].ms", "skip": 1 })),
        "$[1]['ms']: 250\n$[2]['ms']: 90\n[nodes 1 to 2 of 3, counted from 0]"
    );
    assert_eq!(
        ask("artifact_json_get", json!({ "path": "$[*].ms", "skip": 9 })),
        "[skip=9 is past the end: there are only 3 nodes]"
    );
}

#[test]
fn json_filter_works_on_every_format() {
    assert_eq!(
        ask(
            "artifact_json_filter",
            json!({ "where": "@.level == 'error' && @.ms > 100" })
        ),
        "$[1]: {\"id\":2,\"level\":\"error\",\"ms\":250,\"user\":{\"name\":\"Bob\"},\"tags\":[\"a\",\"b\"]}\n[1 node]"
    );
    assert_eq!(
        ask(
            "artifact_json_filter",
            json!({ "path": "$[1]", "where": "search(@, '^e')" })
        ),
        "$[1]['level']: \"error\"\n[1 node]"
    );
    assert!(
        ask("artifact_json_filter", json!({ "where": "@.ms > 1000" })).contains("matches nothing")
    );
}

#[test]
fn json_slice_works_on_every_format() {
    assert_eq!(
        ask(
            "artifact_json_slice",
            json!({ "path": "$[1].tags", "start": -1 })
        ),
        "$[1]['tags'][1]: \"b\"\n[1 node]"
    );
    assert_eq!(
        ask(
            "artifact_json_slice",
            json!({ "start": 2, "end": 0, "step": -2 })
        ),
        "$[2]: {\"id\":3,\"level\":\"error\",\"ms\":90}\n[1 node]"
    );
}

#[test]
fn json_pluck_works_on_every_format() {
    assert_eq!(
        ask(
            "artifact_json_pluck",
            json!({ "fields": ["id", "user.name", "tags[*]", "id"] })
        ),
        "{\"id\":1,\"user.name\":\"Ann\"}\n{\"id\":2,\"user.name\":\"Bob\",\"tags[*]\":[\"a\",\"b\"]}\n{\"id\":3}\n[3 nodes]"
    );
    assert_eq!(
        ask(
            "artifact_json_pluck",
            json!({ "path": "$[*].user", "fields": ["name"], "skip": 1 })
        ),
        "{\"name\":\"Bob\"}\n[nodes 1 to 1 of 2, counted from 0]"
    );
    let typo = ask(
        "artifact_json_pluck",
        json!({ "path": "$[:1]", "fields": ["naem"] }),
    );
    assert!(typo.contains("no element has any of these fields; the first element is an object with 4 keys: \"id\", \"level\""), "{typo}");
}

#[test]
fn json_type_keys_and_length_work_on_every_format() {
    assert_eq!(
        ask("artifact_json_type", json!({ "path": "$[1]" })),
        "object (5 keys)"
    );
    assert_eq!(
        ask("artifact_json_type", json!({ "path": "$[1].ms" })),
        "number"
    );
    assert_eq!(
        ask("artifact_json_type", json!({ "path": "$[1][*]" })),
        "number: 2 nodes, first at $[1]['id']\nstring: 1 node, first at $[1]['level']\n\
         object: 1 node, first at $[1]['user']\narray: 1 node, first at $[1]['tags']\n[5 nodes]"
    );
    assert_eq!(
        ask("artifact_json_keys", json!({ "path": "$[0]" })),
        "\"id\": number\n\"level\": string\n\"ms\": number\n\"user\": object\n[4 keys]"
    );
    assert_eq!(
        ask("artifact_json_keys", json!({ "path": "$[*]", "skip": 3 })),
        "\"user\": object, in 2 of 3 objects\n\"tags\": array, in 1 of 3 objects\n\
         [keys 3 to 4 of 5, counted from 0 (in 3 objects)]"
    );
    assert_eq!(
        ask("artifact_json_length", json!({})),
        "$: 3 elements (array)"
    );
    assert_eq!(
        ask("artifact_json_length", json!({ "path": "$[1][*]" })),
        "$[1]['id']: no length (number)\n$[1]['level']: 5 characters (string)\n$[1]['ms']: no length (number)\n\
         $[1]['user']: 1 key (object)\n$[1]['tags']: 2 elements (array)\n[5 nodes]"
    );
}

#[test]
fn the_root_of_lines_is_the_array_of_records() {
    let lines = json("1\n[2]\n");
    assert_eq!(get(&lines, "$"), "$: [1,[2]]\n[1 node]");
    let types = wait(lines.json_type(&path("$"))).unwrap();
    assert!(types.starts_with("array\n"), "{types}");
    assert!(types.contains("JSON Lines"));
    let keys = wait(lines.json_keys(&path("$"), 0)).unwrap();
    assert!(keys.contains("use `$[*]`"), "{keys}");
    assert_eq!(
        wait(lines.json_pluck(&path("$"), vec!["[0]".into()], 0)).unwrap(),
        "{}\n{\"[0]\":2}\n[2 nodes]"
    );
    let named = get(&lines, "$.name");
    assert!(named.contains("use `$[*].name`"), "{named}");
    let many = json("{\"n\":1}\n".repeat(5000));
    let answer = get(&many, "$");
    assert!(
        answer.starts_with("$: (array of 5000 elements, shortened) [{\"n\":1},{\"n\":1},"),
        "{answer}"
    );
}

#[test]
fn the_format_is_detected_from_the_first_bytes() {
    for (text, lines) in [
        ("{\"a\":1}\n{\"a\":2}", true),
        ("\u{feff}\n 1 \r\n\n-2", true),
        ("{\"a\":1}\n", false),
        ("{\n\"a\":1}\n", false),
        ("[\n1\n]", false),
        ("[1]\n\n", false),
        ("listening on 80\n{\"a\":1}\n{\"a\":2}\n{\"a\":", true),
        ("[\n{\"a\":1}\n,\n{\"a\":2}\n]", false),
    ] {
        let types = wait(json(text).json_type(&path("$"))).unwrap();
        assert_eq!(types.contains("JSON Lines"), lines, "{text}");
    }
    // The first record may be long.
    let long = format!("{{\"a\":\"{}\"}}\n{{}}\n", "x".repeat(300_000));
    assert!(
        wait(json(long).json_type(&path("$")))
            .unwrap()
            .contains("JSON Lines")
    );
}

#[test]
fn the_last_of_repeated_keys_counts_and_numbers_are_exact() {
    let artifact = json("{\"a\":1,\"b\":18446744073709551615,\"a\":-9223372036854775808}");
    assert_eq!(
        get(&artifact, "$.*"),
        "$['a']: -9223372036854775808\n$['b']: 18446744073709551615\n[2 nodes]"
    );
}

#[test]
fn the_answer_for_a_path_without_matches_describes_the_last_node() {
    let artifact = json(r#"{"shop":{"items":[1],"it's":2}}"#);
    assert_eq!(
        get(&artifact, "$.shop.item[0].name"),
        "[`$.shop.item[0].name` matches nothing; `$['shop']` is an object with 2 keys: \"items\", \"it's\"]"
    );
    assert!(
        get(&artifact, "$.shop.items[3]").contains("`$['shop']['items']` is an array of 1 element")
    );
    let keys = wait(artifact.json_keys(&path("$.shop.items"), 0)).unwrap();
    assert_eq!(
        keys,
        "[no keys: `$.shop.items` is an array of 1 element: use `$.shop.items[*]` for the keys of all elements]"
    );
}

#[test]
fn a_value_larger_than_an_answer_is_shortened_with_advice() {
    let artifact = json(json!({ "a": { "big": "é".repeat(10_000), "n": 1 }, "b": 2 }).to_string());
    let answer = wait(artifact.json_get(&path("$.*"), 0)).unwrap();
    assert!(answer.contains("éé…\n"), "{answer}");
    assert!(
        answer.starts_with("$['a']: (object of 2 keys, shortened) {\"big\":\"éé"),
        "{answer}"
    );
    assert!(answer.contains("\n$['b']: 2\n[2 nodes]\n"), "{answer}");
    assert!(
        answer.contains("artifact_json_keys path=$['a']"),
        "{answer}"
    );
    let row = wait(artifact.json_pluck(&path("$.a"), vec!["n".into(), "big".into()], 0)).unwrap();
    assert!(row.starts_with("(object of 2 keys"), "{row}");
}

#[test]
fn a_slice_says_how_to_continue() {
    let numbers: Vec<String> = (0..500).map(|n| format!("{n:0>100}")).collect();
    let artifact = json(json!({ "n": numbers, "m": [numbers] }).to_string());
    let first = wait(artifact.json_slice(&path("$.n"), None, None, Some(2))).unwrap();
    let last = paths(&first).pop().unwrap();
    let next: usize = last
        .trim_start_matches("$['n'][")
        .trim_end_matches(']')
        .parse()
        .unwrap();
    assert!(first.contains(&format!(
        "of 250, counted from 0: continue with start={}]",
        next + 2
    )));
    let back = wait(artifact.json_slice(&path("$.n"), None, None, Some(-1))).unwrap();
    assert_eq!(paths(&back)[0], "$['n'][499]");
    let next = 499 - items(&back).len() as u64;
    assert_eq!(noted(&back, "continue with start="), Some(next));
    let many = wait(artifact.json_slice(&path("$.m[*]"), Some(1), None, None)).unwrap();
    let skip = items(&many).len();
    assert!(
        many.contains(&format!(
            "continue with artifact_json_get path=$.m[*][1:] skip={skip}"
        )),
        "{many}"
    );
}

#[test]
fn the_answer_limit_is_configurable() {
    let artifact = json(format!("[{}1]", "1,".repeat(5000)));
    let small = artifact
        .0
        .clone()
        .with_limits(ArtifactLimits::default().page(1024));
    let large = artifact
        .0
        .with_limits(ArtifactLimits::default().page(1 << 20));
    assert!(get(&SpooledJsonArtifact::new(small), "$[*]").len() <= 1024);
    let answer = get(&SpooledJsonArtifact::new(large), "$[*]");
    assert_eq!(items(&answer).len(), 5001);
}

#[test]
fn the_tools_have_valid_schemas_and_describe_every_argument() {
    let names: Vec<_> = queries().iter().map(|query| query.name()).collect();
    assert_eq!(
        names,
        [
            "artifact_json_type",
            "artifact_json_keys",
            "artifact_json_length",
            "artifact_json_get",
            "artifact_json_filter",
            "artifact_json_slice",
            "artifact_json_pluck"
        ]
    );
    let schemas = [
        Schema::of::<TypeArgs>(),
        Schema::of::<KeysArgs>(),
        Schema::of::<LengthArgs>(),
        Schema::of::<GetArgs>(),
        Schema::of::<FilterArgs>(),
        Schema::of::<SliceArgs>(),
        Schema::of::<PluckArgs>(),
    ];
    for schema in schemas {
        let schema = schema.unwrap();
        let properties = schema.document()["properties"].as_object().unwrap();
        for (name, property) in properties {
            assert!(
                property["description"]
                    .as_str()
                    .is_some_and(|text| text.len() > 10),
                "{name}"
            );
            assert!(name != "callId" && name != "index");
        }
    }
    let filter = Schema::of::<FilterArgs>().unwrap();
    assert!(filter.accepts(&json!({ "where": "@.a" })));
    assert!(!filter.accepts(&json!({ "path": "$" })));
    assert!(!filter.accepts(&json!({ "where": "@.a", "skip": -1 })));
    assert!(
        !Schema::of::<PluckArgs>()
            .unwrap()
            .accepts(&json!({ "fields": [] }))
    );
}
